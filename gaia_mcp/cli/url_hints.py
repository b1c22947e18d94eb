"""The hint after a remote server could not be reached, or answered with an HTTP error status."""

from __future__ import annotations

import json
import re
import shlex
from typing import TYPE_CHECKING, Any

from gaia_mcp.cli.lines import Typed, again, to_type

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from gaia_mcp.errors import ConnectionLostError, MCPError, StatusError


def after_status(error: StatusError) -> str:
    """The hint for an HTTP status."""
    if error.status in (404, 405, 410):
        return _another_path(error)
    if error.status in (429, 503):
        return "it is too busy; try again later, or allow more time with --timeout SECONDS"
    if error.status in (403, 421) and re.search(r"(?i)\bhost\b", error.message.partition(f" with {error.status}")[2]):
        return at_other_host(error)
    if error.status == 403:
        return "access is forbidden; check the headers of its entry"
    return _check_url(error)


def after_loss(error: ConnectionLostError) -> str:
    """The hint for the status of a server that has failed; empty for a connection that was lost without one, and for a
    call that may have run, which is not to be tried again.
    """
    if "status" not in error.facts or "may_have_run" in error.facts:
        return ""
    return "it failed, or a proxy in front of it; try again later, or look at its log"


def in_entry(error: MCPError, what: str, members: Mapping[str, Any], *options: str) -> str:
    """How to write something into the entry of a server behind a URL: `what`, with what to type. For a server that is
    not saved, this saves it, with these `members` and `options`.
    """
    if Typed.command in ("add", "edit"):
        return again(f"save it, then {what} in its entry,", "--no-check")
    if Typed.is_saved(error.server):
        return f"{what} in its entry: {to_type('edit', error.server)}"
    entry = shlex.quote(json.dumps({"url": error.server, **members}))
    return f"{what} in an entry: {to_type('add', more=' '.join(['NAME', *options, '--entry', entry]))}"


def _check_url(error: MCPError) -> str:
    if Typed.command in ("add", "edit"):
        # A server that could not be reached was not saved.
        return again("check its URL, or save it anyway", "--no-check")
    return f"check its URL: {to_type('show', error.server)}" if Typed.is_saved(error.server) else "check its URL"


def _another_path(error: MCPError) -> str:
    return f"the path is usually /mcp or /sse; {_check_url(error)}"


def _moved(error: MCPError) -> str:
    if Typed.command not in ("add", "edit") and Typed.is_saved(error.server):
        return f"if that is its new URL, set it: {to_type('edit', error.server, more='--url URL')}"
    return "if that is its new URL, use it instead"


def at_other_host(error: MCPError) -> str:
    """The hint for a server that refuses the host of its URL, which protects it against DNS rebinding."""
    what = "it accepts other names of its host"
    if Typed.command not in ("add", "edit") and Typed.is_saved(error.server):
        return f"{what}; use one in its URL: {to_type('edit', error.server, more='--url URL')}"
    return f"{what}; use one in its URL"


def _listening(error: MCPError) -> str:
    return f"start it, or correct host and port; {_check_url(error)}"


def _trusting(error: MCPError) -> str:
    return in_entry(error, "name the file of its certificate authority as 'ssl_verify'", {"ssl_verify": "FILE"})


def _presenting(error: MCPError) -> str:
    members = {"client_cert": "FILE", "client_key": "FILE"}
    return in_entry(error, "name PEM files as 'client_cert' and 'client_key'", members)


def _renewing(_: MCPError) -> str:
    return "its operator has to renew the certificate; check the clock of this machine too"


def _other_transport(error: MCPError) -> str:
    found = "it may use the other transport"
    if Typed.command in ("add", "edit") or not Typed.is_saved(error.server):
        return f"{found}; leave --transport out to detect it"
    return f"{found}; detect it with: {to_type('edit', error.server, more='--unset type')}"


# Hints by the `case` of an error.
URL_CASES: dict[str, Callable[[MCPError], str]] = {
    "not-http": _other_transport,
    "not-sse": _other_transport,
    "other-origin": lambda _: "a proxy in front of it has to pass X-Forwarded-Proto and X-Forwarded-Host on to it",
    "dns": lambda e: f"check the network; {_check_url(e)}",
    "proxy": lambda _: "check HTTPS_PROXY, HTTP_PROXY and NO_PROXY",
    "redirect": _moved,
    "refused": _listening,
    "tls": _check_url,
    "tls-client": _presenting,
    "tls-expired": _renewing,
    "tls-none": _check_url,
    "tls-not-yet-valid": _renewing,
    "tls-other-name": _check_url,
    "tls-self-signed": _trusting,
    "tls-unknown-authority": _trusting,
    "tls-version": lambda _: "its operator has to update it",
    "url-closed": lambda e: f"if it uses TLS, its URL begins with https://; {_check_url(e)}",
    "url-page": _another_path,
    "url-silent": lambda e: f"allow more time with --timeout SECONDS; {_check_url(e)}",
    "unreachable": lambda e: f"check the network; {_check_url(e)}",
}

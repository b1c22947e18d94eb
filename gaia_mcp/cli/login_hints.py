"""The hint after a login has failed, or a server has refused a token."""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING, Any

from gaia_mcp.cli.lines import Typed, again, to_type, unsaved
from gaia_mcp.cli.refusals import NEW_HEADER
from gaia_mcp.cli.url_hints import in_entry

if TYPE_CHECKING:
    from collections.abc import Callable

    from gaia_mcp.errors import AuthorizationError, DeadlineError


def log_in(error: AuthorizationError) -> str:
    """The hint for an error without a case."""
    if Typed.command in ("add", "edit"):
        return again("save it, then log in,", "--no-check")
    if Typed.command == "login":
        return "grant the access in the browser; if it is refused all the same, ask the operator of the server"
    scopes = " ".join(f"--scope {shlex.quote(scope)}" for scope in error.scopes)
    return f"log in with: {to_type('login', error.server, more=scopes)}"


def _not_granted(error: AuthorizationError) -> str:
    return f"ask its operator for that access, or log in as somebody who has it: {to_type('login', error.server)}"


def _own_client(error: AuthorizationError) -> str:
    members = {"oauth": {"clientId": "CLIENT_ID"}}
    return f"register a client there, and {in_entry(error, 'write its id as oauth.clientId', members, '--no-check')}"


def _own_header(error: AuthorizationError) -> str:
    """How to replace the token of an entry, or to log in instead of it."""
    if how := unsaved():
        return how
    if not Typed.is_saved(error.server):
        return "use another token"
    headers = Typed.headers(error.server)
    name = next((name for name in headers if name.lower() == "authorization"), "Authorization")
    if Typed.command == "login":
        without = to_type("edit", error.server, more=f"--unset headers.{name} --no-check")
        return f"to log in instead, remove the header: {without}"
    if (variable := re.search(r"\$\{(\w+)\}", headers.get(name, ""))) is not None:
        return f"set another in the variable that it refers to: export {variable[1]}=…"
    return f"set another: {to_type('edit', error.server, more=NEW_HEADER)}"


def _own_token(error: AuthorizationError) -> str:
    told = "its operator has to correct that"
    if not Typed.is_saved(error.server):
        return told
    return f"{told}; use another token: {to_type('edit', error.server, more=NEW_HEADER)}"


def _given_token(error: AuthorizationError) -> str:
    command = "edit" if Typed.is_saved(error.server) else "add"
    return f"ask its operator for a token, and set it with: {to_type(command, error.server, more=NEW_HEADER)}"


def _unanswered(error: DeadlineError) -> str:
    """The hint after a browser did not come back: a page may have refused the redirect URI of a registered client."""
    from gaia_mcp.config.targets import Remote

    more = "allow more time with --timeout SECONDS"
    target = Typed.target(error.server)
    if not isinstance(target, Remote) or "client_id" not in target.oauth.values:
        return more
    registered = in_entry(error, "write the registered one as oauth.redirectUri", {})
    return f"{more}; if its page refuses the redirect URI, {registered}"


# Hints by the `case` of an error.
LOGIN_CASES: dict[str, Callable[[Any], str]] = {
    "authorization-invalid": _own_token,
    "callback-port": lambda e: f"end the program that listens there, or {in_entry(e, 'choose another', {})}",
    "client-unknown": _own_client,
    "header": _own_header,
    "issuer-changed": lambda e: f"if that is right, {in_entry(e, 'write its issuer as oauth.issuer', {})}",
    "keyring-locked": lambda e: f"unlock it, or log in again: {to_type('login', e.server)}",
    "keyring-missing": lambda _: "install it in the same environment: pip install keyring",
    "login": _unanswered,
    "login-needless": lambda e: f"use it without a login: {to_type('tools', e.server)}",
    "no-login": lambda _: f"see which servers have one: {to_type('login', more='--status')}",
    "not-granted": _not_granted,
    "oauth-off": lambda e: unsaved() or f"turn it on: {to_type('edit', e.server, more='--unset oauth')}",
    "pasted": lambda e: (
        f"repeat it and paste the whole URL that the browser ends at: {to_type('login', e.server, more='--no-browser')}"
    ),
    "pyjwt-missing": lambda _: "install it in the same environment: pip install PyJWT",
    "redirect-uri": lambda e: in_entry(e, "correct it", {}),
    "registration-refused": _own_client,
    "token-only": _given_token,
}

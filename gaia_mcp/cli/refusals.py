"""The hint after a server refused a request, exited, or could not be reached: derived from its JSON-RPC error, its HTTP
status and its own message; and a server's URL as a person must see it before opening it.

This module never fetches a URL.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import unicodedata
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlsplit

from gaia_mcp.protocol import ALL_VERSIONS
from gaia_mcp.protocol.input_required import is_asked_by_result, required_urls
from gaia_mcp.protocol.jsonrpc import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    METHOD_NOT_FOUND,
    MISSING_CAPABILITY,
    RESOURCE_NOT_FOUND,
)
from gaia_mcp.server.provider import required_scopes
from gaia_mcp.toolspec.schema import properties_of

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Mapping

    from gaia_mcp.cli.lines import CommandLine
    from gaia_mcp.core.errors import ConnectionLostError, MCPError, PeerError, StatusError

# The option that sets a token of the user's own.
NEW_HEADER = "--header 'Authorization: Bearer ${TOKEN}'"
# The end of the message of a server that is at its limit, or whose store is unavailable.
AGAIN = "repeat this later"
# The end of the message of a server of which the process that ran the request has ended.
MAY_BE_DONE = "the request may have been carried out"
# The number of missing variables that a hint names; more would hide the command to type.
MAX_VARIABLES = 3
# The limits for the part of a message that is searched, and for the text around a name.
READ_CHARS, NEAR_CHARS = 2000, 80
_OPENING = ("initialize", "server/discover")
# Requests for a single item. With these error codes, the server does not have it.
_FOR_ONE = ("tools/call", "prompts/get", "resources/read", "completion/complete")
_NOT_THERE = (INVALID_PARAMS, METHOD_NOT_FOUND, RESOURCE_NOT_FOUND)

# Commands that can answer a server's sampling requests.
_ANSWERING = ("call", "prompt", "read", "test-client")

_NAME = r"\b[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+\b"
# Names of errors, which have the same form as names of variables.
_ERROR = (
    r"(?:ERR|INVALID|MISSING|EXPIRED|UNKNOWN|BAD|NO|UNABLE|CERT)_\w+"
    r"|\w+_(?:ERR|ERROR|FAILED|FAILURE|FOUND|DENIED|EXCEEDED|EXPIRED|INVALID|REQUIRED|EXCEPTION|CHAIN|SIGNATURE)"
)
# Names that only variables have.
_SETTING = r"\w+_(?:TOKEN|KEY|SECRET|PASSWORD|PASS|URL|URI|ID|HOST|USER|USERNAME|EMAIL|PATH|DIR|PAT|DSN)"
# A connection that a server could not open, as reported by Node.js, Python, Go, curl and programs that quote them.
_UNREACHED = (
    r"(?i)\bfetch failed\b|\bgetaddrinfo\b|\bname resolution\b|\b(?:host(?:name)?|domain) not found\b"
    r"|\bno such host\b|\bcould not resolve host\b|\bmax retries exceeded\b"
    r"|\bconnection (?:refused|reset|issue)\b|\bconnect call failed\b"
    r"|\bE(?:NOTFOUND|AI_AGAIN|CONN(?:REFUSED|RESET))\b|\bcertificate verif|\bself[- ]signed certificate\b"
)
_UNCONNECTED = "the server could not open a network connection"

# A sampling request that this client refused, in our words, or a client without the sampling capability, in the words
# of servers.
_UNSAMPLED = (
    r"sampling/createMessage"
    r"|(?i:\bsampling\b.{0,40}\b(?:support|capabilit|available|enabled)|\b(?:support|capabilit)\w*\b.{0,40}\bsampling\b)"
)
# A server that refuses the host of a URL, as the official SDK for TypeScript reports it.
_OTHER_HOST = r"(?i)(?:invalid|missing|forbidden) host\b"
# A server that uses only server-initiated requests, which newer revisions do not have; as reported by FastMCP.
_ASKS_BEFORE = r"server-initiated requests (?:is|are) unavailable on (\d{4}-\d\d-\d\d) connections"
# The text of a tool result for an exception: its class, and its message if it has one.
_INTERNAL = r"(MCP error -32603\b|internal (server )?error\b)"
_RAISED = r"[A-Z]\w*(?:Error|Exception)(?:: |$)"
# Words that mark a name as a variable, before it and after it.
_BEFORE = (
    r"(?i:\b(?:set|export|provide|specify|define|configure|missing|requires?|KeyError)\b"
    r"(?: (?:the|an?|your|required|following|env|environment|variables?|vars?))*)\W*$"
)
_BEHIND = (
    r"\W*(?i:(?:env|environment|variables?|must)\b"
    r"|(?:is |are |was |were )?(?:not|missing|required|undefined|unset|empty)\b)"
)


def missing_variables(text: str) -> list[str]:
    """The environment variables that a server asks for in `text`, as far as they can be recognized; empty if there are
    none.
    """
    found: dict[str, None] = {}
    text = text[:READ_CHARS]
    for match in re.finditer(_NAME, text):
        begin, end, name = *match.span(), match[0]
        before, behind = text[max(0, begin - NEAR_CHARS) : begin], text[end : end + NEAR_CHARS]
        if re.fullmatch(_ERROR, name) is None and (
            re.fullmatch(_SETTING, name) or re.search(_BEFORE, before) or re.match(_BEHIND, behind)
        ):
            found[name] = None
    return list(found)[:MAX_VARIABLES]


def about_variables(line: CommandLine, text: str, server: str, *, spared: Container[str] = ()) -> str:
    """The hint for a server that asks for environment variables in `text`; empty if it asks for none but `spared`."""
    names = [name for name in missing_variables(text) if name not in spared]
    unset = [name for name in names if not line.sets(server, name)]
    if unset:
        reason = f"{_UNCONNECTED}, and mentions" if is_unreached(text) else "the server mentions"
        return f"{reason} {_listed(unset)}; {_how_to_set(line, unset, server)}"
    if names and is_unreached(text):
        return how_to_reach(line, server)
    return f"the server mentions {_listed(names)}, which its entry sets; {_how_to_show(line, server)}" if names else ""


def _listed(names: list[str]) -> str:
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def _how_to_set(line: CommandLine, names: list[str], server: str) -> str:
    # A variable that is set in this environment is referred to, so that its value is not printed.
    from gaia_mcp.config.targets import Remote

    options = [word for name in names for word in ("--env", name if name in os.environ else f"{name}=VALUE")]
    what = "set it" if len(names) == 1 else "set them"
    target = line.target(server)
    if isinstance(target, Remote):
        # Its environment is on another machine.
        return f"{what} where it runs, or ask its operator"
    if line.command in ("add", "edit"):
        return line.again(what, *options, server=server)
    if line.is_saved(server):
        return f"{what} with: {line.to_type('edit', server, more=' '.join(options))}"
    if target is not None and target.transport == "agent":
        # It runs in this environment.
        return f"{what} first: export {' '.join(f'{name}=…' for name in names)}"
    return f"{what} by saving the server: {line.to_type('add', more=' '.join([*options, 'NAME -- COMMAND']))}"


def _how_to_show(line: CommandLine, server: str) -> str:
    if line.command in ("add", "edit"):
        return line.again("save it as it is", "--no-check")
    if not line.is_saved(server):
        return "check the arguments and variables of its command"
    return f"show its entry with: {line.to_type('show', server)}"


def after_error(line: CommandLine, error: PeerError) -> str:
    """The hint after a JSON-RPC error."""
    if (urls := required_urls(error.code, error.data)) and all(is_site(each["url"]) for each in urls):
        return f"open {' and '.join(to_open(each['url']) for each in urls)} and repeat the command"
    if error.asked in _OPENING and re.match(_OTHER_HOST, error.text) is not None:
        return at_other_host(line, error)
    if hint := about_variables(line, error.text, error.server):
        return hint
    if scopes := required_scopes(error.code, error.data):
        # A login would have requested these scopes, so the token comes from the entry.
        token = f"use a token with {' '.join(scopes)}"
        return (
            f"{token}: {line.to_type('edit', error.server, more=NEW_HEADER)}" if line.is_saved(error.server) else token
        )
    if error.text.endswith(AGAIN):
        return "repeat the command in a moment"
    if error.text.endswith(MAY_BE_DONE):
        return "look whether it was, before you repeat the command"
    if needed := _needed_sampling(error):
        # The sampling program's input and output are only text.
        return "it needs a client that supports sampling with tools or context"
    if _may_sample(line) and (needed is not None or _lacks_sampling(error.text)):
        return _how_to_sample(line)
    if is_unreached(error.text):
        return how_to_reach(line, error.server)
    if error.asked in _FOR_ONE and error.code in _NOT_THERE:
        kind = error.asked.partition("/")[0]
        listed = kind if kind in ("prompts", "resources") else "tools"
        return f"list its {listed} with: {line.to_type(listed, error.server)}"
    if error.is_logged:
        return f"its stderr log may show why: {line.to_type('logs', error.server)}"
    if line.command in ("add", "edit"):
        return f"the error comes from the server; {line.again('save it as it is', '--no-check')}"
    if error.asked == "tools/call" and error.code == INTERNAL_ERROR:
        tools = line.to_type("tools", error.server)
        return f"check the arguments, or report it to its author; show its parameters: {tools}"
    return "the error comes from the server; report it to its author"


def is_internal(said: str) -> bool:
    """Whether a failed tool reports an internal error of its server. The official SDK of TypeScript puts the JSON-RPC
    errors that a tool throws into its result.
    """
    return re.match(_INTERNAL, said.strip(), re.IGNORECASE) is not None


def after_failure(
    line: CommandLine,
    server: str,
    tool: str,
    said: str,
    schema: dict[str, Any],
    *,
    is_agent: bool = False,
    place: str = "",
    is_logged: bool = False,
) -> str:
    """The hint after a tool with the input `schema` failed with the text `said`. `is_agent`: the tool's code runs in a
    child process of ours, which prints tracebacks with `--debug`; `place` is the line that raised, if it is known.
    `is_logged`: the server's stderr log may have the reason.
    """
    parameters = properties_of(schema)
    if hint := about_variables(line, said, server, spared={name.upper() for name in parameters}):
        return hint
    if (asks := re.search(_ASKS_BEFORE, said[:READ_CHARS])) is not None:
        return _how_to_be_asked(line, server, asks[1])
    if _may_sample(line) and _lacks_sampling(said):
        return _how_to_sample(line)
    if is_unreached(said):
        return how_to_reach(line, server)
    raised = f"it was raised at {place}" if place else ""
    if is_agent and "--debug" not in line.words and (raised or re.match(_RAISED, said) is not None):
        return line.again(f"{raised}; show the traceback" if raised else "show the traceback", "--debug")
    if raised:
        return raised
    if is_logged:
        return f"its stderr log may show why: {line.to_type('logs', server)}"
    what = "parameters" if parameters else "description"
    return f"show its {what}: {line.to_type('call', server, tool, more='--help')}"


def about_tasks(definition: Mapping[str, Any], said: str = "task") -> str:
    """The hint after a call of a tool failed with the text `said`, if the tool refuses calls that ask for no task, as
    in revision 2025-11-25; empty if it does not. The official SDKs report that as the tool's own failure.
    """
    execution = definition.get("execution")
    if not isinstance(execution, dict) or execution.get("taskSupport") != "required" or "task" not in said.lower():
        return ""
    needed = "the experimental tasks of revision 2025-11-25, which are not supported"
    return f"{definition['name']!r} needs {needed}; ask its author for the tasks extension of 2026-07-28"


def _how_to_be_asked(line: CommandLine, server: str, newer: str) -> str:
    option = f"--protocol {next(version for version in ALL_VERSIONS if not is_asked_by_result(version))}"
    save = line.to_type("edit" if line.is_saved(server) else "add", server, more=option)
    return f"it can ask only in revisions before {newer}; use an older one with: {save}"


def _may_sample(line: CommandLine) -> bool:
    """Whether the command can answer sampling requests, but `--sample` is not given."""
    return line.command in _ANSWERING and all(word.partition("=")[0] != "--sample" for word in line.words)


def _lacks_sampling(text: str) -> bool:
    """Whether a server reports in `text` that the client does not support sampling."""
    return re.search(_UNSAMPLED, text[:READ_CHARS]) is not None


def _needed_sampling(error: PeerError) -> dict[str, Any] | None:
    """The sampling capability that a server requires, empty for sampling without extensions; None if it requires
    another capability.
    """
    if error.code != MISSING_CAPABILITY or not isinstance(error.data, dict):
        return None
    required = error.data.get("requiredCapabilities")
    needed = required.get("sampling") if isinstance(required, dict) else None
    return needed if isinstance(needed, dict) else None


def _how_to_sample(line: CommandLine) -> str:
    return line.again("answer its sampling requests", "--sample", "PROGRAM")


def is_unreached(text: str) -> bool:
    """Whether a server reports in `text` that it could not open a network connection."""
    return re.search(_UNREACHED, text[:READ_CHARS]) is not None


def how_to_reach(line: CommandLine, server: str) -> str:
    """The hint for a server that could not open a network connection."""
    if line.command not in ("add", "edit") and not line.is_saved(server):
        return f"{_UNCONNECTED}; check the network, and the arguments and variables of its command"
    return f"{_UNCONNECTED}; {_how_to_show(line, server)}"


def after_status(line: CommandLine, error: StatusError) -> str:
    """The hint for an HTTP status."""
    if error.status in (404, 405, 410):
        return _another_path(line, error)
    if error.status in (429, 503):
        return "it is too busy; try again later, or allow more time with --timeout SECONDS"
    if error.status in (403, 421) and re.search(r"(?i)\bhost\b", error.message.partition(f" with {error.status}")[2]):
        return at_other_host(line, error)
    if error.status == 403:
        return "access is forbidden; check the headers of its entry"
    return _check_url(line, error)


def after_loss(_: CommandLine, error: ConnectionLostError) -> str:
    """The hint for the status of a server that has failed; empty for a connection that was lost without one, and for a
    call that may have run, which is not to be tried again.
    """
    if "status" not in error.facts or "may_have_run" in error.facts:
        return ""
    return "it failed, or a proxy in front of it; try again later, or look at its log"


def in_entry(line: CommandLine, error: MCPError, what: str, members: Mapping[str, Any], *options: str) -> str:
    """How to write something into the entry of a server behind a URL: `what`, with what to type. For a server that is
    not saved, this saves it, with these `members` and `options`.
    """
    if line.command in ("add", "edit"):
        return line.again(f"save it, then {what} in its entry,", "--no-check")
    if line.is_saved(error.server):
        return f"{what} in its entry: {line.to_type('edit', error.server)}"
    entry = shlex.quote(json.dumps({"url": error.server, **members}))
    return f"{what} in an entry: {line.to_type('add', more=' '.join(['NAME', *options, '--entry', entry]))}"


def _check_url(line: CommandLine, error: MCPError) -> str:
    if line.command in ("add", "edit"):
        # A server that could not be reached was not saved.
        return line.again("check its URL, or save it anyway", "--no-check")
    return f"check its URL: {line.to_type('show', error.server)}" if line.is_saved(error.server) else "check its URL"


def _another_path(line: CommandLine, error: MCPError) -> str:
    return f"the path is usually /mcp or /sse; {_check_url(line, error)}"


def _moved(line: CommandLine, error: MCPError) -> str:
    if line.command not in ("add", "edit") and line.is_saved(error.server):
        return f"if that is its new URL, set it: {line.to_type('edit', error.server, more='--url URL')}"
    return "if that is its new URL, use it instead"


def at_other_host(line: CommandLine, error: MCPError) -> str:
    """The hint for a server that refuses the host of its URL, which protects it against DNS rebinding."""
    what = "it accepts other names of its host"
    if line.command not in ("add", "edit") and line.is_saved(error.server):
        return f"{what}; use one in its URL: {line.to_type('edit', error.server, more='--url URL')}"
    return f"{what}; use one in its URL"


def _listening(line: CommandLine, error: MCPError) -> str:
    return f"start it, or correct host and port; {_check_url(line, error)}"


def _trusting(line: CommandLine, error: MCPError) -> str:
    return in_entry(line, error, "name the file of its certificate authority as 'ssl_verify'", {"ssl_verify": "FILE"})


def _presenting(line: CommandLine, error: MCPError) -> str:
    members = {"client_cert": "FILE", "client_key": "FILE"}
    return in_entry(line, error, "name PEM files as 'client_cert' and 'client_key'", members)


def _other_transport(line: CommandLine, error: MCPError) -> str:
    found = "it may use the other transport"
    if line.command in ("add", "edit") or not line.is_saved(error.server):
        return f"{found}; leave --transport out to detect it"
    return f"{found}; detect it with: {line.to_type('edit', error.server, more='--unset type')}"


_RENEW = "its operator has to renew the certificate; check the clock of this machine too"
# Hints by the `case` of an error.
URL_CASES: dict[str, str | Callable[[CommandLine, MCPError], str]] = {
    "not-http": _other_transport,
    "not-sse": _other_transport,
    "other-origin": "a proxy in front of it has to pass X-Forwarded-Proto and X-Forwarded-Host on to it",
    "dns": lambda line, e: f"check the network; {_check_url(line, e)}",
    "proxy": "check HTTPS_PROXY, HTTP_PROXY and NO_PROXY",
    "redirect": _moved,
    "refused": _listening,
    "tls": _check_url,
    "tls-client": _presenting,
    "tls-expired": _RENEW,
    "tls-none": _check_url,
    "tls-not-yet-valid": _RENEW,
    "tls-other-name": _check_url,
    "tls-self-signed": _trusting,
    "tls-unknown-authority": _trusting,
    "tls-version": "its operator has to update it",
    "url-closed": lambda line, e: f"if it uses TLS, its URL begins with https://; {_check_url(line, e)}",
    "url-page": _another_path,
    "url-silent": lambda line, e: f"allow more time with --timeout SECONDS; {_check_url(line, e)}",
    "unreachable": lambda line, e: f"check the network; {_check_url(line, e)}",
}


def address_lines(url: str) -> list[str]:
    """The lines that display `url`."""
    return [whole(url), f"({_host_in_words(url)}; enter nothing there that you would not give to this site)"]


def to_open(url: str) -> str:
    """`url` for use within a sentence, followed by its host where a reader could mistake the host."""
    host = host_of(url)
    is_plain = host.isascii() and url.lower().startswith((f"https://{host}", f"http://{host}"))
    return whole(url) if is_plain else f"{whole(url)} ({_host_in_words(url)})"


def is_site(url: str) -> bool:
    """Whether `url` is an HTTP or HTTPS URL with a host, and not one that a browser would execute or display itself."""
    return url.lower().startswith(("https://", "http://")) and bool(host_of(url))


def whole(url: str) -> str:
    """`url` on one line, in full: each unprintable character is percent-encoded, as a URL requires."""
    return "".join(letter if letter.isprintable() and letter != " " else _encoded(letter) for letter in url)


def _encoded(letter: str) -> str:
    return quote(letter, safe="", errors="surrogatepass")


def _host_in_words(url: str) -> str:
    host = host_of(url)
    if not host:
        return "it has no host"
    ascii_form = _in_ascii(host)
    return f"on {whole(host)}" if ascii_form == host else f"on {whole(host)}, which is {ascii_form} in ASCII"


def host_of(url: str) -> str:
    """The host that a browser would connect to. Browsers drop control characters and treat a backslash as a slash."""
    kept = "".join(letter for letter in url.strip() if letter.isprintable()).replace("\\", "/")
    try:
        return urlsplit(kept).hostname or ""
    except ValueError:
        return ""


def _in_ascii(host: str) -> str:
    """The host's name in ASCII, as DNS looks it up. It differs for look-alike letters of two alphabets."""
    # Python's codec follows IDNA 2003, which maps some names to a different host.
    labels = unicodedata.normalize("NFKC", host).lower().replace("\u3002", ".").split(".")
    return ".".join(label if label.isascii() else f"xn--{label.encode('punycode').decode('ascii')}" for label in labels)

"""The front for agents of AgentVault's A2A, which call the tools of a gateway's servers.

Those of AgentVault's proxy are among the servers: the variable `MCP_SERVER_MAP` is a JSON object of their names and
base URLs, below which each answers at `/rpc`, and `MCP_CALL_TIMEOUT` limits their calls.

A message names a server and a tool, and its task has the outcome: exactly one, also after an error, whose source is the
tool, the MCP server or the proxy.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Collection, Container, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from gaia_mcp._version import __version__
from gaia_mcp.config.entries import ServerEntry, read_entry
from gaia_mcp.config.targets import URL_SCHEMES
from gaia_mcp.contrib.agentvault import a2a
from gaia_mcp.core.errors import ConfigError
from gaia_mcp.core.names import is_server_name
from gaia_mcp.fleet.gateway.forwarding import NO_CONTENT
from gaia_mcp.protocol.envelope import FAILURE_KEY, TASKS_EXTENSION, meta_of
from gaia_mcp.protocol.input_required import QuestionError
from gaia_mcp.protocol.jsonrpc import INVALID_PARAMS, METHOD_NOT_FOUND
from gaia_mcp.protocol.server import Description
from gaia_mcp.server.provider import Listener, Provider, RequestError, method_not_found, unknown_tool

if TYPE_CHECKING:
    from gaia_mcp.asking import Call
    from gaia_mcp.fleet.gateway.provider import GatewayProvider
    from gaia_mcp.server.http.app import Front

Wire = dict[str, Any]
# The name of this skill in AgentVault's own proxy.
EXECUTE_TOOL = "mcp.execute_tool"
# The A2A error codes for the failures that a gateway reports in the result's `_meta`.
_CODES = {
    "connection": a2a.NOT_CONNECTED,
    "timeout": a2a.TIMEOUT,
    "protocol": a2a.INVALID_RESPONSE,
    "result": a2a.INVALID_RESULT,
    "arguments": str(INVALID_PARAMS),
}
# The members of a result that only the stateless era has.
_ENVELOPE = ("resultType", "_meta")
# The most server names in an error message.
_NAMED = 20
MAP_VARIABLE = "MCP_SERVER_MAP"
TIMEOUT_VARIABLE = "MCP_CALL_TIMEOUT"
# The default of AgentVault's proxy.
CALL_SECONDS = 60.0
_FORM = f'write {MAP_VARIABLE}=\'{{"files": "http://localhost:8001"}}\''


class _Wanted(NamedTuple):
    """The tool call in a message."""

    server: str
    tool: str
    arguments: Wire


class ExecutingProvider:
    """One tool, `mcp.execute_tool`, which calls the tools of `provider`: a gateway to `servers`, possibly restricted.
    `has_tool` returns whether a server lists a tool, None if it lists none; `name_of` returns the name of a tool at the
    provider, None if it is ambiguous. Each call becomes a task.
    """

    def __init__(
        self,
        provider: Provider,
        servers: Collection[str],
        has_tool: Callable[[str, str, Call], bool | None],
        name_of: Callable[[str, str, Call], str | None],
    ) -> None:
        self._provider = provider
        self._servers = servers
        self._has_tool = has_tool
        self._name_of = name_of

    def describe(self) -> Description:
        """The capabilities, without instructions: only the front calls the tool, and no client lists it."""
        capabilities: Wire = {"tools": {}, "extensions": {TASKS_EXTENSION: {}}}
        return Description({"name": "gaia-mcp", "version": __version__}, capabilities, "")

    def answer(self, method: str, params: Wire, call: Call) -> Wire:
        """A result whose structured content is the outcome. Raises as `Call.continue_as_task`, and
        `CallCancelledError`.
        """
        if method != "tools/call":
            raise method_not_found(method)
        call.continue_as_task(required=True)
        outcome = self._outcome(params.get("arguments"), meta_of(params), call)
        return {"content": [], "structuredContent": outcome}

    def on_change(self, listener: Listener, wanted: Container[str] = ()) -> Callable[[], None]:  # noqa: ARG002
        """Never calls `listener`: the tool does not change."""
        return lambda: None

    def close(self) -> None:
        """Does nothing: the caller closes `provider`."""

    def _outcome(self, content: Any, meta: Wire, call: Call) -> Wire:
        wanted = _read(content)
        if isinstance(wanted, str):
            return a2a.failed(a2a.PROXY, str(INVALID_PARAMS), wanted)
        server = self._server_of(wanted)
        if server is None:
            known = f"; known are: {', '.join(self._servers)}" if len(self._servers) <= _NAMED else ""
            problem = f"no server is known as {wanted.server!r}, nor by the prefix of {wanted.tool!r}{known}"
            return a2a.failed(a2a.PROXY, a2a.NOT_CONNECTED, problem)
        try:
            return self._called(server, wanted, meta, call)
        except QuestionError as problem:
            return a2a.failed(a2a.PROXY, a2a.INTERNAL, f"an A2A client cannot be asked: {problem}")
        except RequestError as problem:
            details = {"mcp_protocol_error_data": problem.data}
            return a2a.failed(a2a.PROTOCOL, str(problem.code), str(problem), details)

    def _server_of(self, wanted: _Wanted) -> str | None:
        """The server that the message names, or else the one that the prefix of the tool's name names."""
        candidates = (wanted.server, wanted.tool.partition(".")[0])
        return next((name for name in candidates if name in self._servers), None)

    def _called(self, server: str, wanted: _Wanted, meta: Wire, call: Call) -> Wire:
        name = wanted.tool
        # AgentVault's names have two parts, `filesystem.readFile`; an MCP server may list only the second one.
        own = name.removeprefix(f"{server}.")
        if own != name and not self._has_tool(server, name, call) and self._has_tool(server, own, call):
            name = own
        # A name that could mean a tool of another server is refused.
        if (known_as := self._name_of(server, name, call)) is None:
            problem = f"the name {name!r} of {server!r} is ambiguous: other servers have tools with names like it"
            return a2a.failed(a2a.PROXY, str(INVALID_PARAMS), problem)
        asked: Wire = {"name": known_as, "arguments": wanted.arguments}
        try:
            result = self._provider.answer("tools/call", {**asked, "_meta": meta} if meta else asked, call)
        except RequestError as problem:
            is_unknown = str(problem) == str(unknown_tool(known_as)) or self._has_tool(server, name, call) is False
            if problem.code != INVALID_PARAMS or not is_unknown:
                raise
            # To AgentVault's clients a tool is a method; in MCP its name is one of the parameters.
            raise RequestError(str(problem), METHOD_NOT_FOUND, problem.data) from problem
        if isinstance(failure := meta_of(result).get(FAILURE_KEY), str):
            text = f"timed out: {_text(result)}" if failure == "timeout" else _text(result)
            return a2a.failed(a2a.PROXY, _CODES.get(failure, a2a.INTERNAL), text)
        result = {member: value for member, value in result.items() if member not in _ENVELOPE}
        if result.get("content") is NO_CONTENT:
            # MCP demands this member, A2A does not.
            del result["content"]
        return a2a.tool_failed(wanted.tool, result) if result.get("isError") is True else a2a.succeeded(result)


def _text(result: Wire) -> str:
    """The text of a failure's result. A server could send the gateway's `_meta` key, so the content is checked."""
    content = result.get("content")
    texts = [block.get("text") for block in content if isinstance(block, dict)] if isinstance(content, list) else []
    return "\n".join(text for text in texts if isinstance(text, str))


def _read(content: Any) -> _Wanted | str:
    """The tool call in a message, or what is wrong with the message."""
    if not isinstance(content, dict):
        return "the message has no data part"
    server, tool = content.get("target_mcp_server_id"), content.get("tool_name")
    arguments = content.get("arguments")
    if not isinstance(tool, str) or not tool:
        return "'tool_name' must be the name of a tool"
    if server is not None and not isinstance(server, str):
        return "'target_mcp_server_id' must be a string"
    if arguments is not None and not isinstance(arguments, dict):
        return "'arguments' must be an object"
    return _Wanted(server or "", tool, arguments or {})


class A2aFront:
    """Serves `mcp.execute_tool`, at `/a2a`. `servers` are those that the variables name; a call to a server without a
    timeout of its own takes at most `call_seconds`. Raises `ConfigError` for invalid variables.
    """

    # That of the endpoint, which is not imported before it serves.
    path = "/a2a"

    def __init__(self, environ: Mapping[str, str]) -> None:
        self.servers = mapped_servers(environ)
        self.call_seconds = call_seconds(environ)

    def front(self, called: Provider, names: Collection[str], gateway: GatewayProvider) -> Front:
        """The front that calls the tools of the servers with these `names` through `called`, the restricted gateway."""
        from gaia_mcp.contrib.agentvault.a2a_endpoint import TaskFront

        return TaskFront(EXECUTE_TOOL, ExecutingProvider(called, names, gateway.has_tool, gateway.name_of))

    def announcement(self, url: str) -> str:
        """What is printed when it serves."""
        return f"agents of A2A can use it at {url}"


def mapped_servers(environ: Mapping[str, str]) -> dict[str, ServerEntry]:
    """The entries of the map, by their names; none without it. Raises `ConfigError`."""
    text = environ.get(MAP_VARIABLE, "")
    if not text.strip():
        return {}
    try:
        urls = json.loads(text)
    except (ValueError, RecursionError) as problem:
        # Its message contains the text, which may include credentials.
        at = f" at character {problem.pos + 1}" if isinstance(problem, json.JSONDecodeError) else ""
        raise ConfigError(f"{MAP_VARIABLE} is not valid JSON{at}", hint=_FORM) from None
    if not isinstance(urls, dict):
        raise ConfigError(f"{MAP_VARIABLE} is not a JSON object", hint=_FORM)
    return {name: _entry(name, url) for name, url in urls.items()}


def call_seconds(environ: Mapping[str, str]) -> float:
    """The timeout of calls to servers whose entry has none. Raises `ConfigError`."""
    text = environ.get(TIMEOUT_VARIABLE, "").strip()
    try:
        seconds = float(text) if text else CALL_SECONDS
    except ValueError:
        seconds = 0.0
    if seconds <= 0 or not math.isfinite(seconds):
        raise ConfigError(
            f"{TIMEOUT_VARIABLE} is not a number of seconds: {text!r}", hint=f"write {TIMEOUT_VARIABLE}=60"
        )
    return seconds


def _entry(name: str, url: object) -> ServerEntry:
    if not is_server_name(name):
        problem = f"{MAP_VARIABLE} has a server named {name!r}, which is not a valid name"
        raise ConfigError(problem, hint="use up to 64 letters, digits and _ . @ -, such as tip_virustotal")
    if not isinstance(url, str) or not url.startswith(URL_SCHEMES):
        raise ConfigError(f"{MAP_VARIABLE} has no URL for {name!r} that begins with http:// or https://", hint=_FORM)
    base = url.rstrip("/")
    return read_entry(name, {"type": "rpc", "url": base if base.endswith("/rpc") else f"{base}/rpc"})

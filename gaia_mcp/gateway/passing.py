"""Forwards a client's request to a server behind a gateway, and returns the result.

Members that concern only one of the two connections are removed, invalid results repaired; everything else is forwarded
unchanged. Failures of the server become errors for the client.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from gaia_mcp.errors import (
    ArgumentsError,
    DeadlineError,
    MCPError,
    PeerError,
    ProtocolError,
    ResourceUnknownError,
    resource_unknown,
)
from gaia_mcp.gateway.instances import BusyError
from gaia_mcp.gateway.questions import Runs
from gaia_mcp.gateway.repaired_results import repaired_result
from gaia_mcp.gateway.rounds import Rounds
from gaia_mcp.protocol.envelope import SERVER_INFO_KEY
from gaia_mcp.protocol.input_required import RETRY_MEMBERS
from gaia_mcp.protocol.jsonrpc import INTERNAL_ERROR, RESOURCE_NOT_FOUND
from gaia_mcp.server.provider import RequestError

if TYPE_CHECKING:
    from gaia_mcp.gateway.instances import Instances
    from gaia_mcp.toolcall import Call

Wire = dict[str, Any]

# The prefix of `_meta` members that concern one connection.
_OF_THE_CONNECTION = "io.modelcontextprotocol/"
# Members of a request that concern the client's connection. The tasks of 2025-11-25 are not forwarded.
_OWN_MEMBERS = frozenset({"_meta", "task", *RETRY_MEMBERS})


class UnreachableError(RequestError):
    """A request to a server failed. `failure` is "connection", "timeout", "protocol" (the response is invalid),
    "result" (the result in the response is invalid), "arguments" (they cannot be sent), or "busy" (all instances of the
    server are in use).
    """

    def __init__(self, text: str, failure: str) -> None:
        super().__init__(text, INTERNAL_ERROR)
        self.failure = failure


class UnknownResourceError(RequestError):
    """The server does not have this resource."""


class Passing:
    """Forwards requests. `report` is called with the failures of servers."""

    def __init__(self, report: Callable[[str], None]) -> None:
        self._report = report
        self._runs = Runs()

    def pass_on(self, instances: Instances, method: str, params: Wire, call: Call) -> Wire:
        """The result of a request from a server.

        Raises `UnknownResourceError`, `UnreachableError`, `RequestError` with the error of the server, and the
        exceptions that end a run of a call, such as `InputRequired`.
        """
        rounds = Rounds(instances, method, _passed_on(params), call, self._runs)
        try:
            result = rounds.result()
        except BusyError as busy:
            self._report(str(busy))
            raise UnreachableError(str(busy), "busy") from None
        except PeerError as error:
            if method != "resources/read" or not isinstance(
                resource_unknown(error, params["uri"]), ResourceUnknownError
            ):
                raise RequestError(error.text, error.code, error.data) from None
            # Servers have several codes for it; this one is converted to the code of the client's revision.
            data = {**(error.data if isinstance(error.data, dict) else {}), "uri": params["uri"]}
            raise UnknownResourceError(error.text, RESOURCE_NOT_FOUND, data) from None
        except MCPError as error:
            call.raise_if_cancelled()
            told = rounds.backend.explained(error) if error is not rounds.backend.problem else error
            self._report(told.message)
            more = f"; {told.hint}" if told.hint else ""
            raise UnreachableError(f"{told.message}{more}", _failure(error)) from None
        result = repaired_result(
            method, params, result, lambda problem: self._report(f"server {instances.name!r}: {problem}")
        )
        return _without_server(result)

    def close(self) -> None:
        """Cancel the requests that wait for an answer."""
        self._runs.close()


def _failure(error: MCPError) -> str:
    if isinstance(error, DeadlineError):
        return "timeout"
    if isinstance(error, ArgumentsError):
        return "arguments"
    if error.facts.get("invalid") == "result":
        return "result"
    return "protocol" if isinstance(error, ProtocolError) else "connection"


def _passed_on(params: Wire) -> Wire:
    """The parameters of a request without the members that concern the client's connection."""
    passed = {key: value for key, value in params.items() if key not in _OWN_MEMBERS}
    meta = params.get("_meta")
    if isinstance(meta, dict):
        own = {
            key: value
            for key, value in meta.items()
            if key != "progressToken" and not key.startswith(_OF_THE_CONNECTION)
        }
        if own:
            passed["_meta"] = own
    return passed


def _without_server(result: Wire) -> Wire:
    """A result without the server's information in `_meta`: the gateway adds its own."""
    meta = result.get("_meta")
    if not isinstance(meta, dict) or SERVER_INFO_KEY not in meta:
        return result
    own = {key: value for key, value in meta.items() if key != SERVER_INFO_KEY}
    without = {key: value for key, value in result.items() if key != "_meta"}
    return {**without, "_meta": own} if own else without

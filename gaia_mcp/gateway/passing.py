"""A request of a client as one of a server behind a gateway, and the result on its way back.

What is about one connection stays on its side; everything else passes as it is. What becomes of a server is an error
that the client can read.
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
from gaia_mcp.gateway.rounds import Rounds
from gaia_mcp.gateway.runs import Runs
from gaia_mcp.protocol.envelope import SERVER_INFO_KEY
from gaia_mcp.protocol.input_required import RETRY_MEMBERS
from gaia_mcp.protocol.jsonrpc import INTERNAL_ERROR, INVALID_PARAMS, RESOURCE_NOT_FOUND
from gaia_mcp.server.provider import RequestError

if TYPE_CHECKING:
    from gaia_mcp.gateway.backend import Backend
    from gaia_mcp.toolcall import Call

Wire = dict[str, Any]

# The members of `_meta` that are about one connection begin so.
_OF_THE_CONNECTION = "io.modelcontextprotocol/"
# Members of a request that are about the client's own connection: tasks of 2025-11-25 are not passed on.
_OWN_MEMBERS = frozenset({"_meta", "task", *RETRY_MEMBERS})


class UnreachableError(RequestError):
    """A server cannot be reached, or has not answered. `failure` is "connection" or "timeout"; "protocol" or
    "result" where its response is invalid, or the result in that; "arguments" where these cannot be sent.
    """

    def __init__(self, text: str, failure: str) -> None:
        super().__init__(text, INTERNAL_ERROR)
        self.failure = failure


class UnknownResourceError(RequestError):
    """A server does not have a resource."""


class Passing:
    """The requests that are passed on. `report` is called with what becomes of a server."""

    def __init__(self, report: Callable[[str], None]) -> None:
        self._report = report
        self._runs = Runs()

    def pass_on(self, backend: Backend, method: str, params: Wire, call: Call) -> Wire:
        """The result of a request at a server.

        Raises `UnknownResourceError`, `UnreachableError`, `RequestError` for what the server refuses, and what the run
        of a call ends with.
        """
        try:
            result = Rounds(backend, method, _passed_on(params), call, self._runs).result()
        except PeerError as error:
            if method != "resources/read" or not isinstance(
                resource_unknown(error, params["uri"]), ResourceUnknownError
            ):
                raise RequestError(error.text, error.code, error.data) from None
            # Each revision has its own code for it; this one becomes that of the client's.
            code = RESOURCE_NOT_FOUND if error.code == INVALID_PARAMS else error.code
            raise UnknownResourceError(error.text, code, error.data) from None
        except MCPError as error:
            call.raise_if_cancelled()
            told = backend.explained(error) if error is not backend.problem else error
            self._report(told.message)
            more = f"; {told.hint}" if told.hint else ""
            raise UnreachableError(f"{told.message}{more}", _failure(error)) from None
        return _without_server(result)

    def close(self) -> None:
        """Give up what waits for an answer."""
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
    """The parameters of a request without what is about the client's own connection."""
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
    """A result without the description of its server: that of the gateway takes its place."""
    meta = result.get("_meta")
    if not isinstance(meta, dict) or SERVER_INFO_KEY not in meta:
        return result
    own = {key: value for key, value in meta.items() if key != SERVER_INFO_KEY}
    without = {key: value for key, value in result.items() if key != "_meta"}
    return {**without, "_meta": own} if own else without

"""The protocol was broken, the peer responded with an error, or a tool call has no result and may have run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gaia_mcp.errors.connection import CancelledError, ConnectionLostError, DeadlineError, ServerExitedError
from gaia_mcp.errors.root import MCPError


class ProtocolError(MCPError, kind="protocol"):
    """The protocol was broken."""


class LocalProtocolError(ProtocolError, kind="protocol-local"):
    """We were about to break the protocol. Nothing was sent."""


class RemoteProtocolError(ProtocolError, kind="protocol-remote"):
    """The peer broke the protocol."""

    def __init__(self, server: str, problem: str, *, hint: str = "", case: str = "") -> None:
        super().__init__(f"server {server!r} {problem}", hint=hint, server=server, case=case)


class VersionError(ProtocolError, kind="version"):
    """We and the server have no protocol version in common."""

    def __init__(self, server: str, theirs: Sequence[str], ours: Sequence[str]) -> None:
        named = ", ".join(theirs) or "no revision that it names"
        super().__init__(f"server {server!r} supports {named}; this client supports {', '.join(ours)}", server=server)
        self.theirs = tuple(theirs)
        self.ours = tuple(ours)


class NotSupportedError(ProtocolError, kind="not-supported"):
    """The peer does not declare a capability. Nothing was sent.

    `feature` is "prompts", "resources", "completions" or "subscriptions".
    """

    def __init__(self, server: str, feature: str) -> None:
        super().__init__(f"server {server!r} does not support {feature}", server=server)
        self.feature = feature


class PeerError(ProtocolError, kind="peer"):
    """The peer answered the request `asked` with a JSON-RPC error: its `code`, its message in `text`, its `data`.

    `is_logged` tells whether the server has written anything to its log meanwhile, where a log is kept.
    """

    is_logged = False

    def __init__(self, server: str, asked: str, code: int, text: str, data: Any = None) -> None:
        # The TypeScript SDK puts the code into the text, each time that an error is passed on.
        repeated = f"MCP error {code}: "
        begin = 0
        while text.startswith(repeated, begin):
            begin += len(repeated)
        super().__init__(f"server {server!r} answered {asked} with error {code}: {text[begin:]}", server=server)
        self.asked = asked
        self.code = code
        self.text = text
        self.data = data
        self.facts = {"code": code} if data is None else {"code": code, "data": data}


class CompletionError(ProtocolError, ValueError, kind="completion"):
    """The chat completion of a language model is invalid."""

    def __init__(self, problem: str) -> None:
        super().__init__(f"the completion {problem}")
        self.problem = problem


class OutcomeUnknownError(MCPError, kind="outcome-unknown"):
    """The tool `tool` was called and no result arrived: it may have run. It is never called again automatically.

    Each subclass is also the error that another request ends with. `outcome_unknown` makes one of the other.
    """

    tool: str = ""


class CallLostError(ServerExitedError, OutcomeUnknownError):
    """The server ended during a tool call."""


class CallCutError(ConnectionLostError, OutcomeUnknownError):
    """The connection ended during a tool call."""


class CallLateError(DeadlineError, OutcomeUnknownError):
    """The time for a tool call ran out."""


class CallCancelledError(CancelledError, OutcomeUnknownError):
    """A tool call was cancelled."""


class CallGarbledError(RemoteProtocolError, OutcomeUnknownError):
    """The response to a tool call is invalid."""


_DURING_A_CALL: dict[type[MCPError], type[OutcomeUnknownError]] = {
    ServerExitedError: CallLostError,
    ConnectionLostError: CallCutError,
    DeadlineError: CallLateError,
    CancelledError: CallCancelledError,
    RemoteProtocolError: CallGarbledError,
}


def outcome_unknown(error: MCPError, tool: str | None) -> MCPError:
    """What `error` is when it ends a call of `tool` that was sent: an `OutcomeUnknownError` with the same values.

    An error that does not leave open whether the tool ran is returned as it is, and so is one of another request,
    which has no tool.
    """
    kind = _DURING_A_CALL.get(type(error))
    if kind is None or tool is None:
        return error
    unknown = kind.__new__(kind)
    MCPError.__init__(unknown, error.message)
    hint = f"{tool!r} may have run, and was not called again"
    vars(unknown).update(vars(error), tool=tool, hint=hint, facts={**error.facts, "may_have_run": tool})
    return unknown

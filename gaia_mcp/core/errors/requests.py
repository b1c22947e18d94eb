"""A request has no result: no connection, no response in time, a broken protocol, an error response, arguments that do
not fit the tool, or a refusal by the caller's own rules.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from gaia_mcp.core.errors import MCPError

# The code of revisions up to 2025-11-25, and that of later ones, which also stands for any other wrong parameter.
_CODES = (-32002, -32602)
# Some servers have no code of their own for it. A method that is not found is another matter.
_NOT_FOUND = re.compile(r"unknown resource|not found|no such|does not exist", re.IGNORECASE)


class ConnectError(MCPError, RuntimeError, kind="connect"):
    """No connection to the server."""


class SpawnError(ConnectError, kind="spawn"):
    """The server's command could not be started. `program` is the path of what was to be run, where one was found."""

    def __init__(
        self, server: str, command: str, reason: str, *, hint: str = "", program: str = "", case: str = ""
    ) -> None:
        problem = f"server {server!r} could not be started: {command!r} {reason}"
        super().__init__(problem, hint=hint, server=server, case=case)
        self.command = command
        self.reason = reason
        self.program = program


class ConnectionLostError(ConnectError, kind="connection-lost"):
    """The connection ended while it was in use."""


class ServerExitedError(ConnectionLostError, kind="exited"):
    """The server ended, or closed its output or its input, while it was in use.

    `returncode` is as in `subprocess` (negative for a signal), None if it still runs: then `closed` tells what it did.
    `stderr_tail` is the end of what it wrote to stderr, `stage` what we were waiting for. `noise` tells what it wrote
    to stdout instead of a response, and is reported if it wrote nothing to stderr.
    """

    def __init__(
        self,
        server: str,
        stage: str,
        returncode: int | None,
        stderr_tail: str = "",
        *,
        last_words: str = "",
        noise: str = "",
        closed: str = "closed its output",
    ) -> None:
        how = closed if returncode is None else exit_in_words(returncode)
        said = f"the last line of its stderr: {last_words}" if last_words else noise or "it wrote nothing to stderr"
        super().__init__(f"server {server!r} {how} {stage}; {said}", server=server)
        self.returncode = returncode
        self.stderr_tail = stderr_tail
        self.last_words = last_words
        self.closed = closed
        self.stage = stage


class AuthorizationError(ConnectError, kind="authorization"):
    """The server requires authorization, and there is none that it accepts. `problem` completes "server NAME …";
    `scopes` are those that a new authorization has to ask for, where the server has named them.
    """

    def __init__(
        self, server: str, problem: str, *, hint: str = "", case: str = "", scopes: Sequence[str] = ()
    ) -> None:
        super().__init__(f"server {server!r} {problem}", hint=hint, server=server, case=case)
        self.scopes = tuple(scopes)


class StatusError(ConnectError, kind="http-status"):
    """The server refused a request with an HTTP status, and so did nothing. `status` is its number."""

    def __init__(self, server: str, message: str, status: int, *, case: str = "") -> None:
        super().__init__(message, server=server, case=case or f"http-{status}")
        self.status = status
        self.facts = {"status": status}


class SessionExpiredError(ConnectError, kind="session-expired"):
    """The server no longer knows the session, and did nothing. A new connection begins another one."""

    def __init__(self, server: str) -> None:
        super().__init__(f"server {server!r} no longer knows the session", server=server)


class NotConnectedError(ConnectError, kind="not-connected"):
    """Used before `connect()` or after `disconnect()`."""

    def __init__(self, server: str) -> None:
        super().__init__(f"Not connected to MCP server {server!r}", hint="call connect() first", server=server)


class RegistryError(ConnectError, kind="registry"):
    """A registry of servers cannot be read. `problem` completes "the registry URL …"; `moved` is the URL that it
    redirects to, empty if it does not.
    """

    def __init__(self, url: str, problem: str, *, hint: str = "", case: str = "", moved: str = "") -> None:
        super().__init__(f"the registry {url} {problem}", hint=hint, case=case)
        self.url = url
        self.moved = moved


class DeadlineError(MCPError, TimeoutError, kind="timeout"):
    """Time ran out. `stage` is what we were waiting for, `seconds` the time that was allowed."""

    def __init__(self, server: str, stage: str, seconds: float, *, noise: str = "", case: str = "") -> None:
        more = f"; {noise}" if noise else ""
        message = f"server {server!r} did not answer {stage} within {seconds:g} s{more}"
        super().__init__(message, server=server, case=case)
        self.stage = stage
        self.seconds = seconds


class InputLateError(DeadlineError):
    """What a command was to read, such as `standard input`, did not end in time."""

    def __init__(self, source: str, seconds: float) -> None:
        MCPError.__init__(self, f"{source} did not end within {seconds:g} s")
        self.stage = source
        self.seconds = seconds


class CancelledError(MCPError, kind="cancelled"):
    """Another thread called `cancel()` on the deadline of a request. The server was told; what it did stays done."""

    def __init__(self, server: str, stage: str) -> None:
        super().__init__(f"{stage} was cancelled before server {server!r} answered", server=server)
        self.stage = stage


def exit_in_words(returncode: int) -> str:
    """How a process ended, as the predicate of a sentence."""
    if returncode >= 0:
        return f"exited with status {returncode}"
    import signal

    try:
        return f"was ended by {signal.Signals(-returncode).name}"
    except ValueError:
        return f"was ended by signal {-returncode}"


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


class ToolError(MCPError, kind="tool"):
    """The call does not fit the tool."""


class ToolUnknownError(ToolError, kind="tool-unknown"):
    """The server has no tool of that name, or one that cannot be called; `reason` is then why."""

    def __init__(self, server: str, tool: str, *, reason: str = "", suggestion: str = "", case: str = "") -> None:
        more = f": {reason}" if reason else ""
        super().__init__(f"server {server!r} has no tool {tool!r}{more}", hint=suggestion, server=server, case=case)
        self.tool = tool


class FeatureUnknownError(ToolError, kind="feature-unknown"):
    """The server has no prompt of that name, or no resource of that URI; `feature` is "prompt" or "resource"."""

    def __init__(self, server: str, feature: str, name: str, *, reason: str = "", suggestion: str = "") -> None:
        more = f": {reason}" if reason else ""
        super().__init__(f"server {server!r} has no {feature} {name!r}{more}", hint=suggestion, server=server)
        self.feature = feature
        self.name = name


class ArgumentsError(ToolError, ValueError, kind="arguments"):
    """Arguments that do not fit the schema of a tool or prompt, or that JSON cannot express. Nothing was sent."""

    def __init__(
        self, server: str, tool: str, problems: Sequence[str], *, hint: str = "", feature: str = "tool"
    ) -> None:
        super().__init__(f"{feature} {tool!r} of {server!r}: {'; '.join(problems)}", hint=hint, server=server)
        self.tool = tool
        self.feature = feature
        self.problems = tuple(problems)


class RefusedError(MCPError, kind="refused"):
    """Not allowed by the caller's own rules."""


class ContractError(RefusedError, kind="contract"):
    """A server's tools are not as they were locked, or were never locked; `facts["changes"]` lists the differences."""

    def __init__(self, server: str, problem: str, changes: Sequence[dict[str, Any]] = (), *, hint: str) -> None:
        super().__init__(f"server {server!r} {problem}", hint=hint, server=server)
        self.facts = {"changes": list(changes)} if changes else {}


class ReadOnlyError(RefusedError, kind="read-only"):
    """Only read-only tools may be called, and this one is not known to be: its server does not mark it so; or it does
    (`is_marked`), and the tool has the name of one that changes something; or only the entry of the server does not
    trust such hints (`is_distrusted`). Nothing was sent.
    """

    def __init__(self, server: str, tool: str, *, is_marked: bool = False, is_distrusted: bool = False) -> None:
        why = "is not marked as read-only by its server"
        case = ""
        if is_distrusted:
            why = "is marked as read-only, but the hints of its server are not trusted"
            case = "hints-distrusted"
        elif is_marked:
            why = "is marked as read-only, but its name suggests that it changes something"
        super().__init__(f"tool {tool!r} of {server!r} {why}", server=server, case=case)
        self.tool = tool


class UnansweredError(RefusedError, kind="unanswered"):
    """The server has asked for something that was not answered; `facts["question"]` is what it asked. The tool that
    asked may have done a part of its work.
    """

    def __init__(self, server: str, problem: str, question: dict[str, Any] | None = None, *, hint: str = "") -> None:
        super().__init__(f"server {server!r} {problem}", hint=hint, server=server)
        self.facts = {"question": question} if question is not None else {}


class ScopeError(RefusedError, kind="scope"):
    """The entry of the server is restricted to other stages, or to other agents, than the caller's, of which one may be
    None. Nothing was sent.
    """

    def __init__(self, server: str, stage: str | None, agent: str | None) -> None:
        whom = "" if agent is None else f" to agent {agent!r}"
        when = "" if stage is None else f" at stage {stage!r}"
        super().__init__(f"server {server!r} is not available{whom}{when}", server=server)
        self.stage = stage
        self.agent = agent


class ToolExcludedError(RefusedError, kind="tool-excluded"):
    """The entry of the server excludes this tool. Nothing was sent.

    `member` is the member that does so, "includeTools" or "excludeTools", and `patterns` are what it holds.
    """

    def __init__(self, server: str, tool: str, member: str, patterns: Sequence[str]) -> None:
        how = "is excluded by" if member == "excludeTools" else "is not among"
        super().__init__(f"tool {tool!r} of {server!r} {how} the {member!r} of its entry", server=server)
        self.tool = tool
        self.member = member
        self.patterns = tuple(patterns)


class ResourceUnknownError(FeatureUnknownError, PeerError):
    """The server answered that it has no resource of this URI, whichever code and words it has for that."""

    def __init__(self, error: PeerError, uri: str) -> None:
        # Both parents have an initializer that would call the other's.
        unknown = FeatureUnknownError(
            error.server, "resource", uri, reason="" if _NOT_FOUND.search(error.text) else error.text
        )
        MCPError.__init__(self, unknown.message, server=error.server)
        vars(self).update({**vars(error), **vars(unknown), "facts": error.facts})


def resource_unknown(error: PeerError, uri: str) -> PeerError:
    """What `error` is as the response to a request about the resource `uri`: a `ResourceUnknownError`, or the same."""
    if error.code in _CODES or (_NOT_FOUND.search(error.text) and "method" not in error.text.lower()):
        return ResourceUnknownError(error, uri)
    return error

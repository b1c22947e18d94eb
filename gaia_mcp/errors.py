"""Every error of the package, in one tree.

    MCPError                        the root: a message, a hint, a kind
    ├── ConfigError                 the configuration cannot be used
    │   ├── ConfigFileError         a file that cannot be read, parsed or written
    │   ├── ServerUnknownError      no server of that name
    │   ├── ServerExistsError       the name is taken                             (ValueError)
    │   ├── EntryError              an invalid entry                              (ValueError)
    │   ├── VariableUnsetError      `${NAME}` is not set and has no default
    │   └── AgentError              an agent that cannot be loaded
    ├── ConnectError                no connection to the server                   (RuntimeError)
    │   ├── SpawnError              its command could not be started
    │   ├── ConnectionLostError     the connection ended while it was in use
    │   │   └── ServerExitedError   the server ended, or closed its output or input
    │   └── NotConnectedError       used before connect() or after disconnect()
    ├── DeadlineError               time ran out                                  (TimeoutError)
    ├── CancelledError              the request was cancelled
    ├── OutcomeUnknownError         a tool was called, no result arrived, and it may have run
    │   ├── CallLostError           the server ended meanwhile                    (ServerExitedError)
    │   ├── CallLateError           time ran out meanwhile                        (DeadlineError)
    │   ├── CallCancelledError      the call was cancelled                        (CancelledError)
    │   └── CallGarbledError        its response is invalid                       (RemoteProtocolError)
    ├── ProtocolError               the protocol was broken
    │   ├── LocalProtocolError      by us
    │   ├── RemoteProtocolError     by the peer
    │   ├── VersionError            no protocol version in common
    │   ├── NotOfferedError         the peer does not declare this capability
    │   └── PeerError               the peer answered with a JSON-RPC error
    ├── ToolError                   the call does not fit the tool
    │   ├── ToolUnknownError        no tool of that name
    │   ├── OfferUnknownError       no prompt of that name, no resource of that URI
    │   └── ArgumentsError          arguments that do not fit its schema          (ValueError)
    └── RefusedError                not allowed by the caller's own rules
        ├── ContractError           a server's tools are not as they were locked, or were never locked
        ├── ReadOnlyError           a tool that its server does not mark as read-only
        └── ToolExcludedError       a tool that the entry of its server excludes

An error carries plain values, and its message names them. It knows no command line: `cli/hints.py` knows what to type
next. A tool that ran and reported a failure is a result, not an exception.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from pathlib import Path


class MCPError(Exception):
    """The root. `message` is one line, `hint` a fact that helps, where there is one; neither ever holds a secret.

    `server` is the name of the server that it is about. `kind` names the class and `case` the cause, where a class has
    several that call for different advice. `facts` holds more for programs: plain JSON values by name.
    """

    kind: ClassVar[str] = "error"

    def __init_subclass__(cls, *, kind: str = "", **settings: Any) -> None:
        super().__init_subclass__(**settings)
        cls.kind = kind or cls.kind

    def __init__(self, message: str, *, hint: str = "", server: str = "", case: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.server = server
        self.case = case
        self.facts: dict[str, Any] = {}


class ConfigError(MCPError, kind="config"):
    """The configuration cannot be used."""


class ConfigFileError(ConfigError, kind="config-file"):
    """A configuration file that cannot be read, parsed or written. It is never overwritten."""

    def __init__(
        self,
        path: Path,
        problem: str,
        *,
        line: int = 0,
        column: int = 0,
        hint: str = "",
        server: str = "",
        case: str = "",
    ) -> None:
        where = f"{path}:{line}:{column}" if line else str(path)
        super().__init__(f"{where}: {problem}", hint=hint, server=server, case=case)
        self.path = path
        self.line = line
        self.column = column


class ServerUnknownError(ConfigError, kind="server-unknown"):
    """No server of that name is in the file at `path`; `project` is the project's file that it is in."""

    def __init__(self, server: str, path: Path, *, suggestion: str = "", project: Path | None = None) -> None:
        super().__init__(f"no server {server!r} in {path}", hint=suggestion, server=server)
        self.path = path
        self.project = project


class ServerExistsError(ConfigError, ValueError, kind="server-exists"):
    """A server of that name exists already."""

    def __init__(self, server: str, path: Path | None = None) -> None:
        where = f" in {path}" if path is not None else ""
        super().__init__(f"MCP server {server!r} already exists{where}", server=server)
        self.path = path


class EntryError(ConfigError, ValueError, kind="entry"):
    """A server's entry is invalid."""

    def __init__(self, server: str, problem: str, *, hint: str = "", case: str = "") -> None:
        super().__init__(f"server {server!r}: {problem}", hint=hint, server=server, case=case)


class VariableUnsetError(ConfigError, kind="variable-unset"):
    """An entry refers to a variable that is not set and has no default."""

    def __init__(self, server: str, variable: str, field: str) -> None:
        super().__init__(f"server {server!r}: {field} refers to ${{{variable}}}, which is not set", server=server)
        self.variable = variable
        self.field = field


class AgentError(ConfigError, kind="agent"):
    """An agent that cannot be loaded or lacks what is needed to serve it."""

    def __init__(self, target: str, problem: str, *, hint: str = "", case: str = "") -> None:
        super().__init__(f"agent {target!r} {problem}", hint=hint, case=case)
        self.target = target


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
        how = closed if returncode is None else _ended(returncode)
        said = f"its last words: {last_words}" if last_words else noise or "it wrote nothing to stderr"
        super().__init__(f"server {server!r} {how} {stage}; {said}", server=server)
        self.returncode = returncode
        self.stderr_tail = stderr_tail
        self.last_words = last_words
        self.closed = closed
        self.stage = stage


class NotConnectedError(ConnectError, kind="not-connected"):
    """Used before `connect()` or after `disconnect()`."""

    def __init__(self, server: str) -> None:
        super().__init__(f"Not connected to MCP server {server!r}", hint="call connect() first", server=server)


class DeadlineError(MCPError, TimeoutError, kind="timeout"):
    """Time ran out. `stage` is what we were waiting for, `seconds` the time that was allowed."""

    def __init__(self, server: str, stage: str, seconds: float, *, noise: str = "", case: str = "") -> None:
        more = f"; {noise}" if noise else ""
        message = f"server {server!r} did not answer {stage} within {seconds:g} s{more}"
        super().__init__(message, server=server, case=case)
        self.stage = stage
        self.seconds = seconds


class CancelledError(MCPError, kind="cancelled"):
    """Another thread called `cancel()` on the deadline of a request. The server was told; what it did stays done."""

    def __init__(self, server: str, stage: str) -> None:
        super().__init__(f"{stage} was cancelled before server {server!r} answered", server=server)
        self.stage = stage


class OutcomeUnknownError(MCPError, kind="outcome-unknown"):
    """The tool `tool` was called and no result arrived: it may have run. It is never called again automatically.

    Each subclass is also the error that another request ends with. `outcome_unknown` makes one of the other.
    """

    tool: str = ""


class CallLostError(ServerExitedError, OutcomeUnknownError):
    """The server ended during a tool call."""


class CallLateError(DeadlineError, OutcomeUnknownError):
    """The time for a tool call ran out."""


class CallCancelledError(CancelledError, OutcomeUnknownError):
    """A tool call was cancelled."""


class ProtocolError(MCPError, kind="protocol"):
    """The protocol was broken."""


class LocalProtocolError(ProtocolError, kind="protocol-local"):
    """We were about to break the protocol. Nothing was sent."""


class RemoteProtocolError(ProtocolError, kind="protocol-remote"):
    """The peer broke the protocol."""

    def __init__(self, server: str, problem: str, *, hint: str = "") -> None:
        super().__init__(f"server {server!r} {problem}", hint=hint, server=server)


class CallGarbledError(RemoteProtocolError, OutcomeUnknownError):
    """The response to a tool call is invalid."""


_DURING_A_CALL: dict[type[MCPError], type[OutcomeUnknownError]] = {
    ServerExitedError: CallLostError,
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


class VersionError(ProtocolError, kind="version"):
    """We and the server have no protocol version in common."""

    def __init__(self, server: str, theirs: Sequence[str], ours: Sequence[str]) -> None:
        named = ", ".join(theirs) or "no version that it names"
        super().__init__(f"server {server!r} speaks {named}; we speak {', '.join(ours)}", server=server)
        self.theirs = tuple(theirs)
        self.ours = tuple(ours)


class NotOfferedError(ProtocolError, kind="not-offered"):
    """The peer does not declare a capability. Nothing was sent.

    `offer` is "prompts", "resources", "completions" or "subscriptions".
    """

    def __init__(self, server: str, offer: str) -> None:
        super().__init__(f"server {server!r} offers no {offer}", server=server)
        self.offer = offer


class PeerError(ProtocolError, kind="peer"):
    """The peer answered the request `asked` with a JSON-RPC error: its `code`, its message in `text`, its `data`."""

    def __init__(self, server: str, asked: str, code: int, text: str, data: Any = None) -> None:
        super().__init__(f"server {server!r} answered {asked} with error {code}: {text}", server=server)
        self.asked = asked
        self.code = code
        self.text = text
        self.data = data


class ToolError(MCPError, kind="tool"):
    """The call does not fit the tool."""


class ToolUnknownError(ToolError, kind="tool-unknown"):
    """The server has no tool of that name."""

    def __init__(self, server: str, tool: str, *, suggestion: str = "") -> None:
        super().__init__(f"server {server!r} has no tool {tool!r}", hint=suggestion, server=server)
        self.tool = tool


class OfferUnknownError(ToolError, kind="offer-unknown"):
    """The server has no prompt of that name, or no resource of that URI; `offer` is "prompt" or "resource"."""

    def __init__(self, server: str, offer: str, name: str, *, reason: str = "", suggestion: str = "") -> None:
        more = f": {reason}" if reason else ""
        super().__init__(f"server {server!r} has no {offer} {name!r}{more}", hint=suggestion, server=server)
        self.offer = offer
        self.name = name


class ArgumentsError(ToolError, ValueError, kind="arguments"):
    """Arguments that do not fit the schema of a tool or prompt, or that JSON cannot express. Nothing was sent."""

    def __init__(self, server: str, tool: str, problems: Sequence[str], *, hint: str = "", offer: str = "tool") -> None:
        super().__init__(f"{offer} {tool!r} of {server!r}: {'; '.join(problems)}", hint=hint, server=server)
        self.tool = tool
        self.offer = offer
        self.problems = tuple(problems)


class RefusedError(MCPError, kind="refused"):
    """Not allowed by the caller's own rules."""


class ContractError(RefusedError, kind="contract"):
    """A server's tools are not as they were locked, or were never locked; `facts["changes"]` lists the differences."""

    def __init__(self, server: str, problem: str, changes: Sequence[dict[str, Any]] = (), *, hint: str) -> None:
        super().__init__(f"server {server!r} {problem}", hint=hint, server=server)
        self.facts = {"changes": list(changes)} if changes else {}


class ReadOnlyError(RefusedError, kind="read-only"):
    """Only tools that are marked as read-only may be called, and this one is not; or it is, as `is_marked` tells, and
    has the name of one that changes something. Nothing was sent.
    """

    def __init__(self, server: str, tool: str, *, is_marked: bool = False) -> None:
        why = "does not say that it only reads"
        if is_marked:
            why = "is marked as read-only, and has the name of one that changes something"
        super().__init__(f"tool {tool!r} of {server!r} {why}", server=server)
        self.tool = tool


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


def _ended(returncode: int) -> str:
    if returncode >= 0:
        return f"exited with status {returncode}"
    import signal

    try:
        return f"was ended by {signal.Signals(-returncode).name}"
    except ValueError:
        return f"was ended by signal {-returncode}"

"""Every error of the package, in one tree.

    MCPError                        the root: a message, a hint, a kind
    ├── ConfigError                 what was configured cannot be used
    │   ├── ConfigFileError         a file that cannot be read, parsed or written
    │   ├── ServerUnknownError      no server of that name
    │   ├── ServerExistsError       a server of that name is there already        (ValueError)
    │   ├── EntryError              an entry that makes no sense                  (ValueError)
    │   ├── VariableUnsetError      `${NAME}` with nothing behind it
    │   └── AgentError              an agent that cannot be loaded
    ├── ConnectError                no connection to the server                   (RuntimeError)
    │   ├── SpawnError              its command could not be started
    │   ├── ServerExitedError       it ended, or closed its output or input
    │   └── NotConnectedError       used before connect() or after disconnect()
    ├── DeadlineError               time ran out                                  (TimeoutError)
    ├── CancelledError              somebody no longer wanted the answer
    ├── ProtocolError               the conversation broke
    │   ├── LocalProtocolError      we broke it
    │   ├── RemoteProtocolError     the peer broke it
    │   ├── VersionError            no version that both sides speak
    │   ├── NotOfferedError         the peer has said that it offers nothing of the kind
    │   └── PeerError               the peer answered with a JSON-RPC error
    ├── ToolError                   the call does not fit the tool
    │   ├── ToolUnknownError        no tool of that name
    │   ├── OfferUnknownError       no prompt of that name
    │   └── ArgumentsError          arguments that do not fit its schema          (ValueError)
    └── RefusedError                we could, and were told not to
        ├── ContractError           a server's tools are not as they were locked, or were never locked
        └── ReadOnlyError           a tool that does not say that it only reads

A tool that ran and reported a failure is a result, not an exception.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from gaia_mcp.names import typeable

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


class MCPError(Exception):
    """The root. `message` says what is, `hint` what to do; neither ever holds a secret."""

    kind: ClassVar[str] = "error"

    def __init__(self, message: str, *, hint: str = "", server: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.server = server
        # More for programs that read the error: plain JSON values by name.
        self.facts: dict[str, Any] = {}


class ConfigError(MCPError):
    """What was configured cannot be used."""

    kind = "config"


class ConfigFileError(ConfigError):
    """A configuration file that cannot be read, parsed or written. It is never overwritten."""

    kind = "config-file"

    def __init__(self, path: Path, problem: str, *, line: int = 0, column: int = 0, hint: str = "") -> None:
        where = f"{path}:{line}:{column}" if line else str(path)
        super().__init__(f"{where}: {problem}", hint=hint or "mend or move the file; it was left as it is")
        self.path = path
        self.line = line
        self.column = column


class ServerUnknownError(ConfigError):
    """No server of that name is configured."""

    kind = "server-unknown"

    def __init__(self, server: str, path: Path, *, suggestion: str = "") -> None:
        super().__init__(
            f"no server {server!r} in {path}",
            hint=suggestion or "see the names with: gaia mcp list",
            server=server,
        )
        self.path = path


class ServerExistsError(ConfigError, ValueError):
    """A server of that name is there already."""

    kind = "server-exists"

    def __init__(self, server: str, path: Path | None = None) -> None:
        super().__init__(
            f"MCP server {server!r} already exists" + (f" in {path}" if path is not None else ""),
            hint="choose another name, or replace it: gaia mcp add --force",
            server=server,
        )


class EntryError(ConfigError, ValueError):
    """A server's entry that makes no sense."""

    kind = "entry"

    def __init__(self, server: str, problem: str, *, hint: str = "") -> None:
        super().__init__(
            f"server {server!r}: {problem}", hint=hint or "see what an entry holds: gaia mcp add --help", server=server
        )


class VariableUnsetError(ConfigError):
    """An entry refers to a variable that is not set and has no default."""

    kind = "variable-unset"

    def __init__(self, server: str, variable: str, field: str) -> None:
        super().__init__(
            f"server {server!r}: {field} refers to ${{{variable}}}, which is not set",
            hint=f"export {variable}=… first, or write a default: ${{{variable}:-value}}",
            server=server,
        )
        self.variable = variable


class AgentError(ConfigError):
    """An agent that cannot be loaded or lacks what is needed to serve it."""

    kind = "agent"

    def __init__(self, target: str, problem: str, *, hint: str = "") -> None:
        super().__init__(
            f"agent {target!r} {problem}", hint=hint or "write package.module:Class or path/to/file.py:Class"
        )
        self.target = target


class ConnectError(MCPError, RuntimeError):
    """No connection to the server."""

    kind = "connect"


class SpawnError(ConnectError):
    """The server's command could not be started."""

    kind = "spawn"

    def __init__(self, server: str, command: str, reason: str, *, hint: str = "") -> None:
        super().__init__(
            f"server {server!r} could not be started: {command!r} {reason}",
            hint=hint or f"try the entry alone with: gaia mcp test-client {typeable(server)}",
            server=server,
        )
        self.command = command
        self.reason = reason


class ServerExitedError(ConnectError):
    """The server ended, or closed its output or its input, while something was wanted of it.

    `returncode` is as in `subprocess` (negative for a signal), None if it still runs: then `closed` says what it did.
    `stderr_tail` is the end of what it wrote to stderr; `stage` what was being waited for. `noise` says what it
    wrote to stdout instead of an answer, which is told where it has no last words.
    """

    kind = "exited"

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
        # Who ends before a word was said was mostly started in a wrong way.
        way = "check its command with: gaia mcp show"
        if stage != "at its start":
            way = "see each step with: gaia mcp test-client"
        super().__init__(f"server {server!r} {how} {stage}; {said}", hint=f"{way} {typeable(server)}", server=server)
        self.returncode = returncode
        self.stderr_tail = stderr_tail
        self.last_words = last_words
        self.closed = closed
        self.stage = stage


class NotConnectedError(ConnectError):
    """Used before `connect()` or after `disconnect()`."""

    kind = "not-connected"

    def __init__(self, server: str) -> None:
        super().__init__(f"Not connected to MCP server {server!r}", hint="call connect() first", server=server)


class DeadlineError(MCPError, TimeoutError):
    """Time ran out. `stage` is what was being waited for, `seconds` the time that was allowed."""

    kind = "timeout"

    def __init__(self, server: str, stage: str, seconds: float, *, noise: str = "", hint: str = "") -> None:
        super().__init__(
            f"server {server!r} did not answer {stage} within {seconds:g} s" + (f"; {noise}" if noise else ""),
            hint=hint or "allow more time with --timeout SECONDS",
            server=server,
        )
        self.stage = stage
        self.seconds = seconds


class CancelledError(MCPError):
    """Somebody called `cancel()` on the deadline of a request. The server has been told; what it did stays done."""

    kind = "cancelled"

    def __init__(self, server: str, stage: str) -> None:
        super().__init__(
            f"{stage} was cancelled while server {server!r} was at it", hint="ask again if it is wanted", server=server
        )
        self.stage = stage


class ProtocolError(MCPError):
    """The conversation broke."""

    kind = "protocol"


class LocalProtocolError(ProtocolError):
    """We were about to break the protocol."""

    kind = "protocol-local"


class RemoteProtocolError(ProtocolError):
    """The peer broke the protocol."""

    kind = "protocol-remote"

    def __init__(self, server: str, problem: str, *, hint: str = "") -> None:
        super().__init__(
            f"server {server!r} {problem}",
            hint=hint or f"tell its author; see each step with: gaia mcp test-client {typeable(server)}",
            server=server,
        )


class VersionError(ProtocolError):
    """No protocol version that both sides speak."""

    kind = "version"

    def __init__(self, server: str, theirs: Sequence[str], ours: Sequence[str]) -> None:
        super().__init__(
            f"server {server!r} speaks {', '.join(theirs) or 'no version that it names'}; we speak {', '.join(ours)}",
            hint="update whichever of the two is older",
            server=server,
        )
        self.theirs = tuple(theirs)
        self.ours = tuple(ours)


class NotOfferedError(ProtocolError):
    """The peer has said what it offers, and this kind of thing is not among it. Nothing was asked.

    `offer` is "prompts", "resources", "completions" or "subscriptions".
    """

    kind = "not-offered"

    def __init__(self, server: str, offer: str) -> None:
        super().__init__(
            f"server {server!r} offers no {offer}",
            hint=f"see what it offers with: gaia mcp test-client {typeable(server)}",
            server=server,
        )
        self.offer = offer


class PeerError(ProtocolError):
    """The peer answered with a JSON-RPC error: `code`, the peer's own words, and its `data`."""

    kind = "peer"

    def __init__(self, server: str, asked: str, code: int, text: str, data: Any = None, *, hint: str = "") -> None:
        super().__init__(
            f"server {server!r} answered {asked} with error {code}: {text}",
            hint=hint or f"see what it offers with: gaia mcp {_listing_of(asked)} {typeable(server)}",
            server=server,
        )
        self.asked = asked
        self.code = code
        self.text = text
        self.data = data


class ToolError(MCPError):
    """The call does not fit the tool."""

    kind = "tool"


class ToolUnknownError(ToolError):
    """The server has no tool of that name."""

    kind = "tool-unknown"

    def __init__(self, server: str, tool: str, *, suggestion: str = "") -> None:
        super().__init__(
            f"server {server!r} has no tool {tool!r}",
            hint=suggestion or f"see its tools with: gaia mcp tools {typeable(server)}",
            server=server,
        )
        self.tool = tool


class OfferUnknownError(ToolError):
    """The server has no prompt of that name, or whatever else `offer` says."""

    kind = "offer-unknown"

    def __init__(self, server: str, offer: str, name: str, *, suggestion: str = "") -> None:
        super().__init__(
            f"server {server!r} has no {offer} {name!r}",
            hint=suggestion or f"see its {offer}s with: gaia mcp {offer}s {typeable(server)}",
            server=server,
        )
        self.offer = offer
        self.name = name


class ArgumentsError(ToolError, ValueError):
    """Arguments that do not fit the tool's schema, or that JSON cannot say. Nothing was sent."""

    kind = "arguments"

    def __init__(self, server: str, tool: str, problems: Sequence[str], *, hint: str = "", offer: str = "tool") -> None:
        super().__init__(
            f"{offer} {tool!r} of {server!r}: {'; '.join(problems)}",
            hint=hint or f"see its parameters with: gaia mcp tools {typeable(server)}",
            server=server,
        )
        self.tool = tool
        self.problems = tuple(problems)


class RefusedError(MCPError):
    """We could, and were told not to."""

    kind = "refused"


class ContractError(RefusedError):
    """A server's tools are not as they were locked, or were never locked; `facts["changes"]` says how."""

    kind = "contract"

    def __init__(self, server: str, problem: str, changes: Sequence[dict[str, Any]] = (), *, hint: str) -> None:
        super().__init__(f"server {server!r} {problem}", hint=hint, server=server)
        self.facts = {"changes": list(changes)} if changes else {}


class ReadOnlyError(RefusedError):
    """Only tools that say that they only read may be called, and this one does not. Nothing was sent."""

    kind = "read-only"

    def __init__(self, server: str, tool: str) -> None:
        hint = "call it without --read-only if it may change something"
        super().__init__(f"tool {tool!r} of {server!r} does not say that it only reads", hint=hint, server=server)
        self.tool = tool


def _listing_of(method: str) -> str:
    """The command that lists what a request was about."""
    kind = method.partition("/")[0]
    return kind if kind in ("prompts", "resources") else "tools"


def _ended(returncode: int) -> str:
    if returncode >= 0:
        return f"exited with status {returncode}"
    import signal

    try:
        return f"was ended by {signal.Signals(-returncode).name}"
    except ValueError:
        return f"was ended by signal {-returncode}"

"""Every error of the package, in one tree.

    MCPError                        the root: a message, a hint, a kind
    ├── ConfigError                 the configuration cannot be used
    │   ├── ConfigFileError         a file that cannot be read, parsed or written
    │   ├── ServerUnknownError      no server of that name
    │   ├── ServerExistsError       the name is taken                             (ValueError)
    │   ├── EntryError              an invalid entry                              (ValueError)
    │   ├── VariableUnsetError      `${NAME}` is not set and has no default
    │   ├── AgentError              an agent that cannot be loaded
    │   ├── HandlerError            a handler that cannot be loaded               (ValueError)
    │   ├── CatalogError            a registry's document that cannot become an entry (ValueError)
    │   └── RegistryUnknownError    a registry does not have this server or version
    ├── ConnectError                no connection to the server                   (RuntimeError)
    │   ├── SpawnError              its command could not be started
    │   ├── ConnectionLostError     the connection ended while it was in use
    │   │   └── ServerExitedError   the server ended, or closed its output or input
    │   ├── AuthorizationError      the server requires authorization
    │   ├── RegistryError           a registry of servers cannot be read
    │   ├── StatusError             the server refused with an HTTP status
    │   ├── SessionExpiredError     the server no longer knows the session
    │   └── NotConnectedError       used before connect() or after disconnect()
    ├── DeadlineError               time ran out                                  (TimeoutError)
    │   └── InputLateError          what a command was to read did not end in time
    ├── CancelledError              the request was cancelled
    ├── OutcomeUnknownError         a tool was called, no result arrived, and it may have run
    │   ├── CallLostError           the server ended meanwhile                    (ServerExitedError)
    │   ├── CallCutError            the connection ended meanwhile                (ConnectionLostError)
    │   ├── CallLateError           time ran out meanwhile                        (DeadlineError)
    │   ├── CallCancelledError      the call was cancelled                        (CancelledError)
    │   └── CallGarbledError        its response is invalid                       (RemoteProtocolError)
    ├── ProtocolError               the protocol was broken
    │   ├── LocalProtocolError      by us
    │   ├── RemoteProtocolError     by the peer
    │   ├── VersionError            no protocol version in common
    │   ├── NotSupportedError       the peer does not declare this capability
    │   ├── PeerError               the peer answered with a JSON-RPC error
    │   └── CompletionError         a language model's completion is invalid      (ValueError)
    ├── ToolError                   the call does not fit the tool
    │   ├── ToolUnknownError        no tool of that name
    │   ├── FeatureUnknownError     no prompt of that name, no resource of that URI
    │   │   └── ResourceUnknownError the server has answered that                 (PeerError)
    │   └── ArgumentsError          arguments that do not fit its schema          (ValueError)
    └── RefusedError                not allowed by the caller's own rules
        ├── ContractError           a server's tools are not as they were locked, or were never locked
        ├── ReadOnlyError           a tool that its server does not mark as read-only
        ├── ScopeError              a server that is restricted to other stages or agents
        ├── ToolExcludedError       a tool that the entry of its server excludes
        └── UnansweredError         the server has asked for something that was not answered

An error carries plain values, and its message names them. It knows no command line: `cli/hints.py` knows what to type
next. A tool that ran and reported a failure is a result, not an exception.

All are imported from here. What a request may fail by is in `requests`, and loaded with the first use of its names.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from gaia_mcp.core import lazily

if TYPE_CHECKING:
    from pathlib import Path

    from gaia_mcp.core.errors.requests import (
        ArgumentsError,
        AuthorizationError,
        CallCancelledError,
        CallCutError,
        CallGarbledError,
        CallLateError,
        CallLostError,
        CancelledError,
        CompletionError,
        ConnectError,
        ConnectionLostError,
        ContractError,
        DeadlineError,
        FeatureUnknownError,
        InputLateError,
        LocalProtocolError,
        NotConnectedError,
        NotSupportedError,
        OutcomeUnknownError,
        PeerError,
        ProtocolError,
        ReadOnlyError,
        RefusedError,
        RegistryError,
        RemoteProtocolError,
        ResourceUnknownError,
        ScopeError,
        ServerExitedError,
        SessionExpiredError,
        SpawnError,
        StatusError,
        ToolError,
        ToolExcludedError,
        ToolUnknownError,
        UnansweredError,
        VersionError,
        outcome_unknown,
        resource_unknown,
    )

__all__ = [
    "AgentError",
    "ArgumentsError",
    "AuthorizationError",
    "CallCancelledError",
    "CallCutError",
    "CallGarbledError",
    "CallLateError",
    "CallLostError",
    "CancelledError",
    "CatalogError",
    "CompletionError",
    "ConfigError",
    "ConfigFileError",
    "ConnectError",
    "ConnectionLostError",
    "ContractError",
    "DeadlineError",
    "EntryError",
    "FeatureUnknownError",
    "HandlerError",
    "InputLateError",
    "LocalProtocolError",
    "MCPError",
    "NotConnectedError",
    "NotSupportedError",
    "OutcomeUnknownError",
    "PeerError",
    "ProtocolError",
    "ReadOnlyError",
    "RefusedError",
    "RegistryError",
    "RegistryUnknownError",
    "RemoteProtocolError",
    "ResourceUnknownError",
    "ScopeError",
    "ServerExistsError",
    "ServerExitedError",
    "ServerUnknownError",
    "SessionExpiredError",
    "SpawnError",
    "StatusError",
    "ToolError",
    "ToolExcludedError",
    "ToolUnknownError",
    "UnansweredError",
    "VariableUnsetError",
    "VersionError",
    "outcome_unknown",
    "resource_unknown",
]

__getattr__, __dir__ = lazily(
    __name__,
    {
        "gaia_mcp.core.errors.requests": (
            "ArgumentsError",
            "AuthorizationError",
            "CallCancelledError",
            "CallCutError",
            "CallGarbledError",
            "CallLateError",
            "CallLostError",
            "CancelledError",
            "CompletionError",
            "ConnectError",
            "ConnectionLostError",
            "ContractError",
            "DeadlineError",
            "FeatureUnknownError",
            "InputLateError",
            "LocalProtocolError",
            "NotConnectedError",
            "NotSupportedError",
            "OutcomeUnknownError",
            "PeerError",
            "ProtocolError",
            "ReadOnlyError",
            "RefusedError",
            "RegistryError",
            "RemoteProtocolError",
            "ResourceUnknownError",
            "ScopeError",
            "ServerExitedError",
            "SessionExpiredError",
            "SpawnError",
            "StatusError",
            "ToolError",
            "ToolExcludedError",
            "ToolUnknownError",
            "UnansweredError",
            "VersionError",
            "outcome_unknown",
            "resource_unknown",
        ),
    },
)


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


class RegistryUnknownError(ConfigError, kind="registry-unknown"):
    """The registry at `url` does not have the server `name`, or not the version that was asked for."""

    def __init__(self, url: str, name: str, version: str = "", *, hint: str = "") -> None:
        what = f"version {version!r} of {name!r}" if version else f"server {name!r}"
        super().__init__(f"the registry {url} has no {what}", hint=hint, case="version-unknown" if version else "")
        self.url = url
        self.name = name
        self.version = version


class CatalogError(ConfigError, ValueError, kind="catalog"):
    """A registry's document about a server cannot become an entry."""

    def __init__(self, name: str, problem: str, *, hint: str = "") -> None:
        super().__init__(f"{name!r}: {problem}", hint=hint)
        self.name = name


class AgentError(ConfigError, kind="agent"):
    """An agent that cannot be loaded or lacks what is needed to serve it."""

    def __init__(self, target: str, problem: str, *, hint: str = "", case: str = "") -> None:
        super().__init__(f"agent {target!r} {problem}", hint=hint, case=case)
        self.target = target


class HandlerError(ConfigError, ValueError, kind="handler"):
    """A handler that cannot be loaded. `target` is its file, or a class as it was named."""

    def __init__(self, target: str, problem: str, *, hint: str = "", case: str = "") -> None:
        super().__init__(f"handler {target!r} {problem}", hint=hint, case=case)
        self.target = target

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

Each branch is a module, which is loaded with the first use of one of its names: all are imported from here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gaia_mcp.core.errors.root import MCPError
from gaia_mcp.core.lazy import lazily

if TYPE_CHECKING:
    from gaia_mcp.core.errors.configuration import (
        AgentError,
        CatalogError,
        ConfigError,
        ConfigFileError,
        EntryError,
        HandlerError,
        RegistryUnknownError,
        ServerExistsError,
        ServerUnknownError,
        VariableUnsetError,
    )
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

__getattr__ = lazily(
    __name__,
    {
        "gaia_mcp.core.errors.configuration": (
            "AgentError",
            "CatalogError",
            "ConfigError",
            "ConfigFileError",
            "EntryError",
            "HandlerError",
            "RegistryUnknownError",
            "ServerExistsError",
            "ServerUnknownError",
            "VariableUnsetError",
        ),
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

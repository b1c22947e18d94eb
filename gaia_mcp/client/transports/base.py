"""What a transport is: the four methods that anybody may implement, and the richer conversation that ours are."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, ClassVar

from gaia_mcp.errors import (
    ConnectError,
    DeadlineError,
    MCPError,
    NotOfferedError,
    PeerError,
    ProtocolError,
    RemoteProtocolError,
    VersionError,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from gaia_mcp.client.host import Host
    from gaia_mcp.client.transports.stdio.child import Stopped
    from gaia_mcp.deadline import Deadline
    from gaia_mcp.protocol.events import ListChanged, Peer, Progressed, ResourceUpdated, SubscriptionEnded

    OnProgress = Callable[[Progressed], None]
    OnChange = Callable[[ListChanged | ResourceUpdated | SubscriptionEnded], None]


# GAIA's documents have a client ask for this version. No server speaks it, but transports made after them echo it.
DOCUMENTED_VERSION = "1.0.0"


class MCPTransport(ABC):
    """The least a transport must do. Subclass this to reach servers in a way of your own."""

    @abstractmethod
    def connect(self) -> bool:
        """Reach the server; False if that failed."""

    @abstractmethod
    def disconnect(self) -> None:
        """Let go of it. May be called twice."""

    @abstractmethod
    def send_request(self, method: str, params: dict[str, Any] | None = None) -> dict[str, Any]:
        """Send a JSON-RPC request and return the whole response, with its `result` or `error`.

        Raises `RuntimeError` when not connected, `TimeoutError` when no answer came in time.
        """

    @abstractmethod
    def is_connected(self) -> bool:
        """Whether requests can be sent."""

    def send_notification(self, method: str, params: dict[str, Any] | None = None) -> None:  # noqa: B027
        """Send a notification. Transports that cannot may leave this as it is: it does nothing."""


class Conversation(MCPTransport):
    """A transport that holds the conversation itself: negotiates, matches answers, answers the server.

    `name` is the server's, for messages; `host` answers it. `list_changes` holds what the server has announced to have
    changed, "tools", "prompts" or "resources"; `on_change` hears at once of that, and of resources with a
    subscription, where it must not ask anything.
    All methods may be called from several threads.
    """

    # Whether `open` may be called again by somebody who was not asked to, when the server has gone.
    reconnects: ClassVar[bool] = True

    def __init__(self) -> None:
        self.name = "server"
        self.host: Host | None = None
        self.peer: Peer | None = None
        self.list_changes: set[str] = set()
        self.on_change: OnChange | None = None

    @property
    def is_open(self) -> bool:
        """Whether a version has been agreed upon, so that anything may be asked."""
        return self.is_connected()

    @abstractmethod
    def open(self, *, probe: bool, deadline: Deadline) -> Peer:
        """Reach the server and agree with it on a version. `probe=False` says that it is known to want `initialize`.

        Raises `ConnectError`, `DeadlineError` or `ProtocolError`; nothing is left running then.
        """

    @abstractmethod
    def request(
        self,
        method: str,
        params: dict[str, Any] | None,
        deadline: Deadline,
        *,
        on_progress: OnProgress | None = None,
    ) -> dict[str, Any]:
        """Ask, and return the result.

        Raises `PeerError` for an error response, `RemoteProtocolError` for an answer that is none, `DeadlineError` when
        time ran out (the request is cancelled then), `ServerExitedError` when the server went away meanwhile.
        """

    @abstractmethod
    def check_alive(self, deadline: Deadline) -> None:
        """Ask the cheapest question that every server must answer. Raises as `request` does."""

    @abstractmethod
    def want_logs(self, level: str, deadline: Deadline) -> None:
        """Ask for log messages from `level` upwards, if the server offers them. Raises as `request` does."""

    @abstractmethod
    def watch_lists(self, deadline: Deadline) -> None:
        """See to it that the server announces changes, if it does so at all. Raises as `request` does."""

    @abstractmethod
    def subscribe(self, uri: str, deadline: Deadline) -> None:
        """Have `on_change` told of every change of a resource, from when this returns. Raises as `request` does."""

    @abstractmethod
    def unsubscribe(self, uri: str, deadline: Deadline) -> None:
        """Have it told no more. Raises as `request` does."""

    # What is known of a server that the transport has started itself.

    def close(self, grace_seconds: float) -> Stopped | None:  # noqa: ARG002
        """As `disconnect`, with `grace_seconds` for each step of ending a process; how it ended."""
        self.disconnect()
        return None

    @property
    def exit_status(self) -> int | None:
        """The exit status of the last process that was ended, None if there was none."""
        return None

    def secrets(self) -> list[str]:
        """The values that the server was given and that no error or log may repeat."""
        return []

    def stderr_tail(self) -> str:
        """The end of what the server has written to stderr, without its secrets."""
        return ""


class PlainConversation(Conversation):
    """Somebody's own transport, with nothing but the four methods, spoken to by handshake. It keeps its own time."""

    # The documents promise a RuntimeError when it is not connected.
    reconnects = False

    def __init__(self, transport: MCPTransport) -> None:
        super().__init__()
        self._transport = transport

    def connect(self) -> bool:
        return bool(self._transport.connect())

    def disconnect(self) -> None:
        self._transport.disconnect()

    def send_request(self, method: str, params: dict[str, Any] | None = None) -> dict[str, Any]:
        # The documents promise the exact call, so a request without parameters is one without the argument.
        return self._transport.send_request(method) if params is None else self._transport.send_request(method, params)

    def is_connected(self) -> bool:
        return bool(self._transport.is_connected())

    def open(self, *, probe: bool, deadline: Deadline) -> Peer:  # noqa: ARG002
        from gaia_mcp.client.identity import CLIENT_INFO
        from gaia_mcp.protocol.events import Peer
        from gaia_mcp.protocol.jsonrpc import as_text
        from gaia_mcp.protocol.versions import HANDSHAKE_VERSIONS

        with self._own_code("at its start"):
            if not self.connect():
                raise ConnectError(f"Failed to establish transport connection to {self.name!r}", server=self.name)
        params = {"protocolVersion": HANDSHAKE_VERSIONS[0], "capabilities": {}, "clientInfo": CLIENT_INFO}
        try:
            found = self.request("initialize", params, deadline)
            version = found.get("protocolVersion", HANDSHAKE_VERSIONS[0])
            if version not in (*HANDSHAKE_VERSIONS, DOCUMENTED_VERSION):
                raise VersionError(self.name, [as_text(version)], HANDSHAKE_VERSIONS)
            with self._own_code("at its start"):
                self._transport.send_notification("notifications/initialized")
        except BaseException:
            self.disconnect()
            raise
        info, capabilities = found.get("serverInfo"), found.get("capabilities")
        instructions = found.get("instructions")
        self.peer = Peer(
            version,
            info if isinstance(info, dict) else {},
            capabilities if isinstance(capabilities, dict) else {},
            instructions if isinstance(instructions, str) else "",
            "handshake",
        )
        return self.peer

    def request(
        self,
        method: str,
        params: dict[str, Any] | None,
        deadline: Deadline,  # noqa: ARG002
        *,
        on_progress: OnProgress | None = None,  # noqa: ARG002
    ) -> dict[str, Any]:
        with self._own_code(method):
            response = self.send_request(method, params)
        if not isinstance(response, dict):
            raise RemoteProtocolError(self.name, f"answered {method} with something that is no response")
        error = response.get("error")
        if error is not None:
            raise self._refusal(method, error if isinstance(error, dict) else {"message": str(error)})
        result = response.get("result", {})
        if not isinstance(result, dict):
            raise RemoteProtocolError(self.name, f"answered {method} with a result that is no object")
        return result

    def check_alive(self, deadline: Deadline) -> None:
        self.request("ping", None, deadline)

    def want_logs(self, level: str, deadline: Deadline) -> None:
        if self.peer is not None and "logging" in self.peer.capabilities:
            self.request("logging/setLevel", {"level": level}, deadline)

    def watch_lists(self, deadline: Deadline) -> None:
        """Such a transport hears nothing that it did not ask for."""

    def subscribe(self, uri: str, deadline: Deadline) -> None:  # noqa: ARG002
        """Always a `NotOfferedError`: nobody would hear of the changes."""
        raise NotOfferedError(self.name, "subscriptions")

    unsubscribe = subscribe

    def _refusal(self, method: str, error: dict[str, Any]) -> PeerError:
        code, text = error.get("code"), error.get("message")
        return PeerError(
            self.name,
            method,
            code if isinstance(code, int) else 0,
            text if isinstance(text, str) else "Unknown error",
            error.get("data"),
        )

    @contextmanager
    def _own_code(self, stage: str) -> Iterator[None]:
        """Gives the errors that a transport may raise their place in our tree; any other is a mistake in it."""
        began = time.monotonic()
        try:
            yield
        except MCPError:
            raise
        except TimeoutError as cause:
            seconds = round(time.monotonic() - began, 1)
            raise DeadlineError(self.name, stage, seconds, noise=str(cause)) from cause
        except (OSError, RuntimeError) as cause:
            raise ConnectError(self._failed(stage, cause), server=self.name) from cause
        except ValueError as cause:
            raise ProtocolError(self._failed(stage, cause), server=self.name) from cause

    def _failed(self, stage: str, cause: Exception) -> str:
        return f"the transport to server {self.name!r} failed ({stage}): {str(cause) or type(cause).__name__}"

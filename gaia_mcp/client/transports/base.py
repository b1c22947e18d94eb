"""What a transport is: the four methods that anybody may implement, and the richer conversation that ours are."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

from gaia_mcp.errors import PeerError, RemoteProtocolError

if TYPE_CHECKING:
    from collections.abc import Callable

    from gaia_mcp.client.host import Host
    from gaia_mcp.deadline import Deadline
    from gaia_mcp.protocol.events import Peer, Progressed

    OnProgress = Callable[[Progressed], None]


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

    `name` is the server's, for messages; `host` answers it. All methods may be called from several threads.
    """

    def __init__(self) -> None:
        self.name = "server"
        self.host: Host | None = None
        self.peer: Peer | None = None

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
    def watch_lists(self) -> None:
        """See to it that `host.list_changed` is told, if the server announces changes."""


class PlainConversation(Conversation):
    """Somebody's own transport, with nothing but the four methods, spoken to by handshake."""

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

    def open(self, *, probe: bool, deadline: Deadline) -> Peer:  # noqa: ARG002 (these transports keep their own time)
        from gaia_mcp.client.identity import CLIENT_INFO
        from gaia_mcp.errors import ConnectError
        from gaia_mcp.protocol.events import Peer
        from gaia_mcp.protocol.versions import HANDSHAKE_VERSIONS

        if not self.connect():
            raise ConnectError(f"Failed to establish transport connection to {self.name!r}", server=self.name)
        params = {"protocolVersion": HANDSHAKE_VERSIONS[0], "capabilities": {}, "clientInfo": CLIENT_INFO}
        try:
            found = self.request("initialize", params, deadline)
            self._transport.send_notification("notifications/initialized")
        except BaseException:
            self.disconnect()
            raise
        self.peer = Peer(
            str(found.get("protocolVersion", HANDSHAKE_VERSIONS[0])),
            found.get("serverInfo", {}),
            found.get("capabilities", {}),
            found.get("instructions", ""),
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
        response = self.send_request(method, params)
        if not isinstance(response, dict):
            raise RemoteProtocolError(self.name, f"answered {method} with something that is no response")
        error = response.get("error")
        if error is not None:
            if not isinstance(error, dict):
                error = {"message": str(error)}
            raise PeerError(
                self.name,
                method,
                error.get("code", 0),
                error.get("message", "Unknown error"),
                error.get("data"),
            )
        result = response.get("result", {})
        if not isinstance(result, dict):
            raise RemoteProtocolError(self.name, f"answered {method} with a result that is no object")
        return result

    def check_alive(self, deadline: Deadline) -> None:
        self.request("ping", None, deadline)

    def want_logs(self, level: str, deadline: Deadline) -> None:
        if self.peer is not None and "logging" in self.peer.capabilities:
            self.request("logging/setLevel", {"level": level}, deadline)

    def watch_lists(self) -> None:
        """Such a transport hears nothing that it did not ask for."""

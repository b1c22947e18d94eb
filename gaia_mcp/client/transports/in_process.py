"""Channels within this process.

A program's own `MCPTransport`, with a conversation over it: each request is one call of its `send_request`, it enforces
its own timeout, and nothing but responses arrives. And `MemoryChannel`, whose other end is a function, for tests and
for an agent in the same program.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, ClassVar

from gaia_mcp.client.conversation.engine import ChannelTransport
from gaia_mcp.client.transports.base import Channel, MCPTransport, Receiver, encoded
from gaia_mcp.core.errors import (
    ConnectError,
    DeadlineError,
    MCPError,
    NotConnectedError,
    ProtocolError,
    RemoteProtocolError,
)

if TYPE_CHECKING:
    from gaia_mcp.core.deadline import Deadline
    from gaia_mcp.protocol.connection import Outgoing
    from gaia_mcp.protocol.jsonrpc import RequestId
    from gaia_mcp.text.redaction.masker import Masker

# In GAIA's documents a client requests this version. No server supports it, but transports written after those
# documents respond with it, whatever was requested.
DOCUMENTED_VERSION = "1.0.0"


class CustomTransport(ChannelTransport):
    """Adapts `transport` for the client. If it has been connected already, it needs no negotiation."""

    is_custom = True

    def __init__(self, transport: MCPTransport, *, name: str, timeout: float) -> None:
        super().__init__(lambda: CustomChannel(self.name, transport), name=name, timeout=timeout)
        self._transport = transport

    def is_connected(self) -> bool:
        return bool(self._transport.is_connected())

    def _connected_channel(self) -> Channel | None:
        return CustomChannel(self.name, self._transport, is_connected=True) if self.is_connected() else None

    def _release(self) -> None:
        self._transport.disconnect()


class CustomChannel(Channel):
    """A channel over `transport`, using the documented methods only. It is connected at the start, unless it is
    connected already.
    """

    listens: ClassVar[bool] = False

    def __init__(self, name: str, transport: MCPTransport, *, is_connected: bool = False) -> None:
        super().__init__(name)
        self._transport = transport
        self._is_connected = is_connected
        self._receiver: Receiver | None = None

    def start(self, receiver: Receiver, deadline: Deadline) -> None:  # noqa: ARG002
        self._receiver = receiver
        with self._own_code("at its start"):
            self._is_connected = self._is_connected or self._transport.connect()
            if not self._is_connected:
                raise ConnectError(f"Failed to establish transport connection to {self.name!r}", server=self.name)

    def send(self, outgoing: Outgoing, deadline: Deadline, stage: str) -> None:  # noqa: ARG002
        message = outgoing.message
        assert isinstance(message, dict)  # noqa: S101 (a client sends no batches)
        # The documents promise the exact call: without parameters, the argument is left out.
        given = [message["params"]] if "params" in message else []
        method = message["method"]
        if "id" not in message:
            with self._own_code("at its start"):
                self._transport.send_notification(method, *given)
            return
        with self._own_code(method):
            response = self._transport.send_request(method, *given)
        assert self._receiver is not None  # noqa: S101 (it has been started)
        answer = {"jsonrpc": "2.0", "id": message["id"], **self._answer(method, response)}
        self._receiver.receive_message(answer, message["id"])

    def send_soon(self, outgoing: Outgoing) -> None:
        """Does nothing: there is no request to cancel, and no server request to respond to."""

    def is_running(self) -> bool:
        return bool(self._transport.is_connected())

    def why_lost(self, stage: str, noise: str = "") -> MCPError:  # noqa: ARG002
        return NotConnectedError(self.name)

    def close(self, grace_seconds: float | None) -> None:  # noqa: ARG002
        # A transport that does not connect has nothing to disconnect.
        if self._is_connected:
            self._transport.disconnect()

    def _answer(self, method: str, response: Any) -> dict[str, Any]:
        """The `result` or `error` of a response, with the members that the documents' transports leave out."""
        if not isinstance(response, dict):
            raise RemoteProtocolError(self.name, f"answered {method} with something that is not a response")
        error = response.get("error")
        if error is not None:
            refusal = error if isinstance(error, dict) else {"message": str(error)}
            code, text = refusal.get("code"), refusal.get("message")
            return {
                "error": {
                    **refusal,
                    "code": code if isinstance(code, int) else 0,
                    "message": text if isinstance(text, str) else "Unknown error",
                }
            }
        result = response.get("result", {})
        if not isinstance(result, dict):
            raise RemoteProtocolError(self.name, f"answered {method} with a result that is not an object")
        if (kind := result.get("resultType", "complete")) != "complete":
            # A transport of this kind is of the handshake era, which has only complete results.
            raise RemoteProtocolError(self.name, f"answered {method} with a result of the unknown type {kind!r}")
        if method == "initialize" and result.get("protocolVersion") == DOCUMENTED_VERSION:
            result = {key: value for key, value in result.items() if key != "protocolVersion"}
        return {"result": result}

    @contextmanager
    def _own_code(self, stage: str) -> Iterator[None]:
        """Translates the errors that a transport may raise into ours; any other is a bug in the transport."""
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


class MemoryChannel(Channel):
    """Each record that is sent is passed to `deliver`, on the sender's thread; `deliver` may raise what `send` may.

    The other end sends by `arrive`, from any thread, and may end the connection with `end`.
    """

    def __init__(self, name: str, deliver: Callable[[bytes], None], masker: Masker | None = None) -> None:
        super().__init__(name)
        self._deliver = deliver
        self._masker = masker
        self._receiver: Receiver | None = None
        self._why: Callable[[str], MCPError] | None = None

    def arrive(self, record: bytes) -> None:
        """Receive a record from the other end. Raises `NotConnectedError` before the start."""
        if self._receiver is None:
            raise NotConnectedError(self.name)
        self._receiver.receive(record)

    def fail(self, about: RequestId, error: MCPError) -> None:
        """Fail a request without a response. Raises `NotConnectedError` before the start."""
        if self._receiver is None:
            raise NotConnectedError(self.name)
        self._receiver.request_failed(about, error)

    def end(self, why: Callable[[str], MCPError]) -> None:
        """End the connection from the other end; `why` returns the error for a caller that waited for a stage."""
        self._why = self._why or why
        if self._receiver is not None:
            self._receiver.channel_ended(why("before it was asked to"))

    def start(self, receiver: Receiver, deadline: Deadline) -> None:  # noqa: ARG002
        self._receiver = receiver

    def send(self, outgoing: Outgoing, deadline: Deadline, stage: str) -> None:  # noqa: ARG002
        self._deliver(encoded(outgoing))

    def send_soon(self, outgoing: Outgoing) -> None:
        if self._why is None:
            self._deliver(encoded(outgoing))

    def is_running(self) -> bool:
        return self._receiver is not None and self._why is None

    def why_lost(self, stage: str, noise: str = "") -> MCPError:  # noqa: ARG002
        return self._why(stage) if self._why is not None else NotConnectedError(self.name)

    def close(self, grace_seconds: float | None) -> None:  # noqa: ARG002
        self.end(lambda _: NotConnectedError(self.name))

    def masker(self) -> Masker:
        return self._masker or super().masker()

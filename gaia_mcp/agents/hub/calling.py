"""Requests to an OpenAI-compatible endpoint: each is sent once, and can be aborted at any time."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from gaia_mcp.agents.hub.drivers import endpoint
from gaia_mcp.agents.hub.running import MAX_OUTPUT_BYTES
from gaia_mcp.errors import DeadlineError

if TYPE_CHECKING:
    from gaia_mcp.agents.hub.entries import Endpoint
    from gaia_mcp.deadline import Deadline

# A running server accepts a connection sooner, even a distant one.
CONNECT_SECONDS = 10.0


class EndpointError(Exception):
    """The endpoint could not be reached, broke the connection, or sent too much."""


class Response(NamedTuple):
    """An HTTP response."""

    status: int
    data: bytes


class Caller:
    """Sends requests to one endpoint. Another thread may abort them with `give_up`."""

    def __init__(self, target: Endpoint) -> None:
        self._target = target
        self._lock = threading.Lock()
        self._sockets: list[Any] = []
        self._has_given_up = False

    def give_up(self) -> None:
        """Abort the current request and every later one."""
        with self._lock:
            self._has_given_up = True
            for each in self._sockets:
                # Closing the socket would not wake the thread that reads from it.
                with contextlib.suppress(OSError):
                    each.shutdown(socket.SHUT_RDWR)

    def request(self, url: str, body: Mapping[str, Any] | None, deadline: Deadline) -> Response:
        """The response to one request, a POST if there is a body, otherwise a GET.

        Raises `EndpointError`, `DeadlineError`.
        """
        import httpx2

        parts: list[bytes] = []
        size = 0
        seconds = max(deadline.remaining(), 0.001)
        try:
            # Redirects are not followed, since the key must only be sent to this endpoint.
            with (
                httpx2.Client(
                    timeout=httpx2.Timeout(seconds, connect=min(seconds, CONNECT_SECONDS)), follow_redirects=False
                ) as client,
                client.stream(
                    "GET" if body is None else "POST",
                    url,
                    json=body,
                    headers=endpoint.headers(self._target.api_key),
                    extensions={"trace": self._trace},
                ) as response,
            ):
                for part in response.iter_bytes():
                    parts.append(part)
                    size += len(part)
                    if size > MAX_OUTPUT_BYTES:
                        raise EndpointError(f"its response has more than {MAX_OUTPUT_BYTES >> 20} MiB")
                    if deadline.expired:
                        raise DeadlineError(url, "in the middle of its response", deadline.seconds)
                return Response(response.status_code, b"".join(parts))
        except (httpx2.ReadTimeout, httpx2.WriteTimeout) as cause:
            raise DeadlineError(url, "before it answered", deadline.seconds) from cause
        except (httpx2.HTTPError, httpx2.InvalidURL, OSError, ValueError) as cause:
            raise EndpointError(str(cause) or type(cause).__name__) from cause

    def _trace(self, event: str, info: Mapping[str, Any]) -> None:
        """Store the connection's socket, which httpx2 passes in its trace events."""
        if not event.endswith((".connect_tcp.complete", ".start_tls.complete")):
            return
        with self._lock:
            if self._has_given_up:
                raise EndpointError("the request was given up")
            self._sockets.append(info["return_value"].get_extra_info("socket"))

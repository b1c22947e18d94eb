"""Requests to an OpenAI-compatible endpoint: each is sent once, and can be given up at any moment."""

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

# A server that is there accepts connections at once, also far away.
CONNECT_SECONDS = 10.0


class EndpointError(Exception):
    """An endpoint that cannot be reached, that broke off, or that sent too much."""


class Response(NamedTuple):
    """A response of HTTP."""

    status: int
    data: bytes


class Caller:
    """Sends requests to one endpoint, until `give_up` is called in another thread."""

    def __init__(self, target: Endpoint) -> None:
        self._target = target
        self._lock = threading.Lock()
        self._sockets: list[Any] = []
        self._has_given_up = False

    def give_up(self) -> None:
        """End the request that is under way, and every later one."""
        with self._lock:
            self._has_given_up = True
            for each in self._sockets:
                # Closing it would not wake the thread that reads.
                with contextlib.suppress(OSError):
                    each.shutdown(socket.SHUT_RDWR)

    def request(self, url: str, body: Mapping[str, Any] | None, deadline: Deadline) -> Response:
        """The response to one request, a POST if there is a body.

        Raises `EndpointError`, `DeadlineError`.
        """
        import httpx2

        parts: list[bytes] = []
        size = 0
        seconds = max(deadline.remaining(), 0.001)
        try:
            # A redirection is not followed: the key is for this endpoint alone.
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
        """Keep the socket of the connection, which httpx2 tells when it has one."""
        if not event.endswith((".connect_tcp.complete", ".start_tls.complete")):
            return
        with self._lock:
            if self._has_given_up:
                raise EndpointError("the request was given up")
            self._sockets.append(info["return_value"].get_extra_info("socket"))

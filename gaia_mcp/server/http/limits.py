"""How much a client may take of a server: bytes, seconds, places."""

from __future__ import annotations

from typing import NamedTuple


class Limits(NamedTuple):
    """The limits of one app. What exceeds them is refused with 408, 413, 431 or 503, and never waited for."""

    # All headers of a request together; the largest are tokens.
    header_bytes: int = 64 * 1024
    # Arguments are small; a file is better sent as a resource or by its path. The official SDK's limit.
    body_bytes: int = 4 * 2**20
    # From the end of the headers to the end of the body. A slow line carries 4 MiB in this time at 1 Mbit/s.
    body_seconds: float = 40.0
    # Each call that runs has a thread.
    calls: int = 32
    # Calls that wait for a thread. A client that is refused comes back later, as `Retry-After` tells it.
    waiting_calls: int = 1000
    # Calls that wait for an answer of their client keep a thread, but not a place among `calls`.
    asking_calls: int = 1000
    # Open streams: subscriptions, listening clients, calls that report. Each takes about 50 kB.
    streams: int = 10_000
    # Handshake sessions. One that nothing was heard of for `session_seconds` is forgotten.
    sessions: int = 10_000
    session_seconds: float = 3600.0
    # Proxies close what is silent for a minute, some for half of that.
    keep_alive_seconds: float = 15.0
    # A client that has taken nothing for this time has gone.
    stalled_seconds: float = 60.0

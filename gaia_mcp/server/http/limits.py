"""The limits of an HTTP server: sizes, times, and numbers of calls, streams and sessions."""

from __future__ import annotations

from typing import NamedTuple

from gaia_mcp.server.http.workers import WAITING_BYTES


class Limits(NamedTuple):
    """The limits of one app. Requests that exceed them do not wait, but are refused with 408, 413, 431 or 503."""

    # All headers of a request together; the largest are tokens.
    header_bytes: int = 64 * 1024
    # The official SDK's limit. Arguments are small; a file is better passed as a resource or by its path.
    body_bytes: int = 4 * 2**20
    # The bodies that have begun and not ended, together: 64 of the largest. They are kept until they end.
    bodies_bytes: int = 256 * 2**20
    # Values in a body: they may take 50 times its size in memory. Arguments have about 20 bytes for each.
    values: int = 200_000
    # Nested lists and objects. Code that walks arguments calls itself for each, and Python allows 1,000 nested calls.
    depth: int = 256
    # Of each key of an object. The longest keys are paths, which Linux limits to this length.
    key_chars: int = 4096
    # Messages in a batch, which only revision 2025-03-26 has. One response has the results of all of its requests.
    batch: int = 100
    # From the end of the headers to the end of the body: enough for 4 MiB at 1 Mbit/s.
    body_seconds: float = 40.0
    # Concurrent calls. Each has a thread.
    calls: int = 32
    # Calls that wait for a thread. A refused client retries later, after the time in `Retry-After`.
    waiting_calls: int = 1000
    # The memory of their requests.
    waiting_bytes: int = WAITING_BYTES
    # Calls that wait for a response of their client. Each keeps its thread, but does not count towards `calls`.
    asking_calls: int = 1000
    # Open streams: subscriptions, GET streams, calls that are answered by a stream. Each takes about 50 kB.
    streams: int = 10_000
    # What a session keeps of `initialize`: known members only, which take less than 1 KiB in every client we have seen.
    client_bytes: int = 16 * 1024
    # Handshake sessions of a worker; more close idle ones. A session without requests for `session_seconds` expires.
    sessions: int = 10_000
    session_seconds: float = 3600.0
    # Proxies close a connection that is silent for a minute, some for half of that.
    keep_alive_seconds: float = 15.0
    # A client that has read nothing for this long counts as disconnected.
    stalled_seconds: float = 60.0
    # Longer calls of a session are answered by a stream, which can be resumed. JSON costs less, so shorter ones use it.
    json_seconds: float = 0.2
    # Between two renewals of the worker's lease; None is the default of `Leases`.
    beat_seconds: float | None = None

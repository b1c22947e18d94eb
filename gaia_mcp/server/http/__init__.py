"""Serving providers over HTTP, as an ordinary ASGI app.

The only package that uses `asyncio`. Its coroutines do the I/O; the calls, which may block, run in the threads of
`workers`. A thread passes the messages of a call through an `exchange` to the coroutine that answers the request, and
waits if the client reads too slowly.

An `endpoint` serves one provider, in both eras. `stateless`: each POST has its own connection, independent of other
requests. `handshake`: a POST belongs to a session. The state of a session is in a store (`sessions`, `event_log`), so
any worker can serve it; only running calls and their streams are local to a process. Tasks are in the same store, and
a provider's changes are published through it to every worker (`sharing`). `app` combines the endpoints, `listening`
serves it on a local socket, `accepted` on connections that the caller has accepted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gaia_mcp.core import lazily

if TYPE_CHECKING:
    from gaia_mcp.server.http.app import HttpApp, app_for
    from gaia_mcp.server.http.workers import Limits

__all__ = ["HttpApp", "Limits", "app_for"]

__getattr__, __dir__ = lazily(
    __name__,
    {"gaia_mcp.server.http.app": ("HttpApp", "app_for"), "gaia_mcp.server.http.workers": ("Limits",)},
)

"""Serving providers over HTTP, as an ordinary ASGI app.

The only package that knows `asyncio`. Its coroutines read and write; the calls, which may block, run in the threads of
`workers`. A thread hands what a call sends to the coroutine that answers it, through an `exchange`, and waits where its
client is too slow.

An `endpoint` serves one provider, in both eras. `stateless`: each POST is a conversation of its own, with a connection
of its own. `handshake`: a POST belongs to a session, of which another worker can know everything that it needs, since
that is in a store (`sessions`, `event_log`); only the calls that run here, and their streams, live in this process.
Tasks are in that store, too, and changes of a provider go through it to every worker (`fan_out`). `app` has the
endpoints, `listening` runs it on a socket of this machine.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gaia_mcp.lazy import lazily

if TYPE_CHECKING:
    from gaia_mcp.server.http.app import HttpApp, app_for
    from gaia_mcp.server.http.limits import Limits

__all__ = ["HttpApp", "Limits", "app_for"]

__getattr__ = lazily(
    __name__,
    {"gaia_mcp.server.http.app": ("HttpApp", "app_for"), "gaia_mcp.server.http.limits": ("Limits",)},
)

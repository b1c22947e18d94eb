"""The response at `/mcp` if several servers have paths of their own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from gaia_mcp.server.http.received import Received, RefusalError, send_refusal
from gaia_mcp.server.http.security import admit

if TYPE_CHECKING:
    from starlette.types import Receive, Scope, Send

    from gaia_mcp.server.http.limits import Limits
    from gaia_mcp.server.http.security import Authorizer, Hosts


class Signpost:
    """An ASGI app that answers each request with 404, and lists the paths for authorized clients."""

    def __init__(self, paths: Sequence[str], limits: Limits, hosts: Hosts, authorizer: Authorizer | None) -> None:
        self._text = f"there are several servers here, at {', '.join(paths)}"
        self._limits = limits
        self._hosts = hosts
        self._authorizer = authorizer

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        try:
            await admit(Received(scope, receive), self._limits, self._hosts, self._authorizer)
            raise RefusalError(404, self._text)
        except RefusalError as refusal:
            await send_refusal(send, refusal)

"""One provider at one URL: admits requests, and dispatches each by its era."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gaia_mcp.protocol.envelope import has_envelope
from gaia_mcp.protocol.headers import SESSION_HEADER, VERSION_HEADER
from gaia_mcp.protocol.versions import HANDSHAKE_VERSIONS, STATELESS_VERSIONS
from gaia_mcp.server.http.entrance import ByMethod, Entrance, not_allowed
from gaia_mcp.server.http.handshake import HandshakeEndpoint
from gaia_mcp.server.http.received import JSON_TYPE, STREAM_TYPE, Received, RefusalError
from gaia_mcp.server.http.rpc import RpcEndpoint
from gaia_mcp.server.http.sessions import Sessions
from gaia_mcp.server.http.stateless import StatelessEndpoint

if TYPE_CHECKING:
    from starlette.types import Receive, Scope, Send

    from gaia_mcp.server.http.security import Authorizer, Hosts
    from gaia_mcp.server.http.served import Served
    from gaia_mcp.server.http.store_threads import StoreThreads
    from gaia_mcp.store import Store

_VERSION, _SESSION = VERSION_HEADER.lower(), SESSION_HEADER.lower()


class Endpoint:
    """An ASGI app for one URL, for both eras; `rpc` is another one, for AgentVault's dialect. `entrance` admits the
    requests of both. `path` separates its sessions from those of other endpoints with the same store.
    """

    def __init__(
        self,
        path: str,
        served: Served,
        store: Store,
        threads: StoreThreads,
        hosts: Hosts,
        authorizer: Authorizer | None,
    ) -> None:
        self.served = served
        self.entrance = Entrance(served.limits, hosts, authorizer, served.on_failure)
        self.sessions = Sessions(served, store, path)
        self._stateless = StatelessEndpoint(served)
        self._handshake = HandshakeEndpoint(served, self.sessions, store, threads)
        self._by_method: ByMethod = {"GET": self._get, "POST": self._post, "DELETE": self._delete}
        self._rpc_by_method: ByMethod = {"POST": RpcEndpoint(served, self._stateless).post}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        await self.entrance.answer(Received(scope, receive), send, self._by_method)

    async def rpc(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request of the dialect."""
        await self.entrance.answer(Received(scope, receive), send, self._rpc_by_method)

    @property
    def streams(self) -> int:
        """The number of open streams that would not end by themselves."""
        return self._stateless.subscriptions + self._handshake.following

    def end_streams(self) -> None:
        """Refuse new requests, and end the streams that would not end by themselves: subscriptions and GET streams."""
        self.entrance.is_ending = True
        self._stateless.end_subscriptions()
        self._handshake.end_streams()

    def close(self) -> None:
        """Cancel the running calls of sessions, and unsubscribe from the provider."""
        self.sessions.close()
        self._handshake.close()
        self.served.close()

    async def _post(self, request: Received, send: Send) -> None:
        if not request.accepts(JSON_TYPE, STREAM_TYPE):
            raise RefusalError(406, f"a POST must accept {JSON_TYPE} and {STREAM_TYPE}")
        message = await request.message(self.served.limits, self.served.unfinished)
        if _is_stateless(message, request):
            await self._stateless.post(request, message, send)
        else:
            await self._handshake.post(request, message, send)

    async def _get(self, request: Received, send: Send) -> None:
        _check_session(request)
        await self._handshake.get(request, send)

    async def _delete(self, request: Received, send: Send) -> None:
        _check_session(request)
        await self._handshake.delete(request, send)


def _is_stateless(message: Any, request: Received) -> bool:
    """Whether a message belongs to the stateless era: by its envelope, or by a header that no session would send."""
    is_object = isinstance(message, dict)
    params = message.get("params") if is_object else None
    if isinstance(params, dict) and has_envelope(params):
        return True
    version = request.headers.get(_VERSION)
    if version is None or version in HANDSHAKE_VERSIONS or (is_object and message.get("method") == "initialize"):
        return False
    return version in STATELESS_VERSIONS or _SESSION not in request.headers


def _check_session(request: Received) -> None:
    """Raises `RefusalError` for a request outside a session: GET and DELETE are valid only within one."""
    if _SESSION not in request.headers or request.headers.get(_VERSION) in STATELESS_VERSIONS:
        raise not_allowed(request, "POST")

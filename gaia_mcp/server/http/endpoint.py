"""One provider at one URL: which requests are let in, and which era each of them belongs to."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias

from gaia_mcp.protocol.envelope import has_envelope
from gaia_mcp.protocol.headers import SESSION_HEADER, VERSION_HEADER
from gaia_mcp.protocol.jsonrpc import INTERNAL_ERROR
from gaia_mcp.protocol.versions import HANDSHAKE_VERSIONS, STATELESS_VERSIONS
from gaia_mcp.server.failures import raised
from gaia_mcp.server.http.handshake import HandshakeEndpoint
from gaia_mcp.server.http.received import JSON_TYPE, STREAM_TYPE, ClientDisconnectedError, Received
from gaia_mcp.server.http.refusals import RefusalError, overloaded
from gaia_mcp.server.http.responses import send_refusal
from gaia_mcp.server.http.rpc import RpcEndpoint
from gaia_mcp.server.http.security import admit
from gaia_mcp.server.http.sessions import Sessions
from gaia_mcp.server.http.stateless import StatelessEndpoint
from gaia_mcp.store import StoreError

if TYPE_CHECKING:
    from starlette.types import Receive, Scope, Send

    from gaia_mcp.server.http.security import Authorizer, Hosts
    from gaia_mcp.server.http.served import Served
    from gaia_mcp.server.http.store_threads import StoreThreads
    from gaia_mcp.store import Store

# What answers a request, by its HTTP method.
ByMethod: TypeAlias = "dict[str, Callable[[Received, Send], Any]]"

# Between two lines about a store that fails: each request that needs it is one of many.
NOTE_SECONDS = 60.0
_VERSION, _SESSION = VERSION_HEADER.lower(), SESSION_HEADER.lower()


class Endpoint:
    """An ASGI app for one URL, of both eras; `rpc` is another one, for the dialect of AgentVault. `is_ending`: they
    take no more requests. `path` tells its sessions from those of other endpoints with the same store. `on_refusal` is
    called for each request that is refused.
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
        self.is_ending = False
        self._noted_at = float("-inf")
        self.on_refusal: Callable[[RefusalError], object] = lambda _: None
        self.sessions = Sessions(served, store, path)
        self._hosts = hosts
        self._authorizer = authorizer
        self._stateless = StatelessEndpoint(served)
        self._handshake = HandshakeEndpoint(served, self.sessions, store, threads)
        self._by_method: ByMethod = {"GET": self._get, "POST": self._post, "DELETE": self._delete}
        self._rpc_by_method: ByMethod = {"POST": RpcEndpoint(served, self._stateless).post}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        await self._let_in(self._by_method, scope, receive, send)

    async def rpc(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request of the dialect."""
        await self._let_in(self._rpc_by_method, scope, receive, send)

    async def _let_in(self, by_method: ByMethod, scope: Scope, receive: Receive, send: Send) -> None:
        request = Received(scope, receive)
        try:
            await admit(request, self.served.limits, self._hosts, self._authorizer)
            if (answer := by_method.get(request.method)) is None:
                raise _not_allowed(request, *by_method)
            if self.is_ending:
                raise overloaded("this server is ending")
            await answer(request, send)
        except RefusalError as refusal:
            if isinstance(refusal.__cause__, StoreError):
                self._note(refusal.__cause__)
            self.on_refusal(refusal)
            await send_refusal(send, refusal)
        except ClientDisconnectedError:
            return
        except Exception as problem:  # noqa: BLE001 (a bug of ours must not end as a page of the ASGI server)
            self.served.on_failure(f"{request.method} raised {raised(problem)}", problem)
            await send_refusal(send, RefusalError(500, "internal error", INTERNAL_ERROR))

    @property
    def streams(self) -> int:
        """How many streams are open that would not end by themselves."""
        return self._stateless.subscriptions + self._handshake.following

    def end_streams(self) -> None:
        """Take no more requests, and end what would not end by itself: subscriptions and listening streams."""
        self.is_ending = True
        self._stateless.end_subscriptions()
        self._handshake.end_streams()

    def close(self) -> None:
        """Cancel what still runs in sessions, and stop following the provider."""
        self.sessions.close()
        self.served.close()

    def _note(self, problem: StoreError) -> None:
        """Tell the owner of the server what is wrong with its store. Its clients do not learn where that is."""
        now = time.monotonic()
        if now >= self._noted_at + NOTE_SECONDS:
            self._noted_at = now
            self.served.on_failure(str(problem), problem)

    async def _post(self, request: Received, send: Send) -> None:
        request.check_type()
        if not request.accepts(JSON_TYPE, STREAM_TYPE):
            raise RefusalError(406, f"a POST must accept {JSON_TYPE} and {STREAM_TYPE}")
        message = await request.message(self.served.limits)
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
    """Whether a message is of the stateless era: by its envelope, or by a header that no session would send."""
    is_object = isinstance(message, dict)
    params = message.get("params") if is_object else None
    if isinstance(params, dict) and has_envelope(params):
        return True
    version = request.headers.get(_VERSION)
    if version is None or version in HANDSHAKE_VERSIONS or (is_object and message.get("method") == "initialize"):
        return False
    return version in STATELESS_VERSIONS or _SESSION not in request.headers


def _check_session(request: Received) -> None:
    """Only in a session there is something to GET or DELETE."""
    if _SESSION not in request.headers or request.headers.get(_VERSION) in STATELESS_VERSIONS:
        raise _not_allowed(request, "POST")


def _not_allowed(request: Received, *allowed: str) -> RefusalError:
    headers = ((b"allow", ", ".join(allowed).encode()),)
    return RefusalError(405, f"{request.method} is not allowed here", headers=headers)

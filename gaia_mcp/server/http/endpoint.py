"""One provider at one URL: admits requests or refuses them, and dispatches each by its era.

Where several providers have URLs of their own, `Signpost` answers at `/mcp`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from gaia_mcp.protocol import ALL_VERSIONS, has_sessions
from gaia_mcp.protocol.envelope import has_envelope
from gaia_mcp.protocol.headers import GATEWAY_HEADER, SESSION_HEADER, VERSION_HEADER
from gaia_mcp.protocol.jsonrpc import INTERNAL_ERROR
from gaia_mcp.server.http.handshake import HandshakeEndpoint
from gaia_mcp.server.http.received import (
    JSON_TYPE,
    STREAM_TYPE,
    ClientDisconnectedError,
    Received,
    RefusalError,
    overloaded,
    send_refusal,
)
from gaia_mcp.server.http.security import Authorizer, Hosts, admit
from gaia_mcp.server.http.sessions import Sessions
from gaia_mcp.server.http.stateless import StatelessEndpoint
from gaia_mcp.server.outcomes import OnFailure, raised
from gaia_mcp.store import Store, StoreError

if TYPE_CHECKING:
    from starlette.types import Receive, Scope, Send

    from gaia_mcp.server.http.gateway_marks import GatewayMarks
    from gaia_mcp.server.http.served import Served
    from gaia_mcp.server.http.sharing import StoreThreads
    from gaia_mcp.server.http.workers import Limits

_VERSION, _SESSION = VERSION_HEADER.lower(), SESSION_HEADER.lower()
# The handler for each HTTP method.
ByMethod: TypeAlias = "dict[str, Callable[[Received, Send], Any]]"
# The least time between two reports of a failing store, which would otherwise come with every request.
NOTE_SECONDS = 60.0


class Endpoint:
    """An ASGI app for one URL, for both eras. `entrance` admits its requests. `path` separates its sessions from those
    of other endpoints with the same store.
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
        self.stateless = StatelessEndpoint(served)
        self._handshake = HandshakeEndpoint(served, self.sessions, store, threads)
        self._by_method: ByMethod = {"GET": self._get, "POST": self._post, "DELETE": self._delete}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        await self.entrance.answer(Received(scope, receive), send, self._by_method)

    @property
    def streams(self) -> int:
        """The number of open streams that would not end by themselves."""
        return self.stateless.subscriptions + self._handshake.following

    def end_streams(self) -> None:
        """Refuse new requests, and end the streams that would not end by themselves: subscriptions and GET streams."""
        self.entrance.is_ending = True
        self.stateless.end_subscriptions()
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
        if _stands_alone(message, request):
            await self.stateless.post(request, message, send)
        else:
            await self._handshake.post(request, message, send)

    async def _get(self, request: Received, send: Send) -> None:
        _check_session(request)
        await self._handshake.get(request, send)

    async def _delete(self, request: Received, send: Send) -> None:
        _check_session(request)
        await self._handshake.delete(request, send)


def _stands_alone(message: Any, request: Received) -> bool:
    """Whether a message belongs to no session: by its envelope, or by a header that no session would send."""
    is_object = isinstance(message, dict)
    params = message.get("params") if is_object else None
    if isinstance(params, dict) and has_envelope(params):
        return True
    version = request.headers.get(_VERSION)
    if version is None or has_sessions(version) or (is_object and message.get("method") == "initialize"):
        return False
    return version in ALL_VERSIONS or _SESSION not in request.headers


def _check_session(request: Received) -> None:
    """Raises `RefusalError` for a request outside a session: GET and DELETE are valid only within one."""
    version = request.headers.get(_VERSION)
    if _SESSION not in request.headers or (version in ALL_VERSIONS and not has_sessions(version)):
        raise not_allowed(request, "POST")


_GATEWAY = GATEWAY_HEADER.lower()


class Entrance:
    """Admits the requests of one endpoint.

    While `is_ending` is set, all requests are refused. So are those that have passed through the gateway with these
    `marks` before, because it would be a server of itself. `on_refusal` is called for each refused request,
    `on_failure` for each one that ends in an internal error.
    """

    def __init__(
        self,
        limits: Limits,
        hosts: Hosts,
        authorizer: Authorizer | None,
        on_failure: OnFailure,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.is_ending = False
        self.marks: GatewayMarks | None = None
        self.on_refusal: Callable[[RefusalError], object] = lambda _: None
        self._limits = limits
        self._hosts = hosts
        self._authorizer = authorizer
        self._on_failure = on_failure
        self._clock = clock
        self._noted_at = float("-inf")

    async def answer(self, request: Received, send: Send, by_method: ByMethod) -> None:
        """Answer a request by its HTTP method, or refuse it."""
        try:
            await admit(request, self._limits, self._hosts, self._authorizer)
            gateways = request.headers.get(_GATEWAY)
            if gateways and self.marks is not None and self.marks.has_come_back(gateways):
                raise RefusalError(508, "this gateway is one of its own servers, maybe by way of another gateway")
            if (answer := by_method.get(request.method)) is None:
                raise not_allowed(request, *by_method)
            if self.is_ending:
                raise overloaded("this server is ending")
            await answer(request, send)
        except RefusalError as refusal:
            if isinstance(refusal.__cause__, StoreError):
                self.note(refusal.__cause__)
            self.on_refusal(refusal)
            await send_refusal(send, refusal)
        except ClientDisconnectedError:
            return
        except Exception as problem:  # noqa: BLE001 (a bug of ours must not end as a page of the ASGI server)
            self._on_failure(f"{request.method} raised {raised(problem)}", problem)
            await send_refusal(send, RefusalError(500, "internal error", INTERNAL_ERROR))

    def note(self, problem: StoreError) -> None:
        """Report a store failure through `on_failure`. Clients do not get the message, which may contain a URL."""
        now = self._clock()
        if now >= self._noted_at + NOTE_SECONDS:
            self._noted_at = now
            self._on_failure(str(problem), problem)


def not_allowed(request: Received, *allowed: str) -> RefusalError:
    """The refusal of an HTTP method, with the allowed ones."""
    headers = ((b"allow", ", ".join(allowed).encode()),)
    return RefusalError(405, f"{request.method} is not allowed here", headers=headers)


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

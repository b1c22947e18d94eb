"""Admits or refuses the requests of an endpoint. A request that fails is answered with an internal error."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from gaia_mcp.protocol.headers import GATEWAY_HEADER
from gaia_mcp.protocol.jsonrpc import INTERNAL_ERROR
from gaia_mcp.server.http.received import ClientDisconnectedError, Received, RefusalError, overloaded, send_refusal
from gaia_mcp.server.http.security import admit
from gaia_mcp.server.outcomes import raised
from gaia_mcp.store import StoreError

if TYPE_CHECKING:
    from starlette.types import Receive, Scope, Send

    from gaia_mcp.server.http.gateway_marks import GatewayMarks
    from gaia_mcp.server.http.limits import Limits
    from gaia_mcp.server.http.security import Authorizer, Hosts
    from gaia_mcp.server.outcomes import OnFailure

# The handler for each HTTP method.
ByMethod: TypeAlias = "dict[str, Callable[[Received, Send], Any]]"

_GATEWAY = GATEWAY_HEADER.lower()
# The least time between two reports of a failing store, which would otherwise come with every request.
NOTE_SECONDS = 60.0


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

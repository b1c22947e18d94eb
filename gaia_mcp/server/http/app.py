"""The ASGI app: one endpoint for each provider, and the health checks of a load balancer."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from gaia_mcp.core.systems import built_in_agents, front_options, imported
from gaia_mcp.protocol.headers import LAST_EVENT_HEADER, SESSION_HEADER, VERSION_HEADER
from gaia_mcp.server.http.endpoint import Endpoint, Entrance, Signpost
from gaia_mcp.server.http.received import store_problem
from gaia_mcp.server.http.security import METADATA_PATH, Authorizer, Hosts, JwtAuthorizer, StaticToken
from gaia_mcp.server.http.served import Served
from gaia_mcp.server.http.sharing import StoreThreads, shared_keys, state_keys, store_of
from gaia_mcp.server.http.workers import Limits, Workers
from gaia_mcp.server.outcomes import OnFailure, note_failure
from gaia_mcp.server.running_call import report_no_ended_runs
from gaia_mcp.server.tasks import Tasks
from gaia_mcp.store import Store, StoreError

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.types import ASGIApp, Receive, Scope, Send

    from gaia_mcp.asking.sealing import Sealer
    from gaia_mcp.server.http.gateway_marks import GatewayMarks
    from gaia_mcp.server.http.metrics import Live, Metrics
    from gaia_mcp.server.provider import Provider

TOKEN_VARIABLE = "GAIA_MCP_TOKEN"  # noqa: S105 (its name)

# What `/readyz` writes to the store: as much as a session, and for no longer than until the next check.
READY_BYTES, READY_SECONDS = 4096, 1.0


class Opened(Protocol):
    """An endpoint that an app ends and closes."""

    entrance: Entrance

    @property
    def streams(self) -> int:
        """The number of open streams that would not end by themselves."""

    def end_streams(self) -> None:
        """Refuse new requests, and end the streams that would not end by themselves."""

    def close(self) -> None:
        """Close what the endpoint has opened."""


class Shared(NamedTuple):
    """What the endpoints of an app share: its MCP endpoints by path are among it. `sealer` returns that of a path. A
    front adds to `opened` what the app has to close.
    """

    endpoints: Mapping[str, Endpoint]
    workers: Workers
    limits: Limits
    tasks: Tasks
    threads: StoreThreads
    hosts: Hosts
    authorizer: Authorizer | None
    on_failure: OnFailure
    sealer: Callable[[str], Sealer]
    opened: list[Opened]


class Front(Protocol):
    """Serves the providers of an app, or another one, at further paths."""

    def endpoints(self, shared: Shared) -> Mapping[str, ASGIApp]:
        """The ASGI apps, by path."""


class HttpApp:
    """An ASGI app that serves providers. See `app_for`.

    `providers` maps the path of each endpoint to its provider; `fronts` serve at further paths. Requests that have
    passed through the gateway with these `marks` are refused. `calls` overrides the limit of concurrent calls for some
    paths. `metrics` are published at `/metrics`, to authorized clients.

    It runs under any ASGI server, and may be mounted in another app. `begin` and `close` are its lifespan; if no server
    runs it, the first request calls `begin`. The caller closes the store, which other apps may share.
    """

    def __init__(
        self,
        providers: Mapping[str, Provider],
        *,
        hosts: Hosts,
        authorizer: Authorizer | None,
        limits: Limits,
        store: Store,
        calls: Mapping[str, int] = {},
        origins: Iterable[str] = (),
        state_keys: Iterable[str] = (),
        fronts: Iterable[Front] = (),
        marks: GatewayMarks | None = None,
        on_failure: OnFailure = note_failure,
        owned: Iterable[Any] = (),
        metrics: Metrics | None = None,
    ) -> None:
        from gaia_mcp.asking.sealing import Sealer

        others = (limits.waiting_calls, limits.asking_calls, limits.waiting_bytes)
        self.workers = Workers(limits.calls, *others)
        own = {path: Workers(limit, *others) for path, limit in calls.items()}
        self._pools = [self.workers, *own.values()]
        # The providers that were created for this app, which opens and closes them.
        self._owned = list(owned)
        self._beginning = threading.Lock()
        self._has_begun = False
        self._has_ended = False
        keys = list(state_keys)
        self._store = store
        self._threads = StoreThreads(store)
        self._tasks = Tasks(store, beat_seconds=limits.beat_seconds)
        self._metrics = metrics
        self.endpoints = {
            path: Endpoint(
                path,
                Served(
                    provider,
                    own.get(path, self.workers),
                    limits,
                    # A state sealed for one agent is rejected by another one, even if both have a tool of this name.
                    Sealer(keys, f"{path} {provider.describe().info.get('name', '')}"),
                    self._tasks,
                    on_failure,
                    partial(self._measured, path),
                    store,
                    path,
                ),
                store,
                self._threads,
                hosts,
                authorizer,
            )
            for path, provider in providers.items()
        }
        # The endpoints that `close` closes.
        self._open: list[Opened] = [*self.endpoints.values()]
        apps: dict[str, ASGIApp] = {**self.endpoints}
        shared = Shared(
            self.endpoints,
            self.workers,
            limits,
            self._tasks,
            self._threads,
            hosts,
            authorizer,
            on_failure,
            partial(Sealer, keys),
            self._open,
        )
        for front in fronts:
            apps |= front.endpoints(shared)
        for each in self._open:
            each.entrance.marks = marks
        apps = {path: self._counted(path, app) for path, app in apps.items()}
        # With and without the trailing slash: a redirect would lose the body or the token.
        routes = [Route(spelling, app) for path, app in apps.items() for spelling in (path, f"{path}/")]
        if isinstance(authorizer, JwtAuthorizer):
            metadata = _metadata(authorizer)
            routes += [Route(path, metadata) for path in (METADATA_PATH, f"{METADATA_PATH}/{{rest:path}}")]
        routes += [Route("/healthz", _healthy), Route("/readyz", self._ready)]
        if metrics is not None:
            from gaia_mcp.server.http.metrics import MetricsEndpoint

            for path, endpoint in self.endpoints.items():
                endpoint.entrance.on_refusal = partial(metrics.refused, path)
            published = MetricsEndpoint(metrics, self._live, limits, hosts, authorizer)
            routes.append(Route("/metrics", published, methods=["GET"]))
        if len(providers) > 1 and "/mcp" not in providers:
            signpost = Signpost(list(providers), limits, hosts, authorizer)
            routes += [Route(spelling, signpost) for spelling in ("/mcp", "/mcp/")]
        allowed = list(origins)
        # Without middleware these are dispatched by path alone, which skips Starlette's routing.
        self._direct = {} if allowed else apps
        self._app = Starlette(routes=routes, middleware=[_cors(allowed)] if allowed else [], lifespan=self._lifespan)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """The ASGI interface."""
        app = None
        if scope["type"] == "http":
            # Not every server runs the lifespan.
            if not self._has_begun:
                await asyncio.to_thread(self.begin)
            app = self._direct.get(scope["path"])
        await (app or self._app)(scope, receive, send)

    @property
    def unfinished(self) -> int:
        """The number of calls that have not ended."""
        return sum(pool.unfinished for pool in self._pools)

    def begin(self) -> None:
        """Open the agents. Exceptions of the agents propagate."""
        with self._beginning:
            if not self._has_begun:
                report_no_ended_runs()
                for provider in self._owned:
                    provider.open()
                for endpoint in self.endpoints.values():
                    endpoint.served.open()
                self._has_begun = True

    def end_streams(self) -> None:
        """Refuse new requests, and end the streams that would not end by themselves. Running calls continue.

        To be called in the event loop.
        """
        for endpoint in self._open:
            endpoint.end_streams()

    def close(self) -> None:
        """Cancel the running calls, and close the agents. May be called twice."""
        with self._beginning:
            if self._has_ended:
                return
            self._has_ended = True
        for endpoint in self._open:
            endpoint.close()
        self._tasks.close()
        for pool in self._pools:
            pool.close()
        self._threads.close()
        for provider in self._owned:
            provider.close()
        if self._metrics is not None:
            self._metrics.close()

    @asynccontextmanager
    async def _lifespan(self, _: Starlette) -> AsyncIterator[None]:
        await asyncio.to_thread(self.begin)
        try:
            yield
        finally:
            self.end_streams()
            await asyncio.to_thread(self.close)

    def _measured(self, path: str, provider: Provider) -> Provider:
        if self._metrics is None:
            return provider
        from gaia_mcp.server.http.metrics import MeasuredProvider

        return MeasuredProvider(provider, path, self._metrics)

    def _counted(self, path: str, app: ASGIApp) -> ASGIApp:
        if self._metrics is None:
            return app
        from gaia_mcp.server.http.metrics import CountedApp

        return CountedApp(app, path, self._metrics, self._live)

    def _live(self) -> Live:
        from gaia_mcp.server.http.metrics import Live

        endpoints = self.endpoints.values()
        sessions, streams = (
            sum(map(len, (each.sessions for each in endpoints))),
            sum(each.streams for each in self._open),
        )
        running, waiting = (sum(each.running for each in self._pools), sum(each.waiting for each in self._pools))
        return Live(running, waiting, sessions, streams)

    async def _ready(self, _: Request) -> Response:
        has_room = all(pool.has_room and pool.has_room_to_ask for pool in self._pools)
        if not has_room or any(each.entrance.is_ending for each in self._open):
            return PlainTextResponse("busy\n", 503)
        try:
            # Reading would succeed while the store is full, and no session could begin.
            await self._threads.run(self._store.put, "http:ready", bytes(READY_BYTES), READY_SECONDS)
        except StoreError as problem:
            return PlainTextResponse(f"{store_problem(problem)}\n", 503)
        return PlainTextResponse("ready\n")


def app_for(
    target: Any,
    *,
    hosts: Iterable[str] = (),
    origins: Iterable[str] = (),
    token: str | None = None,
    authorizer: Authorizer | None = None,
    limits: Limits | None = None,
    store: Store | None = None,
    metrics: bool = False,
    environ: Mapping[str, str] = os.environ,
    **fronts: bool | None,
) -> HttpApp:
    """An ASGI app that serves an agent at `/mcp`, in both eras of MCP.

    `target` is the name of an agent (`package.module:Class`, `path/to/file.py:Class`, `demo`), an agent, or a provider;
    a mapping of names to these serves each at `/NAME/mcp`. `/healthz` and `/readyz` are health checks. `fronts` are
    those by name that serve each of them at further paths: with `rpc=True` also at `/rpc`, or `/NAME/rpc`; by default
    they serve only the agents that always have them.

    By default only requests for a loopback host are accepted: `hosts` are further host names of this server ("*" for
    any), and `origins` the origins whose pages may use it, which get CORS headers. With `token`, or the variable
    GAIA_MCP_TOKEN, every client has to send that bearer token; an `authorizer`, such as `bearer.JwtAuthorizer`,
    replaces this check. `store` holds sessions and tasks. The default is the memory of this process, or the Redis
    server at the URL in the variable GAIA_MCP_STORE: any worker with the same store can serve any request.
    GAIA_MCP_STATE_KEYS has the keys, separated by commas, that seal the request state which clients return: the first
    one seals, and each one opens. Without it, workers with the same store share a generated key.

    With `metrics`, metrics are published at `/metrics` in the Prometheus text format, to authorized clients; this
    requires the package `prometheus-client`. If several processes serve one address, PROMETHEUS_MULTIPROC_DIR names an
    empty directory through which each of them reports the metrics of all.

    Raises `AgentError` for an agent that cannot be loaded, `ValueError` for keys that are too short or an invalid URL,
    and `StoreError` if a shared store does not answer.
    """
    several = dict(target) if isinstance(target, Mapping) else {"": target}
    providers: dict[str, Provider] = {}
    owned: list[Any] = []
    options = front_options()
    paths: dict[str, list[str]] = {name: [] for name, option in options.items() if not option.is_for_gateways}
    if unknown := fronts.keys() - paths.keys():
        raise TypeError(f"app_for() got an unexpected keyword argument {min(unknown)!r}")
    for name, each in several.items():
        provider = each if hasattr(each, "answer") and hasattr(each, "describe") else _agent_provider(each)
        if provider is not each:
            owned.append(provider)
        path = f"/{name}/mcp" if name else "/mcp"
        providers[path] = provider
        for front, served in paths.items():
            wanted = fronts.get(front)
            if has_front(each, front) if wanted is None else wanted:
                served.append(path)
    token = token if token is not None else environ.get(TOKEN_VARIABLE) or None
    store = store_of(environ) if store is None else store
    sites = list(origins)
    return HttpApp(
        providers,
        hosts=Hosts(hosts, sites),
        authorizer=authorizer or (StaticToken(token) if token else None),
        limits=limits or Limits(),
        store=store,
        origins=sites,
        state_keys=state_keys(environ) or shared_keys(store),
        fronts=[imported(options[front].reference)(served) for front, served in paths.items() if served],
        owned=owned,
        metrics=new_metrics() if metrics else None,
    )


def new_metrics() -> Metrics:
    """The metrics of an app. Raises `ImportError` if `prometheus-client` is not installed."""
    from gaia_mcp.server.http.metrics import Metrics

    return Metrics()


def has_front(target: Any, name: str) -> bool:
    """Whether an agent has the front of this name by default."""
    agent = built_in_agents().get(target) if isinstance(target, str) else None
    return agent is not None and name in agent.fronts


def _agent_provider(agent: Any) -> Any:
    from gaia_mcp.agents import load_agent
    from gaia_mcp.server.agent import AgentProvider

    if isinstance(agent, str):
        agent = load_agent(agent)
    elif isinstance(agent, type):
        agent = agent()
    return AgentProvider(agent)


def _cors(origins: list[str]) -> Middleware:
    return Middleware(
        CORSMiddleware,
        allow_origins=origins,
        allow_methods=["GET", "POST", "DELETE"],
        # Each parameter of a tool may have a header of its own.
        allow_headers=["*"],
        expose_headers=[SESSION_HEADER, VERSION_HEADER, LAST_EVENT_HEADER, "WWW-Authenticate", "Retry-After"],
    )


def _metadata(authorizer: JwtAuthorizer) -> Callable[[Request], Awaitable[Response]]:
    async def answer(_: Request) -> Response:
        # Pages of any origin may read it: they need it to get a token.
        return JSONResponse(authorizer.metadata, headers={"access-control-allow-origin": "*"})

    return answer


async def _healthy(_: Request) -> Response:
    return PlainTextResponse("ok\n")

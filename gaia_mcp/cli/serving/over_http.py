"""`gaia mcp serve --http`: serves providers over HTTP until a signal ends it."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Collection, Mapping, Sequence
from contextlib import ExitStack
from importlib.util import find_spec
from typing import TYPE_CHECKING, NamedTuple

from gaia_mcp.cli.screen.output import counted
from gaia_mcp.cli.serving.gate import scope_rules
from gaia_mcp.cli.status import UsageError
from gaia_mcp.config.command import NOTHING
from gaia_mcp.core.errors import ConnectError, MCPError
from gaia_mcp.core.systems import front_options, imported

if TYPE_CHECKING:
    from gaia_mcp.cli.screen.output import Screen
    from gaia_mcp.cli.serving import Mount
    from gaia_mcp.cli.serving.gateway import GatewayFront
    from gaia_mcp.server.http.app import Front
    from gaia_mcp.server.http.listening import Address
    from gaia_mcp.server.http.security import Authorizer
    from gaia_mcp.server.provider import Provider
    from gaia_mcp.store import Store


class AccessTokens(NamedTuple):
    """The access tokens that are required. `jwks`, `issuer` and `audience` are given together, or not at all; `scopes`
    are the values of `--scope`.
    """

    jwks: str | None
    issuer: str | None
    audience: str | None
    scopes: Sequence[str]

    @property
    def common_scopes(self) -> list[str]:
        """The scopes that every request needs."""
        return [scope for scope in self.scopes if "=" not in scope]

    @property
    def rules(self) -> list[tuple[str, str]]:
        """Patterns of tools, each with a scope that their calls need."""
        return scope_rules(self.scopes)


class HttpOptions(NamedTuple):
    """The options of `serve` for HTTP. `fronts` are the names of those that serve each provider, `gateway_fronts` those
    that serve the gateway, by name.
    """

    address: str
    token: str | None
    without_token: bool
    hosts: Sequence[str]
    origins: Sequence[str]
    tokens: AccessTokens
    metrics: bool
    store: str | None
    fronts: Collection[str] = ()
    gateway_fronts: Mapping[str, GatewayFront] = NOTHING


def serve_http(screen: Screen, mounts: Sequence[Mount], options: HttpOptions) -> None:
    """Serve the provider of each mount. Returns after a signal has ended the server, and raises that signal again.

    Raises `UsageError` for inconsistent options, `ConnectError` for an address that cannot be listened on or a store
    that does not respond, `MCPError` if an extra is not installed, and any error that loading a mount raises.
    """
    _need_extras(options)
    from gaia_mcp.server.http.app import HttpApp, new_metrics
    from gaia_mcp.server.http.listening import HttpServer, listen, parsed_address
    from gaia_mcp.server.http.security import ANY, Hosts, is_loopback
    from gaia_mcp.server.http.sharing import shared_keys, state_keys
    from gaia_mcp.server.http.workers import Limits
    from gaia_mcp.store import StoreError

    try:
        address = parsed_address(options.address)
    except ValueError as problem:
        raise UsageError(
            f"--http {problem}", hint="write --http 127.0.0.1:8000, or :0 for a port that is free"
        ) from None
    is_local = is_loopback(address.host)
    authorizer = _authorizer(options)
    if not is_local and authorizer is None and not options.without_token:
        raise UsageError(
            f"--http {options.address} can be reached from other machines without a token",
            hint='set one: export GAIA_MCP_TOKEN="$(openssl rand -hex 32)"',
        )
    keys = _checked_keys(state_keys(os.environ))
    store = _store(options.store)
    try:
        keys = keys or shared_keys(store)
    except StoreError as problem:
        # The message names the store, without the password.
        raise ConnectError(str(problem), hint="start it, or serve without it: leave --store out") from problem
    try:
        listener = listen(address)
    except OSError as problem:
        # Errors of name resolution have codes of their own, which `os.strerror` does not know.
        reason = os.strerror(problem.errno) if problem.errno is not None and problem.errno > 0 else problem.strerror
        raise ConnectError(
            f"cannot listen on {options.address}: {reason}", hint="let the system choose a port: --http 127.0.0.1:0"
        ) from problem
    with listener, ExitStack() as closing:
        closing.callback(store.close)
        providers: dict[str, Provider] = {}
        calls: dict[str, int] = {}
        marks = None
        fronts = _fronts(mounts, options.fronts)
        for mount in mounts:
            loaded = mount.load()
            closing.callback(loaded.provider.close)
            providers[mount.path] = loaded.provider
            marks = loaded.marks
            fronts += loaded.fronts
            if loaded.limit is not None:
                calls[mount.path] = loaded.limit
        # By DNS rebinding an attacker's page can reach a loopback server, and any other server without a token.
        hosts = [*options.hosts, *([ANY] if not is_local and authorizer is not None else [])]
        app = HttpApp(
            providers,
            hosts=Hosts(hosts, options.origins, addresses=not is_local),
            authorizer=authorizer,
            limits=Limits(),
            calls=calls,
            store=store,
            origins=options.origins,
            state_keys=keys,
            fronts=fronts,
            marks=marks,
            on_failure=screen.report_failure,
            owned=[],
            metrics=new_metrics() if options.metrics else None,
        )
        shown = address._replace(port=listener.getsockname()[1])
        server = HttpServer(
            app,
            listener,
            on_ready=lambda: _announce(
                screen, mounts, shown, options.gateway_fronts, has_token=options.token is not None
            ),
            on_cut=lambda count: screen.remark(f"{counted(count, 'call')} did not end in time: cancelled"),
        )
        closing.callback(app.close)
        server.run()


def _fronts(mounts: Sequence[Mount], wanted: Collection[str]) -> list[Front]:
    """The fronts of providers: each serves all of them, if it is wanted, or else the agents that always have it."""
    from gaia_mcp.server.http.app import has_front

    found: list[Front] = []
    for name, option in front_options().items():
        paths = [mount.path for mount in mounts if name in wanted or has_front(mount.target, name)]
        if paths and not option.is_for_gateways:
            found.append(imported(option.reference)(paths))
    return found


def _authorizer(options: HttpOptions) -> Authorizer | None:
    """The authorizer for clients' credentials; None if none are required."""
    jwks, issuer, audience, scopes = options.tokens
    if not any((jwks, issuer, audience, scopes)):
        from gaia_mcp.server.http.security import StaticToken

        return StaticToken(options.token) if options.token else None
    if not jwks or not issuer or not audience:
        raise UsageError(
            f"--jwks, --issuer and --audience need each other{', and --scope to them' if scopes else ''}",
            hint="add what is missing: --jwks URL --issuer URL --audience URL",
        )
    from gaia_mcp.server.http.security import JwtAuthorizer
    from gaia_mcp.server.provider import check_scope

    try:
        for scope in [*options.tokens.common_scopes, *(scope for _, scope in options.tokens.rules)]:
            check_scope(scope)
    except ValueError as problem:
        raise UsageError(f"--scope {problem}", hint="write --scope SCOPE, or --scope TOOL=SCOPE") from None
    try:
        return JwtAuthorizer(jwks, issuer, audience, options.tokens.common_scopes)
    except ValueError as problem:
        raise UsageError(f"--jwks {problem}", hint="name the URL that the authorization server publishes") from None


def _store(url: str | None) -> Store:
    """The store for sessions and tasks: in this process, or in a Redis that other processes share."""
    if url is None:
        from gaia_mcp.store import MemoryStore

        return MemoryStore()
    from gaia_mcp.store.redis import RedisStore

    try:
        return RedisStore(url)
    except ValueError as problem:
        raise UsageError(f"--store: {problem}", hint="name the server: --store redis://127.0.0.1:6379") from None


def _announce(
    screen: Screen, mounts: Sequence[Mount], address: Address, fronts: Mapping[str, GatewayFront], *, has_token: bool
) -> None:
    """Print the URLs. After that, output of the agents' code goes to stderr."""
    from gaia_mcp.server.http.security import is_loopback

    bound, address = address, address.reachable()
    urls = {mount.name: address.url(mount.path) for mount in mounts}
    if screen.as_json:
        where: dict[str, object] = {"url": next(iter(urls.values()))} if len(urls) == 1 else {"urls": urls}
        where |= {name: address.url(front.path) for name, front in fronts.items()}
        screen.print_event({**where, "host": bound.host, "port": bound.port, "pid": os.getpid()})
    for mount in mounts:
        screen.remark(f"serving {mount.target} at {urls[mount.name]}; Ctrl-C ends it")
    for front in fronts.values():
        screen.remark(front.announcement(address.url(front.path)))
    if not screen.as_json:
        header = " --header 'Authorization: Bearer ${GAIA_MCP_TOKEN}'" if has_token else ""
        for name, url in urls.items():
            screen.remark(f"its clients add it with: {screen.line.to_type('add', name, more=url + header)}")
    if not is_loopback(bound.host):
        screen.remark("the connection is not encrypted: put a TLS proxy in front of it")
    if isinstance(sys.stdout, io.TextIOWrapper):
        # Printed text goes to a log: flushed after each line, it is not lost, and stays in order.
        sys.stdout.reconfigure(line_buffering=True)
    sys.stdout.flush()
    os.dup2(2, 1)


def _checked_keys(keys: list[str]) -> list[str]:
    from gaia_mcp.asking.sealing import MIN_SECRET_CHARS

    if any(len(key) < MIN_SECRET_CHARS for key in keys):
        raise UsageError(
            f"a key of GAIA_MCP_STATE_KEYS has fewer than {MIN_SECRET_CHARS} characters",
            hint='make one: export GAIA_MCP_STATE_KEYS="$(openssl rand -hex 32)"',
        )
    return keys


def _need_extras(options: HttpOptions) -> None:
    """Raises `MCPError` that names all packages which the options need and which are not installed."""
    needed = [_Extra("http", "serving over HTTP", {"starlette": "starlette", "uvicorn": "uvicorn"})]
    if options.metrics:
        needed.append(_Extra("metrics", "--metrics", {"prometheus_client": "prometheus-client"}))
    if options.tokens.jwks:
        needed.append(_Extra("jwt", "--jwks", {"jwt": "PyJWT"}))
    if options.store is not None:
        needed.append(_Extra("redis", "--store", {"redis": "redis-py"}))
    missing = [(each, packages) for each in needed if (packages := each.missing())]
    if missing:
        problems = [f"{each.wanted_by} needs {' and '.join(packages)}" for each, packages in missing]
        extras = ",".join(each.name for each, _ in missing)
        raise MCPError(
            f"{', '.join(problems)}, not installed here",
            hint=f"install the extra{'s' if len(missing) > 1 else ''}: pip install 'gaia-mcp[{extras}]'",
        )


class _Extra(NamedTuple):
    """An extra of this package: its name, what needs it, and its packages by the modules that they contain."""

    name: str
    wanted_by: str
    packages: dict[str, str]

    def missing(self) -> list[str]:
        """The packages that are not installed."""
        return [package for module, package in self.packages.items() if find_spec(module) is None]

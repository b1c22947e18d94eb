"""`gaia mcp serve`: serve an agent, handlers or configured servers as one MCP server, over stdio or HTTP."""

from __future__ import annotations

import inspect
import os
import sys
from collections.abc import Callable
from enum import StrEnum
from functools import partial
from inspect import Parameter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gaia_mcp.cli.completion.completers import agent_names, host_names
from gaia_mcp.cli.invocation import Invocation
from gaia_mcp.cli.options import CONFIG, HEADER, JSON, lock_file_option
from gaia_mcp.cli.serving import ACCESS, LIMITS, MAX_CALLS, SERVED, WHERE, Mount, named_targets, target_name
from gaia_mcp.cli.serving.gate import (
    AllowOption,
    AuditOption,
    DenyOption,
    Gate,
    LockedOption,
    ReadOnlyOption,
    SearchOption,
    ToolOptions,
    scope_rules,
)
from gaia_mcp.cli.serving.gateway import (
    ENTRY_NAME,
    AllOption,
    Gateway,
    HeldOption,
    PrefixOption,
    ServerOption,
    single_target,
)
from gaia_mcp.cli.status import UsageError
from gaia_mcp.core.systems import front_options, imported

if TYPE_CHECKING:
    from collections.abc import Collection

    from gaia_mcp.cli.screen.output import Screen
    from gaia_mcp.cli.serving import Loaded
    from gaia_mcp.cli.serving.gateway import GatewayFront
    from gaia_mcp.server.provider import Provider

COMMON = (HEADER, CONFIG, JSON)


class LogLevel(StrEnum):
    """The levels of Python's logging."""

    DEBUG = "debug"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


Targets = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="TARGET",
        show_default=False,
        help="path/to/file.py[:Class], package.module:Class, a folder of handlers, or: demo, agents, "
        "filesystem, code-runner. "
        "Several, or NAME=TARGET, with --http.",
        autocompletion=agent_names,
    ),
]
KwargOption = Annotated[
    list[str] | None,
    typer.Option(
        "--kwarg", rich_help_panel=SERVED, metavar="K=JSON",
        help="Pass an argument to the class; a value that is not JSON is text.",
    ),
]  # fmt: skip
ReloadOption = Annotated[
    bool,
    typer.Option(
        "--reload", rich_help_panel=SERVED, help="Reload the agent when its files change; clients stay connected."
    ),
]
LogLevelOption = Annotated[
    LogLevel | None,
    typer.Option(
        "--log-level", rich_help_panel=LIMITS, show_default=False,
        help="Print what the agent logs on stderr, from this level on.",
    ),
]  # fmt: skip
MaxCallsOption = Annotated[
    int | None,
    typer.Option(
        "--max-calls", rich_help_panel=LIMITS, metavar="N", min=1, max=MAX_CALLS, show_default=False,
        help="Run N calls at once; more of them wait. Default: the agent's max_calls, or 32.",
    ),
]  # fmt: skip
CheckOption = Annotated[
    bool, typer.Option("--check", help="List what would be served and every problem, and serve nothing.")
]
PrintConfigOption = Annotated[
    str | None,
    typer.Option(
        "--print-config",
        metavar="HOST",
        help="Print the entry for a host such as cursor, and serve nothing.",
        autocompletion=host_names,
        show_default=False,
    ),
]
LockFileOption = Annotated[Path | None, lock_file_option(SERVED)]
HttpOption = Annotated[
    str | None,
    typer.Option(
        "--http", rich_help_panel=WHERE, metavar="HOST:PORT", show_default=False,
        help="Serve over HTTP, at /mcp of this address; port 0 chooses a free one.",
    ),
]  # fmt: skip
TokenOption = Annotated[
    str | None,
    typer.Option(
        "--token", rich_help_panel=ACCESS, metavar="TOKEN", show_default=False,
        help="Require this bearer token from HTTP clients. Default: GAIA_MCP_TOKEN, which other users cannot see.",
    ),
]  # fmt: skip
WithoutTokenOption = Annotated[
    bool,
    typer.Option("--without-token", rich_help_panel=ACCESS, help="Allow other machines to use HTTP without a token."),
]
AllowHostOption = Annotated[
    list[str] | None,
    typer.Option(
        "--allow-host", rich_help_panel=ACCESS, metavar="NAME", show_default=False,
        help="Accept HTTP requests for this host name too.",
    ),
]  # fmt: skip
AllowOriginOption = Annotated[
    list[str] | None,
    typer.Option(
        "--allow-origin", rich_help_panel=ACCESS, metavar="URL", show_default=False,
        help="Allow pages of this origin to use HTTP (CORS).",
    ),
]  # fmt: skip
JwksOption = Annotated[
    str | None,
    typer.Option(
        "--jwks", rich_help_panel=ACCESS, metavar="URL", show_default=False,
        help="Require access tokens (JWT) signed by the keys at this URL; with --issuer and --audience.",
    ),
]  # fmt: skip
IssuerOption = Annotated[
    str | None,
    typer.Option(
        "--issuer",
        rich_help_panel=ACCESS,
        metavar="URL",
        show_default=False,
        help="The authorization server of access tokens.",
    ),
]
AudienceOption = Annotated[
    str | None,
    typer.Option(
        "--audience", rich_help_panel=ACCESS, metavar="URL", show_default=False,
        help="The URL of this server that access tokens are for.",
    ),
]  # fmt: skip
ScopeOption = Annotated[
    list[str] | None,
    typer.Option(
        "--scope", rich_help_panel=ACCESS, metavar="[TOOL=]SCOPE", show_default=False,
        help="Require this scope of access tokens, or for tools of this name or pattern: 'delete_*=trips:write'.",
    ),
]  # fmt: skip
MetricsOption = Annotated[
    bool,
    typer.Option(
        "--metrics", rich_help_panel=WHERE, help="Serve metrics for Prometheus at /metrics, to authorized clients."
    ),
]
StoreOption = Annotated[
    str | None,
    typer.Option(
        "--store", rich_help_panel=WHERE, metavar="URL", show_default=False,
        help="Share sessions and tasks with other servers through this Redis, redis://HOST. Default: GAIA_MCP_STORE.",
    ),
]  # fmt: skip


def _with_front_options(command: Callable[..., None]) -> Callable[..., None]:
    """The command with an option for each front of a system, in place of `**fronts`."""
    signature = inspect.signature(command, eval_str=True)
    own = [each for each in signature.parameters.values() if each.kind is not Parameter.VAR_KEYWORD]
    fronts = [
        Parameter(
            name,
            Parameter.KEYWORD_ONLY,
            default=False,
            annotation=Annotated[bool, typer.Option(f"--{name}", rich_help_panel=front.heading, help=front.help)],
        )
        for name, front in front_options().items()
    ]
    command.__signature__ = signature.replace(parameters=[*own, *fronts])  # type: ignore[attr-defined]
    return command


def _gateway_fronts(names: Collection[str]) -> dict[str, GatewayFront]:
    """Those of the named fronts that serve a gateway, by name."""
    options = front_options()
    return {name: imported(options[name].reference)(os.environ) for name in names if options[name].is_for_gateways}


@_with_front_options
def serve(
    targets: Targets = None,
    check: CheckOption = False,
    print_config: PrintConfigOption = None,
    all_servers: AllOption = False,
    server: ServerOption = None,
    held: HeldOption = False,
    prefix: PrefixOption = None,
    kwarg: KwargOption = None,
    reload: ReloadOption = False,
    allow: AllowOption = None,
    deny: DenyOption = None,
    read_only: ReadOnlyOption = False,
    locked: LockedOption = False,
    lock_file: LockFileOption = None,
    search: SearchOption = False,
    http: HttpOption = None,
    store: StoreOption = None,
    metrics: MetricsOption = False,
    token: TokenOption = None,
    without_token: WithoutTokenOption = False,
    allow_host: AllowHostOption = None,
    allow_origin: AllowOriginOption = None,
    jwks: JwksOption = None,
    issuer: IssuerOption = None,
    audience: AudienceOption = None,
    scope: ScopeOption = None,
    max_calls: MaxCallsOption = None,
    log_level: LogLevelOption = None,
    audit: AuditOption = None,
    *,
    invocation: Invocation,
    **fronts: bool,
) -> None:
    """Serve an agent, handlers or servers as one MCP server, over stdin and stdout or HTTP.

    The tools of an agent are the methods of an MCPAgent that are marked with @tool; any class with
    get_mcp_tool_definitions() and execute_mcp_tool() will do as well. A handler is an MCPHandler, and --kwarg gives it
    its settings; of a folder, all of its handlers are served. What the code prints goes to stderr. Over stdin and
    stdout a client has to read while it writes: once both pipes are full, neither side goes on.

    With --all or --server NAME..., configured servers are served as one: their tools, prompts and resources. Each
    server is connected when it is first needed. With --held, those that `up` holds open are shared with the shell.

    Example: gaia mcp serve demo
    """
    screen = invocation.screen
    from gaia_mcp.config.served import drop_secrets, take_order

    # Done before any code is imported, because that code may start programs.
    order = take_order(os.environ)
    wanted = [name for name, is_wanted in fronts.items() if is_wanted]
    gateway = None
    gateway_fronts: dict[str, GatewayFront] = {}
    several: dict[str, str] = {}
    if all_servers or server:
        if kwarg or reload or check:
            hint = f"test servers with: {screen.line.to_type('test-client', more='--all')}"
            raise UsageError("--kwarg, --reload and --check are for an agent", hint=hint)
        names = [*(server or ()), *(targets or ())]
        gateway_fronts = _gateway_fronts(wanted)
        mapped = {name: entry for front in gateway_fronts.values() for name, entry in front.servers.items()}
        gateway = Gateway.of(invocation, names, prefix, is_all=all_servers, uses_held=held, mapped=mapped)
        gateway = gateway.with_fronts(list(gateway_fronts.values()))
        target = gateway.title
    else:
        invocation.check_saved()
        if held:
            raise UsageError("--held is for --all and --server", hint="add --all, or --server NAME")
        if (front := next((name for name in wanted if front_options()[name].is_for_gateways), None)) is not None:
            raise UsageError(f"--{front} is for --all and --server", hint="add --all, or --server NAME")
        if len(targets or ()) > 1 and http is not None and not (check or print_config is not None or kwarg):
            several = named_targets(targets or ())
        target = single_target(list(several.values())[:1] or targets or (), prefix, invocation)
    keywords = order.get("settings", {})
    if kwarg:
        from gaia_mcp.cli.entries.building import keywords as keywords_of

        keywords = {**keywords, **keywords_of("--kwarg", kwarg)}
    tool_options = ToolOptions(allow or (), deny or (), read_only, locked, lock_file, search, audit)
    if print_config is not None:
        from gaia_mcp.cli.transfer import home_alone, known_host
        from gaia_mcp.cli.transfer.outcomes import own_entry, print_entries

        words = [word for item in kwarg or [] for word in ("--kwarg", item)]
        words += ["--max-calls", str(max_calls)] if max_calls is not None else []
        words += ["--reload"] if reload else []
        words += ["--log-level", log_level.value] if log_level is not None else []
        words += tool_options.words()
        name, entry = own_entry(screen, target, words) if gateway is None else gateway.own_entry(words)
        print_entries(screen, known_host(print_config), {name: entry}, home_alone, show_secrets=True)
        return
    if check:
        from gaia_mcp.cli.checks.serving import check_serving

        drop_secrets(os.environ)
        check_serving(screen, target, {**order, "settings": keywords}, Gate(screen, tool_options))
        return
    if log_level is not None:
        screen.show_log("", log_level.value)
    gate = Gate(screen, tool_options, scope_rules(scope or ()))

    def load(target: str = target) -> Loaded:
        if gateway is not None:
            return gateway.load(max_calls, gate, has_several_clients=http is not None)
        from gaia_mcp.agents import built_in
        from gaia_mcp.cli.serving import load_provider

        if target not in built_in():  # The built-in agents start programs without these secrets.
            drop_secrets(os.environ)
        gate.check_locked(target)
        loaded = load_provider(screen, target, order, keywords, max_calls=max_calls, reload=reload)
        return loaded._replace(provider=gate.of_one(target, loaded.provider))

    if http is not None:
        from gaia_mcp.cli.serving.over_http import AccessTokens, HttpOptions, serve_http

        token = token or os.environ.get("GAIA_MCP_TOKEN") or None
        tokens = AccessTokens(jwks, issuer, audience, scope or ())
        store = store or os.environ.get("GAIA_MCP_STORE") or None
        options = HttpOptions(
            http,
            token,
            without_token,
            allow_host or (),
            allow_origin or (),
            tokens,
            metrics,
            store,
            wanted,
            gateway_fronts,
        )
        mounts = [Mount(name, each, f"/{name}/mcp", partial(load, each)) for name, each in several.items()]
        name = ENTRY_NAME if gateway is not None else target_name(target)
        serve_http(screen, mounts or [Mount(name, target, "/mcp", load)], options)
        return
    access = {"--jwks": jwks, "--issuer": issuer, "--audience": audience}
    if any((token, without_token, allow_host, allow_origin, scope, metrics, store, *wanted, *access.values())):
        problem = "options such as --token, --allow-host and --jwks need --http"
        has_access = scope or any(access.values())
        missing = "".join(f" {name} URL" for name, given in access.items() if has_access and not given)
        raise UsageError(problem, hint=f"add an address: --http 127.0.0.1:8000{missing}")

    serve_stdio(screen, target, load)


def serve_stdio(screen: Screen, target: str, load: Callable[[], Loaded]) -> None:
    """Serve the provider that `load` returns. The pipes are taken over before `load` runs an agent's code."""
    from gaia_mcp.cli.screen import on_terminal
    from gaia_mcp.server.stdio import StdioServer

    if on_terminal(sys.stdin):
        screen.remark(f"serving {target} to the MCP client on standard input; Ctrl-C ends it")
    server = StdioServer(
        target,
        on_full=lambda limit: screen.remark(
            f"{limit} calls of {target} are running, and the next ones wait: see --max-calls"
        ),
        on_failure=screen.report_failure,
    )

    def provider() -> Provider:
        loaded = load()
        if loaded.limit is not None:
            server.allow(loaded.limit)
        return loaded.provider

    server.run(provider)

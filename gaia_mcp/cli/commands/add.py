"""`gaia mcp add`: save servers, after connecting to each once."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand

from gaia_mcp.cli.invocation import Invocation
from gaia_mcp.cli.options import (
    CONFIG,
    JSON,
    TIMEOUT,
    AgentOption,
    BearerTokenOption,
    CallbackPortOption,
    ClientIdOption,
    ClientSecretOption,
    CwdOption,
    EnvOption,
    ExceptOption,
    HeaderOption,
    InheritOption,
    KeepAliveOption,
    NoCheckOption,
    OnlyOption,
    ProtocolOption,
    RegistryOption,
    RequestTimeoutOption,
    SettingOption,
    StageOption,
    TokenEnvOption,
    TrustHintsOption,
    UrlOption,
    own_words,
)
from gaia_mcp.cli.typer_command import wrong_line

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from gaia_mcp.cli.entries.given import Given
    from gaia_mcp.cli.entries.saving import Tried
    from gaia_mcp.cli.screen.output import Screen
    from gaia_mcp.config.entries import ServerEntry
    from gaia_mcp.config.store import ConfigStore

# Options that a server's command often has as well.
_SHORT = ("-e", "-H", "-t", "-s")
_VARIABLE = re.compile(r"[A-Za-z_]\w*=")


class AddCommand(TyperCommand):
    """Parses the line of `add`, where `--json '{…}'` is an entry, and `--json` alone selects the output form as in
    every command. The words after two dashes are a command, even without a name before the dashes.
    """

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        args = own_words(args)
        end = args.index("--") if "--" in args else len(args)
        before: list[str] = []
        for word in args[:end]:
            if word.startswith("--json=") or (before[-1:] == ["--json"] and word.lstrip().startswith("{")):
                before = before[:-1] if before[-1:] == ["--json"] else before
                before += ["--entry", word.removeprefix("--json=")]
            else:
                before.append(word)
        unparsed = super().parse_args(ctx, [*before])
        name, words, command = ctx.params["name"], list(ctx.params["words"] or ()), args[end + 1 :]
        if command and ctx.params["env"] and all(_VARIABLE.match(word) for word in words):
            # `claude mcp add` accepts several variables after one option.
            ctx.params["env"] = [*ctx.params["env"], *words]
            words = []
        if len(words) > 1:
            behind = before[before.index(words[0]) :]
            if short := next((word for word in behind if word.startswith(_SHORT)), None):
                raise wrong_line(f"No such option among the words of a command: {short}", ctx)
        if command and name is None:
            from gaia_mcp.cli.entries.given import starts_program

            if not starts_program(command):
                name, *command = command
        ctx.params.update(name=name, words=[*words, *command])
        return unparsed


SETTINGS = {"cls": AddCommand}

Name = Annotated[
    str | None,
    typer.Argument(
        metavar="[NAME]", help="Name of the new server. Default: derived from what follows.", show_default=False
    ),
]
Words = Annotated[
    list[str] | None,
    typer.Argument(
        metavar='{"COMMAND LINE" | -- COMMAND [ARG...] | URL | JSON | @FILE | - | REGISTRY/NAME[@VERSION]}',
        help="Its command, run without a shell; its URL; its entry as READMEs show it; or its name in a registry.",
        show_default=False,
    ),
]
EntryOption = Annotated[
    str | None,
    typer.Option(
        "--entry", metavar="JSON", help="Read the whole entry from JSON; also: --json '{…}'.", show_default=False
    ),
]
TransportOption = Annotated[
    str | None,
    typer.Option(
        "--transport", "-t", metavar="{stdio|http|sse|rpc}",
        help="Use only this transport. Default for a URL: detected.",
        show_default=False,
    ),
]  # fmt: skip
ViaOption = Annotated[
    str | None,
    typer.Option(
        "--via", metavar="{npm|pypi|nuget|oci|http|sse}", show_default=False,
        help="Use this package type or remote of a registry server. Default: one that runs here.",
    ),
]  # fmt: skip
ScopeOption = Annotated[str | None, typer.Option("--scope", "-s", hidden=True)]
DisabledOption = Annotated[bool, typer.Option("--disabled", help="Save it as disabled.")]
ForceOption = Annotated[bool, typer.Option("--force", help="Replace a server of the same name.")]

COMMON = (CONFIG, JSON, TIMEOUT)


def add(
    invocation: Invocation,
    name: Name = None,
    words: Words = None,
    url: UrlOption = None,
    entry: EntryOption = None,
    env: EnvOption = None,
    inherit_env: InheritOption = None,
    header: HeaderOption = None,
    token_env: TokenEnvOption = None,
    transport: TransportOption = None,
    cwd: CwdOption = None,
    request_timeout: RequestTimeoutOption = None,
    only: OnlyOption = None,
    excluded: ExceptOption = None,
    protocol: ProtocolOption = None,
    trust_hints: TrustHintsOption = None,
    keep_alive: KeepAliveOption = None,
    stage: StageOption = None,
    agent: AgentOption = None,
    setting: SettingOption = None,
    via: ViaOption = None,
    registry: RegistryOption = None,
    scope: ScopeOption = None,
    client_id: ClientIdOption = None,
    client_secret: ClientSecretOption = False,
    callback_port: CallbackPortOption = None,
    bearer_token: BearerTokenOption = None,
    disabled: DisabledOption = False,
    no_check: NoCheckOption = False,
    force: ForceOption = False,
) -> None:
    """Save a server, after connecting to it once.

    If it cannot be reached, nothing is saved. Put -- before a command that has options of its own. A name such as
    io.github.owner/server is looked up in the official registry of servers.

    Example: gaia mcp add time -- uvx mcp-server-time
    """
    screen = invocation.screen
    from functools import cache

    from gaia_mcp.cli.entries.building import (
        anchor,
        authorize,
        check_keep_alive,
        choose_tools,
        fill_in,
        fix_revision,
        keep_open,
        restrict,
        set_settings,
        set_transport,
        trust_hints_of,
    )
    from gaia_mcp.cli.entries.given import Options, check_options, given_servers
    from gaia_mcp.cli.entries.registry import published_server
    from gaia_mcp.cli.entries.saving import UNTRIED, tried_all
    from gaia_mcp.core.errors import ServerExistsError

    @cache
    def opened() -> ConfigStore:
        return invocation.open_store(may_be_new=True)

    def replaced(taken: str) -> Mapping[str, Any]:
        store = opened()
        held = store.servers().get(taken) if store.source_of(taken) == store.path else None
        if held is not None and not force:
            raise ServerExistsError(taken, store.path)
        return held if isinstance(held, dict) else {}

    check_keep_alive(keep_alive, [name, *(words or [])[:1]])
    options = Options(via, setting or [], env or [], replaced)
    published = (
        published_server(screen, name, words or [], registry, options, invocation.deadline())
        if url is None and entry is None
        else None
    )
    servers = [published] if published is not None else given_servers(screen, name, words or [], url, entry)
    check_options(
        servers,
        env=env,
        header=header,
        **{"token-env": token_env},
        transport=transport,
        cwd=cwd,
        only=only,
        setting=setting,
        **{
            "except": excluded,
            "client-id": client_id,
            "client-secret": client_secret,
            "callback-port": callback_port,
            "bearer-token-env-var": bearer_token,
        },
    )
    for server in servers:
        fill_in(server.entry, env or [], header or [], token_env or bearer_token, cwd, request_timeout, inherit_env)
        authorize(server.entry, client_id, client_secret, callback_port)
        set_transport(server.entry, transport)
        fix_revision(server.entry, protocol)
        trust_hints_of(server.entry, trust_hints)
        keep_open(server.entry, keep_alive)
        choose_tools(server.entry, only or [], excluded or [])
        restrict(server.entry, stage or [], agent or [])
        if published is None:
            set_settings(server.entry, setting or [])
        if disabled:
            server.entry["disabled"] = True
        if server.words and anchor(server.entry):
            server.remarks.append(f"the program is saved as {server.entry['command']!r}")
    store = opened()
    entries = [store.read(server.name, server.entry) for server in servers]
    for taken in entries:
        replaced(taken.name)
    tried = [UNTRIED] * len(entries) if no_check else tried_all(screen, servers, entries, invocation.deadline())
    store.add(*entries, replace=[each.name for each in entries] if force else [])
    if scope not in (None, "user"):
        screen.remark(
            "--scope has no effect: it is saved for all folders; --config .mcp.json saves it for this project"
        )
    _remark(screen, servers, entries, is_trusting=bool(trust_hints))
    _print(screen, store.path, [each.name for each in entries], tried)


def _remark(screen: Screen, servers: list[Given], entries: list[ServerEntry], *, is_trusting: bool) -> None:
    """Print the remarks about servers that are being saved. `is_trusting`: --trust-hints was given."""
    from gaia_mcp.cli.entries.remarks import remark_on_oauth, remark_on_retries, remark_on_unseen
    from gaia_mcp.cli.entries.saving import warn_of_files, warn_of_patterns, warn_of_placeholders, warn_of_secrets

    for server, entry in zip(servers, entries, strict=True):
        for text in server.remarks:
            screen.remark(text)
        if server.words and "cwd" not in server.entry:
            warn_of_files(screen, server.name, server.entry.get("args", []))
        warn_of_placeholders(screen, server.name, server.entry)
        warn_of_secrets(screen, server.entry)
        warn_of_patterns(screen, entry)
        if entry.trusts_hints and not is_trusting:
            undo = screen.line.to_type("edit", entry.name, more="--no-trust-hints")
            screen.remark(f"its entry trusts the tool annotations of {entry.name!r}; undo it with: {undo}")
    remark_on_retries(screen, entries)
    remark_on_oauth(screen, entries)
    remark_on_unseen(screen, entries)


def _print(screen: Screen, path: Path, names: list[str], tried: list[Tried]) -> None:
    """Print the servers that were added, as text or as JSON."""
    from gaia_mcp.core.paths import shown

    lines = [f"added {name!r} to {shown(path)}{one.presented}" for name, one in zip(names, tried, strict=True)]
    facts = {name: one.facts for name, one in zip(names, tried, strict=True)}
    if len(names) == 1:
        screen.done(lines[0], added=names[0], path=str(path), **facts[names[0]])
    else:
        screen.done("\n".join(lines), added=names, path=str(path), servers=facts)

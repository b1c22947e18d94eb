"""`gaia mcp edit`: change members of a server's entry, and leave the others unchanged."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from gaia_mcp.cli.completion.completers import entry_keys, server_names
from gaia_mcp.cli.invocation import Invocation
from gaia_mcp.cli.options import (
    CONFIG,
    JSON,
    TIMEOUT,
    AgentOption,
    CwdOption,
    EnvOption,
    ExceptOption,
    HeaderOption,
    InheritOption,
    KeepAliveOption,
    NoCheckOption,
    OnlyOption,
    ProtocolOption,
    RequestTimeoutOption,
    SettingOption,
    StageOption,
    TokenEnvOption,
    TrustHintsOption,
    UrlOption,
)
from gaia_mcp.cli.screen import on_terminal
from gaia_mcp.cli.status import UsageError

if TYPE_CHECKING:
    from pathlib import Path

    from gaia_mcp.cli.entries.saving import Change, Saved
    from gaia_mcp.cli.screen.output import Screen
    from gaia_mcp.config.store import ConfigStore

Name = Annotated[str, typer.Argument(metavar="NAME", help="The server.", autocompletion=server_names)]
Words = Annotated[
    list[str] | None,
    typer.Argument(
        metavar='["COMMAND LINE" | -- COMMAND [ARG...]]',
        help="Start it with this command from now on, without a shell.",
        show_default=False,
    ),
]
UnsetOption = Annotated[
    list[str] | None,
    typer.Option(
        "--unset",
        metavar="KEY",
        help="Remove this from the entry: cwd, timeout, env.NAME, headers.NAME, …",
        autocompletion=entry_keys,
    ),
]
RenameOption = Annotated[
    str | None, typer.Option("--rename", metavar="NAME", help="Rename the server.", show_default=False)
]

COMMON = (CONFIG, JSON, TIMEOUT)


def edit(
    invocation: Invocation,
    name: Name,
    words: Words = None,
    url: UrlOption = None,
    env: EnvOption = None,
    inherit_env: InheritOption = None,
    header: HeaderOption = None,
    token_env: TokenEnvOption = None,
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
    unset: UnsetOption = None,
    rename: RenameOption = None,
    no_check: NoCheckOption = False,
) -> None:
    """Change parts of a server's entry.

    What is not named stays as it is. If the changed server cannot be reached, nothing is saved. On a terminal, without
    anything to change, the entry is opened in $VISUAL or $EDITOR.

    Example: gaia mcp edit time --env TZ=Europe/Oslo --unset timeout
    """
    screen = invocation.screen
    from gaia_mcp.cli.entries.building import (
        anchor,
        check_keep_alive,
        choose_tools,
        fill_in,
        fix_revision,
        keep_open,
        restrict,
        set_settings,
        trust_hints_of,
    )
    from gaia_mcp.cli.entries.saving import Change, changed_entry, edited, save_change
    from gaia_mcp.storage.json_files import parse_object

    store = invocation.open_store()
    before = store.own(name)

    def save(change: Change) -> None:
        _print(screen, store, change, save_change(screen, store, change, invocation.deadline(), no_check=no_check))

    def save_text(data: bytes, path: Path) -> None:
        save(Change(name, name, before, parse_object(data, path)))

    check_keep_alive(keep_alive, (words or [])[:1])
    restrictions = (only, excluded, protocol, keep_alive, stage, agent)
    given = (words, url, env, header, token_env, cwd, request_timeout, *restrictions, setting, unset, rename)
    if any(given) or inherit_env is not None or trust_hints is not None:
        after = changed_entry(screen.line, name, before, words or [], url, unset or [])
        fill_in(after, env or [], header or [], token_env, cwd, request_timeout, inherit_env)
        fix_revision(after, protocol)
        trust_hints_of(after, trust_hints)
        keep_open(after, keep_alive)
        choose_tools(after, only or [], excluded or [])
        restrict(after, stage or [], agent or [])
        set_settings(after, setting or [])
        is_anchored = bool(words) and anchor(after)
        save(Change(name, rename or name, before, after))
        if is_anchored:
            screen.remark(f"the program is saved as {after['command']!r}")
    elif on_terminal(sys.stdin) and on_terminal(sys.stdout):
        text = json.dumps(before, indent=2, ensure_ascii=False) + "\n"
        if not edited(screen, text, f"gaia-{name}", save_text):
            _print_unchanged(screen, store, name)
    else:
        hint = "name it: --env K=V, --cwd DIR, --request-timeout S, --unset KEY, --rename NAME, or -- COMMAND [ARG...]"
        raise UsageError(f"no change given for {name!r}", hint=hint)


def _print(screen: Screen, store: ConfigStore, change: Change, saved: Saved) -> None:
    from gaia_mcp.cli.entries.remarks import in_words
    from gaia_mcp.core.paths import shown

    if not saved.different:
        _print_unchanged(screen, store, change.name)
        return
    screen.done(
        f"changed {change.name!r} in {shown(store.path)}{saved.presented}",
        edited=change.new_name,
        changes={key: values._asdict() for key, values in saved.different.items()},
        path=str(store.path),
        **saved.facts,
    )
    if not screen.as_json:
        for key, values in saved.different.items():
            screen.print_line(f"  {key}: {in_words(values.before)} → {in_words(values.after)}")


def _print_unchanged(screen: Screen, store: ConfigStore, name: str) -> None:
    screen.done(f"nothing changed in {name!r}", edited=name, changes={}, path=str(store.path))

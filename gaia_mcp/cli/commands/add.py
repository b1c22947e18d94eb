"""`gaia mcp add`: save a server, after connecting to it once."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from gaia_mcp.cli.entries.entry_options import (
    CwdOption,
    EnvOption,
    HeaderOption,
    InheritOption,
    NoCheckOption,
    RequestTimeoutOption,
    UrlOption,
)
from gaia_mcp.cli.options import CONFIG, JSON, TIMEOUT, Invocation
from gaia_mcp.cli.screen.output import done, remark


class AddCommand(TyperCommand):
    """`--json` is the form of the answer in every command, and here also takes the entry itself: `--json '{…}'`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        words: list[str] = []
        rest = iter(args)
        for word in rest:
            if word == "--":
                words += [word, *rest]
            elif word.startswith("--json=") or (words and words[-1] == "--json" and word.lstrip().startswith("{")):
                words = words[:-1] if words and words[-1] == "--json" else words
                words += ["--entry", word.removeprefix("--json=")]
            else:
                words.append(word)
        return super().parse_args(ctx, words)


SETTINGS = {"cls": AddCommand}

Name = Annotated[str, typer.Argument(metavar="NAME", help="Name of the new server.")]
Words = Annotated[
    list[str] | None,
    typer.Argument(
        metavar='{"COMMAND LINE" | -- COMMAND [ARG...]}',
        help="Command that starts it. No shell is involved.",
        show_default=False,
    ),
]
EntryOption = Annotated[
    str | None,
    typer.Option(
        "--entry", metavar="JSON", help="Take the whole entry as JSON; also: --json '{…}'.", show_default=False
    ),
]
DisabledOption = Annotated[bool, typer.Option("--disabled", help="Save it as disabled.")]
ForceOption = Annotated[bool, typer.Option("--force", help="Replace a server of the same name.")]

COMMON = (CONFIG, JSON, TIMEOUT)


def add(
    invocation: Invocation,
    name: Name,
    words: Words = None,
    url: UrlOption = None,
    entry: EntryOption = None,
    env: EnvOption = None,
    inherit_env: InheritOption = None,
    header: HeaderOption = None,
    cwd: CwdOption = None,
    request_timeout: RequestTimeoutOption = None,
    disabled: DisabledOption = False,
    no_check: NoCheckOption = False,
    force: ForceOption = False,
) -> None:
    """Save a server, after connecting to it once.

    If it cannot be reached, nothing is saved. Put -- before a command that has options of its own.

    Example: gaia mcp add time -- uvx mcp-server-time
    """
    from gaia_mcp.cli.entries.building import anchor, fill_in, new_entry
    from gaia_mcp.cli.entries.saving import tried, warn_of_files, warn_of_secrets
    from gaia_mcp.config.entries import read_entry
    from gaia_mcp.config.store import check_server_name
    from gaia_mcp.errors import ServerExistsError
    from gaia_mcp.paths import shown

    check_server_name(name)
    new = new_entry(name, words or [], url, entry)
    if entry is not None:
        read_entry(name, new)  # An option must not hide what is wrong with the JSON.
    fill_in(new, env or [], header or [], cwd, request_timeout, inherit_env)
    if disabled:
        new["disabled"] = True
    is_anchored = bool(words) and anchor(new)
    store = invocation.open_store(may_be_new=True)
    read = read_entry(name, new, store.path)
    if not force and name in store.names() and store.source_of(name) == store.path:
        raise ServerExistsError(name, store.path)
    facts: dict[str, Any] = {}
    presented = ""
    if not no_check:
        facts, presented = tried(read, invocation.deadline())
    store.add(read, replace=[name] if force else [])
    if is_anchored:
        remark(f"the program is saved as {new['command']!r}")
    if words and "cwd" not in new:
        warn_of_files(name, new.get("args", []))
    warn_of_secrets(new)
    done(f"added {name!r} to {shown(store.path)}{presented}", added=name, path=str(store.path), **facts)

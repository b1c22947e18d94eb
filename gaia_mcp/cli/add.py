"""`gaia mcp add`: save a server, after it has proved that it works."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand

from gaia_mcp.cli.options import ConfigOption, DebugOption, JsonOption, TimeoutOption, a_number, within
from gaia_mcp.cli.output import done, remark, speak
from gaia_mcp.cli.status import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping


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

Name = Annotated[str, typer.Argument(help="What to call the server.")]
Words = Annotated[
    list[str] | None,
    typer.Argument(
        metavar='{"COMMAND LINE" | -- COMMAND [ARG...]}',
        help="How to start it. No shell is involved.",
        show_default=False,
    ),
]
UrlOption = Annotated[str | None, typer.Option("--url", help="A server reached by HTTP.", show_default=False)]
EntryOption = Annotated[
    str | None, typer.Option("--entry", metavar="JSON", help="The whole entry; also: --json '{…}'.", show_default=False)
]
EnvOption = Annotated[
    list[str] | None,
    typer.Option("--env", metavar="K[=V]", help="A variable for the server; K alone stores the reference ${K}."),
]
HeaderOption = Annotated[list[str] | None, typer.Option("--header", metavar="K:V", help="A header, with --url.")]
CwdOption = Annotated[Path | None, typer.Option("--cwd", help="The folder in which it is started.", show_default=False)]
RequestTimeoutOption = Annotated[
    float | None,
    typer.Option(
        "--request-timeout", metavar="SECONDS", min=0.01, max=600, callback=a_number,
        help="Saved: the time for each of its requests.", show_default=False,
    ),
]  # fmt: skip
DisabledOption = Annotated[bool, typer.Option("--disabled", help="Save it as disabled.")]
NoCheckOption = Annotated[bool, typer.Option("--no-check", help="Save without connecting.")]
ForceOption = Annotated[bool, typer.Option("--force", help="Replace a server of the same name.")]


def add(
    name: Name,
    words: Words = None,
    url: UrlOption = None,
    entry: EntryOption = None,
    env: EnvOption = None,
    header: HeaderOption = None,
    cwd: CwdOption = None,
    request_timeout: RequestTimeoutOption = None,
    disabled: DisabledOption = False,
    no_check: NoCheckOption = False,
    force: ForceOption = False,
    config: ConfigOption = None,
    as_json: JsonOption = False,
    timeout: TimeoutOption = None,
    debug: DebugOption = False,
) -> None:
    """Save a server, after connecting to it once.

    If it cannot be reached, nothing is saved. Put -- before a command that has options of its own.

    Example: gaia mcp add time -- uvx mcp-server-time
    """
    from gaia_mcp.cli.stores import open_store
    from gaia_mcp.config.entries import read_entry
    from gaia_mcp.config.store import check_server_name
    from gaia_mcp.errors import ServerExistsError
    from gaia_mcp.paths import shown

    speak(as_json=as_json, debug=debug)
    check_server_name(name)
    new = _entry(name, words or [], url, entry)
    read_entry(name, new)
    _complete(new, env or [], header or [], cwd, request_timeout, disabled=disabled)
    is_anchored = bool(words) and _anchor(new)
    store = open_store(config, may_be_new=True)
    read = read_entry(name, new, store.path)
    if not force and name in store.names() and store.source_of(name) == store.path:
        raise ServerExistsError(name, store.path)
    facts: dict[str, Any] = {}
    presented = ""
    if not no_check:
        from gaia_mcp.cli.progress import Waiting
        from gaia_mcp.cli.sessions import connected

        with Waiting(f"starting {name}"), connected(read, within(timeout)) as session:
            peer = session.client.peer
            found = session.fetch_tools()
        info = peer.info if peer else {}
        facts = {"server": info, "version": peer.version if peer else "", "tools": len(found)}
        count = f"{len(found)} tool" + ("" if len(found) == 1 else "s")
        presented = f": {info.get('name', 'unnamed')} {info.get('version', '')}".rstrip() + f", {count}"
    store.add(name, new, replace=force)
    if is_anchored:
        remark(f"the program is kept as {new['command']!r}")
    _warn_of_secrets(read.env)
    done(f"added {name!r} to {shown(store.path)}{presented}", added=name, path=str(store.path), **facts)


def _entry(name: str, words: list[str], url: str | None, entry: str | None) -> dict[str, Any]:
    given = [what for what, value in (("a command", words), ("--url", url), ("--json", entry)) if value]
    if len(given) != 1:
        problem = f"{' and '.join(given)} exclude each other" if given else f"how is {name!r} started?"
        raise UsageError(problem, hint=f"gaia mcp add {name} -- COMMAND [ARG...], or --url URL, or --json '{{…}}'")
    if entry is not None:
        return _from_json(name, entry)
    if url is not None:
        return {"url": url}
    command, *arguments = _command(name, words)
    return {"command": command, "args": arguments}


def _command(name: str, words: list[str]) -> list[str]:
    if len(words) > 1 or not any(character.isspace() for character in words[0]):
        return words
    import shutil

    from gaia_mcp.client.transports.commands import split_command_line

    # A program whose path has a space in it is no command line.
    return words if shutil.which(words[0]) else split_command_line(name, words[0])


def _from_json(name: str, text: str) -> dict[str, Any]:
    from gaia_mcp.arguments import ArgumentSyntaxError, read_object

    try:
        value = read_object(text, "--json")
    except ArgumentSyntaxError as problem:
        raise UsageError(
            str(problem), hint='an entry looks like {"command": "uvx", "args": ["mcp-server-time"]}'
        ) from None
    wrapped = value.get("mcpServers", value.get("servers"))
    if isinstance(wrapped, dict):
        # The whole snippet, as READMEs show it.
        if name not in wrapped and len(wrapped) != 1:
            hint = "add them one by one, each by its name"
            raise UsageError(f"--json holds {len(wrapped)} servers, and none is {name!r}", hint=hint)
        value = wrapped[name] if name in wrapped else next(iter(wrapped.values()))
    return value


def _complete(
    entry: dict[str, Any],
    env: list[str],
    headers: list[str],
    cwd: Path | None,
    request_timeout: float | None,
    *,
    disabled: bool,
) -> None:
    for item in env:
        key, equals, value = item.partition("=")
        if not key:
            raise UsageError(f"--env {item!r} names no variable", hint="write --env NAME=VALUE, or --env NAME")
        entry["env"] = {**(entry.get("env") or {}), key: value if equals else f"${{{key}}}"}
    for item in headers:
        key, colon, value = item.partition(":")
        if not colon or not key.strip() or "url" not in entry:
            raise UsageError(f"--header {key!r} needs --url, and a colon", hint="write --header 'Name: value'")
        entry.setdefault("headers", {})[key.strip()] = value.strip()
    if cwd is not None:
        entry["cwd"] = str(cwd.expanduser().absolute())
    if request_timeout is not None:
        entry["timeout"] = int(request_timeout) if request_timeout == int(request_timeout) else request_timeout
    if disabled:
        entry["disabled"] = True


def _anchor(entry: dict[str, Any]) -> bool:
    """A program that is named as seen from here must be found from everywhere. Whether that changed the entry."""
    command = entry["command"]
    if not os.path.dirname(command) or os.path.isabs(command) or command.startswith(("~", "${")):  # noqa: PTH117, PTH120
        return False
    if "cwd" in entry:
        return False  # From there it is found.
    # Without following links: a virtual environment's interpreter is one.
    entry["command"] = os.path.abspath(command)  # noqa: PTH100
    return True


def _warn_of_secrets(env: Mapping[str, Any]) -> None:
    from gaia_mcp.safetext import MASK, looks_secret, masked

    for key, value in env.items():
        if isinstance(value, str) and looks_secret(key) and masked(value) == MASK:
            remark(f"{key} is stored as plain text; --env {key} alone would store a reference to the variable instead")

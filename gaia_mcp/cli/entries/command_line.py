"""An entry from the words of a command line, the same for `add` and `edit`, and the proof that its server works."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gaia_mcp.cli.completion.file_names import folder_names
from gaia_mcp.cli.options import a_number
from gaia_mcp.cli.screen.output import counted, remark
from gaia_mcp.cli.status import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gaia_mcp.config.entries import ServerEntry
    from gaia_mcp.deadline import Deadline

UrlOption = Annotated[
    str | None, typer.Option("--url", metavar="URL", help="A server reached by HTTP.", show_default=False)
]
EnvOption = Annotated[
    list[str] | None,
    typer.Option("--env", metavar="K[=V]", help="A variable for the server; K alone stores the reference ${K}."),
]
HeaderOption = Annotated[list[str] | None, typer.Option("--header", metavar="K:V", help="A header, with --url.")]
CwdOption = Annotated[
    Path | None,
    typer.Option(
        "--cwd",
        metavar="DIR",
        help="The folder in which it is started.",
        show_default=False,
        autocompletion=folder_names,
    ),
]
RequestTimeoutOption = Annotated[
    float | None,
    typer.Option(
        "--request-timeout", metavar="SECONDS", min=0.01, max=600, callback=a_number,
        help="Saved: the time for each of its requests.", show_default=False,
    ),
]  # fmt: skip
# What can be referred to as ${NAME}.
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
NoCheckOption = Annotated[bool, typer.Option("--no-check", help="Save without connecting.")]


def command_of(name: str, words: list[str]) -> dict[str, Any]:
    """`command` and `args` from `"COMMAND LINE"` or `COMMAND ARG...`. Raises `EntryError`."""
    command, *arguments = _split(name, words)
    return {"command": command, "args": arguments}


def fill_in(
    entry: dict[str, Any],
    env: list[str],
    headers: list[str],
    cwd: Path | None,
    request_timeout: float | None,
) -> None:
    """Put what the options say into `entry`, in place of what makes no sense there. Raises `UsageError`."""
    if "url" in entry and (env or cwd is not None):
        option = "--env" if env else "--cwd"
        hint = "what a URL is told goes into --header 'Name: value'"
        raise UsageError(f"{option} is for a command, and this is reached by --url", hint=hint)
    for item in env:
        key, equals, value = item.partition("=")
        if not key or not (equals or _VARIABLE.fullmatch(key)):
            raise UsageError(f"--env {item!r} names no variable", hint="write --env NAME=VALUE, or --env NAME")
        entry["env"] = {**_object(entry.get("env")), key: value if equals else f"${{{key}}}"}
    for item in headers:
        key, colon, value = item.partition(":")
        if not colon or not key.strip() or "url" not in entry:
            raise UsageError(f"--header {key!r} needs --url, and a colon", hint="write --header 'Name: value'")
        entry["headers"] = {**_object(entry.get("headers")), key.strip(): value.strip()}
    if cwd is not None:
        entry["cwd"] = str(cwd.expanduser().absolute())
    if request_timeout is not None:
        entry["timeout"] = int(request_timeout) if request_timeout == int(request_timeout) else request_timeout


def anchor(entry: dict[str, Any]) -> bool:
    """A program that is named as seen from here must be found from everywhere. Whether that changed the entry."""
    if not is_relative(entry["command"]) or "cwd" in entry:  # From there it is found.
        return False
    # Without following links: a virtual environment's interpreter is one.
    entry["command"] = os.path.abspath(entry["command"])  # noqa: PTH100
    return True


def is_relative(command: str) -> bool:
    """Whether a program is named by a path that means something else in another folder."""
    return bool(os.path.dirname(command)) and not os.path.isabs(command) and not command.startswith(("~", "${"))  # noqa: PTH117, PTH120


def proved(entry: ServerEntry, deadline: Deadline | None) -> tuple[dict[str, Any], str]:
    """Connect to a server once: what it says it is, as facts and in words. Raises as a client's `open` does."""
    from gaia_mcp.cli.screen.session_view import SessionView
    from gaia_mcp.session.session import connected

    with SessionView(f"starting {entry.name}") as view, connected(entry, view, deadline=deadline) as session:
        peer = session.peer
        found = session.tools()
    info = peer.info if peer else {}
    facts = {"server": info, "version": peer.version if peer else "", "tools": len(found)}
    return (
        facts,
        f": {info.get('name', 'unnamed')} {info.get('version', '')}".rstrip() + f", {counted(len(found), 'tool')}",
    )


def warn_of_secrets(entry: Mapping[str, Any]) -> None:
    """Say where in an entry a secret stands that could be a reference."""
    from gaia_mcp.hosts.masking import plain_secrets

    for place in plain_secrets(entry):
        kind, _, name = place.partition(" ")
        if kind == "env":
            instead = f"--env {name} alone would store a reference to the variable instead"
            remark(f"{name} is stored as plain text; {instead}")
        else:
            what = f"the header {name}" if name else f"what {place!r} holds"
            remark(f"{what} is stored as plain text; a reference such as ${{TOKEN}} can stand there instead")


def _object(held: Any) -> dict[str, Any]:
    return held if isinstance(held, dict) else {}


def _split(name: str, words: list[str]) -> list[str]:
    if len(words) > 1 or not any(character.isspace() for character in words[0]):
        return words
    import shutil

    from gaia_mcp.client.transports.stdio.command_line import split_command_line

    # A program whose path has a space in it is no command line.
    return words if shutil.which(words[0]) else split_command_line(name, words[0])

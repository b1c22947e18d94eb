"""`gaia mcp init`: write an example of an agent or a handler."""

from __future__ import annotations

import os
import shlex
from pathlib import Path
from typing import Annotated

import typer

from gaia_mcp.cli.completion.file_names import files
from gaia_mcp.cli.lines import to_type
from gaia_mcp.cli.options import JSON
from gaia_mcp.cli.screen.output import done
from gaia_mcp.cli.status import UsageError
from gaia_mcp.cli.templates import AGENT, HANDLER, server_name

FileArgument = Annotated[
    Path | None,
    typer.Argument(
        metavar="[FILE]",
        help="The Python file. Default: agent.py, or example_handler.py.",
        autocompletion=files,
        show_default=False,
    ),
]
HandlerOption = Annotated[bool, typer.Option("--handler", help="Write a handler instead of an agent.")]
ForceOption = Annotated[bool, typer.Option("--force", help="Replace the file if it exists.")]

COMMON = (JSON,)


def init(file: FileArgument = None, handler: HandlerOption = False, force: ForceOption = False) -> None:
    """Write a Python file with an agent or a handler that has one tool.

    It runs as it is, and prints what to type next. Nothing is replaced without --force. An agent's tools are its
    methods; a handler lists its tools and connects to what they need, with settings from its entry.

    Example: gaia mcp init notes.py
    """
    from gaia_mcp.errors import ConfigFileError
    from gaia_mcp.paths import shown
    from gaia_mcp.storage.output_files import put_file, put_new_file

    template = HANDLER if handler else AGENT
    kind = ("--handler",) if handler else ()
    path = file or Path(template.file)
    if os.path.isdir(path):  # noqa: PTH112 (never raises)
        path /= template.file
    if path.suffix not in ("", ".py"):
        hint = f"name a Python file: {to_type('init', *kind, str(path.with_suffix('.py')))}"
        raise UsageError(f"{path.name!r} is not the name of a Python file", hint=hint)
    path = template.path(path)
    try:
        (put_file if force else put_new_file)(path, template.content(path))
    except FileExistsError as cause:
        hint = f"choose another name, or replace it: {to_type('init', *kind, str(path), more='--force')}"
        raise ConfigFileError(path, "exists already", hint=hint) from cause
    except FileNotFoundError as cause:
        hint = f"make the folder first: mkdir -p {shlex.quote(str(path.parent))}"
        raise ConfigFileError(path, "is in a folder that does not exist", hint=hint) from cause
    except OSError as cause:
        raise ConfigFileError(path, f"cannot be written: {cause.strerror}", hint="choose another place") from cause
    target = shlex.quote(str(path) if path.is_absolute() else f"./{path}")
    following = [
        to_type("call", more=f"{target} greet name=Ada"),
        to_type("add", server_name(path), more=target),
    ]
    lines = [f"wrote {shown(path)}; call its tool, and save it under a name:", *(f"  {line}" for line in following)]
    done("\n".join(lines), path=str(path.absolute()), next=following)

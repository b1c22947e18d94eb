"""The options that every command has, said once."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gaia_mcp.cli.completion.file_names import folder_names
from gaia_mcp.cli.completion.sources import server_names

if TYPE_CHECKING:
    from gaia_mcp.deadline import Deadline

# A slip of the finger; no build and no person waits that long.
MAX_TIMEOUT_SECONDS = 86_400.0


def a_number(seconds: float | None) -> float | None:
    """`seconds`, unless it is the one number that no range refuses."""
    if seconds is not None and math.isnan(seconds):
        raise typer.BadParameter("nan is no number of seconds.")
    return seconds


ConfigOption = Annotated[
    Path | None,
    typer.Option("--config", metavar="PATH", help="Use this file of servers, and no project's.", show_default=False),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print the answer as JSON.")]
# `guarded` gives it to every command that has `--json`.
QuietOption = Annotated[bool, typer.Option("--quiet", help="Say nothing but the answer and errors.")]
TimeoutOption = Annotated[
    float | None,
    typer.Option(
        "--timeout",
        metavar="SECONDS",
        min=0.01,
        max=MAX_TIMEOUT_SECONDS,
        callback=a_number,
        help="Ask for no longer than this, all steps together. Default: 30, or what the entry says, for each request.",
        show_default=False,
    ),
]
ServerArgument = Annotated[str, typer.Argument(metavar="NAME", help="The server.", autocompletion=server_names)]
OutputOption = Annotated[
    Path | None,
    typer.Option(
        "--output-dir",
        metavar="DIR",
        help="Where images, sound and other files go. Default: the working folder.",
        autocompletion=folder_names,
    ),
]
DebugOption = Annotated[bool, typer.Option("--debug", help="Show tracebacks and what servers write to stderr.")]


def within(timeout: float | None) -> Deadline | None:
    """The one deadline of a command that was given `--timeout`; it begins now, and all servers share it."""
    from gaia_mcp.deadline import Deadline

    return Deadline(timeout) if timeout is not None else None

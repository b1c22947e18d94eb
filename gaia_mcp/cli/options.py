"""The options that every command has, said once."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from gaia_mcp.deadline import Deadline

ConfigOption = Annotated[
    Path | None,
    typer.Option("--config", metavar="PATH", help="Use this file of servers, and no project's.", show_default=False),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print the answer as JSON.")]
TimeoutOption = Annotated[
    float | None,
    typer.Option(
        "--timeout",
        metavar="SECONDS",
        min=0.01,
        help="Be done within this time, all steps together. Default: 30, or what the entry says, for each request.",
        show_default=False,
    ),
]
DebugOption = Annotated[bool, typer.Option("--debug", help="Show tracebacks and what servers write to stderr.")]


def within(timeout: float | None) -> Deadline | None:
    """The one deadline of a command that was given `--timeout`; it begins now, and all servers share it."""
    from gaia_mcp.deadline import Deadline

    return Deadline(timeout) if timeout is not None else None

"""The options that every command has, said once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

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

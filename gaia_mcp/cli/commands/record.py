"""`gaia mcp record`: stand between a client and a server, and write down what they say to each other."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import Annotated

import typer

from gaia_mcp.cli.options import CONFIG, Invocation, ServerArgument
from gaia_mcp.cli.screen.output import remark
from gaia_mcp.cli.screen.terminal import on_terminal
from gaia_mcp.cli.status import ExitStatus

ToOption = Annotated[Path, typer.Option("--to", metavar="FILE", help="Write here, below what is recorded already.")]

COMMON = (CONFIG,)


def record(invocation: Invocation, name: ServerArgument, to: ToOption) -> None:
    """Record what a client and a server say to each other.

    It is started in the server's place, by any client, starts the server itself, and passes everything on. Each time
    it adds a conversation to FILE, for `gaia mcp replay`. The secrets in the server's own entry are left out; whatever
    else is said is in the file, which only you can read.

    To record what `gaia mcp call` does: gaia mcp add recorded -- gaia mcp record time --to time.jsonl

    Example: gaia mcp record time --to time.jsonl
    """
    from gaia_mcp.server.stdio.descriptors import GuardedPipes
    from gaia_mcp.session.prestart import prestarted
    from gaia_mcp.session.recorder import Recording, Relay

    entry = invocation.open_store().entry(name)
    recording = Recording(to, name, remark)
    if on_terminal(sys.stdin):
        remark(f"recording {name} with whoever speaks MCP on standard input; Ctrl-C ends it")
    pipes = GuardedPipes()
    with prestarted(entry, "record", _pass_stderr) as server:
        recording.secrets = server.secrets
        status = Relay(pipes, server.child, recording).run()
    if status or recording.problem:
        raise typer.Exit(status or ExitStatus.FAILURE)


def _pass_stderr(text: bytes) -> None:
    """Pass on to our own stderr what the server has written to its stderr."""
    with suppress(OSError):  # It has been closed.
        os.write(2, text)

"""`gaia mcp record`: relay the messages between a client and a server, and record them."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import Annotated

import typer

from gaia_mcp.cli.invocation import Invocation
from gaia_mcp.cli.options import CONFIG, HEADER, OnlyServerArgument
from gaia_mcp.cli.screen import on_terminal
from gaia_mcp.cli.status import ExitStatus
from gaia_mcp.cli.typer_command import ServerCommand

ToOption = Annotated[Path, typer.Option("--to", metavar="FILE", help="Append the recording to this file.")]

SETTINGS = {"cls": ServerCommand}

COMMON = (HEADER, CONFIG)


def record(invocation: Invocation, words: OnlyServerArgument, to: ToOption) -> None:
    """Record the messages between a client and a server.

    Any client starts this command in place of the server. It starts the server itself, and relays every message. Each
    run appends a conversation to FILE, for `gaia mcp replay`. The secrets in the server's entry are left out; all other
    content is in the file, which only you can read.

    To record what `gaia mcp call` does: gaia mcp add recorded -- gaia mcp record time --to time.jsonl

    Example: gaia mcp record time --to time.jsonl
    """
    from gaia_mcp.fleet.recorder import Recording, Relay
    from gaia_mcp.fleet.server_process import prestarted
    from gaia_mcp.server.stdio import GuardedPipes

    entry = invocation.only_server(words)
    recording = Recording(to, entry.name, invocation.screen.remark)
    if on_terminal(sys.stdin):
        invocation.screen.remark(f"recording {entry.name} for the MCP client on standard input; Ctrl-C ends it")
    pipes = GuardedPipes()
    with prestarted(entry, "record", _pass_stderr) as server:
        recording.masker = server.masker
        status = Relay(pipes, server.child, recording).run()
    if status or recording.problem:
        raise typer.Exit(status or ExitStatus.FAILURE)


def _pass_stderr(text: bytes) -> None:
    with suppress(OSError):  # The output is closed.
        os.write(2, text)

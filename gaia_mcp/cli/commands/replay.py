"""`gaia mcp replay`: serve a recorded conversation, for tests without the real server."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gaia_mcp.cli.invocation import Invocation
from gaia_mcp.cli.screen import on_terminal
from gaia_mcp.cli.status import ExitStatus

if TYPE_CHECKING:
    from gaia_mcp.server.stdio import GuardedPipes

FileArgument = Annotated[Path, typer.Argument(metavar="FILE", help="A file of `gaia mcp record`.", show_default=False)]


def replay(invocation: Invocation, file: FileArgument) -> None:
    """Serve a recorded conversation over stdio.

    Answers every request as it was answered then. A request is known by its method and its arguments; its recorded
    responses are given in their order, and the last one is repeated. If FILE holds several conversations, the latest
    with such a request counts. Progress, log messages and the server's requests come as recorded. The response to any
    other request is an error that lists what was recorded.

    Example: gaia mcp replay time.jsonl
    """
    screen = invocation.screen
    from contextlib import suppress
    from threading import Thread

    from gaia_mcp.core.errors import ConfigFileError, MCPError
    from gaia_mcp.protocol.framing import MAX_RECORD_BYTES, LineBuffer, RecordTooLongError
    from gaia_mcp.recordings import Player, TranscriptError, read_transcripts
    from gaia_mcp.server.stdio import GuardedPipes
    from gaia_mcp.storage.atomic import read_bytes

    data = read_bytes(file, MAX_RECORD_BYTES, may_be_pipe=True)
    if data is None:
        raise ConfigFileError(file, "does not exist", hint="check the path")
    try:
        transcripts, is_cut = read_transcripts(data)
    except TranscriptError as cause:
        hint = f"record one with: {screen.line.to_type('record', more='NAME --to FILE')}"
        raise ConfigFileError(file, str(cause), line=cause.line, column=1, hint=hint) from cause
    if is_cut:
        screen.remark(f"the last line of {file} is incomplete, and is left out")
    if on_terminal(sys.stdin):
        screen.remark(f"replaying {transcripts[-1].server} to the MCP client on standard input; Ctrl-C ends it")

    pipes, player, lines = GuardedPipes(), Player(transcripts), LineBuffer()
    Thread(target=_end_if_abandoned, args=(pipes,), daemon=True).start()
    with suppress(BrokenPipeError):  # The client disconnected.
        pipes.write(b"".join(player.prologue()))
        while data := pipes.read():
            try:
                records = lines.feed(data)
            except RecordTooLongError as problem:
                raise MCPError(
                    f"the client wrote {problem}", hint="no message of the recording is that long"
                ) from problem
            for record in records:
                pipes.write(b"".join(player.receive(record)))


def _end_if_abandoned(pipes: GuardedPipes) -> None:
    from gaia_mcp.server.stdio import TAKING_SECONDS

    if pipes.await_abandonment(TAKING_SECONDS):
        os._exit(ExitStatus.DONE)

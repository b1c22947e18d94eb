"""One run of a program to its end: its input written, its output collected, and whatever it started ended with it."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, NamedTuple

from gaia_mcp.agents.hub.overlaying import lay_over
from gaia_mcp.agents.hub.problems import HubError
from gaia_mcp.agents.programs import Collected, drain_stdout, end_program, feed
from gaia_mcp.client.transports.stdio.child import Child
from gaia_mcp.client.transports.stdio.command_line import command_words
from gaia_mcp.client.transports.stdio.environment import child_environment
from gaia_mcp.client.transports.stdio.last_words import last_words
from gaia_mcp.errors import DeadlineError

if TYPE_CHECKING:
    from pathlib import Path

    from gaia_mcp.agents.hub.attending import Attendant
    from gaia_mcp.agents.hub.drivers.base import Invocation
    from gaia_mcp.client.transports.stdio.drain import Drain
    from gaia_mcp.config.command import Command
    from gaia_mcp.deadline import Deadline
    from gaia_mcp.redaction.masker import Masker

# More than any answer, and no harm to the memory of sixteen runs.
MAX_OUTPUT_BYTES = 8 << 20
# Of a longer one only the end is looked at: what an agent does is reported in short ones.
MAX_LINE_BYTES = 1 << 20
# What it wrote before it ended is in the pipes already.
SETTLE_SECONDS = 0.5


class Ran(NamedTuple):
    """How a run ended. `exit_status` is negative for the number of a signal."""

    stdout: bytes
    last_words: str
    exit_status: int


def run_program(
    agent: str,
    command: Command,
    invocation: Invocation,
    *,
    folder: Path,
    on_line: Callable[[bytes], None],
    deadline: Deadline,
    attendant: Attendant,
    masker: Masker,
) -> Ran:
    """Run the program of `command`, which is resolved, once. The process is ended, with all that it started, however
    this returns. `folder` is private to the run. `on_line` is called with each line of its stdout as it comes, in
    another thread, and with the last lines of its stderr if its time runs out.

    Raises `SpawnError`, `DeadlineError`, `EntryError` for an invalid command line, `CallCancelledError`, and `HubError`
    for one that writes too much.
    """
    program, words = command_words(agent, command.command, command.args)
    own = {**command.env, **invocation.environment, **_variables(invocation, folder, {**os.environ, **command.env})}
    environment = child_environment(own, os.environ, inherits_all=command.inherit)
    child = Child(agent, program, [*words, *invocation.arguments], environment=environment, cwd=command.cwd)
    output, lines = Collected(MAX_OUTPUT_BYTES), _Lines(on_line)

    def take(data: bytes) -> None:
        output.take(data)
        if not output.is_flood:
            lines.take(data)

    drain: Drain | None = None
    try:
        child.start()
        drain = drain_stdout(child, agent, take)
        feed(child, agent, invocation.stdin, deadline)
        status = _wait(agent, child, output, attendant)
        drain.settle(SETTLE_SECONDS)
    except DeadlineError:
        # Some report an attempt that failed here alone.
        for line in child.stderr_tail(masker).encode().splitlines():
            on_line(line)
        raise
    finally:
        end_program(child)
        if drain is not None:
            drain.stop(SETTLE_SECONDS)
    return Ran(output.data(), last_words(child.stderr_tail(masker)), status)


def _variables(invocation: Invocation, folder: Path, environ: Mapping[str, str]) -> dict[str, str]:
    """Make the folders that an invocation needs; the variables that name them."""
    found = {}
    if invocation.temporary:
        temporary = folder / "tmp"
        temporary.mkdir(mode=0o700)
        found = dict.fromkeys(invocation.temporary, str(temporary))
    if invocation.overlay is not None:
        lay_over(folder, invocation.overlay, environ)
        found[invocation.overlay.variable] = str(folder)
    return found


class _Lines:
    """The lines of what comes in pieces."""

    def __init__(self, on_line: Callable[[bytes], None]) -> None:
        self._on_line = on_line
        self._line = b""

    def take(self, data: bytes) -> None:
        *lines, self._line = (self._line + data).split(b"\n")
        for line in lines:
            self._on_line(line)
        if len(self._line) > MAX_LINE_BYTES:
            self._line = b""


def _wait(agent: str, child: Child, output: Collected, attendant: Attendant) -> int:
    while (status := child.wait(attendant.pause())) is None:
        if output.is_flood:
            break
        attendant.look()
    if status is None or output.is_flood:
        raise HubError(f"agent {agent!r} wrote more than {MAX_OUTPUT_BYTES >> 20} MiB, and was ended")
    return status

"""Runs a program once: writes its input, collects its output, and ends it with the processes that it started."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from gaia_mcp.agents.hub.entries import HubError
from gaia_mcp.agents.programs import Collected, drain_stdout, end_program, feed
from gaia_mcp.client.transports.stdio.child import Child
from gaia_mcp.client.transports.stdio.command_line import child_environment, command_words
from gaia_mcp.client.transports.stdio.last_words import last_words
from gaia_mcp.errors import DeadlineError
from gaia_mcp.filebytes import read_file
from gaia_mcp.jsontext import TextProblemError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gaia_mcp.agents.hub.drivers.base import Invocation, Overlay
    from gaia_mcp.agents.hub.entries import Attendant
    from gaia_mcp.client.transports.stdio.input_pipe import Drain
    from gaia_mcp.config.command import Command
    from gaia_mcp.deadline import Deadline
    from gaia_mcp.redaction.masker import Masker

# More than any answer, and small enough for the memory of sixteen runs.
MAX_OUTPUT_BYTES = 8 << 20
# Only the end of a longer line is read, since agents report progress in short lines.
MAX_LINE_BYTES = 1 << 20
# Output written before the program ended is already in the pipes.
SETTLE_SECONDS = 0.5


class Ran(NamedTuple):
    """The result of a run. `exit_status` is the negative signal number if a signal ended it."""

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
    """Run the program of `command`, which is resolved, once. The program and the processes that it started have ended
    on return and on every exception. `folder` is private to the run. `on_line` is called with each line of stdout as it
    arrives, in another thread, and with the last lines of stderr if the deadline expires.

    Raises `SpawnError`, `DeadlineError`, `EntryError` for an invalid command line, `CallCancelledError`, and `HubError`
    if the program writes too much.
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
        # Some agents report a failed attempt only on stderr.
        for line in child.stderr_tail(masker).encode().splitlines():
            on_line(line)
        raise
    finally:
        end_program(child)
        if drain is not None:
            drain.stop(SETTLE_SECONDS)
    return Ran(output.data(), last_words(child.stderr_tail(masker)), status)


def _variables(invocation: Invocation, folder: Path, environ: Mapping[str, str]) -> dict[str, str]:
    """Create the folders that an invocation needs. Returns the variables that contain their paths."""
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
    """Splits chunks of output into lines."""

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


# More than a settings file written by hand.
MAX_SETTINGS_BYTES = 4 << 20


def lay_over(home: Path, overlay: Overlay, environ: Mapping[str, str]) -> None:
    """Create the folder of `overlay` in the new home `home`, as a replacement for that of the home in `environ`."""
    # Not `Path.home`, which raises for a user without a home folder.
    original = Path(environ.get(overlay.variable) or os.path.expanduser("~"), overlay.folder)  # noqa: PTH111
    folder = home / overlay.folder
    folder.mkdir(mode=0o700, parents=True)
    with contextlib.suppress(OSError):  # The user has no such folder.
        for path in original.iterdir():
            if path.name != overlay.file:
                (folder / path.name).symlink_to(path.absolute())
    members = {**_members_of(original / overlay.file), **overlay.members}
    for names, items in overlay.added.items():
        members = _with_items(members, names, items)
    (folder / overlay.file).write_text(json.dumps(members), "utf-8")


def _with_items(value: Any, names: Sequence[str], items: Sequence[Any]) -> Any:
    """`value` with `items` at the end of the list at the path of `names`, in place of what cannot hold them."""
    if not names:
        return [*(value if isinstance(value, list) else ()), *items]
    held = value if isinstance(value, dict) else {}
    return {**held, names[0]: _with_items(held.get(names[0]), names[1:], items)}


def _members_of(path: Path) -> dict[str, Any]:
    """The members of a JSON object in a file that may have comments; empty if it cannot be read."""
    from gaia_mcp.hosts.documents import parsed

    try:
        value = parsed(read_file(path, MAX_SETTINGS_BYTES).decode("utf-8", "replace"), "json")
    except (OSError, TextProblemError):
        return {}
    return value if isinstance(value, dict) else {}

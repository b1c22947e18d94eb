"""`gaia mcp logs`: print a server's stderr from its last runs, run by run, or the log of the keeper."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gaia_mcp.cli.invocation import Invocation
from gaia_mcp.cli.options import CONFIG, JSON, OptionalServerArgument
from gaia_mcp.cli.screen.output import counted
from gaia_mcp.cli.status import UsageError
from gaia_mcp.cli.typer_command import ServerCommand
from gaia_mcp.core.files import open_file
from gaia_mcp.text import clean

if TYPE_CHECKING:
    from pathlib import Path

    from gaia_mcp.cli.screen.output import Screen
    from gaia_mcp.storage.run_logs import Run, RunLogs

RunsOption = Annotated[
    int | None,
    typer.Option(
        "--runs",
        metavar="N",
        min=0,
        help="Show only the last N runs. Default: all that are stored.",
        show_default=False,
    ),
]
FollowOption = Annotated[bool, typer.Option("--follow", "-f", help="Keep printing new output.")]
ClearOption = Annotated[bool, typer.Option("--clear", help="Delete the stored logs.")]
KeeperOption = Annotated[bool, typer.Option("--keeper", help="Show the log of the process that holds servers.")]

# As fast as a person reads a new line, and rarely enough to cost almost no processor time.
POLL_SECONDS = 0.2

SETTINGS = {"cls": ServerCommand}

COMMON = (CONFIG, JSON)


def logs(
    invocation: Invocation,
    words: OptionalServerArgument = None,
    runs: RunsOption = None,
    follow: FollowOption = False,
    clear: ClearOption = False,
    keeper: KeeperOption = False,
) -> None:
    """Show what a server wrote to stderr.

    Prints its last ten runs that wrote anything, the newest last; of each at most the last megabyte, without the
    server's secrets. --follow ends with Ctrl-C, and with --json prints an object on each line. --keeper shows the log
    of the process that holds servers for `up`, in place of a server's.

    Example: gaia mcp logs time --runs 1
    """
    screen = invocation.screen
    if keeper:
        if words or runs is not None:
            problem = "a server is named" if words else "--runs is about a server"
            raise UsageError(f"--keeper shows the log of the keeper, and {problem}", hint="leave out one of the two")
        _show_keeper(screen, follow=follow, clear=clear)
        return
    if not words:
        raise UsageError("missing argument 'NAME'", hint=f"see: {screen.line.to_type('logs', '--help')}")
    name, kept = _kept(invocation, words)
    if clear:
        count = kept.clear()
        screen.done(f"deleted {counted(count, 'run')} of {name!r}", cleared=count, name=name)
        return
    chosen = kept.runs()
    if not chosen:
        how = screen.line.to_type("test-client", name)
        screen.remark(f"no logs are stored: {name!r} has not run, or wrote nothing; run it with: {how}")
    chosen = chosen[-runs:] if runs else [] if runs == 0 else chosen
    if screen.as_json and not follow:
        screen.print_json({"name": name, "runs": [as_object(run) for run in chosen]})
        return
    printer = RunPrinter(screen)
    for run in kept.runs() if follow else ():
        if run not in chosen:
            printer.skip(run)
    for run in chosen:
        printer.show(run)
    if follow:
        _follow(screen, kept, printer)


def _show_keeper(screen: Screen, *, follow: bool, clear: bool) -> None:
    from gaia_mcp.cli.keeping import log_path

    path = log_path()
    if clear:
        has_log = bool(_size(path))
        if has_log:
            # Emptied: a keeper may have it open.
            os.truncate(path, 0)
        screen.done("deleted the log of the keeper", cleared=int(has_log), path=str(path))
        return
    shown, data = 0, _read_from(path, 0)
    if not data:
        how = screen.line.to_type("up", more="NAME")
        screen.remark(f"no log is stored: no server has been held; hold one with: {how}")
    if screen.as_json and not follow:
        screen.print_json({"path": str(path), "text": _text(data)})
        return
    while True:
        if data:
            shown += len(data)
            if screen.as_json:
                screen.print_event({"text": _text(data)})
            else:
                screen.print_line(_text(data).removesuffix("\n"))
        if not (follow and screen.is_read()):
            return
        time.sleep(POLL_SECONDS)
        if _size(path) < shown:
            shown = 0  # It has been cut, or cleared.
        data = _read_from(path, shown)


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


def _text(data: bytes) -> str:
    return clean(data.decode("utf-8", "replace"))


def _read_from(path: Path, start: int) -> bytes:
    """The whole lines of a log from this byte on; empty if there is no log."""
    try:
        with open_file(path) as file:
            file.seek(start)
            data = file.read()
    except OSError:
        return b""
    return data[: data.rfind(b"\n") + 1]


def _kept(invocation: Invocation, words: list[str]) -> tuple[str, RunLogs]:
    """The name of a server, and its logs. A server that is not configured has logs if `add` could not connect to it.

    Raises as `Invocation.only_server` does.
    """
    from gaia_mcp.core.paths import log_folder
    from gaia_mcp.storage.run_logs import RunLogs

    store = invocation.open_store_for(invocation.typed(words), may_be_new=True)
    name = words[0]
    if len(words) == 1:
        kept = RunLogs(log_folder(), name, store.source_of(name))
        if name in store.names() or kept.runs():
            return name, kept
    entry = invocation.only_server(words, store)
    return entry.name, RunLogs(log_folder(), entry.key, entry.source)


def _follow(screen: Screen, kept: RunLogs, printer: RunPrinter) -> None:
    while screen.is_read():
        time.sleep(POLL_SECONDS)
        for run in kept.runs():
            printer.show(run)


class RunPrinter:
    """Prints the part of each run's log that was not printed yet."""

    def __init__(self, screen: Screen) -> None:
        self._screen = screen
        # The number of bytes read from each run's log, from its beginning, and the file's size and time at that moment.
        self._seen: dict[tuple[object, ...], int] = {}
        self._stamps: dict[tuple[object, ...], tuple[int, int]] = {}
        self._ended: set[tuple[object, ...]] = set()
        self._last: tuple[object, ...] | None = None

    def skip(self, run: Run) -> None:
        """Treat the current content of a run's log as printed."""
        self._take(run)
        if run.status is not None:
            self._ended.add(_key(run))

    def show(self, run: Run) -> None:
        """Print the new part of a run's log, with a header if the previous output was from another run."""
        key = _key(run)
        is_new = key not in self._seen
        cut, text = self._take(run)
        has_ended = run.status is not None and key not in self._ended
        if has_ended:
            self._ended.add(key)
        if not text and not cut and not has_ended:
            return
        if self._screen.as_json:
            self._screen.print_event({**_facts(run), "cut": cut, "text": text})
            return
        if key != self._last or (has_ended and not is_new):
            self._screen.print_line(("\n" if self._last not in (None, key) else "") + _header(run))
        self._last = key
        if cut:
            self._screen.print_line(f"[{cut} bytes before this were not kept]")
        if text:
            self._screen.print_line(text.removesuffix("\n"))

    def _take(self, run: Run) -> tuple[int, str]:
        """The number of dropped bytes before the new text, and the new text."""
        key = _key(run)
        before = self._seen.get(key, 0)
        try:
            status = run.path.stat()
            if self._stamps.get(key) == (status.st_size, status.st_mtime_ns):
                return 0, ""
            cut, data = run.read()
        except OSError:
            return 0, ""  # The file is being renamed; the next call reads it.
        self._stamps[key] = (status.st_size, status.st_mtime_ns)
        self._seen[key] = cut + len(data)
        return max(0, cut - before), data[max(0, before - cut) :].decode("utf-8", "replace")


def _key(run: Run) -> tuple[object, ...]:
    return run.began, run.pid, run.command


def as_object(run: Run) -> dict[str, Any]:
    """A run and the text of its log in their JSON form."""
    try:
        cut, data = run.read()
    except OSError:
        cut, data = 0, b""  # The file was deleted in the meantime.
    return {**_facts(run), "cut": cut, "text": data.decode("utf-8", "replace")}


def _facts(run: Run) -> dict[str, Any]:
    return {"began": run.began.isoformat(), "command": run.command, "pid": run.pid, "status": run.status}


def _header(run: Run) -> str:
    from gaia_mcp.core.errors.requests import exit_in_words

    ended = "" if run.status is None else f"; the server {exit_in_words(run.status)}"
    return f"[{run.began.astimezone():%Y-%m-%d %H:%M:%S}  {run.command}, run by process {run.pid}{ended}]"

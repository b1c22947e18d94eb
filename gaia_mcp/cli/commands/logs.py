"""`gaia mcp logs`: what a server wrote to stderr in its last runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from gaia_mcp.cli.options import CONFIG, JSON, Invocation, ServerArgument
from gaia_mcp.cli.screen.output import Form, done, is_read, remark, say, say_event, say_json
from gaia_mcp.names import typeable

if TYPE_CHECKING:
    from gaia_mcp.config.store import ConfigStore
    from gaia_mcp.storage.run_logs import Run, RunLogs

RunsOption = Annotated[
    int | None,
    typer.Option("--runs", metavar="N", min=0, help="Only the last N runs. Default: all kept.", show_default=False),
]
FollowOption = Annotated[bool, typer.Option("--follow", "-f", help="Go on with what is written from now on.")]
ClearOption = Annotated[bool, typer.Option("--clear", help="Forget what was kept.")]

# As fast as a person reads a new line, and too seldom to be felt by the machine.
POLL_SECONDS = 0.2

COMMON = (CONFIG, JSON)


def logs(
    invocation: Invocation,
    name: ServerArgument,
    runs: RunsOption = None,
    follow: FollowOption = False,
    clear: ClearOption = False,
) -> None:
    """Show what a server wrote to stderr.

    Of its last ten runs that wrote anything, the newest last; of each at most the last megabyte, without the server's
    secrets. --follow ends with Ctrl-C, and with --json prints an object on each line.

    Example: gaia mcp logs time --runs 1
    """

    kept = _kept(invocation.open_store(may_be_new=True), name)
    if clear:
        count = kept.clear()
        done(f"forgot {count} run{'' if count == 1 else 's'} of {name!r}", cleared=count, name=name)
        return
    chosen = kept.runs()
    if not chosen:
        how = f"gaia mcp test-client {typeable(name)}"
        remark(f"nothing was kept: {name!r} has not run, or wrote nothing; run it with: {how}")
    chosen = chosen[-runs:] if runs else [] if runs == 0 else chosen
    if invocation.as_json and not follow:
        say_json({"name": name, "runs": [{**_facts(run), **_text(run)} for run in chosen]})
        return
    reader = _Reader()
    for run in kept.runs() if follow else ():
        if run not in chosen:
            reader.skip(run)
    for run in chosen:
        reader.show(run)
    if follow:
        _follow(kept, reader)


def _kept(store: ConfigStore, name: str) -> RunLogs:
    """The logs of a server that is configured, or of which there are some: `add` keeps them of one that it refuses."""
    from gaia_mcp.paths import log_folder
    from gaia_mcp.storage.run_logs import RunLogs

    kept = RunLogs(log_folder(), name, store.source_of(name))
    if not kept.runs() and name not in store.names():
        store.entry(name)  # Says so.
    return kept


def _follow(kept: RunLogs, reader: _Reader) -> None:
    import time

    while is_read():
        time.sleep(POLL_SECONDS)
        for run in kept.runs():
            reader.show(run)


class _Reader:
    """Prints what it has not printed yet of runs that go on."""

    def __init__(self) -> None:
        # How much of each is known, in bytes since its beginning, and what its file looked like then.
        self._seen: dict[tuple[object, ...], int] = {}
        self._stamps: dict[tuple[object, ...], tuple[int, int]] = {}
        self._ended: set[tuple[object, ...]] = set()
        self._last: tuple[object, ...] | None = None

    def skip(self, run: Run) -> None:
        """Take what there is of a run as printed."""
        self._take(run)
        if run.status is not None:
            self._ended.add(_key(run))

    def show(self, run: Run) -> None:
        """Print what is new of a run, with a line that says which it is where that has changed."""
        key = _key(run)
        is_new = key not in self._seen
        cut, text = self._take(run)
        has_ended = run.status is not None and key not in self._ended
        if has_ended:
            self._ended.add(key)
        if not text and not cut and not has_ended:
            return
        if Form.as_json:
            say_event({**_facts(run), "cut": cut, "text": text})
            return
        if key != self._last or (has_ended and not is_new):
            say(("\n" if self._last not in (None, key) else "") + _header(run))
        self._last = key
        if cut:
            say(f"[{cut} bytes before this were not kept]")
        if text:
            say(text.removesuffix("\n"))

    def _take(self, run: Run) -> tuple[int, str]:
        """How many bytes are missing before what is new, and that."""
        key = _key(run)
        before = self._seen.get(key, 0)
        try:
            status = run.path.stat()
            if self._stamps.get(key) == (status.st_size, status.st_mtime_ns):
                return 0, ""
            cut, data = run.read()
        except OSError:
            return 0, ""  # It has been renamed this very moment: the next time, then.
        self._stamps[key] = (status.st_size, status.st_mtime_ns)
        self._seen[key] = cut + len(data)
        return max(0, cut - before), data[max(0, before - cut) :].decode("utf-8", "replace")


def _key(run: Run) -> tuple[object, ...]:
    return run.began, run.pid, run.command


def _facts(run: Run) -> dict[str, Any]:
    return {"began": run.began.isoformat(), "command": run.command, "pid": run.pid, "status": run.status}


def _text(run: Run) -> dict[str, Any]:
    try:
        cut, data = run.read()
    except OSError:
        return {"cut": 0, "text": ""}  # Forgotten meanwhile.
    return {"cut": cut, "text": data.decode("utf-8", "replace")}


def _header(run: Run) -> str:
    status = run.status
    ended = "" if status is None else f", exit status {status}" if status >= 0 else f", ended by signal {-status}"
    return f"[{run.began.astimezone():%Y-%m-%d %H:%M:%S}  {run.command}, process {run.pid}{ended}]"

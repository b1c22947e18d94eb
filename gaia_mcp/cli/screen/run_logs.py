"""Prints servers' stderr logs run by run, for `gaia mcp logs`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gaia_mcp.cli.screen.output import Form, print_event, print_line
from gaia_mcp.errors.connection import exit_in_words

if TYPE_CHECKING:
    from gaia_mcp.storage.run_logs import Run


class RunPrinter:
    """Prints the part of each run's log that was not printed yet."""

    def __init__(self) -> None:
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
        if Form.as_json:
            print_event({**_facts(run), "cut": cut, "text": text})
            return
        if key != self._last or (has_ended and not is_new):
            print_line(("\n" if self._last not in (None, key) else "") + _header(run))
        self._last = key
        if cut:
            print_line(f"[{cut} bytes before this were not kept]")
        if text:
            print_line(text.removesuffix("\n"))

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
    ended = "" if run.status is None else f"; the server {exit_in_words(run.status)}"
    return f"[{run.began.astimezone():%Y-%m-%d %H:%M:%S}  {run.command}, run by process {run.pid}{ended}]"

"""Stderr logs of servers: one file for each run of a server that wrote anything.

A run is one server in one command. The file name contains the start time, the command, the process id and the server's
exit status; the content is only the log, without secrets and control characters. No failure here is fatal: a log that
cannot be written is dropped.
"""

from __future__ import annotations

import contextlib
import os
import re
import threading
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import quote

from gaia_mcp.core.errors import ConfigFileError, MCPError
from gaia_mcp.core.files import open_file, read_file
from gaia_mcp.storage import UNLOCKED_SECONDS, make_room, remove_left_over
from gaia_mcp.text import clean
from gaia_mcp.text.redaction.masker import MaskedLines, Masker

if TYPE_CHECKING:
    from collections.abc import Callable


# The runs of today, not of last year.
KEPT_RUNS = 10
# A longer log is cut at its beginning: the reason of a failure is at its end. A day of ordinary logging fits.
KEPT_BYTES = 1_000_000

_BEGIN_OF_NAME = r"(?P<began>\d{8}T\d{12})Z-(?P<pid>\d+)-(?P<command>[a-z-]*)"
_NAME = re.compile(rf"{_BEGIN_OF_NAME}(?:\.(?P<status>-?\d+))?\.log")
_BEGAN = "%Y%m%dT%H%M%S%f"
_CUT = re.compile(rb"\[(\d+) bytes before this were not kept\]\n")
# The largest size of a running log: the kept part, and the last chunk, which escaping has made longer.
_MOST_BYTES = 16 * KEPT_BYTES
# Room for any number of bytes.
_CUT_BYTES = 64


class Run(NamedTuple):
    """One run of a server, read from its file name. `status` is None while it runs, and if its end was not recorded."""

    path: Path
    began: datetime
    pid: int
    command: str
    status: int | None

    def read(self) -> tuple[int, bytes]:
        """The number of bytes cut at the beginning, and the rest. Raises `OSError`."""
        with open_file(self.path) as file:
            cut = _CUT.match(file.read(_CUT_BYTES))
            begin = cut.end() if cut else 0
            # Another program may have made the file longer than our limit.
            start = max(begin, file.seek(0, os.SEEK_END) - KEPT_BYTES)
            file.seek(start)
            return (int(cut[1]) if cut else 0) + start - begin, file.read(KEPT_BYTES)


class RunLogs:
    """The logs, under `folder`, of the server `name` that is configured in the file `source`. For a server that is in
    no file, `name` is its key.
    """

    def __init__(self, folder: Path, name: str, source: Path | None) -> None:
        # Two projects may each have a server of this name. A long name is cut to the limit of file systems.
        import hashlib

        origin = hashlib.sha256(os.fsencode(source.absolute() if source is not None else "")).hexdigest()[:8]
        self.folder = folder / f"{quote(name, safe='')[:200]}-{origin}"

    def runs(self) -> list[Run]:
        """The stored runs, the newest last. Only regular files: a pipe would block its reader."""
        try:
            names = sorted(os.listdir(self.folder))  # noqa: PTH208 (a path for each of many strange files takes long)
        except OSError:
            return []
        found = [_run(self.folder, name) for name in names]
        return [run for run in found if run is not None and os.path.isfile(run.path)]  # noqa: PTH113 (never raises)

    def clear(self) -> int:
        """Remove all runs. Returns their number. Raises `ConfigFileError` for a file that cannot be removed."""
        count = len(self.runs())
        left: OSError | None = None
        try:
            for path in self.folder.iterdir():
                try:
                    path.unlink(missing_ok=True)
                except OSError as cause:
                    left = left or cause
            self.folder.rmdir()
        except FileNotFoundError:
            pass
        except OSError as cause:
            left = left or cause
        if left is not None:
            hint = "remove it by hand"
            raise ConfigFileError(Path(left.filename), f"cannot be removed: {left.strerror}", hint=hint) from left
        return count

    def move_to(self, other: RunLogs) -> None:
        """Move the logs to those of a renamed server, if possible."""
        with contextlib.suppress(OSError):
            self.folder.rename(other.folder)


def _run(folder: Path, name: str) -> Run | None:
    """The run whose file has this name, None for any other file."""
    match = _NAME.fullmatch(name)
    if match is None:
        return None
    try:
        began = datetime.strptime(match["began"], _BEGAN).replace(tzinfo=UTC)
    except ValueError:  # Digits, but not a date.
        return None
    status = int(match["status"]) if match["status"] else None
    return Run(folder / name, began, int(match["pid"]), match["command"], status)


class RunLog:
    """Writes the log of one run to `logs()`, from the first byte on, masked.

    May be used from several threads.
    """

    def __init__(
        self,
        logs: Callable[[], RunLogs],
        command: str,
        masker: Callable[[], Masker],
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._logs = logs
        self._command = command
        self._now = now
        self._path: Path | None = None
        self._lines = MaskedLines(masker)
        self._size = 0
        self._cut = 0
        self._is_over = False
        self._lock = threading.Lock()

    def hear(self, data: bytes) -> None:
        """The server has written `data`."""
        with self._lock:
            if text := self._lines.feed(data):
                self._write(text)

    def end(self, status: int | None) -> None:
        """The server has ended. Nothing more is written."""
        with self._lock:
            if text := self._lines.rest():
                self._write(text + b"\n")
            path, self._path, self._is_over = self._path, None, True
        if path is not None and status is not None:
            with contextlib.suppress(OSError):
                path.rename(path.with_name(f"{path.name.removesuffix('.log')}.{status}.log"))

    def _write(self, data: bytes) -> None:
        if self._is_over:
            return
        written = clean(data.decode("utf-8", "replace")).encode()
        try:
            try:
                path = self._append(written)
            except FileNotFoundError:
                # Cleared meanwhile, or removed as the oldest of many: the rest is written to a new file.
                self._path = None
                path = self._append(written)
            self._size += len(written)
            if self._size > KEPT_BYTES:
                self._shorten(path)
        except (ImportError, MCPError, MemoryError, OSError):
            self._is_over = True  # A full disk, no memory, or a folder of another user: the server continues.

    def _append(self, data: bytes) -> Path:
        path = self._path or self._begin()
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_APPEND), "ab") as file:
            file.write(data)
        return path

    def _begin(self) -> Path:
        logs = self._logs()
        make_room(logs.folder)
        for folder in (logs.folder.parent, logs.folder):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        for run in logs.runs()[: 1 - KEPT_RUNS]:
            run.path.unlink(missing_ok=True)
        remove_left_over(logs.folder, rf"{_BEGIN_OF_NAME}\.tmp", UNLOCKED_SECONDS)
        path = logs.folder / f"{self._now().strftime(_BEGAN)}Z-{os.getpid()}-{self._command}.log"
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        self._path, self._size, self._cut = path, 0, 0
        return path

    def _shorten(self, path: Path) -> None:
        """Keep the second half, in whole lines if there are any."""
        data = read_file(path, _MOST_BYTES)
        cut = _CUT.match(data)
        text = data[cut.end() if cut else 0 :]
        start = len(text) - KEPT_BYTES // 2
        start = text.find(b"\n", start, -1) + 1 or start
        self._cut += start
        kept = b"[%d bytes before this were not kept]\n" % self._cut + text[start:]
        temporary = path.with_suffix(".tmp")
        try:
            with os.fdopen(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
                file.write(kept)
            temporary.replace(path)
        except BaseException:
            with contextlib.suppress(OSError):
                temporary.unlink()
            raise
        self._size = len(kept)

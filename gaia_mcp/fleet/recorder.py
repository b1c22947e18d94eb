"""Relays a conversation between a client and a server, byte for byte and at once, and records it in a file.

A message is recorded before it is relayed, so a response never precedes its request, and no received message is
missing.
"""

from __future__ import annotations

import os
import stat
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from gaia_mcp.client.transports.stdio.child import CLOSE_GRACE_SECONDS, Child
from gaia_mcp.core.deadline import LONGEST_SECONDS, Deadline
from gaia_mcp.core.errors import ConfigFileError
from gaia_mcp.core.files import read_rest
from gaia_mcp.protocol.framing import MAX_RECORD_BYTES, LineBuffer, RecordTooLongError
from gaia_mcp.recordings import CLIENT, SERVER, TranscriptError, header_line, message_line, read_transcripts
from gaia_mcp.text.redaction.masker import Masker

if TYPE_CHECKING:
    from pathlib import Path

    from gaia_mcp.server.stdio import GuardedPipes

# The output of an exited server is already in its pipe; only a client that does not read takes longer.
LAST_WORDS_SECONDS = 1.0


class Recording:
    """The file that one conversation is appended to, in whole lines only. `on_problem` is called once, with the reason,
    if recording stops. `locks` is false where a lock would also block readers.

    Raises `ConfigFileError` for a file that is not a recording, that cannot be written, or that another process is
    appending to.
    """

    def __init__(
        self, path: Path, server: str, on_problem: Callable[[str], None], *, locks: bool = os.name != "nt"
    ) -> None:
        self.masker: Callable[[], Masker] = Masker
        self.problem = ""
        self._on_problem = on_problem
        self._path = path
        self._locks = locks
        # Held to append a message.
        self._lock = threading.Lock()
        self._began = time.monotonic()
        is_new = not os.path.lexists(path)
        try:
            self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
        except OSError as cause:
            raise ConfigFileError(path, f"cannot be written: {cause.strerror}", case="recording-file") from cause
        try:
            self._size = self._whole_lines()
            self._append(header_line(server, datetime.now(UTC).isoformat(timespec="seconds")))
        except BaseException as cause:
            os.close(self._file)
            if is_new:
                path.unlink(missing_ok=True)
            if isinstance(cause, OSError):
                raise ConfigFileError(path, f"cannot be written: {cause.strerror}", case="recording-file") from cause
            raise

    def said(self, sender: str, record: bytes) -> None:
        """Append a message. A failure is in `problem`; the conversation continues."""
        with self._lock:
            # Taken under the lock, so that times never decrease.
            ms = int((time.monotonic() - self._began) * 1000)
            self._write(message_line(sender, record, ms, self._mask))

    def fail(self, problem: str) -> None:
        """Stop recording."""
        if not self.problem:
            self.problem = problem
            self._on_problem(f"{self._path}: nothing more is recorded: {problem}")

    def _mask(self, value: Any) -> Any:
        return self.masker().value(value)

    def _whole_lines(self) -> int:
        """The size of the file in bytes, without a partial last line."""
        if not stat.S_ISREG(os.fstat(self._file).st_mode):
            raise ConfigFileError(self._path, "is not a regular file", case="recording-file")
        self._keep_others_out()
        try:
            with os.fdopen(os.dup(self._file), "rb", buffering=0) as file:
                data = read_rest(file, MAX_RECORD_BYTES)
        except OSError as cause:
            raise ConfigFileError(self._path, f"cannot be read: {cause.strerror}", case="recording-file") from cause
        if not data:
            return 0
        try:
            read_transcripts(data)
        except TranscriptError as cause:
            problem, line = str(cause), cause.line
            raise ConfigFileError(self._path, problem, line=line, column=1, case="recording-file") from cause
        size = data.rfind(b"\n") + 1
        os.ftruncate(self._file, size)
        return size

    def _keep_others_out(self) -> None:
        if not self._locks:
            return
        import fcntl

        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as cause:
            problem = "is being recorded to by another process"
            raise ConfigFileError(self._path, problem, case="recording-busy") from cause

    def _write(self, line: bytes) -> None:
        if self.problem:
            return
        try:
            self._append(line)
        except OSError as problem:
            self.fail(str(problem.strerror))

    def _append(self, line: bytes) -> None:
        """Append a whole line, or nothing. Raises `OSError`."""
        left = memoryview(line)
        try:
            while left:
                left = left[os.write(self._file, left) :]
            self._size += len(line)
        except OSError:
            with suppress(OSError):
                os.ftruncate(self._file, self._size)
            raise


class Relay:
    """Relays between a client, on our own stdin and stdout, and a server, until one of them ends. After the client's
    end the server has `grace_seconds` to end by itself.
    """

    def __init__(
        self, pipes: GuardedPipes, child: Child, recording: Recording, *, grace_seconds: float = CLOSE_GRACE_SECONDS
    ) -> None:
        self._pipes = pipes
        self._child = child
        self._recording = recording
        self._grace_seconds = grace_seconds
        self._ended = threading.Event()

    def run(self) -> int:
        """The exit status of the server if it exited by itself, 0 if it was stopped. Raises `SpawnError`."""
        self._child.start()
        patience = Deadline(LONGEST_SECONDS)
        heard = self._passing(SERVER, self._child.read, self._pipes.write)
        self._passing(CLIENT, self._pipes.read, lambda data: self._child.write(data, patience))
        self._ended.wait()
        stopped = self._child.stop(self._grace_seconds)
        heard.join(LAST_WORDS_SECONDS)
        if stopped.how in ("on SIGTERM", "on SIGKILL") or stopped.returncode is None:
            return 0
        return stopped.returncode if stopped.returncode >= 0 else 128 - stopped.returncode

    def _passing(self, sender: str, read: Callable[[], bytes], write: Callable[[bytes], None]) -> threading.Thread:
        passing = threading.Thread(target=self._pass, args=(sender, read, write), daemon=True)
        passing.start()
        return passing

    def _pass(self, sender: str, read: Callable[[], bytes], write: Callable[[bytes], None]) -> None:
        lines = LineBuffer()
        try:
            # One of them has ended; the other notices by the end of its input.
            with suppress(OSError):
                while data := read():
                    self._record(sender, lines, data)
                    write(data)
                self._record(sender, lines, b"")
        finally:
            self._ended.set()

    def _record(self, sender: str, lines: LineBuffer, data: bytes) -> None:
        if self._recording.problem:
            return
        try:
            for record in lines.feed(data) if data else lines.finish():
                self._recording.said(sender, record)
        except RecordTooLongError as problem:
            self._recording.fail(f"the {sender} wrote {problem}")

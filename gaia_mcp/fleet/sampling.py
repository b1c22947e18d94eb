"""A program that answers the sampling requests of a server. It is run without a shell.

It reads the request's `params` as JSON from its stdin, and prints the result as JSON, or the text of the message.
"""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import threading
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gaia_mcp.client.transports.stdio.child import Child
from gaia_mcp.client.transports.stdio.exit_reasons import last_words
from gaia_mcp.client.transports.stdio.launch import command_words, find_program
from gaia_mcp.core.deadline import MAX_ENTRY_TIMEOUT_SECONDS, WAIT_SLICE_SECONDS, Deadline
from gaia_mcp.core.errors import SpawnError, UnansweredError
from gaia_mcp.protocol.framing import MAX_RECORD_BYTES
from gaia_mcp.text import one_line
from gaia_mcp.text.strict_json import JSONTextError, parse_json

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gaia_mcp.client.host import Sample

# The name of the program in errors about its process.
_NAME = "sampling program"
# The output of an exited program is already in the pipes.
SETTLE_SECONDS = 0.5


def program_of(line: str) -> list[str]:
    """The program and its arguments in a command line. Raises `EntryError` and `SpawnError`."""
    program, words = command_words(_NAME, line, None)
    return [find_program(_NAME, program, os.environ, None), *words]


class Sampler:
    """Runs the program once for each request, for `seconds` at most. It may print `max_bytes`. `close()` stops running
    programs.
    """

    def __init__(
        self, program: Sequence[str], seconds: float | None = None, *, max_bytes: int = MAX_RECORD_BYTES
    ) -> None:
        self._program = program
        # A large model may take minutes.
        self._seconds = seconds if seconds is not None else MAX_ENTRY_TIMEOUT_SECONDS
        self._max_bytes = max_bytes
        self._lock = threading.Lock()
        self._running: set[Child] = set()
        self._is_closed = False

    def answering(self, server: str) -> Sample:
        """The function that answers the sampling requests of `server`. It raises `UnansweredError`."""
        return partial(self._answer, server)

    def close(self) -> None:
        """Stop all running programs, and start no others. May be called from any thread."""
        with self._lock:
            self._is_closed = True
            running = list(self._running)
        for child in running:
            child.stop(0.0)

    def _answer(self, server: str, params: dict[str, Any]) -> dict[str, Any]:
        try:
            return self._result(self._output(json.dumps(params, ensure_ascii=False).encode()).decode())
        except (_FailedError, SpawnError, UnicodeDecodeError) as problem:
            if isinstance(problem, SpawnError):
                reason = problem.reason
            else:
                reason = str(problem) if isinstance(problem, _FailedError) else "printed text that is not UTF-8"
            told = f"asks a model, and {one_line(shlex.join(self._program), 200)} {one_line(reason, 300)}"
            raise UnansweredError(server, told, params, hint="try the program alone, with {} as its input") from problem

    def _output(self, data: bytes) -> bytes:
        program, *words = self._program
        child = Child(_NAME, program, words, environment=os.environ, cwd=None)
        parts: list[bytes] = []
        deadline = Deadline(self._seconds)
        with self._lock:
            if self._is_closed:
                raise _FailedError("is no longer started")
            self._running.add(child)
        try:
            child.start()
            reader = threading.Thread(target=_read, args=(child, parts), name=f"{_NAME} stdout", daemon=True)
            writer = threading.Thread(target=_write, args=(child, data, deadline), name=f"{_NAME} stdin", daemon=True)
            reader.start()
            writer.start()
            while (status := child.wait(min(deadline.remaining(), WAIT_SLICE_SECONDS))) is None:
                if deadline.expired:
                    raise _FailedError(f"did not end in {self._seconds:g} s")
                if sum(map(len, parts)) > self._max_bytes:
                    raise _FailedError(f"printed more than {self._max_bytes >> 20} MiB")
            reader.join(SETTLE_SECONDS)
        finally:
            child.stop(0.0)
            self._running.discard(child)
        if status:
            told = last_words(child.stderr_tail())
            raise _FailedError(f"ended with status {status}" + (f": {told}" if told else ""))
        return b"".join(parts)

    def _result(self, text: str) -> dict[str, Any]:
        """The result of the request. Raises `_FailedError` for invalid output."""
        message = {"role": "assistant", "model": Path(self._program[0]).name}
        try:
            given = parse_json(text)
        except JSONTextError:
            given = None
        if not isinstance(given, dict):
            if not text.strip():
                raise _FailedError("printed nothing")
            return {**message, "content": {"type": "text", "text": text.rstrip("\r\n")}, "stopReason": "endTurn"}
        if not isinstance(given.get("content"), (dict, list)):
            raise _FailedError("printed JSON without 'content'")
        return {**message, **given}


class _FailedError(Exception):
    """The reason why there is no result, as a predicate of the program."""


def _read(child: Child, parts: list[bytes]) -> None:
    while data := child.read():
        parts.append(data)


def _write(child: Child, data: bytes, deadline: Deadline) -> None:
    # A program that does not read its input may answer all the same.
    with contextlib.suppress(OSError):
        child.write(data, deadline)
    child.close_stdin()

"""Validation in a separate process: the parent, which starts it and waits, and the worker.

The worker reads one line of JSON, `{"schema": TEXT}` with or without a `value`. It prints a line: why the schema cannot
be used, or whether the value is valid; then another line with the errors, which take longer. For
`{"expression": TEXT, "text": TEXT}` it prints whether the expression matches somewhere. It exits when its time is
up and when its parent has ended, even while native code blocks Python: by Python's watchdog timer, and by a signal of
the system.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gaia_mcp.core.deadline import Deadline
from gaia_mcp.toolspec.validation import (
    ExternalReferenceError,
    Schema,
    SchemaCostError,
    SchemaError,
    ValidationError,
    not_checkable,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

# Errors are collected in memory, and there may be billions of them.
MAX_MEMORY_BYTES = 1 << 30
# The variables that Python needs to start. The schema is a stranger's, so the worker gets no others, such as secrets.
_PASSED_ON = ("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "PATH", "SYSTEMROOT")
# A server answers many calls at once. Each worker occupies a processor and that much memory.
_places = threading.BoundedSemaphore(2)


def errors_apart(text: str, value: Any, deadline: Deadline | None, *, seconds: float) -> list[ValidationError]:
    """The validation errors of `value`, as `Schema.errors`, within `seconds`. Raises `SchemaError`,
    `SchemaCostError`.
    """
    try:
        question = json.dumps({"schema": text, "value": value}) + "\n"
    except (TypeError, ValueError, RecursionError) as problem:
        return [not_checkable(problem)]
    return _answer_to(question, deadline, seconds)


def check_apart(text: str, deadline: Deadline | None, *, seconds: float) -> None:
    """Raises `SchemaError` if the schema cannot be used, `SchemaCostError`."""
    _answer_to(json.dumps({"schema": text}) + "\n", deadline, seconds)


def matches_apart(expression: str, text: str, deadline: Deadline | None, *, seconds: float) -> bool:
    """Whether a regular expression matches somewhere in `text`. Raises `SchemaCostError`."""
    question = json.dumps({"expression": expression, "text": text}) + "\n"
    return not _answer_to(question, deadline, seconds)


def work() -> None:
    """The worker: validate the value on stdin."""
    import faulthandler

    faulthandler.dump_traceback_later(float(sys.argv[1]), exit=True)
    _end_with_starter()
    _limit_memory()
    for answer in _answers(json.loads(sys.stdin.readline())) if _has_starter() else ():
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()
    faulthandler.cancel_dump_traceback_later()


def _answers(question: dict[str, Any]) -> Iterator[dict[str, Any]]:
    if "expression" in question:
        yield {"fits": re.search(question["expression"], question["text"]) is not None}
        return
    try:
        schema = Schema(question["schema"])
        schema.compile()
        fits = "value" not in question or schema.is_valid(question["value"])
        yield {"fits": fits}
        if not fits:
            yield {"errors": schema.errors(question["value"])}
    except ExternalReferenceError as problem:
        yield {"external": str(problem)}
    except SchemaError as problem:
        yield {"unusable": str(problem)}


def _end_with_starter() -> None:
    """Request a signal from the system that ends this process once the other end of stderr is closed."""
    with suppress(ImportError, AttributeError, OSError):
        import fcntl

        fcntl.fcntl(2, fcntl.F_SETOWN, os.getpid())
        fcntl.fcntl(2, fcntl.F_SETFL, fcntl.fcntl(2, fcntl.F_GETFL) | os.O_ASYNC)


def _has_starter() -> bool:
    """Whether the other end of stderr is still open, now that its closing sends a signal."""
    import select

    if not hasattr(select, "poll"):
        return True
    stderr = select.poll()
    stderr.register(2, 0)
    return not stderr.poll(0)


def _limit_memory() -> None:
    with suppress(ImportError, OSError, ValueError):
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_AS, (MAX_MEMORY_BYTES, MAX_MEMORY_BYTES))


def _answer_to(question: str, deadline: Deadline | None, seconds: float) -> list[ValidationError]:
    allowed = seconds if deadline is None else min(seconds, deadline.remaining() / 2)
    time_left = Deadline(allowed) if deadline is None else deadline.sooner(allowed)
    printed = _asked(question, time_left)
    # The last line may have been cut off.
    answer = {key: held for line in printed.splitlines(keepends=True) if line.endswith("\n")
              for key, held in json.loads(line).items()}  # fmt: skip
    if "external" in answer:
        raise ExternalReferenceError(answer["external"])
    if "unusable" in answer:
        raise SchemaError(answer["unusable"])
    if "fits" not in answer:
        excess = f"{allowed:.1f} s" if time_left.expired else f"{MAX_MEMORY_BYTES >> 20} MB of memory"
        raise SchemaCostError(f"checking against it takes more than {excess}")
    if answer["fits"]:
        return []
    unknown = ["", "does not fit, and it takes too long to find out why", "schema"]
    return [ValidationError(*error) for error in answer.get("errors", [unknown])]


def _asked(question: str, deadline: Deadline) -> str:
    """The worker's output until its time is up.

    A signal during the start of a process could leave it behind, so a thread starts it, which no signal interrupts.
    """
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(1) as pool:
        try:
            return pool.submit(_printed, question, deadline).result()
        except BaseException:
            deadline.cancel()
            raise


def _printed(question: str, deadline: Deadline) -> str:
    if not _places.acquire(timeout=deadline.remaining()):
        return ""
    try:
        worker = _started(deadline.remaining())
        deadline.on_cancel(worker.kill)
        with suppress(subprocess.TimeoutExpired):
            worker.communicate(question, timeout=deadline.remaining())
        deadline.forget(worker.kill)
        return _printed_until_killed(worker)
    finally:
        _places.release()


def _printed_until_killed(worker: subprocess.Popen[str]) -> str:
    worker.kill()
    assert worker.stdin is not None  # noqa: S101 (a pipe was asked for)
    with suppress(BrokenPipeError):
        worker.stdin.close()
    worker.stdin = None  # Otherwise it would be written to again.
    return worker.communicate()[0]


def _started(seconds: float) -> subprocess.Popen[str]:
    """The worker, which exits by itself one second after its time is up: usually it is stopped before.

    It runs the same interpreter, with this package and the validator from the same paths, and nothing else.
    """
    from multiprocessing.spawn import get_executable

    import jsonschema_rs

    executable = get_executable()
    folders = [str(Path(__file__).parents[2]), str(Path(str(jsonschema_rs.__file__)).parents[1])]
    program = f"import sys; sys.path[:0] = {folders!r}; from gaia_mcp.checking.process import work; work()"
    try:
        return subprocess.Popen(
            [os.fsdecode(executable or ""), "-I", "-S", "-c", program, str(seconds + 1)],
            env={name: os.environ[name] for name in _PASSED_ON if name in os.environ},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            # Hardly anything is written to it: it stays open as long as this process lives.
            stderr=subprocess.PIPE,
            encoding="ascii",
        )
    except OSError as cause:
        raise SchemaCostError(f"checking needs a process of its own, which could not be started: {cause}") from cause

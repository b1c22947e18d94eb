"""What holds for all tests: their marks, and the signals that they begin with."""

from __future__ import annotations

import contextlib
import fcntl
import gc
import importlib
import os
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

pytest_plugins = ["tests.forking.fixtures", "tests.prepare.fixtures", "tests.redis_support"]

TESTS = Path(__file__).parent
# A test is marked by what it uses, or by where it lies. One that starts a process by itself, without any
# of these, says so with `@pytest.mark.story`; it fails otherwise.
MARKS_OF_FIXTURES = {
    "fork_server": "story",
    "mark": "story",
    "no_orphans": "story",
    "nothing_left": "story",
    "prepared": "peer",
    "start_process": "story",
}
MARKS_OF_PATHS = {
    "bench": "story",
    "contrib/gaia/test_mixin.py": "story",
    "contrib/gaia/test_tool_registry.py": "story",
    "fleet/test_parallel.py": "story",
    "fleet/test_recorder.py": "story",
    "fleet/test_server_process.py": "story",
    "fleet/test_session.py": "story",
    "peers": "peer",
}
STARTS = {"os.fork", "os.forkpty", "os.posix_spawn", "os.system", "subprocess.Popen"}

# The test that is running, if it may start no process.
_rule = ""
# Locked by the running test of each worker, together with others or by one alone; and, by the latter while it waits,
# the way in.
_running, _way_in = os.open(__file__, os.O_RDONLY), os.open(TESTS, os.O_RDONLY)


def pytest_configure() -> None:
    """A run in the background of a script may ignore some signals, and all that it starts would inherit that."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for name in ("SIGHUP", "SIGQUIT"):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), signal.SIG_DFL)
    sys.addaudithook(_refuse_processes)
    # Python compiles hundreds of test modules in each worker otherwise. What stories start writes such files anyway.
    sys.dont_write_bytecode = False
    # All that is made until the tests begin stays: searching it for garbage is of no use, then or in a test.
    gc.disable()


@pytest.hookimpl(tryfirst=True)
def pytest_collection(session: pytest.Session) -> None:
    """Import all test modules, in each worker from another one on: what one has compiled the others load."""
    if "PYTEST_XDIST_WORKER" in os.environ and session.config.args_source is pytest.Config.ArgsSource.TESTPATHS:
        paths = sorted(TESTS.rglob("test_*.py"))
        worker, workers = int(os.environ["PYTEST_XDIST_WORKER"][2:]), int(os.environ["PYTEST_XDIST_WORKER_COUNT"])
        first = len(paths) * worker // workers
        for path in paths[first:] + paths[:first]:
            with contextlib.suppress(Exception):  # Collection reports it.
                importlib.import_module(".".join(path.relative_to(TESTS.parent).with_suffix("").parts))


def pytest_collection_finish() -> None:
    """Search only what tests make."""
    gc.freeze()
    gc.enable()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """Three more than there are cores: most stories wait for a process."""
    return len(os.sched_getaffinity(0)) + 3 if hasattr(os, "sched_getaffinity") else (os.cpu_count() or 1) + 3


@pytest.hookimpl(tryfirst=True)  # before tests are chosen by their marks
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark every test that starts processes."""
    for item in items:
        fixtures: list[str] = getattr(item, "fixturenames", [])
        marks = {mark for path, mark in MARKS_OF_PATHS.items() if item.path.is_relative_to(TESTS / path)}
        marks |= {MARKS_OF_FIXTURES[fixture] for fixture in fixtures if fixture in MARKS_OF_FIXTURES}
        for mark in sorted(marks):
            item.add_marker(mark)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Let only those start processes that are marked, and none run beside one that is marked `alone`."""
    global _rule
    _rule = "" if any(item.iter_markers("story")) or any(item.iter_markers("peer")) else item.nodeid
    kind = fcntl.LOCK_EX if any(item.iter_markers("alone")) else fcntl.LOCK_SH
    fcntl.flock(_way_in, kind)
    fcntl.flock(_running, kind)
    fcntl.flock(_way_in, fcntl.LOCK_UN)
    try:
        return (yield)
    finally:
        fcntl.flock(_running, fcntl.LOCK_UN)
        _rule = ""


def _refuse_processes(event: str, _: tuple[Any, ...]) -> None:
    if _rule and event in STARTS:
        raise AssertionError(f"{_rule} starts a process: it has to be marked with `story`")

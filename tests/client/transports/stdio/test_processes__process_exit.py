from __future__ import annotations

import os
import select
import signal
import subprocess
from typing import TYPE_CHECKING

import pytest

from gaia_mcp.client.transports.stdio.processes import (
    exit_descriptor,
    exits_within,
    held_open,
    is_child,
    is_running,
    reap,
    was_killed,
)
from tests.waiting import ENOUGH_SECONDS

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.story


@pytest.fixture
def process() -> Iterator[subprocess.Popen[bytes]]:
    """A process that exits with 3 at the end of its input."""
    with subprocess.Popen(["sh", "-c", "read line; exit 3"], stdin=subprocess.PIPE) as one:
        yield one
        one.kill()


def close_input(process: subprocess.Popen[bytes]) -> None:
    assert process.stdin is not None
    process.stdin.close()


def test_an_exit_is_detected_without_reaping(process: subprocess.Popen[bytes]) -> None:
    """Linux: a process descriptor can be polled."""
    assert is_running(process.pid)
    assert not was_killed(process.pid)
    assert exits_within(process.pid, 0) is False
    close_input(process)

    assert exits_within(process.pid, ENOUGH_SECONDS) is True

    assert is_running(process.pid) is False
    assert not was_killed(process.pid)
    assert process.wait() == 3


def test_a_child_is_distinguished_from_other_processes(
    process: subprocess.Popen[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ours: it is until it is reaped; a group of another number is not ours to signal."""
    assert is_child(process.pid)
    close_input(process)
    assert exits_within(process.pid, ENOUGH_SECONDS)
    assert is_child(process.pid)
    process.wait()

    others = [process.pid, os.getpid(), os.getppid(), 1, 0, -1, 2**70, "1", None]
    assert [other for other in others if is_child(other)] == []

    monkeypatch.delattr(os, "waitid")
    assert is_child(1)  # Where it cannot be seen.


def test_a_death_by_a_signal_is_detected(process: subprocess.Popen[bytes]) -> None:
    """Ours: it has not ended by itself."""
    process.kill()
    assert exits_within(process.pid, ENOUGH_SECONDS)

    assert was_killed(process.pid)

    assert process.wait() == -signal.SIGKILL


@pytest.mark.parametrize("system", ["posix", "nt"])
def test_a_child_is_reaped_once(process: subprocess.Popen[bytes], system: str) -> None:
    assert reap(process, system=system) is None

    close_input(process)
    assert exits_within(process.pid, ENOUGH_SECONDS)

    assert [reap(process, system=system), reap(process, system=system)] == [3, 3]
    assert process.returncode == 3


def test_the_status_of_a_child_that_was_reaped_elsewhere_is_zero(process: subprocess.Popen[bytes]) -> None:
    """As that of `Popen.poll`: nobody can know it any more."""
    close_input(process)
    os.waitpid(process.pid, 0)

    assert reap(process) == 0


def test_the_state_of_a_reaped_process_is_unknown(process: subprocess.Popen[bytes]) -> None:
    """Ours: another thread may wait for whatever child ends."""
    process.kill()
    process.wait()

    assert is_running(process.pid) is False
    assert not was_killed(process.pid)
    assert exit_descriptor(process.pid) == -1
    assert exits_within(process.pid, 0) is None


def test_the_state_of_a_process_is_unknown_without_pidfd_and_waitid(
    process: subprocess.Popen[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ours: macOS has no process descriptors, and Windows does not look without reaping either."""
    monkeypatch.delattr(os, "pidfd_open")
    monkeypatch.delattr(os, "waitid")

    assert exits_within(process.pid, 0) is None
    assert is_running(process.pid) is None


def test_a_pipe_is_held_open_while_something_can_write_to_it() -> None:
    """Ours: whether or not there is something to read."""
    reading, writing = os.pipe()
    with os.fdopen(reading, "rb") as pipe:
        os.write(writing, b"x")
        assert held_open(pipe, None) == [os.fstat(reading).st_ino]
        os.close(writing)
        assert held_open(pipe) == []
    assert held_open(pipe) == []


def test_a_pipe_that_cannot_be_polled_counts_as_not_held_open(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ours: Windows has no such poll, and nothing else shows it there."""
    reading, writing = os.pipe()
    monkeypatch.delattr(select, "poll")
    with os.fdopen(reading, "rb") as pipe:
        assert held_open(pipe) == []
    os.close(writing)

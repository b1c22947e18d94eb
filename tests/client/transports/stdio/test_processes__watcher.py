"""The watcher, here for processes that the test starts by itself."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING
from unittest.mock import MagicMock

import pytest

from gaia_mcp.client.transports.stdio.processes import VARIABLE, Watcher
from tests.waiting import ENOUGH_SECONDS, wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.story

STAYS = ["sleep", "60"]
ENDED = (-signal.SIGTERM, -signal.SIGKILL)
IGNORES_SIGTERM = [sys.executable, "-c", "import signal; signal.signal(15, 1); print(flush=True); signal.pause()"]


@contextmanager
def watching(**options: str) -> Iterator[Watcher]:
    one = Watcher(**options)
    yield one
    one._groups.clear()
    one.release("none")
    assert one.pid is None


@pytest.fixture
def watcher() -> Iterator[Watcher]:
    with watching() as one:
        yield one


class Paced:
    """A `sleep` that takes no time, but for one: the watcher stays in that until the gate is open."""

    def __init__(self, folder: Path) -> None:
        self.steps, self.gate = folder / "steps", folder / "gate"
        self.program = folder / "sleep"

    def hold(self, step: int) -> None:
        """Have the watcher stay before its step of this number, from 1 on."""
        self.program.write_text(
            f"#!/bin/sh\necho >> {self.steps}\n"
            f'[ "$(wc -l < {self.steps})" -eq {step} ] || exit 0\n'
            f"while [ ! -e {self.gate} ]; do /bin/sleep 0.01; done\n"
        )
        self.program.chmod(0o755)

    def has_come_to(self, step: int) -> bool:
        return self.steps.exists() and len(self.steps.read_text().splitlines()) >= step


@pytest.fixture
def paced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Paced]:
    made = Paced(tmp_path)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    yield made
    made.gate.touch()


@pytest.fixture
def watched(nothing_left: dict[str, str]) -> Iterator[list[subprocess.Popen[bytes]]]:
    """Processes that each lead a group, ended at the end if the watcher has not done so."""
    started: list[subprocess.Popen[bytes]] = []
    yield started
    for process in started:
        process.kill()
        process.communicate()


def start(words: list[str], environment: dict[str, str]) -> subprocess.Popen[bytes]:
    process = subprocess.Popen(words, stdout=subprocess.PIPE, env=environment, start_new_session=True)
    if words is IGNORES_SIGTERM:
        assert process.stdout is not None
        process.stdout.readline()
    return process


def die(watcher: Watcher) -> subprocess.Popen[bytes]:
    """What our death does: the pipe is closed."""
    process = watcher._process
    assert process is not None
    assert process.stdin is not None
    process.stdin.close()
    return process


@pytest.mark.parametrize(("words", "number"), [(STAYS, signal.SIGTERM), (IGNORES_SIGTERM, signal.SIGKILL)])
def test_the_process_groups_are_ended_after_our_death(
    watcher: Watcher,
    paced: Paced,
    watched: list[subprocess.Popen[bytes]],
    nothing_left: dict[str, str],
    words: list[str],
    number: int,
) -> None:
    """Ours: those of the newest list, with as little force as it takes; then the watcher has nothing more to do."""
    # The signal is sent in the step before; in this one the watcher finds what is left, which has been reaped by then.
    paced.hold(6 if number == signal.SIGTERM else 11)
    for key in range(3):
        watcher.expect(key)
        watched.append(start(words, nothing_left))
        watcher.watch(key, watched[-1].pid)
    watcher.release(0)
    process = die(watcher)

    assert [one.wait(ENOUGH_SECONDS) for one in watched[1:]] == [-number, -number]
    paced.gate.touch()
    assert process.wait(ENOUGH_SECONDS) == 0
    assert watched[0].poll() is None


def test_marked_processes_are_ended_after_our_death(
    watcher: Watcher, watched: list[subprocess.Popen[bytes]], nothing_left: dict[str, str]
) -> None:
    """Ours (Linux): one whose group was not known yet, or that has left it. Marks differ from server to server."""
    marks = [watcher.expect(key) for key in range(2)]
    watched += [start(STAYS, {**nothing_left, VARIABLE: mark}) for mark in marks]
    others = start(STAYS, {**nothing_left, VARIABLE: "other.1"})
    try:
        die(watcher)

        assert {one.wait(ENOUGH_SECONDS) for one in watched} <= set(ENDED)
        assert len(set(marks)) == 2
        assert others.poll() is None
    finally:
        others.kill()
        others.communicate()


def test_a_server_that_exits_at_the_end_of_its_input_is_not_signalled(
    watcher: Watcher, paced: Paced, watched: list[subprocess.Popen[bytes]], nothing_left: dict[str, str]
) -> None:
    """Ours: they may have something to write first."""
    paced.hold(5)  # Four steps have been taken then, without a signal.
    watcher.expect("s")
    words = ["sh", "-c", "read line; exit 7"]
    one = subprocess.Popen(words, stdin=subprocess.PIPE, env={**os.environ, **nothing_left}, start_new_session=True)
    watched.append(one)
    watcher.watch("s", one.pid)
    process = die(watcher)
    wait_until(lambda: paced.has_come_to(5))
    assert one.stdin is not None
    one.stdin.close()

    assert one.wait(ENOUGH_SECONDS) == 7
    paced.gate.touch()
    assert process.wait(ENOUGH_SECONDS) == 0


def test_the_watcher_runs_while_there_are_servers(watcher: Watcher) -> None:
    """Ours: one for all, in a session of its own; and its environment has no secret of ours, nor another's mark."""
    watcher.expect("a")
    pid = watcher.pid
    watcher.expect("b")

    assert pid is not None
    assert watcher.pid == pid == os.getsid(pid)
    wait_until(lambda: b"gaia-mcp-watcher" in Path(f"/proc/{pid}/cmdline").read_bytes()[:40])  # Where `ps` shows it.
    environment = Path(f"/proc/{pid}/environ")
    wait_until(lambda: b"PWD" not in environment.read_bytes() and environment.read_bytes().startswith(b"PATH="))
    watcher.release("a")
    watcher.release("unknown")
    assert watcher.pid == pid
    watcher.release("b")
    assert watcher.pid is None
    assert not Path(f"/proc/{pid}").exists()


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP])
def test_a_killed_or_stopped_watcher_is_replaced(
    watcher: Watcher, watched: list[subprocess.Popen[bytes]], nothing_left: dict[str, str], number: int
) -> None:
    """Ours: the next server is watched again, and with it those before; nor are we held up by a full pipe."""
    watcher.expect("s")
    watched.append(start(STAYS, nothing_left))
    first = watcher.pid
    assert first is not None
    os.kill(first, number)
    if number == signal.SIGKILL:
        os.waitid(os.P_PID, first, os.WEXITED | os.WNOWAIT)

    while watcher.pid == first:
        watcher.watch("s", watched[0].pid)

    die(watcher)
    assert watched[0].wait(ENOUGH_SECONDS) in ENDED


def test_a_missing_shell_disables_the_watcher(tmp_path: Path) -> None:
    """Ours: an image with nothing in it but Python."""
    with watching(shell=str(tmp_path / "sh")) as watcher:
        assert watcher.expect("s")
        watcher.watch("s", 4711)
        watcher.release("s")

        assert watcher.pid is None


def test_a_watcher_that_is_not_our_process_is_not_used(watcher: Watcher, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ours: a program's tests replace `subprocess.Popen`."""
    # As such a program does.
    monkeypatch.setattr(subprocess, "Popen", lambda *_, **__: MagicMock(pid=1))

    watcher.expect("s")

    assert watcher.pid is None


def test_windows_has_no_watcher(watcher: Watcher, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ours: there is no shell, and no group that it could end."""
    monkeypatch.setattr(os, "name", "nt")  # The system itself.

    watcher.expect("s")

    assert watcher.pid is None


def test_letting_go_leaves_the_watcher_to_the_parent(watcher: Watcher) -> None:
    """Ours: the watcher is left to the parent, whose end it sees when that closes the pipe too."""
    watcher.let_go()
    first = watcher.expect("s")
    pid = watcher.pid
    assert pid is not None

    watcher.let_go()

    assert watcher.pid is None
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    assert watcher.expect("s").partition(".")[0] != first.partition(".")[0]


def test_a_forked_process_holds_no_watcher(
    watcher: Watcher, watched: list[subprocess.Popen[bytes]], nothing_left: dict[str, str]
) -> None:
    """Ours: a worker that outlives us must not keep our servers; what it starts is its own."""
    mark = watcher.expect("s")
    watched.append(start(STAYS, {**nothing_left, VARIABLE: mark}))
    reading, writing = os.pipe()
    worker = os.fork()
    if worker == 0:
        watcher.let_go()  # As the one of this process is, by itself.
        os.write(writing, watcher.expect("s").encode() + b"\n")
        watcher.release("s")
        signal.pause()
    try:
        with os.fdopen(reading, "rb") as file:
            assert file.readline().partition(b".")[0] != mark.encode().partition(b".")[0]
        die(watcher)
        assert watched[0].wait(ENOUGH_SECONDS) in ENDED
    finally:
        os.close(writing)
        os.kill(worker, signal.SIGKILL)
        os.waitpid(worker, 0)

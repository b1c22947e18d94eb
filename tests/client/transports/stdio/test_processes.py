from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from gaia_mcp.client.transports.stdio.processes import (
    VARIABLE,
    _is_unreaped,
    _lives,
    _states,
    end_others,
    ids_begin_after,
    marked,
    occupied_bytes,
    pipe_holders,
    signal_group,
)
from tests.waiting import PATIENCE_SECONDS, wait_until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

# A leader that starts one other process in its group, says its id and ends when its input does.
LEADER = """
import subprocess, sys
other = subprocess.Popen([sys.executable, "-c", sys.argv[1]], stderr=subprocess.DEVNULL)
sys.stdin.read(1)
print(other.pid, flush=True)
"""
STAYS = "import signal; print('up', flush=True); signal.pause()"
# The kernel takes a while to free it, after its environment.
LARGE = "held = bytes(b'x') * 200_000_000; " + STAYS
IGNORES_SIGTERM = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); " + STAYS
# A process that makes another in a group of its own, which ends, and is not told so.
NEGLECTS = """
import os, sys
child = os.fork()
if child == 0:
    os.setpgid(0, 0)
    os._exit(0)
os.waitid(os.P_PID, child, os.WEXITED | os.WNOWAIT)
print(child, flush=True)
sys.stdin.read()
"""
PR_SET_CHILD_SUBREAPER, PR_GET_CHILD_SUBREAPER = 36, 37
# That of no process.
NO_MARK = "0.0"

Left = tuple[int, int]


@pytest.fixture
def left(nothing_left: dict[str, str]) -> Iterator[Callable[[str], Left]]:
    """Leaves a process behind that runs a Python text: its group, whose leader has been reaped, and its id."""
    pids: list[int] = []

    def leave(code: str) -> Left:
        with subprocess.Popen(
            [sys.executable, "-c", LEADER, code],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=nothing_left,
            start_new_session=True,
        ) as leader:
            assert leader.stdin is not None
            assert leader.stdout is not None
            assert leader.stdout.readline() == b"up\n"
            leader.stdin.write(b".")
            leader.stdin.flush()
            other = int(leader.stdout.readline())
            pids.append(leader.pid)
        return leader.pid, other

    yield leave
    for pid in pids:
        signal_group(pid, force=True)


@pytest.fixture
def heir() -> Iterator[None]:
    """Orphans of our children are handed over to us, as to the first process of a container."""
    prctl, before = ctypes.CDLL(None).prctl, ctypes.c_int()
    assert prctl(PR_GET_CHILD_SUBREAPER, ctypes.byref(before), 0, 0, 0) == 0
    assert prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0
    yield
    prctl(PR_SET_CHILD_SUBREAPER, before.value, 0, 0, 0)


def ended(pid: int) -> Callable[[], bool]:
    """Whether a process has ended, reaped or not."""

    def has_ended() -> bool:
        try:
            return b") Z " in Path(f"/proc/{pid}/stat").read_bytes()
        except OSError:
            return True

    return has_ended


@pytest.mark.parametrize("code", [STAYS, IGNORES_SIGTERM])
def test_the_processes_a_leader_left_behind_are_ended(left: Callable[[str], Left], code: str) -> None:
    """Ours: by SIGTERM, and by SIGKILL if it does not listen."""
    group, other = left(code)

    assert end_others(group, NO_MARK, 0.3)

    assert ended(other)()


@pytest.mark.parametrize("code", [STAYS, LARGE, IGNORES_SIGTERM])
def test_a_marked_process_in_another_group_is_ended(nothing_left: dict[str, str], heir: None, code: str) -> None:
    """Ours: also one whose parent has ended; handed over to us, it is reaped."""
    program = (
        "import os, subprocess, sys\n"
        "words = [sys.executable, '-c', sys.argv[1]]\n"
        "with subprocess.Popen(words, stdout=subprocess.PIPE, start_new_session=True) as one:\n"
        "    one.stdout.readline()\n"
        "    print(one.pid, flush=True)\n"
        "    os._exit(0)\n"
    )
    words = [sys.executable, "-c", program, code]
    # The same test may run in another process at this moment.
    mark = f"{os.getpid()}.1"
    environment = {**nothing_left, VARIABLE: mark}
    leader = subprocess.Popen(words, stdout=subprocess.PIPE, env=environment, start_new_session=True)
    other = int(leader.communicate(timeout=20)[0])

    assert not end_others(leader.pid, f"{mark}1", 5)
    assert end_others(leader.pid, mark, 0.3)

    assert not Path(f"/proc/{other}").exists()


def test_no_process_is_ended_if_the_leader_left_nothing_behind(nothing_left: dict[str, str]) -> None:
    """Ours: the usual case, in which stopping must cost no time."""
    leader = subprocess.Popen([sys.executable, "-c", ""], env=nothing_left, start_new_session=True)
    leader.wait(PATIENCE_SECONDS)

    assert not end_others(leader.pid, NO_MARK, 5)
    signal_group(leader.pid, force=True)


def test_a_process_that_exits_soon_after_the_leader_is_not_left_behind(left: Callable[[str], Left]) -> None:
    """Ours: a process that notices the end of its leader needs a moment."""
    group, other = left(STAYS)
    leaving = threading.Timer(0.05, os.kill, [other, signal.SIGKILL])
    leaving.start()

    assert not end_others(group, NO_MARK, PATIENCE_SECONDS, follow_seconds=PATIENCE_SECONDS)

    leaving.join()


def test_zombies_of_other_parents_count_as_ended(nothing_left: dict[str, str]) -> None:
    """Ours: their new parent may be slow, or never reap them at all."""
    with subprocess.Popen(
        [sys.executable, "-c", NEGLECTS], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=nothing_left
    ) as neglects:
        assert neglects.stdout is not None
        group = int(neglects.stdout.readline())
        os.killpg(group, 0)

        assert not _lives(group)
        assert not end_others(group, NO_MARK, 5)


def test_adopted_orphans_are_reaped(heir: None, left: Callable[[str], Left]) -> None:
    """Ours: the first process of a container must not collect zombies."""
    group, other = left(STAYS)
    os.kill(other, signal.SIGTERM)
    wait_until(ended(other))

    assert not end_others(group, NO_MARK, 5)

    assert not Path(f"/proc/{other}").exists()


def test_a_process_without_a_visible_state_counts_as_alive(left: Callable[[str], Left], tmp_path: Path) -> None:
    """Ours: not every system has a folder of its processes."""
    group, _ = left(STAYS)

    assert _lives(group, tmp_path / "none")


def test_the_state_is_read_for_any_program_name(tmp_path: Path) -> None:
    """Linux, proc_pid_stat: the name is in brackets, and may hold brackets and spaces."""
    for pid, stat in {
        "7": "7 (plain) S 1 7 7 0", "8": "8 (odd) S 1 9) Z 1 7 7 0", "9": "9 (of others) S 1 9 9 0",
        "self": "7 (again) S 1 7 7 0",
    }.items():  # fmt: skip
        (tmp_path / pid).mkdir()
        (tmp_path / pid / "stat").write_text(stat)
    (tmp_path / "10").mkdir()
    (tmp_path / "10" / "stat").mkdir()

    assert sorted(_states(7, tmp_path)) == ["S", "Z"]


@pytest.mark.story
@pytest.mark.parametrize("force", [True, False])
def test_taskkill_ends_the_process_tree_on_windows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, force: bool
) -> None:
    """Ours: there is no gentler way that reaches the processes which the leader has started."""
    taskkill = tmp_path / "taskkill"
    taskkill.write_text(f'#!/bin/sh\necho "$@" > {tmp_path}/asked\n')
    taskkill.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))

    signal_group(4711, force=force, system="nt")

    assert (tmp_path / "asked").read_text() == "/T /F /PID 4711\n"


@pytest.mark.story
def test_missing_taskkill_does_not_raise(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ours: ending a server never raises."""
    monkeypatch.setenv("PATH", str(tmp_path))

    signal_group(4711, force=True, system="nt")


def test_a_process_that_we_did_not_adopt_is_not_reaped() -> None:
    """Ours: what a server left is reaped by its new parent, unless that is us."""
    assert not _is_unreaped(os.getppid())


@pytest.mark.story
def test_a_process_is_found_by_its_mark() -> None:
    """Linux, proc_pid_environ: each variable ends with a zero byte; a process that has ended has none."""
    environment = {"BEFORE": "x" * 100_000, VARIABLE: "a.1", "OTHER": f"{VARIABLE}=a.2"}
    words = [sys.executable, "-c", "import sys; print(flush=True); sys.stdin.read()"]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment) as process:
        assert process.stdout is not None
        process.stdout.readline()

        assert marked("a.1") == [process.pid]
        assert marked("a.") == []

        assert process.stdin is not None
        process.stdin.close()
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        assert marked("a.1") == []


def test_an_unreadable_environment_is_skipped(tmp_path: Path) -> None:
    """Ours: another user's process, one that has just ended, and a system without such a folder."""
    (tmp_path / "7").mkdir()
    (tmp_path / "7" / "environ").write_bytes(f"{VARIABLE}=a.1\0".encode())
    (tmp_path / "8" / "environ").mkdir(parents=True)
    (tmp_path / "9").mkdir()
    (tmp_path / "self").symlink_to("7")

    assert marked("a.1", 6, tmp_path) == [7]
    assert marked("a.1", 7, tmp_path) == []
    assert marked("a.1", 0, tmp_path / "none") == []


# Of a process with the id 500: the load averages, its age in seconds, and after which id to look.
IDS_AFTER = {
    ("0.1 0.2 0.3 1/99 700\n", 1.0): 500,
    ("0.1 0.2 0.3 1/99 500\n", 1.0): 500,
    ("0.1 0.2 0.3 1/99 320\n", 1.0): 0,
    ("0.1 0.2 0.3 1/99 700\n", 60.0): 0,
    ("", 1.0): 0,
}


def test_the_children_of_a_young_process_have_greater_ids(tmp_path: Path) -> None:
    """Linux, proc_loadavg: the last number is the newest id; after the highest they begin again."""
    assert ids_begin_after(500, 1.0, tmp_path) == 0

    def after(loads: str, age: float) -> int:
        (tmp_path / "loadavg").write_text(loads)
        return ids_begin_after(500, age, tmp_path)

    assert {row: after(*row) for row in IDS_AFTER} == IDS_AFTER


@pytest.mark.story
def test_the_processes_that_can_write_to_a_pipe_are_listed() -> None:
    """Linux, proc_pid_fd: not who reads it, such as a process that was forked from us."""
    reading, writing = os.pipe()
    reader = subprocess.Popen(["sleep", "60"], stdin=reading)
    writer = subprocess.Popen(["sleep", "60"], stdout=writing)
    inode = os.fstat(reading).st_ino
    os.close(writing)
    try:
        assert pipe_holders([inode]) == {writer.pid: "sleep"}
    finally:
        for process in (reader, writer):
            process.kill()
            process.wait()
    assert pipe_holders([inode]) == {}
    os.close(reading)


def test_a_process_name_is_escaped_and_an_unreadable_one_skipped(tmp_path: Path) -> None:
    """Ours, hostile: it may hold anything, and reaches a terminal."""
    for pid in ("7", "8", "9"):
        (tmp_path / pid / "fd").mkdir(parents=True)
        (tmp_path / pid / "fd" / "1").symlink_to("pipe:[4711]")
    (tmp_path / "7" / "comm").write_bytes(b"a\x1b[2Jb\xff\n")
    (tmp_path / "9" / "comm").mkdir()
    (tmp_path / "10").mkdir()

    (name,) = pipe_holders([4711], tmp_path).values()

    assert "\x1b" not in name
    assert name.startswith("a")
    assert pipe_holders([4712], tmp_path) == {}


def test_the_memory_of_a_group_is_that_of_its_processes(tmp_path: Path) -> None:
    """Linux, proc(5): the pages in memory are the 24th field. A name may have parentheses and blanks; one has ended."""

    def write(pid: int, name: str, group: int, pages: int) -> None:
        (tmp_path / str(pid)).mkdir()
        fields = ["S", "1", str(group), *["0"] * 18, str(pages), "0"]
        (tmp_path / str(pid) / "stat").write_text(f"{pid} ({name}) {' '.join(fields)}\n")

    write(10, "npm", 10, 100)
    write(11, "a b) (c", 10, 50)
    write(12, "other", 12, 7)
    (tmp_path / "13").mkdir()

    assert occupied_bytes(10, tmp_path) == 150 * os.sysconf("SC_PAGE_SIZE")
    assert occupied_bytes(99, tmp_path) is None
    ours = occupied_bytes(os.getpgrp())
    assert ours is None or ours > 1 << 20

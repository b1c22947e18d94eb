"""What is kept of servers' stderr."""

from __future__ import annotations

import os
import stat
import threading
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from gaia_mcp.core.errors import ConfigFileError, MCPError
from gaia_mcp.storage.run_logs import KEPT_BYTES, KEPT_RUNS, RunLog, RunLogs
from gaia_mcp.text.redaction.masker import LINE_BYTES, Masker
from tests.protocol_support import check_each
from tests.waiting import PATIENCE_SECONDS

if TYPE_CHECKING:
    from collections.abc import Callable

BEGAN = datetime(2026, 11, 21, 7, 43, 4, 123456, tzinfo=UTC)


@pytest.fixture
def logs(tmp_path: Path) -> RunLogs:
    return RunLogs(tmp_path / "a" / "logs", "fs", Path("/home/ada/servers.json"))


def begun(logs: RunLogs, *secrets: str, at: datetime = BEGAN) -> RunLog:
    return RunLog(lambda: logs, "call", lambda: Masker(secrets), lambda: at)


def text_of(logs: RunLogs) -> bytes:
    (run,) = logs.runs()
    return run.read()[1]


def test_a_run_log_has_time_command_and_exit_status(logs: RunLogs) -> None:
    """Ours: the user looks for the run that failed."""
    log = begun(logs)
    log.hear(b"one\ntw")
    log.hear(b"o\n")
    (running,) = logs.runs()
    assert running[1:] == (BEGAN, os.getpid(), "call", None)

    log.end(-15)

    (run,) = logs.runs()
    assert run[1:] == (BEGAN, os.getpid(), "call", -15)
    assert run.read() == (0, b"one\ntwo\n")


def test_a_run_with_an_unknown_end_has_no_status(logs: RunLogs) -> None:
    """Ours: it is kept all the same."""
    log = begun(logs)
    log.hear(b"one\n")
    log.end(None)

    assert logs.runs()[0].status is None


def test_a_run_without_output_creates_no_file(logs: RunLogs) -> None:
    """Ours: not even a folder."""
    log = begun(logs)
    log.hear(b"")
    log.end(0)

    assert logs.runs() == []
    assert not logs.folder.parent.exists()


def test_an_unterminated_last_line_is_saved(logs: RunLogs) -> None:
    """Ours: the last words of a server that dies."""
    log = begun(logs)
    log.hear(b"fatal")
    log.end(1)

    assert text_of(logs) == b"fatal\n"


def test_output_after_the_end_is_not_saved(logs: RunLogs) -> None:
    """Ours: its file has been given its last name."""
    log = begun(logs)
    log.hear(b"one\n")
    log.end(0)
    log.hear(b"two\n")
    log.end(0)

    assert text_of(logs) == b"one\n"


def test_a_run_log_is_private(logs: RunLogs) -> None:
    """Ours: 0600 in folders of 0700."""
    begun(logs).hear(b"one\n")

    (run,) = logs.runs()
    assert stat.S_IMODE(run.path.stat().st_mode) == 0o600
    assert stat.S_IMODE(logs.folder.stat().st_mode) == 0o700
    assert stat.S_IMODE(logs.folder.parent.stat().st_mode) == 0o700


@pytest.mark.parametrize("size", [1, 3, 1000])
def test_secrets_are_masked_and_control_characters_escaped(logs: RunLogs, size: int) -> None:
    """Ours: however the bytes come in."""
    data = b"key hunter2222!\r\n\x1b[31mred \xff\nof two: first-line\nof two: second-line\n"
    log = begun(logs, "hunter2222", "first-line\nsecond-line")
    for at in range(0, len(data), size):
        log.hear(data[at : at + size])
    log.end(0)

    assert text_of(logs).decode() == "key ****!\n\\x1b[31mred \ufffd\nof two: ****\nof two: ****\n"


@pytest.mark.parametrize("before", [LINE_BYTES - 3, LINE_BYTES - 12, LINE_BYTES])
def test_an_endless_line_is_saved_in_chunks_that_cut_no_secret(logs: RunLogs, before: int) -> None:
    """Ours: neither in memory for ever, nor half of a secret on the disk."""
    log = begun(logs, "hunter2222")
    data = b"x" * before + b"hunter2222" + b"y" * LINE_BYTES
    for at in range(0, len(data), 1000):
        log.hear(data[at : at + 1000])
    assert len(text_of(logs)) > LINE_BYTES // 2
    log.end(0)

    assert text_of(logs) == b"x" * before + b"****" + b"y" * LINE_BYTES + b"\n"


def test_a_long_log_retains_its_end_and_counts_the_removed_bytes(logs: RunLogs) -> None:
    """Ours: the reason stands at the end; what is missing is said."""
    log = begun(logs)
    lines = [b"line %d\n" % number for number in range(300_000)]
    for at in range(0, len(lines), 1000):
        log.hear(b"".join(lines[at : at + 1000]))
        assert logs.runs()[0].path.stat().st_size <= KEPT_BYTES
    log.end(0)

    (run,) = logs.runs()
    cut, kept = run.read()
    assert run.path.stat().st_size <= KEPT_BYTES
    assert stat.S_IMODE(run.path.stat().st_mode) == 0o600
    assert b"".join(lines)[cut:] == kept
    assert kept.startswith(b"line ")
    assert len(kept) > KEPT_BYTES // 3
    assert list(logs.folder.iterdir()) == [run.path]


def test_a_long_unterminated_line_is_truncated(logs: RunLogs) -> None:
    """Ours: the limit for a file holds for output without a line break as well."""
    log = begun(logs)
    log.hear(b"x" * (2 * KEPT_BYTES))
    log.end(0)

    cut, kept = logs.runs()[0].read()
    assert cut + len(kept) == 2 * KEPT_BYTES + len(b"\n")
    assert KEPT_BYTES // 3 < len(kept) <= KEPT_BYTES


def test_a_long_single_line_is_truncated(logs: RunLogs) -> None:
    """Ours: the line end behind it does not make it nothing."""
    log = begun(logs)
    log.hear(b"x" * KEPT_BYTES + b"\n")
    log.end(0)

    _, kept = logs.runs()[0].read()
    assert KEPT_BYTES // 3 < len(kept) <= KEPT_BYTES


def test_only_the_last_runs_are_retained(logs: RunLogs) -> None:
    """Ours: and the newest is last."""
    for number in range(KEPT_RUNS + 3):
        begun(logs, at=BEGAN + timedelta(hours=number)).hear(b"%d\n" % number)

    assert [run.read()[1] for run in logs.runs()] == [b"%d\n" % number for number in range(3, KEPT_RUNS + 3)]


def test_concurrent_runs_have_separate_files(logs: RunLogs) -> None:
    """Ours: each has a file of its own."""
    several = [begun(logs, at=BEGAN + timedelta(microseconds=number)) for number in range(5)]
    threads = [threading.Thread(target=log.hear, args=(b"%d\n" % n * 1000,)) for n, log in enumerate(several)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert [run.read()[1] for run in logs.runs()] == [b"%d\n" % number * 1000 for number in range(5)]


def test_a_run_does_not_write_to_a_file_of_the_same_name(logs: RunLogs) -> None:
    """Ours: what is there first stays, and goes on."""
    first, second = begun(logs), begun(logs)
    first.hear(b"one\n")
    second.hear(b"two\n")
    first.hear(b"three\n")

    assert text_of(logs) == b"one\nthree\n"


def test_threads_can_write_to_one_run(logs: RunLogs) -> None:
    """Ours: each line arrives whole, and once, from the first on."""

    def write(log: RunLog, line: bytes) -> None:
        start.wait(PATIENCE_SECONDS)
        for _ in range(20):
            log.hear(line)

    # Most can go wrong while the file is made, so several times.
    for number in range(10):
        log, start = begun(logs, at=BEGAN + timedelta(hours=number)), threading.Barrier(2)
        threads = [threading.Thread(target=write, args=(log, line)) for line in (b"one\n", b"two\n")]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

        saved = logs.runs()[-1].read()[1]
        assert sorted(saved.splitlines()) == [b"one"] * 20 + [b"two"] * 20


def test_a_run_continues_in_a_new_file_when_its_file_is_removed(logs: RunLogs) -> None:
    """Ours: the logs of a running server are cleared, or it runs for longer than many others."""
    log = begun(logs)
    log.hear(b"x" * KEPT_BYTES + b"\n")
    logs.clear()

    log.hear(b"two\n")

    (run,) = logs.runs()
    assert run.read() == (0, b"two\n")
    assert stat.S_IMODE(run.path.stat().st_mode) == 0o600


def test_the_count_of_removed_bytes_restarts_in_a_new_file(logs: RunLogs) -> None:
    """Ours: what was cut away from the first is not missing in the second, and takes no room there."""
    lines = b"123456789\n" * 60_000
    log = begun(logs)
    log.hear(lines)
    log.hear(lines)
    logs.clear()

    log.hear(lines)
    assert logs.runs()[0].read() == (0, lines)

    log.hear(lines)
    cut, kept = logs.runs()[0].read()
    assert (cut > 0, (lines * 2)[cut:]) == (True, kept)


def test_a_removed_file_is_replaced_under_a_new_name(logs: RunLogs) -> None:
    """Ours: the new one has a name of its own, and is private too."""
    times = iter([BEGAN, BEGAN + timedelta(hours=1)])
    log = RunLog(lambda: logs, "call", Masker, lambda: next(times))
    log.hear(b"one\n")
    logs.runs()[0].path.unlink()

    log.hear(b"two\n")

    (run,) = logs.runs()
    assert (run.began, run.read()[1]) == (BEGAN + timedelta(hours=1), b"two\n")
    assert stat.S_IMODE(run.path.stat().st_mode) == 0o600


def test_a_run_may_end_when_its_file_is_gone(logs: RunLogs) -> None:
    """Ours: the logs were cleared, and there is no file to rename."""
    log = begun(logs)
    log.hear(b"one\n")
    logs.clear()

    log.end(0)

    assert logs.runs() == []


def test_servers_of_different_files_have_separate_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ours: and a file is the same however it is named."""
    monkeypatch.chdir(tmp_path)

    def folder(name: str, source: Path | None) -> Path:
        return RunLogs(tmp_path, name, source).folder

    assert folder("fs", Path("/a.json")) != folder("fs", Path("/b.json"))
    assert folder("fs", Path("a.json")) == folder("fs", tmp_path / "a.json")
    assert folder("fs", None) == folder("fs", None)
    odd = folder("../" + "ä" * 300, Path("/a.json"))
    assert odd.parent == tmp_path
    assert len(odd.name) < 250


def test_a_log_that_cannot_be_written_is_not_an_error(tmp_path: Path, logs: RunLogs) -> None:
    """Ours: a full disk, a file in place of the folder, no home."""
    (tmp_path / "a").write_text("in the way")
    log = begun(logs)
    log.hear(b"one\n")
    log.hear(b"two\n")
    log.end(0)
    assert logs.runs() == []

    def nowhere() -> RunLogs:
        raise MCPError("no home")

    RunLog(nowhere, "call", Masker).hear(b"one\n")


def test_a_log_that_cannot_be_truncated_is_unchanged(logs: RunLogs) -> None:
    """Ours: and nothing more is added."""
    log = begun(logs)
    log.hear(b"one\n")
    (run,) = logs.runs()
    run.path.with_suffix(".tmp").mkdir()

    log.hear(b"x" * KEPT_BYTES + b"\n")
    log.hear(b"two\n")

    assert run.path.read_bytes() == b"one\n" + b"x" * KEPT_BYTES + b"\n"


def test_a_failed_truncation_leaves_no_temporary_file(logs: RunLogs) -> None:
    """Ours: a disk that is full needs no more."""
    log = begun(logs)
    log.hear(b"one\n")
    (run,) = logs.runs()
    run.path.with_suffix(".tmp").symlink_to("/dev/full")

    log.hear(b"x" * KEPT_BYTES + b"\n")

    assert list(logs.folder.iterdir()) == [run.path]


def test_logs_can_be_cleared(logs: RunLogs) -> None:
    """Ours: with all that lies in the folder."""
    begun(logs).hear(b"one\n")
    (logs.folder / "rest.tmp").touch()

    assert logs.clear() == 1
    assert logs.clear() == 0
    assert not logs.folder.exists()


@pytest.mark.parametrize("put", [Path.mkdir, os.mkfifo, lambda path: path.symlink_to("/dev/zero")])
def test_only_a_regular_file_is_a_run(logs: RunLogs, put: Callable[[Path], None]) -> None:
    """Ours: it is not read, and does not prevent writing, also as the oldest of many."""
    logs.folder.mkdir(parents=True)
    put(logs.folder / "20251121T074304123456Z-1-call.0.log")
    assert logs.runs() == []

    for number in range(KEPT_RUNS + 1):
        begun(logs, at=BEGAN + timedelta(hours=number)).hear(b"%d\n" % number)
    assert [run.read()[1] for run in logs.runs()] == [b"%d\n" % number for number in range(1, KEPT_RUNS + 1)]


@pytest.mark.parametrize(("head", "cut"), [(b"", 0), (b"[70 bytes before this were not kept]\n", 70)])
def test_only_the_end_of_a_huge_file_is_read(logs: RunLogs, head: bytes, cut: int) -> None:
    """Ours: the count includes the bytes that were removed before."""
    begun(logs).hear(b"one\n")
    (run,) = logs.runs()
    with run.path.open("wb") as file:
        file.write(head)
        file.truncate(len(head) + (1 << 40))
        file.seek(0, os.SEEK_END)
        file.write(b"end\n")

    missing, kept = run.read()

    assert (missing + len(kept), len(kept)) == (cut + (1 << 40) + len(b"end\n"), KEPT_BYTES)
    assert kept.endswith(b"\0end\n")


def test_an_entry_that_cannot_be_removed_is_reported_and_the_rest_removed(logs: RunLogs) -> None:
    """Ours: by its path, to be removed by hand."""
    folder = logs.folder / "20251121T074304123456Z-1-call.0.log"
    folder.mkdir(parents=True)
    begun(logs).hear(b"one\n")
    os.mkfifo(logs.folder / "20271121T074304123456Z-1-call.0.log")

    with pytest.raises(ConfigFileError) as caught:
        logs.clear()

    assert caught.value.path == folder
    assert list(logs.folder.iterdir()) == [folder]


def test_logs_that_are_not_in_a_folder_cannot_be_cleared(logs: RunLogs) -> None:
    """Ours: it is not for us to remove."""
    logs.folder.parent.mkdir(parents=True)
    logs.folder.touch()

    with pytest.raises(ConfigFileError) as caught:
        logs.clear()

    assert caught.value.path == logs.folder


def test_logs_move_with_a_renamed_server(logs: RunLogs, tmp_path: Path) -> None:
    """Ours: if there are any."""
    other = RunLogs(logs.folder.parent, "files", Path("/home/ada/servers.json"))
    logs.move_to(other)
    begun(logs).hear(b"one\n")

    logs.move_to(other)

    assert (logs.runs(), text_of(other)) == ([], b"one\n")


def test_other_files_are_not_runs(logs: RunLogs) -> None:
    """Ours: they do not prevent writing, and are removed with the others."""
    cases = ["notes.txt", "20261121T074304123456Z-1-call.tmp", "x.log", "20269999T999999999999Z-1-call.log"]

    def check(name: str) -> None:
        logs.folder.mkdir(parents=True)
        (logs.folder / name).touch()
        assert logs.runs() == []

        begun(logs).hear(b"one\n")
        assert text_of(logs) == b"one\n"

        assert logs.clear() == 1
        assert not logs.folder.exists()

    check_each(check, cases)


def test_temporary_files_of_a_killed_writer_are_removed(logs: RunLogs) -> None:
    """Ours: after a minute, since another may be writing now."""
    begun(logs).hear(b"one\n")
    (run,) = logs.runs()
    old, new = run.path.with_suffix(".tmp"), logs.folder / "20261121T074304123456Z-1-call.tmp"
    for left, age in ((old, 100), (new, 0)):
        left.touch()
        os.utime(left, (time.time() - age,) * 2)

    begun(logs, at=BEGAN + timedelta(seconds=1)).hear(b"two\n")

    assert new.exists()
    assert not old.exists()

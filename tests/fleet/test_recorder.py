"""A conversation that is passed on, and the file that it is written to."""

from __future__ import annotations

import json
import os
import resource
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from gaia_mcp.client.transports.stdio.child import Child
from gaia_mcp.core.errors import ConfigFileError
from gaia_mcp.fleet.recorder import Recording, Relay
from gaia_mcp.protocol.framing import MAX_RECORD_BYTES, LineBuffer
from gaia_mcp.text.redaction.masker import Masker
from tests.server.talk import piped
from tests.waiting import PATIENCE_SECONDS

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """The file of a recording that does not exist yet."""
    return tmp_path / "r.jsonl"


def rows(path: Path) -> list[dict[str, Any]]:
    """The lines of a recording, each complete."""
    data = path.read_bytes()
    assert data.endswith(b"\n")
    return [json.loads(line) for line in data.splitlines()]


def test_a_message_is_in_the_file_before_it_is_passed_on(path: Path) -> None:
    """Ours: so a response never precedes its request, and nothing that was received is missing."""
    relay = Relay(None, None, Recording(path, "s", print))  # type: ignore[arg-type]
    pieces = iter([b'{"id": 1}\n', b""])
    found: list[Any] = []

    relay._pass("client", lambda: next(pieces), lambda _: found.extend(row.get("message") for row in rows(path)))

    assert found == [None, {"id": 1}]


def test_messages_are_written_one_at_a_time_with_the_time_of_their_writing(path: Path) -> None:
    """Ours: lines that are mixed are lost, and no line has an earlier time than the one above it."""
    recording = Recording(path, "s", print)
    other = threading.Thread(target=recording.said, args=("server", b"2"))

    def masker() -> Masker:
        if not other.ident:
            other.start()
            other.join(0.05)
        return Masker()

    recording.masker = masker
    recording.said("client", b"1")
    other.join()

    _, first, second = rows(path)
    assert (first["message"], second["message"]) == (1, 2)
    assert first["ms"] < second["ms"]


def test_secrets_are_not_written(path: Path) -> None:
    """Ours: a recording is passed on to other people."""
    recording = Recording(path, "s", print)
    recording.masker = lambda: Masker(["hunter2222"])

    recording.said("server", b'{"text": "has hunter2222"}')

    assert rows(path)[1]["message"] == {"text": "has ****"}


def test_only_the_first_problem_is_reported(path: Path) -> None:
    """Ours: the others follow from it."""
    reported: list[str] = []
    recording = Recording(path, "s", reported.append)

    recording.fail("one")
    recording.fail("two")

    assert recording.problem == "one"
    assert reported == [f"{path}: nothing more is recorded: one"]


def test_a_refused_file_is_closed(path: Path) -> None:
    """Ours: what opens a file closes it."""
    path.write_text("mine\n")
    before = set(Path("/proc/self/fd").iterdir())

    with pytest.raises(ConfigFileError):
        Recording(path, "s", print)

    assert set(Path("/proc/self/fd").iterdir()) == before
    assert path.read_text() == "mine\n"


def test_a_file_that_cannot_be_a_recording_is_refused(tmp_path: Path) -> None:
    """Ours: a device keeps nothing, and what is not read cannot be appended to."""
    large = tmp_path / "large"
    large.touch()
    os.truncate(large, MAX_RECORD_BYTES + 1)

    for path, reason in (
        (Path("/dev/null"), "is not a regular file"),
        (large, "cannot be read"),
        (tmp_path / "no" / "folder", "cannot be written: No such file or directory"),
    ):
        with pytest.raises(ConfigFileError, match=reason):
            Recording(path, "s", print)


@contextmanager
def full_disk(size: int) -> Iterator[None]:
    """No file may have more bytes."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_full_disk_ends_the_recording_and_leaves_whole_lines(path: Path) -> None:
    """Ours: it can be read also then. A file without its header is not left."""
    with full_disk(10), pytest.raises(ConfigFileError, match="cannot be written: File too large"):
        Recording(path, "s", print)
    assert not path.exists()

    reported: list[str] = []
    recording = Recording(path, "s", reported.append)
    with full_disk(path.stat().st_size + 10):
        recording.said("client", b"1")
    recording.said("client", b"2")

    assert reported == [f"{path}: nothing more is recorded: File too large"]
    assert len(rows(path)) == 1


def test_two_recordings_cannot_append_to_one_file(path: Path) -> None:
    """Ours: the two would be one."""
    first = Recording(path, "s", print)

    with pytest.raises(ConfigFileError):
        Recording(path, "s", print)

    first.said("client", b"1")
    assert len(rows(path)) == 2

    # As where a lock would also block readers.
    Recording(path, "s", print, locks=False)
    assert len(rows(path)) == 3


def test_a_line_that_was_cut_off_is_removed(path: Path) -> None:
    """Ours: every line can be read, also after a crash."""
    Recording(path, "s", print).said("client", b"1")
    whole, copy = path.read_bytes(), path.with_name("copy.jsonl")
    copy.write_bytes(whole + b'{"from": "cli')

    Recording(copy, "s", print)

    assert copy.read_bytes().startswith(whole)
    assert [row.get("message") for row in rows(copy)] == [None, 1, None]


def test_a_line_without_end_ends_the_recording(path: Path) -> None:
    """Ours: it is passed on all the same."""
    recording = Recording(path, "s", print)
    relay = Relay(None, None, recording)  # type: ignore[arg-type]

    relay._record("server", LineBuffer(limit=10), b"x" * 11)
    recording.said("server", b"{}")
    relay._record("server", LineBuffer(), b"{}\n")

    assert recording.problem == "the server wrote a line of more than 10 bytes"
    assert len(rows(path)) == 1


# Prints before it is asked, what is not a message, and a line without an end.
ODD = """
import os, sys
os.write(1, b'ready \\xff\\r\\n')
data = os.read(0, 100)
os.write(1, data.upper() + b'no end')
os.read(0, 100)
sys.exit(7)
"""


def test_bytes_pass_unchanged_and_at_once_in_both_directions(path: Path) -> None:
    """Ours: also a line that is not a message, one without a newline, and output before the first request."""
    child = Child("odd", sys.executable, ["-S", "-c", ODD], environment=os.environ, cwd=None)
    with piped() as (pipes, to_relay, from_relay), ThreadPoolExecutor(1) as threads:
        status = threads.submit(Relay(pipes, child, Recording(path, "odd", print)).run)
        assert os.read(from_relay, 100) == b"ready \xff\r\n"
        os.write(to_relay, b'{"a":  1}')
        answer = b""
        while len(answer) < 15:
            answer += os.read(from_relay, 100)
        os.close(to_relay)

        assert status.result(PATIENCE_SECONDS) == 7
        os.close(from_relay)

    assert answer == b'{"A":  1}no end'
    sent = [(row["from"], row.get("message", row.get("text"))) for row in rows(path)[1:]]
    assert sorted(sent, key=lambda each: each[0]) == [
        ("client", {"a": 1}), ("server", "ready \ufffd"), ("server", '{"A":  1}no end')
    ]  # fmt: skip


def test_a_server_that_does_not_end_with_its_client_is_stopped(path: Path) -> None:
    """Ours: its exit status is due to that, and is not reported as a failure."""
    child = Child("sleeps", "/bin/sleep", ["60"], environment=os.environ, cwd=None)
    with piped() as (pipes, to_relay, from_relay):
        os.close(to_relay)
        assert Relay(pipes, child, Recording(path, "sleeps", print), grace_seconds=0.0).run() == 0
        os.close(from_relay)

    assert not child.is_running()

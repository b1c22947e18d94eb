"""A conversation that is passed on, and the file that it is written to."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

import pytest

from gaia_mcp.core.errors import ConfigFileError
from gaia_mcp.fleet.recorder import Recording, Relay
from gaia_mcp.protocol.framing import LineBuffer
from gaia_mcp.text.redaction.masker import Masker


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


def test_a_device_is_refused() -> None:
    """Ours: a device keeps nothing."""
    with pytest.raises(ConfigFileError):
        Recording(Path("/dev/null"), "s", print)


def test_two_recordings_cannot_append_to_one_file(path: Path) -> None:
    """Ours: the two would be one."""
    first = Recording(path, "s", print)

    with pytest.raises(ConfigFileError):
        Recording(path, "s", print)

    first.said("client", b"1")
    assert len(rows(path)) == 2


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

    assert recording.problem == "the server wrote a line of more than 10 bytes"
    assert len(rows(path)) == 1

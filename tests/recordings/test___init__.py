"""Recorded conversations as JSON lines."""

from __future__ import annotations

import json
import threading
from typing import Any

import pytest

from gaia_mcp.recordings import (
    CLIENT,
    SERVER,
    Transcript,
    TranscriptError,
    TranscriptLine,
    header_line,
    message_line,
    read_transcripts,
)
from gaia_mcp.recordings.replay import Player
from tests.protocol_support import check_rows

HEADER = header_line("time", "2026-11-21T08:00:00+00:00")


def unmasked(value: Any) -> Any:
    return value


def test_a_written_transcript_is_read_back() -> None:
    """Ours: messages, batches, and lines that are not JSON."""
    written = HEADER + b"".join([
        message_line(CLIENT, b'{"id": 1, "x": "gr\xc3\xbc\xc3\x9f"}', 0, unmasked),
        message_line(SERVER, b'[{"id":1}]', 5, unmasked),
        message_line(SERVER, b"Listening \xff", 7, unmasked),
        message_line(SERVER, b'{"a": NaN}', 8, unmasked),
    ])  # fmt: skip

    found, is_cut = read_transcripts(written)

    assert not is_cut
    assert found == [
        Transcript(
            "time",
            "2026-11-21T08:00:00+00:00",
            [
                TranscriptLine(CLIENT, {"id": 1, "x": "grüß"}, None, 0),
                TranscriptLine(SERVER, [{"id": 1}], None, 5),
                TranscriptLine(SERVER, None, "Listening \ufffd", 7),
                TranscriptLine(SERVER, None, '{"a": NaN}', 8),
            ],
        )
    ]


def test_each_line_is_one_json_object_in_ascii() -> None:
    """Ours: other programs read it, too."""
    line = message_line(SERVER, '{"a": "\u2028ü"}'.encode(), 3, unmasked)

    assert line.count(b"\n") == 1
    assert line.isascii()
    assert json.loads(line) == {"from": "server", "message": {"a": "\u2028ü"}, "ms": 3}
    assert list(json.loads(HEADER)) == ["format", "version", "server", "date"]


def test_secrets_are_masked_in_values_and_texts() -> None:
    """Ours: also out of a line that is not JSON."""

    def mask(value: Any) -> Any:
        return "masked " + type(value).__name__

    assert json.loads(message_line(CLIENT, b'{"a": 1}', 0, mask))["message"] == "masked dict"
    assert json.loads(message_line(CLIENT, b"{", 0, mask))["text"] == "masked str"


def test_a_file_may_hold_several_conversations() -> None:
    """Ours: one for each start of the server. Blank lines are ignored."""
    said = message_line(CLIENT, b"{}", 0, unmasked)

    found, _ = read_transcripts(HEADER + said + b"\n" + HEADER + HEADER + said + said)

    assert [len(one.lines) for one in found] == [1, 0, 2]


def test_a_truncated_last_line_is_left_out() -> None:
    """Ours: its writer was killed."""
    found, is_cut = read_transcripts(HEADER + message_line(CLIENT, b"{}", 0, unmasked)[:-3])

    assert (found[0].lines, is_cut) == ([], True)


def test_spaces_at_the_end_are_not_a_truncated_line() -> None:
    """Ours: an editor may leave some."""
    assert read_transcripts(HEADER + b"  ")[1] is False


def test_a_message_with_a_text_beside_it_is_a_message() -> None:
    """Ours: a text is recorded only without a message."""
    (found,), _ = read_transcripts(HEADER + b'{"from": "client", "message": {}, "text": "x"}\n')

    assert found.lines == [TranscriptLine(CLIENT, {}, None, 0)]


def test_an_invalid_file_is_an_error_with_the_number_of_its_line() -> None:
    """Ours: recordings are edited by hand, and the user needs the line to correct."""
    cases = [
        (b"", 1),
        (HEADER[:-1], 1),
        (b"{\n", 1),
        (b"[]\n", 1),
        (b'{"from": "client", "message": {}}\n', 1),
        (b'{"format": "other", "version": 1}\n', 1),
        (b'{"format": "gaia-mcp-conversation", "version": "1"}\n', 1),
        (b'{"format": "gaia-mcp-conversation", "version": 2}\n', 1),
        (HEADER + b"x\n", 2),
        (HEADER + b'\n{"from": "nobody", "message": {}}\n', 3),
        (HEADER + b'{"from": "client"}\n', 2),
        (HEADER + b'{"from": "client", "text": 7}\n', 2),
    ]

    def check(data: bytes, line: int) -> None:
        with pytest.raises(TranscriptError) as caught:
            read_transcripts(data)

        assert caught.value.line == line

    check_rows(check, cases)


def test_an_invalid_time_is_read_as_zero() -> None:
    """Ours: nothing depends on it."""
    (found,), _ = read_transcripts(HEADER + b'{"from": "client", "message": 1, "ms": "x"}\n')

    assert found.lines == [TranscriptLine(CLIENT, 1, None, 0)]


def test_values_nested_as_deeply_as_can_be_read_are_recorded_and_replayed() -> None:
    """Ours: a few values can be read but not written again; they must not end the conversation."""

    def passes() -> None:
        for depth in range(900, 1100):
            record = b'{"jsonrpc":"2.0","id":1,"method":"x","params":{"a":%s}}' % (b"[" * depth + b"]" * depth)
            try:
                (found,), _ = read_transcripts(HEADER + message_line(CLIENT, record, 1, unmasked))
            except TranscriptError:
                continue
            Player([found]).receive(record)
            passed.append(depth)

    # In a thread, as in the program: how deep one may go depends on where one stands.
    passed: list[int] = []
    thread = threading.Thread(target=passes)
    thread.start()
    thread.join()

    assert passed[-1] == 1099

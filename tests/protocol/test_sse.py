"""Bytes become server-sent events."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gaia_mcp.protocol.framing import MAX_RECORD_BYTES
from gaia_mcp.protocol.sse import KEEP_ALIVE, EventParser, EventTooLongError, ServerSentEvent, write_event
from tests.protocol_support import check_each, steady

PIECES = [
    b"data: a", b"data:b", b"data", b"data:", b"event: e", b"id: 7", b"id", b"id: a\0b", b"retry: 50", b"retry: x",
    b": hi", b"unknown: x", b"\xef\xbb\xbf", b"\r", b"\n", b"\r\n", b"\n\n", b"\r\n\r\n", b"\xc3", b"\xa9",
]  # fmt: skip


def cut(data: bytes, places: list[int]) -> list[bytes]:
    ends = sorted({place % (len(data) + 1) for place in places})
    return [data[start:end] for start, end in zip([0, *ends], [*ends, len(data)], strict=True)]


def events_of(*pieces: bytes) -> list[ServerSentEvent]:
    parser = EventParser()
    return [event for piece in pieces for event in parser.feed(piece)]


@steady
@given(st.lists(st.sampled_from(PIECES)), st.lists(st.integers(min_value=0)))
def test_events_do_not_depend_on_chunk_boundaries(pieces: list[bytes], places: list[int]) -> None:
    """Ours: a connection cuts where it likes, also at each byte."""
    data = b"".join(pieces)
    whole, parts, bytewise = EventParser(), EventParser(), EventParser()

    expected = whole.feed(data)

    assert [event for part in cut(data, places) for event in parts.feed(part)] == expected
    assert [event for at in range(len(data)) for event in bytewise.feed(data[at : at + 1])] == expected
    known = (whole.last_id, whole.retry_ms)
    assert (parts.last_id, parts.retry_ms) == known
    assert (bytewise.last_id, bytewise.retry_ms) == known


def test_an_event_is_returned_at_its_blank_line() -> None:
    """Spec, HC-3: a response may be an event."""
    parser = EventParser()

    assert parser.feed(b'event: message\ndata: {"a":1}\n') == []
    assert parser.feed(b"\n") == [ServerSentEvent(b'{"a":1}')]


def test_lines_of_data_are_joined_by_newlines() -> None:
    """Spec, Streamable HTTP: so a message may be written over several lines."""
    assert events_of(b"data: {\ndata:  1\ndata\ndata:}\n\n") == [ServerSentEvent(b"{\n 1\n\n}")]


def test_every_line_ending_of_the_format_is_read() -> None:
    """WHATWG: a carriage return, a newline, or both."""
    assert events_of(b"data: a\r\n\r\ndata: b\r\rdata: c\n\n") == [
        ServerSentEvent(b"a"),
        ServerSentEvent(b"b"),
        ServerSentEvent(b"c"),
    ]


def test_a_line_ending_across_chunks_ends_one_line() -> None:
    """WHATWG: the second half of a line end is not a blank line."""
    assert events_of(b"data: a\r", b"\ndata: b\r", b"", b"\n\r", b"\n") == [ServerSentEvent(b"a\nb")]


def test_comments_are_ignored() -> None:
    """Spec, HC-3: servers keep streams open with them."""
    assert events_of(KEEP_ALIVE, b": ping\ndata: a\n:\n\n", KEEP_ALIVE) == [ServerSentEvent(b"a")]


def test_an_event_without_data_only_sets_the_last_event_id() -> None:
    """Spec, LC-8: the first event of a stream names it, so that it can be resumed."""
    parser = EventParser()

    assert parser.feed(b"id: s-1\nretry: 500\ndata: \n\n") == []
    assert (parser.last_id, parser.retry_ms) == ("s-1", 500)


def test_an_id_is_recorded_when_its_event_is_complete() -> None:
    """WHATWG: what was cut off must be sent again."""
    parser = EventParser()
    parser.feed(b"id: 1\ndata: a\n\nid: 2\ndata: b\n")
    assert parser.last_id == "1"

    assert parser.feed(b"\n") == [ServerSentEvent(b"b", id="2")]
    assert parser.last_id == "2"


def test_an_id_applies_to_later_events_until_it_is_reset() -> None:
    """WHATWG: an empty id takes it back, and one with a null character is ignored."""
    parser = EventParser()

    events = parser.feed(b"id: 1\ndata: a\n\ndata: b\n\nid: x\0\ndata: c\n\nid\ndata: d\n\n")

    assert [event.id for event in events] == ["1", "1", "1", ""]


def test_an_event_name_applies_to_one_event() -> None:
    """Spec, HTTP+SSE: an event names the endpoint."""
    events = events_of(b"event: endpoint\ndata: /messages\n\ndata: {}\n\n")

    assert [(event.name, event.data) for event in events] == [("endpoint", b"/messages"), ("message", b"{}")]


def test_a_retry_time_that_is_not_digits_is_ignored() -> None:
    """WHATWG: ASCII digits alone."""
    cases = [b"retry: soon", b"retry: -1", b"retry:", b"retry: 1.5", "retry: ١".encode()]

    def check(written: bytes) -> None:
        parser = EventParser()
        parser.feed(b"retry: 20\n" + written + b"\n")

        assert parser.retry_ms == 20

    check_each(check, cases)


def test_a_retry_time_of_thousands_of_digits_is_limited() -> None:
    """Ours: Python refuses to read so many, and the stream goes on."""
    parser = EventParser()
    parser.feed(b"retry: " + b"9" * 10_000 + b"\n")

    assert parser.retry_ms == 999_999_999_999


def test_a_byte_order_mark_is_ignored_only_at_the_start() -> None:
    """WHATWG: one at the start of the stream; elsewhere it makes another field."""
    assert events_of(b"\xef\xbb", b"\xbfdata: a\n\n") == [ServerSentEvent(b"a")]
    assert events_of(b"\n\xef\xbb\xbfdata: a\n\n") == []


def test_field_names_are_compared_exactly() -> None:
    """WHATWG: one blank after the colon is not part of the value."""
    assert events_of(b"Data: a\ndata:  b\n data: c\ndatax: d\n\n") == [ServerSentEvent(b" b")]


def test_an_incomplete_event_is_discarded() -> None:
    """WHATWG: an event without its blank line is discarded."""
    assert events_of(b"data: a\n\ndata: b\n") == [ServerSentEvent(b"a")]


@pytest.mark.parametrize(
    "pieces", [[b"data: aaa", b"aaaaaaaa"], [b"data: aaaaa\n", b"data: aaaaa\n"], [b": ", b"a" * 10]]
)
def test_an_event_longer_than_the_limit_is_an_error(pieces: list[bytes]) -> None:
    """Ours: records are bounded, in one line or in many."""
    parser = EventParser(limit=10)
    parser.feed(pieces[0])

    with pytest.raises(EventTooLongError) as caught:
        parser.feed(pieces[1])

    assert caught.value.limit == 10


def test_every_event_may_be_as_long_as_the_limit() -> None:
    """Ours: the limit is for one event, not for the stream."""
    parser = EventParser(limit=16)

    for _ in range(5):
        assert parser.feed(b"data: aaaaaaaaaa\n\n: 1234567890\n") == [ServerSentEvent(b"a" * 10)]


def test_a_large_event_is_read() -> None:
    """Ours: pictures and sound come as one event."""
    assert MAX_RECORD_BYTES >= 64 * 1024 * 1024
    parser = EventParser()
    parser.feed(b"data: ")
    for _ in range(64):
        assert parser.feed(b"a" * 65536) == []

    assert parser.feed(b"\n\n") == [ServerSentEvent(b"a" * 65536 * 64)]


@steady
@given(
    st.binary(min_size=1).filter(lambda data: b"\r" not in data and not data.endswith(b"\n")),
    st.text(st.characters(exclude_characters="\r\n\0", exclude_categories=["Cs"])),
)
def test_a_written_event_is_read_back(data: bytes, event_id: str) -> None:
    """Ours: the writer and the reader agree."""
    assert events_of(write_event(data, id=event_id)) == [ServerSentEvent(data, id=event_id)]


def test_a_message_is_written_as_one_event() -> None:
    """Spec, HS-3: the record of a message ends with a newline, which is not part of it."""
    record = json.dumps({"id": 1}).encode() + b"\n"

    assert write_event(record, name="message", id="s-1") == b'event: message\nid: s-1\ndata: {"id": 1}\n\n'


def test_an_event_without_data_names_the_stream() -> None:
    """Spec, LC-8: and tells when to come back."""
    assert write_event(b"", id="s-0", retry_ms=500) == b"id: s-0\nretry: 500\ndata: \n\n"


@pytest.mark.parametrize("fields", [{"name": "a\nb"}, {"id": "a\rb"}, {"id": "a\0"}])
def test_a_field_with_a_line_break_is_not_written(fields: dict[str, str]) -> None:
    """Ours: an id made by others must not make events."""
    with pytest.raises(ValueError, match="line end or a null character"):
        write_event(b"a", **fields)  # type: ignore[arg-type]


def test_a_resumed_stream_is_read_by_a_new_parser() -> None:
    """WHATWG: the last id and the time to reconnect stay; a half event of the stream before does not."""
    before = EventParser(100)
    before.feed(b"retry: 5\nid: 7\ndata: a\n\ndata: half")

    parser = before.resumed()

    assert (parser.last_id, parser.retry_ms) == ("7", 5)
    assert parser.feed(b"data: b\n\n") == [ServerSentEvent(b"b", id="7")]
    with pytest.raises(EventTooLongError):
        parser.feed(b"data: " + b"x" * 200)

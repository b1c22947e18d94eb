"""Bytes become records."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gaia_mcp.protocol.framing import MAX_RECORD_BYTES, LineBuffer, RecordTooLongError
from tests.protocol_support import steady


def cut(data: bytes, places: list[int]) -> list[bytes]:
    ends = sorted({place % (len(data) + 1) for place in places})
    return [data[start:end] for start, end in zip([0, *ends], [*ends, len(data)], strict=True)]


@steady
@given(
    st.lists(st.sampled_from([b"a", b"{}", b" ", b"\t", b"\r", b"\n", b"\r\n", b"\xc3", b"\xa9", b"xyz"])),
    st.lists(st.integers(min_value=0)),
)
def test_records_do_not_depend_on_chunk_boundaries(pieces: list[bytes], places: list[int]) -> None:
    """Ours: a pipe may cut the stream anywhere."""
    data = b"".join(pieces)
    whole, parts = LineBuffer(), LineBuffer()

    expected = whole.feed(data) + whole.finish()
    found = [record for part in cut(data, places) for record in parts.feed(part)] + parts.finish()

    assert found == expected
    stripped = [line.removesuffix(b"\r") for line in data.split(b"\n")]
    assert expected == [line for line in stripped if line and not line.isspace()]


def test_a_record_is_returned_when_its_line_ends() -> None:
    """Spec, IO-1: lines end with a newline."""
    buffer = LineBuffer()

    assert buffer.feed(b'{"a"') == []
    assert buffer.feed(b":1}") == []
    assert buffer.feed(b'\n{"b":2}\n{"c"') == [b'{"a":1}', b'{"b":2}']
    assert buffer.feed(b":3}\n") == [b'{"c":3}']


def test_both_line_endings_are_read_across_chunks() -> None:
    """Spec, stdio: readers accept a carriage return."""
    buffer = LineBuffer()

    assert buffer.feed(b"a\r\nb\r") == [b"a"]
    assert buffer.feed(b"\n") == [b"b"]


def test_a_carriage_return_inside_a_line_is_preserved() -> None:
    """Ours: only the line ending is removed from a record."""
    assert LineBuffer().feed(b"a\rb\r\r\n") == [b"a\rb\r"]


def test_blank_lines_are_skipped() -> None:
    """Spec, stdio: readers skip them."""
    assert LineBuffer().feed(b"\n\r\n  \t\na\n\n") == [b"a"]


def test_an_unterminated_last_line_is_returned_at_the_end_of_the_stream() -> None:
    """Ours: a server that crashes may not have written the newline."""
    buffer = LineBuffer()
    buffer.feed(b"a\nlast")
    buffer.feed(b" words\r")

    assert buffer.finish() == [b"last words"]
    assert buffer.finish() == []


def test_a_buffer_can_be_used_after_its_stream_ended() -> None:
    """Ours: nothing of the last line is left."""
    buffer = LineBuffer(limit=4)
    buffer.feed(b"abcd")
    buffer.finish()

    assert buffer.feed(b"efgh") == []
    assert buffer.feed(b"\n") == [b"efgh"]


def test_a_line_longer_than_the_limit_is_an_error() -> None:
    """Spec, IO-9: line length is bounded."""
    buffer = LineBuffer(limit=10)
    buffer.feed(b"a" * 6)

    with pytest.raises(RecordTooLongError) as caught:
        buffer.feed(b"a" * 5)

    assert caught.value.limit == 10


def test_an_unterminated_line_counts_towards_the_limit() -> None:
    """Spec, IO-9: also when lines came before it."""
    with pytest.raises(RecordTooLongError):
        LineBuffer(limit=10).feed(b"short\n" + b"a" * 11)


def test_every_line_may_be_as_long_as_the_limit() -> None:
    """Ours: the limit is for one line, not for the stream."""
    buffer = LineBuffer(limit=10)
    records: list[bytes] = []
    for _ in range(5):
        records += buffer.feed(b"a" * 5)
        records += buffer.feed(b"a" * 5)
        records += buffer.feed(b"\n")

    assert records == [b"a" * 10] * 5


def test_a_large_record_is_read() -> None:
    """Ours: pictures and sound come as one line."""
    assert MAX_RECORD_BYTES >= 64 * 1024 * 1024
    buffer = LineBuffer()
    for _ in range(64):
        assert buffer.feed(b"a" * 65536) == []

    assert buffer.feed(b"\n") == [b"a" * 65536 * 64]

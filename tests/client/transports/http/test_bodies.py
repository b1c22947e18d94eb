"""Bodies become values."""

from __future__ import annotations

from collections.abc import Iterator

import httpcore2
import pytest

from gaia_mcp.client.transports.http.bodies import MAX_EXCERPT_BYTES, begin, events, kind_of, read, text_of
from gaia_mcp.client.transports.http.connections import Response
from gaia_mcp.errors import RemoteProtocolError
from gaia_mcp.protocol.sse import EventParser, ServerSentEvent


class Pieces:
    def __init__(self, *pieces: bytes) -> None:
        self.left = list(pieces)

    def __iter__(self) -> Iterator[bytes]:
        while self.left:
            yield self.left.pop(0)


def response(pieces: Pieces, kind: str | None = None) -> Response:
    sent = httpcore2.Request("POST", "http://web", extensions={"timeout": {}})
    received = httpcore2.Response(200, headers=[("Content-Type", kind)] if kind else [], content=pieces)
    return Response("http://web", sent, received, httpcore2.ConnectionPool().create_connection(sent.url.origin))


@pytest.mark.parametrize(
    ("given", "kind"),
    [("application/json; charset=utf-8", "application/json"), ("Text/Event-Stream", "text/event-stream"), (None, "")],
)
def test_a_media_type_is_compared_without_its_parameters(given: str | None, kind: str) -> None:
    """HTTP: types are compared ignoring case."""
    assert kind_of(response(Pieces(), given)) == kind


def test_a_body_is_read_up_to_a_size_limit() -> None:
    """Ours: a server that never ends its body does not exhaust the memory."""
    assert read(response(Pieces(b"ab", b"c")), "web", limit=3) == b"abc"

    with pytest.raises(RemoteProtocolError, match="more than 3 bytes"):
        read(response(Pieces(b"ab", b"cd")), "web", limit=3)


def test_the_excerpt_of_a_body_is_limited() -> None:
    """Ours: the body of an error page may be endless."""
    endless = Pieces(*[b"a" * MAX_EXCERPT_BYTES] * 3)

    assert len(begin(response(endless))) == MAX_EXCERPT_BYTES
    assert endless.left
    assert begin(response(Pieces(b"a", b"b"))) == b"ab"
    assert begin(response(Pieces(b"a", b"b")), seconds=-1) == b"a"


def test_the_excerpt_of_an_interrupted_body_is_returned() -> None:
    """Ours: it is read for an error that is known already."""

    class Broken(Pieces):
        def __iter__(self) -> Iterator[bytes]:
            yield b"a"
            raise httpcore2.ReadTimeout

    assert begin(response(Broken())) == b"a"


def test_events_are_returned_as_they_arrive() -> None:
    """Spec, HC-3: progress comes before the response."""
    pieces = Pieces(b"data: a\n\nda", b"ta: b\n\ndata: c\n\n")
    found = events(response(pieces), EventParser(), "web")

    assert next(found) == ServerSentEvent(b"a")
    assert pieces.left
    assert [event.data for event in found] == [b"b", b"c"]


def test_an_event_that_is_too_long_is_a_protocol_error() -> None:
    """Ours: records are bounded."""
    with pytest.raises(RemoteProtocolError, match="an event of more than 5 bytes"):
        list(events(response(Pieces(b"data: abcdef")), EventParser(limit=5), "web"))


def test_a_record_is_decoded_if_it_is_valid_utf_8() -> None:
    """Ours: what is no text goes to the log as it is."""
    assert text_of("é".encode()) == "é"
    assert text_of(b"\xff") == b"\xff"

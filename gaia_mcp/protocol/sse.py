"""Server-sent events on a byte stream: read by a client and written by a server over HTTP.

Knows only the text format (WHATWG HTML, "Server-sent events"), not what the events carry.
"""

from __future__ import annotations

from typing import NamedTuple

from gaia_mcp.protocol.framing import MAX_RECORD_BYTES

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
# Characters that a one-line field cannot contain.
_LINE_ENDS = "\r\n"


class EventTooLongError(ValueError):
    """An event is longer than the limit. The stream cannot be read any further."""

    def __init__(self, limit: int) -> None:
        super().__init__(f"an event of more than {limit} bytes")
        self.limit = limit


class ServerSentEvent(NamedTuple):
    """One event. `data` has its lines joined by newlines and is never empty; `name` is "message" unless it has one.

    `id` is the event id to resume the stream after, empty if the stream has sent none.
    """

    data: bytes
    name: str = "message"
    id: str = ""


class EventParser:
    """Turns arriving bytes into events.

    `last_id` is the id of the last finished event that had one, including events without data, which are not returned;
    an empty id resets it. `retry_ms` is how long the server asks clients to wait before they reconnect, None unless it
    has sent a time. Data grows in one buffer, so that an event of 50 MB leaves no small freed blocks behind.
    """

    __slots__ = ("_begun", "_data", "_id", "_is_first", "_limit", "_name", "_skips_newline", "last_id",
                 "retry_ms")  # fmt: skip

    def __init__(self, limit: int = MAX_RECORD_BYTES) -> None:
        self.last_id = ""
        self.retry_ms: int | None = None
        self._limit = limit
        # The unfinished line.
        self._begun = bytearray()
        # The last line ended with a carriage return. A newline at the start of the next chunk belongs to it.
        self._skips_newline = False
        self._is_first = True
        # None before the first line of data.
        self._data: bytes | bytearray | None = None
        self._name = ""
        self._id: str | None = None

    def resumed(self) -> EventParser:
        """A parser for the stream that resumes after the last finished event of this one."""
        parser = EventParser(self._limit)
        parser.last_id, parser.retry_ms = self.last_id, self.retry_ms
        return parser

    def feed(self, data: bytes) -> list[ServerSentEvent]:
        """The events that `data` completes.

        Raises `EventTooLongError` when an unfinished event passes the limit.
        """
        if self._skips_newline and data:
            self._skips_newline = False
            data = data.removeprefix(b"\n")
        events: list[ServerSentEvent] = []
        for line in data.splitlines(keepends=True):
            end = line[-1:]
            if end not in (b"\n", b"\r"):
                self._begun += line
                self._check()
                break
            bare = line[:-2] if line.endswith(b"\r\n") else line[:-1]
            if self._begun:
                self._begun += bare
                finished, self._begun = self._begun, bytearray()
                self._take(finished, events)
            else:
                self._take(bare, events)
        else:
            self._skips_newline = data.endswith(b"\r")
        return events

    def _take(self, line: bytes | bytearray, events: list[ServerSentEvent]) -> None:
        if self._is_first:
            self._is_first = False
            # Checked first: removing it copies the line, which may have 50 MB.
            if line.startswith(_BYTE_ORDER_MARK):
                line = line.removeprefix(_BYTE_ORDER_MARK)
        if not line:
            self._finish(events)
        elif line.startswith(b"data:") or line == b"data":
            # A `bytearray` drops its prefix without copying the rest.
            start = 6 if line[5:6] == b" " else 5
            if isinstance(line, bytearray):
                del line[:start]
            else:
                line = line[start:]
            if self._data is None:
                self._data = line
            else:
                if isinstance(self._data, bytes):
                    self._data = bytearray(self._data)
                self._data += b"\n"
                self._data += line
            self._check()
        else:
            self._take_field(line)

    def _take_field(self, line: bytes | bytearray) -> None:
        field, _, rest = bytes(line).partition(b":")
        value = rest.removeprefix(b" ").decode(errors="replace")
        if field == b"event":
            self._name = value
        elif field == b"id" and "\0" not in value:
            self._id = value
        elif field == b"retry" and value.isascii() and value.isdigit():
            # More digits than any sensible time has; Python refuses to parse thousands of them.
            self.retry_ms = int(value[:12])

    def _finish(self, events: list[ServerSentEvent]) -> None:
        if self._id is not None:
            self.last_id = self._id
        if self._data:
            events.append(ServerSentEvent(bytes(self._data), self._name or "message", self.last_id))
        self._data, self._name, self._id = None, "", None

    def _check(self) -> None:
        if len(self._data or b"") + len(self._begun) > self._limit:
            raise EventTooLongError(self._limit)


def write_event(data: bytes, *, name: str = "", id: str = "", retry_ms: int | None = None) -> bytes:  # noqa: A002 (the name of the field)
    """An event, encoded. Readers ignore an event without data, except for its id and its retry time.

    Raises `ValueError` for a name or an id with a line end, or an id with a null character.
    """
    if any(end in text for text in (name, id) for end in _LINE_ENDS) or "\0" in id:
        raise ValueError("the name or the id of an event holds a line end or a null character")
    fields = []
    if name:
        fields.append(b"event: " + name.encode())
    if id:
        fields.append(b"id: " + id.encode())
    if retry_ms is not None:
        fields.append(b"retry: %d" % retry_ms)
    fields += [b"data: " + line for line in data.splitlines() or (b"",)]
    return b"\n".join(fields) + b"\n\n"


# Keeps an idle stream open: readers ignore comments, and proxies see that the connection is in use.
KEEP_ALIVE = b":\n\n"

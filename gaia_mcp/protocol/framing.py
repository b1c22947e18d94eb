"""Records on a byte stream: one line each, of bounded length."""

from __future__ import annotations

# A whole video in base64 fits; a server that never ends its line does not exhaust memory.
MAX_RECORD_BYTES = 256 * 1024 * 1024


class RecordTooLongError(ValueError):
    """A line is longer than the limit. The stream cannot be read any further."""

    def __init__(self, limit: int) -> None:
        super().__init__(f"a line of more than {limit} bytes")
        self.limit = limit


class LineBuffer:
    """Splits arriving bytes into lines.

    An unfinished line grows in one buffer, so that a record of 50 MB leaves no small freed blocks behind.
    """

    __slots__ = ("_begun", "_limit")

    def __init__(self, limit: int = MAX_RECORD_BYTES) -> None:
        self._limit = limit
        self._begun = bytearray()

    def feed(self, data: bytes) -> list[bytes]:
        """The records that `data` completes, without line ends; blank ones are left out.

        Raises `RecordTooLongError` when an unfinished line passes the limit.
        """
        head, newline, rest = data.partition(b"\n")
        if not newline:
            self._keep(data)
            return []
        records: list[bytes] = []
        _add(records, self._finished(head) if self._begun else head)
        if rest:
            lines = rest.split(b"\n")
            last = lines.pop()
            for line in lines:
                _add(records, line)
            if last:
                self._keep(last)
        return records

    def finish(self) -> list[bytes]:
        """The unfinished line at the end of the stream, if there is one."""
        records: list[bytes] = []
        _add(records, self._finished(b""))
        return records

    def _finished(self, last: bytes) -> bytes:
        self._begun += last
        line = bytes(self._begun)
        self._begun = bytearray()
        return line

    def _keep(self, piece: bytes) -> None:
        self._begun += piece
        if len(self._begun) > self._limit:
            raise RecordTooLongError(self._limit)


def _add(records: list[bytes], line: bytes) -> None:
    if line.endswith(b"\r"):
        line = line[:-1]
    if line and not line.isspace():
        records.append(line)

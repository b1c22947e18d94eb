"""Records on a byte stream: one line each, of bounded length."""

from __future__ import annotations

# A whole video as base64 fits; a server that never ends its line does not take the machine with it.
MAX_RECORD_BYTES = 256 * 1024 * 1024


class RecordTooLongError(ValueError):
    """A line that passed the limit before it ended. The stream cannot be read any further."""

    def __init__(self, limit: int) -> None:
        super().__init__(f"a line of more than {limit} bytes")
        self.limit = limit


class LineBuffer:
    """Cuts what arrives into lines.

    Keeps the pieces of an unfinished line as they came and joins them once, so that a record of 50 MB costs no more
    than itself.
    """

    __slots__ = ("_limit", "_pieces", "_size")

    def __init__(self, limit: int = MAX_RECORD_BYTES) -> None:
        self._limit = limit
        self._pieces: list[bytes] = []
        self._size = 0

    def feed(self, data: bytes) -> list[bytes]:
        """The records that `data` completes, without line ends; blank ones are left out.

        Raises `RecordTooLongError` when an unfinished line passes the limit.
        """
        head, newline, rest = data.partition(b"\n")
        if not newline:
            self._keep(data)
            return []
        records: list[bytes] = []
        if self._pieces:
            self._pieces.append(head)
            head = b"".join(self._pieces)
            self._pieces.clear()
            self._size = 0
        _add(records, head)
        if rest:
            lines = rest.split(b"\n")
            last = lines.pop()
            for line in lines:
                _add(records, line)
            if last:
                self._keep(last)
        return records

    def finish(self) -> list[bytes]:
        """The unfinished line at the stream's end, if there is one."""
        records: list[bytes] = []
        _add(records, b"".join(self._pieces))
        self._pieces.clear()
        self._size = 0
        return records

    def _keep(self, piece: bytes) -> None:
        self._pieces.append(piece)
        self._size += len(piece)
        if self._size > self._limit:
            raise RecordTooLongError(self._limit)


def _add(records: list[bytes], line: bytes) -> None:
    if line.endswith(b"\r"):
        line = line[:-1]
    if line and not line.isspace():
        records.append(line)

"""A channel of one message per line: what a child's pipes and a socket have in common.

Reads as leader and followers do, splits what arrives into records, and writes each message whole. What the other end
is, how its end is reported, and what is closed, is known to the subclass.
"""

from __future__ import annotations

import threading
from abc import abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING

from gaia_mcp.client.transports.base import Channel, Receiver, T, encoded, time_ran_out
from gaia_mcp.client.transports.stdio.child_pipes import CutError, Outbox
from gaia_mcp.client.transports.stdio.leader_follower import LeaderFollower
from gaia_mcp.core.errors import MCPError, RemoteProtocolError
from gaia_mcp.protocol.framing import MAX_RECORD_BYTES, LineBuffer, RecordTooLongError
from gaia_mcp.protocol.jsonrpc import RequestId, parse, parse_text

if TYPE_CHECKING:
    from queue import SimpleQueue

    from gaia_mcp.core.deadline import Deadline
    from gaia_mcp.protocol.connection import Outgoing
    from gaia_mcp.text.redaction.masker import Masker

# After its output has ended a server has this long to exit, so that its exit status is known; and what it has sent
# before it ended is read for as long.
EXIT_STATUS_SECONDS = 0.5
# A record of this size or more is not held while it is processed.
LONG_BYTES = 1 << 20


class LineChannel(Channel):
    """A channel that writes with `write`, as in `InputPipe`. `masker` masks the secrets passed to the server.

    A subclass sets `_receiver`, and `_reader` and `_reading` to the thread and what it runs, in `start`.
    """

    has_one_stream = True

    def __init__(
        self,
        name: str,
        write: Callable[[bytes, Deadline], None],
        masker: Callable[[], Masker] | None = None,
        *,
        max_record_bytes: int = MAX_RECORD_BYTES,
        busy_polls: bool = True,
    ) -> None:
        super().__init__(name)
        self._write = write
        self._new_masker = masker
        self._lines = LineBuffer(max_record_bytes)
        self._busy_polls = busy_polls
        self._receiver: Receiver | None = None
        # Whether anything could be written before the other end closed.
        self._has_written = False
        self._outbox = Outbox(write)
        self._reader: threading.Thread | None = None
        self._reading: LeaderFollower | None = None
        # Why nothing more will be read, once reading has ended. Every later error reports how the other end closed.
        self._reason: MCPError | None = None

    def send(self, outgoing: Outgoing, deadline: Deadline, stage: str) -> None:
        data = encoded(outgoing)
        try:
            self._write(data, deadline)
            self._has_written = True
        except ConnectionError:
            raise self._no_longer_reads(stage) from None
        except TimeoutError as problem:
            error = time_ran_out(self.name, deadline, f"{stage} (it does not read its input)")
            if isinstance(problem, CutError):
                self._end(error)
            raise error from None
        except BaseException:
            # Ctrl-C, and a part of the message may have been written: the server could not parse anything after it.
            self._end(self._interrupted("writing to"))
            raise

    def send_soon(self, outgoing: Outgoing) -> None:
        self._outbox.put(encoded(outgoing))

    def wait(self, outcomes: SimpleQueue[T], about: RequestId | None, deadline: Deadline) -> T | None:
        if self._reading is None:
            return super().wait(outcomes, about, deadline)
        return self._reading.wait(outcomes, deadline)

    def wake(self) -> None:
        if self._reading is not None:
            self._reading.wake()

    def expect_many(self, at_once: int) -> None:  # noqa: ARG002
        assert self._reading is not None  # noqa: S101 (it was started)
        self._reading.sleep_only()

    def masker(self) -> Masker:
        return self._new_masker() if self._new_masker is not None else super().masker()

    def noise(self) -> str:
        """The end of the stderr of a server that does not respond."""
        from gaia_mcp.client.transports.stdio.exit_reasons import last_words

        said = last_words(self._stderr_tail())
        return f"the last line of its stderr: {said}" if said else ""

    # Reading.

    def _reading_from(self, descriptor: int, read: Callable[[], bytes]) -> LeaderFollower:
        return LeaderFollower(descriptor, read, self._take, self._finish, busy_polls=self._busy_polls)

    def _take(self, data: bytes) -> None:
        if self._reason is not None:
            return  # Unreadable from here on; it is only drained, so that the other end is not blocked.
        assert self._receiver is not None  # noqa: S101 (nothing is read before the start)
        try:
            records = self._lines.feed(data)
            while records:
                if records[0][0] in b"Cc":
                    self._check_framing(records[0])
                if len(records[0]) < LONG_BYTES:
                    self._receiver.receive(records.pop(0))
                else:
                    _hand_over(self._receiver, records)
        except RecordTooLongError as problem:
            self._end(RemoteProtocolError(self.name, f"wrote {problem}"))
        except RemoteProtocolError as error:
            self._end(error)

    def _finish(self, is_cut: bool) -> None:
        self._close_input()
        if is_cut:
            self._end(self._reason or self._interrupted("reading from"))
            return
        if self._reason is None:
            assert self._receiver is not None  # noqa: S101 (it was started)
            for record in self._lines.finish():
                if not _is_cut_off(record):
                    self._receiver.receive(record)
        # Even if there was a reason already: a Ctrl-C may have prevented its delivery to the callers.
        self._end(self._reason or self.why_lost("before it was asked to"))

    def _check_framing(self, record: bytes) -> None:
        if record[:15].lower() == b"content-length:":
            raise RemoteProtocolError(
                self.name,
                "frames its messages with Content-Length, as language servers do; MCP is one message per line",
                hint="its author has to change that",
            )

    def _read_rest(self) -> None:
        """Wait a moment for what the other end has sent before it closed: it may contain the reason."""
        if self._reader is not threading.current_thread():
            assert self._reader is not None  # noqa: S101 (nothing is sent before the start)
            assert self._reading is not None  # noqa: S101
            self._reading.keep_reading()
            self._reader.join(EXIT_STATUS_SECONDS)

    # The end.

    def _end(self, error: MCPError) -> None:
        self._reason = self._reason or error
        if self._receiver is not None:
            self._receiver.channel_ended(error)
        # The caller that reads may not be the one that found the end.
        self.wake()

    @abstractmethod
    def _stderr_tail(self) -> str:
        """The end of the server's stderr, without secrets."""

    @abstractmethod
    def _close_input(self) -> None:
        """Close what is read from. For the thread that reads."""

    @abstractmethod
    def _no_longer_reads(self, stage: str) -> MCPError:
        """End the channel to a server that no longer reads; returns the error."""

    @abstractmethod
    def _interrupted(self, action: str) -> MCPError:
        """The error for all callers after one was interrupted; a tool that another one called may have run."""


def _hand_over(receiver: Receiver, records: list[bytes]) -> None:
    """Remove the first of the records, a long one, and pass it on. It is released as soon as it has been parsed: a
    result of 50 MB must be in memory as few times as possible.
    """
    try:
        text = records[0].decode()
    except UnicodeDecodeError:
        receiver.receive(records.pop(0))
        return
    del records[0]
    try:
        value = parse_text(text)
    except ValueError:
        receiver.receive(text.encode())
    else:
        del text
        receiver.receive_message(value)


def _is_cut_off(record: bytes) -> bool:
    if not record.lstrip().startswith((b"{", b"[")):
        return False
    try:
        parse(record)
    except ValueError:
        return True
    return False


def in_words(stage: str) -> str:
    """When the connection ended, as the end of a sentence."""
    return stage if stage.startswith(("at ", "before ")) else f"while answering {stage}"

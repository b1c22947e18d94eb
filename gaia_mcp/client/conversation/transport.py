"""A transport over channels: it opens a conversation, opens the next when that one has ended, and closes it."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from gaia_mcp.client.conversation.conversation import Conversation
from gaia_mcp.client.host import Host
from gaia_mcp.client.transports.base import Channel, MCPTransport, OnChange, time_ran_out
from gaia_mcp.deadline import IMPATIENT_GRACE_SECONDS, Deadline
from gaia_mcp.errors import ConnectError, DeadlineError, NotConnectedError, ServerExitedError
from gaia_mcp.protocol.events import Change, ListChanged, Peer

if TYPE_CHECKING:
    from gaia_mcp.client.transports.stdio.child import Stopped
    from gaia_mcp.redaction.masker import Masker

logger = logging.getLogger("gaia_mcp")


class ChannelTransport(MCPTransport):
    """A transport whose connections are made by `new_channel`, one for each time that it is opened.

    `name` is the server's, for messages; `host` answers it. `list_changes` holds what the server has announced to have
    changed, "tools", "prompts" or "resources"; `on_change` is called at once with that and with changed resources, on
    the thread that reads, so it must not send requests. `reconnects` is False where a server that has gone may not be
    reached again unasked. `revision` is the only one to agree on with the server, None for any. `timeout`, in seconds,
    is for `connect` and for each `send_request`. With `debug` every message is logged. All methods may be called from
    several threads.
    """

    def __init__(
        self,
        new_channel: Callable[[], Channel],
        *,
        name: str = "server",
        timeout: float,
        reconnects: bool = True,
        debug: bool = False,
    ) -> None:
        self.name = name
        self.timeout = timeout
        self.debug = debug
        self.reconnects = reconnects
        self.host: Host | None = None
        self.revision: str | None = None
        self.list_changes: set[str] = set()
        self.on_change: OnChange | None = None
        self._new_channel = new_channel
        self._conversation: Conversation | None = None
        # Held to replace the conversation; a signal handler may do so in a thread that holds it already.
        self._lock = threading.RLock()
        # Held to connect.
        self._opening = threading.Lock()
        self._disconnects = 0

    @property
    def conversation(self) -> Conversation:
        """The conversation, also one that has ended. Raises `NotConnectedError` when there is none."""
        conversation = self._conversation
        if conversation is None:
            raise NotConnectedError(self.name)
        return conversation

    @property
    def peer(self) -> Peer | None:
        """The server as it presented itself; None before the negotiation and after `disconnect`."""
        return self._conversation.peer if self._conversation is not None else None

    @property
    def is_open(self) -> bool:
        """Whether a version has been agreed on, so that any request may be sent."""
        conversation = self._conversation
        return conversation is not None and conversation.is_open

    def is_connected(self) -> bool:
        """Whether the server is there and can be read from."""
        conversation = self._conversation
        return conversation is not None and conversation.is_connected()

    def connect(self) -> bool:
        """Connect, without sending anything yet; False if that failed, with the reason in the log.

        Raises `EntryError` (a `ValueError`) for an invalid command line.
        """
        try:
            self.start()
        except (ConnectError, DeadlineError) as error:
            logger.warning("MCP server %r: %s", self.name, str(error))
            return False
        return True

    def start(self) -> None:
        """Connect, without sending anything yet. Raises `ConnectError`, `DeadlineError` or `EntryError`."""
        deadline = Deadline(self.timeout)
        with self._alone(deadline) as disconnects:
            if not self.is_connected():
                self._start(deadline, disconnects, probe=True)

    def open(self, *, probe: bool, deadline: Deadline) -> Peer:
        """Connect and agree with the server on a version. `probe=False`: it is known to want `initialize`.

        Raises `ConnectError`, `DeadlineError` or `ProtocolError`; nothing is left running then.
        """
        with self._alone(deadline) as disconnects:
            conversation = self._conversation
            if conversation is None or not conversation.is_connected():
                conversation = self._start(deadline, disconnects, probe=probe)
            elif conversation.is_open and conversation.peer is not None:
                return conversation.peer
            try:
                return conversation.negotiate(deadline)
            except ServerExitedError:
                if not conversation.may_have_ended_on_probe:
                    raise
            except DeadlineError:
                if deadline.expired:
                    raise
            # Some servers end on anything but `initialize`, or are mute from then on: once more, with that first.
            (self.host or Host()).forget_strays()
            return self._start(deadline, disconnects, probe=False).negotiate(deadline)

    def recall(self, era: str | None) -> bool:
        """Connect from now on as to a server that was found to be of `era`, which `era_of` has returned; None if it is
        not known. Whether the server is to be probed.
        """
        return era != "handshake"

    def era_of(self, peer: Peer) -> str:
        """What is to be remembered of the server, so that it is not found out again."""
        return peer.era

    def disconnect(self, grace_seconds: float | None = None) -> None:
        """End the connection. May be called twice. `grace_seconds`, for each step of ending the server, are the usual
        ones of its channel if None.
        """
        self._disconnects += 1
        self._stop(grace_seconds)

    def close(self, grace_seconds: float) -> Stopped | None:
        """As `disconnect`, with `grace_seconds` for each step of ending a process; how it ended, None if none ran."""
        self.disconnect(grace_seconds)
        return None

    @property
    def exit_status(self) -> int | None:
        """The exit status of the last process that was ended, None if there was none."""
        return None

    def masker(self) -> Masker:
        """Masks what the server was given and no error or log may repeat."""
        from gaia_mcp.redaction.masker import Masker

        return Masker()

    def stderr_tail(self) -> str:
        """The end of what the server has written to stderr, without its secrets."""
        return ""

    def send_request(self, method: str, params: dict[str, Any] | None = None) -> dict[str, Any]:
        return self.conversation.send_request(method, params, Deadline(self.timeout))

    def send_notification(self, method: str, params: dict[str, Any] | None = None) -> None:
        self.conversation.send_notification(method, params, Deadline(self.timeout))

    @contextmanager
    def _alone(self, deadline: Deadline) -> Iterator[int]:
        """One thread at a time begins a connection, and ends it if that fails. Gives what `_start` wants to know: how
        often the transport has been disconnected before it was asked to connect.
        """
        disconnects = self._disconnects
        if not self._opening.acquire(timeout=deadline.remaining()):
            raise time_ran_out(self.name, deadline, "at its start")
        try:
            yield disconnects
        except BaseException:
            self._stop(IMPATIENT_GRACE_SECONDS)
            raise
        finally:
            self._opening.release()

    def _start(self, deadline: Deadline, disconnects: int, *, probe: bool) -> Conversation:
        self._stop(IMPATIENT_GRACE_SECONDS)
        self.host = host = self.host or Host()
        conversation = Conversation(
            self._new_channel(),
            host,
            probe=probe,
            revision=self.revision,
            on_change=self._changed,
            debug=self.debug,
        )
        with self._lock:
            self._conversation = conversation
        if self._disconnects != disconnects:
            # Another thread has disconnected, and found nothing that it could end.
            raise NotConnectedError(self.name)
        conversation.start(deadline)
        return conversation

    def _stop(self, grace_seconds: float | None) -> None:
        conversation = self._conversation
        if conversation is None:
            return
        conversation.close(grace_seconds)
        with self._lock:
            # Another thread may have started the next one meanwhile.
            if self._conversation is conversation:
                self._conversation = None

    def _changed(self, change: Change) -> None:
        if isinstance(change, ListChanged):
            self.list_changes.add(change.kind)
        if self.on_change is not None:
            self.on_change(change)

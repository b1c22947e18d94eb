"""A transport over channels: opens a conversation, opens a new one when it has ended, and closes it."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from gaia_mcp.client.conversation.conversation import Conversation
from gaia_mcp.client.host import Host
from gaia_mcp.client.transports.base import Channel, MCPTransport, OnChange, time_ran_out
from gaia_mcp.core.deadline import IMPATIENT_GRACE_SECONDS, Deadline
from gaia_mcp.core.errors import ConnectError, DeadlineError, NotConnectedError, ServerExitedError
from gaia_mcp.protocol.events import Change, ListChanged, Peer

if TYPE_CHECKING:
    from gaia_mcp.client.transports.stdio.child import Stopped
    from gaia_mcp.text.redaction.masker import Masker

logger = logging.getLogger("gaia_mcp")


class ChannelTransport(MCPTransport):
    """A transport that calls `new_channel` for each connection.

    `name` is the server's, for messages; `host` answers its requests. `list_changes` contains the lists that the server
    has announced as changed, "tools", "prompts" or "resources"; `on_change` is called at once with these and with
    changed resources, on the thread that reads, so it must not send requests. `reconnects` is False if a lost
    connection must not be opened again automatically. `revision` is the only acceptable one, None for any. `timeout`,
    in seconds, is for `connect` and for each `send_request`. With `debug` every message is logged. All methods may be
    called from several threads.
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
        # Guards the conversation. Reentrant: a signal handler may run in a thread that holds it already.
        self._lock = threading.RLock()
        # Held to connect.
        self._opening = threading.Lock()
        self._disconnects = 0

    @property
    def conversation(self) -> Conversation:
        """The conversation, even if it has ended. Raises `NotConnectedError` when there is none."""
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
        """Whether the connection is open and can be read from."""
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
        """Connect and agree with the server on a version. `probe=False` sends `initialize` first.

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
            # Some servers exit on anything but `initialize`, or never respond again: reconnect, with that first.
            return self._start(deadline, disconnects, probe=False).negotiate(deadline)

    def recall(self, era: str | None) -> bool:
        """Set the cached era, a value that `era_of` returned, for the connections from now on; None if it is not known.
        Returns whether to probe the server.
        """
        return era != "handshake"

    def era_of(self, peer: Peer) -> str:
        """The value to cache, so that the era of the server need not be detected again."""
        return peer.era

    def disconnect(self, grace_seconds: float | None = None) -> None:
        """End the connection. May be called twice. `grace_seconds` is for each step of stopping the server; None is the
        channel's default.
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
        """A masker for the secrets that were passed to the server and that no error or log may contain."""
        from gaia_mcp.text.redaction.masker import Masker

        return Masker()

    def stderr_tail(self) -> str:
        """The end of the server's stderr, without secrets."""
        return ""

    def send_request(self, method: str, params: dict[str, Any] | None = None) -> dict[str, Any]:
        return self.conversation.send_request(method, params, Deadline(self.timeout))

    def send_notification(self, method: str, params: dict[str, Any] | None = None) -> None:
        self.conversation.send_notification(method, params, Deadline(self.timeout))

    @contextmanager
    def _alone(self, deadline: Deadline) -> Iterator[int]:
        """Let one thread at a time open a connection, and close it on failure. Yields the number of disconnects before,
        for `_start`.
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
        before = self._conversation
        self._stop(IMPATIENT_GRACE_SECONDS)
        self.host = host = self.host or Host()
        if before is not None and before.peer is None:
            # A server that ended before it spoke MCP repeats what it wrote.
            host.forget_strays()
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
            # Another thread has called disconnect(), and found no conversation to end.
            raise NotConnectedError(self.name)
        conversation.start(deadline)
        return conversation

    def _stop(self, grace_seconds: float | None) -> None:
        conversation = self._conversation
        if conversation is None:
            return
        conversation.close(grace_seconds)
        with self._lock:
            # Another thread may have opened the next one meanwhile.
            if self._conversation is conversation:
                self._conversation = None

    def _changed(self, change: Change) -> None:
        if isinstance(change, ListChanged):
            self.list_changes.add(change.kind)
        if self.on_change is not None:
            self.on_change(change)

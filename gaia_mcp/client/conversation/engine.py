"""The engine of a client: one server, reconnected when it has gone, one deadline for each request and its retries.

Raises what is in `gaia_mcp.core.errors`; `MCPClient`, built on it, adds what GAIA's documents promise.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Self

from gaia_mcp.client.conversation.conversation import Conversation, TaskOfCall
from gaia_mcp.client.host import Host
from gaia_mcp.client.transports.base import Channel, MCPTransport, OnChange, OnProgress, time_ran_out
from gaia_mcp.core.deadline import (
    DEFAULT_TIMEOUT_SECONDS,
    IMPATIENT_GRACE_SECONDS,
    LONGEST_REQUEST_SECONDS,
    WAIT_SLICE_SECONDS,
    Deadline,
)
from gaia_mcp.core.errors import (
    ConnectError,
    ConnectionLostError,
    DeadlineError,
    LocalProtocolError,
    MCPError,
    NotConnectedError,
    NotSupportedError,
    PeerError,
    ProtocolError,
    RemoteProtocolError,
    ServerExitedError,
    SessionExpiredError,
    StatusError,
)
from gaia_mcp.protocol.events import Change, ListChanged, Peer
from gaia_mcp.protocol.input_required import MAX_ROUND_TRIPS, input_required, is_complete, pause_before, retry_params
from gaia_mcp.protocol.jsonrpc import UNSUPPORTED_VERSION, URL_REQUIRED
from gaia_mcp.protocol.pagination import LISTS
from gaia_mcp.protocol.revisions import can_declare, capability_names
from gaia_mcp.protocol.tasks import is_task
from gaia_mcp.protocol.versions import ALL_VERSIONS, best_of

if TYPE_CHECKING:
    from gaia_mcp.client.transports.stdio.child import Stopped
    from gaia_mcp.protocol.input_required import InputRequired
    from gaia_mcp.storage.server_cache import ServerCache
    from gaia_mcp.text.redaction.masker import Masker

logger = logging.getLogger("gaia_mcp")

# Read-only requests, which may be sent twice.
READING = frozenset({*LISTS, "resources/read", "prompts/get", "completion/complete"})


class ClientEngine:
    """A client named `name` over `transport`. `timeout`, in seconds, is for connecting and for each request.
    `revision`, if given, is the only acceptable one; the cached era of the server is ignored then.

    May be used from several threads at once. `server_info` is the server's last `Implementation`, also after the
    connection has ended; `peer` exists as long as the connection.
    """

    def __init__(
        self,
        name: str,
        transport: MCPTransport,
        debug: bool = False,
        *,
        channels: ChannelTransport,
        timeout: float = DEFAULT_TIMEOUT_SECONDS,
        host: Host | None = None,
        era_cache: ServerCache | None = None,
        revision: str | None = None,
    ) -> None:
        self.name = name
        self.transport = transport
        self.debug = debug
        self.timeout = timeout
        self.server_info: dict[str, Any] = {}
        self.last_error: str | None = None
        self.host = host or Host()
        self._era_cache = era_cache if revision is None else None
        self._wanted = False
        # The threads that are calling a listener, and therefore read no responses.
        self._tellers: set[int] = set()
        # Replaced by each disconnect(), so that a thread that is connecting notices.
        self._disconnects = object()
        self._lock = DeadlineLock()
        self._channels = channels
        self._channels.host = self.host
        self._channels.revision = revision
        if debug:
            self._channels.debug = True

    def __enter__(self) -> Self:
        try:
            self.open()
        except BaseException:
            self.disconnect()  # Also after a Ctrl-C that arrived once connected.
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.disconnect()

    @property
    def peer(self) -> Peer | None:
        """The server as it presented itself: version, information, capabilities, instructions. None before `open()` and
        after `disconnect()`.
        """
        return self._channels.peer

    @property
    def capabilities(self) -> dict[str, Any]:
        """The capabilities that the server has declared; empty while not connected."""
        # Read once: another thread may disconnect meanwhile.
        peer = self.peer
        return peer.capabilities if peer is not None else {}

    def deadline(self) -> Deadline:
        """A new deadline with this client's timeout, which progress may extend."""
        return Deadline(self.timeout, ceiling=LONGEST_REQUEST_SECONDS)

    def disconnect(self) -> None:
        """Disconnect from the server and forget its tools. May be called twice."""
        self._disconnects = object()
        self._wanted = False
        self._forget()
        self._channels.disconnect()

    def close(self, grace_seconds: float) -> Stopped | None:
        """As `disconnect`, with `grace_seconds` for each step of ending a process; how that ended, None if none ran."""
        stopped = self._channels.close(grace_seconds)
        # Last: another thread that is still running a request must not start the server again.
        self.disconnect()
        return stopped

    @property
    def exit_status(self) -> int | None:
        """The exit status of the server's process, once it has been ended."""
        return self._channels.exit_status

    def masker(self) -> Masker:
        """A masker for the secrets that were passed to the server and that no error or log may contain."""
        return self._channels.masker()

    def stderr_tail(self) -> str:
        """The end of the server's stderr, without secrets."""
        return self._channels.stderr_tail()

    def is_connected(self) -> bool:
        """Whether the connection to the server is open."""
        return self._channels.is_connected()

    def start(self) -> None:
        """Start the server without sending it anything. Raises `SpawnError`."""
        self._channels.start()

    def open(self, deadline: Deadline | None = None) -> Peer:
        """Connect and agree on a version.

        Raises `ConnectError`, `DeadlineError` or `ProtocolError`; nothing is left running then.
        """
        return self._open(deadline or Deadline(self.timeout), self._disconnects)

    def _open(self, deadline: Deadline, disconnects: object) -> Peer:
        with self._alone(deadline):
            self._forget()
            known = self._era_cache.era() if self._era_cache is not None else None
            is_probed = self._channels.recall(known)
            try:
                peer = self._channels.open(probe=is_probed, deadline=deadline)
            except MCPError as error:
                if self._era_cache is None or is_probed:
                    raise
                # It may have been updated since: detect the era again, at the latest on the next connection.
                self._era_cache.forget("era")
                is_evidence = isinstance(error, (ProtocolError, ServerExitedError, StatusError))
                if not is_evidence and (not isinstance(error, DeadlineError) or deadline.expired):
                    raise
                peer = self._channels.open(probe=self._channels.recall(None), deadline=deadline)
            if self._era_cache is not None and (era := self._channels.era_of(peer)) != known:
                self._era_cache.keep_era(era)
            self.server_info = peer.info
            self._wanted = True
            # Last: a disconnect() from here on finds everything in place that it has to undo.
            if self._disconnects is not disconnects:
                # Another thread has called disconnect() meanwhile, and expects no server to be running.
                self._wanted = False
                self._channels.disconnect()
                raise NotConnectedError(self.name)
            self._opened(deadline)
            return peer

    def _opened(self, deadline: Deadline) -> None:
        """Called when a connection is open, perhaps in place of a lost one."""

    def _forget(self) -> None:
        """Drop what was learnt on the previous connection."""

    def request(
        self,
        method: str,
        params: dict[str, Any] | None = None,
        deadline: Deadline | None = None,
        *,
        on_progress: OnProgress | None = None,
    ) -> dict[str, Any]:
        """The result of any request. Reconnects if the connection was lost, and asks the host for the input that the
        server requires, including URLs that have to be opened first. Raises as `open` does.
        """
        deadline = deadline or self.deadline()
        asking = params
        for attempt in range(1, MAX_ROUND_TRIPS + 1):
            try:
                result, conversation = self.round_trip(method, asking, deadline, on_progress=on_progress)
            except PeerError as error:
                if error.code != URL_REQUIRED or not self._have_opened(error, deadline):
                    raise
                # The server has rejected the request, and has not run it.
                continue
            if is_complete(result):
                return result
            if is_task(result):
                task = TaskOfCall(self.name, str((params or {}).get("name")), conversation, result)
                return task.result(deadline, lambda requests: self._answers(requests, deadline), on_progress)
            wanted = self.input_required(result)
            if not wanted.requests:
                self.pause_before(attempt, method, deadline)
            asking = retry_params(params or {}, wanted, self._answers(wanted.requests, deadline))
        raise self.too_many_round_trips()

    def round_trip(
        self,
        method: str,
        params: dict[str, Any] | None,
        deadline: Deadline,
        *,
        on_progress: OnProgress | None = None,
    ) -> tuple[dict[str, Any], Conversation]:
        """One round trip of a request: the result as received, which may require input or be a task, and its
        conversation. Raises as `request` does.
        """
        has_renegotiated = is_renewed = is_repeated = False
        while True:
            conversation = self._ready(deadline)
            try:
                return conversation.request(method, params, deadline, on_progress=on_progress), conversation
            except PeerError as error:
                if has_renegotiated or not self._rejects_revision(error):
                    raise
                has_renegotiated = True
            except SessionExpiredError:
                if is_renewed:
                    raise
                # The request has not run, and the next connection begins a new session. Once.
                is_renewed = True
            except ConnectionLostError as error:
                # Only the stream of this response was lost, and the request is read-only. Once.
                is_only_stream_lost = self._channels.is_open and "status" not in error.facts
                if is_repeated or method not in READING or not is_only_stream_lost:
                    raise
                is_repeated = True

    def input_required(self, result: dict[str, Any]) -> InputRequired:
        """The input that a result that is not complete requires. Raises `RemoteProtocolError`."""
        wanted = input_required(result)
        if isinstance(wanted, str):
            raise RemoteProtocolError(self.name, wanted)
        return wanted

    def pause_before(self, attempt: int, method: str, deadline: Deadline) -> None:
        """Wait before a round trip that only returns the state. Raises `DeadlineError` if there is no time."""
        pause = pause_before(attempt)
        if pause > deadline.remaining():
            raise time_ran_out(self.name, deadline, method)
        deadline.sleep(pause)

    def too_many_round_trips(self) -> RemoteProtocolError:
        """The error for a server that never stops requiring input."""
        return RemoteProtocolError(self.name, f"requested more input after {MAX_ROUND_TRIPS} round trips")

    def check_alive(self, deadline: Deadline | None = None, *, reconnects: bool = True) -> None:
        """Check that the server responds. Raises as `open` does, and without `reconnects` why the connection ended."""
        deadline = deadline or self.deadline()
        if reconnects:
            self._renewed(lambda conversation: conversation.check_alive(deadline), deadline)
        else:
            self._channels.conversation.check_alive(deadline)

    def want_logs(self, level: str, deadline: Deadline | None = None) -> None:
        """Request the server's log messages from `level` upwards; the host receives them."""
        deadline = deadline or self.deadline()
        self._renewed(lambda conversation: conversation.want_logs(level, deadline), deadline)

    def _renewed(self, ask: Callable[[Conversation], None], deadline: Deadline) -> None:
        """Call `ask` with the open conversation, and once more with a new one if the server no longer knows the
        session: then the request has not run.
        """
        try:
            ask(self._ready(deadline))
        except SessionExpiredError:
            ask(self._ready(deadline))

    def _rejects_revision(self, error: PeerError) -> bool:
        """Whether the server has rejected the negotiated revision and lists another one that we support. Then the
        request has not run, and the connection is closed: the next one negotiates again.
        """
        peer = self.peer
        if error.code != UNSUPPORTED_VERSION or peer is None or not self._channels.reconnects:
            return False
        others = tuple(version for version in ALL_VERSIONS if version != peer.version)
        supported = error.data.get("supported") if isinstance(error.data, dict) else None
        if not isinstance(supported, list) or self._channels.revision or best_of(supported, others) is None:
            return False
        logger.info("MCP server %r refuses revision %s; connecting again", self.name, peer.version)
        self._channels.disconnect()
        return True

    def _ready(self, deadline: Deadline) -> Conversation:
        """The conversation, once it is open. Raises as `open` does."""
        if self._tellers:
            self._refuse_listener()
        if self._channels.is_open:
            return self._channels.conversation
        disconnects = self._disconnects
        if not self._wanted or not self._channels.reconnects:
            raise NotConnectedError(self.name)
        with self._alone(deadline):
            # The connection was lost: nothing of this request has been sent, so the server may be started again.
            if not self._channels.is_open:
                logger.info("MCP server %r is gone; connecting again", self.name)
                self._open(deadline, disconnects)
            return self._channels.conversation

    @contextmanager
    def _alone(self, deadline: Deadline) -> Iterator[None]:
        self._refuse_listener()
        with self._lock.held(deadline) as is_held:
            if not is_held or deadline.is_cancelled:
                raise time_ran_out(self.name, deadline, "another thread's request")
            yield

    def _refuse_listener(self) -> None:
        if threading.get_ident() in self._tellers:
            raise LocalProtocolError(
                f"{self.name!r} was asked by its own listener, without whom the answer cannot be read",
                hint="ask from a thread of its own",
                server=self.name,
            )

    def _require(self, kind: str, deadline: Deadline) -> None:
        self._ready(deadline)
        if not self._offers(kind):
            raise NotSupportedError(self.name, kind)

    def _offers(self, kind: str) -> bool:
        # Read once: another thread may disconnect meanwhile, and the request reports that.
        peer = self.peer
        return (
            peer is None
            or self._declares_nothing()
            or not can_declare(peer.version, kind)
            or kind in capability_names(peer.capabilities)
        )

    def _offers_tools(self) -> bool:
        # Small servers that declare no capabilities usually have tools and nothing else.
        return not self.capabilities or self._offers("tools")

    def _declares_subscriptions(self) -> bool:
        declared = self.capabilities.get("resources")
        return self._declares_nothing() or (isinstance(declared, dict) and declared.get("subscribe") is True)

    def _declares_nothing(self) -> bool:
        """Whether this is a custom transport whose server declares no capabilities at all."""
        return not self._channels.reconnects and not self.capabilities

    def _answers(self, questions: dict[str, dict[str, Any]], deadline: Deadline) -> dict[str, Any]:
        import gaia_mcp.client.host as asking  # Few servers ask.

        return asking.answers(self.name, self.host, questions, deadline)

    def _have_opened(self, error: PeerError, deadline: Deadline) -> bool:
        from gaia_mcp.client.host import are_opened

        return are_opened(self.host, error, deadline)


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


class DeadlineLock:
    """Held by one thread at a time, which may acquire it again. After a Ctrl-C at any moment it is not left held."""

    def __init__(self) -> None:
        # Guards the attributes below, and wakes waiting threads.
        self._free = threading.Condition()
        self._owner = 0
        # One object for each acquisition by the owner. It identifies an acquisition that a Ctrl-C interrupted.
        self._holds: list[object] = []

    @contextmanager
    def held(self, deadline: Deadline) -> Iterator[bool]:
        """Hold the lock. False if the deadline passed, or was cancelled, before the lock was free."""
        hold = object()
        try:
            yield self._acquire(hold, deadline)
        finally:
            try:
                self._release(hold)
            except BaseException:
                # A Ctrl-C may arrive at this very moment.
                self._release(hold)
                raise

    def _acquire(self, hold: object, deadline: Deadline) -> bool:
        me = threading.get_ident()
        deadline.on_cancel(self._wake)
        try:
            with self._free:
                while self._holds and self._owner != me:
                    if deadline.expired:
                        return False
                    self._free.wait(min(deadline.remaining(), WAIT_SLICE_SECONDS))
                self._owner = me
                self._holds.append(hold)
            return True
        finally:
            deadline.forget(self._wake)

    def _release(self, hold: object) -> None:
        with self._free:
            if hold in self._holds:
                self._holds.remove(hold)
                if not self._holds:
                    self._free.notify_all()

    def _wake(self) -> None:
        with self._free:
            self._free.notify_all()

"""The engine under a client: opens the connection to one server, replaces it when it was lost, and closes it; and sends
requests, with one deadline for each and its retries.

Three things say what holds, and nobody else keeps any of them:

* The conversation knows by itself whether it is open, lost or closed.
* `_disconnects` is replaced by each `disconnect`, which waits for no other thread: one that is connecting meanwhile
  finds another value than at its beginning, and leaves nothing open.
* `_is_wanted` is set by a successful `open`, and lasts until `forget`: a request replaces a connection that was lost,
  or that was ended by a program that disconnects the transport itself.

One lock lets one thread at a time connect. Raises what is in `gaia_mcp.core.errors`; what GAIA's documents promise
instead is known in `MCPClient`.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, ClassVar

from gaia_mcp.client.conversation import Conversation, TaskOfCall
from gaia_mcp.client.host import Host, answers, are_opened
from gaia_mcp.client.transports.base import Channel, MCPTransport, OnChange, OnProgress, time_ran_out
from gaia_mcp.core.deadline import IMPATIENT_GRACE_SECONDS, WAIT_SLICE_SECONDS, Deadline
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
    resource_unknown,
)
from gaia_mcp.protocol import ALL_VERSIONS, best_of, is_probed
from gaia_mcp.protocol.events import Change, ListChanged, Peer, ResourceUpdated, SubscriptionEnded
from gaia_mcp.protocol.input_required import (
    MAX_ROUND_TRIPS,
    InputRequired,
    input_required,
    is_complete,
    pause_before,
    retry_params,
)
from gaia_mcp.protocol.jsonrpc import UNSUPPORTED_VERSION, URL_REQUIRED
from gaia_mcp.protocol.pagination import LISTS
from gaia_mcp.protocol.revisions import can_declare, capability_names
from gaia_mcp.protocol.tasks import is_task

if TYPE_CHECKING:
    from gaia_mcp.client.conversation.pipelining import Pipeline
    from gaia_mcp.client.transports.stdio.child import Stopped
    from gaia_mcp.storage.server_cache import ServerCache
    from gaia_mcp.text.redaction.masker import Masker

logger = logging.getLogger("gaia_mcp")

# Read-only requests, which may be sent twice.
READING = frozenset({*LISTS, "resources/read", "prompts/get", "completion/complete"})


class Engine:
    """Uses the connections that `transport` makes. `host` answers the server's requests; `revision` is the only
    acceptable one, None for any; `era_cache` stores the era of the server.

    `list_changes` contains the lists that the server has announced as changed: "tools", "prompts" or "resources".
    `on_change` is called at once with each change that the server announces, on the thread that reads, so it must not
    send requests. `on_forget` is called when what was learnt on a connection is no longer true; `on_opened` when `open`
    has succeeded or a lost connection was replaced, once what was requested for the client (log messages, changes of
    lists if `watches_lists()`, subscriptions) has been again.

    May be used from several threads at once. Every method with a deadline raises as `open` does.
    """

    def __init__(self, transport: ChannelTransport) -> None:
        self.transport = transport
        self.host = Host()
        self.revision: str | None = None
        self.era_cache: ServerCache | None = None
        self.list_changes: set[str] = set()
        self.on_change: OnChange = lambda _: None
        self.on_forget: Callable[[], None] = lambda: None
        self.on_opened: Callable[[Peer], None] = lambda _: None
        self.watches_lists: Callable[[], bool] = lambda: False
        self._conversation: Conversation | None = None
        self._disconnects = object()
        self._is_wanted = False
        self._lock = DeadlineLock()
        # The threads that are calling a listener, and therefore read no responses.
        self._listening: set[int] = set()
        # The resources, each with the conversation on which it was subscribed.
        self._subscribed: dict[str, Conversation | None] = {}
        self._log_level: str | None = None

    # The connection.

    @property
    def current(self) -> Conversation | None:
        """The conversation, even if it was lost; None before the first and after `disconnect`."""
        conversation = self._conversation
        return conversation if conversation is not None and not conversation.is_closed else None

    @property
    def conversation(self) -> Conversation:
        """As `current`. Raises `NotConnectedError` when there is none."""
        if (conversation := self.current or self._adopted()) is None:
            raise NotConnectedError(self.transport.name)
        return conversation

    @property
    def peer(self) -> Peer | None:
        """The server as it presented itself; None before the negotiation and after `disconnect`."""
        return current.peer if (current := self.current) is not None else None

    def is_connected(self) -> bool:
        """Whether the connection is open and can be read from."""
        return (current := self.current) is not None and current.is_connected()

    def start(self) -> None:
        """Connect, without sending anything yet. Raises `ConnectError`, `DeadlineError` or `EntryError`."""
        deadline, disconnects = Deadline(self.transport.timeout), self._disconnects
        with self.alone(deadline), self._closed_on_error():
            if not self.transport.is_connected():
                self._start(deadline, disconnects, probe=True)

    def open(self, deadline: Deadline) -> Peer:
        """Connect and agree with the server on a version.

        Raises `ConnectError`, `DeadlineError` or `ProtocolError`; nothing is left running then.
        """
        return self._open(deadline, self._disconnects)

    def _open(self, deadline: Deadline, disconnects: object) -> Peer:
        cache, transport = self.era_cache, self.transport
        with self.alone(deadline):
            self.on_forget()
            known = cache.era() if cache is not None else None
            is_probed = transport._recall(known)
            try:
                peer = self._connect(deadline, disconnects, probe=is_probed)
            except MCPError as error:
                if cache is None or is_probed:
                    raise
                # It may have been updated since: detect the era again, at the latest on the next connection.
                cache.forget("era")
                is_evidence = isinstance(error, (ProtocolError, ServerExitedError, StatusError))
                if not is_evidence and (not isinstance(error, DeadlineError) or deadline.expired):
                    raise
                peer = self._connect(deadline, disconnects, probe=transport._recall(None))
            if cache is not None and (era := transport._era_of(peer)) != known:
                cache.keep_era(era)
            self._is_wanted = True
            # Last: a disconnect() from here on finds everything in place that it has to undo.
            if self._disconnects is not disconnects:
                # Another thread has called it meanwhile, and expects no server to be running.
                self._is_wanted = False
                self._stop()
                raise NotConnectedError(transport.name)
            self._request_again(deadline)
            self.on_opened(peer)
            return peer

    def _connect(self, deadline: Deadline, disconnects: object, *, probe: bool) -> Peer:
        """Connect and agree on a version. `probe=False` sends `initialize` first."""
        if self.transport.is_custom:
            # A connection that the program opened or ended by itself has nothing that we could continue or close.
            self._conversation = None
        try:
            with self._closed_on_error():
                return self._negotiated(deadline, disconnects, probe=probe)
        except MCPError as error:
            for _ in self.transport._alternatives(error):
                with suppress(MCPError), self._closed_on_error():
                    return self._negotiated(deadline, disconnects, probe=False)
            raise

    def _negotiated(self, deadline: Deadline, disconnects: object, *, probe: bool) -> Peer:
        conversation = self.current
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
            if deadline.expired or self.transport.is_custom:
                raise
        # Some servers exit on anything but `initialize`, or never respond again: reconnect, with that first.
        return self._start(deadline, disconnects, probe=False).negotiate(deadline)

    def _start(self, deadline: Deadline, disconnects: object, *, probe: bool) -> Conversation:
        before = self.current
        self._stop()
        if before is not None and before.peer is None:
            # A server that ended before it spoke MCP repeats what it wrote.
            self.host.forget_strays()
        conversation = self._conversation = self._over(self.transport.new_channel(), probe=probe)
        if self._disconnects is not disconnects:
            # Another thread has called disconnect(), and found no conversation to end.
            raise NotConnectedError(self.transport.name)
        conversation.start(deadline)
        return conversation

    def _over(self, channel: Channel, *, probe: bool) -> Conversation:
        return Conversation(
            channel,
            self.host,
            probe=probe and not self.transport.is_custom,
            revision=self.revision,
            on_change=self._changed,
            debug=self.transport.debug,
        )

    def _adopted(self) -> Conversation | None:
        """The conversation over a transport that the program has connected by itself, which needs no negotiation."""
        if (channel := self.transport._connected_channel()) is None:
            return None
        conversation = self._conversation = self._over(channel, probe=False)
        conversation.start(Deadline(self.transport.timeout), is_negotiated=True)
        return conversation

    @contextmanager
    def _closed_on_error(self) -> Iterator[None]:
        try:
            yield
        except BaseException:
            self._stop()
            raise

    def _stop(self) -> None:
        if (conversation := self.current) is not None:
            conversation.close(IMPATIENT_GRACE_SECONDS)

    def forget(self) -> None:
        """Let no request replace the connection once it has ended, and forget what would be requested again."""
        self.on_forget()
        self._is_wanted = False
        self._subscribed.clear()
        self._log_level = None

    def disconnect(self, grace_seconds: float | None) -> None:
        """End the connection. May be called twice. `grace_seconds` is for each step of stopping the server; None is the
        channel's default.
        """
        self._disconnects = object()
        if (conversation := self.current) is not None:
            conversation.close(grace_seconds)
        else:
            self.transport._release()

    def ready(self, deadline: Deadline) -> Conversation:
        """The conversation, once it is open."""
        if self._listening:
            self._refuse_listener()
        conversation = self._conversation
        if conversation is not None and conversation.is_open:
            return conversation
        if (conversation := self._adopted()) is not None:
            return conversation
        disconnects = self._disconnects
        if not self._is_wanted or self.transport.is_custom:
            raise NotConnectedError(self.transport.name)
        with self.alone(deadline):
            # The connection was lost: nothing of this request has been sent, so the server may be started again.
            if (current := self.current) is None or not current.is_open:
                logger.info("MCP server %r is gone; connecting again", self.transport.name)
                self._open(deadline, disconnects)
            return self.conversation

    @contextmanager
    def alone(self, deadline: Deadline) -> Iterator[None]:
        """Keep other threads from connecting, and from whatever else needs this. The same thread may enter it again."""
        self._refuse_listener()
        with self._lock.held(deadline) as is_held:
            if not is_held or deadline.is_cancelled:
                raise time_ran_out(self.transport.name, deadline, "another thread's request")
            yield

    # Requests.

    def request(
        self,
        method: str,
        params: dict[str, Any] | None,
        deadline: Deadline,
        *,
        on_progress: OnProgress | None = None,
        begun: tuple[dict[str, Any], Conversation] | None = None,
    ) -> dict[str, Any]:
        """The result of any request. Reconnects if the connection was lost, and asks the host for the input that the
        server requires, including URLs that have to be opened first. `begun` is what its first round trip returned, if
        that has been made.
        """
        name, asking = self.transport.name, params
        for attempt in range(1, MAX_ROUND_TRIPS + 1):
            try:
                result, conversation = begun or self.round_trip(method, asking, deadline, on_progress=on_progress)
                begun = None
            except PeerError as error:
                if error.code != URL_REQUIRED or not are_opened(self.host, error, deadline):
                    raise
                # The server has rejected the request, and has not run it.
                continue
            if is_complete(result):
                return result
            if is_task(result):
                task = TaskOfCall(name, str((params or {}).get("name")), conversation, result)
                return task.result(deadline, lambda requests: answers(name, self.host, requests, deadline), on_progress)
            wanted = self.input_required(result)
            if not wanted.requests:
                self.pause_before(attempt, method, deadline)
            asking = retry_params(params or {}, wanted, answers(name, self.host, wanted.requests, deadline))
        raise self.too_many_round_trips()

    def pipeline(
        self, method: str, params: dict[str, Any], at_once: int, new_deadline: Callable[[], Deadline]
    ) -> Pipeline | None:
        """The same request many times on the open connection, as `Conversation.pipeline`. Raises as a request does."""
        conversation = self.ready(new_deadline())

        def complete(result: dict[str, Any], deadline: Deadline) -> dict[str, Any]:
            return self.request(method, params, deadline, begun=(result, conversation))

        return conversation.pipeline(method, params, at_once, new_deadline, complete)

    def round_trip(
        self,
        method: str,
        params: dict[str, Any] | None,
        deadline: Deadline,
        *,
        on_progress: OnProgress | None = None,
    ) -> tuple[dict[str, Any], Conversation]:
        """One round trip of a request: the result as received, which may require input or be a task, and its
        conversation.
        """
        has_renegotiated = is_renewed = is_repeated = False
        while True:
            conversation = self.ready(deadline)
            try:
                return conversation.request(method, params, deadline, on_progress=on_progress), conversation
            except PeerError as error:
                if has_renegotiated or not self._rejects_revision(error, conversation):
                    raise
                has_renegotiated = True
            except SessionExpiredError:
                if is_renewed:
                    raise
                # The request has not run, and the next connection begins a new session. Once.
                is_renewed = True
            except ConnectionLostError as error:
                # Only the stream of this response was lost, and the request is read-only. Once.
                is_only_stream_lost = conversation.is_open and "status" not in error.facts
                if is_repeated or method not in READING or not is_only_stream_lost:
                    raise
                is_repeated = True

    def _rejects_revision(self, error: PeerError, conversation: Conversation) -> bool:
        """Whether the server has rejected the negotiated revision and lists another one that we support. Then the
        request has not run, and the conversation is closed: the next one negotiates again.
        """
        peer = conversation.peer
        if error.code != UNSUPPORTED_VERSION or peer is None or self.transport.is_custom:
            return False
        others = tuple(version for version in ALL_VERSIONS if version != peer.version)
        supported = error.data.get("supported") if isinstance(error.data, dict) else None
        if not isinstance(supported, list) or self.revision or best_of(supported, others) is None:
            return False
        logger.info("MCP server %r refuses revision %s; connecting again", self.transport.name, peer.version)
        conversation.close(None)
        return True

    def input_required(self, result: dict[str, Any]) -> InputRequired:
        """The input that a result that is not complete requires. Raises `RemoteProtocolError`."""
        wanted = input_required(result)
        if isinstance(wanted, str):
            raise RemoteProtocolError(self.transport.name, wanted)
        return wanted

    def pause_before(self, attempt: int, method: str, deadline: Deadline) -> None:
        """Wait before a round trip that only returns the state. Raises `DeadlineError` if there is no time."""
        pause = pause_before(attempt)
        if pause > deadline.remaining():
            raise time_ran_out(self.transport.name, deadline, method)
        deadline.sleep(pause)

    def too_many_round_trips(self) -> RemoteProtocolError:
        """The error for a server that never stops requiring input."""
        return RemoteProtocolError(self.transport.name, f"requested more input after {MAX_ROUND_TRIPS} round trips")

    def renewed(self, ask: Callable[[Conversation], None], deadline: Deadline) -> None:
        """Call `ask` with the open conversation, and once more with a new one if the server no longer knows the
        session: then the request has not run.
        """
        try:
            ask(self.ready(deadline))
        except SessionExpiredError:
            ask(self.ready(deadline))

    # What the server may be asked for.

    @property
    def capabilities(self) -> dict[str, Any]:
        """The capabilities that the server has declared; empty while not connected."""
        # Read once: another thread may disconnect meanwhile.
        peer = self.peer
        return peer.capabilities if peer is not None else {}

    def require(self, kind: str, deadline: Deadline) -> None:
        """Connect. Raises `NotSupportedError` for a capability that the server does not declare."""
        self.ready(deadline)
        if not self.offers(kind):
            raise NotSupportedError(self.transport.name, kind)

    def offers(self, kind: str) -> bool:
        """Whether the server declares a capability, or cannot declare it."""
        # Read once: another thread may disconnect meanwhile, and the request reports that.
        peer = self.peer
        if peer is None or (not peer.capabilities and (kind == "tools" or self.transport.is_custom)):
            # Small servers that declare no capabilities usually have tools and nothing else.
            return True
        return not can_declare(peer.version, kind) or kind in capability_names(peer.capabilities)

    # What is requested again on each new connection.

    def set_log_level(self, level: str, deadline: Deadline) -> None:
        """Request log messages from `level` upwards, now and on later connections."""
        self.renewed(lambda conversation: conversation.want_logs(level, deadline), deadline)
        self._log_level = level

    def subscribe(self, uri: str, deadline: Deadline) -> None:
        """Subscribe to a resource, now and on later connections. Subscribing twice has no further effect. Raises
        `ResourceUnknownError` for a resource that the server does not have.
        """
        self.require("resources", deadline)
        capabilities = self.capabilities
        declared = capabilities.get("resources")
        is_declared = isinstance(declared, dict) and declared.get("subscribe") is True
        if not is_declared and (capabilities or not self.transport.is_custom):
            raise NotSupportedError(self.transport.name, "subscriptions")
        if uri in self._subscribed:
            return
        # Before it is granted, since the server may end it right after.
        self._subscribed[uri] = None

        def subscribe(conversation: Conversation) -> None:
            # If the session had to be renewed, it has been subscribed again with the others.
            if self._subscribed.get(uri) is not conversation:
                conversation.subscribe(uri, deadline)

        try:
            self.renewed(subscribe, deadline)
        except BaseException as error:
            self._subscribed.pop(uri, None)
            if isinstance(error, PeerError):
                raise resource_unknown(error, uri) from error.__cause__
            raise

    def unsubscribe(self, uri: str, deadline: Deadline) -> None:
        """End a subscription."""
        self._subscribed.pop(uri, None)
        self.renewed(lambda conversation: conversation.unsubscribe(uri, deadline), deadline)

    def _request_again(self, deadline: Deadline) -> None:
        conversation = self.conversation
        if self._log_level is not None:
            with suppress(MCPError):  # As below.
                conversation.want_logs(self._log_level, deadline)
        if self.watches_lists():
            with suppress(MCPError):  # The next request reports what is wrong.
                conversation.watch_lists(deadline)
        # They were granted on the previous connection.
        for uri in list(self._subscribed):
            try:
                conversation.subscribe(uri, deadline)
            except MCPError as error:
                logger.warning("MCP server %r ended the subscription to %r: %s", self.transport.name, uri, str(error))
                self._changed(SubscriptionEnded(uri))
            else:
                self._subscribed[uri] = conversation
                self._changed(ResourceUpdated(uri))  # It may have changed meanwhile.

    # Listeners.

    def _changed(self, change: Change) -> None:
        if isinstance(change, ListChanged):
            self.list_changes.add(change.kind)
        elif isinstance(change, SubscriptionEnded):
            self._subscribed.pop(change.uri, None)
        self.on_change(change)

    def tell(self, listener: Callable[[str], None] | None, word: str) -> None:
        """Call a listener of the client, from which requests are refused: this thread may be the one that reads."""
        if listener is None:
            return
        self._listening.add(threading.get_ident())
        try:
            listener(word)
        except Exception:  # the listener's code; the thread that reads or reconnects must go on
            logger.exception("a listener of MCP server %r failed", self.transport.name)
        finally:
            self._listening.discard(threading.get_ident())

    def _refuse_listener(self) -> None:
        if threading.get_ident() in self._listening:
            name = self.transport.name
            raise LocalProtocolError(
                f"{name!r} was asked by its own listener, without whom the answer cannot be read",
                hint="ask from a thread of its own",
                server=name,
            )


class ChannelTransport(MCPTransport):
    """A transport that calls `new_channel` for each connection of its `engine`, which a client uses too.

    `name` is the server's, for messages. `timeout`, in seconds, is for `connect` and for each `send_request`. With
    `debug` every message is logged. All methods may be called from several threads.
    """

    # Whether it adapts a transport of a program, which connects it as it likes, and which is never connected again
    # without a request to do so.
    is_custom: ClassVar[bool] = False

    def __init__(
        self, new_channel: Callable[[], Channel], *, name: str = "server", timeout: float, debug: bool = False
    ) -> None:
        self.name = name
        self.timeout = timeout
        self.debug = debug
        self.new_channel = new_channel
        self.engine = Engine(self)

    def connect(self) -> bool:
        """Connect, without sending anything yet; False if that failed, with the reason in the log.

        Raises `EntryError` (a `ValueError`) for an invalid command line.
        """
        try:
            self.engine.start()
        except (ConnectError, DeadlineError) as error:
            logger.warning("MCP server %r: %s", self.name, str(error))
            return False
        return True

    def disconnect(self, grace_seconds: float | None = None) -> None:
        """End the connection. May be called twice. `grace_seconds` is for each step of stopping the server; None is the
        channel's default.
        """
        self.engine.disconnect(grace_seconds)

    def close(self, grace_seconds: float | None) -> Stopped | None:
        """As `disconnect`; returns how a process ended, None if none ran."""
        self.disconnect(grace_seconds)
        return None

    def is_connected(self) -> bool:
        """Whether the connection is open and can be read from."""
        return self.engine.is_connected()

    def send_request(self, method: str, params: dict[str, Any] | None = None) -> dict[str, Any]:
        return self.engine.conversation.send_request(method, params, Deadline(self.timeout))

    def send_notification(self, method: str, params: dict[str, Any] | None = None) -> None:
        self.engine.conversation.send_notification(method, params, Deadline(self.timeout))

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

    # For the engine.

    def _recall(self, era: str | None) -> bool:
        """Set the cached era, a value that `era_of` returned, for the connections from now on; None if it is not known.
        Returns whether to probe the server.
        """
        return is_probed(era)

    def _era_of(self, peer: Peer) -> str:
        """The value to cache, so that the era of the server need not be detected again."""
        return peer.era

    def _alternatives(self, error: MCPError) -> Iterable[None]:  # noqa: ARG002
        """Other ways to connect now that it failed with `error`, to which facts may be added. Each is tried before the
        next one is taken.
        """
        return ()

    def _connected_channel(self) -> Channel | None:
        """A channel over what the program has connected by itself; None if it has not."""
        return None

    def _release(self) -> None:
        """End a connection for which the engine has no conversation."""


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

"""The engine of a client: one server, reconnected when it has gone, one deadline for each request and its retries.

Raises what is in `gaia_mcp.errors`. `MCPClient`, built on it, adds what GAIA's documents promise.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Self

from gaia_mcp.client.conversation.transport import ChannelTransport
from gaia_mcp.client.deadline_lock import DeadlineLock
from gaia_mcp.client.host import DeclinedError, Host, UnsupportedError
from gaia_mcp.client.tool import MCPTool, read_tools
from gaia_mcp.client.transports.base import MCPTransport, OnProgress, time_ran_out
from gaia_mcp.deadline import DEFAULT_TIMEOUT_SECONDS, LONGEST_REQUEST_SECONDS, Deadline
from gaia_mcp.errors import (
    CancelledError,
    LocalProtocolError,
    MCPError,
    NotConnectedError,
    PeerError,
    ProtocolError,
    RemoteProtocolError,
    ServerExitedError,
    ToolExcludedError,
)
from gaia_mcp.protocol.input_required import MAX_ROUND_TRIPS, input_required, pause_before, retry_params
from gaia_mcp.protocol.pagination import Pages
from gaia_mcp.protocol.tasks import is_task

if TYPE_CHECKING:
    from gaia_mcp.client.conversation.conversation import Conversation
    from gaia_mcp.client.transports.stdio.child import Stopped
    from gaia_mcp.protocol.events import Peer
    from gaia_mcp.redaction.masker import Masker
    from gaia_mcp.storage.server_cache import ServerCache
    from gaia_mcp.toolspec.tool_filter import ToolFilter

logger = logging.getLogger("gaia_mcp")


class ClientEngine:
    """A client named `name` over `transport`. `timeout`, in seconds, is for connecting and for each request. A tool
    that `tool_filter` excludes is not among the server's tools, and cannot be called. `revision` is the only one to
    agree on with the server; what is known of its era does not matter then.

    May be used from several threads at once. `server_info` is what the server last said about itself, also after the
    connection has ended; `peer` is there as long as the connection.
    """

    def __init__(
        self,
        name: str,
        transport: MCPTransport,
        debug: bool = False,
        *,
        timeout: float = DEFAULT_TIMEOUT_SECONDS,
        host: Host | None = None,
        era_cache: ServerCache | None = None,
        tool_filter: ToolFilter | None = None,
        revision: str | None = None,
    ) -> None:
        self.name = name
        self.transport = transport
        self.debug = debug
        self.timeout = timeout
        self.server_info: dict[str, Any] = {}
        self.last_error: str | None = None
        self.tool_problems: list[str] = []
        self.all_seen: list[Any] | None = None
        self.host = host or Host()
        self.tool_filter = tool_filter
        self._era_cache = era_cache if revision is None else None
        # Also those that the filter excludes.
        self._tools: list[MCPTool] | None = None
        self._wanted = False
        # The threads that are calling a listener, and so read no responses.
        self._tellers: set[int] = set()
        # Another one for each disconnect(), so that a thread that connects meanwhile can tell.
        self._disconnects = object()
        self._lock = DeadlineLock()
        if isinstance(transport, ChannelTransport):
            transport.name = name
            self._channels: ChannelTransport = transport
        else:
            from gaia_mcp.client.transports.custom import CustomTransport

            self._channels = CustomTransport(transport, name=name, timeout=timeout)
        self._channels.host = self.host
        self._channels.revision = revision
        if debug:
            logger.setLevel(logging.DEBUG)

    def __enter__(self) -> Self:
        try:
            self.open()
        except BaseException:
            self.disconnect()  # Also after a Ctrl-C that came when all was done.
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

    def deadline(self) -> Deadline:
        """A fresh deadline of this client's timeout, which progress may extend."""
        return Deadline(self.timeout, ceiling=LONGEST_REQUEST_SECONDS)

    def disconnect(self) -> None:
        """Let go of the server and forget its tools. May be called twice."""
        self._disconnects = object()
        self._wanted = False
        self._tools = None
        self._channels.disconnect()

    def close(self, grace_seconds: float) -> Stopped | None:
        """As `disconnect`, with `grace_seconds` for each step of ending a process; how that ended, None if none ran."""
        stopped = self._channels.close(grace_seconds)
        # Last: another thread that is still at work must not start the server again.
        self.disconnect()
        return stopped

    @property
    def exit_status(self) -> int | None:
        """The exit status of the server's process, once it has been ended."""
        return self._channels.exit_status

    def masker(self) -> Masker:
        """Masks what the server was given and no error or log may repeat."""
        return self._channels.masker()

    def stderr_tail(self) -> str:
        """The end of what the server has written to stderr, without its secrets."""
        return self._channels.stderr_tail()

    def is_connected(self) -> bool:
        """Whether the server is there."""
        return self._channels.is_connected()

    def start(self) -> None:
        """Start the server, without a message to it yet. Raises `SpawnError`."""
        self._channels.connect()

    def open(self, deadline: Deadline | None = None) -> Peer:
        """Connect and agree on a version.

        Raises `ConnectError`, `DeadlineError` or `ProtocolError`; nothing is left running then.
        """
        return self._open(deadline or Deadline(self.timeout), self._disconnects)

    def _open(self, deadline: Deadline, disconnects: object) -> Peer:
        with self._alone(deadline):
            self._tools = None
            known = self._era_cache.era() if self._era_cache is not None else None
            try:
                peer = self._channels.open(probe=known != "handshake", deadline=deadline)
            except MCPError as error:
                if self._era_cache is None or known != "handshake":
                    raise
                # It may have been updated since: find out anew, the next time if there is no time left now.
                self._era_cache.forget("era")
                if not isinstance(error, (ProtocolError, ServerExitedError)):
                    raise
                peer = self._channels.open(probe=True, deadline=deadline)
            if self._era_cache is not None and peer.era != known:
                self._era_cache.keep_era(peer.era)
            self.server_info = peer.info
            self._wanted = True
            # Last of all: a disconnect() that comes after this finds everything in place that it has to undo.
            if self._disconnects is not disconnects:
                # Another thread has disconnected meanwhile, and would not expect to find a server running.
                self._wanted = False
                self._channels.disconnect()
                raise NotConnectedError(self.name)
            self._opened(deadline)
            return peer

    def _opened(self, deadline: Deadline) -> None:
        """A connection is there, perhaps in place of one that has gone."""

    def known_tools(self) -> list[MCPTool]:
        """The tools that have been listed last, without asking; empty if none have."""
        return [tool for tool in self.listed_tools() if self._uses(tool.name)]

    def listed_tools(self) -> list[MCPTool]:
        """As `known_tools`, with those that the filter excludes: for a cache, which outlives the filter."""
        return list(self._tools or ())

    def fetch_tools(self, deadline: Deadline | None = None, *, refresh: bool = False) -> list[MCPTool]:
        """The server's tools, from all pages; what was wrong with unusable ones is in `tool_problems`.

        Raises as `open` does.
        """
        deadline = deadline or self.deadline()
        with self._alone(deadline):
            changes = self._channels.list_changes
            if "tools" in changes:
                self._tools = None
            if self._tools is None or refresh:
                conversation = self._ready(deadline)
                changes.discard("tools")
                conversation.watch_lists(deadline)
                definitions = list(self.items("tools/list", deadline))
                self._tools, problems = read_tools(definitions, self._uses)
                self.tool_problems.extend(problems)
            return self.known_tools()

    def find_tool(self, name: str, deadline: Deadline | None = None) -> MCPTool | None:
        """The tool of that name, without reading further pages than needed; None if the server has none. Where that was
        the whole list, it is in `all_seen`.

        Raises as `open` does, and `ToolExcludedError` for a tool that the filter excludes.
        """
        found = self._find_tool(name, deadline or self.deadline())
        if found is not None:
            self._check_used(name)
        return found

    def _find_tool(self, name: str, deadline: Deadline) -> MCPTool | None:
        with self._alone(deadline):
            if self._tools is not None and "tools" not in self._channels.list_changes:
                return next((tool for tool in self._tools if tool.name == name), None)
            pages, seen, found = Pages("tools/list"), [], None
            for definition in self._walk(pages, deadline):
                seen.append(definition)
                if found is None and isinstance(definition, dict) and definition.get("name") == name:
                    found = definition
                if found is not None and not pages.done:
                    break
            else:
                self.all_seen = seen
            return next(iter(read_tools([found])[0]), None) if found is not None else None

    def items(self, method: str, deadline: Deadline | None = None) -> Iterator[Any]:
        """What one of the paged lists holds, page by page; oddities of the paging go to `tool_problems`.

        Raises as `open` does.
        """
        yield from self._walk(Pages(method), deadline or self.deadline())

    def _walk(self, pages: Pages, deadline: Deadline) -> Iterator[Any]:
        self.tool_problems = []
        while not pages.done:
            try:
                page = self.request(pages.method, pages.params, deadline)
            except PeerError:
                if not pages.is_end_by_error():
                    raise
            else:
                yield from pages.take(page)
        self.tool_problems.extend(pages.problems)

    def call(
        self,
        tool_name: str,
        arguments: dict[str, Any],
        deadline: Deadline | None = None,
        *,
        on_progress: OnProgress | None = None,
    ) -> dict[str, Any]:
        """The tool's result as the server sent it, also one that reports a failure (`isError`).

        Asks the host whatever the server wants to know first. A call that may have left is never sent again.
        Raises as `open` does, `ArgumentsError` for arguments that JSON cannot say, and `ToolExcludedError` for a tool
        that the filter excludes.
        """
        self._check_used(tool_name)
        params = {"name": tool_name, "arguments": arguments}
        return self.request("tools/call", params, deadline, on_progress=on_progress)

    def _uses(self, tool_name: str) -> bool:
        return self.tool_filter is None or self.tool_filter.allows(tool_name)

    def _check_used(self, tool_name: str) -> None:
        if self.tool_filter is not None and (member := self.tool_filter.excluded_by(tool_name)):
            raise ToolExcludedError(self.name, tool_name, member, self.tool_filter.patterns(member))

    def request(
        self,
        method: str,
        params: dict[str, Any] | None = None,
        deadline: Deadline | None = None,
        *,
        on_progress: OnProgress | None = None,
    ) -> dict[str, Any]:
        """Any request's result. Connects again if the server has gone since, and asks the host whatever the server
        wants to know. Raises as `open` does.
        """
        deadline = deadline or self.deadline()
        asking = params
        for attempt in range(1, MAX_ROUND_TRIPS + 1):
            conversation = self._ready(deadline)
            result = conversation.request(method, asking, deadline, on_progress=on_progress)
            if is_task(result):
                # Only now: few servers have any.
                from gaia_mcp.client.tasks import TaskOfCall

                task = TaskOfCall(self.name, str((params or {}).get("name")), conversation, result)
                return task.result(deadline, lambda requests: self._answers(requests, deadline), on_progress)
            wanted = input_required(result)
            if wanted is None:
                return result
            if isinstance(wanted, str):
                raise RemoteProtocolError(self.name, wanted)
            if not wanted.requests:
                pause = pause_before(attempt)
                if pause > deadline.remaining():
                    raise time_ran_out(self.name, deadline, method)
                deadline.sleep(pause)
            asking = retry_params(params or {}, wanted, self._answers(wanted.requests, deadline))
        raise RemoteProtocolError(self.name, f"requested more input after {MAX_ROUND_TRIPS} round trips")

    def check_alive(self, deadline: Deadline | None = None, *, reconnects: bool = True) -> None:
        """Ask whether the server is there. Raises as `open` does; without `reconnects` also why a server has gone."""
        deadline = deadline or self.deadline()
        if reconnects:
            self._ready(deadline)
        self._channels.conversation.check_alive(deadline)

    def want_logs(self, level: str, deadline: Deadline | None = None) -> None:
        """Ask the server for its log messages from `level` upwards; they go to the host."""
        deadline = deadline or self.deadline()
        self._ready(deadline).want_logs(level, deadline)

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
            # It has ended since: nothing of this request has left yet, so it may be started anew.
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

    def _answers(self, questions: dict[str, dict[str, Any]], deadline: Deadline) -> dict[str, Any]:
        answers: dict[str, Any] = {}
        deadline.hold()
        try:
            for key, question in questions.items():
                answers[key] = self.host.answer(question["method"], question.get("params", {}))
        except UnsupportedError as unsupported:
            problem = f"asked for {unsupported}, which this client did not declare"
            raise RemoteProtocolError(self.name, problem) from None
        except DeclinedError as declined:
            # The server cannot be notified, and does not wait.
            raise CancelledError(self.name, str(declined) or "what the server wanted to know") from None
        finally:
            deadline.release()
        return answers

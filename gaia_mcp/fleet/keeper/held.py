"""A server that the keeper holds, and the provider that passes the requests of all its clients to it unchanged.

All clients share the one instance: what the server keeps for one, it keeps for the next. A question of the server goes
to the client whose call is running; if several clients are calling, the server cannot say which it asks, and is
refused. The filter of the entry applies to every client.
"""

from __future__ import annotations

import json
import os
import socket
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from gaia_mcp.config.command import Command, references_in
from gaia_mcp.config.served import Served
from gaia_mcp.core.errors import ConnectionLostError, MCPError, NotConnectedError, PeerError, outcome_unknown
from gaia_mcp.fleet.gateway.forwarding import without_server
from gaia_mcp.fleet.gateway.naming import Prefix
from gaia_mcp.fleet.gateway.provider import GatewayProvider
from gaia_mcp.fleet.keeper import SERVER_ERROR, Address, errors
from gaia_mcp.protocol.input_required import is_asked_by_result
from gaia_mcp.protocol.server import Description, Forwarded
from gaia_mcp.server.provider import RequestError, method_not_found, unknown_tool

if TYPE_CHECKING:
    from gaia_mcp.asking import Call
    from gaia_mcp.config.entries import ServerEntry
    from gaia_mcp.fleet.gateway.backend import Backend

Wire = dict[str, Any]

_PASSED = frozenset(
    ("tools/list", "tools/call", "prompts/list", "prompts/get", "resources/list", "resources/templates/list",
     "resources/read", "completion/complete")
)  # fmt: skip
# What the keeper supports itself, for each client: a server's own tasks are of one connection.
_NOT_PASSED = ("tasks", "experimental")
# Its clients read the errors of their running calls when it is stopped; one that reads nothing is not waited for.
LAST_SECONDS = 2.0
# As much of a server's stderr is kept for its errors as of one that a command starts.
STDERR_BYTES = 64 * 1024


class Key(NamedTuple):
    """What tells held servers apart: the file of the entry or the folder of a target, the name or the words, the
    instance, and the values of the variables that the entry names.
    """

    place: str
    typed: tuple[str, ...]
    instance: str
    variables: tuple[tuple[str, str | None], ...]

    @classmethod
    def of(cls, address: Address, entry: ServerEntry) -> Key:
        """The key of the server at `address`, whose entry was read from there."""
        place = str(entry.source) if entry.source is not None else address.folder
        named = references_in(json.dumps(dict(entry.raw), ensure_ascii=False))
        variables = tuple((name, address.environ.get(name)) for name in sorted(set(named)))
        return cls(place, (address.name, *address.words), address.instance, variables)


class HeldServer:
    """The server of `entry`, started in the folder and with the variables of `address`. It is held for
    `keep_alive_seconds` without a call, or without a limit if that is None. `report` is called with its problems.
    """

    def __init__(
        self,
        key: Key,
        address: Address,
        entry: ServerEntry,
        keep_alive_seconds: float | None,
        report: Callable[[str], None],
        *,
        last_seconds: float = LAST_SECONDS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.key = key
        self.address = address
        self.entry = entry
        self.keep_alive_seconds = keep_alive_seconds
        self.since = time.time()
        self.calls = self.errors = 0
        # The number of requests that it is answering.
        self.running = 0
        # What shuts down the connection of each client.
        self._clients: dict[object, Callable[[int], object]] = {}
        self.is_closed = False
        self._last_seconds = last_seconds
        self._clock = clock
        self._used_at = clock()
        self._lock = threading.Condition()
        self._at_end: list[Callable[[], object]] = []
        # What it writes to stderr.
        self.written = Written()
        self.provider = HeldProvider(_in_folder(entry, address.folder)._replace(is_shared=True), address, report, self)

    @property
    def backend(self) -> Backend:
        """The one instance."""
        return self.provider.backend

    @property
    def pid(self) -> int | None:
        """The id of its process; None for a server behind a URL, and if it has ended."""
        server = self.backend.server
        return getattr(server.client.transport, "pid", None) if server is not None else None

    @property
    def revision(self) -> str | None:
        """The revision of MCP that it was connected with; None before."""
        server = self.backend.server
        return server.client.protocol_version if server is not None else None

    @property
    def is_ready(self) -> bool:
        """Whether it is connected."""
        server = self.backend.server
        return server is not None and server.is_ready

    def idle_seconds(self) -> float:
        """How long no client has been connected to it, and no call was running."""
        with self._lock:
            return 0.0 if self._clients or self.running else self._clock() - self._used_at

    def seconds_left(self) -> float | None:
        """How long it is held if no call comes; None without a limit."""
        return None if self.keep_alive_seconds is None else self.keep_alive_seconds - self.idle_seconds()

    def touch(self) -> None:
        """The time for which it is held begins again."""
        with self._lock:
            self._used_at = self._clock()

    @contextmanager
    def client(self, shut: Callable[[int], object] = lambda _: None) -> Iterator[None]:
        """A context in which a client is connected to it. Once the server has been stopped, `shut` is called as the
        method `shutdown` of a socket; at once if it has been stopped already.
        """
        client = object()
        with self._lock:
            self._clients[client] = shut
            if self.is_closed:
                self._disconnect(socket.SHUT_RD)
        try:
            yield
        finally:
            with self._lock:
                del self._clients[client]
                self._used_at = self._clock()
                self._lock.notify_all()

    def begin(self, method: str) -> None:
        """A request begins."""
        with self._lock:
            self.running += 1
            self.calls += method == "tools/call"

    def end(self, *, failed: bool) -> None:
        """A request has ended."""
        with self._lock:
            self.running -= 1
            self.errors += failed
            self._used_at = self._clock()

    def call_at_end(self, function: Callable[[], object]) -> None:
        """Call `function` once it has been stopped; at once if it has been already."""
        with self._lock:
            if not self.is_closed:
                self._at_end.append(function)
                return
        function()

    def close(self) -> None:
        """Stop the server, and disconnect its clients: they would wait for changes that never come. May be called
        twice.
        """
        with self._lock:
            self.is_closed = True
        self.provider.close()
        with self._lock:
            functions, self._at_end = self._at_end, []
        for function in functions:
            function()
        with self._lock:
            self._disconnect(socket.SHUT_RD)
            if not self._lock.wait_for(lambda: not self._clients, self._last_seconds):
                self._disconnect(socket.SHUT_RDWR)

    def _disconnect(self, how: int) -> None:
        for shut in self._clients.values():
            with suppress(OSError):
                shut(how)


def _in_folder(entry: ServerEntry, folder: str) -> ServerEntry:
    """The entry of a server that runs where the command that holds it does: the keeper's own folder is the root."""
    target = entry.target
    if isinstance(target, Command) and target.cwd is not None and not target.cwd.startswith(("~", "$")):
        return entry._replace(target=target._replace(cwd=os.path.join(folder, target.cwd)))  # noqa: PTH118
    # That of an agent is relative to the folder of its file.
    if isinstance(target, (Command, Served)) and target.cwd is None and folder:
        return entry._replace(target=target._replace(cwd=folder))
    return entry


class Written:
    """The end of what a server has written to stderr, in whole lines, masked. Safe to use from several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: deque[bytes] = deque()
        self._size = 0
        # The number of all bytes so far.
        self.total = 0

    def add(self, _server: str, lines: bytes) -> None:
        """It has written these lines."""
        with self._lock:
            self._kept.append(lines)
            self._size += len(lines)
            self.total += len(lines)
            while self._size - len(self._kept[0]) >= STDERR_BYTES:
                self._size -= len(self._kept.popleft())

    def since(self, total: int) -> str:
        """What of it was written after these many bytes."""
        with self._lock:
            new = max(0, self.total - total)
            return b"".join(self._kept)[max(0, self._size - new) :].decode("utf-8", "replace")


class HeldProvider(GatewayProvider):
    """The server of `entry` as itself: its own description, lists and results. `held` counts its requests."""

    def __init__(self, entry: ServerEntry, address: Address, report: Callable[[str], None], held: HeldServer) -> None:
        super().__init__(
            {entry.name: entry},
            prefix=Prefix.NEVER,
            report=report,
            show=held.written.add,
            environ=address.environ,
            command="up",
            # Several clients, which share the one instance.
            max_instances=1,
        )
        self._entry = entry
        self._held = held

    @property
    def backend(self) -> Backend:
        """The one instance."""
        return self._servers[self._entry.name].shared

    def describe(self) -> Description:
        """As the server describes itself."""
        backend = self.backend
        server = backend.server
        if server is None or server.client.peer is None:
            return super().describe()
        masker = server.masker()
        own = {name: held for name, held in server.client.capabilities.items() if name not in _NOT_PASSED}
        return Description(masker.value(server.client.peer.info), masker.value(own), backend.instructions)

    def answer(self, method: str, params: Wire, call: Call) -> Wire:
        """The server's own result, in the form of the client's revision. Raises as `own_result`."""
        result = without_server(self._passed(method, params, call))
        allowed = self._entry.tool_filter
        if method == "tools/list" and allowed is not None and isinstance(tools := result.get("tools"), list):
            tools = [tool for tool in tools if not isinstance(tool, dict) or allowed.allows(str(tool.get("name")))]
            result = {**result, "tools": tools}
        return result

    def own_result(self, method: str, params: Wire, call: Call) -> Wire:
        """The result as the server sent it, for a command, which applies the filter itself and says what it excludes.

        An error other than an error response of the server is raised as `SERVER_ERROR`.
        """
        result = self._passed(method, params, call)
        is_alike = is_asked_by_result(self._held.revision or "") == call.asks_by_result
        return Forwarded(result) if is_alike else result

    def _ended(self, method: str, params: Wire) -> MCPError:
        """The error for a request that the server was answering when it was ended, with the keeper or by `down`."""
        tool = str(params.get("name")) if method == "tools/call" else None
        stage = f"{method} {tool!r}" if tool is not None else method
        name = self._entry.name
        lost = ConnectionLostError(f"server {name!r} is not held any more: it was ended during {stage}", server=name)
        return outcome_unknown(lost, tool)

    def _passed(self, method: str, params: Wire, call: Call) -> Wire:
        if method not in _PASSED:
            raise method_not_found(method)
        instances = self._servers[self._entry.name]
        allowed = self._entry.tool_filter
        if method == "tools/call" and allowed is not None and not allowed.allows(str(params.get("name"))):
            raise unknown_tool(str(params.get("name")))
        self._held.begin(method)
        failed = False
        try:
            result = self._passing.pass_unchanged(instances, method, params, call)
            failed = result.get("isError") is True
        except MCPError as error:
            failed = True
            # A server may use this code itself; its data is no error of ours.
            if isinstance(error, PeerError) and error.code != SERVER_ERROR:
                raise RequestError(error.text, error.code, error.data) from None
            # What it could not even begin has not run.
            was_ended = isinstance(error, NotConnectedError) and error is not self.backend.problem
            told = self._ended(method, params) if was_ended else error
            raise RequestError(told.message, SERVER_ERROR, errors.as_json(told)) from None
        finally:
            self._held.end(failed=failed)
        return result

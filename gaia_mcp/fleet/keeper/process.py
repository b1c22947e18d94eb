"""The keeper's process: its sockets, the servers that it holds, and its end.

At the socket of a server, a client that begins with a letter speaks HTTP; any other one sends a JSON message per line.

It ends when it holds no server, when its folder is removed, as at the end of a login session, and at a signal; with it
end all its servers, and its files are removed. A lock that it holds as long as it lives keeps a second one from
beginning.
"""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import socket
import threading
import time
from binascii import crc32
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Protocol

from gaia_mcp._version import __version__
from gaia_mcp.core.deadline import LONGEST_SECONDS, Deadline
from gaia_mcp.core.errors import ConnectError, ConnectionLostError, MCPError
from gaia_mcp.core.local_sockets import check_peer
from gaia_mcp.core.names import is_server_name
from gaia_mcp.fleet import close_all
from gaia_mcp.fleet.keeper import (
    COMPLETE,
    END,
    HOLD,
    IS_BUSY,
    LIST,
    MAX_LINE_BYTES,
    NOT_HELD,
    OTHER_VERSION,
    PING,
    READ_BYTES,
    RELEASE,
    SERVER_ERROR,
    SOCKET,
    STDERR,
    SUBSCRIBE,
    USE,
    Address,
    encoded_line,
    errors,
    read_line,
)
from gaia_mcp.fleet.keeper.connections import CommandView, HeldHere, LineClient, serve_lines
from gaia_mcp.fleet.keeper.folder import Folder
from gaia_mcp.fleet.keeper.held import LAST_SECONDS, HeldServer, Key
from gaia_mcp.fleet.keeper.over_http import HttpClients, is_request
from gaia_mcp.fleet.process_usage import memory_of
from gaia_mcp.protocol.jsonrpc import INVALID_PARAMS, METHOD_NOT_FOUND, PARSE_ERROR

if TYPE_CHECKING:
    from pathlib import Path

    from gaia_mcp.config.entries import ServerEntry
    from gaia_mcp.text.redaction.masker import Masker

Wire = dict[str, Any]

# How often to look for what no event announces: the removal of its folder, and the time of servers without a call.
TICK_SECONDS = 2.0
# A client sends its request at once, and reads the response; one that does not must not keep a thread.
REQUEST_SECONDS = 10.0
# The first byte of the request of a command line, whose words and variables follow as strings that end with NUL.
COMMAND_LINE = b"\0"
# A keeper stops its servers before it ends, which takes two or three seconds, and on a busy machine more.
END_SECONDS = 15.0
POLL_SECONDS = 0.02
# Longer than a person waits at a TAB.
COMPLETION_SECONDS = 3.0
# That byte, and the size of what follows.
HEAD_BYTES = 5


class CommandLines(Protocol):
    """Runs command lines in the keeper."""

    def __call__(self, data: bytes, keeper: Keeper, client: LineClient) -> None:
        """Run the line in a request, unless it has to run in a process of its own."""


class Keeper:
    """Listens in `folder`. `find` reads the entry at an address, and raises `MCPError` as a command does; `report` is
    called with what is to be in its log; `run` runs command lines.

    Raises `ConnectError` if the folder cannot be used, or if another keeper has it for `patience_seconds`: one that is
    ending takes its time. A client has `request_seconds` for a request, and
    `last_seconds` to read the last response.
    """

    def __init__(
        self,
        folder: Path,
        find: Callable[[Address], ServerEntry],
        report: Callable[[str], None],
        run: CommandLines = lambda *_: None,
        *,
        patience_seconds: float = END_SECONDS,
        request_seconds: float = REQUEST_SECONDS,
        last_seconds: float = LAST_SECONDS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        # First: if it fails, nothing is open yet.
        self._folder = Folder(folder, Deadline(patience_seconds))
        self._find = find
        self._report = report
        self._run = run
        self._request_seconds = request_seconds
        self._last_seconds = last_seconds
        self._clock = clock
        self._since = time.time()
        # Guards the fields below, and the names of its sockets.
        self._lock = threading.Condition()
        self._servers: dict[Key, Place] = {}
        # All connections, and those that may still ask for a server.
        self._connections: set[socket.socket] = set()
        self._asking: set[socket.socket] = set()
        # Whether it has held a server: it is started to hold one, and does not end before that.
        self._has_held = False
        self._is_ending = self._is_closed = False
        # The threads that end servers which were not called for a while.
        self._closing: list[threading.Thread] = []
        self._http = HttpClients(report)
        # Wakes the thread that accepts connections.
        self._woken, self._wake = socket.socketpair()
        self._wake.setblocking(False)
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._woken, selectors.EVENT_READ)
        try:
            self._listener = self._listening(SOCKET, None)
        except ConnectError:
            self._release_system()
            raise

    # Its life.

    def serve(self) -> None:
        """Serve until it has to end. Every server has ended then, and no file is left, also after a signal."""
        try:
            while self._goes_on():
                for key, _ in self._selector.select(self._seconds_to_wait()):
                    if key.fileobj is self._woken:
                        self._woken.recv(READ_BYTES)
                    elif callable(key.data):
                        # A client that waits for its response has disconnected.
                        with contextlib.suppress(KeyError, ValueError):
                            self._selector.unregister(key.fileobj)
                        key.data()
                    else:
                        self._accept(key.fileobj, key.data)
        finally:
            self.close()

    def close(self) -> None:
        """End all servers, disconnect all clients, and remove its files. May be called twice."""
        with self._lock:
            is_closed, self._is_closed = self._is_closed, True
            self._is_ending = True
            places, self._servers = list(self._servers.values()), {}
        if is_closed:
            return
        self._stop_listening(self._listener, SOCKET)
        close_all([place.end for place in places], "close")
        for thread in self._closing:
            thread.join()
        self._http.close()
        with self._lock:
            # A command whose server has been ended gets its response.
            self._disconnect(socket.SHUT_RD)
            if not self._lock.wait_for(lambda: not self._connections, self._last_seconds):
                self._disconnect(socket.SHUT_RDWR)
        self._release_system()

    def _disconnect(self, how: int) -> None:
        for connection in self._connections:
            with contextlib.suppress(OSError):
                connection.shutdown(how)

    def _release_system(self) -> None:
        for each in (self._selector, self._woken, self._wake):
            each.close()
        self._folder.close()

    def end(self) -> None:
        """Let `serve` return."""
        self._is_ending = True
        self._ring()

    def _ring(self) -> None:
        with contextlib.suppress(OSError):  # It is full: the thread wakes anyway.
            self._wake.send(b"\0")

    def _goes_on(self) -> bool:
        """End the servers whose time is over. Whether it has to go on: not if it holds none, or its folder is gone."""
        with self._lock:
            over = [
                place for place in self._servers.values() if (left := place.seconds_left()) is not None and left <= 0
            ]
            for place in over:
                del self._servers[place.server.key]
        self._closing = [thread for thread in self._closing if thread.is_alive()]
        for place in over:
            self._report(f"server {place.shown!r} is ended: it was not called for a while")
            thread = threading.Thread(target=place.end, name=f"close {place.shown}")
            thread.start()
            self._closing.append(thread)
        with self._lock:
            # Under the lock: no server begins to be held from now on.
            self._is_ending |= self._has_held and not self._servers and not self._asking
            return not self._is_ending and self._folder.is_ours()

    def _seconds_to_wait(self) -> float | None:
        with self._lock:
            left = [left for place in self._servers.values() if (left := place.seconds_left()) is not None]
        return max(0.0, min([TICK_SECONDS, *left]))

    # Connections.

    def _listening(self, name: str, place: Place | None) -> socket.socket:
        """A socket that listens in the folder, registered for `place`. Raises `ConnectError`."""
        listener = self._folder.listening(name)
        self._selector.register(listener, selectors.EVENT_READ, place)
        return listener

    def _stop_listening(self, listener: socket.socket, name: str) -> None:
        with contextlib.suppress(KeyError, ValueError):
            self._selector.unregister(listener)
        listener.close()
        self._folder.remove(name)

    def _accept(self, listener: Any, place: Place | None) -> None:
        try:
            connection, _ = listener.accept()
        except OSError:
            # The server has just been ended; or no descriptor is left, and the client waits until there is one.
            time.sleep(POLL_SECONDS)
            return
        connection.setblocking(True)
        with self._lock:
            self._connections.add(connection)
            self._asking.add(connection)
        try:
            threading.Thread(target=self._serve, args=(connection, place), name="client", daemon=True).start()
        except RuntimeError:
            self._drop(connection)  # No thread is left either.

    def _drop(self, connection: socket.socket) -> None:
        with self._lock:
            self._connections.discard(connection)
            self._asking.discard(connection)
            # Under the lock: it is not shut down once its descriptor may be another's.
            connection.close()
            self._lock.notify_all()
        self._ring()

    def _serve(self, connection: socket.socket, place: Place | None) -> None:
        """The body of a thread: one connection, to `place` or to the keeper itself."""
        try:
            check_peer(connection)
            received, is_own = b"", place is None
            if place is None:
                connection.settimeout(self._request_seconds)
                if connection.recv(1, socket.MSG_PEEK) == COMMAND_LINE:
                    self._serve_command_line(connection)
                    return
                found = self._asked(connection)
                if found is None:
                    return
                place, received = found
                connection.settimeout(None)
            else:
                # For another program it is read as often as for a command: the entry, its approval and its filter.
                self._renewed(place, place.server.address, self._find(place.server.address))
            with self._lock:
                # From now on it does not keep the process from ending.
                self._asking.discard(connection)
            self._serve_client(connection, received, place, is_own=is_own)
        except MCPError as error:
            self._report(error.message)
        except (OSError, RuntimeError):
            return  # It has disconnected, or has sent no request; or no thread is left.
        finally:
            self._drop(connection)

    def _serve_client(self, connection: socket.socket, received: bytes, place: Place, *, is_own: bool) -> None:
        server = place.server
        if not is_own and is_request(connection.recv(1, socket.MSG_PEEK)):
            self._http.serve(connection, server)
            return
        with server.client(connection.shutdown):
            serve_lines(connection, received, server, is_own=is_own)

    def _serve_command_line(self, connection: socket.socket) -> None:
        request = bytearray()
        deadline = Deadline(self._request_seconds)
        # NUL, and the size of what follows in four bytes.
        while len(request) < HEAD_BYTES or len(request) - HEAD_BYTES < int.from_bytes(request[1:HEAD_BYTES], "big"):
            connection.settimeout(max(deadline.remaining(), POLL_SECONDS))
            if not (data := connection.recv(READ_BYTES)) or len(request) > MAX_LINE_BYTES or deadline.expired:
                return
            request += data
        connection.settimeout(None)

        def watch(then: Callable[[], None]) -> None:
            with contextlib.suppress(ValueError):  # It is ending, and has disconnected the client.
                self._selector.register(connection, selectors.EVENT_READ, then)

        def unwatch() -> None:
            with contextlib.suppress(KeyError, ValueError):
                self._selector.unregister(connection)

        try:
            self._run(bytes(request[HEAD_BYTES:]), self, LineClient(connection, watch, unwatch))
        finally:
            unwatch()

    def _asked(self, connection: socket.socket) -> tuple[Place, bytes] | None:
        """Answer the keeper's own requests, until one continues with a server: that, and what was received after it."""
        received = b""
        while True:
            found = read_line(connection, Deadline(self._request_seconds), received)
            if found is None:
                return None
            record, received = found
            outcome = self._answered(record)
            if outcome is None:
                return None
            place, response = outcome if isinstance(outcome, tuple) else (None, outcome)
            connection.settimeout(self._request_seconds)
            connection.sendall(response)
            if place is not None:
                return place, received

    def _answered(self, record: bytes) -> bytes | tuple[Place, bytes] | None:
        """The response to a request of this program, with the server that the connection continues with; None if this
        keeper is about to end.
        """
        try:
            request = json.loads(record)
            number, method, params = request["id"], request["method"], request.get("params", {})
            version = params.get("version")
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
            return _failed(None, PARSE_ERROR, "the request is invalid")
        is_for_all = method in (LIST, END, RELEASE)
        if version != __version__ and not is_for_all:
            return _failed(number, OTHER_VERSION, f"the keeper is of version {__version__}", self._facts())
        address = Address()
        try:
            if is_for_all:
                return self._answered_all(number, method, params)
            address = Address.of(params)
            if method == USE:
                place, remark = self._found(address, self._find(address))
                facts = {
                    "remark": remark,
                    "revision": place.revision(),
                    "written": place.written(),
                    "socket": str(place.path) if place.path is not None else None,
                }
                return place, _responded(number, facts)
            if method == HOLD:
                place, remark = self._hold(address, params.get("keepAlive"))
                return _responded(number, {"remark": remark, **place.facts()})
            if method == STDERR:
                # It is not started again: what is asked for is why it has ended.
                place = self._place_at(address, self._find(address))
                return _responded(number, {"text": place.stderr_since(params.get("written"))})
            if method == COMPLETE:
                place, _ = self._found(address, self._find(address))
                return _responded(number, {"values": place.completed(params["completion"])})
            if method in (PING, SUBSCRIBE):
                place, _ = self._found(address, self._find(address))
                place.check(Deadline(params["seconds"]), params["uri"] if method == SUBSCRIBE else None)
                return _responded(number, {})
        except _EndingError:
            return None
        except _NotHeldError:
            return _failed(number, NOT_HELD, f"server {address.shown!r} is not held")
        except MCPError as error:
            return _failed(number, SERVER_ERROR, error.message, errors.as_json(error))
        except (ValueError, KeyError, TypeError, AttributeError):
            return _failed(number, INVALID_PARAMS, "the parameters are invalid")
        return _failed(number, METHOD_NOT_FOUND, f"the keeper does not know {method!r}")

    def _answered_all(self, number: Any, method: str, params: Wire) -> bytes:
        """The response to a request that a program of any version may send. Raises `ValueError`."""
        if method == LIST:
            return _responded(number, self.described())
        if method == RELEASE:
            names, places = params.get("names"), params.get("places", {})
            if not (isinstance(names, list | None) and isinstance(places, dict)):
                raise ValueError("the names are invalid")
            released = self._release(names, places, only_starting=params.get("onlyStarting") is True)
            return _responded(number, {"released": released})
        if (facts := self._facts())["running"]:
            return _failed(number, IS_BUSY, "a call is running", facts)
        self.end()
        return _responded(number, {})

    # Its servers.

    def described(self) -> Wire:
        """The keeper and its servers, as `ps --json` prints them."""
        with self._lock:
            places = sorted(self._servers.values(), key=lambda place: place.shown)
        keeper = {"pid": os.getpid(), "version": __version__, "since": _moment(self._since), **self._facts()}
        return {"keeper": keeper, "servers": [place.facts() for place in places]}

    def holding(self, address: Address, entry: ServerEntry) -> HeldHere | None:
        """A connection to the server at an address, where `entry` was found, as a command has it; None if it is not
        held. Raises `MCPError` if the server has ended and cannot be started again.
        """
        try:
            place, remark = self._found(address, entry)
        except _NotHeldError:
            return None
        written = place.written()
        return HeldHere(
            CommandView(place.server.provider),
            remark,
            lambda: place.stderr_since(written),
            revision=place.revision(),
            masker=place.masker(),
        )

    def _facts(self) -> Wire:
        with self._lock:
            return {"running": sum(place.server.running for place in self._servers.values())}

    def _place_at(self, address: Address, entry: ServerEntry) -> Place:
        """The server at an address, whose time begins again. Raises `_NotHeldError`."""
        with self._lock:
            place = self._servers.get(Key.of(address, entry))
            if place is None:
                raise _NotHeldError
            place.server.touch()
        return place

    def _found(self, address: Address, entry: ServerEntry) -> tuple[Place, str]:
        """The server at an address, and a remark; if its entry has changed since, it is started again, and so is one
        that has ended. Raises `_NotHeldError`, and `MCPError` if it does not start.
        """
        place = self._place_at(address, entry)
        return place, self._renewed(place, address, entry)

    def _hold(self, address: Address, keep_alive_seconds: Any) -> tuple[Place, str]:
        """Raises `ValueError` for a time that is invalid, and as `_found`."""
        seconds = None if keep_alive_seconds is None else float(keep_alive_seconds)
        if seconds is not None and not 0 < seconds <= LONGEST_SECONDS:
            raise ValueError("the time is invalid")
        entry = self._find(address)
        key = Key.of(address, entry)
        with self._lock:
            place = self._servers.get(key)
            if place is None:
                if self._is_ending:
                    raise _EndingError
                place = Place(address.shown, self._held(key, address, entry, seconds))
                self._servers[key] = place
                self._has_held = True
        try:
            remark = self._renewed(place, address, entry)
        except MCPError:
            if place.failure is not None:
                with self._lock:
                    if self._servers.get(key) is place:
                        del self._servers[key]
                place.end()
            raise
        if seconds is None:
            # `up` holds without a limit what a command has begun to hold for a time.
            place.server.keep_alive_seconds = None
        self._ring()
        return place, remark

    def _listen_for(self, place: Place) -> None:
        """Listen at a socket of its own, for other programs."""
        # Two places may have the same name here, such as those of two shells.
        name = place.shown if is_server_name(place.shown) else f"{crc32(repr(place.server.key[:3]).encode()):08x}"
        try:
            with self._lock:
                free = self._folder.free_name(name)
                listener = self._listening(free, place)
        except ConnectError as error:
            self._report(error.message)
            return
        place.path = self._folder.path / free
        place.at_end.callback(self._stop_listening, listener, free)

    def _held(self, key: Key, address: Address, entry: ServerEntry, seconds: float | None) -> HeldServer:
        return HeldServer(
            key, address, entry, seconds, self._report, last_seconds=self._last_seconds, clock=self._clock
        )

    def _renewed(self, place: Place, address: Address, entry: ServerEntry) -> str:
        """Start the server of `place` if it is new, has ended, or its entry has changed. Returns a remark."""
        with place.starting:
            if place.failure is not None:
                raise place.failure
            server, remark = place.server, ""
            if not _is_same(server.entry, entry):
                remark = f"the entry of {place.shown!r} has changed, and it was started again: what it kept is lost"
                server.close()
                server = self._held(server.key, address, entry, server.keep_alive_seconds)
                place.replace(server)
            elif server.is_ready:
                return remark
            elif place.was_started:
                remark = f"server {place.shown!r} had ended, and was started again: what it kept is lost"
            try:
                server.backend.ready()
            except MCPError as error:
                if not place.was_started:
                    # Those who wait for it fail as well.
                    place.fail(error)
                raise
            server.touch()
            if not place.was_started:
                place.was_started = True
                self._listen_for(place)
            return remark

    def _release(self, names: Any, places: Wire, *, only_starting: bool) -> list[str]:
        """End the servers called so, by name and instance; all without `names`. Of several with one name those of
        its file or folder in `places` are ended, if there are any; with `only_starting` none that has been started.
        """
        with self._lock:
            held = sorted(self._servers.values(), key=lambda place: place.shown)
            is_near = {place: place.server.key.place == places.get(place.shown) for place in held}
            near = {place.shown for place in held if is_near[place]}
            ended = [
                place
                for place in held
                if (names is None or (place.shown in names and (is_near[place] or place.shown not in near)))
                and not (only_starting and place.was_started)
            ]
            for place in ended:
                del self._servers[place.server.key]
        close_all([place.end for place in ended], "close")
        self._ring()
        return [place.shown for place in ended]


class _EndingError(Exception):
    """The keeper is about to end."""


class _NotHeldError(Exception):
    """The keeper does not hold this server."""


class Place:
    """A held server, which is replaced when its entry changes, and its own socket."""

    def __init__(self, shown: str, server: HeldServer) -> None:
        self.shown = shown
        self.server = server
        # Held to start it.
        self.starting = threading.Lock()
        # Guarded by that: whether it has been started, its socket, and what is to be done at its end.
        self.was_started = False
        self.path: Path | None = None
        self.at_end = contextlib.ExitStack()
        # Why it is not held any more.
        self.failure: MCPError | None = None
        # Guards `server` and `failure`: nothing is started after the end.
        self._lock = threading.Lock()

    def replace(self, server: HeldServer) -> None:
        """Use this server from now on. Raises `failure`."""
        with self._lock:
            if self.failure is not None:
                raise self.failure
            self.server = server

    def fail(self, error: MCPError) -> None:
        """It is not held any more, if it was until now."""
        with self._lock:
            self.failure = self.failure or error

    def seconds_left(self) -> float | None:
        """How long it is held without a call; None without a limit, and while it is being started."""
        return None if self.starting.locked() else self.server.seconds_left()

    def revision(self) -> str | None:
        """The revision that the server speaks; None if it has not been connected yet."""
        return self.server.revision

    def masker(self) -> Callable[[], Masker]:
        """A function that returns a masker for the secrets that were passed to it, also once it has been ended. Raises
        `MCPError` if it cannot be connected.
        """
        return self.server.backend.ready().masker

    def written(self) -> int:
        """How many bytes it has written to stderr."""
        return self.server.written.total

    def stderr_since(self, written: Any) -> str:
        """The end of what it wrote to stderr after so many bytes, masked: what it wrote before is of earlier calls."""
        return self.server.written.since(written if isinstance(written, int) else 0)

    def completed(self, completion: Wire) -> list[str]:
        """The values that the server suggests for an argument. Raises `MCPError`."""
        server = self.server.backend.ready()
        argument, known = completion["argument"], completion.get("context", {}).get("arguments", {})
        deadline = Deadline(COMPLETION_SECONDS)
        found = server.client.complete(completion["ref"], argument["name"], argument["value"], known, deadline)
        masker = server.masker()
        return [value for value in found.values if masker.text(value) == value]

    def check(self, deadline: Deadline, uri: str | None) -> None:
        """Check that the server responds, or accepts a subscription to the resource at `uri`. Raises `MCPError`."""
        client = self.server.backend.ready().client
        if uri is None:
            client.check_alive(deadline)
        else:
            # Those of its clients reach it later, and twice is as once.
            client.subscribe_resource(uri, deadline)

    def facts(self) -> Wire:
        """Its description in `ps --json`."""
        server = self.server
        if self.starting.locked() and not server.is_ready:
            return {"name": self.shown, "state": "starting"}
        address = server.address
        return {
            "name": address.name or " ".join(address.words),
            "instance": address.instance,
            "state": "open" if server.is_ready else "ended" if self.was_started else "starting",
            "pid": server.pid,
            "since": _moment(server.since),
            "calls": server.calls,
            "errors": server.errors,
            "running": server.running,
            "idle": round(server.idle_seconds(), 1),
            "keepAlive": server.keep_alive_seconds,
            "memory": memory_of(server.pid) if server.pid is not None else None,
            "source": str(server.entry.source) if server.entry.source is not None else None,
            "folder": address.folder,
            "socket": str(self.path) if self.path is not None else None,
        }

    def end(self) -> None:
        """Stop the server, also one that is being started, and its socket. May be called twice."""
        self.fail(ConnectionLostError(f"server {self.shown!r} was ended", server=self.shown))
        self.server.close()
        while not self.starting.acquire(blocking=False):
            # While it is being started, there may have been nothing to stop yet.
            time.sleep(POLL_SECONDS)
            self.server.close()
        self.at_end.close()
        self.starting.release()


def _is_same(one: ServerEntry, other: ServerEntry) -> bool:
    """Whether two entries read from the same place start the same server, of the same tools."""
    return repr(one.raw) == repr(other.raw) and one._replace(raw={}) == other._replace(raw={})


def _moment(seconds: float) -> str:
    from datetime import UTC, datetime

    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")


def _responded(number: Any, result: Mapping[str, Any]) -> bytes:
    return encoded_line({"jsonrpc": "2.0", "id": number, "result": dict(result)})


def _failed(number: Any, code: int, text: str, data: Any = None) -> bytes:
    error = {"code": code, "message": text} if data is None else {"code": code, "message": text, "data": data}
    return encoded_line({"jsonrpc": "2.0", "id": number, "error": error})

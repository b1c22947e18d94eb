"""What a command sends to the keeper: it asks for a server, has one held, lists and ends them; and starts the keeper.

Whether there is a keeper costs one call of the system: a command without one does not notice. Loaded at a TAB.
"""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from gaia_mcp._version import __version__
from gaia_mcp.config.command import NOTHING
from gaia_mcp.core.deadline import DEFAULT_TIMEOUT_SECONDS, WAIT_SLICE_SECONDS, Deadline
from gaia_mcp.core.errors import ConnectError, ConnectionLostError, DeadlineError, MCPError, NotConnectedError
from gaia_mcp.core.local_sockets import check_folder, connect
from gaia_mcp.fleet.keeper import (
    COMPLETE,
    END,
    HOLD,
    IS_BUSY,
    LIST,
    MIN_SECONDS,
    NOT_HELD,
    OTHER_VERSION,
    PING,
    READ_BYTES,
    RELEASE,
    SERVER_ERROR,
    STDERR,
    SUBSCRIBE,
    USE,
    Address,
    encoded_line,
    errors,
    read_line,
    socket_path,
)

if TYPE_CHECKING:
    import socket
    from pathlib import Path

    from gaia_mcp.client.transports.unix_socket import Connected
    from gaia_mcp.fleet.keeper.holding import Holding

Wire = dict[str, Any]

# A keeper that has started listens within a tenth of a second; on a busy machine it takes longer.
START_SECONDS = 20.0
# It answers at once, but for `hold`.
ANSWER_SECONDS = 10.0
# Between two attempts to connect to a keeper that another command is starting.
POLL_SECONDS = 0.01
# The path of a socket is stored in so many bytes, of which the last is NUL.
MAX_PATH_BYTES = 107 if os.uname().sysname == "Linux" else 103


class KeeperEndedError(ConnectionLostError):
    """The keeper has ended before it answered."""


class KeeperLateError(DeadlineError):
    """The keeper did not answer in time; `stage` completes "the keeper did not"."""

    def __init__(self, stage: str, seconds: float) -> None:
        super().__init__("", stage, seconds)
        MCPError.__init__(self, f"the keeper did not {stage} within {round(seconds, 1):g} s")


class KeeperUnreachableError(ConnectError):
    """The socket of the keeper, or its folder, cannot be used."""


class OtherVersionError(ConnectError):
    """The keeper is of another version; `running` is the number of calls that it is answering."""

    def __init__(self, text: str, running: int) -> None:
        super().__init__(text, hint="it ends once no call is running")
        self.running = running


class Keeper:
    """The keeper at the socket `path`, running or not."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @classmethod
    def of_user(cls) -> Keeper:
        """The keeper of this user's configuration. Raises `ConfigFileError` for an unknown home folder."""
        return cls(socket_path())

    def is_there(self) -> bool:
        """Whether its socket exists."""
        return os.path.lexists(self.path)

    def use(self, address: Address, deadline: Deadline) -> Holding | None:
        """A connection to the server at this address; None if the keeper does not run, or does not hold it.

        Raises `OtherVersionError`, and `MCPError` if the server has ended and cannot be started again.
        """
        answered = self._asked(USE, _params(address), deadline)
        if answered is None:
            return None
        from gaia_mcp.client.transports.unix_socket import Connected
        from gaia_mcp.fleet.keeper.holding import Holding

        connection, result, received = answered

        def again(deadline: Deadline) -> Connected | None:
            answered = self._asked(USE, _params(address), deadline)
            return Connected(answered[0], answered[2]) if answered is not None else None

        return Holding(
            address.shown,
            connection,
            str(result.get("remark", "")),
            partial(self.stderr_tail, address, result.get("written", 0)),
            partial(self._checked, address),
            revision=result.get("revision"),
            received=received,
            connect=again,
        )

    def socket_of(self, address: Address, deadline: Deadline) -> str | None:
        """The path of the socket of the server at this address; None as `use`, which says what is raised, and for a
        server without one.
        """
        result = self._result(USE, _params(address), deadline)
        return result["socket"] if result is not None else None

    def hold(self, address: Address, keep_alive_seconds: float | None, deadline: Deadline) -> Wire:
        """Hold a server, and return its description. Raises as the server's start does, and `KeeperEndedError` if the
        keeper does not run.
        """
        try:
            result = self._result(HOLD, {**_params(address), "keepAlive": keep_alive_seconds}, deadline)
        except KeeperLateError as late:
            # The keeper waits for the server.
            raise DeadlineError(address.shown, "at its start", deadline.allowed) from late
        if result is None:
            raise KeeperEndedError("the keeper has ended", hint="try again")
        return result

    def described(self) -> Wire | None:
        """The keeper and its servers; None if it does not run."""
        return self._result(LIST, {}, Deadline(ANSWER_SECONDS))

    def release(
        self, names: Sequence[str] | None, places: Mapping[str, str] = NOTHING, *, only_starting: bool = False
    ) -> list[str]:
        """End the servers of these names, or all; returns those that were held. Of several with one name, those of its
        file or folder in `places` are ended, if there are any; with `only_starting` those that have not started yet.
        """
        params = {"names": names, "places": dict(places), "onlyStarting": only_starting}
        result = self._result(RELEASE, params, Deadline(DEFAULT_TIMEOUT_SECONDS))
        return list(result["released"]) if result is not None else []

    def stderr_tail(self, address: Address, written: int = 0) -> str:
        """The end of what the server wrote to stderr after so many bytes, masked; empty if it is not held."""
        with contextlib.suppress(MCPError):
            result = self._result(STDERR, {**_params(address), "written": written}, Deadline(ANSWER_SECONDS))
            return str(result["text"]) if result is not None else ""
        return ""

    def completed(self, address: Address, completion: Wire, deadline: Deadline) -> list[str]:
        """The values that the server suggests for the parameters of a `completion/complete`; none if it is not held, or
        refuses.
        """
        with contextlib.suppress(MCPError):
            result = self._result(COMPLETE, {**_params(address), "completion": completion}, deadline)
            return [str(value) for value in result["values"]] if result is not None else []
        return []

    def _checked(self, address: Address, deadline: Deadline, uri: str | None = None) -> None:
        """As `check` of a `Holding`."""
        params = {**_params(address), "seconds": deadline.remaining(), "uri": uri}
        try:
            result = self._result(PING if uri is None else SUBSCRIBE, params, deadline)
        except KeeperLateError as late:
            # The keeper waits for the server.
            stage = "a ping" if uri is None else f"resources/subscribe {uri!r}"
            raise DeadlineError(address.shown, stage, deadline.allowed) from late
        if result is None:
            raise NotConnectedError(address.shown)

    def end(self) -> bool:
        """End it, with all its servers, if no call is running; whether it ends, or has ended."""
        try:
            self._result(END, {}, Deadline(ANSWER_SECONDS))
        except _BusyError:
            return False
        return True

    def ensure(self, command: Sequence[str], log: Callable[[], int], deadline: Deadline) -> None:
        """Start it with `command`, unless it runs; its stderr goes to the descriptor that `log` opens. Of several
        commands at the same time, one starts it.

        Raises `ConnectError` with the reason if it does not start, `DeadlineError`.
        """
        if len(os.fsencode(self.path)) > MAX_PATH_BYTES:
            size = len(os.fsencode(self.path))
            raise ConnectError(
                f"the path of the keeper's socket has {size} bytes, and {MAX_PATH_BYTES} are allowed: {self.path}",
                hint="name a folder with a shorter path in XDG_RUNTIME_DIR",
            )
        started = deadline.sooner(START_SECONDS)
        with _alone(self.path.parent, started):
            while not self._is_running(started):
                _start(command, log, started)
                if started.expired:
                    raise KeeperLateError("start", started.allowed)

    def _is_running(self, deadline: Deadline) -> bool:
        if (connection := self._connected(deadline)) is None:
            return False
        connection.close()
        return True

    def _result(self, method: str, params: Wire, deadline: Deadline) -> Wire | None:
        answered = self._asked(method, params, deadline)
        if answered is None:
            return None
        answered[0].close()
        return answered[1]

    def _asked(self, method: str, params: Wire, deadline: Deadline) -> tuple[socket.socket, Wire, bytes] | None:
        """The connection, the result, and what was received after it; None if the keeper does not run, has ended
        meanwhile, or says that the server is not held.
        """
        connection = self._connected(deadline)
        if connection is None:
            return None
        found = None
        try:
            found = _exchanged(connection, method, params, deadline)
        finally:
            if found is None:
                connection.close()
        return (connection, *found) if found is not None else None

    def _connected(self, deadline: Deadline) -> socket.socket | None:
        """A connection; None if the keeper does not run."""
        try:
            check_folder(self.path.parent)
            return connect(self.path, deadline)
        except (FileNotFoundError, NotADirectoryError, ConnectionRefusedError):
            return None
        except OSError as cause:
            raise KeeperUnreachableError(f"the keeper cannot be reached: {cause.strerror}") from cause
        except ConnectError as problem:
            raise KeeperUnreachableError(problem.message, hint=problem.hint) from problem


class _BusyError(ConnectError):
    """A call is running."""


def _params(address: Address) -> Wire:
    return {"version": __version__, **address.as_json()}


def _exchanged(connection: socket.socket, method: str, params: Wire, deadline: Deadline) -> tuple[Wire, bytes] | None:
    """The result, and what was received after it; None if the server is not held, or the keeper has ended."""
    try:
        connection.settimeout(max(deadline.remaining(), MIN_SECONDS))
        connection.sendall(encoded_line({"jsonrpc": "2.0", "id": 0, "method": method, "params": params}))
        found = read_line(connection, deadline)
        connection.settimeout(None)
    except TimeoutError:
        raise KeeperLateError(f"answer {method}", deadline.allowed) from None
    except OSError:
        return None
    if found is None:
        return None
    line, rest = found
    try:
        response = json.loads(line)
        error = response.get("error")
        if error is None:
            return dict(response["result"]), rest
        code, text, data = error["code"], str(error["message"]), error.get("data")
        running = int(data["running"]) if code == OTHER_VERSION else 0
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as cause:
        raise ConnectError("the keeper has sent an invalid response") from cause
    if code == NOT_HELD:
        return None
    if code == OTHER_VERSION:
        raise OtherVersionError(text, running)
    if code == IS_BUSY:
        raise _BusyError(text)
    raise (errors.read_error(data) if code == SERVER_ERROR else None) or MCPError(text)


@contextlib.contextmanager
def _alone(folder: Path, deadline: Deadline) -> Iterator[None]:
    """A context that one command at a time enters."""
    import fcntl

    try:
        folder.parent.mkdir(mode=0o700, exist_ok=True)
        check_folder(folder.parent)
        # The folder itself is locked, so that no file is left.
        file = os.open(folder.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as cause:
        raise ConnectError(f"the folder of the keeper, {folder.parent}, cannot be used: {cause.strerror}") from cause
    try:
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if deadline.expired:
                    raise KeeperLateError("start", deadline.allowed) from None
                deadline.sleep(POLL_SECONDS)
        yield
    finally:
        os.close(file)


def _start(command: Sequence[str], log: Callable[[], int], deadline: Deadline) -> None:
    """Start the process, and wait until it listens. Raises `ConnectError` with what it wrote instead."""
    import subprocess

    stderr = log()
    try:
        process = subprocess.Popen(
            list(command),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=stderr,
            cwd="/",
            # A closed terminal, and a Ctrl-C in it, are not for it.
            start_new_session=True,
        )
    except OSError as cause:
        raise ConnectError(f"the keeper could not be started: {cause.strerror}") from cause
    finally:
        os.close(stderr)
    assert process.stdout is not None  # noqa: S101 (a pipe was asked for)
    try:
        with process.stdout:
            # It prints one line, empty once it listens, and closes its output.
            problem = _read_line(process.stdout.fileno(), deadline)
        if problem:
            raise ConnectError(f"the keeper could not be started: {problem}")
    except BaseException:
        process.kill()
        process.wait()
        raise
    # It outlives this command, which does not wait for it.
    process.returncode = 0


def _read_line(descriptor: int, deadline: Deadline) -> str:
    import select

    found = b""
    while not found.endswith(b"\n"):
        while not select.select([descriptor], [], [], min(deadline.remaining(), WAIT_SLICE_SECONDS))[0]:
            if deadline.expired:
                raise KeeperLateError("start", deadline.allowed)
        data = os.read(descriptor, READ_BYTES)
        if not data:
            return found.decode(errors="replace").strip() or "it has ended"
        found += data
    return found.decode(errors="replace").strip()


def wait_until_gone(path: Path, deadline: Deadline) -> None:
    """Wait until a keeper that is ending has removed its socket."""
    while os.path.lexists(path) and not deadline.expired:
        time.sleep(POLL_SECONDS)

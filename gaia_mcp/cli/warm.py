"""A plain `call` of a server that a keeper holds: the line is sent to the keeper, which runs it, and what comes back is
printed.

Loads nothing: starting Python takes longer than everything here. So the path of the socket is made without `core.paths`
(a test compares them), and a line about which anything is unusual is left to the ordinary command, which reports it.
What a person at a terminal needs is loaded when it is needed: a line while they wait, and the questions of a server.
"""

# Paths without `pathlib`; the folder for temporary files is checked.
# ruff: noqa: PTH109, PTH111, PTH112, PTH117, PTH120, S108
from __future__ import annotations

import os
import sys

from gaia_mcp._version import __version__
from gaia_mcp.core.internals import bare_signal, bare_socket

# Type checkers take it for true; `typing` takes longer to load than all of this.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from gaia_mcp.cli.keeping.person import Person

# A result is read in pieces of this size.
READ_BYTES = 1 << 20
# The path of a socket has room for fewer bytes than this.
MAX_PATH_BYTES = 103
# The kind and the size of what the keeper sends, and a newline, have fewer bytes.
HEAD_BYTES = 40
# What the keeper sends: the exit code, what is to be printed, a question, and progress; see `fleet.keeper.connections`.
EXIT, ON_STDOUT, ON_STDERR, QUESTION, PROGRESS = range(5)
# Where lines are broken, a person reads them otherwise than a program.
NARROW_COLUMNS = 60
# As long as an ordinary command waits before it shows that it does.
QUIET_SECONDS = 0.7


def run_if_held(words: list[str]) -> int | None:
    """Run the command line `words`, a `call`, in the keeper. Returns the exit code, or None for a line that it does not
    run: nothing was called then.
    """
    environ = os.environ
    if environ.get("GAIA_MCP_KEEPER") == "0" or os.name != "posix" or not _is_plain():
        return None
    path = _socket_path()
    if path is None or (connection := _connected(path)) is None:
        return None
    given = os.fsencode
    has_terminal = os.isatty(2)
    about = (b"t" if has_terminal else b"") + (b"p" if has_terminal and os.isatty(0) else b"")
    try:
        fields = [__version__.encode(), given(sys.argv[0]), os.getcwdb(), about, b"%d" % len(words), *map(given, words)]
        fields += [name + b"=" + value for name, value in os.environb.items()]
        request = b"\0".join(fields)
        connection.sendall(b"\0" + len(request).to_bytes(4, "big") + request)
        return _RunningLine(connection, words).follow() if connection.recv(1) else None
    except (FileNotFoundError, ConnectionError):
        return None  # The working folder was removed; or the keeper has just ended.
    finally:
        connection.close()


def _is_plain() -> bool:
    """Whether what is printed does not depend on a terminal."""
    streams = (sys.stdin, sys.stdout, sys.stderr)
    if any(stream is None for stream in streams) or sys.stdout.encoding != "utf-8" or os.isatty(1):
        return False
    return not os.isatty(2) or os.get_terminal_size(2).columns >= NARROW_COLUMNS


def _socket_path() -> str | None:
    """The socket of the keeper; None without one."""
    environ, user = os.environ, os.getuid()
    chosen = environ.get("GAIA_HOME") or environ.get("GAIA_CONFIG_DIR")
    folder = chosen or os.path.expanduser("~/.gaia")
    if not os.path.isabs(folder) or os.path.normpath(folder) != folder:
        return None
    from binascii import crc32

    number = f"{crc32(os.fsencode(folder)):08x}"
    runtime = environ.get("XDG_RUNTIME_DIR") or f"/run/user/{user}"
    if _is_folder(runtime):
        place = f"{runtime}/gaia-mcp"
    else:
        temporary = environ.get("TMPDIR", "")
        place = f"{temporary if _is_folder(temporary) else '/tmp'}/gaia-mcp-{user}"
    path = f"{place}/{number}/.keeper"
    return path if len(path) <= MAX_PATH_BYTES and _is_private(os.path.dirname(path), user) else None


def _is_folder(path: str) -> bool:
    return os.path.isabs(path) and os.path.isdir(path)


def _is_private(folder: str, user: int) -> bool:
    try:
        found = os.lstat(folder)
    except OSError:
        return False
    # A folder, of this user, and for no other.
    return found.st_mode == 0o040700 and found.st_uid == user


def _connected(path: str) -> Any:
    bare = bare_socket()
    connection = bare.socket(bare.AF_UNIX, bare.SOCK_STREAM)
    try:
        connection.connect(path)
        # The user at the other end, in Linux; elsewhere the folder is proof enough.
        is_linux = hasattr(bare, "SO_PEERCRED")
        credentials = connection.getsockopt(bare.SOL_SOCKET, bare.SO_PEERCRED, 12) if is_linux else b""
    except OSError:
        connection.close()
        return None
    if credentials and int.from_bytes(credentials[4:8], sys.byteorder) != os.getuid():
        connection.close()
        return None
    return connection


class _RunningLine:
    """A line that the keeper runs, and the terminal of the person who has typed it, if they have one."""

    def __init__(self, connection: Any, words: list[str]) -> None:
        self._connection = connection
        self._words = words
        self._received = bytearray()
        # Once they wait, or are asked.
        self._person: Person | None = None

    def follow(self) -> int:
        """Print what the keeper sends, and return the exit code."""
        if not os.isatty(2):
            return self._to_its_end()
        # Ctrl-C leaves the terminal in order.
        signal = bare_signal()
        signal.signal(signal.SIGINT, signal.default_int_handler)
        self._connection.settimeout(QUIET_SECONDS)
        try:
            return self._to_its_end()
        except KeyboardInterrupt:
            self._hide()
            os.write(2, b"\n")
            return 128 + int(signal.SIGINT)

    def _to_its_end(self) -> int:
        while (frame := self._next()) is not None:
            kind, data = frame
            if kind == EXIT:
                return int(data)
            if kind == QUESTION:
                answer = self._asked().answer(data)
                self._connection.sendall(b"%d\n" % len(answer) + answer)
            elif kind == PROGRESS:
                person = self._asked(QUIET_SECONDS)
                person.wait()
                person.progressed(data)
            elif (code := self._print(kind, data)) is not None:
                return code
        from gaia_mcp.cli.calls.calling import fail_without_keeper

        self._hide()
        return fail_without_keeper(self._words)

    def _next(self) -> tuple[int, bytes] | None:
        """What the keeper sends next, and its kind; None if it has ended."""
        while True:
            head, newline, _ = self._received[:HEAD_BYTES].partition(b"\n")
            if newline:
                kind, size = map(int, head.split())
                end = len(head) + 1 + size
                if len(self._received) >= end:
                    data = bytes(self._received[len(head) + 1 : end])
                    del self._received[:end]
                    return kind, data
            try:
                data = self._connection.recv(READ_BYTES)
            except TimeoutError:
                self._asked().wait()
                continue
            except ConnectionResetError:
                return None  # It was killed.
            if not data:
                return None
            self._received += data

    def _asked(self, quiet_seconds: float = 0.0) -> Person:
        self._connection.settimeout(None)
        if self._person is None:
            from gaia_mcp.cli.keeping.person import Person

            self._person = Person(self._words, quiet_seconds)
        return self._person

    def _hide(self) -> None:
        if self._person is not None:
            self._person.hide()

    def _print(self, stream: int, text: bytes) -> int | None:
        """Print, and return the exit code if that fails."""
        self._hide()
        try:
            while text:
                text = text[os.write(stream, text) :]
        except BrokenPipeError:
            return None
        except OSError as error:
            # What cannot be printed on stderr cannot be reported.
            if stream == ON_STDOUT:
                from gaia_mcp.cli.calls.calling import fail_without_output

                return fail_without_output(self._words, error)
        return None

"""The process that imports the program once and forks for each command line: `python server.py DESCRIPTOR ROOM`.

A request comes over the socket with descriptors: a command line, its environment, working folder, umask, limits and
terminal. The command is a child of the process at the other end of the socket, as this one is: it is waited for there,
and its end is seen as that of any other child.

It stands for the console scripts, `python -m gaia_mcp`, and the scripts of `tests/servers`. What Python reads when it
starts (variables such as `PYTHONPATH`, the locale) was read here already: the other end starts such a command for real.
It knows no test, has one thread, and ends with the socket, as does every command that still runs then.
"""

from __future__ import annotations

import _posixsubprocess
import atexit
import contextlib
import ctypes
import fcntl
import gc
import importlib
import json
import os
import pkgutil
import re
import resource
import runpy
import signal
import socket
import struct
import subprocess
import sys
import termios
import threading
import time
import types
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

BIN = Path(sys.executable).parent
PROGRAMS = (str(BIN / "gaia"), str(BIN / "gmcp"))
# The interpreter, by the names that it has there.
INTERPRETERS = tuple(str(path) for path in BIN.glob("python*"))
# What it runs in a fork: scripts that import the standard library alone, and the module of the console scripts.
SERVERS = Path(__file__).parents[1] / "servers"
MODULES = (["-m", "gaia_mcp"], ["-P", "-m", "gaia_mcp"])
# The locale of the fork server, and of nearly all command lines.
LANG = "C.UTF-8"
# Variables that the interpreter, its memory allocator, the linker and OpenSSL read when they start.
READ_AT_START = ("LANGUAGE", "LC_", "LD_", "MALLOC_", "OPENSSL_", "PYTHON")
LIMITS = sorted({getattr(resource, name) for name in dir(resource) if name.startswith("RLIMIT_")})
# Verbs that start no server, nor does any other with these options. If one does all the same, it is started for real.
ALONE = {
    "--help", "--version", "-h", "completion", "disable", "enable", "export", "generate", "guide", "init", "list",
    "logs", "remove", "show",
}  # fmt: skip
# The one descriptor that a forked command has more than others: the way to its waiting child.
SPARE_DESCRIPTOR = 250
# The name, for `ps`, of this process and of a child that waits: up to 15 bytes.
NAME = "fork-server"
# Where the system shows the words and the environment of a process, here with room for those of any command.
ROOM_BYTES = 16 * 1024
# A message begins with its length in bytes.
LENGTH = struct.Struct("!I")
# Of Linux: see clone(2) and prctl(2).
CLONE_PARENT, CLONE_CHILD_CLEARTID, CLONE_CHILD_SETTID = 0x8000, 0x200000, 0x1000000
CLONE_ARGUMENTS = struct.Struct("=8Q")
SYS_CLONE3 = 435
PR_GET_TID_ADDRESS = 40
# More than a command has been given.
MAX_DESCRIPTORS = 32
# Beside the package itself: what commands import that no module of it imports at its beginning. Where a library reads
# the environment at its import, it has read that of the fork server: `test_honesty.py` compares what commands do when
# they are forked with what they do when they are started.
IMPORTED = ("email.message", "encodings.ascii", "jsonschema_rs", "platformdirs.unix", "rich.table", "tomli_w")

# The socket of the child that waits, unless there is none, and what a thread holds that uses it.
_SPARES: list[socket.socket] = []
_USING_SPARE = threading.Lock()


def serve() -> None:
    """Fork for each request until the socket is closed. Returns in the commands alone, once they are to run."""
    channel = socket.socket(fileno=int(sys.argv[1]))
    Path("/proc/self/comm").write_text(NAME)
    _import_program()
    # A Ctrl-C in the terminal of the test run is for the run.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    running: list[int] = []
    while (received := receive(channel)) is not None:
        request, descriptors = received
        ctypes.pythonapi.PyOS_BeforeFork()
        pid = _clone(CLONE_PARENT)
        if pid == 0:
            _become_command(request, descriptors, channel)
            return
        ctypes.pythonapi.PyOS_AfterFork_Parent()
        running = [*filter(_is_running, running), os.pidfd_open(pid)]
        for descriptor in descriptors:
            os.close(descriptor)
    for command in running:
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(command, signal.SIGKILL)
    os._exit(0)


def _import_program() -> None:
    import gaia_mcp

    modules = [found.name for found in pkgutil.walk_packages(gaia_mcp.__path__, "gaia_mcp.")]
    for module in (*modules, *IMPORTED):
        if not module.endswith(".__main__"):
            importlib.import_module(module)
    if len(list(Path("/proc/self/task").iterdir())) != 1:
        raise RuntimeError("an import has started a thread, which no forked command would have")
    gc.collect()
    # The collector of a command leaves these objects alone, so that their pages stay shared.
    gc.freeze()


def _clone(flags: int) -> int:
    """Fork as the system does, without what Python does before and after: `PyOS_BeforeFork`, `PyOS_AfterFork_Child`."""
    c = ctypes.PyDLL(None, use_errno=True)
    # Where the C library keeps the id of the main thread: `pthread_kill` needs the new one.
    place = ctypes.POINTER(ctypes.c_int)()
    if c.prctl(PR_GET_TID_ADDRESS, ctypes.byref(place)) != 0 or place[0] != os.getpid():
        raise RuntimeError("this system does not show where its C library keeps the id of a thread")
    address = ctypes.cast(place, ctypes.c_void_p).value or 0
    # A child of the parent reports its end as this process does.
    end = 0 if flags & CLONE_PARENT else signal.SIGCHLD
    arguments = CLONE_ARGUMENTS.pack(flags | CLONE_CHILD_SETTID | CLONE_CHILD_CLEARTID, 0, address, 0, end, 0, 0, 0)
    pid = int(c.syscall(SYS_CLONE3, arguments, len(arguments)))
    if pid < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return pid


def receive(channel: socket.socket) -> tuple[dict[str, Any], list[int]] | None:
    """The next request, with its descriptors; None at the end, also where the other end was killed amid a request."""
    head, descriptors, _, _ = socket.recv_fds(channel, LENGTH.size, MAX_DESCRIPTORS)
    if len(head) < LENGTH.size:
        return None
    (length,) = LENGTH.unpack(head)
    data = channel.recv(length, socket.MSG_WAITALL)
    return (json.loads(data), descriptors) if len(data) == length else None


def _is_running(command: int) -> bool:
    """Whether a command has not ended; its descriptor is closed if it has."""
    try:
        signal.pidfd_send_signal(command, 0)
    except ProcessLookupError:
        os.close(command)
        return False
    return True


def _become_command(request: dict[str, Any], descriptors: list[int], channel: socket.socket) -> None:
    """Be a command, with a child that waits to become the first server of ours that this command starts, if it may
    start one.

    Until the child is there and while it waits, neither writes much: each page would be copied, twice.
    """
    words = request["words"]
    if not ALONE.isdisjoint(words) and "--check" not in words:
        ctypes.pythonapi.PyOS_AfterFork_Child()
        _become(request, descriptors, channel)
        return
    way, is_spare = _fork_spare(0, channel)
    if is_spare:
        _be_spare(way)
        return
    number = fcntl.fcntl(way.detach(), fcntl.F_DUPFD_CLOEXEC, SPARE_DESCRIPTOR)
    _become(request, descriptors, channel, kept=number)
    _SPARES.append(socket.socket(fileno=number))
    subprocess._fork_exec = _fork_exec  # type: ignore[attr-defined]


def _fork_spare(flags: int, channel: socket.socket) -> tuple[socket.socket, bool]:
    """Fork a child that waits. Returns the way to it, or in that child the way to this process; and whether this is the
    child.
    """
    try:
        ours, theirs = socket.socketpair()
        spare = _clone(flags)
    except OSError as error:
        # Python could not end by itself: locks that it took before the fork are held.
        _answer(channel, error.errno)
        os._exit(255)
    if spare == 0:
        return theirs, True
    ctypes.pythonapi.PyOS_AfterFork_Child()
    theirs.close()
    return ours, False


def _be_spare(channel: socket.socket) -> None:
    """Wait to become a server that the parent starts; then leave another child of the parent, which waits for the next.
    Ends with the parent.
    """
    _close_all_but([channel.fileno()])
    while True:
        received = receive(channel)
        if received is None:
            os._exit(0)
        way, is_spare = _fork_spare(CLONE_PARENT, channel)
        if not is_spare:
            # Until it has closed them, the next one holds the streams of this server, as a process left behind would.
            way.recv(1)
            _become(*received, channel, answered=[way.detach()])
            return
        # Its socket is closed already for this process, by its number; the object must not close another one.
        channel.detach()
        channel = way
        _close_all_but([channel.fileno()])
        with contextlib.suppress(OSError):  # The server has been killed; then nobody asks for another, either.
            channel.send(b".")


def _become(
    request: dict[str, Any],
    descriptors: list[int],
    channel: socket.socket,
    *,
    kept: int = -1,
    answered: Sequence[int] = (),
) -> None:
    """Be as a process is that has just been started for the request; answer it meanwhile, with some descriptors. Keep
    one descriptor more.
    """
    try:
        _take_place(request)
    except OSError as error:
        _answer(channel, error.errno)
        os._exit(255)
    _answer(channel, 0, answered)
    # Closed below, with all others: the object may not close what has this number then.
    channel.detach()
    numbers = request["numbers"]
    above = max([*descriptors, *numbers]) + 1
    moved = [fcntl.fcntl(descriptor, fcntl.F_DUPFD, above) for descriptor in descriptors]
    for number, descriptor in zip(numbers, moved, strict=True):
        os.dup2(descriptor, number)
    _close_all_but([*numbers, kept])
    if request["terminal"]:
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    _begin(request["words"])
    for name, limit in request["limits"]:
        resource.setrlimit(name, tuple(limit))


def _answer(channel: socket.socket, number: int | None, descriptors: Sequence[int] = ()) -> None:
    """Answer a request with the id of this process and the number of an error; end if the other end was killed."""
    answer = {"pid": os.getpid(), "errno": number}
    try:
        socket.send_fds(channel, [json.dumps(answer).encode()], descriptors)
    except OSError:
        os._exit(255)


def _take_place(request: dict[str, Any]) -> None:
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.environ.clear()
    os.environ.update(request["environ"])
    time.tzset()
    os.umask(request["umask"])
    if request["session"]:
        os.setsid()
    if request["group"] >= 0:
        os.setpgid(0, request["group"])
    os.chdir(request["cwd"])


def _close_all_but(kept: list[int]) -> None:
    """Close all descriptors but those of the standard streams, and these."""
    edges = [2, *sorted(number for number in kept if number > 2), os.sysconf("SC_OPEN_MAX")]
    for low, high in pairwise(edges):
        os.closerange(low + 1, high)


def _fork_exec(*given: Any) -> int:
    """As the function of this name in `subprocess`, for a command: have the waiting child become its server, if that is
    one of ours and starts as the command has.
    """
    words, _, _, passed, cwd, pairs, stdin, _, _, stdout, _, stderr, _, report = given[:14]
    session, group, umask, prepare = given[15], given[16], given[20], given[21]
    environ = dict(os.fsdecode(pair).split("=", 1) for pair in pairs or ())
    is_plain = tuple(passed) == (report,) and prepare is None and min(stdin, stdout, stderr) >= 0
    if is_plain and is_forked(words, environ):
        with contextlib.suppress(IndexError, OSError), _USING_SPARE:
            request = {
                "words": [os.fsdecode(word) for word in words],
                "environ": environ,
                # The child that waits was forked before the command had these.
                "cwd": os.getcwd() if cwd is None else os.fsdecode(cwd),  # noqa: PTH109
                "umask": current_umask() if umask < 0 else umask,
                "session": session,
                "group": group,
                "terminal": False,
                "limits": [(limit, resource.getrlimit(limit)) for limit in LIMITS],
                "numbers": [0, 1, 2],
            }
            with _SPARES.pop() as spare:
                answer, answered = ask(spare, request, [stdin, stdout, stderr])
            number = fcntl.fcntl(answered[0], fcntl.F_DUPFD_CLOEXEC, SPARE_DESCRIPTOR)
            os.close(answered[0])
            _SPARES.append(socket.socket(fileno=number))
            return int(answer["pid"])
    return int(_posixsubprocess.fork_exec(*given))


def current_umask() -> int:
    (mask,) = re.findall(r"^Umask:\s*(\d+)", Path("/proc/self/status").read_text(), re.MULTILINE)
    return int(mask, 8)


def ask(
    channel: socket.socket, request: Mapping[str, Any], descriptors: Sequence[int]
) -> tuple[dict[str, Any], list[int]]:
    """Have a process become what is requested. Returns its answer, with descriptors. Raises `OSError` if it cannot, or
    has ended.
    """
    data = json.dumps(request).encode()
    socket.send_fds(channel, [LENGTH.pack(len(data))], descriptors)
    channel.sendall(data)
    received, answered, _, _ = socket.recv_fds(channel, 4096, 1)
    answer: dict[str, Any] = json.loads(received or b'{"pid": 0, "errno": 0}')
    if answer["pid"] == 0:
        raise ConnectionResetError("the fork server has ended")
    if answer["errno"]:
        for descriptor in answered:
            os.close(descriptor)
        os.waitpid(answer["pid"], 0)
        raise OSError(answer["errno"], os.strerror(answer["errno"]))
    return answer, answered


def is_forked(words: Sequence[str | Path], environ: Mapping[str, str]) -> bool:
    """Whether a command line does the same when it is forked: it runs a program that the fork server stands for, and
    Python starts in its environment as it has in that of the fork server.
    """
    starts_alike = environ.get("LANG") == LANG and not any(name.startswith(READ_AT_START) for name in environ)
    first, *others = [os.fsdecode(word) for word in words]
    if first in INTERPRETERS:
        is_known = _has_module(others) or Path(*others[:1]).parent == SERVERS
    else:
        is_known = first in PROGRAMS
    return starts_alike and is_known


def _has_module(options: list[str]) -> bool:
    return any(options[: len(each)] == each for each in MODULES)


def _begin(words: list[str]) -> None:
    """What Python does before it runs a program."""
    sys.orig_argv = words if words[0] in INTERPRETERS else [sys.executable, *words]
    sys.executable = sys.orig_argv[0]
    _, *options = sys.orig_argv
    sys.argv = options
    # Instead of the folder of this script.
    sys.path[0] = os.path.dirname(options[0])  # noqa: PTH120
    if _has_module(options):
        sys.argv = options[options.index("-m") + 1 :]
        # With `-P`, nothing is added.
        sys.path[:1] = [os.getcwd()] if options[0] == "-m" else []  # noqa: PTH109
    _show(sys.orig_argv, [f"{name}={value}" for name, value in os.environ.items()])
    main = types.ModuleType("__main__")
    main.__file__ = sys.argv[0]
    main.__dict__["__builtins__"] = __builtins__
    sys.modules["__main__"] = main
    sys.stdin = sys.__stdin__ = _stream(0, "r", sys.stdin)
    sys.stdout = sys.__stdout__ = _stream(1, "w", sys.stdout)
    sys.stderr = sys.__stderr__ = _stream(2, "w", sys.stderr)
    if "COVERAGE_PROCESS_START" in os.environ:
        import coverage

        coverage.process_startup()


def _show(words: list[str], environ: list[str]) -> None:
    """Have `ps` and `/proc` show the command instead of the fork server."""
    places = Path("/proc/self/stat").read_text().rpartition(")")[2].split()[45:49]
    for shown, start, end in zip((words, environ), places[0::2], places[1::2], strict=True):
        data = b"".join(os.fsencode(word) + b"\0" for word in shown)
        size = int(end) - int(start)
        ctypes.memmove(int(start), data[: size - 1].ljust(size, b"\0"), size)
    is_script = words[1] in PROGRAMS
    Path("/proc/self/comm").write_text(Path(words[is_script]).name)


def _stream(number: int, mode: str, like: TextIO) -> TextIO:
    """A standard stream as Python opens it, in the encoding that it found at its start."""
    newline = None if mode == "r" else "\n"
    stream = open(number, mode, encoding=like.encoding, errors=like.errors, newline=newline, closefd=False)  # noqa: SIM115
    if number == 2:
        stream.reconfigure(line_buffering=True)
    return stream


def run() -> None:
    """Run the program as `__main__`, and end as Python does at the end of one; but without the destruction of every
    object, which would copy all pages that are shared.
    """
    main = sys.modules["__main__"].__dict__
    status: object = 0
    try:
        if _has_module(sys.orig_argv[1:]):
            runpy._run_module_as_main(sys.argv[0])  # type: ignore[attr-defined]
        else:
            exec(compile(Path(sys.argv[0]).read_bytes(), sys.argv[0], "exec"), main)
    except SystemExit as ended:
        status = ended.code
    except BaseException as error:
        # Without the line above.
        error.with_traceback(error.__traceback__ and error.__traceback__.tb_next)
        sys.excepthook(type(error), error, error.__traceback__)
        status = 1
        if isinstance(error, KeyboardInterrupt):
            signal.signal(signal.SIGINT, signal.SIG_DFL)
            signal.raise_signal(signal.SIGINT)
    if not isinstance(status, int | None):
        sys.stderr.write(f"{status}\n")
        status = 1
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    with contextlib.suppress(ValueError):  # It has been closed.
        sys.stdout.flush()
    os._exit(status or 0)


if __name__ == "__main__":
    serve()
    run()

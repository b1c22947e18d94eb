"""Starts command lines of the program by forks of one process that has imported it: see `server.py`."""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import inspect
import json
import os
import resource
import socket
import subprocess
import termios
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.forking.server import LANG, NAME, PROGRAMS, ROOM_BYTES, ask, current_umask, is_forked
from tests.processes import children, ended_name

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

SERVER = Path(__file__).with_name("server.py")
PR_SET_CHILD_SUBREAPER = 36
# For a command that runs to its end.
RUN_SECONDS = 60


class ForkServer:
    """Its process starts with the first command, and ends with `close`."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._channel: socket.socket | None = None
        self._lock = threading.Lock()

    def run(self, words: Sequence[str | Path], **options: Any) -> subprocess.CompletedProcess[Any]:
        """As `subprocess.run` with `capture_output`."""
        data, timeout = options.pop("input", None), options.pop("timeout", RUN_SECONDS)
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        with Command(self, words, **pipes, **options) as command:
            try:
                out, err = command.communicate(data, timeout)
            except BaseException:
                command.kill()
                raise
        return subprocess.CompletedProcess(command.args, command.returncode, out, err)

    def fork(self, request: Mapping[str, Any], descriptors: Sequence[int]) -> int:
        """The id of a new child of this process. Raises `OSError` if its working folder or its group is not there."""
        with self._lock:
            answer, _ = ask(self._connected(), request, descriptors)
            _reap_spares()
        return int(answer["pid"])

    def open(self) -> None:
        """Start its process, if it does not run."""
        with self._lock:
            self._connected()

    def close(self) -> None:
        """End it, with every command that still runs. May be called twice."""
        if self._process is not None and self._channel is not None:
            self._channel.close()
            self._process.wait()
            _reap_spares()

    def _connected(self) -> socket.socket:
        if self._channel is None:
            # What it forks becomes a child of this process.
            assert ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0
            self._channel, theirs = socket.socketpair()
            with theirs:
                # The interpreter that the first line of a console script names.
                interpreter = Path(PROGRAMS[0]).read_text().splitlines()[0].removeprefix("#!")
                self._process = subprocess.Popen(
                    [interpreter, SERVER, str(theirs.fileno()), "." * ROOM_BYTES],
                    stdin=subprocess.DEVNULL,
                    pass_fds=[theirs.fileno()],
                    env={"LANG": LANG, "PATH": os.environ["PATH"], "ROOM": "." * ROOM_BYTES},
                )
        return self._channel


class Command(subprocess.Popen[Any]):
    """A command line as a child of this process: forked, or started where only that shows what is to be seen.

    Takes what `subprocess.Popen` takes. With `terminal`, its standard input is its controlling terminal; `limits` are
    those of `resource.setrlimit`.
    """

    def __init__(
        self,
        server: ForkServer,
        words: Sequence[str | Path],
        *,
        terminal: bool = False,
        limits: Mapping[int, tuple[int, int]] | None = None,
        starts: bool = False,
        **options: Any,
    ) -> None:
        environ = options.get("env")
        self._server = server if not starts and is_forked(words, os.environ if environ is None else environ) else None
        self._terminal = terminal
        self._limits = dict(limits or {})
        if self._server is None and (terminal or limits):
            options |= {"preexec_fn": self._prepare, "start_new_session": terminal}
        super().__init__([str(word) for word in words], **options)

    def _prepare(self) -> None:
        if self._terminal:
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)
        for limit, values in self._limits.items():
            resource.setrlimit(limit, values)

    def _execute_child(self, *given: Any) -> None:
        """What `Popen` does once its pipes are open."""
        if self._server is None:
            super()._execute_child(*given)  # type: ignore[misc]
            return
        options = _PARAMETERS.bind(self, *given).arguments
        unknown = [name for name in ("executable", "preexec_fn", "shell", "gid", "gids", "uid") if options[name]]
        assert not unknown, f"a command that is forked cannot have {unknown}"
        pipes = [options[name] for name in ("p2cread", "c2pwrite", "errwrite")]
        descriptors = {number: pipe if pipe >= 0 else number for number, pipe in enumerate(pipes)}
        descriptors |= {number: number for number in options["pass_fds"]}
        cwd, env = options["cwd"], options["env"]
        request = {
            "words": options["args"],
            "environ": dict(os.environ if env is None else env),
            # Where the fork server has its own.
            "cwd": os.getcwd() if cwd is None else str(cwd),  # noqa: PTH109
            "umask": current_umask() if options["umask"] < 0 else options["umask"],
            "session": options["start_new_session"] or self._terminal,
            "group": options["process_group"],
            "terminal": self._terminal,
            "limits": list(self._limits.items()),
            "numbers": list(descriptors),
        }
        try:
            self.pid = self._server.fork(request, list(descriptors.values()))
            self._child_created = True
        except OSError as error:
            error.filename = cwd
            raise
        finally:
            ends = ("p2cread", "p2cwrite", "c2pread", "c2pwrite", "errread", "errwrite")
            self._close_pipe_fds(*[options[name] for name in ends])  # type: ignore[attr-defined]


@contextlib.contextmanager
def served_over_http(server: ForkServer, *words: str, environ: Mapping[str, str]) -> Iterator[str]:
    """The URL of `gaia mcp serve` with these words, at a free port. `environ` is added to the least there is."""
    command = [PROGRAMS[0], "mcp", "serve", *words, "--http", "127.0.0.1:0", "--json"]
    environ = {"LANG": LANG, "PATH": os.environ["PATH"], **environ}
    with Command(server, command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environ) as running:
        try:
            assert running.stdout is not None
            yield json.loads(running.stdout.readline())["url"]
        finally:
            running.terminate()


# Private to Python, and the same since 3.11.
_PARAMETERS = inspect.signature(subprocess.Popen._execute_child)  # type: ignore[attr-defined]


def _reap_spares() -> None:
    """Reap the children that waited in commands to the end, and were left to this process."""
    for child in children():
        if ended_name(child) == NAME:
            with contextlib.suppress(ChildProcessError):
                os.waitpid(child, os.WNOHANG)

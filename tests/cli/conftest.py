"""Stories: the installed `gaia`, run as a person or a script runs it, in a home of its own, leaving nothing running."""

from __future__ import annotations

import json
import os
import pty
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import termios
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.cli.rehearsals import Rehearsals
from tests.cli.terminals import Person
from tests.forking.client import SERVER, Command
from tests.processes import children, end_all_with, family
from tests.waiting import PATIENCE_SECONDS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from tests.forking.client import ForkServer

SERVERS = Path(__file__).parent.parent / "servers"
BIN = Path(sys.executable).parent
# The first line of a client, for a command whose standard input it is.
INITIALIZE = (
    b'{"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-11-25", '
    b'"capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}}\n'
)


@dataclass(frozen=True)
class Ran:
    """What a command printed, and how it ended."""

    stdout: str
    stderr: str
    code: int

    @property
    def json(self) -> Any:
        return json.loads(self.stdout)

    @property
    def errors(self) -> list[str]:
        """The lines of stderr that are not remarks."""
        return [line for line in self.stderr.splitlines() if not line.startswith("note: ")]


class Started(Command):
    """A command that runs beside its story. `printed` is what it wrote to stderr, once it has been waited for."""

    printed = b""

    def communicate(self, *arguments: Any, **options: Any) -> tuple[Any, Any]:
        out, err = super().communicate(*arguments, **options)
        self.printed += err or b""
        return out, err


class Gaia:
    """Runs `gaia mcp …` with a home, a working folder and a configuration of its own. Whatever line it advises to type
    is typed, as one of `shared` with the stories of other workers.

    Commands are forked. With `starts`, they are started: for what only a real start shows.
    """

    def __init__(self, folder: Path, shared: Path, fork_server: ForkServer) -> None:
        self.starts = False
        self._fork_server = fork_server
        self.home = folder / "home"
        self.cwd = folder / "work"
        self.home.mkdir()
        self.cwd.mkdir()
        self._started: list[Started] = []
        self._rehearsals = Rehearsals(fork_server, folder, shared)
        self.environ = {
            "HOME": str(self.home),
            "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}",
            "LANG": "C.UTF-8",
        }

    @property
    def config(self) -> Path:
        return self.home / ".gaia" / "mcp_servers.json"

    def command(self, *words: str | Path, **options: Any) -> subprocess.CompletedProcess[Any]:
        """A whole command line, run to its end here and in this environment."""
        return self._fork_server.run(words, **{"cwd": self.cwd, "env": self.environ, "starts": self.starts, **options})

    def popen(self, *arguments: str, **options: Any) -> Started:
        """`gaia mcp …`, running beside the story."""
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        settings = {"cwd": self.cwd, "env": self.environ, "starts": self.starts, **pipes, **options}
        process = Started(self._fork_server, [BIN / "gaia", "mcp", *arguments], **settings)
        self._started.append(process)
        return process

    def close(self) -> None:
        """End what a test that failed has left running, and type what the others have advised."""
        for process in self._started:
            process.kill()
            process.communicate()
        for process in self._started:
            self.rehearse(process.printed.decode(), [str(word) for word in process.args[2:]])

    def rehearse(
        self, printed: str, typed: Sequence[str] = (), stdin: bytes = b"", environ: Mapping[str, str] | None = None
    ) -> None:
        """Type what the output of `typed` advises."""
        self._rehearsals.rehearse(printed, typed, self.cwd, self.environ if environ is None else environ, stdin)

    def __call__(self, *arguments: str, stdin: str = "", **variables: str) -> Ran:
        """`gaia mcp …`, run to its end."""
        words = (BIN / "gaia", "mcp", *arguments)
        done = self.command(*words, input=stdin.encode(), env={**self.environ, **variables})
        assert b"Exception ignored" not in done.stderr, done.stderr.decode()
        self.rehearse(done.stderr.decode(), arguments, stdin.encode(), {**self.environ, **variables})
        return Ran(done.stdout.decode(), done.stderr.decode(), done.returncode)

    def write(self, servers: dict[str, Any]) -> None:
        """Configure servers without `add`."""
        self.config.parent.mkdir(exist_ok=True)
        self.config.write_text(json.dumps({"mcpServers": servers}))

    @property
    def saved(self) -> dict[str, Any]:
        """The configured servers, as they are in the file."""
        found: dict[str, Any] = json.loads(self.config.read_text())["mcpServers"]
        return found

    def put(self, path: str, servers: dict[str, Any] | str, key: str = "mcpServers") -> Path:
        """Write another host's file below the home, or in the working folder for `./…`."""
        file = self.cwd / path if path.startswith("./") else self.home / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(servers if isinstance(servers, str) else json.dumps({key: servers}), newline="")
        return file

    def use(self, *names: str, **options: Any) -> None:
        """Configure servers of `tests/servers` by the names of their files, dashes for underscores."""
        self.write({name: entry_of(name, **options) for name in names})


def entry_of(name: str, *arguments: str, **options: Any) -> dict[str, Any]:
    """The entry of a server of `tests/servers`."""
    script = SERVERS / f"{name.replace('-', '_')}.py"
    assert script.exists(), script
    return {"command": sys.executable, "args": [str(script), *arguments], **options}


def run_on_terminal(
    gaia: Gaia, *arguments: str, typed: bytes = b"", after: bytes = b"", width: int = 0
) -> tuple[str, int]:
    """Run with a terminal as stdin, stdout and stderr; type something once `after` has been printed.

    The terminal has `width` columns, or does not know its size.
    """
    terminal, theirs = pty.openpty()
    termios.tcsetwinsize(terminal, (40, width))
    streams = {"stdin": theirs, "stdout": theirs, "stderr": theirs}
    command = gaia.popen(*arguments, **streams, env={"TERM": "xterm", **gaia.environ}, terminal=True)
    os.close(theirs)
    seen = b""
    pending = typed
    while True:
        ready, _, _ = select.select([terminal], [], [], 15)
        assert ready, seen
        try:
            data = os.read(terminal, 4096)
        except OSError:  # the terminal's other side has been closed
            break
        if not data:
            break
        seen += data
        if pending and after in seen:
            os.write(terminal, pending)
            pending = b""
    code = command.wait()
    os.close(terminal)
    gaia.rehearse(seen.decode(), arguments)
    return seen.decode(), code


def descendants() -> dict[int, str]:
    """Every process that we started, or that was left to us by one that we started, with its command line; without the
    fork server.
    """
    while True:
        near = children()
        found = {pid: words for child in near for pid, words in family(child).items() if str(SERVER) not in words}
        if children() == near:  # Nothing was left to us meanwhile.
            return found


@pytest.fixture
def no_orphans(fork_server: ForkServer) -> Iterator[None]:
    """Proves that a test leaves no process behind. Orphans are handed to us rather than to init, so none is missed: we
    are a subreaper, for the fork server.

    A watcher whose command was interrupted while it stopped a server has a look around before it ends.
    """
    before = descendants()
    yield
    end = time.monotonic() + PATIENCE_SECONDS
    while (
        left := {pid: words for pid, words in descendants().items() if pid not in before}
    ) and time.monotonic() < end:
        time.sleep(0.02)
    for pid in left:
        os.kill(pid, signal.SIGKILL)
    assert not left, f"left running: {left}"


@pytest.fixture(scope="session")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of this run of the tests, the same for all of its workers."""
    own = tmp_path_factory.getbasetemp()
    folder = (own.parent if "PYTEST_XDIST_WORKER" in os.environ else own) / "shared"
    folder.mkdir(exist_ok=True)
    return folder


@pytest.fixture
def gaia(tmp_path: Path, shared: Path, fork_server: ForkServer, no_orphans: None) -> Iterator[Gaia]:
    """The program, in a fresh home."""
    program = Gaia(tmp_path, shared, fork_server)
    yield program
    program.close()


@pytest.fixture
def keeping(gaia: Gaia) -> Iterator[Gaia]:
    """The program, with a folder for the sockets of its keepers, which end with the story. The path of a socket has at
    most 107 bytes: too few for a folder of pytest's.
    """
    runtime = tempfile.mkdtemp(prefix="g")
    gaia.environ["XDG_RUNTIME_DIR"] = runtime
    yield gaia
    # Their servers end with them.
    end_all_with(f"XDG_RUNTIME_DIR={runtime}\0")
    shutil.rmtree(runtime)


@pytest.fixture
def demo(gaia: Gaia) -> Gaia:
    """The program, with the server `demo` configured."""
    gaia.write({"demo": {"command": str(BIN / "gaia"), "args": ["mcp", "serve", "demo"]}})
    return gaia


@pytest.fixture
def double(gaia: Gaia) -> Gaia:
    """The program, with servers of both eras, their recorders `rec-…`, and `rep`, which replays the recording."""
    own = str(BIN / "gaia")
    servers = {name: entry_of(name) for name in ("good-handshake", "good-stateless")}
    doubles = {f"rec-{name}": {"command": own, "args": ["mcp", "record", name, "--to", "r.jsonl"]} for name in servers}
    gaia.write({**servers, **doubles, "rep": {"command": own, "args": ["mcp", "replay", "r.jsonl"]}})
    return gaia


@pytest.fixture
def terminal(gaia: Gaia) -> Iterator[tuple[Person, int]]:
    """A person at a terminal, and the program's end of it."""
    ours, theirs = pty.openpty()
    person = Person(ours)
    yield person, theirs
    gaia.rehearse(person.seen)
    os.close(ours)
    os.close(theirs)

"""Children of these tests are marked as those of other peers are; the agent is served over HTTP; and the official suite
is run with our client.
"""

from __future__ import annotations

import json
import os
import re
import select
import socket
import socketserver
import subprocess
import sys
import threading
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from tests.conformance.client import DONE, PlayingServer
from tests.forking.client import Command, served_over_http
from tests.forking.server import BIN, LANG
from tests.peers.conftest import mark
from tests.prepare.peers import CONFORMANCE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.forking.client import ForkServer
    from tests.prepare.fixtures import Prepared

__all__ = ["mark"]

HERE = Path(__file__).parent
EVERYTHING = f"{HERE / 'everything.py'}:Everything"
# Our client as a program of its own.
CLIENT = f"{sys.executable} {HERE / 'client.py'}"
# All scenarios of a revision at once, on a busy machine.
TIMEOUT_SECONDS = 300


class Scenario(NamedTuple):
    """What the suite has saved of a scenario."""

    checks: list[dict[str, Any]]
    stdout: str
    stderr: str

    def problems(self, error: str = "") -> list[str]:
        """What is wrong with it, read strictly: a check has passed, none has failed or warned, and the client was done,
        or has ended with this error.
        """
        found = [check["id"] for check in self.checks if check["status"] in ("FAILURE", "WARNING")]
        if not any(check["status"] == "SUCCESS" for check in self.checks):
            found.append("no check has passed")
        if error:
            ended = self.stdout == "" and error in self.stderr and "Traceback" in self.stderr
        else:
            ended = self.stdout.strip() == DONE and self.stderr == ""
        return found if ended else [*found, f"the client has printed {self.stdout!r}, {self.stderr}"]


class _Served(socketserver.StreamRequestHandler):
    """Serves the agent over the streams of a `stand_in.py`."""

    command: Callable[..., Command]

    def handle(self) -> None:
        """Run the command until it ends, or is to end since the stand-in has ended."""
        _, streams, _, _ = socket.recv_fds(self.request, 1, 3)
        served = self.command(stdin=streams[0], stdout=streams[1], stderr=streams[2])
        for stream in streams:
            os.close(stream)
        ended = os.pidfd_open(served.pid)
        ready, _, _ = select.select([self.request, ended], [], [])
        if ended not in ready:
            served.terminate()
        served.wait()
        os.close(ended)


@pytest.fixture
def stand_in(fork_server: ForkServer, mark: dict[str, str], tmp_path: Path) -> Iterator[list[str]]:
    """The command that stands for the agent over stdio, which is forked: others start it many times."""
    path = str(tmp_path / "socket")
    environ = {**mark, "PATH": os.environ["PATH"], "LANG": LANG}
    command = partial(Command, fork_server, [BIN / "gaia", "mcp", "serve", EVERYTHING], env=environ)
    handler = type("_", (_Served,), {"command": staticmethod(command)})
    with socketserver.ThreadingUnixStreamServer(path, handler) as server:
        serving = threading.Thread(target=server.serve_forever)
        serving.start()
        yield [sys.executable, "-I", "-S", str(HERE / "stand_in.py"), path]
        server.shutdown()
        serving.join()


@pytest.fixture
def serve_over_http(mark: dict[str, str], fork_server: ForkServer) -> Iterator[Callable[[], str]]:
    """Serves the agent `Everything` over HTTP, by one more process, and returns the URL."""
    with ExitStack() as running:
        yield lambda: running.enter_context(served_over_http(fork_server, EVERYTHING, environ=mark))


@pytest.fixture
def http_url(serve_over_http: Callable[[], str]) -> str:
    """The URL at which the agent `Everything` is served."""
    return serve_over_http()


@pytest.fixture(scope="session")
def our_client() -> Iterator[str]:
    """The command that has our client play a scenario, in this process."""
    with PlayingServer() as server:
        playing = threading.Thread(target=server.serve_forever)
        playing.start()
        yield f"{sys.executable} -I -S {HERE / 'asker.py'} {server.server_address[1]}"
        server.shutdown()
        playing.join()


@pytest.fixture
def scenarios_of(prepared: Prepared, mark: dict[str, str], tmp_path: Path) -> Callable[..., dict[str, Scenario]]:
    """Runs the suite with a client, and returns the scenarios that it has played."""
    program = prepared.folder(CONFORMANCE) / "node_modules/@modelcontextprotocol/conformance/dist/index.js"

    def run(client: str, *words: str) -> dict[str, Scenario]:
        saved = tmp_path / "_".join(words)
        done = subprocess.run(
            [*(prepared.node(), program, "client", "--command", client), *words, "--timeout", "120000", "-o", saved],
            env={**mark, "PATH": os.environ["PATH"], "HOME": str(tmp_path)},
            capture_output=True,
            text=True,
            timeout=TIMEOUT_SECONDS,
        )
        folders = [path.parent for path in saved.rglob("checks.json")]
        assert folders, done.stdout + done.stderr
        return {_name_of(folder.relative_to(saved)): _saved(folder) for folder in folders}

    return run


def _name_of(folder: Path) -> str:
    """The scenario, whose folder is named by it and the time."""
    return re.sub(r"-20\d\d-\d\d-\d\dT.*", "", folder.as_posix())


def _saved(folder: Path) -> Scenario:
    checks, stdout, stderr = (
        (folder / name).read_text("utf-8") for name in ("checks.json", "stdout.txt", "stderr.txt")
    )
    return Scenario(json.loads(checks), stdout, stderr)

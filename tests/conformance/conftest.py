"""Children of these tests are marked as those of other peers are; the agent is served over HTTP; and the official suite
is run with our client.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import threading
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from tests.conformance.client import DONE, PlayingServer
from tests.forking.client import served_over_http
from tests.peers.conftest import mark
from tests.prepare.peers import CONFORMANCE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.forking.client import ForkServer
    from tests.prepare.fixtures import Prepared

__all__ = ["mark"]

HERE = Path(__file__).parent
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


@pytest.fixture
def serve_over_http(mark: dict[str, str], fork_server: ForkServer) -> Iterator[Callable[[], str]]:
    """Serves the agent `Everything` over HTTP, by one more process, and returns the URL."""
    agent = f"{HERE / 'everything.py'}:Everything"
    with ExitStack() as running:
        yield lambda: running.enter_context(served_over_http(fork_server, agent, environ=mark))


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

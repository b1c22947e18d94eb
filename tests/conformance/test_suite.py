"""The official conformance suite, with the agent `Everything` over HTTP, and behind a bridge from HTTP to stdio.

The suite is read strictly: a scenario counts if it has a check that passed, and none that failed.
"""

from __future__ import annotations

import json
import os
import re
import select
import shlex
import signal
import socket
import socketserver
import subprocess
import sys
import threading
from contextlib import closing, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.conformance.test_clients import EVERYTHING
from tests.forking.client import Command
from tests.forking.server import BIN, LANG
from tests.prepare.peers import CONFORMANCE
from tests.waiting import wait_until

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator

    from tests.forking.client import ForkServer
    from tests.prepare.fixtures import Prepared

HOST = "127.0.0.1"
# All scenarios of one revision, on a busy machine.
TIMEOUT_SECONDS = 300
# What the bridge loses, whichever server is behind it: it takes every Host, and has no events to resume from.
LOST = {
    "2026-07-28": {"dns-rebinding-protection": {"localhost-host-rebinding-rejected"}},
    "2025-11-25": {"dns-rebinding-protection": {"localhost-host-rebinding-rejected"}, "server-sse-polling": set()},
}
# The suite waits half a second for each of these: too little where the bridge starts a process, or on a busy machine.
HURRIED = {"sep-2575-http-server-no-independent-requests-on-stream", "sep-2575-server-no-log-without-loglevel"}
# How many scenarios the suite has for a revision.
SCENARIOS = {"2026-07-28": 50, "2025-11-25": 33}
# How many checks each scenario about tasks has; that of notifications is skipped by the suite itself.
TASK_CHECKS = {
    "tasks-lifecycle": 9,
    "tasks-capability-negotiation": 5,
    "tasks-dispatch-and-envelope": 9,
    "tasks-mrtr-input": 4,
    "tasks-mrtr-composition": 2,
    "tasks-request-state-removal": 3,
    "tasks-wire-fields": 4,
    "tasks-request-headers": 5,
    "tasks-required-task-error": 3,
}
# The revisions that have tasks as this extension.
STATELESS = {"2026-07-28"}


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
    """The command that stands for the agent over stdio, which is forked: the bridge starts it a hundred times."""
    path = str(tmp_path / "socket")
    environ = {**mark, "PATH": os.environ["PATH"], "LANG": LANG}
    command = partial(Command, fork_server, [BIN / "gaia", *EVERYTHING[3:]], env=environ)
    handler = type("_", (_Served,), {"command": staticmethod(command)})
    with socketserver.ThreadingUnixStreamServer(path, handler) as server:
        serving = threading.Thread(target=server.serve_forever)
        serving.start()
        yield [sys.executable, "-I", "-S", str(Path(__file__).with_name("stand_in.py")), path]
        server.shutdown()
        serving.join()


@pytest.fixture
def bridge(prepared: Prepared, mark: dict[str, str], stand_in: list[str]) -> Iterator[str]:
    """The URL at which the agent is served: every session or request by a process of its own."""
    with closing(socket.create_server((HOST, 0))) as found:
        port = found.getsockname()[1]
    program = prepared.folder(CONFORMANCE) / "node_modules" / "supergateway" / "dist" / "index.js"
    options = ["--stdio", shlex.join(stand_in), "--outputTransport", "streamableHttp", "--stateful"]
    running = subprocess.Popen(
        [prepared.node(), program, *options, "--port", str(port), "--logLevel", "none"],
        env={**mark, "PATH": os.environ["PATH"]},
        start_new_session=True,
    )
    try:
        wait_until(lambda: _listens(port))
        yield f"http://localhost:{port}/mcp"
    finally:
        os.killpg(running.pid, signal.SIGTERM)
        running.wait()


def _listens(port: int) -> bool:
    with suppress(OSError):
        socket.create_connection((HOST, port)).close()
        return True
    return False


@pytest.mark.parametrize("version", LOST)
def test_the_agent_passes_every_scenario_that_the_bridge_lets_through(
    version: str, bridge: str, prepared: Prepared, tmp_path: Path
) -> None:
    """Spec, both eras: the official suite at the wire of each revision."""
    ran, output = _checks(bridge, prepared, tmp_path, "--requirements", version)

    assert len(ran) == SCENARIOS[version], output
    failed = _failures(ran, without=HURRIED)
    # Each request has a process of its own there, which knows no task of another one.
    assert {name: checks for name, checks in failed.items() if not name.startswith("tasks-")} == LOST[version]


@pytest.mark.parametrize("version", LOST)
def test_the_agent_passes_every_scenario_over_http(
    version: str, http_url: str, prepared: Prepared, tmp_path: Path
) -> None:
    """Spec, both eras: the same without a bridge; nothing is lost. The hurried checks are the next test's. Extension:
    every check about tasks passes.
    """
    ran, output = _checks(http_url, prepared, tmp_path, "--requirements", version)

    assert len(ran) == SCENARIOS[version], output
    # The suite has no check of what a task announces.
    without_checks: dict[str, dict[str, set[str]]] = {
        "2026-07-28": {"tasks-status-notifications": set()},
        "2025-11-25": {},
    }
    assert _failures(ran, without=HURRIED) == without_checks[version]
    tasks = {name: [check["status"] for check in checks] for name, checks in ran.items() if name in TASK_CHECKS}
    assert tasks == {name: ["SUCCESS"] * count for name, count in TASK_CHECKS.items() if version in STATELESS}


@pytest.mark.alone
def test_the_stream_of_a_request_has_no_other_messages(http_url: str, prepared: Prepared, tmp_path: Path) -> None:
    """Spec 2026-07-28: neither requests nor log messages that the client has not asked for."""
    words = ["--scenario", "server-stateless", "--spec-version", "2026-07-28"]

    ran, output = _checks(http_url, prepared, tmp_path, *words)

    (checks,) = ran.values()
    passed = {check["id"] for check in checks if check["status"] == "SUCCESS"}
    assert passed >= HURRIED, output
    assert _problems(checks, ()) is None


def _failures(ran: dict[str, list[dict[str, Any]]], *, without: Collection[str]) -> dict[str, set[str]]:
    """The scenarios that a server fails, and the checks of them that failed, `without` some."""
    return {name: problems for name, checks in ran.items() if (problems := _problems(checks, without)) is not None}


def _checks(url: str, prepared: Prepared, folder: Path, *words: str) -> tuple[dict[str, list[dict[str, Any]]], str]:
    """The checks of each scenario that the suite runs against a server, and what it prints."""
    program = (
        prepared.folder(CONFORMANCE) / "node_modules" / "@modelcontextprotocol" / "conformance" / "dist" / "index.js"
    )
    done = subprocess.run(
        [prepared.node(), program, "server", "--url", url, *words, "-o", folder / "checks"],
        capture_output=True,
        text=True,
        timeout=TIMEOUT_SECONDS,
    )
    ran = {_name_of(path): json.loads(path.read_text("utf-8")) for path in folder.glob("checks/*/checks.json")}
    return ran, done.stdout + done.stderr


def _name_of(checks: Path) -> str:
    """The scenario, whose folder is named by role, scenario and time."""
    return re.sub(r"-20\d\d-\d\d-\d\dT.*", "", checks.parent.name.removeprefix("server-"))


def _problems(checks: list[dict[str, Any]], without: Collection[str]) -> set[str] | None:
    """The checks that failed, `without` some; None if the scenario has passed."""
    failed = {check["id"] for check in checks if check["status"] == "FAILURE"}.difference(without)
    passed = any(check["status"] == "SUCCESS" for check in checks)
    return None if passed and not failed else failed

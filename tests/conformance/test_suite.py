"""The official conformance suite, with the agent `Everything` over HTTP, and behind a bridge from HTTP to stdio.

The suite is read strictly: a scenario counts if it has a check that passed, and none that failed.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import socket
import subprocess
from contextlib import closing, suppress
from typing import TYPE_CHECKING, Any

import pytest

from tests.prepare.peers import CONFORMANCE
from tests.waiting import wait_until

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator
    from pathlib import Path

    from tests.prepare.fixtures import Prepared

HOST = "127.0.0.1"
# All scenarios of one revision, on a busy machine.
TIMEOUT_SECONDS = 300
# Behind the bridge, whichever server is there. It takes every Host, and has no events to resume from.
BRIDGED = "2025-11-25"
LOST = {"dns-rebinding-protection": {"localhost-host-rebinding-rejected"}, "server-sse-polling": set[str]()}
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


def test_the_agent_passes_every_scenario_that_the_bridge_lets_through(
    bridge: str, prepared: Prepared, mark: dict[str, str], tmp_path: Path
) -> None:
    """Spec 2025-11-25: the official suite, with a process for each session."""
    ran, output = _checks(bridge, prepared, mark, tmp_path, "--requirements", BRIDGED)

    assert len(ran) == SCENARIOS[BRIDGED], output
    assert _failures(ran, without=HURRIED) == LOST


@pytest.mark.parametrize("version", SCENARIOS)
def test_the_agent_passes_every_scenario_over_http(
    version: str, http_url: str, prepared: Prepared, mark: dict[str, str], tmp_path: Path
) -> None:
    """Spec, both eras: the same without a bridge; nothing is lost. The hurried checks are the next test's. Extension:
    every check about tasks passes.
    """
    ran, output = _checks(http_url, prepared, mark, tmp_path, "--requirements", version)

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
def test_the_stream_of_a_request_has_no_other_messages(
    http_url: str, prepared: Prepared, mark: dict[str, str], tmp_path: Path
) -> None:
    """Spec 2026-07-28: neither requests nor log messages that the client has not asked for."""
    words = ["--scenario", "server-stateless", "--spec-version", "2026-07-28"]

    ran, output = _checks(http_url, prepared, mark, tmp_path, *words)

    (checks,) = ran.values()
    passed = {check["id"] for check in checks if check["status"] == "SUCCESS"}
    assert passed >= HURRIED, output
    assert _problems(checks, ()) is None


def _failures(ran: dict[str, list[dict[str, Any]]], *, without: Collection[str]) -> dict[str, set[str]]:
    """The scenarios that a server fails, and the checks of them that failed, `without` some."""
    return {name: problems for name, checks in ran.items() if (problems := _problems(checks, without)) is not None}


def _checks(
    url: str, prepared: Prepared, mark: dict[str, str], folder: Path, *words: str
) -> tuple[dict[str, list[dict[str, Any]]], str]:
    """The checks of each scenario that the suite runs against a server, and what it prints."""
    program = (
        prepared.folder(CONFORMANCE) / "node_modules" / "@modelcontextprotocol" / "conformance" / "dist" / "index.js"
    )
    done = subprocess.run(
        [prepared.node(), program, "server", "--url", url, *words, "-o", folder / "checks"],
        env={**mark, "PATH": os.environ["PATH"]},
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

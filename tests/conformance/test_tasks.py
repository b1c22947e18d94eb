"""The scenarios of the official conformance suite about tasks, with the agent `Everything` served over HTTP."""

from __future__ import annotations

import json
import re
import subprocess
from typing import TYPE_CHECKING

import pytest

from tests.conformance.test_clients import EVERYTHING
from tests.prepare.peers import CONFORMANCE
from tests.waiting import wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.prepare.fixtures import Prepared

# How many checks each has. That of notifications is skipped by the suite itself.
CHECKS = {
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
TIMEOUT_SECONDS = 120


@pytest.fixture
def url(mark: dict[str, str], tmp_path: Path) -> Iterator[str]:
    """The URL at which the agent is served."""
    log = tmp_path / "log"
    with log.open("w") as written:
        running = subprocess.Popen([*EVERYTHING, "--http", "127.0.0.1:0"], env=mark, stderr=written)
    try:
        wait_until(lambda: " at http" in log.read_text(), TIMEOUT_SECONDS)
        found = re.search(r"http\S+/mcp", log.read_text())
        assert found is not None
        yield found[0].replace("127.0.0.1", "localhost")
    finally:
        running.terminate()
        running.wait()


def test_the_agent_passes_every_scenario_about_tasks(url: str, prepared: Prepared, tmp_path: Path) -> None:
    """Extension: the official suite."""
    package = prepared.folder(CONFORMANCE) / "node_modules" / "@modelcontextprotocol" / "conformance"
    program = [prepared.node(), package / "dist" / "index.js", "server", "--url", url, "--spec-version", "2026-07-28"]
    for scenario in CHECKS:
        done = subprocess.run(
            [*program, "--force", "--scenario", scenario, "-o", tmp_path / scenario],
            capture_output=True,
            text=True,
            timeout=TIMEOUT_SECONDS,
        )
        (checks,) = (tmp_path / scenario).glob("*/checks.json")
        outcomes = [check["status"] for check in json.loads(checks.read_text("utf-8"))]
        assert outcomes == ["SUCCESS"] * CHECKS[scenario], done.stdout

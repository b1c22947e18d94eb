"""The scenarios of the official conformance suite about skills, with the agent `Everything` served over HTTP, and with
our client.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.conformance.conftest import HERE
from tests.conformance.test_authorization import CLIENT
from tests.prepare.peers import CONFORMANCE, NPM_URL_CLIENTS

if TYPE_CHECKING:
    from pathlib import Path

    from tests.prepare.fixtures import Prepared

# How many checks each has.
CHECKS = {"sep-2640-skills-enumeration": 32, "sep-2640-skills-manifest": 6, "sep-2640-skills-directory": 7}
# One scenario, on a busy machine.
TIMEOUT_SECONDS = 120


@pytest.mark.parametrize("scenario", CHECKS)
def test_the_agent_passes_a_scenario_about_skills(
    scenario: str, http_url: str, prepared: Prepared, tmp_path: Path
) -> None:
    """Extension: the official suite."""
    program = prepared.folder(CONFORMANCE) / "node_modules/@modelcontextprotocol/conformance/dist/index.js"
    done = subprocess.run(
        [
            *(prepared.node(), program, "server", "--url", http_url.replace("127.0.0.1", "localhost")),
            *("--spec-version", "2026-07-28", "--force", "--scenario", scenario, "-o", tmp_path),
        ],
        capture_output=True,
        text=True,
        timeout=TIMEOUT_SECONDS,
    )

    (checks,) = tmp_path.glob("*/checks.json")
    outcomes = [check["status"] for check in json.loads(checks.read_text("utf-8"))]
    assert outcomes == ["SUCCESS"] * CHECKS[scenario], done.stdout


# The error of our client about a skill that it refuses; empty where it only lists the skills.
REFUSED = {
    "sep-2640-client-no-prefetch": "",
    "sep-2640-client-verify-digest": "with another digest than it has listed",
    "sep-2640-client-verify-size": "and has listed",
    "sep-2640-client-verify-frontmatter": "describes another skill than it has listed",
}


@pytest.mark.parametrize("scenario", REFUSED)
def test_our_client_passes_a_scenario_about_skills(
    scenario: str, prepared: Prepared, mark: dict[str, str], tmp_path: Path
) -> None:
    """Extension: a client reads no file before it is needed, and uses none that is not what was listed."""
    program = prepared.folder(CONFORMANCE) / "node_modules/@modelcontextprotocol/conformance/dist/index.js"
    done = subprocess.run(
        [
            *(prepared.node(), program, "client", "--scenario", scenario, "-o", tmp_path / "checks"),
            *("--command", f"{sys.executable} {CLIENT}"),
        ],
        env={**mark, "PATH": os.environ["PATH"], "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=TIMEOUT_SECONDS,
    )

    (ran,) = tmp_path.glob("checks/*/checks.json")
    outcomes = {check["status"] for check in json.loads(ran.read_text("utf-8"))} - {"INFO"}
    assert outcomes == {"SUCCESS"}, done.stdout + done.stderr
    stderr = (ran.parent / "stderr.txt").read_text("utf-8")
    assert ("RemoteProtocolError" in stderr) == bool(REFUSED[scenario]), stderr
    assert REFUSED[scenario] in stderr


def test_the_inspector_verifies_the_files_of_a_skill(
    http_url: str, prepared: Prepared, mark: dict[str, str], tmp_path: Path
) -> None:
    """Extension: sizes, digests and the frontmatter, computed by another implementation."""
    program = prepared.folder(NPM_URL_CLIENTS) / "node_modules" / ".bin" / "mcp-inspector"
    words = ["--cli", http_url, "--protocol-era", "modern", "--method", "skills/list", "--verify", "--require-digests"]
    done = subprocess.run(
        [prepared.node(), program.resolve(), *words],
        env={**mark, "HOME": str(tmp_path), "PATH": os.environ["PATH"]},
        capture_output=True,
        text=True,
        timeout=TIMEOUT_SECONDS,
    )

    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    files = [path for path in (HERE / "skills" / found["name"]).rglob("*") if path.is_file()]
    assert (found["outcome"], len(found["files"])) == ("verified", len(files))

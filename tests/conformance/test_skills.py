"""The scenarios of the official conformance suite about skills, with the agent `Everything` served over HTTP, and with
our client.
"""

from __future__ import annotations

import json
import os
import subprocess
from typing import TYPE_CHECKING

from tests.conformance.conftest import HERE
from tests.prepare.peers import CONFORMANCE, NPM_URL_CLIENTS

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.conformance.conftest import Scenario
    from tests.prepare.fixtures import Prepared

# How many checks each has.
CHECKS = {"sep-2640-skills-enumeration": 32, "sep-2640-skills-manifest": 6, "sep-2640-skills-directory": 7}
# One scenario, on a busy machine.
TIMEOUT_SECONDS = 120


def test_the_agent_passes_every_scenario_about_skills(http_url: str, prepared: Prepared, tmp_path: Path) -> None:
    """Extension: the official suite."""
    program = prepared.folder(CONFORMANCE) / "node_modules/@modelcontextprotocol/conformance/dist/index.js"
    url = http_url.replace("127.0.0.1", "localhost")
    for scenario, count in CHECKS.items():
        done = subprocess.run(
            [
                *(prepared.node(), program, "server", "--url", url, "--spec-version", "2026-07-28", "--force"),
                *("--scenario", scenario, "-o", tmp_path / scenario),
            ],
            capture_output=True,
            text=True,
            timeout=TIMEOUT_SECONDS,
        )

        (checks,) = (tmp_path / scenario).glob("*/checks.json")
        outcomes = [check["status"] for check in json.loads(checks.read_text("utf-8"))]
        assert outcomes == ["SUCCESS"] * count, done.stdout


# The error of our client about a skill that it refuses; empty where it only lists the skills.
REFUSED = {
    "sep-2640-client-no-prefetch": "",
    "sep-2640-client-verify-digest": "with another digest than it has listed",
    "sep-2640-client-verify-size": "and has listed",
    "sep-2640-client-verify-frontmatter": "describes another skill than it has listed",
}


def test_our_client_passes_every_scenario_about_skills(
    our_client: str, scenarios_of: Callable[..., dict[str, Scenario]]
) -> None:
    """Extension: a client reads no file before it is needed, and uses none that is not what was listed."""
    problems = {}
    for scenario, error in REFUSED.items():
        ((name, played),) = scenarios_of(our_client, "--scenario", scenario).items()
        assert name == scenario
        problems[name] = played.problems(error)
        if ("RemoteProtocolError" in played.stderr) != bool(error):
            problems[name].append(played.stderr)

    assert {name: found for name, found in problems.items() if found} == {}


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

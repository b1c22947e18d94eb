"""The official suite's scenarios about authorization, with our client.

The suite is read strictly: a scenario counts if it has a check that passed, none that failed or warned, and the client
ended as it should.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.prepare.peers import CONFORMANCE

if TYPE_CHECKING:
    from tests.prepare.fixtures import Prepared

CLIENT = Path(__file__).with_name("client.py")
# All scenarios of a group at once, on a busy machine.
TIMEOUT_SECONDS = 300
# The suite's groups, and how many scenarios about authorization each has. Extensions belong to no revision.
GROUPS = {
    ("auth", "2026-07-28"): 14,
    ("draft", "2026-07-28"): 11,
    ("auth", "2025-11-25"): 14,
    ("backcompat", "2025-03-26"): 2,
    ("extensions", ""): 6,
}
# Here the server is hostile, or never content: the client gives up, and says why.
REFUSED = {
    "resource-mismatch", "iss-supported-missing", "iss-wrong-issuer", "iss-unexpected", "iss-normalized",
    "metadata-issuer-mismatch", "scope-retry-limit",
}  # fmt: skip


@pytest.mark.parametrize(("group", "revision"), GROUPS)
def test_our_client_passes_every_scenario_about_authorization(
    group: str, revision: str, prepared: Prepared, mark: dict[str, str], tmp_path: Path
) -> None:
    """Spec: AC-1 to AC-12, the extensions, and what came before, as the official suite judges them."""
    program = prepared.folder(CONFORMANCE) / "node_modules/@modelcontextprotocol/conformance/dist/index.js"
    version = ["--spec-version", revision] if revision else []
    done = subprocess.run(
        [
            *(prepared.node(), program, "client", "--command", f"{sys.executable} {CLIENT}", "--suite", group),
            *(*version, "--timeout", "120000", "-o", tmp_path / "checks"),
        ],
        env={**mark, "PATH": os.environ["PATH"], "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=TIMEOUT_SECONDS,
    )

    ran = {_name_of(path): path.parent for path in tmp_path.glob("checks/auth/*/checks.json")}
    assert len(ran) == GROUPS[group, revision], done.stdout + done.stderr
    assert {name: problems for name, folder in ran.items() if (problems := _problems(name, folder))} == {}


def _name_of(checks: Path) -> str:
    """The scenario, whose folder is named by it and the time."""
    return re.sub(r"-20\d\d-\d\d-\d\dT.*", "", checks.parent.name)


def _problems(scenario: str, folder: Path) -> list[str]:
    """What is wrong with a scenario that was run."""
    checks = json.loads((folder / "checks.json").read_text("utf-8"))
    problems = [check["id"] for check in checks if check["status"] in ("FAILURE", "WARNING")]
    if not any(check["status"] == "SUCCESS" for check in checks):
        problems.append("no check has passed")
    stderr = (folder / "stderr.txt").read_text("utf-8")
    if ("AuthorizationError: " in stderr) != (scenario in REFUSED) or ("Traceback" in stderr) != (scenario in REFUSED):
        problems.append(stderr)
    return problems

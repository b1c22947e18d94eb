"""The official suite's scenarios that are not about authorization, with our client.

The suite is read strictly: a scenario counts if it has a check that passed, none that failed or warned, and the client
ended with success in time.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.conformance.test_authorization import CLIENT
from tests.prepare.peers import CONFORMANCE

if TYPE_CHECKING:
    from pathlib import Path

    from tests.prepare.fixtures import Prepared

# One scenario, on a busy machine.
TIMEOUT_SECONDS = 120
# Those that count for a revision, and how many about authorization count beside them.
SCORED = {
    "2026-07-28": (
        "tools_call",
        "request-metadata",
        "sep-2322-client-request-state",
        "http-standard-headers",
        "http-custom-headers",
        "http-invalid-tool-headers",
        "json-schema-ref-no-deref",
    ),
    "2025-11-25": ("initialize", "tools_call", "elicitation-sep1034-client-defaults", "sse-retry"),
}
SCORED_AUTHORIZATION = {"2026-07-28": 25, "2025-11-25": 14}
# Newer than the lists of what counts.
BESIDE = ("json-schema-2020-12-preservation",)
RUNS = [(revision, scenario) for revision, scenarios in SCORED.items() for scenario in (*scenarios, *BESIDE)]


@pytest.mark.parametrize(("revision", "scenario"), RUNS)
def test_our_client_passes_a_scenario(
    revision: str, scenario: str, prepared: Prepared, mark: dict[str, str], tmp_path: Path
) -> None:
    """Spec, both eras: what a client does over HTTP, as the official suite judges it."""
    done = subprocess.run(
        [
            *(prepared.node(), _suite(prepared) / "dist/index.js", "client", "--scenario", scenario),
            *("--command", f"{sys.executable} {CLIENT}", "--spec-version", revision, "-o", tmp_path / "checks"),
        ],
        env={**mark, "PATH": os.environ["PATH"], "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=TIMEOUT_SECONDS,
    )

    (ran,) = tmp_path.glob("checks/*/checks.json")
    statuses = {check["status"] for check in json.loads(ran.read_text("utf-8"))}
    assert "SUCCESS" in statuses, done.stderr
    # Also where the client has ended with a failure, or was ended.
    assert (done.returncode, statuses & {"FAILURE", "WARNING"}) == (0, set()), done.stderr


@pytest.mark.parametrize("revision", SCORED)
def test_every_scenario_that_counts_for_a_revision_is_run(revision: str, prepared: Prepared) -> None:
    """Ours: a scenario that the suite counts, and that no test here runs, would be missed."""
    required = (_suite(prepared) / f"requirements/{revision}.yaml").read_text("utf-8")
    found = re.search(r"^client:\n((?:  - \S+\n)+)", required, re.MULTILINE)

    assert found is not None
    names = found[1].replace("  - ", "").split()
    assert sorted(name for name in names if not name.startswith("auth/")) == sorted(SCORED[revision])
    assert len(names) == len(SCORED[revision]) + SCORED_AUTHORIZATION[revision]


def _suite(prepared: Prepared) -> Path:
    return prepared.folder(CONFORMANCE) / "node_modules/@modelcontextprotocol/conformance"

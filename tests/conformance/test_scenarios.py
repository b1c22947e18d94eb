"""The official suite's scenarios with our client, those about authorization among them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from tests.conformance.conftest import CLIENT
from tests.prepare.peers import CONFORMANCE

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.conformance.conftest import Scenario
    from tests.prepare.fixtures import Prepared

# How many scenarios the suite has for a revision, those of extensions and the newest, which do not count, among them.
SCENARIOS = {"2026-07-28": 39, "2025-11-25": 25}
# Here the server is hostile, or never content: the client gives up, and prints why.
REFUSED = {
    "auth/resource-mismatch", "auth/iss-supported-missing", "auth/iss-wrong-issuer", "auth/iss-unexpected",
    "auth/iss-normalized", "auth/metadata-issuer-mismatch", "auth/scope-retry-limit",
}  # fmt: skip
# There is too little time for these where all scenarios are played at once: one measures when the client connects
# again, the server of the other sends its request over a stream that may not have been opened yet.
HURRIED = ("sse-retry", "elicitation-sep1034-client-defaults")


@pytest.mark.parametrize("revision", SCENARIOS)
def test_our_client_passes_every_scenario_of_a_revision(
    revision: str, our_client: str, scenarios_of: Callable[..., dict[str, Scenario]], prepared: Prepared
) -> None:
    """Spec, both eras: AC-1 to AC-12, what a client does over HTTP beside, and the extensions for authorization."""
    played = scenarios_of(our_client, "--requirements", revision)

    assert len(played) == SCENARIOS[revision], sorted(played)
    assert {*_required(revision, prepared)} <= {*played}
    assert _problems({name: scenario for name, scenario in played.items() if name not in HURRIED}) == {}


@pytest.mark.parametrize("name", HURRIED)
def test_our_client_passes_a_scenario_that_is_played_alone(
    name: str, our_client: str, scenarios_of: Callable[..., dict[str, Scenario]]
) -> None:
    """Spec 2025-11-25: it connects again neither earlier nor much later than the server's `retry`; and it fills in the
    defaults of a form.
    """
    played = scenarios_of(our_client, "--scenario", name, "--spec-version", "2025-11-25")

    assert [*played] == [name]
    assert _problems(played) == {}


def test_our_client_passes_the_scenarios_of_the_first_authorization(
    scenarios_of: Callable[..., dict[str, Scenario]],
) -> None:
    """Spec 2025-03-26: what came before, here with a process for each scenario."""
    played = scenarios_of(CLIENT, "--suite", "backcompat", "--spec-version", "2025-03-26")

    assert len(played) == 2, sorted(played)
    assert _problems(played) == {}


def _problems(played: dict[str, Scenario]) -> dict[str, list[str]]:
    """What is wrong, by the names of the scenarios."""
    errors = dict.fromkeys(REFUSED, "AuthorizationError: ")
    return {name: found for name, scenario in played.items() if (found := scenario.problems(errors.get(name, "")))}


def _required(revision: str, prepared: Prepared) -> list[str]:
    """The scenarios that count for a revision."""
    package = prepared.folder(CONFORMANCE) / "node_modules/@modelcontextprotocol/conformance"
    required = (package / f"requirements/{revision}.yaml").read_text("utf-8")
    found = re.search(r"^client:\n((?:  - \S+\n)+)", required, re.MULTILINE)
    assert found is not None
    return found[1].replace("  - ", "").split()

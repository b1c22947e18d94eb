"""The list of agents: what they can do, and whether they can be used."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from gaia_mcp.contrib.hub.drivers import DRIVERS, endpoint

if TYPE_CHECKING:
    from tests.contrib.hub.conftest import Agents

pytestmark = pytest.mark.story


@pytest.fixture(autouse=True)
def without_keys(agents: Agents, monkeypatch: pytest.MonkeyPatch) -> None:
    """No agent is logged in, and there are no keys."""
    import os

    monkeypatch.setenv("HOME", str(agents.folder))
    for name in list(os.environ):
        if name.startswith(("ANTHROPIC_", "CLAUDE", "CODEX_", "OPENAI_", "GEMINI_", "GOOGLE_")):
            monkeypatch.delenv(name)


def listed(agents: Agents, **arguments: object) -> dict[str, object]:
    found = agents.hub().execute_mcp_tool("list_available_agents", arguments)
    assert found["total_count"] == len(found["agents"])
    return {agent["name"]: agent for agent in found["agents"]}


def test_the_status_is_listed_only_on_request(agents: Agents) -> None:
    """B2: to find it takes time."""
    for name in ("claude", "codex", "gemini"):
        agents.write("", name)
    for found in (listed(agents), listed(agents, include_status=False)):
        assert list(found) == ["claude", "codex", "gemini"]
        assert {tuple(agent) for agent in found.values()} == {("name", "capabilities", "description")}


def test_without_a_status_only_agents_that_can_be_run_are_listed(agents: Agents) -> None:
    """The document: the list is of available agents. An endpoint is not asked, and a missing key is told by the run."""
    agents.write("", "gemini")
    agents.configure(
        {
            "local": {"endpoint": "http://127.0.0.1:1/v1"},
            "keyless": {"kind": "gemini", "env": {"GEMINI_API_KEY": "${HUB_IS_NOT_SET}"}},
            "gone": {"kind": "codex", "command": "hub-has-no-such-program"},
        }
    )

    assert list(listed(agents)) == ["gemini", "local", "keyless"]
    refused = agents.hub().execute_mcp_tool("execute_agent_request", {"agent_name": "x", "prompt": "hi"})
    assert refused["error"] == "there is no agent 'x'; available: gemini, local, keyless"


def test_no_agent_claims_to_continue_a_conversation() -> None:
    """B3: each request is a run of its own."""
    assert [name for name, driver in DRIVERS.items() if "multi_turn" in driver.capabilities] == []
    assert "multi_turn" not in endpoint.CAPABILITIES


def test_an_agent_that_is_not_installed_is_listed_as_unavailable(agents: Agents) -> None:
    """B2: a client can tell the user what is missing."""
    found = listed(agents, include_status=True)

    assert {agent["status"] for agent in found.values()} == {"unavailable"}


def test_an_installed_agent_needs_a_key_or_a_login(agents: Agents, monkeypatch: pytest.MonkeyPatch) -> None:
    """B2: in the environment of the hub, in the entry, or in a file of the agent. Nothing is run."""
    for name in ("claude", "codex", "gemini"):
        agents.write(f"open({str(agents.folder / 'ran')!r}, 'w')\n", name)
    before = {name: agent["status"] for name, agent in listed(agents, include_status=True).items()}

    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-private-1")
    agents.configure({"gemini": {"env": {"GEMINI_API_KEY": "sk-private-2"}}})
    (agents.folder / ".codex").mkdir()
    (agents.folder / ".codex" / "auth.json").write_text("{}")
    after = listed(agents, include_status=True)

    assert set(before.values()) == {"key_missing"}
    assert {agent["status"] for agent in after.values()} == {"operative"}
    assert "sk-p" not in json.dumps(after)
    assert not (agents.folder / "ran").exists()


def test_an_unset_variable_has_the_status_key_missing(agents: Agents) -> None:
    """B2: not an error of the whole list."""
    agents.write("", "gemini")
    agents.configure({"gemini": {"env": {"GEMINI_API_KEY": "${HUB_IS_NOT_SET}"}}})

    assert listed(agents, include_status=True)["gemini"]["status"] == "key_missing"


def test_an_unreachable_endpoint_does_not_delay_the_list(agents: Agents) -> None:
    """B2: twenty of them are asked at the same time."""
    agents.configure({f"e{number}": {"endpoint": "http://127.0.0.1:1/v1"} for number in range(20)})

    found = listed(agents, include_status=True)

    assert {agent["status"] for name, agent in found.items() if name.startswith("e")} == {"unreachable"}


def test_agents_are_filtered_by_a_capability(agents: Agents) -> None:
    """B2: an unknown one leaves none."""
    for name in ("claude", "codex", "gemini"):
        agents.write("", name)

    assert list(listed(agents, capability_filter="extended_thinking")) == ["claude"]
    assert list(listed(agents, capability_filter="code_execution")) == ["codex"]
    assert listed(agents, capability_filter="telepathy") == {}
    assert listed(agents, capability_filter="") == {}


def test_an_invalid_file_is_an_error(agents: Agents) -> None:
    """B1: a result like any other."""
    hub = agents.hub()
    agents.configure([])

    found = hub.execute_mcp_tool("list_available_agents", {})

    assert (found["status"], found["agents"], found["total_count"]) == ("error", [], 0)
    assert "'agents' is not an object" in found["error"]

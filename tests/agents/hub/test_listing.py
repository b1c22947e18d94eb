"""The list of agents: what they can do, and whether they can be used."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.agents.hub.conftest import Agents

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
    for found in (listed(agents), listed(agents, include_status=False)):
        assert list(found) == ["claude", "codex", "gemini"]
        assert {tuple(agent) for agent in found.values()} == {("name", "capabilities", "description")}


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

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from gaia_mcp.agents.loader import built_in, load_agent
from gaia_mcp.config.served import Served
from gaia_mcp.core import systems
from gaia_mcp.core.systems import BuiltInAgent, System, built_in_agents, imported, register

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


class Clock:
    """The agent of a fifth system."""

    def __init__(self, file: str = "") -> None:
        self.file = file

    def get_mcp_tool_definitions(self) -> list[dict[str, Any]]:
        return [{"name": "hour", "inputSchema": {"type": "object"}}]

    def execute_mcp_tool(self, name: str, arguments: dict[str, Any]) -> str:
        return f"{name} {arguments}"


@pytest.fixture
def fifth() -> Iterator[None]:
    """A system more, as long as a test runs."""
    before = list(systems.systems())
    register(System(agents={"clock": BuiltInAgent(f"{__name__}:Clock", servers_setting="file")}))
    yield
    systems._registered[:] = before


def test_a_reference_names_an_object_of_a_module() -> None:
    """Ours."""
    assert imported("gaia_mcp.core.systems:register") is register


def test_the_agents_of_all_systems_are_sorted_by_name() -> None:
    """Ours: they are printed in this order, whichever system was registered first."""
    assert [*built_in_agents()] == ["agents", "agents-tools", "code-runner", "filesystem"]


@pytest.mark.usefixtures("fifth")
def test_another_system_adds_an_agent_by_one_registration(tmp_path: Path) -> None:
    """Ours: nothing below the systems changes when there is one more."""
    assert "clock" in built_in()
    assert load_agent("clock", {"file": "a"}).file == "a"
    assert Served("agent", "clock").in_file(tmp_path / "servers.json").defaults == {
        "file": str(tmp_path / "servers.json")
    }

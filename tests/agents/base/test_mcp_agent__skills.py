"""Where an agent's skills are."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from gaia_mcp.agents.base.mcp_agent import MCPAgent

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

MODULE = """
from gaia_mcp import MCPAgent, tool

class Base(MCPAgent):
    skills_folder = "skills"

    @tool
    def hi(self) -> str:
        '''Greet.'''
        return "hi"
"""


def test_an_agent_has_the_skills_beside_its_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ours: wherever it is started; a subclass elsewhere inherits them, or names a folder of its own."""
    (tmp_path / "skilled_module.py").write_text(MODULE)
    for name in ("b", "a", "no-skill"):
        (tmp_path / "skills" / name).mkdir(parents=True)
    for name in ("a", "b"):
        (tmp_path / "skills" / name / "SKILL.md").touch()
    monkeypatch.syspath_prepend(tmp_path)
    base: type[MCPAgent] = __import__("skilled_module").Base
    folders = [tmp_path / "skills" / name for name in ("a", "b")]

    class Sub(base):  # type: ignore[misc, valid-type]
        """It inherits."""

    class Own(base):  # type: ignore[misc, valid-type]
        """Its own folder, by its whole path."""

        skills_folder = tmp_path / "none"

    found = [list(kind().get_mcp_skills()) for kind in (Sub, Own)]
    monkeypatch.delitem(sys.modules, "skilled_module")
    assert found == [folders, []]
    assert MCPAgent.skills_folder is None


def test_an_agent_without_a_folder_has_no_skills() -> None:
    """Ours: skills are optional, and no folder is searched for by itself."""

    class Plain(MCPAgent):
        """Nothing."""

        def get_mcp_tool_definitions(self) -> list[dict[str, object]]:
            return []

        def execute_mcp_tool(self, tool_name: str, arguments: dict[str, object]) -> object:
            return None

    assert list(Plain().get_mcp_skills()) == []

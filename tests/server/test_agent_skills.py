"""The skills of an agent: the extension, and the resources that they are too."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any

import pytest

from gaia_mcp.protocol.jsonrpc import INVALID_PARAMS, RESOURCE_NOT_FOUND
from gaia_mcp.server.agent import AgentProvider
from gaia_mcp.server.provider import RequestError
from tests.server.agents_under_test import Full, Plain, answer, refusal
from tests.server.test_skill_folders import TEXT, skill_in

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SKILLS = "io.modelcontextprotocol/skills"
URI = "skill://brewing/SKILL.md"


class Skilled(Full):
    """An agent with the skills in these folders."""

    def __init__(self, *folders: Any) -> None:
        super().__init__()
        self.folders: Any = folders

    def get_mcp_skills(self) -> Any:
        return self.folders


@pytest.fixture
def agent(tmp_path: Path) -> Skilled:
    """One with a skill of several files."""
    folder = skill_in(tmp_path / "x", references__grind="fine")
    (folder / "logo.png").write_bytes(b"\x89PNG\xff")
    (folder / "LICENSE").write_text("free")
    return Skilled(folder)


def test_an_agent_with_skills_declares_them_and_resources(agent: Skilled) -> None:
    """Extension: which its files are read by."""
    capabilities = AgentProvider(agent).describe().capabilities
    assert capabilities["extensions"][SKILLS] == {"directoryRead": True}
    assert "resources" in capabilities

    without = AgentProvider(Skilled()).describe().capabilities
    assert (SKILLS in without["extensions"], "resources" in without) == (False, False)
    assert SKILLS not in AgentProvider(Plain()).describe().capabilities["extensions"]


def test_a_skill_is_listed_and_returned_by_its_uri(agent: Skilled) -> None:
    """Extension: the same entry."""
    provider = AgentProvider(agent)
    (entry,) = answer(provider, "skills/list", {})["skills"]

    assert (entry["uri"], len(entry["resources"])) == (URI, 4)
    assert answer(provider, "skills/get", {"uri": URI}) == {"skill": entry}
    for unknown in ("skill://other/SKILL.md", "skill://brewing", 7, None):
        assert refusal(agent, "skills/get", {"uri": unknown}).code == INVALID_PARAMS
    assert answer(AgentProvider(Plain()), "skills/list", {}) == {"skills": []}


def test_the_files_of_a_skill_are_resources(agent: Skilled) -> None:
    """Extension: SKILL.md is listed, all of them are read, and nothing beside them."""
    provider = AgentProvider(agent)
    (listed,) = answer(provider, "resources/list", {})["resources"]
    assert listed == {"uri": URI, "name": "brewing", "description": "Brew coffee", "mimeType": "text/markdown"}

    def read(name: str) -> Any:
        (contents,) = answer(provider, "resources/read", {"uri": f"skill://brewing/{name}"})["contents"]
        return contents

    assert (read("SKILL.md")["text"], read("SKILL.md")["mimeType"]) == (TEXT, "text/markdown")
    assert read("references/grind.md")["text"] == "fine"
    assert (base64.b64decode(read("logo.png")["blob"]), read("logo.png")["mimeType"]) == (b"\x89PNG\xff", "image/png")
    assert read("LICENSE") == {
        "uri": "skill://brewing/LICENSE", "mimeType": "application/octet-stream", "text": "free"
    }  # fmt: skip
    for uri in (
        "other://x",
        "skill://brewing/../x/SKILL.md",
        "skill://brewing/references",
        "skill://other/SKILL.md",
        "skill://",
    ):
        assert refusal(agent, "resources/read", {"uri": uri}).code == RESOURCE_NOT_FOUND


def test_a_file_of_a_skill_that_was_just_deleted_is_not_found(agent: Skilled) -> None:
    """Ours: after its folder was listed, and before it was read. The reason is reported."""
    noted: list[str] = []
    provider = AgentProvider(agent, report=noted.append)
    (folder,) = agent.folders

    def deleting() -> Iterator[Path]:
        yield folder
        (folder / "LICENSE").unlink()  # The next folder is asked for when this one has been listed.

    agent.folders = deleting()
    with pytest.raises(RequestError):
        answer(provider, "resources/read", {"uri": "skill://brewing/LICENSE"})
    assert "cannot be read: No such file" in noted[0]


def test_a_directory_of_a_skill_is_listed(agent: Skilled) -> None:
    """Extension: its direct children, folders among them."""
    provider = AgentProvider(agent)
    root = answer(provider, "resources/directory/read", {"uri": "skill://brewing"})["resources"]

    assert {one["name"]: one["mimeType"] for one in root} == {
        "SKILL.md": "text/markdown",
        "LICENSE": "application/octet-stream",
        "logo.png": "image/png",
        "references": "inode/directory",
    }
    (folder,) = [one["uri"] for one in root if one["mimeType"] == "inode/directory"]
    (child,) = answer(provider, "resources/directory/read", {"uri": folder})["resources"]
    assert child["uri"] == "skill://brewing/references/grind.md"
    for uri in (URI, "skill://other", 7, None):
        assert refusal(agent, "resources/directory/read", {"uri": uri}).code == INVALID_PARAMS


def test_an_invalid_skill_is_reported_and_the_others_are_served(agent: Skilled, tmp_path: Path) -> None:
    """Ours: once, as with any definition."""
    broken = skill_in(tmp_path / "broken", "nothing")
    agent.folders = (broken, *agent.folders, skill_in(tmp_path / "again"))
    noted: list[str] = []
    provider = AgentProvider(agent, report=noted.append)

    for _ in range(2):
        assert [entry["uri"] for entry in answer(provider, "skills/list", {})["skills"]] == [URI]
    assert noted == [
        f"{broken / 'SKILL.md'} does not begin with YAML between two lines of ---; it is left out",
        "skill 'brewing' is there twice; the first one is used",
    ]

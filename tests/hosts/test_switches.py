"""Servers that are disabled in another file of a host."""

from __future__ import annotations

import json
from pathlib import Path

from gaia_mcp.hosts.files import places, project_places
from gaia_mcp.hosts.known import HOSTS
from gaia_mcp.hosts.switches import switched_off

PROJECT = Path("/p")


def test_gemini_lists_excluded_servers_beside_them(tmp_path: Path) -> None:
    """Ours: what is no name in it is passed over."""
    (place,) = places(HOSTS["gemini"], {}, tmp_path)
    place.path.parent.mkdir()
    place.path.write_text('{"mcp": {"excluded": ["a", 5]}}')
    assert switched_off(place, PROJECT, {}, tmp_path) == {"a"}


def test_claude_code_has_two_lists_of_disabled_servers_for_each_project(tmp_path: Path) -> None:
    """Ours: one for the servers that the project shares, one for the person's own."""
    held = {"disabledMcpjsonServers": ["shared"], "disabledMcpServers": ["own"]}
    (tmp_path / ".claude.json").write_text(json.dumps({"projects": {str(PROJECT): held}}))
    (user,) = places(HOSTS["claude-code"], {}, tmp_path)
    shared, own = project_places(HOSTS["claude-code"], PROJECT, {}, tmp_path)
    found = [switched_off(place, PROJECT, {}, tmp_path) for place in (user, shared, own)]
    assert found == [set(), {"shared"}, {"own"}]


def test_a_missing_or_invalid_file_disables_no_server(tmp_path: Path) -> None:
    """Ours: nor does one that cannot be read, which reading the servers reports."""
    (place,) = places(HOSTS["gemini"], {}, tmp_path)
    assert switched_off(place, PROJECT, {}, tmp_path) == set()
    place.path.parent.mkdir()
    for text in ("{", "[]", '{"mcp": 5}', '{"mcp": {"excluded": "a"}}'):
        place.path.write_text(text)
        assert switched_off(place, PROJECT, {}, tmp_path) == set()

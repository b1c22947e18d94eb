"""`gaia mcp remove`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.cli.conftest import Gaia


def test_remove_with_an_unknown_name_removes_no_server(gaia: Gaia) -> None:
    """Ours: servers that are named together are removed together."""
    gaia.write({"a": {"command": "x"}, "b": {"command": "x"}, "c": {"command": "x"}})

    missing = gaia("remove", "a", "bb")
    assert (missing.code, list(gaia.saved)) == (3, ["a", "b", "c"])
    done = gaia("remove", "a", "c", "--json")
    assert done.json["removed"] == ["a", "c"]
    assert list(gaia.saved) == ["b"]


def test_a_project_server_is_not_removed(gaia: Gaia) -> None:
    """Ours: the hint names the file that has the entry."""
    (gaia.cwd / ".mcp.json").write_text(json.dumps({"mcpServers": {"theirs": {"command": "x"}}}))
    gaia("trust")

    ran = gaia("remove", "theirs")

    assert ran.code == 3
    assert ".mcp.json" in ran.errors[1]

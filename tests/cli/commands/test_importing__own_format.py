"""Entries that only this program has, imported from another file of its format."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cli.conftest import Gaia

SERVERS: dict[str, dict[str, Any]] = {
    "cost": {
        "handler": "./cost_handler.py",
        "stages": ["build"],
        "settings": {"api_key": "${KEY:-x}", "deep": {"a": [1]}},
        "max_retries": 1,
        "timeout": 15,
    },
    "notes": {"agent": "notes.py:Notes", "agents": []},
    "demo": {"agent": "demo"},
    "fs": {"command": "npx", "args": ["-y", "fs"], "stages": ["all"], "agents": ["me"]},
}


@pytest.fixture
def other(gaia: Gaia) -> Path:
    """A file of servers in another folder."""
    folder = gaia.cwd / "other"
    folder.mkdir()
    (folder / "servers.json").write_text(json.dumps({"mcpServers": SERVERS}))
    return folder


def expected(folder: Path) -> dict[str, dict[str, Any]]:
    """The entries with the paths of their code written out."""
    return {
        **SERVERS,
        "cost": {**SERVERS["cost"], "handler": str(folder / "cost_handler.py")},
        "notes": {**SERVERS["notes"], "agent": str(folder / "notes.py:Notes")},
    }


def test_entries_of_code_are_imported_with_all_their_members(gaia: Gaia, other: Path) -> None:
    """Ours: both files have our format. The code stays where it is."""
    imported = gaia("import", "other/servers.json")

    assert imported.code == 0, imported
    assert json.loads(gaia.config.read_text())["mcpServers"] == expected(other)
    assert "same" in gaia("import", "other/servers.json").stdout


def test_entries_of_code_are_added_from_a_file(gaia: Gaia, other: Path) -> None:
    """Ours: a pasted entry is relative to the working folder."""
    assert gaia("add", "@other/servers.json", "--no-check").code == 0
    assert json.loads(gaia.config.read_text())["mcpServers"] == expected(other)
    gaia("add", "here", '{"handler": "x_handler.py"}', "--no-check")
    assert json.loads(gaia.config.read_text())["mcpServers"]["here"] == {"handler": str(gaia.cwd / "x_handler.py")}


def test_an_invalid_entry_of_code_is_left_out_with_its_reason(gaia: Gaia, other: Path) -> None:
    """Ours: and the others are imported."""
    (other / "servers.json").write_text(
        json.dumps({"mcpServers": {"bad": {"handler": "x.py", "settings": 5}, "demo": {"agent": "demo"}}})
    )
    imported = gaia("import", "other/servers.json")
    assert "'settings' must be an object" in imported.stdout + imported.stderr
    assert list(json.loads(gaia.config.read_text())["mcpServers"]) == ["demo"]

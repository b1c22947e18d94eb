"""The entries of servers that are in no file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gaia_mcp.cli.entries.targets import TypedEntry
from gaia_mcp.config.command import Command
from gaia_mcp.config.targets import Remote
from gaia_mcp.core.names import is_server_name

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def test_the_key_of_a_command_does_not_depend_on_its_spelling() -> None:
    """Ours: the name is what was typed, and differs."""
    one = TypedEntry("uvx  time", Command("uvx", ["time"]))
    other = TypedEntry("uvx time", Command("uvx", ["time"]))

    assert (one.key, one.identity()) == (other.key, other.identity())
    assert one.key != TypedEntry("uvx time", Command("uvx", ["time", "--utc"])).key
    assert not is_server_name(one.key)


def test_the_key_of_a_command_with_a_file_depends_on_the_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ours: `node server.js` means this folder's."""
    local, everywhere = TypedEntry("x", Command("node", ["server.js"])), TypedEntry("x", Command("uvx", ["time"]))
    keys = []
    for name in ("one", "two"):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "server.js").touch()
        monkeypatch.chdir(folder)
        keys.append((local.key, everywhere.key))

    assert keys[0][0] != keys[1][0]
    assert keys[0][1] == keys[1][1]


def test_a_deleted_working_folder_is_no_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ours: the key is then made of what was typed alone."""
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()

    assert TypedEntry("x", Command("node", [".", "server.js"])).key


def test_a_key_contains_no_secret_and_is_a_valid_file_name() -> None:
    """Ours: the folder of the cache is not private everywhere, and a file name is no place for a token."""
    token = "sk-1234567890abcdef"
    for target in (Command("x", ["--token", token]), Remote(f"https://me:{token}@example.com/mcp")):
        assert token not in TypedEntry("x", target).key
    TypedEntry("x", Command("caf\udce9", [])).key.encode()

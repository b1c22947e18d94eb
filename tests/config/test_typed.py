"""The entries of servers that are in no file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gaia_mcp.config.command import Command
from gaia_mcp.config.targets import Remote
from gaia_mcp.config.typed import TypedEntry
from gaia_mcp.names import is_server_name

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def test_what_is_known_of_a_command_is_known_however_it_was_typed() -> None:
    """Ours: the name is what was typed, and differs."""
    one = TypedEntry("uvx  time", Command("uvx", ["time"]))
    other = TypedEntry("uvx time", Command("uvx", ["time"]))

    assert (one.key, one.identity()) == (other.key, other.identity())
    assert one.key != TypedEntry("uvx time", Command("uvx", ["time", "--utc"])).key
    assert not is_server_name(one.key)


def test_a_command_that_names_a_file_is_another_in_another_folder(
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


def test_a_working_folder_that_has_gone_is_no_reason_to_fail(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ours."""
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()

    assert TypedEntry("x", Command("node", [".", "server.js"])).key


def test_a_key_holds_no_secret_and_can_name_a_file() -> None:
    """Ours: the folder of the cache is not private everywhere, and a file name is no place for a token."""
    token = "sk-1234567890abcdef"
    for target in (Command("x", ["--token", token]), Remote(f"https://me:{token}@example.com/mcp")):
        assert token not in TypedEntry("x", target).key
    TypedEntry("x", Command("caf\udce9", [])).key.encode()

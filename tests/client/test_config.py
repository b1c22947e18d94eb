"""`MCPConfig`, as GAIA's documents describe it."""

from __future__ import annotations

import json
import stat
from typing import TYPE_CHECKING, Any

import pytest

from gaia_mcp.client.config import MCPConfig
from gaia_mcp.config.trust import approve, find_project_file
from gaia_mcp.core.errors import ConfigFileError, EntryError
from tests.client.conftest import error_of

if TYPE_CHECKING:
    from pathlib import Path

ENTRY: dict[str, Any] = {"command": "npx", "args": ["-y", "server"], "env": {"TOKEN": "x"}}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "servers.json"


def test_the_default_file_is_in_the_home_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """GAIA's documents: ~/.gaia/mcp_servers.json, and the folder is made. Design, section 5: 0700."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("GAIA_HOME", raising=False)
    monkeypatch.delenv("GAIA_CONFIG_DIR", raising=False)
    config = MCPConfig()
    assert config.config_file == tmp_path / ".gaia" / "mcp_servers.json"
    assert stat.S_IMODE((tmp_path / ".gaia").stat().st_mode) == 0o700
    assert not config.config_file.exists()

    assert MCPConfig("~/other.json").config_file == tmp_path / "other.json"
    monkeypatch.setenv("GAIA_HOME", str(tmp_path / "moved"))
    assert MCPConfig().config_file == tmp_path / "moved" / "mcp_servers.json"


def test_a_server_is_added_changed_and_removed(path: Path) -> None:
    """GAIA's documents: every change is saved at once."""
    config = MCPConfig(str(path))
    config.add_server("fs", ENTRY)
    assert json.loads(path.read_text()) == {"mcpServers": {"fs": ENTRY}}
    assert (config.server_exists("fs"), config.server_exists("db")) == (True, False)
    assert config.get_server("fs") == ENTRY

    config.add_server("fs", {"command": "other"})
    assert MCPConfig(path).get_servers() == {"fs": {"command": "other"}}

    config.remove_server("fs")
    assert config.get_servers() == {}
    assert json.loads(path.read_text()) == {"mcpServers": {}}


def test_a_missing_server_is_an_empty_dict_and_can_be_removed(path: Path) -> None:
    """GAIA's documents: an empty dict, and saving only if the server existed."""
    config = MCPConfig(path)
    assert config.get_server("none") == {}
    config.remove_server("none")
    assert not path.exists()


def test_the_legacy_servers_key_is_read_and_preserved(path: Path) -> None:
    """GAIA's documents: the legacy "servers" key."""
    path.write_text(json.dumps({"note": 1, "servers": {"fs": ENTRY}}))
    config = MCPConfig(path)
    assert config.get_servers() == {"fs": ENTRY}
    config.add_server("db", ENTRY)
    assert json.loads(path.read_text()) == {"note": 1, "servers": {"fs": ENTRY, "db": ENTRY}}


def test_returned_entries_are_copies(path: Path) -> None:
    """GAIA's documents: a copy of all configurations. Ours: the entry that is passed is copied too."""
    config = MCPConfig(path)
    given = {"command": "npx", "args": ["a"]}
    config.add_server("fs", given)
    given["args"] = []
    config.get_server("fs")["args"].append("b")
    config.get_servers()["fs"]["args"].append("b")
    config.get_servers().clear()
    assert config.get_server("fs") == {"command": "npx", "args": ["a"]}


def test_changes_of_another_instance_are_preserved_and_read(path: Path) -> None:
    """Ours: two programs may use one file."""
    one, other = MCPConfig(path), MCPConfig(path)
    one.add_server("a", ENTRY)
    other.add_server("b", ENTRY)
    assert list(other.get_servers()) == ["a", "b"]
    one.remove_server("b")
    assert list(MCPConfig(path).get_servers()) == ["a"]


def test_an_invalid_entry_is_a_value_error(path: Path) -> None:
    """GAIA's documents: "command" is required."""
    rows: list[tuple[str, Any]] = [("fs", {}), ("fs", {"command": ""}), ("fs", None), ("a b", ENTRY)]

    assert [type(error_of(MCPConfig(path).add_server, *row)) for row in rows] == [EntryError] * len(rows)
    assert issubclass(EntryError, ValueError)
    assert not path.exists()


def test_an_unreadable_file_is_an_error_and_is_not_changed(path: Path) -> None:
    """Ours: the user can correct it; an empty file in its place would lose all servers."""
    found = {}
    for content in ("", "{", "[]", '{"mcpServers": []}'):
        path.write_text(content)
        found[content] = (type(error_of(MCPConfig, path)), path.read_text())

    assert found == {content: (ConfigFileError, content) for content in found}


def test_a_directory_that_cannot_be_created_is_a_config_file_error(path: Path) -> None:
    """Ours: a program need not catch `OSError` too."""
    path.write_text("{}")
    with pytest.raises(ConfigFileError) as caught:
        MCPConfig(path / "deeper" / "servers.json")
    assert caught.value.path == path / "deeper" / "servers.json"
    with pytest.raises(ConfigFileError):
        MCPConfig("~nobody-of-that-name/servers.json")


def test_an_unapproved_project_file_is_not_read(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ours: a library must not start the servers of whatever directory it is used in."""
    (tmp_path / "mcp_servers.json").write_text(json.dumps({"mcpServers": {"evil": ENTRY}}))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GAIA_HOME", str(tmp_path / "home"))
    assert MCPConfig().get_servers() == {}
    assert MCPConfig(path).get_servers() == {}


def test_the_repr_shows_only_the_path(path: Path) -> None:
    """Ours: debuggers print it, entries hold secrets, and the file may have become unreadable."""
    config = MCPConfig(path)
    path.write_text("{")
    assert repr(config) == f"<MCPConfig {path}>"


def test_every_read_returns_the_current_file(path: Path) -> None:
    """GAIA's documents: servers are read from the file. Ours: at each call, so that no change is missed."""
    config = MCPConfig(path)
    MCPConfig(path).add_server("fs", ENTRY)
    assert config.server_exists("fs")
    assert config.get_server("fs") == ENTRY
    assert config.get_servers() == config._servers == {"fs": ENTRY}
    path.write_text("{")
    with pytest.raises(ConfigFileError):
        config.get_servers()


@pytest.mark.parametrize("note", [float("nan"), object(), {1: float("inf")}])
def test_an_entry_that_json_cannot_represent_is_not_written(path: Path, note: Any) -> None:
    """Ours: the file would become unreadable, and all other servers with it."""
    config = MCPConfig(path)
    config.add_server("fs", ENTRY)
    with pytest.raises(EntryError):
        config.add_server("odd", {**ENTRY, "note": note})
    assert config.get_servers() == {"fs": ENTRY}


def test_the_default_servers_are_the_users_and_those_of_an_approved_project(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ours: those of an approved project override the user's. GAIA reads the project's file without an approval."""
    own, project = tmp_path / "own" / "mcp_servers.json", tmp_path / "project" / "mcp_servers.json"
    for file, servers in ((own, {"a": {"command": "a"}, "b": {"command": "b"}}), (project, {"b": {"command": "p"}})):
        file.parent.mkdir()
        file.write_text(json.dumps({"mcpServers": servers}))
    monkeypatch.setenv("GAIA_HOME", str(own.parent))
    monkeypatch.chdir(project.parent)

    config = MCPConfig()
    assert config.get_server("b") == {"command": "b"}
    assert config.load_report["local"] == {"path": project, "exists": False, "servers": []}
    found = find_project_file(project.parent)
    assert found is not None
    approve(found)

    config = MCPConfig()
    assert config.get_servers() == {"a": {"command": "a"}, "b": {"command": "p"}}
    assert (config.config_file, config.source_of("a"), config.source_of("b")) == (own, own, project)
    assert config.load_report == {
        "mode": "auto",
        "config_file": own,
        "global": {"path": own, "exists": True, "servers": ["a", "b"]},
        "local": {"path": project, "exists": True, "servers": ["b"]},
        "overrides": ["b"],
    }
    config.add_server("c", {"command": "c"})
    assert MCPConfig(own).load_report == {"mode": "explicit", "config_file": own, "servers": ["a", "b", "c"]}


def test_assigned_servers_replace_those_of_the_file(tmp_path: Path) -> None:
    """GAIA's documents name the attribute, and programs assign to it in their tests."""
    config = MCPConfig(tmp_path / "servers.json")

    config._servers = {"mine": {"command": "run"}}

    assert config.get_servers() == {"mine": {"command": "run"}}

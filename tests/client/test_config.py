"""`MCPConfig`, as GAIA's documents describe it."""

from __future__ import annotations

import json
import stat
from typing import TYPE_CHECKING, Any

import pytest

from gaia_mcp.client.config import MCPConfig
from gaia_mcp.config.trust import approve, find_project_file
from gaia_mcp.errors import ConfigFileError, EntryError

if TYPE_CHECKING:
    from pathlib import Path

ENTRY: dict[str, Any] = {"command": "npx", "args": ["-y", "server"], "env": {"TOKEN": "x"}}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "servers.json"


def test_the_usual_file_lies_in_the_home_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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


def test_what_is_not_there_is_empty_and_can_be_removed(path: Path) -> None:
    """GAIA's documents: an empty dict, and saving only if the server existed."""
    config = MCPConfig(path)
    assert config.get_server("none") == {}
    config.remove_server("none")
    assert not path.exists()


def test_the_older_key_is_read_and_kept(path: Path) -> None:
    """GAIA's documents: the legacy "servers" key."""
    path.write_text(json.dumps({"note": 1, "servers": {"fs": ENTRY}}))
    config = MCPConfig(path)
    assert config.get_servers() == {"fs": ENTRY}
    config.add_server("db", ENTRY)
    assert json.loads(path.read_text()) == {"note": 1, "servers": {"fs": ENTRY, "db": ENTRY}}


def test_what_is_handed_out_is_a_copy(path: Path) -> None:
    """GAIA's documents: a copy of all configurations; and what was handed in stays the caller's."""
    config = MCPConfig(path)
    given = {"command": "npx", "args": ["a"]}
    config.add_server("fs", given)
    given["args"] = []
    config.get_server("fs")["args"].append("b")
    config.get_servers()["fs"]["args"].append("b")
    config.get_servers().clear()
    assert config.get_server("fs") == {"command": "npx", "args": ["a"]}


def test_changes_of_others_survive_and_are_seen(path: Path) -> None:
    """Ours: two programs, one file."""
    one, other = MCPConfig(path), MCPConfig(path)
    one.add_server("a", ENTRY)
    other.add_server("b", ENTRY)
    assert list(other.get_servers()) == ["a", "b"]
    one.remove_server("b")
    assert list(MCPConfig(path).get_servers()) == ["a"]


@pytest.mark.parametrize(("name", "entry"), [("fs", {}), ("fs", {"command": ""}), ("fs", None), ("a b", ENTRY)])
def test_an_entry_that_makes_no_sense_is_a_value_error(path: Path, name: str, entry: Any) -> None:
    """GAIA's documents: "command" is required."""
    with pytest.raises(EntryError) as caught:
        MCPConfig(path).add_server(name, entry)
    assert isinstance(caught.value, ValueError)
    assert not path.exists()


@pytest.mark.parametrize("content", ["", "{", "[]", '{"mcpServers": []}'])
def test_a_file_that_cannot_be_read_is_an_error_and_stays(path: Path, content: str) -> None:
    """Ours: never emptied."""
    path.write_text(content)
    with pytest.raises(ConfigFileError):
        MCPConfig(path)
    assert path.read_text() == content


def test_a_folder_that_cannot_be_made_is_an_error_of_ours(path: Path) -> None:
    """Ours: translated where it crosses our border."""
    path.write_text("{}")
    with pytest.raises(ConfigFileError) as caught:
        MCPConfig(path / "deeper" / "servers.json")
    assert caught.value.path == path / "deeper" / "servers.json"
    with pytest.raises(ConfigFileError):
        MCPConfig("~nobody-of-that-name/servers.json")


def test_a_project_s_file_is_not_looked_at(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ours: a library must not run what lies in the working folder."""
    (tmp_path / "mcp_servers.json").write_text(json.dumps({"mcpServers": {"evil": ENTRY}}))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GAIA_HOME", str(tmp_path / "home"))
    assert MCPConfig().get_servers() == {}
    assert MCPConfig(path).get_servers() == {}


def test_it_shows_its_file_and_nothing_of_what_is_in_it(path: Path) -> None:
    """Ours: it turns up in debuggers, entries hold secrets, and the file may have become unreadable."""
    config = MCPConfig(path)
    path.write_text("{")
    assert repr(config) == f"<MCPConfig {path}>"


def test_what_others_have_changed_is_seen_at_once(path: Path) -> None:
    """GAIA's documents: servers are read from the file. Ours: as it is now, not as it was once."""
    config = MCPConfig(path)
    MCPConfig(path).add_server("fs", ENTRY)
    assert config.server_exists("fs")
    assert config.get_server("fs") == ENTRY
    assert config.get_servers() == config._servers == {"fs": ENTRY}
    path.write_text("{")
    with pytest.raises(ConfigFileError):
        config.get_servers()


@pytest.mark.parametrize("note", [float("nan"), object(), {1: float("inf")}])
def test_what_json_cannot_say_is_refused_before_it_spoils_the_file(path: Path, note: Any) -> None:
    """Ours: the file could not be read any more, and with it all other servers."""
    config = MCPConfig(path)
    config.add_server("fs", ENTRY)
    with pytest.raises(EntryError):
        config.add_server("odd", {**ENTRY, "note": note})
    assert config.get_servers() == {"fs": ENTRY}


def test_without_a_file_the_servers_are_those_of_the_commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ours: the user's, and over them those of a project once it is approved. GAIA lays the project's file over them
    unasked.
    """
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


def test_entries_may_be_put_in_place_of_those_of_a_file(tmp_path: Path) -> None:
    """GAIA's documents name the attribute, and tests of programs use it."""
    config = MCPConfig(tmp_path / "servers.json")

    config._servers = {"mine": {"command": "run"}}

    assert config.get_servers() == {"mine": {"command": "run"}}

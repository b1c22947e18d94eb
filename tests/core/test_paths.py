"""Where things lie."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from gaia_mcp.core.errors import ConfigFileError
from gaia_mcp.core.paths import (
    PROJECT_FILES,
    approvals_file,
    cache_folder,
    config_folder,
    home_expanded,
    is_there,
    keeper_folder,
    log_folder,
    servers_file,
    shown,
)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("GAIA_HOME", "GAIA_CONFIG_DIR", "XDG_CACHE_HOME", "XDG_STATE_HOME"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


def test_the_configuration_lies_in_the_home_folder(home: Path) -> None:
    """Ours: `~/.gaia/mcp_servers.json`."""
    assert config_folder({}) == home / ".gaia"
    assert servers_file({}) == home / ".gaia" / "mcp_servers.json"
    assert approvals_file({}) == home / ".gaia" / "trusted_projects.json"


def test_the_folder_can_be_moved() -> None:
    """Ours: `GAIA_HOME` or `GAIA_CONFIG_DIR` move the folder; an empty variable says nothing."""
    cases = [
        ({"GAIA_HOME": "/a"}, "/a"),
        ({"GAIA_CONFIG_DIR": "/b"}, "/b"),
        ({"GAIA_HOME": "/a", "GAIA_CONFIG_DIR": "/b"}, "/a"),
        ({"GAIA_HOME": "", "GAIA_CONFIG_DIR": "/b"}, "/b"),
    ]

    wrong = [
        (environ, folder)
        for environ, folder in cases
        if not (
            config_folder(environ) == Path(folder)
            and servers_file(environ) == Path(folder, "mcp_servers.json")
            and approvals_file(environ) == Path(folder, "trusted_projects.json")
            and cache_folder(environ) == Path(folder, "cache")
            and log_folder(environ) == Path(folder, "logs")
        )
    ]

    assert not wrong


def test_a_moved_folder_may_be_written_with_a_tilde_or_relatively(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ours: configuration of services is not expanded by a shell."""
    monkeypatch.chdir(home)
    assert config_folder({"GAIA_HOME": "~/x"}) == home / "x"
    assert config_folder({"GAIA_HOME": "y"}) == home / "y"


def test_without_an_environment_the_process_s_own_is_used(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ours: the usual case."""
    assert config_folder() == home / ".gaia"
    assert cache_folder().is_relative_to(home)
    assert log_folder().is_relative_to(home)
    monkeypatch.setenv("GAIA_HOME", "/elsewhere")
    assert (config_folder(), cache_folder()) == (Path("/elsewhere"), Path("/elsewhere/cache"))


def test_the_default_cache_folder_is_the_one_of_the_platform(home: Path) -> None:
    """Ours: what can be learnt again is no configuration."""
    assert cache_folder({}).name == "gaia-mcp"
    assert not cache_folder({}).is_relative_to(config_folder({}))
    assert not log_folder({}).is_relative_to(config_folder({}))


def test_an_unknown_home_is_a_configuration_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ours: no traceback for a misspelt `~name`, nor for a user without a home."""
    with pytest.raises(ConfigFileError) as caught:
        home_expanded(Path("~nobody-of-that-name/servers.json"))
    assert caught.value.path == Path("~nobody-of-that-name/servers.json")

    with pytest.raises(ConfigFileError):
        config_folder({"GAIA_HOME": "~nobody-of-that-name"})

    monkeypatch.setenv("HOME", "~")
    with pytest.raises(ConfigFileError, match="the home folder is unknown"):
        config_folder({})


def test_a_file_that_cannot_be_examined_counts_as_existing(tmp_path: Path) -> None:
    """Ours: reading it reports why not, and the other hosts are read all the same."""
    (tmp_path / "file").touch()
    cases = [("file", True), ("no", False), ("file/no", False), ("x" * 300, True), ("\0", True)]

    assert {name: is_there(tmp_path / name) for name, _ in cases} == dict(cases)


def test_a_path_below_home_is_shown_with_a_tilde(home: Path) -> None:
    """Ours: short, and without the person's name."""
    outside = (home / "../other").resolve()
    cases = [(home / "a/b.json", "~/a/b.json"), (home / ".gaia", "~/.gaia"), (home, "~"), (outside, str(outside))]

    wrong = [(path, found) for path, words in cases if (found := shown(path)) != words]

    assert not wrong


def test_the_project_s_own_file_comes_before_the_shared_one() -> None:
    """Ours: `./mcp_servers.json` (or `.mcp.json`)."""
    assert PROJECT_FILES == ("mcp_servers.json", ".mcp.json")


def test_the_sockets_of_a_keeper_lie_where_the_login_session_removes_them(tmp_path: Path) -> None:
    """XDG base directories; else in a folder of this user's among the temporary ones, whatever the variables name."""
    user = os.getuid()
    cases = [
        ({"XDG_RUNTIME_DIR": str(tmp_path)}, tmp_path / "gaia-mcp"),
        ({"XDG_RUNTIME_DIR": "/none", "TMPDIR": str(tmp_path)}, tmp_path / f"gaia-mcp-{user}"),
        ({"XDG_RUNTIME_DIR": ".", "TMPDIR": "/none"}, Path("/tmp", f"gaia-mcp-{user}")),
    ]

    assert [keeper_folder(Path("/some/where"), environ).parent for environ, _ in cases] == [each for _, each in cases]
    assert keeper_folder(Path("/some/where"), cases[0][0]).name != keeper_folder(Path("/other"), cases[0][0]).name

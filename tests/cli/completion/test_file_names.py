"""Candidates that are paths of files and folders."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from gaia_mcp.cli.completion.file_names import Candidate
from tests.cli.completion.conftest import after

if TYPE_CHECKING:
    import pytest


def test_files_are_offered_where_a_file_fits(known: None) -> None:
    """Ours: beside the other values of a parameter."""
    Path("run.sh").touch()

    assert after("mcp", "add", "new", "--", "r") == after("mcp", "add", "new", "--", "sh", "r") == ["run.sh"]
    assert after("mcp", "call", "demo", "greet", "--args", "") == ["@", "-"]
    assert after("mcp", "call", "demo", "greet", "--args", "@r") == ["@run.sh"]
    assert after("mcp", "call", "demo", "greet", "--args=@r") == ["--args=@run.sh"]
    assert after("mcp", "import", "run") == ["run.sh"]
    assert after("mcp", "watch", "demo", "demo://a") == ["demo://about"]


def test_only_folders_are_offered_where_a_folder_is_expected(known: None) -> None:
    """Ours: hidden files are offered only after a dot, as shells do."""
    Path("folder").mkdir()
    Path("file").touch()
    Path("folder/.hidden").touch()

    assert after("mcp", "read", "demo", "x", "-o", "f") == ["file", "folder/"]
    assert after("mcp", "read", "demo", "x", "--output-dir", "f") == ["folder/"]
    assert after("mcp", "call", "demo", "x", "--root", "f") == ["folder/"]
    assert after("mcp", "test-client", "demo", "--answers", "f") == ["file", "folder/"]
    assert after("mcp", "call", "demo", "x", "--sample", "f") == ["file", "folder/"]
    assert after("mcp", "trust", "") == ["folder/"]
    assert after("mcp", "list", "--config", "f") == ["file", "folder/"]
    assert after("mcp", "list", "--config", "folder/") == []
    assert after("mcp", "list", "--config", "folder/.") == ["folder/.hidden"]
    assert after("mcp", "list", "--config", "nowhere/") == []
    assert after("mcp", "list", "--config", "~nobody-at-all/") == []
    assert after("mcp", "list", "--config", "\0/") == []


def test_a_tilde_in_a_path_is_not_expanded(known: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Ours: the shell or the command expands it later."""
    (tmp_path / "in home").touch()
    monkeypatch.setenv("HOME", str(tmp_path))

    assert after("mcp", "call", "demo", "greet", "name=@~/in") == ["name=@~/in home"]


def test_files_are_offered_in_a_command_after_two_dashes(known: None) -> None:
    """Ours: as in `-- node server.js`. After a configured server, its tools are offered instead."""
    Path("server.js").touch()

    for words in (["tools", "--", "node"], ["call", "now", "--", "node"], ["show", "--", "node"], ["watch", "--"]):
        assert after("mcp", *words, "ser") == ["server.js"], words
    assert after("mcp", "call", "demo", "--", "gr") == ["greet"]
    assert after("mcp", "call", "demo", "greet", "--", "nam") == ["name="]


def test_an_incomplete_word_gets_no_space() -> None:
    """Ours: the person goes on typing the same word."""
    assert [Candidate(word).is_open for word in ("key=", "key=@", "folder/", "file.py:", "word")] == [True] * 4 + [
        False
    ]

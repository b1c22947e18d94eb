"""`cli.completion.path_values`: which arguments are paths, and what they may become."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from gaia_mcp.cli.completion.argument_words import argument_words
from gaia_mcp.cli.completion.path_values import path_values

if TYPE_CHECKING:
    from pathlib import Path

TEXT: dict[str, Any] = {"type": "string"}


@pytest.fixture(autouse=True)
def _files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A working folder with a file, a folder, and a file in that."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "docs" / "in side").mkdir(parents=True)
    (tmp_path / "docs" / "a.txt").touch()
    (tmp_path / "note.txt").touch()


def found(name: str, described: Any = TEXT, begun: str = "", folder: str = "") -> list[str]:
    return list(path_values(name, described, {}, begun, folder))


@pytest.mark.parametrize(
    "name",
    [
        "path",
        "PATH",
        "file",
        "files",
        "filename",
        "file_name",
        "filePath",
        "repo_path",
        "outputFile",
        "input-file",
        "paths",
    ],
)
def test_a_name_that_says_path_or_file_takes_both(name: str) -> None:
    """Ours: it is the last word of the name that tells."""
    assert found(name) == ["docs/", "note.txt"]


@pytest.mark.parametrize(
    "name",
    [
        "directory",
        "directories",
        "dir",
        "dirs",
        "folder",
        "output_dir",
        "cwd",
        "dirPath",
        "folder_name",
        "working-directory",
    ],
)
def test_a_name_that_says_folder_takes_folders_alone(name: str) -> None:
    """Ours."""
    assert found(name) == ["docs/"]


@pytest.mark.parametrize("name", ["profile", "path_type", "fileCount", "name", "username", "direct", "", "42"])
def test_other_names_take_none(name: str) -> None:
    """Ours: an argument about a file is not the file."""
    assert found(name) == []


@pytest.mark.parametrize(
    ("described", "expected"),
    [
        ({"type": "string", "format": "path"}, ["docs/", "note.txt"]),
        ({"type": "string", "format": "file-path"}, ["docs/", "note.txt"]),
        ({"type": "string", "format": "directory-path"}, ["docs/"]),
        ({"type": "array", "items": {"type": "string", "format": "file-path"}}, ["docs/", "note.txt"]),
        ({"anyOf": [{"type": "string", "format": "path"}, {"type": "null"}]}, ["docs/", "note.txt"]),
        ({"type": "string", "format": "date"}, []),
        ({"type": "string", "format": ["path"]}, []),
    ],
)
def test_a_format_says_it_too(described: dict[str, Any], expected: list[str]) -> None:
    """JSON Schema leaves formats open; these are what pydantic writes for FilePath, DirectoryPath and Path."""
    assert found("x", described) == expected


@pytest.mark.parametrize(
    ("described", "expected"),
    [
        ({}, ["docs/", "note.txt"]),
        ({"type": "array", "items": {"type": "string"}}, ["docs/", "note.txt"]),
        ({"type": ["string", "null"]}, ["docs/", "note.txt"]),
        ({"type": "integer"}, []),
        ({"type": "boolean"}, []),
        ({"type": "object"}, []),
        ({"enum": ["left", "right"]}, []),
        ({"type": "string", "format": "date"}, []),
    ],
)
def test_only_what_may_be_a_text_is_a_path(described: dict[str, Any], expected: list[str]) -> None:
    """Ours: of a closed list of values only these are offered, and another format says what it is."""
    assert found("path", described) == expected


def test_a_uri_of_a_file_is_completed(tmp_path: Path) -> None:
    """RFC 8089: with what cannot stand in a URI escaped; any other URI is not ours to complete."""
    uri = {"type": "string", "format": "uri"}

    assert found("source", uri, f"file://{tmp_path}/docs/in") == [f"file://{tmp_path}/docs/in%20side/"]
    assert found("source", uri, f"file://{tmp_path}/docs/in%20") == [f"file://{tmp_path}/docs/in%20side/"]
    assert found("source", uri, "https://x/") == []
    assert found("source", uri) == []


def test_relative_paths_are_those_of_the_folder_of_the_server(tmp_path: Path) -> None:
    """Ours: it is the server that opens them."""
    assert found("path", folder=str(tmp_path / "docs")) == ["a.txt", "in side/"]
    assert found("path", begun=f"{tmp_path}/no", folder=str(tmp_path / "docs")) == [f"{tmp_path}/note.txt"]


def test_they_come_after_the_values_that_the_schema_lists() -> None:
    """Ours: after `=`, behind an option, and in place of it; never as the names of arguments."""
    schema = {"properties": {"path": {"type": "string", "default": "notes"}, "dir": TEXT}}

    def words(incomplete: str, *given: str) -> list[str]:
        return [word for word, _ in argument_words(schema, given, incomplete)]

    assert words("path=") == ["path=notes", "path=docs/", "path=note.txt"]
    assert words("dir=./") == ["dir=./docs/"]
    assert words("--path=d") == ["--path=notes", "--path=docs/"]
    assert words("", "--dir") == ["docs/"]
    assert words("") == ["path=", "dir="]

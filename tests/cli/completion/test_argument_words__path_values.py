"""`cli.completion.path_values`: which arguments are paths, and their candidates."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from gaia_mcp.cli.completion.argument_words import argument_words, path_values

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


def test_names_ending_in_path_or_file_take_files_and_folders() -> None:
    """Ours: the last word of the name decides."""
    names = "path PATH file files filename file_name filePath repo_path outputFile input-file paths"

    assert {name: values for name in names.split() if (values := found(name)) != ["docs/", "note.txt"]} == {}


def test_names_ending_in_folder_take_only_folders() -> None:
    """Ours: a file would be an invalid value."""
    names = "directory directories dir dirs folder output_dir cwd dirPath folder_name working-directory"

    assert {name: values for name in names.split() if (values := found(name)) != ["docs/"]} == {}


def test_other_names_take_no_paths() -> None:
    """Ours: an argument about a file is not the file."""
    names = ["profile", "path_type", "fileCount", "name", "username", "direct", "", "42"]

    assert {name: values for name in names if (values := found(name))} == {}


def test_a_path_format_takes_paths() -> None:
    """JSON Schema leaves formats open; these are what pydantic writes for FilePath, DirectoryPath and Path."""
    schemas: list[tuple[dict[str, Any], list[str]]] = [
        ({"type": "string", "format": "path"}, ["docs/", "note.txt"]),
        ({"type": "string", "format": "file-path"}, ["docs/", "note.txt"]),
        ({"type": "string", "format": "directory-path"}, ["docs/"]),
        ({"type": "array", "items": {"type": "string", "format": "file-path"}}, ["docs/", "note.txt"]),
        ({"anyOf": [{"type": "string", "format": "path"}, {"type": "null"}]}, ["docs/", "note.txt"]),
        ({"type": "string", "format": "date"}, []),
        ({"type": "string", "format": ["path"]}, []),
    ]

    assert [(described, found("x", described)) for described, _ in schemas] == schemas


def test_only_a_string_may_be_a_path() -> None:
    """Ours: a closed list offers only its own values, and another format decides what the value is."""
    schemas: list[tuple[dict[str, Any], list[str]]] = [
        ({}, ["docs/", "note.txt"]),
        ({"type": "array", "items": {"type": "string"}}, ["docs/", "note.txt"]),
        ({"type": ["string", "null"]}, ["docs/", "note.txt"]),
        ({"type": "integer"}, []),
        ({"type": "boolean"}, []),
        ({"type": "object"}, []),
        ({"enum": ["left", "right"]}, []),
        ({"type": "string", "format": "date"}, []),
    ]

    assert [(described, found("path", described)) for described, _ in schemas] == schemas


def test_a_file_uri_is_completed(tmp_path: Path) -> None:
    """RFC 8089: special characters are percent-encoded; no other URI names a local file."""
    uri = {"type": "string", "format": "uri"}

    assert found("source", uri, f"file://{tmp_path}/docs/in") == [f"file://{tmp_path}/docs/in%20side/"]
    assert found("source", uri, f"file://{tmp_path}/docs/in%20") == [f"file://{tmp_path}/docs/in%20side/"]
    assert found("source", uri, "https://x/") == []
    assert found("source", uri) == []


def test_relative_paths_are_resolved_in_the_folder_of_the_server(tmp_path: Path) -> None:
    """Ours: the server opens the file."""
    assert found("path", folder=str(tmp_path / "docs")) == ["a.txt", "in side/"]
    assert found("path", begun=f"{tmp_path}/no", folder=str(tmp_path / "docs")) == [f"{tmp_path}/note.txt"]


def test_paths_come_after_the_values_of_the_schema() -> None:
    """Ours: after `key=`, after `--key=` and after `--key`, but not as names of arguments."""
    schema = {"properties": {"path": {"type": "string", "default": "notes"}, "dir": TEXT}}

    def words(incomplete: str, *given: str) -> list[str]:
        return [word for word, _ in argument_words(schema, given, incomplete)]

    assert words("path=") == ["path=notes", "path=docs/", "path=note.txt"]
    assert words("dir=./") == ["dir=./docs/"]
    assert words("--path=d") == ["--path=notes", "--path=docs/"]
    assert words("", "--dir") == ["docs/"]
    assert words("") == ["path=", "dir="]

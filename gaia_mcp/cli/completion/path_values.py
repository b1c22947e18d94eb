"""Arguments that are paths, recognized by name and format, and the files that match their values."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from gaia_mcp.cli.completion.file_names import file_names
from gaia_mcp.toolspec.schema import choices_of, parts_of, types_of

# The last word of a parameter's name, as in `outputFile`, `repo_path` or `dirs`.
FILES = ("path", "file", "filename", "filepath", "pathname")
FOLDERS = ("dir", "directory", "folder", "cwd", "dirname", "workdir", "basedir", "rootdir")
# The formats of pydantic's FilePath, DirectoryPath and Path, and other common ones.
FILE_FORMATS = ("path", "file-path", "file")
FOLDER_FORMATS = ("directory-path", "directory", "folder")
URI_FORMATS = ("uri", "url")
FILE_URI = "file://"


def path_values(name: str, described: Any, schema: Any, begun: str, folder: str = "") -> Iterator[str]:
    """The paths that begin with `begun`, for a parameter whose values are paths; only folders if the parameter takes
    folders.

    Relative paths are relative to `folder`, in which the server runs.
    """
    parts = parts_of(described, schema)
    parts += [item for part in parts if "items" in part for item in parts_of(part["items"], schema)]
    if any(choices_of(part) for part in parts):
        return
    if not any("string" in types_of(part) for part in parts) and any(types_of(part) for part in parts):
        return
    formats = {part["format"] for part in parts if isinstance(part.get("format"), str)}
    if begun.startswith(FILE_URI) and not formats.isdisjoint(URI_FORMATS):
        from urllib.parse import quote, unquote

        yield from (FILE_URI + quote(path) for path, _ in file_names(unquote(begun.removeprefix(FILE_URI))))
        return
    is_folder = not formats.isdisjoint(FOLDER_FORMATS) or (not formats and _says(name, FOLDERS))
    if is_folder or not formats.isdisjoint(FILE_FORMATS) or (not formats and _says(name, FILES)):
        yield from (path for path, _ in file_names(begun, only_folders=is_folder, folder=folder))


def _says(name: str, words: tuple[str, ...]) -> bool:
    """Whether `name` ends in one of `words`, singular or plural. `dirPath` and `folder_name` count as folders."""
    *before, last = re.findall(r"[a-z]+|[A-Z]+(?![a-z])|[A-Z][a-z]+", name) or [""]
    found = _singular(last)
    if before and (found == "name" or (found == "path" and _singular(before[-1]) in FOLDERS)):
        found = _singular(before[-1])
    return found in words


def _singular(word: str) -> str:
    word = word.lower()
    return f"{word.removesuffix('ies')}y" if word.endswith("ies") else word.removesuffix("s")

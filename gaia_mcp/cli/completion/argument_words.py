"""The words of a tool's arguments, `key=value`, from its schema, with the files that match a parameter whose name and
format say that it is a path.

Pure, except that it lists files.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

from gaia_mcp.cli.completion.file_names import Candidate, file_names
from gaia_mcp.text.strict_json import is_same
from gaia_mcp.toolspec.arguments import DASHES, given_keys, key_of, split_arguments, typed_value
from gaia_mcp.toolspec.describe import type_in_words
from gaia_mcp.toolspec.schema import (
    choices_of,
    default_of,
    description_of,
    needed_of,
    parts_of,
    properties_of,
    types_of,
)

# The limit for a value; longer ones are not typed, but read from a file.
MAX_VALUE_CHARS = 200
# The last word of a parameter's name, as in `outputFile`, `repo_path` or `dirs`.
FILES = ("path", "file", "filename", "filepath", "pathname")
FOLDERS = ("dir", "directory", "folder", "cwd", "dirname", "workdir", "basedir", "rootdir")
# The formats of pydantic's FilePath, DirectoryPath and Path, and other common ones.
FILE_FORMATS = ("path", "file-path", "file")
FOLDER_FORMATS = ("directory-path", "directory", "folder")
URI_FORMATS = ("uri", "url")
FILE_URI = "file://"


def argument_words(schema: Any, given: Sequence[str], incomplete: str, folder: str = "") -> list[Candidate]:
    """The candidates for an argument's word: names that are not yet `given`, required ones first, and after the `=`
    values. After two dashes the names are those of options; after an option the candidates are its values. Relative
    paths are relative to `folder`.
    """
    known = properties_of(schema)
    if incomplete.startswith(DASHES):
        return [
            Candidate(f"{DASHES}{word.rstrip('=').removesuffix(':') if word.endswith('=') else word}", about)
            for word, about in argument_words(schema, given, incomplete.removeprefix(DASHES), folder)
        ]
    last = next(reversed(list(split_arguments(given, schema))), None)
    if last is not None and last.option and last.value is None:
        begun = f"{key_of(last.option, known) or last.option}="
        found = argument_words(schema, [], f"{begun}{incomplete}", folder)
        return [Candidate(word.removeprefix(begun), about) for word, about in found]
    key, equals, value = incomplete.partition("=")
    if not equals:
        taken = given_keys(given, schema)
        needed = [name for name in needed_of(schema) if name in known]
        names = [*needed, *(name for name in known if name not in needed)]
        return [
            Candidate(_opened(name, known[name], schema, incomplete), described(name, schema))
            for name in names
            if name not in taken and name
        ]
    if key.endswith(":") and key not in known:
        name = key[:-1]
        return [Candidate(f"{name}:={text}") for text in _json_values(known.get(name), schema)]
    if value.startswith("@"):
        return [Candidate(f"{key}=@{path}") for path, _ in file_names(value[1:])]
    # Imported late: most words are completed without it.

    listed = value_words(key, schema)
    return [*listed, *(Candidate(f"{key}={path}") for path in path_values(key, known.get(key), schema, value, folder))]


def value_words(key: str, schema: Any) -> list[Candidate]:
    """The values that the schema lists for a parameter, as words."""
    return [Candidate(f"{key}={text}", note) for text, note in _values(properties_of(schema).get(key), schema)]


def described(name: str, schema: Any) -> str:
    """A parameter's type, whether it is required, its default and its description, on one line."""
    known = properties_of(schema)[name]
    parts = [type_in_words(known, schema, limits=True, members=True)]
    if name in needed_of(schema):
        parts.append("required")
    if (default := default_of(known, schema)) is not None:
        parts.append(f"default {json.dumps(default, ensure_ascii=False)}")
    text = description_of(known, schema)
    return ", ".join(parts) + (f": {text.strip().partition(chr(10))[0]}" if text else "")


def needs_json(described: Any, schema: Any) -> bool:
    """Whether a parameter takes only objects, or lists of objects, which are written as JSON."""
    kinds = {kind for part in parts_of(described, schema) for kind in types_of(part)} - {"null"}
    if kinds == {"array"}:
        items = [part["items"] for part in parts_of(described, schema) if "items" in part]
        kinds = {kind for item in items for part in parts_of(item, schema) for kind in types_of(part)}
    return bool(kinds) and kinds <= {"object", "array"}


def _opened(name: str, described: Any, schema: Any, incomplete: str) -> str:
    # After `:=` the value is JSON.
    return f"{name}:=" if incomplete == f"{name}:" or needs_json(described, schema) else f"{name}="


def _values(described: Any, schema: Any) -> Iterator[tuple[str, str]]:
    """Values to type after `=`: only those that are converted to the intended JSON value."""
    default = default_of(described, schema)
    for choice in _choices(described, schema):
        text = choice if isinstance(choice, str) else json.dumps(choice, ensure_ascii=False)
        typed = typed_value(text, described, schema)
        if text.startswith("@") or len(text) > MAX_VALUE_CHARS:
            continue
        if is_same(typed, choice) or is_same(typed, [choice]):
            yield text, "default" if is_same(choice, default) else ""


def _json_values(described: Any, schema: Any) -> Iterator[str]:
    for choice in _choices(described, schema):
        text = json.dumps(choice, ensure_ascii=False)
        if len(text) <= MAX_VALUE_CHARS:
            yield text


def _choices(described: Any, schema: Any) -> Iterator[Any]:
    """The values of a parameter that can be enumerated, and its default."""
    parts = parts_of(described, schema)
    for item in [part["items"] for part in parts if "items" in part]:
        parts += parts_of(item, schema)
    for part in parts:
        if choices := choices_of(part):
            yield from choices
        else:
            kinds = types_of(part)
            yield from (True, False) if "boolean" in kinds else ()
            yield from (None,) if "null" in kinds else ()
    if (default := default_of(described, schema)) is not None:
        yield default


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

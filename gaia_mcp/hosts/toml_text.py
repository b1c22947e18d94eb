"""TOML: read, and changed in one table, every other character kept.

A table that is written as `[root.NAME]` with its lines below can be replaced; one that is written within another, as
`NAME = {…}`, is refused.

The library tomlkit edits TOML in place, but it cannot keep every character: with a table that is replaced it drops the
comments above the next one, it puts a new table between such a comment and its table, and it moves the tables of an
array together.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from gaia_mcp.hosts.problems import TextProblemError

_HEADER = re.compile(r"^[ \t]*\[.*\][ \t]*(?:#.*)?\r?$", re.MULTILINE)
_POSITION = re.compile(r"\s*\((?:at line (\d+), column (\d+)|at end of document)\)$")


def parse(text: str) -> dict[str, Any]:
    """The document. Raises `TextProblemError`."""
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as cause:
        where = _POSITION.search(str(cause))
        problem = f"not TOML: {_POSITION.sub('', str(cause)).lower()}"
        if where is None or where[1] is None:
            raise TextProblemError(problem, at=len(text)) from cause
        raise TextProblemError(problem, line=int(where[1]), column=int(where[2])) from cause
    except RecursionError as cause:
        raise TextProblemError("is nested too deeply") from cause


def with_table(text: str, path: tuple[str, ...], value: dict[str, Any]) -> str:
    """`text` with the table `value` at `path`, in place of what is there, else behind everything. The caller checks
    the result by reading it again.
    """
    import tomli_w

    newline = "\r\n" if "\r\n" in text else "\n"
    for key in reversed(path):
        value = {key: value}
    lines = tomli_w.dumps(value).rstrip("\n").replace("\n", newline)
    spans = _merged(text, list(_spans(text, path)))
    if not spans:
        gap = "" if not text.strip() else newline if text.endswith("\n") else newline * 2
        return f"{text}{gap}{lines}{newline}"
    # Parts of an entry may stand apart, with tables of others between them: the new ones go to the first.
    for start, end in reversed(spans[1:]):
        text = text[:start] + text[end:]
    start, end = spans[0]
    return text[:start] + lines + (newline if text[start:end].endswith("\n") else "") + text[end:]


def _spans(text: str, path: tuple[str, ...]) -> Iterator[tuple[int, int]]:
    """Where the tables at and below `path` stand, each from its header to its last line."""
    headers = [*_headers(text), (len(text), ())]
    for (start, keys), (following, _) in pairwise(headers):
        if keys[: len(path)] == path:
            yield start, _last_line_end(text, start, following)


def _last_line_end(text: str, start: int, end: int) -> int:
    """Where the content of a table ends: blank lines and comments above the next table belong to that one."""
    while end > start:
        line = max(start, text.rfind("\n", start, end - 1) + 1)
        if (words := text[line:end].strip()) and not words.startswith("#"):
            break
        end = line
    return end


def _headers(text: str) -> Iterator[tuple[int, tuple[str, ...]]]:
    begun = 0
    for match in _HEADER.finditer(text):
        try:
            # Between two headers stands a document of its own, unless the second is only text in a string or a list.
            tomllib.loads(text[begun : match.start()])
            table: Any = tomllib.loads(match.group().strip())
        except (tomllib.TOMLDecodeError, RecursionError):
            continue
        begun = match.start()
        keys: list[str] = []
        while table:
            if isinstance(table, list):
                table = table[0]
                continue
            key, table = next(iter(table.items()))
            keys.append(key)
        yield begun, tuple(keys)


def _merged(text: str, spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    merged: list[tuple[int, int]] = []
    for start, end in spans:
        if merged and not text[merged[-1][1] : start].strip():
            merged[-1] = (merged[-1][0], end)
        else:
            merged.append((start, end))
    return merged

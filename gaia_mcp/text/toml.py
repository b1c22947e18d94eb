"""TOML: reads it, and changes one table; keeps every other character.

A table written as `[root.NAME]` with its lines below can be replaced; an inline table, `NAME = {…}`, is refused.

The library tomlkit edits TOML in place, but does not keep every character: when a table is replaced, it drops the
comments above the next one; it inserts a new table between such a comment and its table; and it moves the tables of an
array together.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from typing import Any, NamedTuple

from gaia_mcp.text.strict_json import TextProblemError

# A token: a string (a multi-line one may end in additional quotes), a comment, blanks, a line ending, a bracket, or
# other text. Every character begins one of them, so that a text is scanned in one pass.
_TOKEN = re.compile(
    r'''(?P<content>"""(?:[^"\\]|\\.|"(?!""))*"{3,5}|\'{3}(?:[^\']|\'(?!\'\'))*\'{3,5}'''
    r"""|"(?:[^"\\\n]|\\.)*"|\'[^\'\n]*\'|[^\s"\'#\[\]]+)"""
    r"|(?P<bracket>[\[\]])|(?P<end>\n)|#[^\n]*|[^\S\n]+|.",
    re.DOTALL,
)
_POSITION = re.compile(r"(?<!\s)\s*\((?:at line (\d+), column (\d+)|at end of document)\)$")


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
    except ValueError as cause:  # A number with more digits than Python reads.
        raise TextProblemError(f"not TOML: {cause}") from cause


def with_table(text: str, path: tuple[str, ...], value: dict[str, Any]) -> str:
    """`text` with the table `value` at `path`, replacing the existing one, or at the end. The caller checks the
    result by reading it back.
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
    # The tables of an entry may be separated by other tables: the new ones replace the first.
    for start, end in reversed(spans[1:]):
        text = text[:start] + text[end:]
    start, end = spans[0]
    return text[:start] + lines + (newline if text[start:end].endswith("\n") else "") + text[end:]


class _Table(NamedTuple):
    """A table in the text: its header, the keys of the header, and the end of its last line that is not a comment."""

    start: int
    keys: tuple[str, ...]
    end: int


def _spans(text: str, path: tuple[str, ...]) -> Iterator[tuple[int, int]]:
    """The positions of the tables at and below `path`, each from its header to its last line. Blank lines and comments
    above the next table belong to that one.
    """
    for start, keys, end in _tables(text):
        if keys[: len(path)] == path:
            yield start, end


def _tables(text: str) -> Iterator[_Table]:
    depth = line = content = 0
    header: tuple[int, int] | None = None  # Its start, and the end of its last bracket.
    is_bare = True  # Only blanks precede on this line.
    for token in _TOKEN.finditer(text):
        if token["end"] is not None:
            line, is_bare = (token.end(), True) if depth == 0 else (line, is_bare)
            continue
        if token["bracket"] is not None:
            if token[0] == "[" and depth == 0 and is_bare:
                if header is not None:
                    yield _table(text, header, content)
                header = (line, -1)
            depth += 1 if token[0] == "[" else -1
            if header is not None and header[1] < 0 and depth == 0:
                header = (header[0], token.end())
        elif token["content"] is None:
            continue
        is_bare = False
        content = token.end()
    if header is not None:
        yield _table(text, header, content)


def _table(text: str, header: tuple[int, int], content: int) -> _Table:
    table: Any = tomllib.loads(text[slice(*header)].strip())
    keys: list[str] = []
    while table:
        if isinstance(table, list):
            table = table[0]
            continue
        key, table = next(iter(table.items()))
        keys.append(key)
    end = text.find("\n", content)
    return _Table(header[0], tuple(keys), len(text) if end < 0 else end + 1)


def _merged(text: str, spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    merged: list[tuple[int, int]] = []
    for start, end in spans:
        if merged and not text[merged[-1][1] : start].strip():
            merged[-1] = (merged[-1][0], end)
        else:
            merged.append((start, end))
    return merged

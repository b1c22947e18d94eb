"""Formats a new value as lines of block-style YAML; a list in a list is written as JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from datetime import date
from typing import Any

# Texts that every YAML parser reads as the same string without quotes.
_PLAIN = re.compile(r"[A-Za-z_/@.][\w./@+-]*(?: [A-Za-z][\w./@+-]*)*", re.ASCII)
_NOT_PLAIN = re.compile(r"(?:y|n|yes|no|on|off|true|false|null|\.nan|\.inf|@.*|\.+|[.\d_]+(?:e\d*)?)", re.IGNORECASE)


def mapping_lines(value: dict[str, Any], indent: str) -> Iterator[str]:
    """The lines of a mapping in block style, without line endings."""
    for key, held in value.items():
        if isinstance(held, dict) and held:
            yield f"{indent}{on_one_line(key)}:"
            yield from mapping_lines(held, indent + "  ")
        elif isinstance(held, list) and held:
            yield f"{indent}{on_one_line(key)}:"
            yield from list_lines(held, indent + "  ")
        else:
            yield f"{indent}{on_one_line(key)}: {on_one_line(held)}"


def list_lines(value: list[Any], indent: str) -> Iterator[str]:
    """The lines of a list in block style, without line endings."""
    for held in value:
        if isinstance(held, dict) and held:
            yield from item_lines(held, indent)
        else:
            yield f"{indent}- {on_one_line(held)}"


def lines_of(value: dict[str, Any] | list[Any], indent: str) -> Iterator[str]:
    """The lines of a mapping or a list in block style, without line endings."""
    return mapping_lines(value, indent) if isinstance(value, dict) else list_lines(value, indent)


def item_lines(value: dict[str, Any], indent: str) -> Iterator[str]:
    """The lines of a mapping as an item of a list in block style, without line endings."""
    for number, line in enumerate(mapping_lines(value, "")):
        yield f"{indent}{'  ' if number else '- '}{line}"


def on_one_line(value: Any) -> str:
    """Any value on one line: unquoted if every parser reads it as that string, else as JSON."""
    if isinstance(value, str) and _PLAIN.fullmatch(value) and not _NOT_PLAIN.fullmatch(value):
        return value
    if isinstance(value, date):
        return value.isoformat()
    # JSON is valid YAML, and escapes are always correct. A value that JSON lacks becomes text; the caller detects it.
    return "".join(
        character if character.isprintable() else _escaped(character)
        for character in json.dumps(value, ensure_ascii=False, default=str)
    )


def _escaped(character: str) -> str:
    code = ord(character)
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"

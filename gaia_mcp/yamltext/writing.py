"""The lines of a new value in YAML, in block form; a list in a list is written as JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from datetime import date
from typing import Any

# What every reader of every version of YAML takes for the same text without quotes.
_PLAIN = re.compile(r"[A-Za-z_/@.][\w./@+-]*(?: [A-Za-z][\w./@+-]*)*", re.ASCII)
_NOT_PLAIN = re.compile(r"(?:y|n|yes|no|on|off|true|false|null|\.nan|\.inf|@.*|\.+|[.\d_]+(?:e\d*)?)", re.IGNORECASE)


def mapping_lines(value: dict[str, Any], indent: str) -> Iterator[str]:
    """The lines of a mapping in block form, without their ends."""
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
    """The lines of a list in block form, without their ends."""
    for held in value:
        if isinstance(held, dict) and held:
            yield from item_lines(held, indent)
        else:
            yield f"{indent}- {on_one_line(held)}"


def lines_of(value: dict[str, Any] | list[Any], indent: str) -> Iterator[str]:
    """The lines of a mapping or a list in block form, without their ends."""
    return mapping_lines(value, indent) if isinstance(value, dict) else list_lines(value, indent)


def item_lines(value: dict[str, Any], indent: str) -> Iterator[str]:
    """The lines of a mapping as an item of a list in block form, without their ends."""
    for number, line in enumerate(mapping_lines(value, "")):
        yield f"{indent}{'  ' if number else '- '}{line}"


def on_one_line(value: Any) -> str:
    """Any value on one line: as plain text where every reader takes it for that, else as JSON."""
    if isinstance(value, str) and _PLAIN.fullmatch(value) and not _NOT_PLAIN.fullmatch(value):
        return value
    if isinstance(value, date):
        return value.isoformat()
    # JSON is YAML too, and an escape never wrong. What JSON has no word for becomes text, which the caller notices.
    return "".join(
        character if character.isprintable() else _escaped(character)
        for character in json.dumps(value, ensure_ascii=False, default=str)
    )


def _escaped(character: str) -> str:
    code = ord(character)
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"

"""Arguments that a host has sent as text: `"5"` for 5, `"[1, 2]"` for a list. Models write them so.

A text is replaced only where the schema allows none, and only by the JSON value that it is. Pure.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gaia_mcp.jsontext import JSONTextError, parse_json
from gaia_mcp.toolspec.schema import BRANCHES, choices_of, parts_of, types_of

# The maximum number of values that are looked at. Larger arguments come from programs, which send what they mean.
MAX_VALUES = 10_000

_KINDS = {
    bool: ("boolean",), int: ("integer", "number"), float: ("number",), list: ("array",), dict: ("object",),
    type(None): ("null",),
}  # fmt: skip


def without_texts(arguments: dict[str, Any], schema: Any) -> dict[str, Any]:
    """The arguments with the JSON value of each text for which the schema allows no text; `arguments` itself if there
    is none. The result may still be invalid.
    """
    found = _Reader(schema).read(arguments, schema)
    return found if isinstance(found, dict) else arguments


class _Reader:
    def __init__(self, root: Any) -> None:
        self._root = root
        self._left = iter(range(MAX_VALUES))

    def read(self, value: Any, schema: Any) -> Any:
        """The value as the schema allows it, `value` itself if nothing is replaced."""
        return self._read(value, parts_of(schema, self._root, BRANCHES))

    def _read(self, value: Any, parts: list[dict[str, Any]]) -> Any:
        if next(self._left, None) is None:
            return value
        if isinstance(value, str):
            meant = _meant(value, parts)
            return value if isinstance(meant, str) else self._read(meant, parts)
        if isinstance(value, list):
            items = next((part["items"] for part in parts if isinstance(part.get("items"), dict)), None)
            inner = parts_of(items, self._root, BRANCHES)
            read = value if items is None else [self._read(each, inner) for each in value]
            return read if any(one is not other for one, other in zip(read, value, strict=True)) else value
        if isinstance(value, dict):
            changed = dict(self._changed_members(value, parts))
            return {**value, **changed} if changed else value
        return value

    def _changed_members(self, value: dict[str, Any], parts: list[dict[str, Any]]) -> Iterator[tuple[str, Any]]:
        for key, member in value.items():
            schemas = [own[key] for part in parts if isinstance(own := part.get("properties"), dict) and key in own]
            if schemas and (read := self.read(member, {"allOf": schemas})) is not member:
                yield key, read


def _meant(text: str, parts: list[dict[str, Any]]) -> Any:
    """The JSON value that `text` is, if the schema with these parts allows its type and no text; else `text`."""
    kinds = {kind for part in parts for kind in types_of(part)}
    kinds |= {kind for part in parts for choice in choices_of(part) for kind in _KINDS.get(type(choice), ("string",))}
    if not kinds or "string" in kinds:
        return text
    try:
        # Python's words for them, which programs in it write.
        value = (
            {"True": True, "False": False}[text] if text in ("True", "False") else parse_json(text, unique_keys=True)
        )
    except JSONTextError:
        return text
    return value if kinds.intersection(_KINDS.get(type(value), ())) else text

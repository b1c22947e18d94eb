"""Adds the defaults of required members in a JSON Schema to a value that lacks them.

The schema of a parser's output requires each member that has a default, since the parser adds it. Some generators
publish that schema for the parser's input.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gaia_mcp.jsontext import is_same
from gaia_mcp.toolspec.schema import MAX_STEPS, NO_DEFAULT, choices_of, default_of, resolved, types_of

# Values are a few levels deep, and have few members; a recursive default has no limit.
MAX_DEPTH, MAX_ADDED = 20, 1000


def with_defaults(value: Any, schema: Any) -> Any:
    """`value` with the default of each member that is missing, is required, and has one, at every level of it."""
    return _Filling(schema).filled(value, schema, MAX_DEPTH)


class _Filling:
    def __init__(self, root: Any) -> None:
        self._root = root
        self._additions = iter(range(MAX_ADDED))

    def filled(self, value: Any, schema: Any, depth: int) -> Any:
        if depth == 0 or not isinstance(value, (dict, list)):
            return value
        parts = self._applied(value, schema, iter(range(MAX_STEPS)))
        if isinstance(value, list):
            items = next((part["items"] for part in parts if "items" in part), None)
            return value if items is None else [self.filled(item, items, depth - 1) for item in value]
        known: dict[str, Any] = {}
        whole = dict(value)
        for part in parts:
            known.update(_members(part))
        for name in (name for part in parts for name in _required(part) if name not in whole):
            default = default_of(known.get(name), self._root, NO_DEFAULT)
            if default is not NO_DEFAULT and next(self._additions, None) is not None:
                whole[name] = default
        return {name: self.filled(member, known.get(name), depth - 1) for name, member in whole.items()}

    def _applied(self, value: Any, schema: Any, steps: Iterator[int]) -> list[dict[str, Any]]:
        """The parts of `schema` that apply to `value`; of a union, the first one that may describe it."""
        part = resolved(schema, self._root, steps)
        found = [part]
        for inner in _list(part, "allOf"):
            found += self._applied(value, inner, steps)
        for union in ("anyOf", "oneOf"):
            branches = (self._applied(value, branch, steps) for branch in _list(part, union))
            found += next((branch for branch in branches if self._can_be(value, branch)), [])
        return found

    def _can_be(self, value: Any, parts: list[dict[str, Any]]) -> bool:
        kind = "array" if isinstance(value, list) else "object"
        if any(kind not in (types_of(part) or [kind]) for part in parts):
            return False
        if kind == "array":
            return True
        known = {name: member for part in parts for name, member in _members(part).items()}
        for name in (name for name in known if name in value):
            choices = choices_of(resolved(known[name], self._root))
            if choices and not any(is_same(value[name], choice) for choice in choices):
                return False
        required = (name for part in parts for name in _required(part) if name not in value)
        return all(default_of(known.get(name), self._root, NO_DEFAULT) is not NO_DEFAULT for name in required)


def _members(part: dict[str, Any]) -> dict[str, Any]:
    members = part.get("properties")
    return members if isinstance(members, dict) else {}


def _required(part: dict[str, Any]) -> list[str]:
    return [name for name in _list(part, "required") if isinstance(name, str)]


def _list(part: dict[str, Any], keyword: str) -> list[Any]:
    found = part.get(keyword)
    return found if isinstance(found, list) else []

"""Converts the arguments typed in a shell to the types of a tool's schema.

A text is converted to the parameter's type, and stays a string if the schema has none. Types are not guessed: text
that looks like a number becomes a number only for a numeric parameter.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from gaia_mcp.jsontext import JSONTextError, RepeatedKeyError, is_same, parse_json
from gaia_mcp.toolspec.assignments import ArgumentSyntaxError, Assignment, key_twice, number_in, read_json
from gaia_mcp.toolspec.schema import choices_of, parts_of, properties_for, resolved, types_of

_TRUE = frozenset({"true", "yes", "on", "1"})
_FALSE = frozenset({"false", "no", "off", "0"})
# The order of preference if a schema allows several types: text first, and a number before a boolean for "1".
_PREFERENCE = ("string", "integer", "number", "boolean", "null", "array", "object")

# The maximum depth of nested lists into which a single value is wrapped; a recursive schema has no limit.
MAX_NESTED_LISTS = 8


def typed_arguments(
    assignments: Sequence[Assignment],
    schema: Any,
    read_file: Callable[[str], str],
    base: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """The arguments of a call: `base`, overridden by each assignment, in the type that `schema` gives its key.

    A repeated key becomes a list if the schema has one. `read_file` is called with the FILE of `key=@FILE`.
    Raises `ArgumentSyntaxError`.
    """
    known = properties_for(schema, {key: value for key, value, _ in assignments})
    extra = resolved(schema, schema).get("additionalProperties")
    arguments = dict(base or {})
    given: set[str] = set()
    for key, value, raw in assignments:
        wanted = known.get(key, extra if isinstance(extra, dict) else {})
        text = read_file(value[1:]) if value.startswith("@") and len(value) > 1 else value
        try:
            typed: Any = read_json(text, key) if raw else typed_value(text, wanted, schema)
        except RepeatedKeyError as error:
            raise key_twice(key, error) from None
        if key in given and _is_list(wanted, schema):
            before = arguments[key] if isinstance(arguments[key], list) else [arguments[key]]
            typed = [*before, *(typed if isinstance(typed, list) else [typed])]
        elif key in given:
            raise ArgumentSyntaxError(f"{key!r} is given twice")
        given.add(key)
        arguments[key] = typed
    return arguments


def typed_value(text: str, schema: Any, root: Any) -> Any:
    """`text` converted to the type of the schema; unchanged if that is impossible, so that validation reports it.

    Raises `RepeatedKeyError` for JSON with an object that repeats a key.
    """
    return _typed(text, schema, root, MAX_NESTED_LISTS)


_NOT = object()


def _typed(text: str, schema: Any, root: Any, depth: int) -> Any:
    parts = parts_of(schema, root)
    choices = [choice for part in parts for choice in choices_of(part)]
    if text in choices:
        return text
    is_free_text = any("string" in _types(part) for part in parts if not choices_of(part))
    if choices and not is_free_text and (chosen := _chosen(choices, text)) is not _NOT:
        return chosen
    kinds = _types(parts[0]) or [kind for part in parts for kind in _types(part)]
    for kind in _PREFERENCE:
        if kind in kinds:
            typed = _as_kind(text, kind, parts, root, depth)
            if typed is not _NOT:
                return typed
    return text


def _as_kind(text: str, kind: str, parts: list[dict[str, Any]], root: Any, depth: int) -> Any:
    if kind == "string":
        return text
    stripped = text.strip()
    if kind in ("integer", "number"):
        number = number_in(text)
        return _NOT if number is None or (kind == "integer" and isinstance(number, float)) else number
    if kind == "boolean":
        folded = stripped.lower()
        return True if folded in _TRUE else False if folded in _FALSE else _NOT
    if kind == "null":
        return None if stripped == "null" else _NOT
    opening = "[" if kind == "array" else "{"
    if stripped.startswith(opening):
        try:
            return parse_json(stripped, unique_keys=True)
        except RepeatedKeyError:
            raise
        except JSONTextError:
            return _NOT
    if kind == "object" or depth == 0:
        return _NOT
    items = next((part["items"] for part in parts if "items" in part), None)
    return [_typed(text, items, root, depth - 1)]


def _types(part: dict[str, Any]) -> list[str]:
    return types_of(part) or (["object"] if "properties" in part else [])


def _chosen(choices: list[Any], text: str) -> Any:
    try:
        value = parse_json(text, unique_keys=True)
    except JSONTextError:
        return _NOT
    return next((choice for choice in choices if is_same(choice, value)), _NOT)


def _is_list(schema: Any, root: Any) -> bool:
    return any("array" in _types(part) for part in parts_of(schema, root))

"""A call's arguments as they are typed in a shell: `key=value`, `key:=JSON`, `key=@FILE`.

A value becomes what the tool's schema says it is, and stays text where the schema does not say. Nothing is guessed:
text that looks like a number is a number only for a parameter that is one.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, NamedTuple

from gaia_mcp.schema import properties_of, resolved

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_ASSIGNMENT = re.compile(r"^(?P<key>[^=]+?)(?P<mode>:=|=)(?P<value>.*)$", re.DOTALL)
_INTEGER = re.compile(r"^[+-]?\d{1,300}$")
_NUMBER = re.compile(r"^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$")
_TRUE = frozenset({"true", "yes", "on", "1"})
_FALSE = frozenset({"false", "no", "off", "0"})
# Text wins over everything else that it could be; a number wins over a boolean for "1".
_PREFERENCE = ("string", "integer", "number", "boolean", "null", "array", "object")


class Assignment(NamedTuple):
    """One argument as typed: `raw` for `:=`, whose value is JSON."""

    key: str
    value: str
    raw: bool


class ArgumentSyntaxError(ValueError):
    """Something that is no `key=value`, or JSON that is none."""


def read_assignment(text: str) -> Assignment:
    """`key=value` or `key:=JSON` taken apart. Raises `ArgumentSyntaxError`."""
    match = _ASSIGNMENT.match(text)
    if match is None:
        raise ArgumentSyntaxError(f"{text!r} is not key=value")
    return Assignment(match["key"], match["value"], match["mode"] == ":=")


def read_object(text: str, where: str) -> dict[str, Any]:
    """The JSON object in `text`, which came from `where`. Raises `ArgumentSyntaxError`."""
    value = _read_json(text, where)
    if not isinstance(value, dict):
        raise ArgumentSyntaxError(f"{where} holds {_kind_of(value)}, not a JSON object")
    return value


def typed_arguments(
    assignments: Sequence[Assignment],
    schema: Any,
    read_file: Callable[[str], str],
    base: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """The arguments of a call: `base`, and each assignment in the type that `schema` gives its key, over it.

    A key that is given again becomes a list where the schema has one. `read_file` is given the FILE of `key=@FILE`.
    Raises `ArgumentSyntaxError`.
    """
    known = properties_of(schema)
    extra = resolved(schema, schema).get("additionalProperties")
    arguments = dict(base or {})
    given: set[str] = set()
    for key, value, raw in assignments:
        wanted = known.get(key, extra if isinstance(extra, dict) else {})
        text = read_file(value[1:]) if value.startswith("@") and len(value) > 1 else value
        typed: Any = _read_json(text, key) if raw else typed_value(text, wanted, schema)
        if key in given and _is_list(wanted, schema):
            before = arguments[key] if isinstance(arguments[key], list) else [arguments[key]]
            typed = [*before, *(typed if isinstance(typed, list) else [typed])]
        elif key in given:
            raise ArgumentSyntaxError(f"{key!r} is given twice")
        given.add(key)
        arguments[key] = typed
    return arguments


def typed_value(text: str, schema: Any, root: Any) -> Any:
    """`text` as the schema wants it; unchanged where it cannot be that, so that the check can say so."""
    schema = resolved(schema, root)
    choices = [schema["const"]] if "const" in schema else schema.get("enum")
    if isinstance(choices, list):
        return next((choice for choice in choices if _reads_as(choice, text)), text)
    for kind in _PREFERENCE:
        if kind in (kinds := _kinds(schema, root)):
            typed = _as_kind(text, kind, schema, root)
            if typed is not _NOT or kinds == [kind]:
                return text if typed is _NOT else typed
    return text


_NOT = object()


def _as_kind(text: str, kind: str, schema: dict[str, Any], root: Any) -> Any:
    if kind == "string":
        return text
    stripped = text.strip()
    if kind == "integer":
        return int(stripped) if _INTEGER.match(stripped) else _NOT
    if kind == "number":
        return _as_number(stripped)
    if kind == "boolean":
        folded = stripped.casefold()
        return True if folded in _TRUE else False if folded in _FALSE else _NOT
    if kind == "null":
        return None if stripped == "null" else _NOT
    opening = "[" if kind == "array" else "{"
    if stripped.startswith(opening):
        try:
            return json.loads(stripped)
        except (ValueError, RecursionError):
            return _NOT
    return [typed_value(text, schema.get("items"), root)] if kind == "array" else _NOT


def _as_number(text: str) -> Any:
    if _INTEGER.match(text):
        return int(text)
    return float(text) if _NUMBER.match(text) else _NOT


def _kinds(schema: dict[str, Any], root: Any) -> list[str]:
    """The JSON types that a schema allows, as far as it says."""
    kinds = schema.get("type")
    if isinstance(kinds, str):
        return [kinds]
    if isinstance(kinds, list):
        return [kind for kind in kinds if isinstance(kind, str)]
    for union in ("anyOf", "oneOf", "allOf"):
        if isinstance(parts := schema.get(union), list):
            found = [kind for part in parts for kind in _kinds(resolved(part, root), root)]
            # Choices without a type among them are text or whatever their JSON is; text covers most.
            return found or (["string"] if any("enum" in resolved(part, root) for part in parts) else [])
    return ["object"] if "properties" in schema else []


def _is_list(schema: Any, root: Any) -> bool:
    return "array" in _kinds(resolved(schema, root), root)


def _reads_as(choice: Any, text: str) -> bool:
    return choice == text if isinstance(choice, str) else json.dumps(choice) == text.strip()


def _read_json(text: str, where: str) -> Any:
    try:
        return json.loads(text)
    except RecursionError:
        raise ArgumentSyntaxError(f"{where}: JSON nested too deeply") from None
    except json.JSONDecodeError as error:
        raise ArgumentSyntaxError(f"{where}: not JSON: {error.msg} at column {error.colno}") from None


def _kind_of(value: Any) -> str:
    if value is None:
        return "null"
    names = {bool: "a boolean", int: "a number", float: "a number", str: "a string", list: "a list"}
    return names.get(type(value), "an object")

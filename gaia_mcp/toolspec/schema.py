"""Reading a JSON Schema: the properties, types, choices and default of a value. `in_words` describes it as text.

Reads every schema as far as possible, even an invalid one. `validation` checks values against it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

# The maximum length of a chain of references; a schema may refer to itself.
MAX_REFERENCES = 32
# The maximum number of a union's parts, which may contain the union, and of steps including references: many properties
# may refer to the same union.
MAX_PARTS, MAX_STEPS = 100, 200
# The keywords whose schemas apply to the same value.
UNIONS = ("anyOf", "oneOf", "allOf")
# Marks a missing default, because null is a valid one.
NO_DEFAULT = object()


def properties_of(schema: Any) -> dict[str, Any]:
    """The properties of an object schema, in its order, with those of its `allOf` and local references."""
    found: dict[str, Any] = {}
    for part in parts_of(schema, schema, ("allOf",)):
        if isinstance(own := part.get("properties"), dict):
            found.update(own)
    return found


def required_of(schema: Any) -> list[str]:
    """The names of the required properties, with those of its `allOf` and local references."""
    found: dict[str, None] = {}
    for part in parts_of(schema, schema, ("allOf",)):
        if isinstance(required := part.get("required"), list):
            found.update((name, None) for name in required if isinstance(name, str))
    return list(found)


def needed_of(schema: Any) -> list[str]:
    """The names of the properties that a value must have: those required without a default."""
    return _without_default(required_of(schema), properties_of(schema), schema)


def needed_members(part: dict[str, Any], root: Any) -> list[str]:
    """As `needed_of`, for one part of the schema `root`."""
    known, required = part.get("properties"), part.get("required")
    names = [name for name in required if isinstance(name, str)] if isinstance(required, list) else []
    return _without_default(names, known if isinstance(known, dict) else {}, root)


def _without_default(names: list[str], known: dict[str, Any], root: Any) -> list[str]:
    return [name for name in names if default_of(known.get(name), root, NO_DEFAULT) is NO_DEFAULT]


def types_of(part: dict[str, Any]) -> list[str]:
    """The JSON types in one part of a schema."""
    types = part.get("type")
    return [kind for kind in (types if isinstance(types, list) else [types]) if isinstance(kind, str)]


def choices_of(part: dict[str, Any]) -> list[Any]:
    """The values that one part of a schema allows by `const` or `enum`; empty without these keywords."""
    choices = [part["const"]] if "const" in part else part.get("enum")
    return choices if isinstance(choices, list) else []


def titled_choices_of(part: dict[str, Any]) -> list[tuple[Any, Any]]:
    """The titles of one part's choices: from `oneOf`, from the `anyOf` of its items, or from `enumNames`, as in older
    revisions of MCP.
    """
    items = part.get("items")
    titled = part.get("oneOf") or (items.get("anyOf") if isinstance(items, dict) else None)
    if isinstance(titled, list):
        return [(choice.get("const"), choice.get("title", "")) for choice in titled if isinstance(choice, dict)]
    names, values = part.get("enumNames"), part.get("enum")
    return list(zip(values, names, strict=False)) if isinstance(names, list) and isinstance(values, list) else []


def default_of(schema: Any, root: Any, missing: Any = None) -> Any:
    """The default, `missing` without one: of `schema`, else of the first part of it that has one."""
    return next((part["default"] for part in parts_of(schema, root) if "default" in part), missing)


def description_of(schema: Any, root: Any) -> str:
    """The description, empty without one: of `schema`, else of the first part of it that has one."""
    found = (part.get("description") for part in parts_of(schema, root))
    return next((text for text in found if isinstance(text, str)), "")


def parts_of(schema: Any, root: Any, unions: tuple[str, ...] = UNIONS) -> list[dict[str, Any]]:
    """`schema` and its subschemas in the keywords `unions`, in order of appearance, with references resolved."""
    found: list[dict[str, Any]] = []
    waiting = [schema]
    steps = iter(range(MAX_STEPS))
    while waiting and len(found) < MAX_PARTS:
        part = resolved(waiting.pop(0), root, steps)
        found.append(part)
        inner = [inner for union in unions if isinstance(part.get(union), list) for inner in part[union]]
        waiting[:0] = inner[:MAX_PARTS]
    return found


def resolved(schema: Any, root: Any, steps: Iterator[int] | None = None) -> dict[str, Any]:
    """`schema` with its local `$ref` resolved; an empty schema for a value that is not an object. `steps` limits the
    number of schemas that are visited, over several calls.
    """
    steps = iter(range(MAX_STEPS)) if steps is None else steps
    for _ in range(MAX_REFERENCES):
        if not isinstance(schema, dict) or next(steps, None) is None:
            return {}
        reference = schema.get("$ref")
        if not isinstance(reference, str):
            return schema
        target = pointed(root, reference)
        if not isinstance(target, dict):
            return {key: value for key, value in schema.items() if key != "$ref"}
        schema = {**target, **{key: value for key, value in schema.items() if key != "$ref"}}
    return {}


def pointed(root: Any, reference: str) -> Any:
    """The target of a local reference such as `#/$defs/Point`, None if it does not exist."""
    if reference != "#" and not reference.startswith("#/"):
        return None
    if "%" in reference:
        from urllib.parse import unquote

        reference = unquote(reference)
    target = root
    for part in reference.split("/")[1:]:
        key = part.replace("~1", "/").replace("~0", "~")
        if isinstance(target, dict) and key in target:
            target = target[key]
        elif isinstance(target, list) and key.isascii() and key.isdecimal() and int(key) < len(target):
            target = target[int(key)]
        else:
            return None
    return target

"""What a JSON Schema says of a value: its properties, types, choices and default, also in a few words.

Reads every schema as far as it can, also an invalid one. Whether a value fits is for `validation` to say.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

# References that lead to references are followed this deep; a schema may refer to itself.
MAX_REFERENCES = 32
# So many parts of a union are read; it may contain itself. Together with the references that lead to them they are so
# many steps: each of many properties may refer to the same union.
MAX_PARTS, MAX_STEPS = 100, 200
# The keywords whose schemas apply to the same value.
UNIONS = ("anyOf", "oneOf", "allOf")


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


def types_of(part: dict[str, Any]) -> list[str]:
    """The JSON types that one part of a schema names."""
    types = part.get("type")
    return [kind for kind in (types if isinstance(types, list) else [types]) if isinstance(kind, str)]


def choices_of(part: dict[str, Any]) -> list[Any]:
    """The only values that one part of a schema allows, by `const` or `enum`; none where it does not list them."""
    choices = [part["const"]] if "const" in part else part.get("enum")
    return choices if isinstance(choices, list) else []


def titled_choices_of(part: dict[str, Any]) -> list[tuple[Any, Any]]:
    """The choices of one part of a schema that have titles, with these: by `oneOf`, by the `anyOf` of its items, or by
    `enumNames`, as in older revisions of MCP.
    """
    items = part.get("items")
    titled = part.get("oneOf") or (items.get("anyOf") if isinstance(items, dict) else None)
    if isinstance(titled, list):
        return [(choice.get("const"), choice.get("title", "")) for choice in titled if isinstance(choice, dict)]
    names, values = part.get("enumNames"), part.get("enum")
    return list(zip(values, names, strict=False)) if isinstance(names, list) and isinstance(values, list) else []


def default_of(schema: Any, root: Any) -> Any:
    """The default, None without one: of `schema`, else of the first part of it that has one."""
    return next((part["default"] for part in parts_of(schema, root) if "default" in part), None)


def description_of(schema: Any, root: Any) -> str:
    """The description, empty without one: of `schema`, else of the first part of it that has one."""
    found = (part.get("description") for part in parts_of(schema, root))
    return next((text for text in found if isinstance(text, str)), "")


def parts_of(schema: Any, root: Any, unions: tuple[str, ...] = UNIONS) -> list[dict[str, Any]]:
    """`schema` and what it consists of by the keywords `unions`, in the order in which it is written, all resolved."""
    found: list[dict[str, Any]] = []
    waiting = [schema]
    steps = iter(range(MAX_STEPS))
    while waiting and len(found) < MAX_PARTS:
        part = _resolved(waiting.pop(0), root, steps)
        found.append(part)
        inner = [inner for union in unions if isinstance(part.get(union), list) for inner in part[union]]
        waiting[:0] = inner[:MAX_PARTS]
    return found


def resolved(schema: Any, root: Any) -> dict[str, Any]:
    """`schema` with its local `$ref` followed; an empty schema for what is not an object."""
    return _resolved(schema, root, iter(range(MAX_STEPS)))


def _resolved(schema: Any, root: Any, steps: Iterator[int]) -> dict[str, Any]:
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


# What a text may be that a person knows how to write, instead of `string`.
FORMATS = ("date", "date-time", "duration", "email", "hostname", "ipv4", "ipv6", "time", "uri", "uuid")


def type_in_words(schema: Any, root: Any) -> str:
    """A schema's type in a few words: `string`, `date`, `integer | null`, `"a" | "b"`, `array of string`.

    `any` for a type that is nested too deeply or repeats itself.
    """
    return _in_words(schema, root, iter(range(MAX_STEPS)))


def _in_words(schema: Any, root: Any, steps: Iterator[int]) -> str:
    schema = _resolved(schema, root, steps)
    if choices := choices_of(schema):
        shown = [json.dumps(choice, ensure_ascii=False) for choice in choices[:MAX_PARTS]]
        return " | ".join([*shown, "…"] if len(choices) > MAX_PARTS else shown)
    kinds = types_of(schema)
    if schema.get("format") in FORMATS:
        kinds = [schema["format"] if kind == "string" else kind for kind in kinds]
    if kinds == ["array"]:
        inner = _in_words(schema.get("items"), root, steps)
        return f"array of {inner}" if inner != "any" else "array"
    if kinds:
        return " | ".join(kinds)
    for union in ("anyOf", "oneOf"):
        if isinstance(parts := schema.get(union), list) and parts:
            return " | ".join(dict.fromkeys(_in_words(part, root, steps) for part in parts[:MAX_PARTS]))
    return "object" if "properties" in schema else "any"


def members_in_words(schema: Any, root: Any) -> str:
    """The members of an object, or of the objects in a list: `{name: string, [n: integer]}`; empty if none is known."""
    parts = parts_of(schema, root)
    inner = [part for outer in parts if "items" in outer for part in parts_of(outer["items"], root)]
    for before, found in (("", parts), ("array of ", inner)):
        for part in found:
            members, required = part.get("properties"), part.get("required")
            if isinstance(members, dict) and members:
                shown = {key: f"{key}: {type_in_words(member, root)}" for key, member in members.items()}
                needed = [key for key in members if isinstance(required, list) and key in required]
                texts = [shown[key] for key in needed] + [f"[{shown[key]}]" for key in members if key not in needed]
                return f"{before}{{{', '.join(texts)}}}"
    return ""


# Of a signature without room for all, the longest that a parameter may be.
PARAMETER_CHARS = 40


def signature(name: str, schema: Any, room: int | None = None) -> str:
    """`name(path: string, [limit: integer = 10])`: required parameters first, the others in brackets.

    If that has more than `room` characters, long types are left out, and `…` stands for the last parameters.
    """
    required = dict.fromkeys(required_of(schema))
    known = properties_of(schema)
    parts = [f"{key}: {type_in_words(known.get(key), schema)}" for key in required]
    for key, described in known.items():
        if key not in required:
            default = default_of(described, schema)
            shown = "" if default is None else f" = {json.dumps(default, ensure_ascii=False)}"
            parts.append(f"[{key}: {type_in_words(described, schema)}{shown}]")
    whole = f"{name}({', '.join(parts)})"
    if room is None or len(whole) <= room:
        return whole
    kept: list[str] = []
    keys = [*required, *(f"[{key}" for key in known if key not in required)]
    for key, part in zip(keys, parts, strict=True):
        short = part if len(part) <= PARAMETER_CHARS else key + ("]" if key.startswith("[") else "")
        if len(f"{name}({', '.join([*kept, short])}, …)") > room:
            return f"{name}({', '.join([*kept, '…'])})"
        kept.append(short)
    return f"{name}({', '.join(kept)})"


def pointed(root: Any, reference: str) -> Any:
    """What a local reference such as `#/$defs/Point` points to, None if there is nothing."""
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

"""Formats a JSON Schema as a short text: the type of a value, the members of an object, the signature of a tool."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from gaia_mcp.toolspec.schema import (
    MAX_PARTS,
    MAX_STEPS,
    NO_DEFAULT,
    choices_of,
    default_of,
    needed_members,
    needed_of,
    parts_of,
    properties_of,
    required_of,
    resolved,
    types_of,
)

# Formats that are shown instead of `string`.
FORMATS = ("date", "date-time", "duration", "email", "hostname", "ipv4", "ipv6", "time", "uri", "uuid")


def type_in_words(schema: Any, root: Any) -> str:
    """A schema's type in a few words: `string`, `date`, `integer | null`, `"a" | "b"`, `array of string`.

    `any` for a recursive type. Nested types are in brackets: `(array of string) | null`. Long or deep types are
    truncated.
    """
    return _in_words(schema, root, iter(range(MAX_STEPS)))


# The number of alternatives or choices, and the depth of lists, that are shown: more would not be read.
SHOWN_PARTS, SHOWN_DEPTH = 8, 3


def _in_words(schema: Any, root: Any, steps: Iterator[int], depth: int = 0) -> str:
    schema = resolved(schema, root, steps)
    if choices := choices_of(schema):
        return _joined([json.dumps(choice, ensure_ascii=False) for choice in choices[:MAX_PARTS]], len(choices))
    kinds = types_of(schema)
    if schema.get("format") in FORMATS:
        kinds = [schema["format"] if kind == "string" else kind for kind in kinds]
    if kinds:
        return _joined([_list_in_words(schema, root, steps, depth) if kind == "array" else kind for kind in kinds])
    for union in ("anyOf", "oneOf"):
        if isinstance(parts := schema.get(union), list) and parts:
            # A nested union is merged into this one.
            return _joined([_in_words(part, root, steps, depth) for part in parts[:MAX_PARTS]], len(parts))
    return "object" if "properties" in schema else "any"


def _list_in_words(schema: dict[str, Any], root: Any, steps: Iterator[int], depth: int) -> str:
    inner = "any" if depth + 1 >= SHOWN_DEPTH else _in_words(schema.get("items"), root, steps, depth + 1)
    if inner == "any":
        return "array"
    return f"array of ({inner})" if " | " in inner or inner.startswith("array of ") else f"array of {inner}"


def _joined(parts: list[str], count: int = 0) -> str:
    """The distinct types of a union with `count` members; a list type is in brackets."""
    different = list(dict.fromkeys(parts))
    if len(different) == 1 and count <= len(parts):
        return different[0]
    shown = [f"({part})" if part.startswith("array of ") else part for part in different[:SHOWN_PARTS]]
    more = len(different) - len(shown) + max(0, count - len(parts))
    return " | ".join([*shown, f"… {more} more"] if more else shown)


def members_in_words(schema: Any, root: Any) -> str:
    """The members of an object, or of the objects in a list: `{name: string, [n: integer]}`; empty if none is known."""
    parts = parts_of(schema, root)
    inner = [part for outer in parts if "items" in outer for part in parts_of(outer["items"], root)]
    for before, found in (("", parts), ("array of ", inner)):
        for part in found:
            if isinstance(members := part.get("properties"), dict) and members:
                shown = {key: f"{key}: {type_in_words(member, root)}" for key, member in members.items()}
                needed = [key for key in needed_members(part, root) if key in members]
                texts = [shown[key] for key in needed] + [f"[{shown[key]}]" for key in members if key not in needed]
                return f"{before}{{{', '.join(texts)}}}"
    return ""


# The maximum length of a parameter in a signature that has to be shortened.
PARAMETER_CHARS = 40


def signature(name: str, schema: Any, room: int | None = None) -> str:
    """`name(path: string, [limit: integer = 10])`: the parameters that a call needs first, the others in brackets.

    If that has more than `room` characters, long types are omitted, and `…` replaces the last parameters.
    """
    needed, required = dict.fromkeys(needed_of(schema)), required_of(schema)
    known = properties_of(schema)
    parts = [f"{key}: {type_in_words(known.get(key), schema)}" for key in needed]
    for key, described in known.items():
        if key not in needed:
            default = default_of(described, schema, NO_DEFAULT)
            # Generators write null as the default of optional parameters; a required parameter's null is sent.
            is_shown = default is not NO_DEFAULT and (default is not None or key in required)
            shown = f" = {json.dumps(default, ensure_ascii=False)}" if is_shown else ""
            parts.append(f"[{key}: {type_in_words(described, schema)}{shown}]")
    whole = f"{name}({', '.join(parts)})"
    if room is None or len(whole) <= room:
        return whole
    kept: list[str] = []
    keys = [*needed, *(f"[{key}" for key in known if key not in needed)]
    for key, part in zip(keys, parts, strict=True):
        short = part if len(part) <= PARAMETER_CHARS else key + ("]" if key.startswith("[") else "")
        if len(f"{name}({', '.join([*kept, short])}, …)") > room:
            return f"{name}({', '.join([*kept, '…'])})"
        kept.append(short)
    return f"{name}({', '.join(kept)})"

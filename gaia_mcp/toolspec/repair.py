"""Repairs a JSON Schema of invalid form, since for one wrong keyword strict clients refuse the whole list of tools, and
the APIs of language models the whole request.

Repairs what has one meaning, such as `[]` for an empty object, which PHP writes, or the type "int". Anything else is
left out: a parameter without its schema can still be given. A schema of valid form is returned unchanged.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from gaia_mcp.safetext import cut

Wire = dict[str, Any]
# Called with a description of each repair.
Note = Callable[[str], None]

# Deeper than usual schemas; below this level a schema is not looked at.
MAX_DEPTH = 40
# What is wrong is shown up to this length.
SHOWN_CHARS = 60

_TYPES = frozenset({"string", "integer", "number", "boolean", "null", "array", "object"})
# What the languages of servers call them.
_MEANT = {
    "str": "string", "text": "string", "int": "integer", "long": "integer", "float": "number", "double": "number",
    "bool": "boolean", "none": "null", "list": "array", "tuple": "array", "dict": "object", "map": "object",
}  # fmt: skip
# The keywords by the form of their values: schemas by name, one schema, a list of schemas, a text, a number.
MAPS = frozenset({"properties", "patternProperties", "$defs", "definitions", "dependentSchemas"})
SINGLE = frozenset({
    "items", "additionalProperties", "additionalItems", "contains", "not", "if", "then", "else", "propertyNames",
    "unevaluatedProperties", "unevaluatedItems",
})  # fmt: skip
LISTS = frozenset({"anyOf", "oneOf", "allOf", "prefixItems"})
_TEXTS = frozenset({"title", "description", "format", "pattern", "$schema", "$ref", "$id", "$anchor", "$comment"})
_NUMBERS = frozenset({
    "minimum", "maximum", "multipleOf", "minLength", "maxLength", "minItems", "maxItems", "minProperties",
    "maxProperties",
})  # fmt: skip


def repaired_schema(schema: Any, where: str, note: Note = lambda _: None) -> Wire:
    """The schema of an object at `where`, in valid form; `schema` itself if it is."""
    found = _repaired(schema, where, note, MAX_DEPTH)
    return found if isinstance(found, dict) else {}


def _repaired(schema: Any, where: str, note: Note, depth: int) -> Any:
    if isinstance(schema, bool) or depth == 0:
        return schema
    if not isinstance(schema, dict):
        return _schema_meant(schema, where, note)
    found: Wire = {}
    is_changed = False
    for keyword, value in schema.items():
        fixed = _keyword(keyword, value, where, note, depth)
        is_changed = is_changed or fixed is not value
        if fixed is not _LEFT_OUT:
            found[keyword] = fixed
    is_changed = _lift_required(schema, found, where, note) or is_changed
    return found if is_changed else schema


# The value of a keyword that is left out.
_LEFT_OUT = object()


def _schema_meant(value: Any, where: str, note: Note) -> Wire:
    """The schema that another value stands for; that of any value, if it stands for none."""
    if isinstance(value, str) and (kind := _type_meant(value)) is not None:
        note(f'{where} is {_shown(value)}, and is read as {{"type": {_shown(kind)}}}')
        return {"type": kind}
    if value is not None:
        note(f"{where} is not a schema but {_shown(value)}, and is read as that of any value")
    return {}


def _keyword(keyword: str, value: Any, where: str, note: Note, depth: int) -> Any:
    """The value of a keyword in valid form: the same object if it is."""
    place = f"{where}.{keyword}"
    if isinstance(value, tuple):
        value = list(value)  # Of an agent, and the same in JSON.
    if keyword == "type":
        return _types(value, place, note)
    if keyword == "required":
        return _required(value, place, note)
    if keyword in MAPS:
        return _map(value, place, note, depth)
    if keyword in LISTS or (keyword == "items" and isinstance(value, list) and value):
        return _list(value, place, note, depth)
    if keyword in SINGLE:
        return _LEFT_OUT if value is None else _repaired(value, place, note, depth - 1)
    if keyword == "enum":
        return value if isinstance(value, list) and value else _left_out(value, place, "a list of values", note)
    if keyword in _TEXTS:
        return value if isinstance(value, str) else _left_out(value, place, "a text", note)
    if keyword in _NUMBERS:
        return value if type(value) in (int, float) else _left_out(value, place, "a number", note)
    return value


def _types(value: Any, where: str, note: Note) -> Any:
    kinds = value if isinstance(value, list) else [value]
    if kinds and all(isinstance(kind, str) and kind in _TYPES for kind in kinds):
        return value
    meant = [_type_meant(kind) for kind in kinds]
    known = list(dict.fromkeys(kind for kind in meant if kind is not None))
    if not known or None in meant:
        return _left_out(value, where, "a type of JSON", note)
    fixed = known if isinstance(value, list) else known[0]
    note(f"{where} is {_shown(value)}, and is read as {_shown(fixed)}")
    return fixed


def _type_meant(kind: Any) -> str | None:
    if not isinstance(kind, str):
        return None
    folded = kind.strip().lower()
    return folded if folded in _TYPES else _MEANT.get(folded)


def _required(value: Any, where: str, note: Note) -> Any:
    if isinstance(value, list):
        names = list(dict.fromkeys(name for name in value if isinstance(name, str)))
        if len(names) == len(value):
            return value
        note(f"{where} is {_shown(value)}, and is read as {_shown(names)}")
        return names
    if isinstance(value, str):
        note(f"{where} is {_shown(value)}, and is read as {_shown([value])}")
        return [value]
    # True or false: this property is meant, as in drafts before the fourth. `_lift_required` has done that.
    return _LEFT_OUT if isinstance(value, bool) else _left_out(value, where, "a list of names", note)


def _lift_required(schema: Wire, found: Wire, where: str, note: Note) -> bool:
    """Write into `required` what is stated inside of `properties`. Returns whether there was something."""
    own = schema.get("properties")
    if not isinstance(own, dict):
        return False
    names = [name for name, inner in own.items() if isinstance(inner, dict) and inner.get("required") is True]
    if _is_misplaced(own.get("required"), own):
        found["properties"] = {name: inner for name, inner in found["properties"].items() if name != "required"}
        names += own["required"]
    if not names:
        return False
    known = found.get("required")
    found["required"] = list(dict.fromkeys([*(known if isinstance(known, list) else ()), *names]))
    note(f"{where}.properties states what is required, and {where}.required is read as {_shown(found['required'])}")
    return True


def _is_misplaced(value: Any, among: Wire) -> bool:
    """Whether the value of a property named `required` is the keyword: names of the properties beside it."""
    return isinstance(value, list) and bool(value) and all(isinstance(name, str) and name in among for name in value)


def _map(value: Any, where: str, note: Note, depth: int) -> Any:
    if not isinstance(value, dict):
        if value:
            note(f"{where} is not an object but {_shown(value)}, and is read as empty")
        elif value is not None:
            note(f"{where} is {_shown(value)}, and is read as {{}}")
        return {}
    found = {
        # `_lift_required` reports the misplaced keyword, and removes it.
        name: inner
        if name == "required" and _is_misplaced(inner, value)
        else _repaired(inner, f"{where}.{name}", note, depth - 1)
        for name, inner in value.items()
    }
    return value if all(found[name] is inner for name, inner in value.items()) else found


def _list(value: Any, where: str, note: Note, depth: int) -> Any:
    if isinstance(value, dict):
        note(f"{where} is not a list, and is read as a list of this one")
        return [_repaired(value, f"{where}[0]", note, depth - 1)]
    if not isinstance(value, list) or not value:
        return _left_out(value, where, "a list of schemas", note)
    found = [_repaired(inner, f"{where}[{number}]", note, depth - 1) for number, inner in enumerate(value)]
    return value if all(one is other for one, other in zip(found, value, strict=True)) else found


def _left_out(value: Any, where: str, wanted: str, note: Note) -> object:
    if value is not None:
        note(f"{where} is {_shown(value)}, not {wanted}, and is left out")
    return _LEFT_OUT


def _shown(value: Any) -> str:
    return cut(json.dumps(value, ensure_ascii=False, default=repr), SHOWN_CHARS)

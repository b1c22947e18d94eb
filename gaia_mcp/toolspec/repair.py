"""Tools for strict readers: schemas of invalid form are repaired, and function names assigned, since for one wrong
keyword strict clients refuse the whole list of tools, and the APIs of language models the whole request; those allow
fewer names and schemas than MCP, too.

What has one meaning is repaired, the rest left out; a schema of valid form is returned unchanged. Pure, except that
`FunctionNames` stores the assigned names: a model may use one long after.

Repairs what has one meaning, such as `[]` for an empty object, which PHP writes, or the type "int". Anything else is
left out: a parameter without its schema can still be given. A schema of valid form is returned unchanged.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterable
from typing import Any

from gaia_mcp.text import cut
from gaia_mcp.toolspec.schema import properties_of, required_of, types_of

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
# OpenAI's rule for the name of a function.
MAX_LENGTH = 64
_ALLOWED = re.compile(rf"[A-Za-z0-9_-]{{1,{MAX_LENGTH}}}")
_NOT_IN_A_NAME = re.compile(r"[^A-Za-z0-9_-]")
# Keywords that its API does not allow at the root of a function's parameters. A reference may lead to one of them.
_NOT_AT_THE_ROOT = ("oneOf", "anyOf", "allOf", "not", "enum", "const", "$ref")
# Long enough that collisions are unlikely; on a collision another digest is used.
_DIGEST_DIGITS = 8


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


class FunctionNames:
    """A function name for each tool: the tool's own name if that is allowed and free.

    Otherwise invalid characters become `_`; a name that is too long, taken, or without a letter or digit gets a digest
    of the tool's name. An assigned name stays, unless a tool is added whose own name it is.
    """

    def __init__(self) -> None:
        self._functions: dict[str, str] = {}
        self._tools: dict[str, str] = {}
        # The functions that have the wanted name.
        self._rightful: set[str] = set()

    def add(self, tools: Iterable[tuple[str, str]]) -> None:
        """Assign function names to `tools`, pairs of the tool's name and the preferred function name."""
        new = [(tool, wanted) for tool, wanted in tools if tool not in self._functions]
        # Own names first, so that no other tool takes one of them.
        for tool, wanted in new:
            if _ALLOWED.fullmatch(wanted) and wanted not in self._rightful:
                evicted = self._tools.get(wanted)
                self._give(tool, wanted)
                self._rightful.add(wanted)
                if evicted is not None:
                    self._give(evicted, self._free(evicted, wanted))
        for tool, wanted in new:
            if tool not in self._functions:
                self._give(tool, self._free(tool, wanted))

    def function_of(self, tool: str) -> str:
        """The function's name for a tool that was added."""
        return self._functions[tool]

    def tool_of(self, function: str) -> str | None:
        """The tool whose function has this name, None if there is none."""
        return self._tools.get(function)

    def _give(self, tool: str, function: str) -> None:
        self._functions[tool], self._tools[function] = function, tool

    def _free(self, tool: str, wanted: str) -> str:
        function = function_name(wanted)
        number = 1
        while function in self._tools:
            function = function_name(wanted, f"{tool}\0{number}")
            number += 1
        return function


def allowed_characters(name: str) -> str:
    """`name` with `_` in place of every invalid character."""
    return _NOT_IN_A_NAME.sub("_", name)


def function_name(wanted: str, source: str | None = None, room: int = MAX_LENGTH) -> str:
    """`wanted` as a valid function name of up to `room` characters; with `source`, it always ends with a digest of
    that.
    """
    readable = allowed_characters(wanted)
    if source is None:
        if len(readable) <= room and re.search("[A-Za-z0-9]", readable):
            return readable
        source = wanted
    digest = hashlib.sha256(source.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGEST_DIGITS]
    begin = readable[: room - _DIGEST_DIGITS - 1]
    return f"{begin if re.search('[A-Za-z0-9]', begin) else 'tool'}_{digest}"


def openai_function(name: str, description: str, schema: dict[str, Any], note: Note = lambda _: None) -> dict[str, Any]:
    """A function as an item of the `tools` of a chat completion. For one schema that it does not accept, OpenAI's API
    refuses the whole request: such a schema is repaired, which is reported to `note`.
    """
    parameters = _parameters(schema, note)
    return {"type": "function", "function": {"name": name, "description": description, "parameters": parameters}}


def _parameters(schema: dict[str, Any], note: Note) -> dict[str, Any]:
    """The schema with the members that OpenAI requires. The parameters of a union at its root become optional ones: the
    server still checks them.
    """
    valid = repaired_schema(schema, "inputSchema", note)
    found = {"type": "object", "properties": {}, **valid}
    if refused := [keyword for keyword in _NOT_AT_THE_ROOT if keyword in found]:
        note(f"inputSchema has {' and '.join(refused)} at its root, which is left out: the API does not allow it there")
        found["properties"], required = properties_of(valid), required_of(valid)
        found = {key: value for key, value in found.items() if key not in refused}
        if required:
            found["required"] = required
    if found["type"] != "object":
        note(f"inputSchema.type is {found['type']!r}, and is read as 'object'")
        found["type"] = "object"
    complete: dict[str, Any] = _with_items(found, MAX_DEPTH)
    return complete


def _with_items(schema: Any, depth: int) -> Any:
    """The schema with `items` for each list, which OpenAI requires; `schema` itself if it has them."""
    if not isinstance(schema, dict) or depth == 0:
        return schema
    found: dict[str, Any] = {}
    for keyword, value in schema.items():
        if keyword in MAPS and isinstance(value, dict):
            found[keyword] = {name: _with_items(inner, depth - 1) for name, inner in value.items()}
        elif keyword in LISTS and isinstance(value, list):
            found[keyword] = [_with_items(inner, depth - 1) for inner in value]
        else:
            found[keyword] = _with_items(value, depth - 1) if keyword in SINGLE else value
    if "array" in types_of(schema) and "items" not in schema:
        found["items"] = {}
    return found

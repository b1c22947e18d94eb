"""Function names for the APIs of language models, which allow fewer names and schemas than MCP, and their tools.

Pure, except that it stores the assigned names: a model may use one long after.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from gaia_mcp.toolspec.repair import LISTS, MAPS, MAX_DEPTH, SINGLE, repaired_schema
from gaia_mcp.toolspec.schema import properties_of, required_of, types_of

if TYPE_CHECKING:
    from gaia_mcp.toolspec.repair import Note

# OpenAI's rule for the name of a function.
MAX_LENGTH = 64
_ALLOWED = re.compile(rf"[A-Za-z0-9_-]{{1,{MAX_LENGTH}}}")
_NOT_IN_A_NAME = re.compile(r"[^A-Za-z0-9_-]")
# Keywords that its API does not allow at the root of a function's parameters. A reference may lead to one of them.
_NOT_AT_THE_ROOT = ("oneOf", "anyOf", "allOf", "not", "enum", "const", "$ref")
# Long enough that collisions are unlikely; on a collision another digest is used.
_DIGEST_DIGITS = 8


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

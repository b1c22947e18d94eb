"""The tools of an agent whose methods are marked with `@tool`: their definitions, and how they are called.

A tool with invalid hints is left out and its problem is reported; the others remain.
"""

from __future__ import annotations

import inspect
import types
import typing
from collections import abc
from collections.abc import Mapping
from copy import deepcopy
from typing import Any, NamedTuple

from gaia_mcp.agents.base.marks import ToolMark, marks_of
from gaia_mcp.agents.base.methods import Method, MethodReader
from gaia_mcp.content import Image
from gaia_mcp.toolspec.hints.kinds import Definitions, Member, object_schema

Wire = dict[str, Any]

# These become content blocks, which an output schema does not describe.
_CONTENT = (Image, bytes, bytearray, memoryview)
_NO_OUTPUT: tuple[Any, ...] = (
    inspect.Parameter.empty, None, type(None), Any, object, typing.NoReturn, typing.Never
)  # fmt: skip


class MethodTools(NamedTuple):
    """The tools of a class by name, and the problems of its marked methods."""

    tools: dict[str, MethodTool]
    problems: list[str]


class MethodTool(NamedTuple):
    """One tool."""

    method: Method
    definition: Wire

    def call(self, agent: Any, arguments: Mapping[str, Any]) -> Any:
        """The method's return value. Raises `InvalidArgumentsError`, and the exceptions of the method."""
        return self.method.call(agent, arguments)


def tools_of(kind: type) -> MethodTools:
    """Read the tools of a class."""
    found = MethodTools({}, [])
    for method, mark in marks_of(kind).items():
        name = mark.name or method
        if name in found.tools:
            found.problems.append(f"{kind.__name__}.{method}: there is another tool {name!r}")
            continue
        reader = MethodReader(kind, method)
        read = reader.read()
        if read is not None and read.rest is None and mark.input_schema is not None:
            reader.problems.append(f"{kind.__name__}.{method}: with input_schema, a method takes **arguments")
        elif read is not None:
            found.tools[name] = MethodTool(read, _definition(name, mark, read, reader))
        found.problems.extend(reader.problems)
    return found


def _definition(name: str, mark: ToolMark, method: Method, reader: MethodReader) -> Wire:
    definition: Wire = {"name": name, "description": mark.description or reader.docstring.description}
    if mark.title:
        definition["title"] = mark.title
    definition["inputSchema"] = method.schema() if mark.input_schema is None else deepcopy(mark.input_schema)
    if (output := _output_schema(reader)) is not None:
        definition["outputSchema"] = output
    return {**definition, **mark.more}


def _output_schema(reader: MethodReader) -> Wire | None:
    """The schema of the structured result, an object. A return type that is not an object becomes its member `result`.

    None for a type without structured content, or with an invalid hint, which is a problem.
    """
    hint = reader.hints.get("return")
    if typing.get_origin(hint) in (abc.Awaitable, abc.Coroutine):
        hint = typing.get_args(hint)[-1]
    if hint in _NO_OUTPUT or _is_content(hint):
        return None
    try:
        kind = reader.reader.read(hint)
        definitions = Definitions(for_output=True)
        schema = definitions.complete(kind.schema(definitions))
        if schema.get("type") == "object":
            return schema
        definitions = Definitions(for_output=True)
        return definitions.complete(object_schema({"result": Member(kind, is_required=True)}, definitions))
    except Exception as problem:  # noqa: BLE001 (a hint may be any object)
        reader.note("return", f"{problem}; the tool has no output schema")
        return None


def _is_content(hint: Any) -> bool:
    """Whether a hint contains a type that becomes content blocks, also in a list, a tuple or a union."""
    if isinstance(hint, type) and typing.get_origin(hint) is None:
        return issubclass(hint, _CONTENT)
    if typing.get_origin(hint) is typing.Annotated:
        return _is_content(typing.get_args(hint)[0])
    outer = (typing.Union, types.UnionType, list, tuple, abc.Sequence)
    return typing.get_origin(hint) in outer and any(map(_is_content, typing.get_args(hint)))

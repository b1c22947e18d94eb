"""The tools of an agent whose methods are marked with `@tool`: their definitions, and calling them.

Type hints are read here, when the tools are first asked for: a class may refer to types that are defined after it. A
hint that cannot be read is a problem with its place; only its tool is left out.
"""

from __future__ import annotations

import inspect
import types
import typing
from collections import abc
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple

from gaia_mcp.agents.base.tools import Mark, marks_of
from gaia_mcp.content import Image
from gaia_mcp.toolcall import ToolCall, current_call
from gaia_mcp.toolspec.hints.definitions import Definitions
from gaia_mcp.toolspec.hints.docstrings import read_docstring
from gaia_mcp.toolspec.hints.kinds import ConversionError, Kind
from gaia_mcp.toolspec.hints.metadata import is_described, is_field, members_of
from gaia_mcp.toolspec.hints.reading import HintError, Reader
from gaia_mcp.toolspec.hints.records import ABSENT, REQUIRED, Member, member, object_schema
from gaia_mcp.toolspec.invalid_arguments import InvalidArgumentsError

Wire = dict[str, Any]

# They become content blocks, about which a schema says nothing.
_CONTENT = (Image, bytes, bytearray, memoryview)
_NO_OUTPUT: tuple[Any, ...] = (
    inspect.Parameter.empty, None, type(None), Any, object, typing.NoReturn, typing.Never
)  # fmt: skip


class MethodTools(NamedTuple):
    """The tools of a class by their names, and what is wrong with others, in words."""

    tools: dict[str, MethodTool]
    problems: list[str]


class MethodTool(NamedTuple):
    """One tool: the method of this name. `rest` is the kind of other arguments, None if there may be none."""

    method: str
    definition: Wire
    members: Mapping[str, Member]
    positional: frozenset[str]
    fillers: Mapping[str, Callable[[], Any]]
    rest: Kind | None

    def call(self, agent: Any, arguments: Mapping[str, Any]) -> Any:
        """What the method returns. Raises `InvalidArgumentsError`, and whatever the method raises."""
        converted, problems = {}, []
        for name, value in arguments.items():
            kind = self.members[name].kind if name in self.members else self.rest
            if kind is None:
                problems.append(f"there is no {name!r}")
                continue
            try:
                converted[name] = kind.convert(value, name)
            except ConversionError as problem:
                problems.append(str(problem))
        problems += [
            f"{name!r} is missing" for name, one in self.members.items() if one.is_required and name not in arguments
        ]
        if problems:
            raise InvalidArgumentsError(problems)
        for name, fill in self.fillers.items():
            if name not in converted:
                converted[name] = fill()
        first = [converted.pop(name) for name in self.members if name in self.positional and name in converted]
        return getattr(agent, self.method)(*first, **converted)


def tools_of(kind: type) -> MethodTools:
    """The tools of a class, read once."""
    known: MethodTools | None = vars(kind).get(_KNOWN)
    if known is None:
        known = _read(kind)
        setattr(kind, _KNOWN, known)
    return known


# The attribute of a class that holds its tools. Those of its base classes are other ones.
_KNOWN = "_marked_tools"


def _read(kind: type) -> MethodTools:
    found = MethodTools({}, [])
    for method, mark in marks_of(kind).items():
        name = mark.name or method
        if name in found.tools:
            found.problems.append(f"{kind.__name__}.{method}: there is another tool {name!r}")
            continue
        reading = _Reading(kind, method)
        tool = reading.tool(name, mark)
        found.problems.extend(reading.problems)
        if tool is not None:
            found.tools[name] = tool
    return found


class _Reading:
    """Reads one method. `problems` are the hints that cannot be read, with class, method and parameter."""

    def __init__(self, kind: type, method: str) -> None:
        self._kind = kind
        self._method = method
        member = inspect.getattr_static(kind, method)
        function = getattr(member, "__func__", member)
        parameters = list(inspect.signature(function).parameters.values())
        self._parameters = parameters if isinstance(member, staticmethod) else parameters[1:]
        self._docstring = read_docstring(function.__doc__)
        self._reader = Reader()
        self.problems: list[str] = []
        self._hints = self._read_hints(function)
        if not parameters and self._parameters is not parameters:
            self.problems.append(f"{kind.__name__}.{method}: a method has a parameter for its object, usually self")
        if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
            self.problems.append(f"{kind.__name__}.{method}: a tool returns one value, and cannot be a generator")

    def tool(self, name: str, mark: Mark) -> MethodTool | None:
        """The tool, None if a parameter cannot be read."""
        members: dict[str, Member] = {}
        rest: Kind | None = None
        calls: list[str] = []
        for parameter in self._parameters:
            try:
                if self._hints[parameter.name] is ToolCall:
                    calls.append(parameter.name)
                elif parameter.kind is parameter.VAR_POSITIONAL:
                    raise HintError(f"arguments have names; take a list instead of *{parameter.name}")
                elif parameter.kind is parameter.VAR_KEYWORD:
                    rest = self._reader.read(self._hints[parameter.name])
                else:
                    members[parameter.name] = self._member(parameter, self._hints[parameter.name])
            except KeyError:
                continue  # Its hint could not be evaluated.
            except Exception as problem:  # noqa: BLE001 (a hint may be any object)
                self._note(parameter.name, str(problem))
        if self.problems:
            return None
        positional = frozenset(one.name for one in self._parameters if one.kind is one.POSITIONAL_ONLY)
        fillers: dict[str, Callable[[], Any]] = {
            one.name: partial(one.default.get_default, call_default_factory=True)
            for one in self._parameters
            if is_field(one.default) and not one.default.is_required()
        }
        # Not an argument: no client can give it.
        fillers.update(dict.fromkeys(calls, current_call))
        definition = self._definition(name, mark, members, rest)
        return MethodTool(self._method, definition, members, positional, fillers, rest)

    def _member(self, parameter: inspect.Parameter, hint: Any) -> Member:
        field, default = {}, parameter.default
        if is_field(default):
            field = members_of([default])
            default = REQUIRED if default.is_required() else ABSENT if default.default_factory else default.default
        elif default is parameter.empty:
            default = REQUIRED
        text = self._docstring.parameters.get(parameter.name)
        more = {"description": text} if text and not is_described(hint) else {}
        return member(self._reader.read(hint), default, {**more, **field})

    def _definition(self, name: str, mark: Mark, members: Mapping[str, Member], rest: Kind | None) -> Wire:
        definitions = Definitions()
        schema = object_schema(members, definitions)
        schema["additionalProperties"] = rest.schema(definitions) or True if rest is not None else False
        definition: Wire = {"name": name, "description": mark.description or self._docstring.description}
        if mark.title:
            definition["title"] = mark.title
        definition["inputSchema"] = definitions.complete(schema)
        if (output := self._output_schema()) is not None:
            definition["outputSchema"] = output
        if mark.annotations:
            definition["annotations"] = dict(mark.annotations)
        return definition

    def _output_schema(self) -> Wire | None:
        """The schema of the result, which is an object; any other value is its member `result`."""
        hint = self._hints.get("return")
        if typing.get_origin(hint) in (abc.Awaitable, abc.Coroutine):
            hint = typing.get_args(hint)[-1]
        if hint in _NO_OUTPUT or _is_content(hint):
            return None
        try:
            kind = self._reader.read(hint)
            definitions = Definitions(for_output=True)
            schema = definitions.complete(kind.schema(definitions))
            if schema.get("type") == "object":
                return schema
            definitions = Definitions(for_output=True)
            return definitions.complete(object_schema({"result": Member(kind, is_required=True)}, definitions))
        except Exception as problem:  # noqa: BLE001 (as above)
            self._note("return", f"{problem}; the tool has no output schema")
            return None

    def _read_hints(self, function: Any) -> dict[str, Any]:
        """The hints of the parameters, Any where there is none, and of the result under "return"."""
        written: dict[str, Any] = {one.name: Any for one in self._parameters}
        written["return"] = inspect.Parameter.empty
        written.update({name: hint for name, hint in function.__annotations__.items() if name in written})
        inner = inspect.unwrap(function)
        names = getattr(inner, "__globals__", {})
        # A type that is defined in the class itself, unless it would hide another one.
        nested = {
            name: value
            for base in reversed(self._kind.__mro__)
            for name, value in vars(base).items()
            if isinstance(value, type) and name not in names
        }
        found = {}
        for name, hint in written.items():
            try:
                holder = types.SimpleNamespace(__annotations__={name: hint})
                found[name] = typing.get_type_hints(holder, names, nested, include_extras=True)[name]
            except Exception as cause:  # noqa: BLE001 (annotations are other people's code)
                # Linters move imports that only hints use; here the hints count while the program runs.
                guarded = isinstance(cause, NameError) and "TYPE_CHECKING" in names
                self._note(name, f"{cause}; import it outside of TYPE_CHECKING" if guarded else str(cause))
        return found

    def _note(self, parameter: str, problem: str) -> None:
        self.problems.append(f"{self._kind.__name__}.{self._method}({parameter}): {problem}")


def _is_content(hint: Any) -> bool:
    """Whether a hint names what becomes content blocks, also in a list, a tuple or a union."""
    if isinstance(hint, type) and typing.get_origin(hint) is None:
        return issubclass(hint, _CONTENT)
    if typing.get_origin(hint) is typing.Annotated:
        return _is_content(typing.get_args(hint)[0])
    outer = (typing.Union, types.UnionType, list, tuple, abc.Sequence)
    return typing.get_origin(hint) in outer and any(map(_is_content, typing.get_args(hint)))

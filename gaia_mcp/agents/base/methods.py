"""The marked methods of an agent, as tools, prompts and resources: their definitions by type hints and docstrings, and
how they are called.

Hints are read when first needed; a method with invalid ones is left out and its problem reported, with class, method
and parameter.
"""

from __future__ import annotations

import inspect
import json
import types
import typing
from collections import abc
from collections.abc import Callable, Iterable, Mapping
from copy import deepcopy
from functools import partial
from inspect import Parameter, signature
from typing import Any, NamedTuple

from gaia_mcp.agents.base.tools import Complete, PromptMark, ResourceMark, ToolMark, marked, marks_of
from gaia_mcp.asking import Call, current_call
from gaia_mcp.core.content import Image
from gaia_mcp.text.uri_templates import Template, has_scheme
from gaia_mcp.toolspec.hints import HintError, Reader, is_described, is_field, members_of, read_docstring
from gaia_mcp.toolspec.hints.kinds import (
    ABSENT,
    REQUIRED,
    ConversionError,
    Definitions,
    Kind,
    Member,
    member,
    object_schema,
)
from gaia_mcp.toolspec.schema import choices_of, description_of, parts_of, types_of
from gaia_mcp.toolspec.validation import InvalidArgumentsError

# These become content blocks, which an output schema does not describe.
_CONTENT = (Image, bytes, bytearray, memoryview)
_NO_OUTPUT: tuple[Any, ...] = (
    inspect.Parameter.empty, None, type(None), Any, object, typing.NoReturn, typing.Never
)  # fmt: skip
Wire = dict[str, Any]


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


class TextMethod(NamedTuple):
    """A method whose arguments arrive as text, and the schema by which they are converted."""

    method: Method
    schema: Wire
    complete: Mapping[str, Complete]

    def call(self, agent: Any, arguments: Mapping[str, str]) -> Any:
        """The method's return value. Raises `InvalidArgumentsError`, and the exceptions of the method."""
        known = self.schema["properties"]
        from gaia_mcp.toolspec.arguments import typed_value

        typed = {name: typed_value(text, known.get(name, {}), self.schema) for name, text in arguments.items()}
        return self.method.call(agent, typed)

    def completions(self, agent: Any, name: str, typed: str, given: Mapping[str, str]) -> Iterable[str] | None:
        """The completions of the text typed for an argument; None for an unknown argument.

        Raises the exceptions of the function in `complete`. If that is an `async def`, returns its coroutine.
        """
        if name not in self.schema["properties"]:
            return None
        if (function := self.complete.get(name)) is not None:
            found = function(*(agent, typed, dict(given))[: _count_of(function)])
            return () if found is None else found
        texts = _choices(self.schema["properties"][name], self.schema)
        return [text for text in texts if text.casefold().startswith(typed.casefold())]


class MethodPrompt(NamedTuple):
    """One prompt."""

    definition: Wire
    text: TextMethod


class MethodResource(NamedTuple):
    """One resource or template. `caching` has the caching hints of its results."""

    definition: Wire
    template: Template
    text: TextMethod
    caching: Wire

    @property
    def specificity(self) -> tuple[int, int]:
        """The specificity of its template."""
        return self.template.specificity

    def match(self, uri: str) -> dict[str, str] | None:
        """The variables in a URI; None if it does not match the template, or lacks a required argument."""
        found = self.template.match(uri)
        required = self.text.schema.get("required", ())
        return found if found is not None and all(name in found for name in required) else None


class MethodFeatures(NamedTuple):
    """The prompts by name, the resources and the templates by URI, and the problems of methods that were left out."""

    prompts: dict[str, MethodPrompt]
    resources: dict[str, MethodResource]
    templates: dict[str, MethodResource]
    problems: list[str]


def features_of(kind: type) -> MethodFeatures:
    """Read the features of a class."""
    found = MethodFeatures({}, {}, {}, [])
    for method, mark in marked(kind, PromptMark).items():
        reader = _Reader(kind, method, mark.complete)
        name = mark.definition.get("name", method)
        if name in found.prompts:
            reader.problem(f"there is another prompt {name!r}")
        elif (text := reader.read()) is not None:
            definition = {"name": name, **reader.about, **mark.definition, "arguments": _arguments_of(text)}
            found.prompts[name] = MethodPrompt(definition, text)
        found.problems.extend(reader.problems)
    for method, marked_resource in marked(kind, ResourceMark).items():
        reader = _Reader(kind, method, marked_resource.complete)
        template = Template(marked_resource.uri)
        if (text := reader.read_resource(template, found)) is not None:
            key, place = ("uriTemplate", found.templates) if template.variables else ("uri", found.resources)
            about = {"name": method, **reader.about, **marked_resource.definition}
            place[template.text] = MethodResource(
                {key: template.text, **about}, template, text, marked_resource.caching
            )
        found.problems.extend(reader.problems)
    return found


class _Reader:
    def __init__(self, kind: type, method: str, complete: Mapping[str, Complete]) -> None:
        self._place = f"{kind.__name__}.{method}"
        self._complete = complete
        self._reader = MethodReader(kind, method)
        self.problems = self._reader.problems
        description = self._reader.docstring.description
        self.about = {"description": description} if description else {}

    def problem(self, text: str) -> None:
        self.problems.append(f"{self._place}: {text}")

    def read(self) -> TextMethod | None:
        """The method, or None if it has problems."""
        method = self._reader.read()
        if method is None:
            return None
        if method.rest is not None:
            self.problem("each argument needs a parameter of its own, instead of **")
        for name in self._complete:
            if name not in method.members:
                self.problem(f"there is no parameter {name!r} to complete")
        return TextMethod(method, method.schema(), self._complete) if not self.problems else None

    def read_resource(self, template: Template, others: MethodFeatures) -> TextMethod | None:
        """The method, or None if it has problems, does not match its template, or another one has the same template."""
        for other in (*others.resources.values(), *others.templates.values()):
            if other.template.shape == template.shape:
                self.problem(f"there is another resource with the URI {other.template.text!r}")
        if not template.text.startswith("{") and not has_scheme(template.text):
            self.problem(f"the URI {template.text!r} has no scheme, as notes://1 has")
        if (text := self.read()) is None:
            return None
        members = text.method.members
        for name in template.variables:
            if name not in members:
                self.problem(f"there is no parameter for {{{name}}} of {template.text!r}")
        for name, parameter in members.items():
            if name not in template.variables and parameter.is_required:
                self.problem(f"the parameter {name!r} is not in {template.text!r} and has no default")
            elif name in template.optional and parameter.is_required:
                self.problem(f"the parameter {name!r} may be missing in {template.text!r} and has no default")
        return text if not self.problems else None


def _arguments_of(text: TextMethod) -> list[Wire]:
    """MCP's `PromptArgument` for each parameter."""
    arguments = []
    required = text.schema.get("required", ())
    for name, schema in text.schema["properties"].items():
        argument: Wire = {"name": name}
        if isinstance(title := schema.get("title"), str):
            argument["title"] = title
        if description := description_of(schema, text.schema):
            argument["description"] = description
        arguments.append({**argument, "required": name in required})
    return arguments


def _choices(schema: Wire, root: Wire) -> list[str]:
    """The values that a schema lists, as texts; empty if it lists none."""
    texts: dict[str, None] = {}
    for part in parts_of(schema, root):
        values = choices_of(part) or ([True, False] if "boolean" in types_of(part) else [])
        texts.update((value if isinstance(value, str) else json.dumps(value), None) for value in values)
    return list(texts)


def _count_of(function: Callable[..., Any]) -> int:
    """The number of positional arguments that a function takes, 3 if it takes any number."""
    parameters = signature(function).parameters.values()
    if any(one.kind is Parameter.VAR_POSITIONAL for one in parameters):
        return 3
    return sum(one.kind in (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD) for one in parameters)


class Method(NamedTuple):
    """The method of this name. `rest` is the kind of the values of `**arguments`, or None without these.

    `fillers` return the value of a parameter for which no argument was given.
    """

    name: str
    members: Mapping[str, Member]
    positional: frozenset[str]
    fillers: Mapping[str, Callable[[], Any]]
    rest: Kind | None

    def schema(self) -> Wire:
        """The schema of the arguments."""
        definitions = Definitions()
        schema = object_schema(self.members, definitions)
        schema["additionalProperties"] = self.rest.schema(definitions) or True if self.rest is not None else False
        return definitions.complete(schema)

    def call(self, agent: Any, arguments: Mapping[str, Any]) -> Any:
        """The method's return value. Raises `InvalidArgumentsError`, and the exceptions of the method."""
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
        function = getattr(agent, self.name)
        if not callable(function):
            # An attribute of the agent hides the method, as `model` and `debug` of every agent may.
            function = inspect.getattr_static(type(agent), self.name).__get__(agent)
        return function(*first, **converted)


class MethodReader:
    """Reads one method. `problems` describes its invalid hints, with class, method and parameter."""

    def __init__(self, kind: type, method: str) -> None:
        self._kind = kind
        self._method = method
        member = inspect.getattr_static(kind, method)
        function = getattr(member, "__func__", member)
        parameters = list(inspect.signature(function).parameters.values())
        self._parameters = parameters if isinstance(member, staticmethod) else parameters[1:]
        self.docstring = read_docstring(function.__doc__)
        self.reader = Reader()
        self.problems: list[str] = []
        self.hints = self._read_hints(function)
        if not parameters and self._parameters is not parameters:
            self.problems.append(f"{kind.__name__}.{method}: a method has a parameter for its object, usually self")
        if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
            self.problems.append(f"{kind.__name__}.{method}: a generator cannot be served; return one value")

    def read(self) -> Method | None:
        """The method, or None if it has problems."""
        members: dict[str, Member] = {}
        rest: Kind | None = None
        calls: list[str] = []
        for parameter in self._parameters:
            try:
                if self.hints[parameter.name] is Call:
                    calls.append(parameter.name)
                elif parameter.kind is parameter.VAR_POSITIONAL:
                    raise HintError(f"arguments have names; take a list instead of *{parameter.name}")
                elif parameter.kind is parameter.VAR_KEYWORD:
                    rest = self.reader.read(self.hints[parameter.name])
                else:
                    members[parameter.name] = self._member(parameter, self.hints[parameter.name])
            except KeyError:
                continue  # The hint could not be evaluated, which is already a problem.
            except Exception as problem:  # noqa: BLE001 (a hint may be any object)
                self.note(parameter.name, str(problem))
        if self.problems:
            return None
        positional = frozenset(one.name for one in self._parameters if one.kind is one.POSITIONAL_ONLY)
        fillers: dict[str, Callable[[], Any]] = {
            one.name: partial(one.default.get_default, call_default_factory=True)
            for one in self._parameters
            if is_field(one.default) and not one.default.is_required()
        }
        # A parameter of type `Call` is not an argument: clients cannot pass it.
        fillers.update(dict.fromkeys(calls, current_call))
        return Method(self._method, members, positional, fillers, rest)

    def note(self, parameter: str, problem: str) -> None:
        """Add a problem of a parameter, or of the return type as "return"."""
        self.problems.append(f"{self._kind.__name__}.{self._method}({parameter}): {problem}")

    def _member(self, parameter: inspect.Parameter, hint: Any) -> Member:
        field, default = {}, parameter.default
        if is_field(default):
            field = members_of([default])
            default = REQUIRED if default.is_required() else ABSENT if default.default_factory else default.default
        elif default is parameter.empty:
            default = REQUIRED
        text = self.docstring.parameters.get(parameter.name)
        more = {"description": text} if text and not is_described(hint) else {}
        return member(self.reader.read(hint), default, {**more, **field})

    def _read_hints(self, function: Any) -> dict[str, Any]:
        """The hints of the parameters, Any for a parameter without a hint, and of the result as "return"."""
        written: dict[str, Any] = {one.name: Any for one in self._parameters}
        written["return"] = inspect.Parameter.empty
        written.update({name: hint for name, hint in function.__annotations__.items() if name in written})
        inner = inspect.unwrap(function)
        names = getattr(inner, "__globals__", {})
        # Types defined in the class body, except where they would hide a global name.
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
                # Linters move imports that only hints use under TYPE_CHECKING; here hints are evaluated at run time.
                guarded = isinstance(cause, NameError) and "TYPE_CHECKING" in names
                self.note(name, f"{cause}; import it outside of TYPE_CHECKING" if guarded else str(cause))
        return found

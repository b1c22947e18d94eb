"""The prompts and resources of an agent whose methods are marked with `@prompt` and `@resource`.

A method with invalid hints is left out and its problem is reported; the others remain. Arguments arrive as text: from a
prompt's arguments, or from the variables of a URI template.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from inspect import Parameter, signature
from typing import Any, NamedTuple

from gaia_mcp.agents.base.marks import Complete, PromptMark, ResourceMark, marked
from gaia_mcp.agents.base.methods import Method, MethodReader
from gaia_mcp.toolspec.arguments import typed_value
from gaia_mcp.toolspec.schema import choices_of, description_of, parts_of, types_of
from gaia_mcp.uri_templates import Template, has_scheme

Wire = dict[str, Any]


class TextMethod(NamedTuple):
    """A method whose arguments arrive as text, and the schema by which they are converted."""

    method: Method
    schema: Wire
    complete: Mapping[str, Complete]

    def call(self, agent: Any, arguments: Mapping[str, str]) -> Any:
        """The method's return value. Raises `InvalidArgumentsError`, and the exceptions of the method."""
        known = self.schema["properties"]
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
        for name, member in members.items():
            if name not in template.variables and member.is_required:
                self.problem(f"the parameter {name!r} is not in {template.text!r} and has no default")
            elif name in template.optional and member.is_required:
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

"""The decorators `tool`, `prompt` and `resource`, for what MCP clients may use of an agent, and the registry of the
functions that its model may call.

A method is only marked, with a named tuple for each decorator; `methods` reads the marks.

Each decorator has its own named tuple as its kind of mark; a method may have marks of several kinds.
"""

from __future__ import annotations

import inspect
import re
import types
import typing
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias, TypeVar, overload

# Called as a method of the agent with the text typed so far, and, if it takes three parameters, the other arguments.
Complete: TypeAlias = Callable[..., Iterable[str]]
Mark = TypeVar("Mark", bound=tuple[Any, ...])
Read = TypeVar("Read")

# The attribute of a function that contains its marks.
_MARKS = "__mcp_marks__"
Function = TypeVar("Function", bound="Callable[..., Any]")
# Entries by name: `{"name", "description", "parameters": {…: {"type", "required"}}, "function", "atomic"}`.
_TOOL_REGISTRY: dict[str, dict[str, Any]] = {}
# The values of `execution.taskSupport` in a tool's definition.
TaskSupport: typing.TypeAlias = typing.Literal["optional", "required"]
# MCP's recommendation for tool names.
_NAME = r"[A-Za-z0-9_.-]{1,128}"


class PromptMark(NamedTuple):
    """The mark of `@prompt`. `definition` has the members of MCP's `Prompt` that were given."""

    definition: dict[str, Any]
    complete: Mapping[str, Complete]


class ResourceMark(NamedTuple):
    """The mark of `@resource`. `definition` has the members of MCP's `Resource` that were given; `caching` has the
    caching hints of the result.
    """

    uri: str
    definition: dict[str, Any]
    caching: dict[str, Any]
    complete: Mapping[str, Complete]


def function_of(member: Any) -> Any:
    """The function of a class member, which may be a static method or a class method."""
    return getattr(member, "__func__", member)


def is_in_class(function: Any) -> bool:
    """Whether a function is defined in a class body: then its qualified name begins with the class's."""
    outer = function.__qualname__.rpartition(".")[0]
    return bool(outer) and not outer.endswith("<locals>")


def mark(function: Any, note: tuple[Any, ...]) -> None:
    """Attach the mark `note` to a function."""
    setattr(function, _MARKS, (*getattr(function, _MARKS, ()), note))


def marked(kind: type, of: type[Mark]) -> dict[str, Mark]:
    """The marks of the type `of` in a class and its bases, by method name, those of the bases first.

    A method that overrides a marked one inherits its mark; an attribute that is not callable, such as None, removes it.
    """
    found: dict[str, Mark] = {}
    for base in reversed(kind.__mro__):
        for name, value in vars(base).items():
            notes = getattr(function_of(value), _MARKS, ())
            note = next((note for note in notes if isinstance(note, of)), None) if isinstance(notes, tuple) else None
            if note is not None:
                found[name] = note
            elif name in found and not callable(function_of(value)):
                del found[name]
    return found


def has_marks(kind: type) -> bool:
    """Whether any method of a class has a mark of any kind."""
    return bool(marked(kind, tuple))


def read_once(kind: type, attribute: str, read: Callable[[type], Read]) -> Read:
    """The return value of `read` for a class, cached in this attribute of the class itself, not of its bases."""
    if attribute not in vars(kind):
        setattr(kind, attribute, read(kind))
    found: Read = vars(kind)[attribute]
    return found


@overload
def prompt(function: Function) -> Function: ...


@overload
def prompt(
    *,
    name: str = "",
    title: str = "",
    description: str = "",
    icons: Sequence[dict[str, Any]] = (),
    meta: Mapping[str, Any] | None = None,
    complete: Mapping[str, Complete] | None = None,
) -> Callable[[Function], Function]: ...


def prompt(
    function: Any = None,
    *,
    name: str = "",
    title: str = "",
    description: str = "",
    icons: Sequence[dict[str, Any]] = (),
    meta: Mapping[str, Any] | None = None,
    complete: Mapping[str, Complete] | None = None,
) -> Any:
    """Offer a method of an `MCPAgent` as a prompt. Used as `@prompt` or `@prompt(…)`; returns the method unchanged.

    The method returns a string, an `Image`, an `Audio` or a `File`, which becomes a message with the role `user`; a
    list of these and of MCP messages; or a complete result of `prompts/get`. Its parameters are the prompt's arguments;
    the docstring describes them, and the text that a client sends is converted to the type of the type hint. Name and
    description are by default the method's name and docstring; `meta` becomes `_meta`.

    Arguments are completed from their `Literal`, `Enum` or `bool`, or by the function that `complete` maps to the
    argument's name. The function is called as a method of the agent with the text typed so far, and with the other
    arguments if it takes three parameters. It returns the values, of which the client gets the first hundred.

    Raises `TypeError` for anything but a method.
    """
    members = {
        "name": name,
        "title": title,
        "description": description,
        "icons": list(icons),
        "_meta": dict(meta or {}),
    }

    def register(function: Function) -> Function:
        given = {key: value for key, value in members.items() if value}
        mark(_method(function, "prompt"), PromptMark(given, dict(complete or {})))
        return function

    return register if function is None else register(function)


def resource(
    uri: str,
    *,
    name: str = "",
    title: str = "",
    description: str = "",
    mime_type: str = "",
    size: int | None = None,
    audience: Sequence[str] = (),
    priority: float | None = None,
    last_modified: str = "",
    icons: Sequence[dict[str, Any]] = (),
    meta: Mapping[str, Any] | None = None,
    ttl_ms: int | None = None,
    cache_scope: str = "",
    complete: Mapping[str, Complete] | None = None,
) -> Callable[[Function], Function]:
    """Offer a method of an `MCPAgent` as a resource. Returns the method unchanged.

    The method returns a string, bytes, a JSON value, or a complete result of `resources/read`. If it raises
    `LookupError` or `FileNotFoundError`, or returns None, the resource does not exist. If `uri` is a template such as
    `notes://{id}{?page}`, the method has a parameter for each variable, whose text is converted to the type of the type
    hint; a parameter for an optional variable has a default. If several templates match a URI, the one with the most
    literal characters is used; a resource without variables takes precedence over every template.

    `size` is in bytes, `priority` from 0 to 1, `audience` a list of "user" and "assistant", and `last_modified` an ISO
    8601 time. Clients may cache the result for `ttl_ms` milliseconds, and share it between users if `cache_scope` is
    "public". `meta` becomes `_meta`; `complete` is as for `prompt`.

    Raises `TypeError` for anything but a method, and `ValueError` for an invalid template.
    """
    if not isinstance(uri, str):
        raise TypeError(f"@resource needs the URI of the resource, not {uri!r}; write @resource('notes://all')")
    annotations = {"audience": list(audience), "priority": priority, "lastModified": last_modified}
    members: dict[str, Any] = {
        "name": name,
        "title": title,
        "description": description,
        "mimeType": mime_type,
        "size": size,
        "annotations": {key: value for key, value in annotations.items() if value not in ("", [], None)},
        "icons": list(icons),
        "_meta": dict(meta or {}),
    }
    caching = {"ttlMs": ttl_ms, "cacheScope": cache_scope or None}

    def register(function: Function) -> Function:
        from gaia_mcp.text.uri_templates import Template

        Template(uri)
        given = {key: value for key, value in members.items() if value or value == 0}
        caches = {key: value for key, value in caching.items() if value is not None}
        mark(_method(function, "resource"), ResourceMark(uri, given, caches, dict(complete or {})))
        return function

    return register


def _method(function: Any, decorator: str) -> Any:
    inner = function_of(function)
    if not inspect.isroutine(inner) or not is_in_class(inner):
        raise TypeError(f"@{decorator} is for methods of an agent, not for {inner!r}")
    return inner


_TYPE_NAMES: dict[Any, str] = {
    str: "string",
    int: "integer",
    float: "number",
    bool: "boolean",
    list: "array",
    tuple: "array",
    set: "array",
    frozenset: "array",
    dict: "object",
    type(None): "null",
}


class ToolMark(NamedTuple):
    """The mark of `@tool`. An empty `name` stands for the method's name, an empty `description` for its docstring.
    `more` has the members `annotations`, `execution`, `icons` and `_meta` of MCP's `Tool`, where given; `input_schema`
    is None if it is derived from the type hints; `scopes` are those that a call requires.
    """

    name: str
    title: str
    description: str
    more: dict[str, Any]
    input_schema: dict[str, Any] | None
    scopes: Sequence[str] = ()


@overload
def tool(function: Function) -> Function: ...


@overload
def tool(
    *,
    name: str = "",
    title: str = "",
    description: str = "",
    read_only: bool | None = None,
    destructive: bool | None = None,
    idempotent: bool | None = None,
    open_world: bool | None = None,
    input_schema: dict[str, Any] | None = None,
    icons: Sequence[dict[str, Any]] = (),
    meta: Mapping[str, Any] | None = None,
    task: TaskSupport | None = None,
    scopes: Sequence[str] = (),
    atomic: bool = False,
    **options: Any,
) -> Callable[[Function], Function]: ...


def tool(
    function: Any = None,
    *,
    name: str = "",
    title: str = "",
    description: str = "",
    read_only: bool | None = None,
    destructive: bool | None = None,
    idempotent: bool | None = None,
    open_world: bool | None = None,
    input_schema: dict[str, Any] | None = None,
    icons: Sequence[dict[str, Any]] = (),
    meta: Mapping[str, Any] | None = None,
    task: TaskSupport | None = None,
    scopes: Sequence[str] = (),
    atomic: bool = False,
    **options: Any,  # noqa: ARG001 (as in GAIA)
) -> Any:
    """Make a tool of a method or a function. Used as `@tool` or `@tool(…)`; returns it unchanged.

    A method of an `MCPAgent` becomes a tool for MCP clients. Its schemas are derived from its type hints. Its name and
    description are by default the method's name and docstring; the docstring's sections about parameters become the
    descriptions of the parameters instead. `read_only`, `destructive`, `idempotent` and `open_world` are the annotation
    hints of the specification; `icons` are those of MCP, and `meta` becomes `_meta`. For a method that takes
    `**arguments`, `input_schema` is the JSON Schema of the arguments object.
    With `task="optional"` a call runs as a task if the client accepts tasks; with "required" any other client gets an
    error. A tool that decides at run time calls `current_call().continue_as_task()` instead.
    With `scopes`, a call is rejected if the caller's access token lacks one of them; where callers have no access
    tokens, as over stdio, scopes have no effect. A tool whose scopes depend on its arguments compares them with
    `current_call().scopes` and raises `InsufficientScopeError`.

    Any other function is registered for the models of agents, with its name, docstring and parameters, as in GAIA. The
    options then have no effect, except `atomic`. Options that exist only in GAIA are accepted and ignored.

    Raises `TypeError` for anything but a method or function, and `ValueError` for an invalid name, `task` or scope.
    """

    def register(function: Function) -> Function:
        inner = function_of(function)
        if not inspect.isroutine(inner):
            raise TypeError(
                f"@tool is for methods and functions, not for {inner!r}; write @tool(name=…) to name a tool"
            )
        if is_in_class(inner):
            hints = {
                "readOnlyHint": read_only,
                "destructiveHint": destructive,
                "idempotentHint": idempotent,
                "openWorldHint": open_world,
            }
            given = {key: hint for key, hint in hints.items() if hint is not None}
            execution = {} if task is None else {"taskSupport": _checked_task(task)}
            more = {"annotations": given, "execution": execution, "icons": list(icons), "_meta": dict(meta or {})}
            shown = {key: value for key, value in more.items() if value}
            mark(inner, ToolMark(_checked(name), title, description, shown, input_schema, _checked_scopes(scopes)))
            return function
        _TOOL_REGISTRY[inner.__name__] = {
            "name": inner.__name__,
            "description": inspect.getdoc(function) or "",
            "parameters": _parameters(function),
            "function": function,
            "atomic": atomic,
        }
        return function

    return register if function is None else register(function)


def get_tool_display_name(tool_name: str) -> str:
    """The display name of a registered tool: for a server's tool it includes the server's name, for any other it is the
    name itself. As in newer releases of GAIA.
    """
    entry = _TOOL_REGISTRY.get(tool_name, {})
    return str(entry.get("display_name", tool_name))


def marks_of(kind: type) -> dict[str, ToolMark]:
    """The `@tool` marks in a class and its bases, by method name, those of the bases first."""
    return marked(kind, ToolMark)


def _checked(name: str) -> str:
    if name and re.fullmatch(_NAME, name) is None:
        raise ValueError(f"a tool cannot be named {name!r}: up to 128 letters, digits, '_', '-' and '.' are allowed")
    return name


def _checked_task(task: TaskSupport) -> TaskSupport:
    if task not in typing.get_args(TaskSupport):
        raise ValueError(f"task cannot be {task!r}: it is 'optional' or 'required'")
    return task


def _checked_scopes(scopes: Sequence[str]) -> tuple[str, ...]:
    if scopes:
        from gaia_mcp.server.provider import check_scope

        if isinstance(scopes, str):
            raise ValueError(f"scopes cannot be {scopes!r}: they are a list, such as [{scopes!r}]")
        for scope in scopes:
            check_scope(scope)
    return tuple(scopes)


def _parameters(function: Callable[..., Any]) -> dict[str, dict[str, Any]]:
    try:
        hints = typing.get_type_hints(function)
    except Exception:  # noqa: BLE001 (annotations are other people's code, and may be written for a type checker only)
        hints = {}
    named = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    return {
        name: {
            "type": _type_name(hints.get(name, parameter.annotation)),
            "required": parameter.default is inspect.Parameter.empty,
        }
        for name, parameter in inspect.signature(function).parameters.items()
        if parameter.kind in named
    }


def _type_name(annotation: Any) -> str | list[str]:
    """The JSON type of an annotation, a list of types for a union, or "unknown"."""
    origin = typing.get_origin(annotation)
    if origin in (typing.Union, types.UnionType):
        members = [_type_name(member) for member in typing.get_args(annotation)]
        names = list(
            dict.fromkeys(name for member in members for name in ([member] if isinstance(member, str) else member))
        )
        return names[0] if len(names) == 1 else names
    if origin is typing.Literal:
        return _type_name(typing.Union[tuple(type(value) for value in typing.get_args(annotation))])  # noqa: UP007
    return _TYPE_NAMES.get(origin or annotation, "unknown") if _is_hashable(annotation) else "unknown"


def _is_hashable(value: Any) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True

"""The decorator `tool`, for methods of an agent that MCP clients may call, and for functions that its model may call.

As in GAIA, the functions are registered in one registry per process: every agent in it sees every tool. A method is
only marked; `method_tools` reads the marks.
"""

from __future__ import annotations

import inspect
import re
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar, overload

from gaia_mcp.agents.base.marks import function_of, is_in_class, mark, marked

Function = TypeVar("Function", bound="Callable[..., Any]")

# Entries by name: `{"name", "description", "parameters": {…: {"type", "required"}}, "function", "atomic"}`.
_TOOL_REGISTRY: dict[str, dict[str, Any]] = {}

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


# The values of `execution.taskSupport` in a tool's definition.
TaskSupport: typing.TypeAlias = typing.Literal["optional", "required"]


class Mark(NamedTuple):
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


# MCP's recommendation for tool names.
_NAME = r"[A-Za-z0-9_.-]{1,128}"


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
            mark(inner, Mark(_checked(name), title, description, shown, input_schema, _checked_scopes(scopes)))
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


def marks_of(kind: type) -> dict[str, Mark]:
    """The `@tool` marks in a class and its bases, by method name, those of the bases first."""
    return marked(kind, Mark)


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

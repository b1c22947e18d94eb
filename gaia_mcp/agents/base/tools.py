"""The registry of the tools that an agent's model may call, and the decorator that fills it.

One registry for the process, as in GAIA: every agent in it sees every tool.
"""

from __future__ import annotations

import inspect
import types
import typing
from collections.abc import Callable
from typing import Any, TypeVar, overload

Function = TypeVar("Function", bound="Callable[..., Any]")

# By name: `{"name", "description", "parameters": {…: {"type", "required"}}, "function", "atomic"}`.
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


@overload
def tool(function: Function) -> Function: ...


@overload
def tool(*, atomic: bool = False, **options: Any) -> Callable[[Function], Function]: ...


def tool(function: Any = None, *, atomic: bool = False, **options: Any) -> Any:  # noqa: ARG001 (as in GAIA)
    """Register a function as a tool, as `@tool` or `@tool(atomic=True)`; the function itself is unchanged.

    The tool has its name, docstring and parameters, as in GAIA. Options that only GAIA knows are accepted and have no
    effect.
    """

    def register(function: Function) -> Function:
        _TOOL_REGISTRY[function.__name__] = {
            "name": function.__name__,
            "description": inspect.getdoc(function) or "",
            "parameters": _parameters(function),
            "function": function,
            "atomic": atomic,
        }
        return function

    return register if function is None else register(function)


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
    """The JSON type that an annotation stands for, several for a union; "unknown" if it has none."""
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

"""What decorators such as `@tool` note about a method of an agent, for the server that offers it.

A mark is a named tuple of the decorator's own; a method may have marks of several kinds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple, TypeAlias, TypeVar

# Called as a method of the agent with the text that was typed, and, if it takes more, the other arguments.
Complete: TypeAlias = Callable[..., Iterable[str]]
Mark = TypeVar("Mark", bound=tuple[Any, ...])
Read = TypeVar("Read")

# The attribute of a function that holds its marks.
_MARKS = "__mcp_marks__"


class PromptMark(NamedTuple):
    """What `@prompt` says about a method. `definition` has the members of MCP's `Prompt` that were given."""

    definition: dict[str, Any]
    complete: Mapping[str, Complete]


class ResourceMark(NamedTuple):
    """What `@resource` says about a method. `definition` has the members of MCP's `Resource` that were given;
    `caching` those of the result.
    """

    uri: str
    definition: dict[str, Any]
    caching: dict[str, Any]
    complete: Mapping[str, Complete]


def function_of(member: Any) -> Any:
    """The function of a member of a class, which may be a static method or a class method."""
    return getattr(member, "__func__", member)


def is_in_class(function: Any) -> bool:
    """Whether a function stands in the body of a class: then its qualified name begins with the class's."""
    outer = function.__qualname__.rpartition(".")[0]
    return bool(outer) and not outer.endswith("<locals>")


def mark(function: Any, note: tuple[Any, ...]) -> None:
    """Note this about a function."""
    setattr(function, _MARKS, (*getattr(function, _MARKS, ()), note))


def marked(kind: type, of: type[Mark]) -> dict[str, Mark]:
    """The marks of this kind in a class and its bases by the names of the methods, those of the bases first.

    A method that overrides a marked one has its mark; anything else that does so, such as None, removes it.
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
    """Whether a class offers any of its methods to clients, whatever their marks say."""
    return bool(marked(kind, tuple))


def read_once(kind: type, attribute: str, read: Callable[[type], Read]) -> Read:
    """What `read` returns for a class, kept in this attribute of it. Its base classes have one of their own."""
    if attribute not in vars(kind):
        setattr(kind, attribute, read(kind))
    found: Read = vars(kind)[attribute]
    return found

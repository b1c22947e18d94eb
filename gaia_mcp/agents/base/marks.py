"""The marks that decorators such as `@tool` attach to a method of an agent. The server reads them.

Each decorator has its own named tuple as its kind of mark; a method may have marks of several kinds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple, TypeAlias, TypeVar

# Called as a method of the agent with the text typed so far, and, if it takes three parameters, the other arguments.
Complete: TypeAlias = Callable[..., Iterable[str]]
Mark = TypeVar("Mark", bound=tuple[Any, ...])
Read = TypeVar("Read")

# The attribute of a function that contains its marks.
_MARKS = "__mcp_marks__"


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

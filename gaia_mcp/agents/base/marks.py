"""The marks that decorators such as `@tool` attach to a method of an agent. The server reads them.

Each decorator has its own named tuple as its kind of mark; a method may have marks of several kinds.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias, TypeVar, overload

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


Function = TypeVar("Function", bound="Callable[..., Any]")


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
        from gaia_mcp.uri_templates import Template

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

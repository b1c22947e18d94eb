"""Reading a type hint: the kind of values that it stands for."""

from __future__ import annotations

import dataclasses
import sys
import types
import typing
from collections import abc
from collections.abc import Mapping
from contextlib import suppress
from enum import Enum
from typing import Annotated, Any, TypeVar

from gaia_mcp.agents.hints.docstrings import read_docstring
from gaia_mcp.agents.hints.kinds import Choice, Described, Items, Kind, Map, Row, Scalar, Union
from gaia_mcp.agents.hints.metadata import is_described, members_of
from gaia_mcp.agents.hints.records import Member, PydanticKind, Record
from gaia_mcp.agents.hints.texts import text_kind
from gaia_mcp.jsonvalues import NotJSONError, as_json_value

_SCALARS = (str, int, float, bool, type(None))
_LISTS: dict[Any, Any] = {
    **dict.fromkeys((list, abc.Sequence, abc.MutableSequence, abc.Collection, abc.Iterable), list),
    **dict.fromkeys((set, abc.Set, abc.MutableSet), set),
    frozenset: frozenset,
}
_MAPS = (dict, abc.Mapping, abc.MutableMapping)
_UNIONS = (typing.Union, types.UnionType)
# They say something about a member of a class, not about its values.
_QUALIFIERS = ("Required", "NotRequired", "ReadOnly", "Final")

# Type variables, and what stands for them in `Page[int]`.
Variables: typing.TypeAlias = "Mapping[Any, Any]"


class HintError(TypeError):
    """A type hint that no JSON Schema stands for; the message names it."""


class Reader:
    """Reads hints; the hints of one tool by one reader, so that a type that is used twice is read once."""

    def __init__(self) -> None:
        self._known: dict[Any, Kind] = {}

    def read(self, hint: Any, variables: Variables = types.MappingProxyType({})) -> Kind:
        """The kind of a hint. Raises `HintError`."""
        if hint is Any or hint is object:
            return Kind()
        if hint is None or hint in _SCALARS:
            return Scalar(type(None) if hint is None else hint)
        if isinstance(hint, TypeVar):
            return self._read_variable(hint, variables)
        if hasattr(hint, "__supertype__"):  # NewType
            return self.read(hint.__supertype__, variables)
        if hasattr(hint, "__value__"):  # type Name = …
            return self._read_alias(hint, variables)
        return self._read_generic(hint, variables) or self._read_class(hint, variables)

    # Generic types.

    def _read_generic(self, hint: Any, variables: Variables) -> Kind | None:
        origin, arguments = typing.get_origin(hint), typing.get_args(hint)
        if origin is Annotated:
            return self._read_annotated(hint, variables)
        if origin in _UNIONS:
            return Union([self.read(member, variables) for member in arguments])
        if origin is typing.Literal:
            return _choice(hint, arguments)
        if getattr(origin, "__name__", getattr(origin, "_name", None)) in _QUALIFIERS and arguments:
            return self.read(arguments[0], variables)
        kind = origin or hint
        if kind in _LISTS:
            return Items(self.read(arguments[0] if arguments else Any, variables), _LISTS[kind])
        if hint is tuple or (kind is tuple and arguments[1:] == (...,)):
            return Items(self.read(arguments[0] if arguments else Any, variables), tuple)
        if kind is tuple:
            return Row([self.read(item, variables) for item in arguments], lambda *items: items)
        if kind in _MAPS:
            key, value = arguments or (str, Any)
            return Map(self.read(key, variables), self.read(value, variables))
        return None

    def _read_annotated(self, hint: Any, variables: Variables) -> Kind:
        inner, *metadata = typing.get_args(hint)
        if any(hasattr(type(item), "__get_pydantic_core_schema__") for item in metadata):
            return PydanticKind(hint)
        more = members_of(metadata)
        kind = self.read(inner, variables)
        return Described(kind, more) if more else kind

    def _read_variable(self, hint: TypeVar, variables: Variables) -> Kind:
        if hint in variables:
            return self.read(variables[hint], {})
        if hint.__constraints__:
            return Union([self.read(member, variables) for member in hint.__constraints__])
        return self.read(hint.__bound__ if hint.__bound__ is not None else Any, variables)

    def _read_alias(self, hint: Any, variables: Variables) -> Kind:
        if hint in self._known:
            raise HintError(f"{name_of(hint)} contains itself; use a dataclass for that")
        self._known[hint] = Kind()
        names = getattr(hint, "__type_params__", ())
        try:
            return self.read(hint.__value__, {**variables, **dict(zip(names, typing.get_args(hint), strict=False))})
        finally:
            del self._known[hint]

    # Classes.

    def _read_class(self, hint: Any, variables: Variables) -> Kind:
        kind = typing.get_origin(hint) or hint
        if not isinstance(kind, type):
            raise HintError(f"{name_of(hint)} is not a type that has a JSON Schema")
        if issubclass(kind, Enum):
            return self._remembered(kind, lambda: _choice(kind, tuple(kind), kind.__name__, _doc_of(kind)))
        if (text := text_kind(kind)) is not None:
            return text
        if "pydantic" in sys.modules and hasattr(kind, "__get_pydantic_core_schema__"):
            return self._remembered(hint, lambda: self._pydantic(hint))
        named = {**variables, **dict(zip(getattr(kind, "__parameters__", ()), typing.get_args(hint), strict=False))}
        if dataclasses.is_dataclass(kind) or _is_typed_dict(kind):
            arguments = tuple(variables.get(item, item) for item in typing.get_args(hint))
            return self._read_record(kind, named, (kind, arguments))
        if issubclass(kind, tuple) and hasattr(kind, "_fields"):
            return self._read_named_tuple(kind, named)
        raise HintError(f"{name_of(hint)} is not a type that has a JSON Schema")

    def _read_record(self, kind: Any, variables: Variables, key: Any) -> Kind:
        if key in self._known:
            return self._known[key]
        written = read_docstring(_doc_of(kind))
        record = self._known[key] = Record(kind.__name__, written.description, kind)
        hints = _hints_of(kind)
        members: dict[str, Member] = {}
        for name, hint, default, about in _members(kind, hints):
            try:
                inner = self.read(hint, variables)
            except HintError as problem:
                raise HintError(f"{kind.__name__}.{name}: {problem}") from problem
            text = None if is_described(hint) else written.parameters.get(name)
            more = {**({"description": text} if text else {}), **about}
            members[name] = member(inner, default, more)
        record.members = members
        return record

    def _read_named_tuple(self, kind: Any, variables: Variables) -> Kind:
        hints, defaults = _hints_of(kind), kind._field_defaults
        read = {name: self.read(hints.get(name, Any), variables) for name in kind._fields}
        items = [member(item, defaults.get(name, REQUIRED), {}).kind for name, item in read.items()]
        return Row(items, kind, kind._fields, len(defaults))

    def _remembered(self, hint: Any, make: Any) -> Kind:
        if hint not in self._known:
            self._known[hint] = make()
        return self._known[hint]

    def _pydantic(self, hint: Any) -> Kind:
        try:
            return PydanticKind(hint)
        except Exception as cause:  # of pydantic, which has many, about the model's own code
            raise HintError(f"{name_of(hint)}: {cause}") from cause


# The default of what is required.
REQUIRED: Any = dataclasses.MISSING


def member(kind: Kind, default: Any, more: Mapping[str, Any]) -> Member:
    """A member of this kind; `more` is added to its schema. With the default None it may be null."""
    if default is REQUIRED:
        return Member(Described(kind, dict(more)) if more else kind, is_required=True)
    if default is None and not _takes_null(kind):
        kind = Union([kind, Scalar(type(None))])
    # One that cannot be shown is used all the same.
    with suppress(NotJSONError, RecursionError):
        more = {**more, "default": as_json_value(default)} if default is not ABSENT else more
    return Member(Described(kind, dict(more)) if more else kind, is_required=False)


# The default of what may be missing, and has no value then.
ABSENT: Any = object()


def name_of(hint: Any) -> str:
    """A hint as it stands in a message."""
    return hint.__qualname__ if isinstance(hint, type) and typing.get_origin(hint) is None else str(hint)


def _members(kind: Any, hints: Mapping[str, Any]) -> list[tuple[str, Any, Any, dict[str, Any]]]:
    """The members of a dataclass or typed dictionary: name, hint, default, more for the schema."""
    if _is_typed_dict(kind):
        return [
            (name, hint, REQUIRED if _is_required(kind, name, hint) else ABSENT, {}) for name, hint in hints.items()
        ]
    found = []
    for field in dataclasses.fields(kind):
        if field.init:
            made = ABSENT if field.default_factory is not dataclasses.MISSING else field.default
            text = field.metadata.get("description")
            found.append((field.name, hints[field.name], made, {"description": text} if text else {}))
    return found


def _is_typed_dict(kind: type) -> bool:
    """Whether it is one of `typing` or of `typing_extensions`."""
    return issubclass(kind, dict) and hasattr(kind, "__required_keys__")


def _is_required(kind: Any, name: str, hint: Any) -> bool:
    """Python 3.11 does not see the qualifiers of `typing_extensions`, nor those in hints that are text."""
    outer = typing.get_args(hint)[0] if typing.get_origin(hint) is Annotated else hint
    qualifier = getattr(typing.get_origin(outer), "_name", None)
    return qualifier == "Required" or (name in kind.__required_keys__ and qualifier != "NotRequired")


def _hints_of(kind: Any) -> dict[str, Any]:
    try:
        return typing.get_type_hints(kind, include_extras=True)
    except Exception as cause:  # annotations are other people's code
        raise HintError(f"{kind.__name__}: {cause}") from cause


def _choice(hint: Any, values: tuple[Any, ...], name: str = "", description: str = "") -> Kind:
    try:
        return Choice(values, name, description)
    except (NotJSONError, RecursionError) as problem:
        raise HintError(f"{name_of(hint)} has a value that is not JSON: {problem}") from problem


def _takes_null(kind: Kind) -> bool:
    try:
        kind.convert(None, "")
    except ValueError:
        return False
    return True


def _doc_of(kind: Any) -> str:
    """The docstring that was written for a class, not one that Python made or that it inherits."""
    text = vars(kind).get("__doc__") or ""
    made = text.startswith(f"{kind.__name__}(") or text == "An enumeration."
    return "" if made else text

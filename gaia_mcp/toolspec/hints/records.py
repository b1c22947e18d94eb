"""Kinds of values with named members: dataclasses and typed dictionaries; and pydantic's models and types."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from gaia_mcp.jsonvalues import NotJSONError, as_json_value, at
from gaia_mcp.toolspec.hints.kinds import ConversionError, Described, Kind, Scalar, Union, an_object

if TYPE_CHECKING:
    from gaia_mcp.toolspec.hints.kinds import Definitions

Wire = dict[str, Any]

# The default of required members, and of optional members without a default.
REQUIRED: Any = dataclasses.MISSING
ABSENT: Any = object()


class Member(NamedTuple):
    """A member of a record, or a parameter of a tool."""

    kind: Kind
    is_required: bool


class Record(Kind):
    """An object with these members, which `make` converts; unknown members are ignored.

    `members` may be set later, since a record may contain itself.
    """

    def __init__(self, name: str, description: str, make: Callable[..., Any]) -> None:
        self._name = name
        self._description = description
        self._make = make
        self.members: Mapping[str, Member] = {}

    def schema(self, definitions: Definitions) -> Wire:
        return definitions.reference(self, self._name, lambda: self._written(definitions))

    def convert(self, value: Any, where: str) -> Any:
        converted = converted_members(self.members, an_object(value, where), where)
        try:
            return self._make(**converted)
        except (TypeError, ValueError) as cause:  # Raised by the class's own code, such as `__post_init__`.
            raise ConversionError(where, str(cause)) from cause

    def distance(self, value: Any) -> int:
        return len(set(value) - set(self.members)) if isinstance(value, dict) else 0

    def _written(self, definitions: Definitions) -> Wire:
        written = object_schema(self.members, definitions)
        return {**written, "description": self._description} if self._description else written


class Alias(Kind):
    """A named alias of `kind`, which is set later, since it may contain the alias."""

    def __init__(self, name: str) -> None:
        self._name = name
        self.kind = Kind()

    def schema(self, definitions: Definitions) -> Wire:
        return definitions.reference(self, self._name, lambda: self.kind.schema(definitions))

    def convert(self, value: Any, where: str) -> Any:
        return self.kind.convert(value, where)

    def distance(self, value: Any) -> int:
        return self.kind.distance(value)


class PydanticKind(Kind):
    """A model or type of pydantic's."""

    def __init__(self, hint: Any) -> None:
        # Loaded already, since the hint is one of its types.
        self._pydantic = sys.modules["pydantic"]
        self._adapter = self._pydantic.TypeAdapter(hint)

    def schema(self, definitions: Definitions) -> Wire:
        mode = "serialization" if definitions.for_output else "validation"
        return definitions.adopt(lambda template: self._adapter.json_schema(ref_template=template, mode=mode))

    def convert(self, value: Any, where: str) -> Any:
        try:
            return self._adapter.validate_python(value)
        except self._pydantic.ValidationError as cause:
            first = cause.errors()[0]
            for step in first["loc"]:
                where = at(where, step)
            raise ConversionError(where, first["msg"]) from cause


def object_schema(members: Mapping[str, Member], definitions: Definitions) -> Wire:
    """The schema of an object with these members."""
    required = [name for name, member in members.items() if member.is_required]
    properties = {name: member.kind.schema(definitions) for name, member in members.items()}
    return {"type": "object", "properties": properties, **({"required": required} if required else {})}


def converted_members(members: Mapping[str, Member], value: dict[str, Any], where: str) -> dict[str, Any]:
    """The members of `value`, converted. Raises `ConversionError`, also if a required one is missing."""
    for name, member in members.items():
        if member.is_required and name not in value:
            raise ConversionError(where, f"{name!r} is missing")
    return {
        name: member.kind.convert(value[name], at(where, name)) for name, member in members.items() if name in value
    }


def member(kind: Kind, default: Any, more: Mapping[str, Any]) -> Member:
    """A member of this kind; `more` is added to its schema. With the default None it accepts null."""
    if default is REQUIRED:
        return Member(Described(kind, dict(more)) if more else kind, is_required=True)
    if default is None and not _takes_null(kind):
        kind = Union([kind, Scalar(type(None))])
    # A default that cannot be expressed as JSON is used nevertheless.
    with suppress(NotJSONError, RecursionError):
        more = {**more, "default": as_json_value(default)} if default is not ABSENT else more
    return Member(Described(kind, dict(more)) if more else kind, is_required=False)


def _takes_null(kind: Kind) -> bool:
    try:
        kind.convert(None, "")
    except ValueError:
        return False
    return True

"""Kinds of values: JSON's own types, lists, maps, choices and unions; those that JSON represents as strings, such as
times and bytes; and those with named members: dataclasses, typed dictionaries, pydantic's models.

A kind creates the schema of its values, and converts a JSON value. `Definitions` holds the schemas referenced by
`$ref`: of types that are used twice, or contain themselves. The conversion validates types only; limits such as
`minimum` are validated with the schema.
"""

from __future__ import annotations

import base64
import dataclasses
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from gaia_mcp.core.content import NotJSONError, as_json_value, at
from gaia_mcp.text.strict_json import is_same
from gaia_mcp.toolspec.arguments import number_in

if TYPE_CHECKING:
    from datetime import timedelta

LEAD = "#/$defs/"
# Keywords whose content is values, not schemas.
_VALUES = frozenset({"default", "const", "enum", "examples"})
Wire = dict[str, Any]
# The suffixes of the keywords `min…` and `max…` for values that are not strings.
_UNITS: dict[Any, str] = {"array": "Items", "object": "Properties"}
# The default of required members, and of optional members without a default.
REQUIRED: Any = dataclasses.MISSING
_NUMBER = r"([0-9]+(?:[.,][0-9]+)?)"
_DURATION = re.compile(rf"([-+]?)P(?:{_NUMBER}W)?(?:{_NUMBER}D)?(?:T(?:{_NUMBER}H)?(?:{_NUMBER}M)?(?:{_NUMBER}S)?)?")
_DURATION_UNITS = ("weeks", "days", "hours", "minutes", "seconds")
_DECIMAL = r"^[+-]?(\d+\.?\d*|\.\d+)$"


class Definitions:
    """The named schemas of one schema. `for_output`: of a tool's results, not of its arguments."""

    def __init__(self, *, for_output: bool = False) -> None:
        self.for_output = for_output
        self._names: dict[object, str] = {}
        self._schemas: dict[str, Wire] = {}

    def reference(self, key: object, name: str, write: Callable[[], Wire]) -> Wire:
        """A reference to the schema of `key`, which `write` creates on first use."""
        if key not in self._names:
            self._names[key] = unique = self._free(name)
            self._schemas[unique] = {}
            self._schemas[unique] = write()
        return {"$ref": LEAD + self._names[key]}

    def adopt(self, make: Callable[[str], Wire]) -> Wire:
        """A schema with definitions of its own. `make` receives the template of their references."""
        schema = make(LEAD + "{model}")
        suffix = 1
        while any(self._schemas.get(name, own) != own for name, own in schema.get("$defs", {}).items()):
            # Another type has the same name.
            suffix += 1
            schema = make(f"{LEAD}{{model}}{suffix}")
            named = {f"{name}{suffix}": own for name, own in schema.get("$defs", {}).items()}
            schema = {**schema, "$defs": named}
        self._schemas.update(schema.pop("$defs", {}))
        return schema

    def complete(self, schema: Wire) -> Wire:
        """`schema` with the definitions that it needs. A schema that is referenced once is inlined."""
        uses: dict[str, int] = {}
        for part in (schema, *self._schemas.values()):
            for inner in _parts(part):
                if (name := _name_of(inner)) is not None:
                    uses[name] = uses.get(name, 0) + 1
        self._unfold(schema, uses)
        for part in self._schemas.values():
            self._unfold(part, uses)
        kept = {name: part for name, part in self._schemas.items() if uses.get(name, 0) > 1}
        if (name := _name_of(schema)) is not None:
            # The root of a tool's schema is an object, not a reference.
            schema = {**kept[name], **{key: value for key, value in schema.items() if key != "$ref"}}
        return {**schema, "$defs": kept} if kept else schema

    def _unfold(self, schema: Wire, uses: dict[str, int]) -> None:
        for part in list(_parts(schema)):
            while (name := _name_of(part)) is not None and uses[name] == 1:
                beside = {key: value for key, value in part.items() if key != "$ref"}
                part.clear()
                part.update({**self._schemas[name], **beside})

    def _free(self, name: str) -> str:
        number = 1
        unique = name
        while unique in self._schemas:
            number += 1
            unique = f"{name}{number}"
        return unique


def _name_of(schema: Wire) -> str | None:
    reference = schema.get("$ref")
    return reference.removeprefix(LEAD) if isinstance(reference, str) and reference.startswith(LEAD) else None


def _parts(schema: Any) -> Iterator[Wire]:
    """A schema and all schemas in it."""
    if isinstance(schema, dict):
        yield schema
        for key, inner in list(schema.items()):
            if key == "properties" and isinstance(inner, dict):
                # Its keys are names, one of which may be "enum".
                for property_schema in list(inner.values()):
                    yield from _parts(property_schema)
            elif key not in _VALUES:
                yield from _parts(inner)
    elif isinstance(schema, list):
        for item in schema:
            yield from _parts(item)


TYPE_NAMES: dict[type, str] = {str: "string", int: "integer", float: "number", bool: "boolean", type(None): "null"}


class ConversionError(ValueError):
    """A JSON value that its hint does not allow. `where` is its path (`a.b[0]`)."""

    def __init__(self, where: str, problem: str) -> None:
        super().__init__(f"{where}: {problem}")
        self.where = where
        self.problem = problem


class Kind:
    """Any JSON value, unchanged."""

    def schema(self, definitions: Definitions) -> Wire:  # noqa: ARG002 (others need them)
        """Its JSON Schema, as a new dict."""
        return {}

    def convert(self, value: Any, where: str) -> Any:  # noqa: ARG002
        """The Python value of the JSON value at the path `where`. Raises `ConversionError`."""
        return value

    def distance(self, value: Any) -> int:  # noqa: ARG002
        """A measure of the loss when `value` is converted: of a union, the kind with the smallest is chosen."""
        return 0


class Scalar(Kind):
    """A string, an integer, a number, a boolean or null: `of` is the Python type."""

    def __init__(self, of: type) -> None:
        self.of = of

    def schema(self, definitions: Definitions) -> Wire:  # noqa: ARG002
        return {"type": TYPE_NAMES[self.of]}

    def convert(self, value: Any, where: str) -> Any:
        if type(value) is self.of:
            return value
        is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
        # JSON Schema does not distinguish them: 2.0 is an integer, and 2 a number.
        if is_number and (self.of is float or (self.of is int and float(value).is_integer())):
            try:
                return self.of(value)
            except OverflowError as cause:
                raise ConversionError(where, f"{shown(value)} is too large for a float") from cause
        raise ConversionError(where, f"{shown(value)} is not of type {TYPE_NAMES[self.of]!r}")

    def distance(self, value: Any) -> int:
        return int({self.of, type(value)} == {int, float})


class Choice(Kind):
    """One of several values, of an enumeration or a `Literal`. `name` is the enumeration's."""

    def __init__(self, values: Sequence[Any], name: str = "", description: str = "") -> None:
        self._choices = [(as_json_value(value), value) for value in values]
        self._name = name
        self._description = description

    def schema(self, definitions: Definitions) -> Wire:
        if self._name:
            return definitions.reference(self, self._name, self._written)
        return self._written()

    def convert(self, value: Any, where: str) -> Any:
        for plain, choice in self._choices:
            if is_same(plain, value):
                return choice
        raise ConversionError(where, f"{shown(value)} is not one of {[plain for plain, _ in self._choices]}")

    def _written(self) -> Wire:
        plain = [plain for plain, _ in self._choices]
        types = {TYPE_NAMES.get(type(value)) for value in plain}
        written: Wire = {"enum": plain}
        if len(types) == 1 and None not in types:
            written["type"] = types.pop()
        if self._description:
            written["description"] = self._description
        return written


class Items(Kind):
    """A list of any length; `make` converts it to a list, set, frozenset or tuple."""

    def __init__(self, item: Kind, make: Callable[[Any], Any]) -> None:
        self._item = item
        self._make = make

    def schema(self, definitions: Definitions) -> Wire:
        written: Wire = {"type": "array", "items": self._item.schema(definitions)}
        if self._make in (set, frozenset):
            written["uniqueItems"] = True
        return written

    def convert(self, value: Any, where: str) -> Any:
        items = [self._item.convert(item, at(where, number)) for number, item in enumerate(a_list(value, where))]
        try:
            return self._make(items)
        except TypeError as cause:  # An unhashable item.
            raise ConversionError(where, str(cause)) from cause

    def distance(self, value: Any) -> int:
        return sum(map(self._item.distance, value)) if isinstance(value, list) else 0


class Row(Kind):
    """A list with a kind for each item: a tuple, or a named tuple with `names`, the last `optional` of which have
    defaults. `make` is called with the items.
    """

    def __init__(
        self, items: Sequence[Kind], make: Callable[..., Any], names: Sequence[str] = (), optional: int = 0
    ) -> None:
        self._items = items
        self._make = make
        self._names = names
        self._least = len(items) - optional

    def schema(self, definitions: Definitions) -> Wire:
        rows = [item.schema(definitions) for item in self._items]
        for name, row in zip(self._names, rows, strict=False):
            row["title"] = name
        size = {"minItems": self._least, "maxItems": len(rows)}
        return {"type": "array", **({"prefixItems": rows} if rows else {}), **size}

    def convert(self, value: Any, where: str) -> Any:
        items = a_list(value, where)
        if not self._least <= len(items) <= len(self._items):
            raise ConversionError(where, f"{shown(value)} does not have {len(self._items)} items")
        pairs = zip(self._items, items, strict=False)
        return self._make(*(kind.convert(item, at(where, number)) for number, (kind, item) in enumerate(pairs)))


class Map(Kind):
    """An object whose values are all of one kind, and so are its keys."""

    def __init__(self, key: Kind, value: Kind) -> None:
        self._key = key
        self._value = value

    def schema(self, definitions: Definitions) -> Wire:
        written: Wire = {"type": "object", "additionalProperties": self._value.schema(definitions) or True}
        key = self._key.schema(definitions)
        if key not in ({}, {"type": "string"}) and ("$ref" in key or key.get("type") == "string"):
            written["propertyNames"] = key
        return written

    def convert(self, value: Any, where: str) -> Any:
        return {
            self._key_of(key, where): self._value.convert(item, at(where, key))
            for key, item in an_object(value, where).items()
        }

    def _key_of(self, key: str, where: str) -> Any:
        if isinstance(self._key, Scalar) and self._key.of in (int, float):
            number = number_in(key)
            if number is None:
                raise ConversionError(where, f"the key {key!r} is not a number")
            return self._key.convert(number, at(where, key))
        return self._key.convert(key, at(where, key))


class Union(Kind):
    """One of several kinds: the nearest to which the value can be converted; the first of equally near ones."""

    def __init__(self, members: Sequence[Kind]) -> None:
        self._members = members

    def schema(self, definitions: Definitions) -> Wire:
        schemas = [member.schema(definitions) for member in self._members]
        if {"type": "number"} in schemas:  # Every integer is a number.
            schemas = [schema for schema in schemas if schema != {"type": "integer"}]
        return {"anyOf": schemas} if len(schemas) > 1 else schemas[0]

    def convert(self, value: Any, where: str) -> Any:
        problems = []
        for member in sorted(self._members, key=lambda member: member.distance(value)):
            try:
                return member.convert(value, where)
            except ConversionError as problem:
                problems.append(problem)
        # The error of the conversion that got furthest is the most relevant.
        raise max(problems, key=lambda problem: len(problem.where))

    def distance(self, value: Any) -> int:
        return min(member.distance(value) for member in self._members)


class Described(Kind):
    """A kind with additional members in its schema: a description, limits, a default. The limits `min_length` and
    `max_length` become the keywords of its type.
    """

    def __init__(self, kind: Kind, more: Wire) -> None:
        self._kind = kind
        self._more = more

    def schema(self, definitions: Definitions) -> Wire:
        schema = self._kind.schema(definitions)
        unit = _UNITS.get(schema.get("type"), "Length")
        return {**schema, **{key.replace("_length", unit): value for key, value in self._more.items()}}

    def convert(self, value: Any, where: str) -> Any:
        return self._kind.convert(value, where)

    def distance(self, value: Any) -> int:
        return self._kind.distance(value)


def a_list(value: Any, where: str) -> list[Any]:
    """`value`. Raises `ConversionError` if it is not a list."""
    if not isinstance(value, list):
        raise ConversionError(where, f"{shown(value)} is not of type 'array'")
    return value


def an_object(value: Any, where: str) -> dict[str, Any]:
    """`value`. Raises `ConversionError` if it is not an object."""
    if not isinstance(value, dict):
        raise ConversionError(where, f"{shown(value)} is not of type 'object'")
    return value


def shown(value: Any) -> str:
    """`value` for a message, truncated."""
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:79]}…"


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


class Text(Kind):
    """A value that `make` parses from a string; `noun` names it in messages."""

    def __init__(self, noun: str, schema: Wire, make: Callable[[str], Any]) -> None:
        self._noun = noun
        self._schema = schema
        self._make = make

    def schema(self, definitions: Definitions) -> Wire:  # noqa: ARG002
        return {"type": "string", **self._schema}

    def convert(self, value: Any, where: str) -> Any:
        if not isinstance(value, str):
            raise ConversionError(where, f"{shown(value)} is not of type 'string'")
        try:
            return self._make(value)
        except (ValueError, ArithmeticError) as cause:
            raise ConversionError(where, f"{shown(value)} is not {self._noun}") from cause


class DecimalText(Text):
    """A decimal number: a string with all its digits, or a number."""

    def __init__(self, make: Callable[[str], Any]) -> None:
        super().__init__("a decimal number", {"pattern": _DECIMAL}, make)

    def schema(self, definitions: Definitions) -> Wire:
        return {"anyOf": [{"type": "number"}, super().schema(definitions)]}

    def convert(self, value: Any, where: str) -> Any:
        is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
        # From its text, which has the digits that were sent.
        return super().convert(str(value) if is_number else value, where)


def duration(text: str) -> timedelta:
    """The duration of an ISO 8601 string such as `P1DT2H3M4.5S`. Raises `ValueError`, `OverflowError`."""
    from datetime import timedelta

    matched = _DURATION.fullmatch(text)
    if matched is None or text.endswith(("P", "T")):
        raise ValueError(f"{text!r} is not a duration")
    given = zip(_DURATION_UNITS, matched.groups()[1:], strict=True)
    numbers = {unit: float(number.replace(",", ".")) for unit, number in given if number}
    return timedelta(**numbers) * (-1 if matched[1] == "-" else 1)


# By the full name of the type: the function that creates its kind.
_TEXTS: dict[str, Callable[[Any], Kind]] = {
    "datetime.datetime": lambda kind: Text("a date and time", {"format": "date-time"}, kind.fromisoformat),
    "datetime.date": lambda kind: Text("a date", {"format": "date"}, kind.fromisoformat),
    "datetime.time": lambda kind: Text("a time", {"format": "time"}, kind.fromisoformat),
    "datetime.timedelta": lambda _: Text("a duration such as P1DT2H30M", {"format": "duration"}, duration),
    "uuid.UUID": lambda kind: Text("a UUID", {"format": "uuid"}, kind),
    "builtins.bytes": lambda _: Text("base64", {"contentEncoding": "base64"}, _from_base64),
    "decimal.Decimal": DecimalText,
}


def text_kind(hint: type) -> Kind | None:
    """The kind of a type whose values are strings, None for any other type."""
    # Some Python versions define the paths in a submodule of `pathlib`.
    module = hint.__module__.partition(".")[0]
    if module == "pathlib" and hasattr(hint, "__fspath__"):
        return Text("a path", {"format": "path"}, hint)
    make = _TEXTS.get(f"{module}.{hint.__qualname__}")
    return make(hint) if make is not None else None


def _from_base64(text: str) -> bytes:
    return base64.b64decode(text, validate=True)

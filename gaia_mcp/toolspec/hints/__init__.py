"""Converts type hints to JSON Schemas, and JSON values to the types of the hints.

A hint is read once into a tree of kinds, with limits from `Annotated`; descriptions come from docstrings in Google,
NumPy or Sphinx style. A kind creates its schema, and converts a JSON value: an object becomes a dataclass, a string a
date, a list a set (`kinds`, which also collects the schemas that are referenced).

The schemas are equivalent to pydantic's for the same hints, so that a tool can be moved here from the official SDK
unchanged, with three exceptions: bytes are base64, a parameter with the default None accepts null, and unknown
arguments are rejected.

pydantic itself is never imported. If a hint contains one of its models or types, it is loaded already, and is used.
"""

from __future__ import annotations

import dataclasses
import math
import re
import sys
import types
import typing
from collections import abc
from collections.abc import Iterable, Mapping
from enum import Enum
from inspect import cleandoc
from typing import Annotated, Any, NamedTuple, TypeVar

from gaia_mcp.core.content import NotJSONError, as_json_value
from gaia_mcp.toolspec.hints.kinds import (
    ABSENT,
    REQUIRED,
    Alias,
    Choice,
    Definitions,
    Described,
    Items,
    Kind,
    Map,
    Member,
    PydanticKind,
    Record,
    Row,
    Scalar,
    Union,
    member,
    text_kind,
)

_SCALARS = (str, int, float, bool, type(None))
_LISTS: dict[Any, Any] = {
    **dict.fromkeys((list, abc.Sequence, abc.MutableSequence, abc.Collection, abc.Iterable), list),
    **dict.fromkeys((set, abc.Set, abc.MutableSet), set),
    frozenset: frozenset,
}
_MAPS = (dict, abc.Mapping, abc.MutableMapping)
_UNIONS = (typing.Union, types.UnionType)
# Qualifiers of a class member, which do not affect its values.
_QUALIFIERS = ("Required", "NotRequired", "ReadOnly", "Final")
Wire = dict[str, Any]
# The attributes of limits in `annotated_types` and pydantic, and their JSON Schema keywords.
_LIMITS = {
    "ge": "minimum",
    "gt": "exclusiveMinimum",
    "le": "maximum",
    "lt": "exclusiveMaximum",
    "multiple_of": "multipleOf",
    "pattern": "pattern",
}
_LENGTHS = ("min_length", "max_length")
_PARAMETERS = ("args", "arguments", "parameters", "params", "keyword args", "other parameters", "attributes")
# Sections that a model does not need, or that the result's schema describes.
_DROPPED = ("returns", "return", "yields", "yield", "raises", "warns")
_HEADING = re.compile(r"([A-Za-z][A-Za-z ]*):\s*$")
_UNDERLINE = re.compile(r"-{3,}\s*$")
# `name: text`, `name (type): text`, `*names: text`.
_GOOGLE = re.compile(r"\*{0,2}(\w+)\s*(?:\([^)]*\)\s*)?:\s*((?!\s).*)$")
# `name`, `name : type`, `first, second : type`.
_NUMPY = re.compile(r"(\*{0,2}\w+(?:\s*,\s*\*{0,2}\w+)*)\s*(?::.*)?$")
_SPHINX = re.compile(
    r":(param|parameter|arg|argument|key|keyword|type|rtype|returns?|yields?|raises?|except|exception|var|ivar|cvar)"
    r"(?:\s+((?!\s)[^:]*))?:\s*((?!\s).*)$"
)


class HintError(TypeError):
    """A type hint without a JSON Schema; the message names it."""


class Reader:
    """Reads hints. All hints of a tool are read by one reader, so that a type that is used twice is read once."""

    def __init__(self) -> None:
        self._known: dict[Any, Kind] = {}

    def read(self, hint: Any) -> Kind:
        """The kind of a hint. Raises `HintError`."""
        if hint is Any or hint is object:
            return Kind()
        if hint is None or hint in _SCALARS:
            return Scalar(type(None) if hint is None else hint)
        if not isinstance(hint, abc.Hashable):
            raise HintError(f"{hint} is not a type that has a JSON Schema")
        if isinstance(hint, TypeVar):
            return self._read_variable(hint)
        if hasattr(hint, "__supertype__"):  # NewType
            return self.read(hint.__supertype__)
        if hasattr(hint, "__value__"):  # type Name = …
            return self._read_alias(hint)
        return self._read_generic(hint) or self._read_class(hint)

    # Generic types.

    def _read_generic(self, hint: Any) -> Kind | None:
        origin, arguments = typing.get_origin(hint), typing.get_args(hint)
        if origin is Annotated:
            return self._read_annotated(hint)
        if origin in _UNIONS:
            return Union([self.read(member) for member in arguments])
        if origin is typing.Literal:
            return _choice(hint, arguments)
        if getattr(origin, "__name__", getattr(origin, "_name", None)) in _QUALIFIERS and arguments:
            return self.read(arguments[0])
        kind = origin or hint
        if kind in _LISTS:
            return Items(self.read(arguments[0] if arguments else Any), _LISTS[kind])
        if hint is tuple or (kind is tuple and arguments[1:] == (...,)):
            return Items(self.read(arguments[0] if arguments else Any), tuple)
        if kind is tuple:
            return Row([self.read(item) for item in arguments], lambda *items: items)
        if kind in _MAPS:
            key, value = arguments or (str, Any)
            return Map(self.read(key), self.read(value))
        return None

    def _read_annotated(self, hint: Any) -> Kind:
        inner, *metadata = typing.get_args(hint)
        if any(hasattr(type(item), "__get_pydantic_core_schema__") for item in metadata):
            return self._read_pydantic(hint)
        more = members_of(metadata)
        kind = self.read(inner)
        return Described(kind, more) if more else kind

    def _read_variable(self, hint: TypeVar) -> Kind:
        if hint.__constraints__:
            return Union([self.read(member) for member in hint.__constraints__])
        return self.read(hint.__bound__ if hint.__bound__ is not None else Any)

    def _read_alias(self, hint: Any) -> Kind:
        if hint in self._known:
            return self._known[hint]
        alias = self._known[hint] = Alias(name_of(typing.get_origin(hint) or hint))
        kind = self.read(_bound(hint.__value__, _arguments_of(hint, getattr(hint, "__type_params__", ()))))
        if kind is alias:
            raise HintError(f"{name_of(hint)} stands for nothing but itself")
        alias.kind = kind
        return alias

    # Classes.

    def _read_class(self, hint: Any) -> Kind:
        kind = typing.get_origin(hint) or hint
        if not isinstance(kind, type):
            raise HintError(f"{name_of(hint)} is not a type that has a JSON Schema")
        if issubclass(kind, Enum):
            return self._remembered(kind, lambda: _choice(kind, tuple(kind), kind.__name__, _doc_of(kind)))
        if (text := text_kind(kind)) is not None:
            return text
        if "pydantic" in sys.modules and hasattr(kind, "__get_pydantic_core_schema__"):
            return self._remembered(hint, lambda: self._read_pydantic(hint))
        if dataclasses.is_dataclass(kind) or _is_typed_dict(kind):
            return self._known[hint] if hint in self._known else self._read_record(hint, kind)
        if issubclass(kind, tuple) and hasattr(kind, "_fields"):
            return self._read_named_tuple(hint, kind)
        raise HintError(f"{name_of(hint)} is not a type that has a JSON Schema")

    def _read_record(self, hint: Any, kind: Any) -> Kind:
        written = read_docstring(_doc_of(kind))
        record = self._known[hint] = Record(kind.__name__, written.description, kind)
        members: dict[str, Member] = {}
        for name, inner, default, about in _members(kind, _hints_of(hint, kind)):
            try:
                read = self.read(inner)
            except HintError as problem:
                raise HintError(f"{kind.__name__}.{name}: {problem}") from problem
            text = None if is_described(inner) else written.parameters.get(name)
            members[name] = member(read, default, {**({"description": text} if text else {}), **about})
        record.members = members
        return record

    def _read_named_tuple(self, hint: Any, kind: Any) -> Kind:
        hints, defaults = _hints_of(hint, kind), kind._field_defaults
        read = {name: self.read(hints.get(name, Any)) for name in kind._fields}
        items = [member(item, defaults.get(name, REQUIRED), {}).kind for name, item in read.items()]
        return Row(items, kind, kind._fields, len(defaults))

    def _remembered(self, hint: Any, make: Any) -> Kind:
        if hint not in self._known:
            self._known[hint] = make()
        return self._known[hint]

    def _read_pydantic(self, hint: Any) -> Kind:
        try:
            kind = PydanticKind(hint)
            # Some types can be validated but have no schema.
            kind.schema(Definitions())
            return kind
        except Exception as cause:  # one of many of pydantic's, or of the model's own code
            raise HintError(f"{name_of(hint)}: {cause}") from cause


def name_of(hint: Any) -> str:
    """A hint as text for a message."""
    return hint.__qualname__ if isinstance(hint, type) and typing.get_origin(hint) is None else str(hint)


def _members(kind: Any, hints: Mapping[str, Any]) -> list[tuple[str, Any, Any, dict[str, Any]]]:
    """The members of a dataclass or typed dictionary: name, hint, default, additional members of the schema."""
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
    """Whether it is one of `typing` or `typing_extensions`."""
    return issubclass(kind, dict) and hasattr(kind, "__required_keys__")


def _is_required(kind: Any, name: str, hint: Any) -> bool:
    """Python 3.11 does not recognise the qualifiers of `typing_extensions`, nor those in string hints."""
    outer = typing.get_args(hint)[0] if typing.get_origin(hint) is Annotated else hint
    qualifier = getattr(typing.get_origin(outer), "_name", None)
    return qualifier == "Required" or (name in kind.__required_keys__ and qualifier != "NotRequired")


def _hints_of(hint: Any, kind: Any) -> dict[str, Any]:
    """The hints of the class `hint`, which may have type arguments, as in `Page[int]`."""
    try:
        hints = typing.get_type_hints(kind, include_extras=True)
    except Exception as cause:  # annotations are the author's code
        raise HintError(f"{kind.__name__}: {cause}") from cause
    variables = _arguments_of(hint, getattr(kind, "__parameters__", ()))
    return {name: _bound(inner, variables) for name, inner in hints.items()}


def _arguments_of(hint: Any, names: tuple[Any, ...]) -> dict[Any, Any]:
    return dict(zip(names, typing.get_args(hint), strict=False))


def _bound(hint: Any, variables: Mapping[Any, Any]) -> Any:
    """A hint with its type variables replaced."""
    if isinstance(hint, TypeVar):
        return variables.get(hint, hint)
    names = getattr(hint, "__parameters__", ()) if typing.get_args(hint) and variables else ()
    return hint[tuple(variables.get(name, name) for name in names)] if names else hint


def _choice(hint: Any, values: tuple[Any, ...], name: str = "", description: str = "") -> Kind:
    try:
        return Choice(values, name, description)
    except (NotJSONError, RecursionError) as problem:
        raise HintError(f"{name_of(hint)} has a value that is not JSON: {problem}") from problem


def _doc_of(kind: Any) -> str:
    """The class's own docstring, not a generated or an inherited one."""
    text = vars(kind).get("__doc__") or ""
    made = text.startswith(f"{kind.__name__}(") or text == "An enumeration."
    return "" if made else text


def members_of(metadata: Iterable[Any]) -> Wire:
    """The members that these metadata add to a schema.

    A string is the description, and a dict is added unchanged. Objects of `annotated_types`, `typing_extensions.Doc`
    and pydantic's `Field` are recognised by their attributes; unknown objects are ignored.
    """
    found: Wire = {}
    for item in metadata:
        if isinstance(item, str):
            found["description"] = item
        elif isinstance(item, dict):
            found.update(item)
        elif not isinstance(item, type):
            found.update(_members_of_object(item))
    return found


def is_described(hint: Any) -> bool:
    """Whether a hint is an `Annotated` with a description."""
    return typing.get_origin(hint) is typing.Annotated and "description" in members_of(typing.get_args(hint)[1:])


def is_field(value: Any) -> bool:
    """Whether `value` is a result of pydantic's `Field()`."""
    kind = type(value)
    return kind.__name__ == "FieldInfo" and kind.__module__.startswith("pydantic")


def _members_of_object(item: Any) -> Wire:
    found: Wire = {}
    for name, keyword in (("documentation", "description"), ("description", "description"), ("title", "title")):
        if isinstance(text := getattr(item, name, None), str):
            found[keyword] = text
    if is_field(item):
        if item.examples:
            found["examples"] = list(item.examples)
        extra = item.json_schema_extra
        found.update(extra if isinstance(extra, dict) else {})
        for limit in item.metadata:
            found.update(_members_of_object(limit))
        return found
    limits = {keyword: getattr(item, name, None) for name, keyword in _LIMITS.items()}
    for keyword, limit in limits.items():
        if limit is not None and not (isinstance(limit, float) and math.isinf(limit)):
            try:
                found[keyword] = as_json_value(getattr(limit, "pattern", limit))
            except NotJSONError:
                continue  # A limit for values that JSON Schema cannot compare.
    for name in _LENGTHS:
        if isinstance(length := getattr(item, name, None), int):
            found[name] = length  # `Described` chooses the keyword.
    return found


class Docstring(NamedTuple):
    """`description` is the text without the sections about parameters, results and exceptions."""

    description: str
    parameters: dict[str, str]


def read_docstring(text: str | None) -> Docstring:
    """Parses a docstring as written in the source."""
    return _Reader(cleandoc(text or "").split("\n")).read()


class _Reader:
    """Reads line by line; `_section` is the section that the line belongs to, empty for the description."""

    def __init__(self, lines: list[str]) -> None:
        self._lines = lines
        self._kept: list[str] = []
        self._found: dict[str, list[str]] = {}
        self._section = ""
        self._is_numpy = False
        self._names: list[str] = []

    def read(self) -> Docstring:
        skip = False
        for number, line in enumerate(self._lines):
            after = self._lines[number + 1] if number + 1 < len(self._lines) else ""
            if skip:
                skip = False
            elif _UNDERLINE.match(after) and line.strip().lower() in (*_PARAMETERS, *_DROPPED):
                self._begin(line.strip().lower(), is_numpy=True)
                skip = True
            elif (heading := _HEADING.match(line)) and heading[1].lower() in (*_PARAMETERS, *_DROPPED):
                self._begin(heading[1].lower(), is_numpy=False)
            elif field := _SPHINX.match(line):
                self._begin_field(field[1], field[2] or "", field[3])
            else:
                if self._section and line and not line.startswith(" ") and not self._is_numpy:
                    self._section = ""  # A section ends with its indentation.
                elif self._is_numpy and _UNDERLINE.match(after):
                    self._section, self._is_numpy = "", False  # A heading that is kept, such as Notes.
                self._take(line)
        texts = {name: " ".join(lines).strip() for name, lines in self._found.items()}
        kept = re.sub(r"\n{3,}", "\n\n", "\n".join(self._kept)).strip()
        return Docstring(kept, {name: text for name, text in texts.items() if text})

    def _begin(self, section: str, *, is_numpy: bool) -> None:
        self._section, self._is_numpy, self._names = section, is_numpy, []

    def _begin_field(self, field: str, argument: str, text: str) -> None:
        """A Sphinx field: `:param name: text`, `:param type name: text`, `:returns: text`."""
        self._begin("field", is_numpy=False)
        if field in ("param", "parameter", "arg", "argument", "key", "keyword") and argument.split():
            self._names = [argument.split()[-1].lstrip("*")]
            self._add(text)

    def _take(self, line: str) -> None:
        if not self._section:
            self._kept.append(line)
        elif self._section not in (*_PARAMETERS, "field"):
            return
        elif self._section == "field":
            self._add(line)
        elif self._is_numpy:
            if line.startswith(" ") or not line:
                self._add(line)
            else:
                entry = _NUMPY.match(line)
                self._names = [name.strip().lstrip("*") for name in entry[1].split(",")] if entry else []
        elif line:
            self._take_google(line)

    def _take_google(self, line: str) -> None:
        indentation = len(line) - len(line.lstrip())
        entry = _GOOGLE.match(line.strip())
        if entry and (not self._names or indentation <= self._indentation):
            self._indentation = indentation
            self._names = [entry[1]]
            self._add(entry[2])
        else:
            self._add(line)

    def _add(self, text: str) -> None:
        for name in self._names:
            self._found.setdefault(name, []).append(text.strip())

    _indentation = 0

"""Type hints and their schemas, with those that the official SDK makes as an independent witness."""

from __future__ import annotations

import collections.abc
import datetime
import decimal
import enum
import math
import pathlib
import re
import socket
import typing
import uuid
from dataclasses import dataclass, field
from typing import Annotated, Any, Final, Generic, Literal, NewType, Optional, TypedDict, TypeVar

import annotated_types
import pytest
import typing_extensions
from mcp.server.mcpserver import MCPServer
from pydantic import AfterValidator, BaseModel, Field

from gaia_mcp.toolspec.hints import HintError, Reader, is_described, is_field, members_of, read_docstring
from tests.toolspec.hints.hinted import (
    Address,
    Circle,
    Colour,
    Level,
    Mixed,
    Movie,
    Node,
    Page,
    Pair,
    Partial,
    Person,
    Point,
    Square,
    converted,
    schema_of,
)

Wire = dict[str, Any]

UserId = NewType("UserId", int)
Bound = TypeVar("Bound", bound=str)
Either = TypeVar("Either", int, str)
Free = TypeVar("Free")


class Film(typing_extensions.TypedDict):
    title: str
    year: typing_extensions.NotRequired[int]


POINT = {
    "type": "object",
    "description": "A place.",
    "properties": {
        "x": {"type": "integer", "description": "To the right."},
        "y": {"type": "integer", "description": "Downwards.", "default": 0},
        "tags": {"type": "array", "items": {"type": "string"}, "description": "Words."},
    },
    "required": ["x"],
}
NODE = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "children": {"type": "array", "items": {"$ref": "#/$defs/Node"}}},
    "required": ["name"],
}
# Hint, its schema here, and whether the official SDK's means the same.
HINTS: list[tuple[Any, Wire, bool]] = [
    (str, {"type": "string"}, True),
    (int, {"type": "integer"}, True),
    (float, {"type": "number"}, True),
    (bool, {"type": "boolean"}, True),
    (None, {"type": "null"}, True),
    (Any, {}, True),
    (object, {}, True),
    (list, {"type": "array", "items": {}}, True),
    (list[int], {"type": "array", "items": {"type": "integer"}}, True),
    (collections.abc.Sequence[str], {"type": "array", "items": {"type": "string"}}, True),
    (typing.List[str], {"type": "array", "items": {"type": "string"}}, True),  # noqa: UP006
    (set[int], {"type": "array", "items": {"type": "integer"}, "uniqueItems": True}, True),
    (frozenset[int], {"type": "array", "items": {"type": "integer"}, "uniqueItems": True}, True),
    (tuple, {"type": "array", "items": {}}, True),
    (tuple[int, ...], {"type": "array", "items": {"type": "integer"}}, True),
    (
        tuple[int, str],
        {"type": "array", "prefixItems": [{"type": "integer"}, {"type": "string"}], "minItems": 2, "maxItems": 2},
        True,
    ),
    (tuple[()], {"type": "array", "minItems": 0, "maxItems": 0}, False),  # pydantic leaves minItems out
    (dict, {"type": "object", "additionalProperties": True}, True),
    (dict[str, int], {"type": "object", "additionalProperties": {"type": "integer"}}, True),
    (dict[int, str], {"type": "object", "additionalProperties": {"type": "string"}}, True),
    (collections.abc.Mapping[str, Any], {"type": "object", "additionalProperties": True}, True),
    (
        dict[Literal["a", "b"], int],
        {
            "type": "object",
            "additionalProperties": {"type": "integer"},
            "propertyNames": {"enum": ["a", "b"], "type": "string"},
        },
        True,
    ),
    (int | None, {"anyOf": [{"type": "integer"}, {"type": "null"}]}, True),
    (Optional[int], {"anyOf": [{"type": "integer"}, {"type": "null"}]}, True),  # noqa: UP045
    (int | str, {"anyOf": [{"type": "integer"}, {"type": "string"}]}, True),
    # pydantic names both; an integer is a number.
    (int | float, {"type": "number"}, False),
    (float | int | None, {"anyOf": [{"type": "number"}, {"type": "null"}]}, False),
    (list[int | float], {"type": "array", "items": {"type": "number"}}, False),
    (Literal["a", "b"], {"enum": ["a", "b"], "type": "string"}, True),
    (Literal["a"], {"enum": ["a"], "type": "string"}, True),
    (Literal["a", 1], {"enum": ["a", 1]}, True),
    (Literal["a", None], {"enum": ["a", None]}, True),
    (Colour, {"enum": ["red", "blue"], "type": "string", "description": "What it looks like."}, True),
    (Level, {"enum": [1, 2], "type": "integer"}, True),
    (Mixed, {"enum": ["a", 1]}, True),
    (datetime.datetime, {"type": "string", "format": "date-time"}, True),
    (datetime.date, {"type": "string", "format": "date"}, True),
    (datetime.time, {"type": "string", "format": "time"}, True),
    (datetime.timedelta, {"type": "string", "format": "duration"}, True),
    (uuid.UUID, {"type": "string", "format": "uuid"}, True),
    (pathlib.Path, {"type": "string", "format": "path"}, True),
    (
        decimal.Decimal,
        {"anyOf": [{"type": "number"}, {"type": "string", "pattern": r"^[+-]?(\d+\.?\d*|\.\d+)$"}]},
        True,
    ),
    (bytes, {"type": "string", "contentEncoding": "base64"}, False),  # pydantic takes the UTF-8 of the text
    (Point, POINT, True),
    (Node, {**NODE, "$defs": {"Node": NODE}}, True),
    (
        Page[int],
        {
            "type": "object",
            "properties": {
                "items": {"type": "array", "items": {"type": "integer"}},
                "next": {"anyOf": [{"type": "integer"}, {"type": "null"}], "default": None},
            },
            "required": ["items"],
        },
        True,
    ),
    (
        Partial,
        {
            "type": "object",
            "properties": {"name": {"type": "string"}, "born": {"type": "string", "format": "date"}},
            "required": ["name"],
        },
        False,  # pydantic reads typing.TypedDict only from Python 3.12 on
    ),
    (
        Movie,
        {
            "type": "object",
            "description": "A film.",
            "properties": {"title": {"type": "string"}, "year": {"type": "integer"}},
            "required": ["title"],
        },
        False,
    ),
    (
        Film,
        {
            "type": "object",
            "properties": {"title": {"type": "string"}, "year": {"type": "integer"}},
            "required": ["title"],
        },
        True,
    ),
    (
        Pair,
        {
            "type": "array",
            "prefixItems": [
                {"type": "integer", "title": "left"},
                {"enum": ["red", "blue"], "type": "string", "description": "What it looks like.", "title": "right",
                 "default": "red"},
            ],
            "minItems": 1,
            "maxItems": 2,
        },
        True,
    ),
    (Annotated[int, "How many."],
         {"type": "integer", "description": "How many."}, False),  # a bare text says nothing there
    (Annotated[int, {"minimum": 1}], {"type": "integer", "minimum": 1}, False),  # nor does a dict
    (Annotated[int, Field(ge=1, lt=9, description="n")],
         {"type": "integer", "minimum": 1, "exclusiveMaximum": 9, "description": "n"}, True),
    (Annotated[str, Field(pattern="^a", min_length=1)], {"type": "string", "pattern": "^a", "minLength": 1}, True),
    (Annotated[list[int], Field(max_length=3, examples=[[1]])],
         {"type": "array", "items": {"type": "integer"}, "maxItems": 3, "examples": [[1]]}, True),
    (Annotated[float, annotated_types.Interval(gt=0, le=1)],
         {"type": "number", "exclusiveMinimum": 0, "maximum": 1}, True),
    (Annotated[dict[str, int], annotated_types.Len(1, 2)],
         {"type": "object", "additionalProperties": {"type": "integer"}, "minProperties": 1, "maxProperties": 2}, True),
    (Annotated[int, annotated_types.MultipleOf(5)], {"type": "integer", "multipleOf": 5}, True),
    (UserId, {"type": "integer"}, True),
    (Bound, {"type": "string"}, True),
    (Either, {"anyOf": [{"type": "integer"}, {"type": "string"}]}, True),
    (Free, {}, True),
    (Circle | Square, {"anyOf": [schema_of(Circle), schema_of(Square)]}, True),
    (
        Address,
        {
            "type": "object",
            "title": "Address",
            "description": "Where somebody lives.",
            "properties": {
                "street": {"type": "string", "description": "With the number.", "title": "Street"},
                "zip": {"anyOf": [{"type": "string"}, {"type": "null"}], "default": None, "title": "Zip"},
            },
            "required": ["street"],
        },
        True,
    ),
    (Annotated[int, AfterValidator(lambda value: value)], {"type": "integer"}, True),
]  # fmt: skip


def same_meaning(schema: Wire) -> Any:
    """A schema without titles and patterns, references followed, one choice as several, in one order."""
    return _reduced(schema, schema, ())


def _reduced(part: Any, root: Wire, within: tuple[str, ...]) -> Any:
    if isinstance(part, list):
        return [_reduced(item, root, within) for item in part]
    if not isinstance(part, dict):
        return part
    if (reference := part.get("$ref")) is not None:
        name = reference.rpartition("/")[2]
        if name in within:
            return {"again": name}
        beside = {key: value for key, value in part.items() if key != "$ref"}
        return _reduced({**root["$defs"][name], **beside}, root, (*within, name))
    found = {
        key: {name: _reduced(inner, root, within) for name, inner in value.items()}
        if key == "properties"
        else _reduced(value, root, within)
        for key, value in part.items()
        if key not in ("title", "$defs", "pattern") or (key == "pattern" and "minLength" in part)
    }
    if "const" in found:
        found["enum"] = [found.pop("const")]
    if "enum" in found:
        found.pop("type", None)
    if found.get("items") == {}:
        del found["items"]
    return found


def schema_of_sdk(hint: Any) -> Wire:
    """What the official SDK makes of a parameter with this hint."""
    server: Any = MCPServer("witness")

    def tool(value):  # type: ignore[no-untyped-def]
        return None

    tool.__annotations__ = {"value": hint}
    schema = server._tool_manager.add_tool(tool).parameters
    return {**schema["properties"]["value"], "$defs": schema.get("$defs", {})}


def test_a_hint_has_a_schema() -> None:
    """Ours: the schema of a tool is generated from its hints, so each hint that can be written has one."""
    wrong = [(hint, found) for hint, schema, _ in HINTS if (found := schema_of(hint)) != schema]

    assert not wrong


def test_a_schema_is_equivalent_to_that_of_the_official_sdk() -> None:
    """An independent witness: tools move here unchanged."""
    wrong = []
    for hint in (hint for hint, _, is_same in HINTS if is_same):
        ours, theirs = same_meaning(schema_of(hint)), same_meaning(schema_of_sdk(hint))
        if hint is Node:
            # Where a type that contains itself is written out is left to the writer.
            ours, theirs = ((part["properties"]["name"], part["required"]) for part in (ours, theirs))
        elif hint is Point:
            # Only we read what a docstring says of members.
            ours, theirs = (_without(part, "description") for part in (ours, theirs))
        if ours != theirs:
            wrong.append((hint, ours, theirs))

    assert not wrong


def _without(part: Any, keyword: str) -> Any:
    if isinstance(part, dict):
        return {key: _without(value, keyword) for key, value in part.items() if key != keyword}
    return part


class Weird(enum.Enum):
    SOCKET = object()


@dataclass
class Holder:
    inner: socket.socket


@dataclass
class Unresolved:
    inner: "Nowhere"  # type: ignore[name-defined]  # noqa: F821, UP037


class Arbitrary(BaseModel):
    model_config = {"arbitrary_types_allowed": True}
    connection: socket.socket


@dataclass
class Box(Generic[Free]):
    page: Page[list[Free]]
    own: Free
    one: Free | None = None


def test_a_hint_without_a_schema_is_named() -> None:
    """Ours: the author has to find it."""
    cases = [
        (socket.socket, "socket is not a type that has a JSON Schema"),
        (type[int], "type[int] is not a type that has a JSON Schema"),
        (collections.abc.Callable[[], int], "collections.abc.Callable[[], int] is not a type that has a JSON Schema"),
        (list[socket.socket], "socket is not a type that has a JSON Schema"),
        (Holder, "Holder.inner: socket is not a type that has a JSON Schema"),
        (dict[str, list[Holder]], "Holder.inner: socket is not a type that has a JSON Schema"),
        (Unresolved, "Unresolved: name 'Nowhere' is not defined"),
        (Weird, "Weird has a value that is not JSON: it is of type object"),
        (3, "3 is not a type that has a JSON Schema"),
        ([int], "[<class 'int'>] is not a type that has a JSON Schema"),
    ]

    def error_of(hint: Any) -> str | None:
        try:
            Reader().read(hint)
        except HintError as error:
            return str(error)
        return None

    wrong = [(hint, found) for hint, problem in cases if (found := error_of(hint)) != problem]

    assert not wrong


def test_a_type_of_pydantic_that_cannot_be_a_schema_is_named() -> None:
    """Ours: pydantic has many exceptions; each becomes one that names the hint."""

    class Strange:
        @classmethod
        def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> Any:
            raise RuntimeError("no schema today")

    with pytest.raises(HintError, match="Strange: no schema today"):
        Reader().read(Strange)
    with pytest.raises(HintError, match="Arbitrary: Cannot generate a JsonSchema"):
        Reader().read(Arbitrary)


def test_a_type_that_is_used_twice_is_defined_once() -> None:
    """Ours: definitions of tools cost a model's context."""
    schema = schema_of(tuple[Colour, Colour, Point])

    assert schema["prefixItems"][:2] == [{"$ref": "#/$defs/Colour"}] * 2
    assert schema["prefixItems"][2] == POINT
    assert list(schema["$defs"]) == ["Colour"]


def test_type_variables_are_substituted_in_nested_types() -> None:
    """Ours: each of two boxes holds its own."""
    schema = schema_of(tuple[Box[int], Box[str]])

    for row, kind in zip(schema["prefixItems"], ("integer", "string"), strict=True):
        assert row["properties"]["page"]["properties"]["items"]["items"]["items"] == {"type": kind}
        assert row["properties"]["own"] == row["properties"]["one"]["anyOf"][0] == {"type": kind}
    assert schema_of(Box)["properties"]["one"]["anyOf"][0] == {}


def test_a_json_value_is_converted() -> None:
    """Ours: a tool gets what its hints say."""
    cases = [
        (Page[datetime.date], {"items": ["2026-01-02"]}, Page([datetime.date(2026, 1, 2)])),
        (Node, {"name": "a", "children": [{"name": "b"}]}, Node("a", [Node("b")])),
        (Movie, {"title": "t", "other": 1}, {"title": "t"}),
        (Partial, {"name": "n", "born": "2026-01-02"}, {"name": "n", "born": datetime.date(2026, 1, 2)}),
        (Pair, [1], Pair(1)),
        (Pair, [1, "blue"], Pair(1, Colour.BLUE)),
        (tuple[int, Colour], [1, "red"], (1, Colour.RED)),
        (tuple[int, ...], [1, 2], (1, 2)),
        (set[Level], [1, 2], {Level.LOW, Level.HIGH}),
        (Circle | Square, {"kind": "square", "side": 2}, Square("square", 2.0)),
        (Person, {"name": "n", "addresses": [{"street": "s"}]}, Person(name="n", addresses=[Address(street="s")])),
        (UserId, 5, 5),
        (Final[int], 5, 5),
        (Annotated[Point | None, "p"], None, None),
    ]

    wrong = [
        (hint, value, found)
        for hint, value, found in cases
        if not (converted(hint, value) == found and type(converted(hint, value)) is type(found))
    ]

    assert not wrong


class Cyclic(TypedDict):
    me: "Cyclic"  # noqa: UP037


def test_a_typed_dictionary_may_be_recursive() -> None:
    """Ours: trees are often written so."""
    assert schema_of(Cyclic)["$defs"]["Cyclic"]["properties"] == {"me": {"$ref": "#/$defs/Cyclic"}}


def test_a_type_alias_has_the_schema_of_its_value() -> None:
    """Python 3.12: `type Name = …`; typing_extensions has it for 3.11."""
    names = typing_extensions.TypeAliasType("Names", list[str])
    of_many = typing_extensions.TypeAliasType("Many", list[Free], type_params=(Free,))

    assert schema_of(names) == {"type": "array", "items": {"type": "string"}}
    assert schema_of(of_many[int]) == {"type": "array", "items": {"type": "integer"}}
    assert schema_of(of_many[names]) == {"type": "array", "items": schema_of(names)}


class Endless:
    """What `type Name = …` makes in Python 3.12: its value is known only later."""

    def __init__(self, name: str) -> None:
        self.__name__ = name
        self.__value__: Any = self

    def __repr__(self) -> str:
        return self.__name__


def test_a_type_alias_may_be_recursive() -> None:
    """Ours: `type Json = …` is often written."""
    alias = Endless("Json")
    with pytest.raises(HintError, match="Json stands for nothing but itself"):
        Reader().read(alias)
    alias.__value__ = typing.Union[datetime.date, list[alias], dict[str, alias]]  # noqa: UP007

    schema = schema_of(alias)

    nested = {"$ref": "#/$defs/Json"}
    assert (
        schema["anyOf"]
        == schema["$defs"]["Json"]["anyOf"]
        == [
            {"type": "string", "format": "date"},
            {"type": "array", "items": nested},
            {"type": "object", "additionalProperties": nested},
        ]
    )
    assert converted(alias, {"a": ["2026-01-02"]}) == {"a": [datetime.date(2026, 1, 2)]}


def test_a_field_outside_init_is_not_a_property() -> None:
    """Ours: it cannot be given."""

    @dataclass
    class Hashed:
        text: str
        hash: int = field(init=False, default=0)

    assert list(schema_of(Hashed)["properties"]) == ["text"]


def test_a_generated_docstring_is_not_a_description() -> None:
    """Ours: `Holder(inner: …)` is not what the author wrote."""

    @dataclass
    class Plain:
        a: int = field(default=1)

    assert "description" not in schema_of(Plain)


def test_metadata_become_schema_keywords() -> None:
    """Ours: by their attributes, so that nothing of theirs is imported."""
    cases = [
        (["text"], {"description": "text"}),
        ([{"minimum": 1}], {"minimum": 1}),
        ([typing_extensions.Doc("text")], {"description": "text"}),
        ([annotated_types.Ge(1), annotated_types.Lt(2)], {"minimum": 1, "exclusiveMaximum": 2}),
        ([annotated_types.Le(math.inf)], {}),
        ([annotated_types.Ge(datetime.date(2026, 1, 2))], {"minimum": "2026-01-02"}),
        ([annotated_types.Ge(object())], {}),  # type: ignore[arg-type]
        ([Field(title="t", description="d", gt=0)], {"title": "t", "description": "d", "exclusiveMinimum": 0}),
        ([Field(pattern=re.compile("^a"), json_schema_extra={"x": 1})], {"pattern": "^a", "x": 1}),
        ([Field(json_schema_extra=lambda schema: None)], {}),
        ([object(), int, None, 3], {}),
    ]

    wrong = [(metadata, found) for metadata, members in cases if (found := members_of(metadata)) != members]

    assert not wrong


def test_a_description_is_found() -> None:
    """Ours: it wins over that of a docstring."""
    assert is_described(Annotated[int, "text"])
    assert not is_described(Annotated[int, 3])
    assert not is_described(int)


def test_a_field_of_pydantic_is_recognised() -> None:
    """Ours: as the default of a parameter."""
    assert is_field(Field())
    assert not is_field(3)


GOOGLE = """Send a letter.

    It is sent at once.

    Args:
        to (str): Who gets it,
            in one line.
        text: What it says: all of it.
        *copies: Others.

    Returns:
        The number of the letter.

    Note:
        Stamps are not checked.
    """

NUMPY = """Send a letter.

    It is sent at once.

    Parameters
    ----------
    to : str
        Who gets it,
        in one line.
    text, copies : str, optional
        What it says: all of it.

    Returns
    -------
    int
        The number of the letter.

    Notes
    -----
    Stamps are not checked.
    """

SPHINX = """Send a letter.

    It is sent at once.

    :param str to: Who gets it,
        in one line.
    :param text: What it says: all of it.
    :type text: str
    :returns: The number of the letter.
    """


@pytest.mark.parametrize(
    ("text", "after", "parameters"),
    [
        (
            GOOGLE,
            "\n\nNote:\n    Stamps are not checked.",
            {"to": "Who gets it, in one line.", "text": "What it says: all of it.", "copies": "Others."},
        ),
        (
            NUMPY,
            "\n\nNotes\n-----\nStamps are not checked.",
            {
                "to": "Who gets it, in one line.",
                "text": "What it says: all of it.",
                "copies": "What it says: all of it.",
            },
        ),
        (SPHINX, "", {"to": "Who gets it, in one line.", "text": "What it says: all of it."}),
    ],
    ids=["google", "numpy", "sphinx"],
)
def test_a_docstring_describes_the_tool_and_its_parameters(text: str, after: str, parameters: dict[str, str]) -> None:
    """Ours: what a model need not know is left out, and everything else is kept."""
    found = read_docstring(text)

    assert found.description == f"Send a letter.\n\nIt is sent at once.{after}"
    assert found.parameters == parameters


def test_other_docstrings_are_read_as_far_as_possible() -> None:
    """Ours: no docstring is an error."""
    cases = [
        (None, "", {}),
        ("", "", {}),
        ("One line.", "One line.", {}),
        ("\n    Args:\n        a: first\n    ", "", {"a": "first"}),
        ("Do.\n\nArgs:\n    a: first\nThen more.", "Do.\n\nThen more.", {"a": "first"}),
        ("Do.\n\nArgs:\n    no colon here\n    a: first\n\n      second", "Do.", {"a": "first second"}),
        ("Do.\n\nArgs:\n    a:\n        below\n    b: ", "Do.", {"a": "below"}),
        ("Do: it.\nExample: a colon", "Do: it.\nExample: a colon", {}),
        ("Do.\n:raises ValueError: never", "Do.", {}),
        ("Do.\n:param: none", "Do.", {}),
        ("Do.\n:note: this stays", "Do.\n:note: this stays", {}),
        ("Do.\n:param a: first\nThis stays.", "Do.\nThis stays.", {"a": "first"}),
        ("Do.\n\nParameters\n----------\n(odd)\n    what\na\n    first", "Do.", {"a": "first"}),
        ("Do.\n\nRaises:\n    KeyError: a thing", "Do.", {}),
    ]

    wrong = []
    for text, description, parameters in cases:
        found = read_docstring(text)
        if (found.description, found.parameters) != (description, parameters):
            wrong.append((text, found))

    assert not wrong

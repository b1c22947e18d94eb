"""Forms: which schemas and types are valid, and how an answer is read."""

from __future__ import annotations

import datetime
import enum
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, TypedDict

import pytest

from gaia_mcp.asking.questions import AnswerError, form_of


class Size(enum.Enum):
    """How large."""

    SMALL = "small"
    LARGE = "large"


@dataclass
class Order:
    """An order, with every kind of field."""

    size: Size
    count: int
    weight: float = 1.5
    gift: bool = False
    note: str | None = None
    until: datetime.date | None = None
    extras: set[Literal["cheese", "ham"]] = field(default_factory=set)


class Name(TypedDict):
    """A name."""

    name: str


def test_a_dataclass_is_a_form() -> None:
    """Spec, elicitation: flat, with null left out, for what may be null may be missing."""
    schema = form_of(Order).schema

    assert schema["type"] == "object"
    assert schema["required"] == ["size", "count"]
    fields = {
        name: {key: one[key] for key in one if key != "description"} for name, one in schema["properties"].items()
    }
    assert fields == {
        "size": {"type": "string", "enum": ["small", "large"]},
        "count": {"type": "integer"},
        "weight": {"type": "number", "default": 1.5},
        "gift": {"type": "boolean", "default": False},
        "note": {"type": "string"},
        "until": {"type": "string", "format": "date"},
        "extras": {"type": "array", "items": {"type": "string", "enum": ["cheese", "ham"]}},
    }


def test_an_answer_becomes_the_dataclass() -> None:
    """Ours: the tool gets what it wrote down, not JSON."""
    given = {"size": "large", "count": 2, "until": "2026-12-24", "extras": ["ham"]}

    assert form_of(Order).read(given) == Order(Size.LARGE, 2, until=datetime.date(2026, 12, 24), extras={"ham"})


def test_a_typed_dictionary_is_a_form() -> None:
    """Ours: whatever has named members."""
    assert form_of(Name).read({"name": "Ada"}) == {"name": "Ada"}


def test_a_schema_is_used_unchanged_as_a_form() -> None:
    """Spec, elicitation: titled choices, several choices."""
    schema: dict[str, Any] = {
        "type": "object",
        "properties": {
            "mail": {"type": "string", "format": "email", "title": "Mail"},
            "one": {"type": "string", "oneOf": [{"const": "a", "title": "A"}]},
            "many": {"type": "array", "items": {"anyOf": [{"const": "a", "title": "A"}]}, "maxItems": 1},
        },
        "required": ["mail"],
    }

    form = form_of(schema)

    assert form.schema == schema
    assert form.read({"mail": "a@b.org", "many": ["a"]}) == {"mail": "a@b.org", "many": ["a"]}


def test_an_invalid_answer_is_refused() -> None:
    """MS-10: content is validated against our own schema."""
    cases = [
        ({"count": 1}, "'size' is missing"),
        ({"size": "huge", "count": 1}, "size"),
        ({"size": "small", "count": "1"}, "count"),
        ({"size": "small", "count": 1, "until": "2026-13-99"}, "until"),
    ]

    wrong = []
    for content, problem in cases:
        try:
            form_of(Order).read(content)
        except AnswerError as error:
            if problem not in str(error):
                wrong.append((content, problem, error))
        else:
            wrong.append((content, problem, None))

    assert not wrong


class Nested(TypedDict):
    """A form in a form."""

    inner: Name


class Limited(TypedDict):
    """A form with a keyword that forms do not have."""

    code: Annotated[str, "a code"]
    parts: list[str]


def test_an_invalid_form_is_refused_with_the_reason() -> None:
    """Spec, elicitation: flat schemas only, of the keywords of PrimitiveSchemaDefinition."""
    cases = [
        (int, "not a form"),
        (Nested, "'inner' of the form: a form is flat"),
        (Limited, "'parts' of the form: a list in a form is a list of choices"),
        ({"type": "object"}, "with 'properties'"),
        ({"type": "array", "properties": {}}, "of type 'object'"),
        ({"type": "object", "properties": {"a": True}}, "'a' of the form: a form is flat"),
        ({"type": "object", "properties": {"a": {"type": ["string", "null"]}}}, "a form is flat"),
        ({"type": "object", "properties": {"a": {"type": "string", "pattern": "x"}}}, "'pattern' is not allowed"),
        ({"type": "object", "properties": {"a": {"type": "string", "format": "ipv4"}}}, "its format must be one of"),
        ({"type": "object", "properties": {"a": {"type": "array", "items": {}}}}, "a list of choices"),
        ({"type": "object", "properties": {}, "required": ["a"]}, "requires 'a'"),
    ]

    wrong = []
    for shape, problem in cases:
        try:
            form_of(shape)
        except ValueError as error:
            if problem not in str(error):
                wrong.append((shape, problem, error))
        else:
            wrong.append((shape, problem, None))

    assert not wrong


@pytest.mark.parametrize("name", ["password", "api_key", "accessToken"])
def test_a_form_that_asks_for_a_secret_is_refused(name: str) -> None:
    """MS-20: what is typed into a form passes through the client and its model."""
    with pytest.raises(ValueError, match=f"{name!r} of the form: a form must not ask for a secret; elicit_url"):
        form_of({"type": "object", "properties": {name: {"type": "string"}}})


def test_a_field_with_an_ordinary_name_is_not_a_secret() -> None:
    """Ours: nor is a number or a choice, whatever its name is."""
    cases = ["name", "author", "keyword", "key"]

    wrong = []
    for name in cases:
        fields = {name: {"type": "string"}, "token": {"type": "integer"}, "pin": {"type": "string", "enum": ["a", "b"]}}
        if list(form_of({"type": "object", "properties": fields}).schema["properties"]) != [name, "token", "pin"]:
            wrong.append(name)

    assert not wrong


def test_a_hint_without_a_schema_is_not_a_form() -> None:
    """Ours: the author reads what is wrong with the hint."""

    @dataclass
    class Odd:
        kind: type[int]

    with pytest.raises(ValueError, match=r"Odd'> is not a form: Odd\.kind: type\[int\] is not a type"):
        form_of(Odd)

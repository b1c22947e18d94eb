"""Converting JSON values: what is taken, and what is reported with which place."""

from __future__ import annotations

import dataclasses
import datetime
import decimal
import pathlib
import typing
import uuid
from typing import Annotated, Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import AfterValidator, BaseModel, Field

from gaia_mcp.core.content import as_json_value
from gaia_mcp.toolspec.hints import Reader
from gaia_mcp.toolspec.hints.kinds import (
    ABSENT,
    REQUIRED,
    Alias,
    Choice,
    ConversionError,
    DecimalText,
    Definitions,
    Items,
    Kind,
    Map,
    Row,
    Scalar,
    Text,
    Union,
    duration,
    member,
    text_kind,
)
from tests.toolspec.hints import hinted
from tests.toolspec.hints.hinted import (
    Circle,
    Colour,
    Movie,
    Pair,
    Person,
    Point,
    Positive,
    Square,
    converted,
    schema_of,
)


def error_of(hint: Any, value: Any) -> str | None:
    """The error for a value that cannot be converted."""
    try:
        converted(hint, value)
    except ConversionError as error:
        return str(error)
    return None


def test_a_value_is_converted_to_the_nearest_type() -> None:
    """Ours: as exactly as the hint allows, else by the order of a union."""
    cases = [
        (int, 2.0, 2),
        (float, 2, 2.0),
        (int | float, 2, 2),
        (float | int, 2, 2),
        (float | int, 2.5, 2.5),
        (int | float, 2.0, 2.0),
        (int | str, 2.0, 2),
        (list[float] | list[int], [2], [2]),
        (str | datetime.date, "2026-01-02", "2026-01-02"),
        (datetime.date | str, "2026-01-02", datetime.date(2026, 1, 2)),
        (datetime.date | str, "soon", "soon"),
        (bool | int, 1, 1),
        (Colour | None, None, None),
        (Literal["a", 1], 1, 1),
        (dict[int, datetime.date], {"1": "2026-01-02"}, {1: datetime.date(2026, 1, 2)}),
        (dict[float, int], {"1.5": 2}, {1.5: 2}),
        (dict[Colour, int], {"red": 2}, {Colour.RED: 2}),
        (list[float | str] | list[int], [2], [2]),
        (Annotated[float, "f"] | int, 2, 2),
        (Any, {"a": [1]}, {"a": [1]}),
        (frozenset[int], [1, 1], frozenset({1})),
        (tuple[int, Colour], [1, "red"], (1, Colour.RED)),
    ]

    wrong = [
        (hint, value, found)
        for hint, value, found in cases
        if not (converted(hint, value) == found and type(converted(hint, value)) is type(found))
    ]

    assert not wrong


def test_a_value_that_cannot_be_converted_is_reported_with_its_path() -> None:
    """Ours: in the words of the validator where it would say the same."""
    cases = [
        (int, True, "value: True is not of type 'integer'"),
        (int, 2.5, "value: 2.5 is not of type 'integer'"),
        (int, float("inf"), "value: inf is not of type 'integer'"),
        (float, 10**400, f"value: 1{'0' * 78}… is too large for a float"),
        (float, "2", "value: '2' is not of type 'number'"),
        (bool, 1, "value: 1 is not of type 'boolean'"),
        (None, 0, "value: 0 is not of type 'null'"),
        (str, None, "value: None is not of type 'string'"),
        (list[int], "x", "value: 'x' is not of type 'array'"),
        (list[int], [1, "x"], "value[1]: 'x' is not of type 'integer'"),
        (set[Any], [[1]], "value: unhashable type: 'list'"),
        (tuple[int, int], [1], "value: [1] does not have 2 items"),
        (Pair, [], "value: [] does not have 2 items"),
        (dict[str, int], [], "value: [] is not of type 'object'"),
        (dict[str, int], {"a": {}}, "value.a: {} is not of type 'integer'"),
        (dict[int, int], {"a": 1}, "value: the key 'a' is not a number"),
        (dict[int, int], {"\u0663": 1}, "value: the key '\u0663' is not a number"),
        (dict[int, int], {"1.5": 1}, "value.1.5: 1.5 is not of type 'integer'"),
        (dict[Colour, int], {"a": 1}, "value.a: 'a' is not one of ['red', 'blue']"),
        (Colour, "green", "value: 'green' is not one of ['red', 'blue']"),
        (Point, {"y": 1}, "value: 'x' is missing"),
        (list[Point], [{"x": "a"}], "value[0].x: 'a' is not of type 'integer'"),
        (Point | None, {"x": "a"}, "value.x: 'a' is not of type 'integer'"),
        (Circle | Square, {"kind": "square", "side": "a"}, "value.side: 'a' is not of type 'number'"),
        (str, [" " * 100], f"value: {repr([' ' * 100])[:79]}… is not of type 'string'"),
    ]

    wrong = [(hint, value, found) for hint, value, problem in cases if (found := error_of(hint, value)) != problem]

    assert not wrong


def test_of_equally_near_parts_of_a_union_the_first_that_fits_is_taken() -> None:
    """Ours: a member that no part but one knows decides; else the order does."""

    @dataclasses.dataclass
    class Short:
        a: int

    @dataclasses.dataclass
    class Long:
        a: int
        b: int = 0

    for union in (Short | Long, Long | Short):
        assert converted(union, {"a": 1, "b": 2}) == Long(1, 2)
    assert converted(Short | Long, {"a": 1}) == Short(1)
    assert converted(Long | Short, {"a": 1}) == Long(1)
    assert converted(typing.Optional[Short | Long], {"a": 1, "b": 2}) == Long(1, 2)  # noqa: UP045


def test_a_definition_used_once_is_inlined() -> None:
    """Ours: also a chain of such; members beside the reference win."""
    definitions = Definitions()

    def write_outer() -> dict[str, object]:
        inner = definitions.reference("b", "B", lambda: {"type": "string", "description": "b"})
        return {"type": "array", "items": inner}

    schema = {"properties": {"a": {**definitions.reference("a", "A", write_outer), "description": "mine"}}}

    assert definitions.complete(schema) == {
        "properties": {
            "a": {"type": "array", "items": {"type": "string", "description": "b"}, "description": "mine"}
        }
    }  # fmt: skip


def test_references_in_values_are_values() -> None:
    """Ours: a default may look like a reference, and a property may be called `enum`."""
    definitions = Definitions()
    reference = definitions.reference("a", "A", lambda: {"type": "string"})

    schema = definitions.complete(
        {"properties": {"enum": reference, "x": {"default": {"$ref": "#/$defs/A"}}, "y": {"$ref": "other.json"}}}
    )

    assert schema["properties"] == {
        "enum": {"type": "string"}, "x": {"default": {"$ref": "#/$defs/A"}}, "y": {"$ref": "other.json"}
    }  # fmt: skip
    assert "$defs" not in schema


def test_equal_adopted_definitions_are_merged() -> None:
    """Ours: pydantic defines a nested model anew for each of its outer models."""
    definitions = Definitions()

    def make(template: str) -> dict[str, object]:
        reference = {"$ref": template.format(model="Inner")}
        return {"items": reference, "$defs": {"Inner": {"type": "string"}}}

    schema = definitions.complete({"prefixItems": [definitions.adopt(make), definitions.adopt(make)]})

    assert schema["$defs"] == {"Inner": {"type": "string"}}
    assert schema["prefixItems"] == [{"items": {"$ref": "#/$defs/Inner"}}] * 2


def even(number: int) -> int:
    if number % 2:
        raise ValueError("odd")
    return number


class Line(BaseModel):
    number: int = Field(ge=1)
    tags: list[str] = []


Even = Annotated[int, AfterValidator(even)]


def test_an_object_is_converted() -> None:
    """Ours: pydantic validates what is its own."""
    cases = [
        (Line, {"number": 1}, Line(number=1)),
        (list[Line], [{"number": 1, "tags": ["a"]}], [Line(number=1, tags=["a"])]),
        (Even, 2, 2),
        (Point, {"x": 1, "other": 2}, Point(1)),
        (Movie, {"title": "t"}, {"title": "t"}),
    ]

    wrong = [(hint, value, actual) for hint, value, found in cases if (actual := converted(hint, value)) != found]

    assert not wrong


def test_an_invalid_object_is_reported_with_its_path() -> None:
    """Ours: in pydantic's words for what is its own."""
    cases = [
        (Line, {"number": 0}, "value.number: Input should be greater than or equal to 1"),
        (list[Line], [{"number": 1, "tags": [1]}], "value[0].tags[0]: Input should be a valid string"),
        (Even, 1, "value: Value error, odd"),
        (Point, [], "value: [] is not of type 'object'"),
        (Movie, {"year": 1}, "value: 'title' is missing"),
    ]

    wrong = [(hint, value, found) for hint, value, problem in cases if (found := error_of(hint, value)) != problem]

    assert not wrong


UTC = datetime.UTC

TYPES: list[Any] = [
    (datetime.datetime, st.datetimes(timezones=st.just(UTC))),
    (datetime.date, st.dates()),
    (datetime.time, st.times()),
    (datetime.timedelta, st.timedeltas(max_value=datetime.timedelta(days=10_000))),
    (decimal.Decimal, st.decimals(allow_nan=False, allow_infinity=False)),
    (uuid.UUID, st.uuids()),
    (bytes, st.binary()),
]


def test_a_returned_value_is_accepted_as_an_argument() -> None:
    """Ours: what one tool returns, another one takes."""

    def check(kind: Any, values: st.SearchStrategy[Any]) -> None:
        @given(values)
        def is_converted_back(value: Any) -> None:
            assert converted(kind, as_json_value(value)) == value

        is_converted_back()

    for kind, values in TYPES:
        check(kind, values)


def test_a_text_is_converted() -> None:
    """ISO 8601 for times; JSON's own numbers for decimals."""
    cases = [
        (datetime.datetime, "2026-01-02T03:04:05Z", datetime.datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)),
        (datetime.timedelta, "P1W", datetime.timedelta(weeks=1)),
        (datetime.timedelta, "+PT1,5S", datetime.timedelta(seconds=1.5)),
        (datetime.timedelta, "-P1DT1M", -datetime.timedelta(days=1, minutes=1)),
        (decimal.Decimal, 1.1, decimal.Decimal("1.1")),
        (decimal.Decimal, 10**30, decimal.Decimal(10**30)),
        (pathlib.Path, "a/b", pathlib.Path("a/b")),
        (pathlib.PureWindowsPath, "c:\\a", pathlib.PureWindowsPath("c:\\a")),
    ]

    wrong = [(hint, text, found) for hint, text, value in cases if (found := converted(hint, text)) != value]

    assert not wrong


def test_an_invalid_text_is_reported() -> None:
    """Ours: the schema's `format` is validated here, since validators do not."""
    cases = [
        (datetime.datetime, "soon", "value: 'soon' is not a date and time"),
        (datetime.date, "2026-13-01", "value: '2026-13-01' is not a date"),
        (datetime.date, 20260101, "value: 20260101 is not of type 'string'"),
        (datetime.timedelta, "P", "value: 'P' is not a duration such as P1DT2H30M"),
        (datetime.timedelta, "P\u0663D", "value: 'P\u0663D' is not a duration such as P1DT2H30M"),
        (datetime.timedelta, "P1DT", "value: 'P1DT' is not a duration such as P1DT2H30M"),
        (datetime.timedelta, "P999999999999D", "value: 'P999999999999D' is not a duration such as P1DT2H30M"),
        (decimal.Decimal, "ten", "value: 'ten' is not a decimal number"),
        (decimal.Decimal, True, "value: True is not of type 'string'"),
        (uuid.UUID, "1", "value: '1' is not a UUID"),
        (bytes, "a", "value: 'a' is not base64"),
    ]

    wrong = [(hint, value, found) for hint, value, problem in cases if (found := error_of(hint, value)) != problem]

    assert not wrong


def test_a_type_that_is_not_text_has_no_text_kind() -> None:
    """Ours: JSON has a type of its own for a number, and a duration is ISO 8601 alone."""
    assert text_kind(int) is None
    with pytest.raises(ValueError, match="'1 day' is not a duration"):
        duration("1 day")


def schema_of_kind(kind: Any) -> dict[str, Any]:
    definitions = Definitions()
    return definitions.complete(kind.schema(definitions))


def test_two_types_of_one_name_are_two_definitions() -> None:
    """Ours, also between a dataclass and a model of pydantic."""

    @dataclasses.dataclass
    class Address:
        planet: str

    other = dataclasses.make_dataclass("Address", [("moon", str)])

    schema = schema_of(tuple[Address, Address, Person, hinted.Address, other, other])

    first, _, person, last, another, _ = schema["prefixItems"]
    assert schema["$defs"][another["$ref"].rpartition("/")[2]]["properties"] == {"moon": {"type": "string"}}
    assert schema["$defs"][first["$ref"].rpartition("/")[2]]["properties"] == {"planet": {"type": "string"}}
    street = {"type": "string", "description": "With the number.", "title": "Street"}
    assert last["properties"]["street"] == street
    known = schema["$defs"][person["$ref"].rpartition("/")[2]]["properties"]["addresses"]["items"]
    assert known["properties"]["street"] == street


def test_the_default_none_allows_null() -> None:
    """Ours: `limit: int = None` is often written, and models often send null."""
    of_int = member(Reader().read(int), None, {"description": "d"})
    of_optional = member(Reader().read(int | None), None, {})

    assert schema_of_kind(of_int.kind) == {
        "anyOf": [{"type": "integer"}, {"type": "null"}], "description": "d", "default": None
    }  # fmt: skip
    assert schema_of_kind(of_optional.kind) == {"anyOf": [{"type": "integer"}, {"type": "null"}], "default": None}
    assert not of_int.is_required


def test_a_default_is_shown_as_json_where_that_is_possible() -> None:
    """Ours: what cannot be shown is used all the same."""
    when = Reader().read(datetime.date)

    assert schema_of_kind(member(when, datetime.date(2026, 1, 2), {}).kind)["default"] == "2026-01-02"
    for default in (object(), ABSENT):
        optional = member(when, default, {})
        assert "default" not in schema_of_kind(optional.kind)
        assert not optional.is_required
    assert member(when, REQUIRED, {}).is_required


def test_an_output_schema_uses_serialization_aliases() -> None:
    """Ours: a model may be written in another form than it is read."""

    class Renamed(BaseModel):
        value: int = Field(validation_alias="in", serialization_alias="out")

    assert list(schema_of(Renamed)["properties"]) == ["in"]
    assert list(schema_of(Renamed, for_output=True)["properties"]) == ["out"]


def test_a_dataclass_may_refuse_its_values() -> None:
    """Ours: with the place."""
    with pytest.raises(ValueError, match=r"value\[1\]: -1 is not positive"):
        converted(list[Positive], [{"number": 1}, {"number": -1}])


def test_a_kind_has_a_schema() -> None:
    """JSON Schema 2020-12."""
    text, integer, number = Scalar(str), Scalar(int), Scalar(float)
    cases = [
        (Kind(), {}),
        (Items(text, list), {"type": "array", "items": {"type": "string"}}),
        (Items(text, set), {"type": "array", "items": {"type": "string"}, "uniqueItems": True}),
        (
            Row([text, integer], Pair, ["a", "b"], optional=1),
            {
                "type": "array",
                "prefixItems": [{"type": "string", "title": "a"}, {"type": "integer", "title": "b"}],
                "minItems": 1,
                "maxItems": 2,
            },
        ),
        (Row([], tuple), {"type": "array", "minItems": 0, "maxItems": 0}),
        (Map(text, Kind()), {"type": "object", "additionalProperties": True}),
        (
            Map(Choice(["a", "b"]), integer),
            {
                "type": "object",
                "additionalProperties": {"type": "integer"},
                "propertyNames": {"enum": ["a", "b"], "type": "string"},
            },
        ),
        (Union([integer, text]), {"anyOf": [{"type": "integer"}, {"type": "string"}]}),
        (Union([integer, number]), {"type": "number"}),
        (Choice(["a", 1]), {"enum": ["a", 1]}),
        (Choice(["a"], "Kind", "What it is."), {"enum": ["a"], "type": "string", "description": "What it is."}),
        (Text("a date", {"format": "date"}, str), {"type": "string", "format": "date"}),
        (
            DecimalText(decimal.Decimal),
            {"anyOf": [{"type": "number"}, {"type": "string", "pattern": r"^[+-]?(\d+\.?\d*|\.\d+)$"}]},
        ),
    ]

    wrong = [(schema, found) for kind, schema in cases if (found := schema_of_kind(kind)) != schema]

    assert not wrong


def test_an_alias_may_contain_itself() -> None:
    """Ours: `type Json = …` is often written."""
    alias = Alias("Json")
    alias.kind = Union([Scalar(float), Scalar(int), Items(alias, list)])

    parts = [{"type": "number"}, {"type": "array", "items": {"$ref": "#/$defs/Json"}}]
    assert schema_of_kind(alias) == {"anyOf": parts, "$defs": {"Json": {"anyOf": parts}}}
    assert alias.convert([[1, 2.5]], "value") == [[1, 2.5]]
    assert alias.distance([[1]]) == 0

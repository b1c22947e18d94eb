"""Python values as JSON values."""

from __future__ import annotations

import collections
import dataclasses
import datetime
import decimal
import enum
import json
import pathlib
import threading
import types
import typing
import uuid
from typing import Any

import pytest
from pydantic import BaseModel, Field

from gaia_mcp.jsonvalues import NotJSONError, as_json_value, duration_text


class Colour(enum.Enum):
    RED = "red"
    DEEP = datetime.date(2026, 1, 2)


class Size(enum.IntEnum):
    BIG = 3


@dataclasses.dataclass
class Point:
    x: int
    tags: set[str] = dataclasses.field(default_factory=set)
    kind: typing.ClassVar[str] = "point"


@dataclasses.dataclass(frozen=True, slots=True)
class Slotted:
    path: pathlib.PurePosixPath


class Pair(typing.NamedTuple):
    left: int
    right: Colour


class Model(BaseModel):
    when: datetime.date
    inner: list[int] = Field(default=[], serialization_alias="items")


class Text(str):
    pass


DELTA = datetime.timedelta


@pytest.mark.parametrize(
    ("value", "plain"),
    [
        (None, None),
        ([1, 2.5, True, "x", None], [1, 2.5, True, "x", None]),
        (datetime.datetime(2026, 1, 2, 3, 4, tzinfo=datetime.UTC), "2026-01-02T03:04:00+00:00"),
        (datetime.date(2026, 1, 2), "2026-01-02"),
        (datetime.time(3, 4), "03:04:00"),
        (DELTA(hours=1), "PT1H"),
        (decimal.Decimal("1.10"), "1.10"),
        (uuid.UUID(int=1), "00000000-0000-0000-0000-000000000001"),
        (pathlib.PurePosixPath("a/b"), "a/b"),
        (b"abc", "YWJj"),
        (Colour.RED, "red"),
        (Colour.DEEP, "2026-01-02"),
        (Size.BIG, 3),
        (Text("t"), "t"),
        (Pair(1, Colour.RED), [1, "red"]),
        ({3, 1, 2}, [1, 2, 3]),
        (frozenset({"b", "a"}), ["a", "b"]),
        ({"a": 1}.keys(), ["a"]),
        (Point(1, {"t"}), {"x": 1, "tags": ["t"]}),
        (Slotted(pathlib.PurePosixPath("p")), {"path": "p"}),
        (Model(when=datetime.date(2026, 1, 2), inner=[1]), {"when": "2026-01-02", "items": [1]}),
        (types.MappingProxyType({"a": (1,)}), {"a": [1]}),
        (collections.OrderedDict(a=b""), {"a": ""}),
        (
            {1: "a", None: "b", False: "c", Colour.RED: "d", datetime.date(2026, 1, 2): "e"},
            {"1": "a", "null": "b", "false": "c", "red": "d", "2026-01-02": "e"},
        ),
    ],
)
def test_a_value_becomes_the_json_that_stands_for_it(value: Any, plain: Any) -> None:
    """Ours: as pydantic writes them, but for bytes, which are base64."""
    assert as_json_value(value) == plain
    assert json.loads(json.dumps(as_json_value(value))) == plain


def test_a_set_whose_items_have_no_order_is_a_list_all_the_same() -> None:
    """Ours."""
    assert sorted(as_json_value({1, "a"}), key=str) == [1, "a"]


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        (threading.Lock(), "it is of type _thread.lock"),
        (object(), "it is of type object"),
        ({"a": [1, Point(1, {2: object()})]}, "a[1].tags.2 is of type object"),
        ({(1, 2): 3}, "a key is of type tuple"),
        ({"a": {(1, 2): 3}}, "a key of a is of type tuple"),
        ((number for number in "ab"), "it is of type generator"),
    ],
)
def test_a_value_that_no_json_stands_for_is_named_with_its_place(value: Any, problem: str) -> None:
    """Ours: the author has to find it."""
    with pytest.raises(NotJSONError) as caught:
        as_json_value(value)
    assert str(caught.value) == problem


def test_a_value_that_contains_itself_is_a_recursion() -> None:
    """Ours: it has no end."""
    endless: list[Any] = []
    endless.append(endless)

    with pytest.raises(RecursionError):
        as_json_value(endless)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (DELTA(), "PT0S"),
        (DELTA(days=1), "P1D"),
        (DELTA(days=1, hours=2, minutes=3, seconds=4, microseconds=500000), "P1DT2H3M4.5S"),
        (DELTA(minutes=-1), "-PT1M"),
        (DELTA(microseconds=10), "PT0.00001S"),
    ],
)
def test_a_duration_is_text(value: datetime.timedelta, text: str) -> None:
    """ISO 8601, which JSON Schema's format "duration" refers to."""
    assert duration_text(value) == text

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


def test_a_python_value_becomes_json() -> None:
    """Ours: as pydantic writes them, but for bytes, which are base64."""
    cases = [
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
    ]

    wrong = [
        (value, plain)
        for value, plain in cases
        if not (as_json_value(value) == plain and json.loads(json.dumps(as_json_value(value))) == plain)
    ]

    assert not wrong


def test_a_set_of_unsortable_items_becomes_a_list() -> None:
    """Ours: a value of mixed types is not an error because it cannot be sorted."""
    assert sorted(as_json_value({1, "a"}), key=str) == [1, "a"]


def test_a_value_without_a_json_form_is_named_with_its_path() -> None:
    """Ours: the author has to find it."""
    cases = [
        (threading.Lock(), "it is of type _thread.lock"),
        (object(), "it is of type object"),
        ({"a": [1, Point(1, {2: object()})]}, "a[1].tags.2 is of type object"),
        ({(1, 2): 3}, "a key is of type tuple"),
        ({"a": {(1, 2): 3}}, "a key of a is of type tuple"),
        ((number for number in "ab"), "it is of type generator"),
    ]

    def error_of(value: Any) -> str | None:
        try:
            as_json_value(value)
        except NotJSONError as error:
            return str(error)
        return None

    wrong = [(value, found) for value, problem in cases if (found := error_of(value)) != problem]

    assert not wrong


def test_a_value_that_contains_itself_is_a_recursion_error() -> None:
    """Ours: it has no end."""
    endless: list[Any] = []
    endless.append(endless)

    with pytest.raises(RecursionError):
        as_json_value(endless)


def test_a_duration_becomes_iso_8601() -> None:
    """ISO 8601, which JSON Schema's format "duration" refers to."""
    cases = [
        (DELTA(), "PT0S"),
        (DELTA(days=1), "P1D"),
        (DELTA(days=1, hours=2, minutes=3, seconds=4, microseconds=500000), "P1DT2H3M4.5S"),
        (DELTA(minutes=-1), "-PT1M"),
        (DELTA(microseconds=10), "PT0.00001S"),
    ]

    wrong = [(value, found) for value, text in cases if (found := duration_text(value)) != text]

    assert not wrong

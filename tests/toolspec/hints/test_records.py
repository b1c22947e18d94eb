"""Values with named members: records, and the models and types of pydantic."""

from __future__ import annotations

from typing import Annotated, Any

import pytest
from pydantic import AfterValidator, BaseModel, Field

from gaia_mcp.toolspec.hints.kinds import ConversionError
from tests.toolspec.hints.hinted import Movie, Point, converted


def even(number: int) -> int:
    if number % 2:
        raise ValueError("odd")
    return number


class Line(BaseModel):
    number: int = Field(ge=1)
    tags: list[str] = []


Even = Annotated[int, AfterValidator(even)]


@pytest.mark.parametrize(
    ("hint", "value", "found"),
    [
        (Line, {"number": 1}, Line(number=1)),
        (list[Line], [{"number": 1, "tags": ["a"]}], [Line(number=1, tags=["a"])]),
        (Even, 2, 2),
        (Point, {"x": 1, "other": 2}, Point(1)),
        (Movie, {"title": "t"}, {"title": "t"}),
    ],
)
def test_an_object_is_converted(hint: Any, value: Any, found: Any) -> None:
    """Ours: pydantic validates what is its own."""
    assert converted(hint, value) == found


@pytest.mark.parametrize(
    ("hint", "value", "problem"),
    [
        (Line, {"number": 0}, "value.number: Input should be greater than or equal to 1"),
        (list[Line], [{"number": 1, "tags": [1]}], "value[0].tags[0]: Input should be a valid string"),
        (Even, 1, "value: Value error, odd"),
        (Point, [], "value: [] is not of type 'object'"),
        (Movie, {"year": 1}, "value: 'title' is missing"),
    ],
)
def test_what_is_wrong_with_an_object_is_reported_with_its_place(hint: Any, value: Any, problem: str) -> None:
    """Ours: in pydantic's words for what is its own."""
    with pytest.raises(ConversionError) as caught:
        converted(hint, value)
    assert str(caught.value) == problem

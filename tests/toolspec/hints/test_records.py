"""Values with named members: records, and the models and types of pydantic."""

from __future__ import annotations

from typing import Annotated, Any

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

    def error_of(hint: Any, value: Any) -> str | None:
        try:
            converted(hint, value)
        except ConversionError as error:
            return str(error)
        return None

    wrong = [(hint, value, found) for hint, value, problem in cases if (found := error_of(hint, value)) != problem]

    assert not wrong

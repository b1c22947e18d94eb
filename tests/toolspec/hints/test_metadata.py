"""What metadata add to a schema."""

from __future__ import annotations

import datetime
import math
import re
from typing import Annotated

import annotated_types
import typing_extensions
from pydantic import Field

from gaia_mcp.toolspec.hints.metadata import is_described, is_field, members_of


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

"""What JSON carries as text."""

from __future__ import annotations

import datetime
import decimal
import pathlib
import uuid
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gaia_mcp.jsonvalues import as_json_value
from gaia_mcp.toolspec.hints.kinds import ConversionError
from gaia_mcp.toolspec.hints.texts import duration, text_kind
from tests.toolspec.hints.hinted import converted

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

    def error_of(hint: Any, value: Any) -> str | None:
        try:
            converted(hint, value)
        except ConversionError as error:
            return str(error)
        return None

    wrong = [(hint, value, found) for hint, value, problem in cases if (found := error_of(hint, value)) != problem]

    assert not wrong


def test_a_type_that_is_not_text_has_no_text_kind() -> None:
    """Ours: JSON has a type of its own for a number, and a duration is ISO 8601 alone."""
    assert text_kind(int) is None
    with pytest.raises(ValueError, match="'1 day' is not a duration"):
        duration("1 day")

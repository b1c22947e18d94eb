"""Tables of cases: a failing row is neither lost nor does it hide another one."""

from __future__ import annotations

import pytest

from tests.protocol_support import check_each, check_rows


def test_the_failures_of_all_rows_are_raised_with_their_rows() -> None:
    """Ours: one test checks a whole table, so its report has to name every offender."""
    checked: list[int] = []

    def check(number: int, divisor: int) -> None:
        checked.append(number)
        assert number // divisor == 2
        with pytest.raises(ValueError):
            int("x" if number == 4 else "1")

    with pytest.raises(BaseExceptionGroup) as caught:
        check_rows(check, [(4, 2), (1, 1), (3, 0), (2, 1), (5, 2), (4, 2)])

    assert checked == [4, 1, 3, 2, 5, 4]
    assert [(type(failure), failure.__notes__) for failure in caught.value.exceptions] == [
        (AssertionError, ["for (1, 1)"]),
        (ZeroDivisionError, ["for (3, 0)"]),
        (pytest.fail.Exception, ["for (2, 1)"]),
        (pytest.fail.Exception, ["for (5, 2)"]),
    ]


def test_every_combination_is_checked() -> None:
    """Ours: as nested parametrization did."""
    checked: list[tuple[str, int]] = []

    check_each(lambda letter, number: checked.append((letter, number)), "ab", [1, 2])
    check_each(lambda letter: checked.append((letter, 0)), "c")

    assert checked == [("a", 1), ("a", 2), ("b", 1), ("b", 2), ("c", 0)]

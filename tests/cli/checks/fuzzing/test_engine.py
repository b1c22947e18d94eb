"""Hypothesis as an engine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import strategies as st

from gaia_mcp.cli.checks.fuzzing.engine import DrawError, Enough, FailedExample, draw, mixed

if TYPE_CHECKING:
    from pathlib import Path


def test_the_same_seed_draws_the_same_examples() -> None:
    """Issue: a run can be repeated."""
    first: list[int] = []
    second: list[int] = []
    other: list[int] = []

    draw(st.integers(), "1:tool:0", first.append)
    draw(st.integers(), "1:tool:0", second.append)
    draw(st.integers(), "2:tool:0", other.append)

    assert first == second != other


def test_an_example_that_fails_is_made_smaller() -> None:
    """Issue: a failure is shrunk."""
    failed: list[int] = []

    def use(number: int) -> None:
        if number > 1000:
            failed.append(number)
            raise FailedExample

    draw(st.integers(), "s", use)

    assert min(failed) == failed[-1] == 1001


def test_an_example_that_fails_no_more_is_no_error() -> None:
    """Ours: what a server does may depend on more than the arguments."""
    calls: list[int] = []

    def use(number: int) -> None:
        calls.append(number)
        if len(calls) == 5:
            raise FailedExample

    draw(st.integers(), "s", use)

    assert len(calls) > 5


def test_enough_ends_the_drawing() -> None:
    """Ours: in the search for examples, and while one is made smaller."""
    calls: list[int] = []

    def use(number: int) -> None:
        calls.append(number)
        if len(calls) == 3:
            raise FailedExample
        if len(calls) == 5:
            raise Enough

    draw(st.integers(), "s", use)

    assert len(calls) == 5


def test_a_strategy_may_end_the_drawing() -> None:
    """Ours: an example that takes too long never gets to where it is used."""

    def end(_: int) -> int:
        raise Enough

    draw(st.integers().map(end), "s", lambda _: None)


@pytest.mark.parametrize("problem", [ValueError("bug"), KeyboardInterrupt()])
def test_any_other_exception_is_raised_at_once(problem: BaseException) -> None:
    """Ours: the engine would call what failed again, to make it smaller."""
    calls: list[int] = []

    def use(number: int) -> None:
        calls.append(number)
        raise problem

    with pytest.raises(type(problem)):
        draw(st.integers(), "s", use)
    assert len(calls) == 1


def test_a_strategy_that_fails_is_told_from_what_uses_it() -> None:
    """Ours: that is about the schema."""

    def fail(_: int) -> Any:
        raise OverflowError("too large")

    with pytest.raises(DrawError, match="too large"):
        draw(st.integers().map(fail), "s", lambda _: None)


def test_nothing_is_printed_or_written_to_the_working_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Issue: neither its database nor its output."""
    monkeypatch.setenv("GAIA_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)

    def use(text: str) -> None:
        if len(text) > 3:
            raise FailedExample

    draw(st.text(), "s", use)
    draw(st.nothing(), "s", use)

    assert {path.name for path in tmp_path.iterdir()} <= {"home"}
    assert capfd.readouterr() == ("", "")


def test_a_mixture_depends_on_what_was_drawn_alone() -> None:
    """Ours: so the engine makes it smaller, too."""
    drawn: list[dict[str, Any]] = [{"a": 1, "b": "x"}, {"a": 2}, {"a": 3, "b": "z", "c": True}]

    made = [mixed(drawn, "salt", place) for place in range(50)]

    assert made == [mixed(drawn, "salt", place) for place in range(50)]
    assert {each.get("a") for each in made} == {1, 2, 3}
    assert {each.get("b") for each in made} == {"x", "z", None}
    assert {"a": 2, "b": "z", "c": True} in made


def test_what_may_be_joined_is_joined_of_two_or_three() -> None:
    """Ours: texts, numbers and lists of their own kind; never to what JSON has no number for."""
    drawn: list[dict[str, Any]] = [{"t": "a", "n": 1e308, "l": [1]}, {"t": "b", "n": 1e308, "l": False}]

    made = [mixed(drawn, "salt", place, ("t", "n", "l")) for place in range(100)]

    assert {"a", "b", "ab", "ba", "aba"} <= {each["t"] for each in made}
    assert {each["n"] for each in made} == {1e308}
    assert all(each["l"] is False or set(each["l"]) == {1} for each in made)
    assert [1, 1] in [each["l"] for each in made]

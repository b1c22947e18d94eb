"""The list of requirements, and what is noted of them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from gaia_mcp.requirements.listed import REQUIREMENTS, Judgement

TESTS = Path(__file__).parents[1]


def test_the_requirements_are_those_of_the_list() -> None:
    """Ours: one number has one meaning."""
    rows = (TESTS / "requirements.md").read_text(encoding="utf-8").splitlines()
    listed = {
        row[1]: row.groups() for line in rows if (row := re.fullmatch(r"\| (\S+) \| (.+) \| (.+) \| (.+) \|", line))
    }

    assert {number: listed.get(number) for number in REQUIREMENTS} == {
        number: tuple(requirement) for number, requirement in REQUIREMENTS.items()
    }


def test_a_break_is_noted_once_with_a_short_message() -> None:
    """Ours: a server that does the same in each of a thousand messages is told once."""
    judgement = Judgement()
    message: Any = {"result": "x" * 1000}

    assert judgement.hold("B-1")
    assert not judgement.hold("B-2", "a mistake")
    assert not judgement.hold("B-3", "a mistake", "a text")
    assert [judgement.seen[number][0].message for number in ("B-2", "B-3")] == ["", "a text"]
    assert not judgement.hold("B-1", "a mistake", message)
    assert not judgement.hold("B-1", "a mistake", {"other": 1})
    assert [(one.detail, len(one.message), one.is_minor) for one in judgement.seen["B-1"]] == [
        ("a mistake", 300, False)
    ]
    with pytest.raises(KeyError):
        judgement.hold("B-99")


def test_a_requirement_has_a_level_and_an_address() -> None:
    """Ours: where an author reads more."""
    requirement = REQUIREMENTS["B-4"]

    assert requirement.is_strict
    assert not REQUIREMENTS["MS-21"].is_strict
    assert requirement.stated.startswith("MUST: An input schema")
    assert requirement.url == "https://modelcontextprotocol.io/specification/2026-07-28/basic/index"

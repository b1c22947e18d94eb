"""The numbers of requirements: those that `requirements.md` lists, and those that the docstrings of tests cite."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

TESTS = Path(__file__).parent
NUMBER = re.compile(r"\b(?:B|MC|MS|LC|LS|IO|DE|HC|HS|AC|AS)-\d+\b")


@cache
def listed() -> dict[str, list[str]]:
    """The numbers of each section of the list, in its order."""
    found: dict[str, list[str]] = {}
    numbers: list[str] = []
    for line in (TESTS / "requirements.md").read_text(encoding="utf-8").splitlines():
        if line.startswith("## "):
            numbers = found[line[3:]] = []
        elif (row := re.match(r"\| ([A-Z]+-\d+) \|", line)) is not None:
            numbers.append(row[1])
    return found


@cache
def cited() -> dict[str, str]:
    """The cited numbers, each with a test that cites it."""
    found: dict[str, str] = {}
    for path in sorted(TESTS.rglob("test_*.py")):
        text = path.read_text(encoding="utf-8")
        if not NUMBER.search(text):
            continue  # Parsing all would take seconds.
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
                for number in NUMBER.findall(ast.get_docstring(node) or ""):
                    found[number] = f"{path.relative_to(TESTS)}::{node.name}"
    return found


def test_every_requirement_that_applies_is_cited_by_a_test() -> None:
    """Ours: a rule without a test is a rule that is forgotten."""
    assert [number for number in listed()["Tested"] if number not in cited()] == []


def test_every_cited_number_is_one_that_applies() -> None:
    """Ours: the reader of a test can look its number up."""
    assert {number: test for number, test in cited().items() if number not in listed()["Tested"]} == {}


def test_requirement_numbers_are_unique_and_without_gaps() -> None:
    """Ours: the numbers of each family begin with 1 and have no gap."""
    numbers = [number for section in listed().values() for number in section]
    families: dict[str, list[int]] = {}
    for number in numbers:
        family, _, place = number.partition("-")
        families.setdefault(family, []).append(int(place))

    assert set(families) == {"B", "MC", "MS", "LC", "LS", "IO", "DE", "HC", "HS", "AC", "AS"}
    for family, places in families.items():
        assert sorted(places) == list(range(1, len(places) + 1)), family


def test_every_requirement_names_its_level_and_its_page() -> None:
    """Ours: where to read the rule itself."""
    levels = "MUST|MUST NOT|SHOULD|SHOULD NOT|MAY"
    page = r"20\d\d-\d\d-\d\d/[a-z/-]+"
    row = re.compile(rf"\| [A-Z]+-\d+ \|( ({levels}) \|)? [^|]+\. \| ({page}(, {page})*|Ours) \|")
    lines = (TESTS / "requirements.md").read_text(encoding="utf-8").splitlines()

    assert [line for line in lines if re.match(r"\| [A-Z]+-\d", line) and not row.fullmatch(line)] == []

"""`cli.colours`: JSON and Markdown, with nothing added but colour."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gaia_mcp.cli.screen.colours import (
    BLUE,
    BOLD,
    CYAN,
    FAINT,
    GREEN,
    ITALIC,
    MAGENTA,
    READ_CHARS,
    RESET,
    YELLOW,
    coloured,
    kind_of,
)

CODES = re.compile(r"\x1b\[\d+m")


@pytest.mark.parametrize(
    ("text", "mime_type", "kind"),
    [
        ("x", "application/json", "json"),
        ("x", "application/problem+json; charset=utf-8", "json"),
        ("x", "text/markdown", "markdown"),
        ('{"a": 1}', "text/x-python", "text"),
        ('{"a": 1}', "text/plain", "json"),
        ('\n [1, "a"]\n', None, "json"),
        ("[1, a]", None, "text"),
        ("[see](there)", None, "text"),
        ("[" * 50_000 + "]" * 50_000, None, "text"),
        ("[" + "1," * READ_CHARS + "1]", None, "json"),
        ("[" + "1," * READ_CHARS, None, "text"),
        ("# Title\ntext", None, "markdown"),
        ("text\n```\ncode\n```", None, "markdown"),
        ("#!/bin/sh\necho", None, "text"),
        ("2 * 3 * 4", None, "text"),
        ("", None, "text"),
        ("x", 5, "text"),
    ],
)
def test_a_text_is_what_its_type_says_or_what_it_looks_like(text: str, mime_type: object, kind: str) -> None:
    """Ours: tools do not say of what type their texts are."""
    assert kind_of(text, mime_type) == kind


def test_json_has_colours_for_keys_and_for_each_kind_of_value() -> None:
    """Ours."""
    shown = coloured('{"a": ["b", -1.5e3, true, null]}', "json")

    values = f'{GREEN}"b"{RESET}, {YELLOW}-1.5e3{RESET}, {MAGENTA}true{RESET}, {MAGENTA}null{RESET}'
    assert shown == f'{{{CYAN}"a"{RESET}: [{values}]}}'


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ("## Title", f"{BOLD}{MAGENTA}## Title{RESET}"),
        ("> said", f"{FAINT}> said{RESET}"),
        ("- one", f"{YELLOW}-{RESET} one"),
        ("  12. two", f"  {YELLOW}12.{RESET} two"),
        ("a `b` c", f"a {GREEN}`b`{RESET} c"),
        ("**a** b", f"{BOLD}**a**{RESET} b"),
        ("*a* _b_", f"{ITALIC}*a*{RESET} {ITALIC}_b_{RESET}"),
        ("see [this](http://x)", f"see {BLUE}[this](http://x){RESET}"),
        ("snake_case_name and 2 * 3 * 4", "snake_case_name and 2 * 3 * 4"),
        ("#hashtag", "#hashtag"),
    ],
)
def test_markdown_is_shown_as_it_is_written(line: str, shown: str) -> None:
    """Ours: its signs stay where they are."""
    assert coloured(line, "markdown") == shown


def test_code_between_fences_is_left_alone() -> None:
    """CommonMark: a fence is closed by its own kind."""
    shown = coloured("```\n# no title\n~~~\n\n```\n*a*", "markdown").split("\n")

    assert shown[1] == f"{GREEN}# no title{RESET}"
    assert shown[3] == ""
    assert shown[5] == f"{ITALIC}*a*{RESET}"


@given(st.text(alphabet='#*_`[]()>-~! \n"\\{}:,.0123456789eab'))
def test_nothing_is_added_but_colour(text: str) -> None:
    """Ours: what is copied from the terminal is what the server said."""
    for kind in ("json", "markdown", "text"):
        shown = coloured(text, kind)  # type: ignore[arg-type]
        assert CODES.sub("", shown) == text
        assert shown.rfind(RESET) >= max((shown.rfind(code) for code in (CYAN, GREEN, BOLD)), default=-1)


@pytest.mark.parametrize("piece", ["**a ", "`a", "[", "*a ", "_a ", '\\"', '"\\', "![a](", "__a "])
def test_no_text_keeps_us_busy(piece: str) -> None:
    """Ours: as much of it as is ever shown, written by an attacker who knows our patterns."""
    text = piece * (READ_CHARS // len(piece))

    for kind in ("json", "markdown"):
        assert CODES.sub("", coloured(text, kind)) == text  # type: ignore[arg-type]


def test_json_in_colours_is_the_same_json() -> None:
    """Ours."""
    value = {'a"b': ["\\", {"c: 1": "true"}], "n": [0, -1, 1e-9]}

    assert json.loads(CODES.sub("", coloured(json.dumps(value, indent=1), "json"))) == value

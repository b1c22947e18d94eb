"""`cli.screen.colours`: JSON and Markdown, to which only colours are added."""

from __future__ import annotations

import json
import re

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
    Kind,
    coloured,
    kind_of,
)
from tests.expressions import grows_too_fast

CODES = re.compile(r"\x1b\[\d+m")


def test_the_kind_of_a_text_comes_from_its_mime_type_or_its_content() -> None:
    """Ours: the results of tools have no MIME type."""
    kinds: list[tuple[str, object, str]] = [
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
    ]

    wrong = [(text[:30], given, found) for text, given, kind in kinds if (found := kind_of(text, given)) != kind]
    assert not wrong


def test_json_has_colours_for_keys_and_for_each_kind_of_value() -> None:
    """Ours: `true` and `"true"` differ at first sight."""
    shown = coloured('{"a": ["b", -1.5e3, true, null]}', "json")

    values = f'{GREEN}"b"{RESET}, {YELLOW}-1.5e3{RESET}, {MAGENTA}true{RESET}, {MAGENTA}null{RESET}'
    assert shown == f'{{{CYAN}"a"{RESET}: [{values}]}}'


def test_markdown_is_coloured_and_keeps_its_characters() -> None:
    """Ours: text that is copied from a terminal is still Markdown."""
    shown = {
        "## Title": f"{BOLD}{MAGENTA}## Title{RESET}",
        "> said": f"{FAINT}> said{RESET}",
        "- one": f"{YELLOW}-{RESET} one",
        "  12. two": f"  {YELLOW}12.{RESET} two",
        "a `b` c": f"a {GREEN}`b`{RESET} c",
        "**a** b": f"{BOLD}**a**{RESET} b",
        "*a* _b_": f"{ITALIC}*a*{RESET} {ITALIC}_b_{RESET}",
        "see [this](http://x)": f"see {BLUE}[this](http://x){RESET}",
        "snake_case_name and 2 * 3 * 4": "snake_case_name and 2 * 3 * 4",
        "#hashtag": "#hashtag",
    }

    assert {line: coloured(line, "markdown") for line in shown} == shown


def test_fenced_code_has_one_colour() -> None:
    """CommonMark: a fence is closed by its own kind."""
    shown = coloured("```\n# no title\n~~~\n\n```\n*a*", "markdown").split("\n")

    assert shown[1] == f"{GREEN}# no title{RESET}"
    assert shown[3] == ""
    assert shown[5] == f"{ITALIC}*a*{RESET}"


@given(st.text(alphabet='#*_`[]()>-~! \n"\\{}:,.0123456789eab'))
def test_only_colour_codes_are_added(text: str) -> None:
    """Ours: text that is copied from a terminal is the server's."""
    for kind in ("json", "markdown", "text"):
        shown = coloured(text, kind)  # type: ignore[arg-type]
        assert CODES.sub("", shown) == text
        assert shown.rfind(RESET) >= max((shown.rfind(code) for code in (CYAN, GREEN, BOLD)), default=-1)


def test_colouring_takes_linear_time() -> None:
    """Ours: a server may write what makes our patterns slow."""
    pieces = ("**a ", "`a", "[", "*a ", "_a ", '\\"', '"\\', "![a](", "__a ")
    kinds: tuple[Kind, ...] = ("json", "markdown")

    def found(piece: str, kind: Kind) -> str:
        return grows_too_fast(lambda size: coloured(piece * (size // len(piece)), kind))

    slow = {(piece, kind): growth for piece in pieces for kind in kinds if (growth := found(piece, kind))}
    assert not slow


def test_a_text_of_the_maximum_length_is_coloured_without_changing_it() -> None:
    """Ours: no longer text is ever coloured."""
    for piece in ("**a ", '\\"', "![a]("):
        text = piece * (READ_CHARS // len(piece))
        for kind in ("json", "markdown"):
            assert CODES.sub("", coloured(text, kind)) == text  # type: ignore[arg-type]


def test_json_in_colours_is_the_same_json() -> None:
    """Ours: output that is copied from a terminal must still parse."""
    value = {'a"b': ["\\", {"c: 1": "true"}], "n": [0, -1, 1e-9]}

    assert json.loads(CODES.sub("", coloured(json.dumps(value, indent=1), "json"))) == value

"""Text from elsewhere, made safe to show."""

from __future__ import annotations

import json
import re
import sys
import unicodedata

from hypothesis import example, given
from hypothesis import strategies as st

import gaia_mcp.text as safetext
from gaia_mcp.text import (
    clean,
    clean_json,
    cut,
    cut_middle,
    encodable,
    first_line,
    one_line,
)
from tests.protocol_support import steady

# Written with in several scripts and in emoji: the two joiners; signs of Arabic, Syriac and others that are visible.
VISIBLE_OR_NEEDED = {"\u200c", "\u200d"} | {
    chr(code) for first, last in ((0x600, 0x605), (0x890, 0x891), (0x13430, 0x1343F)) for code in range(first, last + 1)
}
VISIBLE_OR_NEEDED |= {"\u06dd", "\u070f", "\u08e2", "\U000110bd", "\U000110cd"}


def is_unsafe(character: str) -> bool:
    if character in "\t\n" or character in VISIBLE_OR_NEEDED:
        return False
    return unicodedata.category(character) in ("Cc", "Cf", "Zl", "Zp")


class TestClean:
    """No control character of a server's reaches the terminal."""

    def test_every_character_that_controls_or_hides_is_escaped(self) -> None:
        """Ours, over all of Unicode."""
        left = [
            f"U+{code:04X}"
            for code in range(0x110000)
            if is_unsafe(character := chr(code)) and clean(character) == character
        ]
        assert left == []

    def test_letters_joiners_and_emoji_stay_as_they_are(self) -> None:
        """Ours: a cleaned text must stay readable."""
        text = "a\tb\nç 漢字 עברית عربي 👩‍💻 \u00a0 \ue000"
        assert clean(text) == text

    def test_an_escape_names_the_code_of_the_character(self) -> None:
        """Ours: a person can see what the server tried."""
        cases = [
            ("\x1b[31mred\x1b[0m", r"\x1b[31mred\x1b[0m"),
            ("\x1b]0;title\x07", r"\x1b]0;title\x07"),
            ("\x1b]8;;http://x\x1b\\link", r"\x1b]8;;http://x\x1b" + "\\link"),
            ("\x9b31m", r"\x9b31m"),
            ("a\rb", r"a\rb"),
            ("a\r\nb", "a\nb"),
            ("\x00\x08\x7f", r"\x00\x08\x7f"),
            ("file\u202egnp.exe", r"file\u202egnp.exe"),
            ("\u061c\u2066\u200b\ufeff", r"\u061c\u2066\u200b\ufeff"),
            ("\U000e0041", r"\U000e0041"),
        ]

        assert {text: clean(text) for text, _ in cases} == dict(cases)

    @steady
    @given(st.text(st.characters(min_codepoint=0, max_codepoint=0x10FFFF)))
    @example("\r\r\n")
    def test_nothing_unsafe_is_left_in_any_text(self, text: str) -> None:
        """Ours: neither is any made of what is escaped, so cleaning twice changes nothing."""
        assert not any(is_unsafe(character) for character in clean(text))
        assert clean(clean(text)) == clean(text)


class TestOneLine:
    """A line's worth of anything."""

    def test_lines_and_gaps_become_one_space(self) -> None:
        """Ours: a table has one line per server."""
        assert one_line(" a \n\t b\r\nc  ") == "a b c"
        assert one_line("") == ""

    def test_a_cut_is_visible(self) -> None:
        """Ours: the beginning must not be taken for the whole."""
        assert one_line("a" * 200) == "a" * 200
        assert one_line("a" * 201) == "a" * 199 + "…"
        assert one_line("abcdef", 4) == "abc…"

    def test_text_behind_much_white_space_is_cut(self) -> None:
        """Ours: the reading stops at four times the limit."""
        assert one_line("a" + " " * 1000 + "b") == "a…"

    @steady
    @given(st.text(), st.integers(1, 50))
    def test_a_line_is_never_longer_than_its_limit(self, text: str, limit: int) -> None:
        """Ours: a flood from a server stays a line."""
        line = one_line(text, limit)
        assert len(line) <= limit
        assert not any(is_unsafe(character) or character in "\t\n" for character in line)


@steady
@given(st.text(st.characters(min_codepoint=0, max_codepoint=0x10FFFF)))
@example("\ud800")
def test_any_text_can_be_encoded_once_its_lone_surrogates_are_gone(text: str) -> None:
    """Ours: printing must not fail on what JSON escapes can carry."""
    assert len(encodable(text).encode().decode()) == len(text)


@given(st.text())
def test_cleaned_json_has_the_same_value(text: str) -> None:
    """RFC 8259: any character of a string may be written as an escape; those outside the first plane as two."""
    value = {"a": text + "\x7f\x9b\u202e\U000e0001"}

    shown = clean_json(json.dumps(value, ensure_ascii=False))

    assert json.loads(shown) == value
    assert not any(map(is_unsafe, shown))


def test_a_long_text_is_cut_at_its_end_or_in_the_middle() -> None:
    """Ours: a problem ends with what is wrong."""
    assert cut("0123456789", 10) == "0123456789"
    assert cut("0123456789x", 10) == "012345678…"
    assert cut_middle("0123456789", 10) == "0123456789"
    assert cut_middle("0123456789x", 10) == "012…56789x"


def test_no_printable_character_is_escaped() -> None:
    """Ours: a pattern that takes long to compile is spared to most texts."""
    unsafe = re.compile(f"{safetext._UNSAFE}|{safetext._SURROGATE}")

    assert [char for char in map(chr, range(sys.maxunicode + 1)) if char.isprintable() and unsafe.match(char)] == []


def test_the_first_line_of_a_description_skips_a_tag() -> None:
    """Ours: Angular's server begins each of its descriptions with `<Purpose>`."""
    cases = [
        ("Adds.\r\nMore.", "Adds."),
        ("\n  Adds.  \n", "Adds."),
        ("<Purpose>\nAdds.\n</Purpose>", "Adds."),
        ("<Purpose>\n\n  Adds.", "Adds."),
        ("<Purpose>", "<Purpose>"),
        ("<b>Adds</b> two numbers", "<b>Adds</b> two numbers"),
        ("<a>\n<b>\n<c>\n<d>\nAdds.", "<a>"),
        ("  ", ""),
        (None, ""),
        (["Adds."], ""),
    ]

    wrong = [(text, found) for text, line in cases if (found := first_line(text)) != line]

    assert not wrong

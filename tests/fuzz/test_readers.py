"""A little of `python -m tests.fuzz readers`, and proof that its checks find something."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st

from gaia_mcp.cli.completion.answering import quoted, read_line
from gaia_mcp.hosts import Layout, read_servers, with_server
from tests.fuzz import readers
from tests.fuzz.readers import ENTRY, READERS, faults
from tests.protocol_support import steady

if TYPE_CHECKING:
    import pytest

# Reading YAML takes a hundred times as long as anything else.
TEXTS = {"yaml": 60, "yaml list": 60}
TEXT = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12)
LAYOUTS = [Layout("json", ("a", "b")), Layout("toml", ("a", "b")), Layout("yaml", ("a",))]


def test_a_mutated_text_is_read_or_refused() -> None:
    """Ours: by an error of ours, and what is written adds to what was there."""
    assert {name: list(faults(name, TEXTS.get(name, 600), seed=7)) for name in READERS} == {
        name: [] for name in READERS
    }


@steady
@given(layout=st.sampled_from(LAYOUTS), names=st.lists(TEXT, min_size=1, max_size=3, unique=True), word=TEXT)
def test_entries_that_are_written_into_a_document_can_be_read(layout: Layout, names: list[str], word: str) -> None:
    """Ours: whatever the names and the values are."""
    text, entries = "", {name: {**ENTRY, "args": [word, name]} for name in names}
    for name, entry in entries.items():
        text = with_server(text, layout, name, entry)

    assert read_servers(text, layout) == entries


@steady
@given(word=st.text(st.characters(exclude_categories=["Cc", "Cs"]), min_size=1))
def test_a_quoted_word_is_parsed_unchanged(word: str) -> None:
    """Ours: what TAB puts on a line is what a shell makes of it."""
    assert read_line(f"gaia {quoted(word)} x").words[1:2] == [word]


def test_an_error_that_is_not_ours_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ours: the check can fail."""
    for problem in (KeyError, RecursionError, UnicodeError):

        def broken(_: str, problem: type[Exception] = problem) -> None:
            raise problem("x")

        monkeypatch.setitem(READERS, "broken", readers.Reader(broken, ["text"]))
        assert len(list(faults("broken", 3, seed=1))) == 3, problem

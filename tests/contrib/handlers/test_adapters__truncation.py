"""How results are cut."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from gaia_mcp.contrib.handlers.adapters import MARK, truncated

TEXTS = st.text(st.characters(exclude_categories=[]))


def size(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))


@given(TEXTS, st.integers(-2, 40))
def test_a_text_keeps_as_many_whole_characters_as_fit(text: str, limit: int) -> None:
    """A9: cut by UTF-8 bytes on a character boundary, also in what is no valid UTF-16."""
    cut = truncated(text, limit)

    if size(text) <= max(0, limit):
        assert cut == text
    else:
        assert cut.endswith(MARK)
        kept = cut.removesuffix(MARK)
        assert text.startswith(kept)
        assert size(kept) <= max(0, limit) < size(text[: len(kept) + 1])


def test_the_mark_is_that_of_the_document() -> None:
    """A9: and what a handler of the document has cut itself stays as it was."""
    assert truncated("x" * 20, 8) == "xxxxxxxx...(truncated)"
    assert truncated("xxxxxxxx...(truncated)", 8) == "xxxxxxxx...(truncated)"

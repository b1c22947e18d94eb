"""How well a tool matches the words of a search."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

# A tool's name says most about it, its description much, and its parameters a little.
_WEIGHTS = (8, 3, 1)
# "person" is not the subject of "impersonation": a word that stands alone counts more than a part of another.
_WHOLE_WORD, _PART_OF_WORD = 3, 2


class SearchWord(NamedTuple):
    """A word in lower case, and the pattern that finds it where no letter or digit stands before or after it."""

    text: str
    alone: re.Pattern[str]


def search_words(words: Sequence[str]) -> list[SearchWord]:
    """The words of a search; one that contains spaces is several."""
    return [
        SearchWord(text, re.compile(rf"(?<![^\W_]){re.escape(text)}(?![^\W_])"))
        for word in words
        for text in word.casefold().split()
    ]


def score(tool: Mapping[str, Any], words: Sequence[SearchWord]) -> int:
    """How well `tool`, as a server defines it, matches `words`; 0 if it lacks one of them."""
    schema = tool.get("inputSchema")
    properties = schema.get("properties") if isinstance(schema, dict) else None
    texts = (
        f"{tool['name']} {tool.get('title', '')}".casefold(),
        str(tool.get("description", "")).casefold(),
        " ".join(properties).casefold() if isinstance(properties, dict) else "",
    )
    total = 0
    for word in words:
        text, weight = next((each for each in zip(texts, _WEIGHTS, strict=True) if word.text in each[0]), ("", 0))
        if not weight:
            return 0
        total += weight * (_WHOLE_WORD if word.alone.search(text) else _PART_OF_WORD)
    return total

"""Ranks tools for the words of a search. A word with `*` or `?` is a glob for the tool's name."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from gaia_mcp.toolspec.schema import argument_names

# A tool's name says most about it, its description much, and its parameters a little.
_WEIGHTS = (8, 3, 1)
# "person" is not the subject of "impersonation": a word that stands alone counts more than a part of another.
_WHOLE_WORD, _PART_OF_WORD = 3, 2
# One letter in four may be mistyped; below, `weather` would be taken for `create`.
_ALIKE = 0.75


class SearchWord(NamedTuple):
    """A word in lower case, and the pattern that matches it as a whole word.

    The pattern of a glob matches the whole name.
    """

    text: str
    alone: re.Pattern[str]
    is_glob: bool


def search_words(words: Sequence[str]) -> list[SearchWord]:
    """The words of a search; one that contains spaces is several."""
    return [_search_word(text) for word in words for text in word.casefold().split()]


def _search_word(text: str) -> SearchWord:
    if "*" in text or "?" in text:
        return SearchWord(text, re.compile(fnmatch.translate(text)), is_glob=True)
    return SearchWord(text, re.compile(rf"(?<![^\W_]){re.escape(text)}(?![^\W_])"), is_glob=False)


def score(tool: Mapping[str, Any], words: Sequence[SearchWord], about: str = "") -> int:
    """How well `tool`, as a server defines it, matches `words`; 0 if it lacks one of them. `about`, such as the name of
    the server, counts as little as a parameter.
    """
    texts = (
        f"{tool['name']} {tool.get('title', '')}".casefold(),
        str(tool.get("description", "")).casefold(),
        " ".join([*argument_names(tool.get("inputSchema")), about]).casefold(),
    )
    total = 0
    for word in words:
        if word.is_glob:
            if not word.alone.fullmatch(tool["name"].casefold()):
                return 0
            total += _WEIGHTS[0] * _WHOLE_WORD
            continue
        text, weight = next((each for each in zip(texts, _WEIGHTS, strict=True) if word.text in each[0]), ("", 0))
        if not weight:
            return 0
        total += weight * (_WHOLE_WORD if word.alone.search(text) else _PART_OF_WORD)
    return total


def closest_words(tools: Sequence[Mapping[str, Any]], words: Sequence[SearchWord]) -> list[str]:
    """The words that the closest of `tools` matches, when none matches all: those of `words`, of which a mistyped one
    is replaced by the part of a tool's name that is most like it. Empty if there are none.
    """
    from difflib import get_close_matches

    parts = dict.fromkeys(part for tool in tools for part in re.split(r"[\W_]+", tool["name"].casefold()) if part)
    likely = []
    for word in words:
        if any(score(tool, [word]) for tool in tools):
            likely.append(word)
        elif not word.is_glob:
            near = get_close_matches(word.text, parts, n=1, cutoff=_ALIKE)
            likely += [_search_word(part) for part in near]
    matched = [[word.text for word in likely if score(tool, [word])] for tool in tools]
    return max(matched, key=len, default=[])

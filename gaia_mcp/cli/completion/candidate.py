"""A candidate at a TAB. Annotations are evaluated, for the same reason as in `cli/grammar/model`."""

from typing import NamedTuple

# A candidate with one of these endings is incomplete: a value, a name in the folder, or a class follows.
_OPEN_ENDS = ("=", "@", "/", ":")


class Candidate(NamedTuple):
    """A candidate for the whole word, and its description."""

    value: str
    description: str = ""

    @property
    def is_open(self) -> bool:
        """Whether the word continues after the candidate, so that no space may follow."""
        return self.value.endswith(_OPEN_ENDS)

"""One candidate at a TAB. Annotations are evaluated, for the same reason as in `cli/grammar/model`."""

from typing import NamedTuple

# A candidate that ends so is not yet a whole word: a value, a name in that folder, or a class follows.
_OPEN_ENDS = ("=", "@", "/", ":")


class Candidate(NamedTuple):
    """The whole of what the word may become, and a description of it."""

    value: str
    description: str = ""

    @property
    def is_open(self) -> bool:
        """Whether more belongs to the same word, so that no space may follow."""
        return self.value.endswith(_OPEN_ENDS)

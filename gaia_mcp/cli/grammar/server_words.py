"""The words of a command line that name servers: before two dashes, and after them. Pure.

Annotations are evaluated, for the same reason as in `cli/grammar/model`.
"""

from collections.abc import Collection, Sequence
from typing import NamedTuple


class ServerWords(NamedTuple):
    """The arguments `before` two dashes and those `after` them, which are the command of a server unless the line has a
    meaning without the dashes.
    """

    before: Sequence[str]
    after: Sequence[str] = ()

    @classmethod
    def of(cls, words: Sequence[str], after: Sequence[str]) -> "ServerWords":
        """Those of all `words`, of which the last are those `after` the dashes."""
        return cls(words[: len(words) - len(after)], after)

    @property
    def words(self) -> list[str]:
        """All of them."""
        return [*self.before, *self.after]

    def of_names(self, servers: Collection[str]) -> "ServerWords":
        """These words where only names are expected: without the dashes if each word after them is one of `servers`."""
        return ServerWords(self.words) if set(self.after) <= set(servers) else self

    def has_command(self, servers: Collection[str], *, has_item: bool = True) -> bool:
        """Whether what follows the dashes is a command, as in `ITEM [ARG...] -- COMMAND [ARG...]`. It is not if the
        line means one of `servers` without the dashes: `NAME ITEM [ARG...]`.

        With `has_item` a tool or the like is named, and nothing follows it but `key=value`.
        """
        if not self.after or not _is_word(self.after[0]):
            return False
        if has_item and not self.before:
            return False
        first, *rest = self.words
        if first in servers and any(map(_is_word, self.before[1:2])):
            return False  # `NAME ITEM`, and dashes before the arguments.
        return first not in servers or (has_item and any("=" not in word for word in rest[1:]))


def _is_word(word: str) -> bool:
    """Whether it can be no argument of a tool."""
    return "=" not in word and not word.startswith(("-", "{"))

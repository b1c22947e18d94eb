"""The words of a command line that name servers, before and after two dashes. Pure.

Annotations are evaluated, for the same reason as in `cli/grammar/model`.
"""

from collections.abc import Collection, Sequence
from typing import NamedTuple


class ServerWords(NamedTuple):
    """The arguments `before` two dashes and those `after` them. The latter are a server's command, unless the line is
    valid without the dashes.
    """

    before: Sequence[str]
    after: Sequence[str] = ()

    @classmethod
    def of(cls, words: Sequence[str], after: Sequence[str]) -> "ServerWords":
        """Split `words`, of which the last are those `after` the dashes."""
        return cls(words[: len(words) - len(after)], after)

    @property
    def words(self) -> list[str]:
        """All words."""
        return [*self.before, *self.after]

    def of_names(self, servers: Collection[str]) -> "ServerWords":
        """These words, for a command that takes only names: joined if all words after the dashes are `servers`."""
        return ServerWords(self.words) if set(self.after) <= set(servers) else self

    def has_command(self, servers: Collection[str], *, has_item: bool = True) -> bool:
        """Whether the words after the dashes are a command, as in `ITEM [ARG...] -- COMMAND [ARG...]`. They are not if
        the line without the dashes names one of `servers`: `NAME ITEM [ARG...]`.

        With `has_item` the command takes an item, such as a tool, followed only by `key=value`.
        """
        if not self.after or not _is_word(self.after[0]):
            return False
        if has_item and not self.before:
            return False
        first, *rest = self.words
        if first in servers and any(map(_is_word, self.before[1:2])):
            return False  # `NAME ITEM`, with the dashes before the arguments.
        return first not in servers or (has_item and any("=" not in word for word in rest[1:]))


def _is_word(word: str) -> bool:
    """Whether `word` cannot be a tool's argument."""
    return "=" not in word and not word.startswith(("-", "{"))

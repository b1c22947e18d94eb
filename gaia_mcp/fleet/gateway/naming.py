"""The names under which a gateway lists the tools and prompts of its servers, some of which have equal names.

Pure. A name without a server prefix that could mean several of them is not resolved, so that no call reaches the wrong
server.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from functools import lru_cache
from typing import NamedTuple

from gaia_mcp.toolspec.repair import MAX_LENGTH, allowed_characters, function_name

# Between the names of a server and a tool. The APIs of language models do not allow a dot in a name.
SEPARATOR = "__"
# A server's name keeps this length when a name is shortened: some letters to recognize it by, and a digest.
SERVER_CHARS = 20


class Prefix(StrEnum):
    """When the name of the server is added as a prefix."""

    ALWAYS = "always"
    CONFLICT = "conflict"
    NEVER = "never"


class Owner(NamedTuple):
    """A server, and the server's own name of a tool or prompt."""

    server: str
    name: str


class Names:
    """The listed names, from the own names of each server in `offered`, in the order of the configuration."""

    def __init__(self, offered: Mapping[str, Iterable[str]], prefix: Prefix) -> None:
        owners = [Owner(server, name) for server, names in offered.items() for name in names]
        count = Counter(owner.name for owner in owners)
        self._owners: dict[str, Owner] = {}
        self._shown: dict[Owner, str] = {}
        # Names without a prefix first, so that no prefixed name takes one of them.
        prefixed: list[Owner] = []
        for owner in owners:
            is_alone = prefix is Prefix.NEVER or (count[owner.name] == 1 and not _poses(owner, offered))
            if prefix is Prefix.ALWAYS or not is_alone:
                prefixed.append(owner)
            elif owner.name not in self._owners:
                self._owners[owner.name], self._shown[owner] = owner, owner.name
        # Names that do not change first, so that no changed one takes one of them.
        for owner in sorted(prefixed, key=lambda owner: listed_name(*owner) != prefixed_name(*owner)):
            self._shown[owner] = name = self._free(listed_name(*owner), prefixed_name(*owner))
            self._owners[name] = owner
        # A prefixed name is always accepted, even if it is listed without the prefix.
        for owner in owners:
            self._owners.setdefault(prefixed_name(*owner), owner)
        self._candidates: dict[str, list[Owner]] = {}
        for owner in owners:
            self._candidates.setdefault(owner.name, []).append(owner)

    def shown(self, owner: Owner) -> str | None:
        """The listed name; None if an earlier server hides it."""
        return self._shown.get(owner)

    def find(self, name: str) -> Owner | None:
        """The owner that a name means; None if the name is unknown or ambiguous."""
        return self._owners.get(name)

    def meanings(self, name: str) -> list[str]:
        """The unambiguous names that a name without a server prefix may stand for."""
        return [self._shown[owner] for owner in self._candidates.get(name, ()) if owner in self._shown]

    def _free(self, wanted: str, prefixed: str) -> str:
        name, number = wanted, 2
        if wanted != prefixed and name in self._owners:
            name = function_name(wanted, prefixed)
        while name in self._owners:
            name, number = function_name(f"{wanted}_{number}"), number + 1
        return name


def prefixed_name(server: str, name: str) -> str:
    """A server's own name with the prefix of the server."""
    return f"{allowed_characters(server)}{SEPARATOR}{name}"


def listed_name(server: str, name: str) -> str:
    """The prefixed name as the APIs of models allow it: with `_` for other characters, and too long names shortened,
    the server's first. What is shortened ends with a digest.
    """
    room = MAX_LENGTH - len(SEPARATOR)
    prefix, own = allowed_characters(server), function_name(name)
    if len(prefix) + len(own) > room:
        if len(prefix) > (left := max(SERVER_CHARS, room - len(own))):
            prefix = function_name(server, room=left)
        own = function_name(name, room=room - len(prefix))
    return f"{prefix}{SEPARATOR}{own}"


def unlisted(name: str, servers: Sequence[str]) -> Owner | None:
    """The owner of a name that no server lists, by its prefix or because there is one server; None if it is ambiguous.
    The server itself then accepts or rejects the name.
    """
    if found := servers_of(name, servers):
        server = max(found, key=len)
        return Owner(server, _without_prefix(name, server) or "")
    return Owner(servers[0], name) if len(servers) == 1 else None


def _poses(owner: Owner, servers: Iterable[str]) -> bool:
    """Whether a server's own name begins with the prefix of another server."""
    others = [server for server in servers if server != owner.server]
    return bool(servers_of(owner.name, others))


def servers_of(name: str, servers: Sequence[str]) -> list[str]:
    """The servers whose prefix the name begins with, in full or shortened."""
    return [server for server in servers if _without_prefix(name, server) is not None]


def _without_prefix(name: str, server: str) -> str | None:
    """The name without the server's prefix; None if it begins with another."""
    prefix, shortened = _prefixes(server)
    if name.startswith(prefix):
        return name.removeprefix(prefix)
    begin, _, own = name.partition(shortened) if shortened else ("", "", "")
    return own if own and prefix.startswith(begin) else None


@lru_cache(maxsize=1024)
def _prefixes(server: str) -> tuple[str, str]:
    """The prefix of a server's names, and the end of one that is shortened; empty if it never is."""
    prefix = prefixed_name(server, "")
    short = function_name(server, room=SERVER_CHARS)
    is_long = len(prefix) - len(SEPARATOR) > SERVER_CHARS
    return prefix, f"_{short.rpartition('_')[2]}{SEPARATOR}" if is_long else ""

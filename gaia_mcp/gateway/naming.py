"""The names under which a gateway lists the tools and prompts of its servers, some of which have equal names.

Pure. A name without a server prefix that could mean several of them is not resolved, so that no call reaches the wrong
server.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from typing import NamedTuple

from gaia_mcp.manager.function_names import allowed_characters

# Between the names of a server and a tool. The APIs of language models do not allow a dot in a name.
SEPARATOR = "__"


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
        for owner in prefixed:
            self._shown[owner] = name = self._free(prefixed_name(*owner))
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

    def _free(self, wanted: str) -> str:
        name, number = wanted, 2
        while name in self._owners:
            name, number = f"{wanted}_{number}", number + 1
        return name


def prefixed_name(server: str, name: str) -> str:
    """A server's own name with the prefix of the server."""
    return f"{allowed_characters(server)}{SEPARATOR}{name}"


def unlisted(name: str, servers: Sequence[str]) -> Owner | None:
    """The owner of a name that no server lists, by its prefix or because there is one server; None if it is ambiguous.
    The server itself then accepts or rejects the name.
    """
    if found := servers_of(name, servers):
        server = max(found, key=len)
        return Owner(server, name.removeprefix(prefixed_name(server, "")))
    return Owner(servers[0], name) if len(servers) == 1 else None


def _poses(owner: Owner, servers: Iterable[str]) -> bool:
    """Whether a server's own name begins with the prefix of another server."""
    others = [server for server in servers if server != owner.server]
    return bool(servers_of(owner.name, others))


def servers_of(name: str, servers: Sequence[str]) -> list[str]:
    """The servers whose prefix the name begins with."""
    return [server for server in servers if name.startswith(prefixed_name(server, ""))]

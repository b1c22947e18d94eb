"""The names under which a gateway shows what several servers call the same.

Pure. Where a name without a server could mean several things, it means nothing: no call reaches a server by chance.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from typing import NamedTuple

from gaia_mcp.manager.function_names import allowed_characters

# Between the name of a server and that of its tool: language models' APIs allow no dot in a name.
SEPARATOR = "__"


class Prefix(StrEnum):
    """When a name begins with that of its server."""

    ALWAYS = "always"
    CONFLICT = "conflict"
    NEVER = "never"


class Owner(NamedTuple):
    """A server, and the name by which it knows what is meant."""

    server: str
    name: str


class Names:
    """The names of what each server has, by the server, in the order of the configuration."""

    def __init__(self, offered: Mapping[str, Iterable[str]], prefix: Prefix) -> None:
        owners = [Owner(server, name) for server, names in offered.items() for name in names]
        count = Counter(owner.name for owner in owners)
        self._owners: dict[str, Owner] = {}
        self._shown: dict[Owner, str] = {}
        # Those that were shown without a server first, so that no name with one takes their place.
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
        # With its server a name is understood in any case.
        for owner in owners:
            self._owners.setdefault(prefixed_name(*owner), owner)
        self._candidates: dict[str, list[Owner]] = {}
        for owner in owners:
            self._candidates.setdefault(owner.name, []).append(owner)

    def shown(self, owner: Owner) -> str | None:
        """The name of what a server has, None for what is hidden by an earlier server's."""
        return self._shown.get(owner)

    def find(self, name: str) -> Owner | None:
        """What a name means, None if it means nothing, or several things."""
        return self._owners.get(name)

    def meanings(self, name: str) -> list[str]:
        """The names, each of one thing, that a name without a server may stand for."""
        return [self._shown[owner] for owner in self._candidates.get(name, ()) if owner in self._shown]

    def _free(self, wanted: str) -> str:
        name, number = wanted, 2
        while name in self._owners:
            name, number = f"{wanted}_{number}", number + 1
        return name


def prefixed_name(server: str, name: str) -> str:
    """The name of what a server has, with its server."""
    return f"{allowed_characters(server)}{SEPARATOR}{name}"


def unlisted(name: str, servers: Sequence[str]) -> Owner | None:
    """Whose a name must be that no server lists, for the server itself to judge; None if that is not clear."""
    if found := servers_of(name, servers):
        server = max(found, key=len)
        return Owner(server, name.removeprefix(prefixed_name(server, "")))
    return Owner(servers[0], name) if len(servers) == 1 else None


def _poses(owner: Owner, servers: Iterable[str]) -> bool:
    """Whether a server has given a tool such a name as if it were another server's."""
    others = [server for server in servers if server != owner.server]
    return bool(servers_of(owner.name, others))


def servers_of(name: str, servers: Sequence[str]) -> list[str]:
    """Those of `servers` with which a name may begin."""
    return [server for server in servers if name.startswith(prefixed_name(server, ""))]

"""Several targets of one `gaia mcp serve --http`, each with a unique name."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from gaia_mcp.cli.status import UsageError
from gaia_mcp.names import handler_name, is_server_name, tidy_name

if TYPE_CHECKING:
    from gaia_mcp.cli.serving.loading import Loaded


class Mount(NamedTuple):
    """A target, the path at which it is served, and a function that loads it. `name` is used in clients' entries."""

    name: str
    target: str
    path: str
    load: Callable[[], Loaded]


def target_name(target: str) -> str:
    """The default name for a server of this target."""
    place, _, kind = target.rpartition(":")
    if place:
        return kind.lower()
    found = os.path.abspath(os.path.expanduser(target))  # noqa: PTH100, PTH111 (never raise)
    is_place = target.endswith(".py") or os.path.isdir(found)  # noqa: PTH112
    return (handler_name(Path(found).stem) if is_place else target).lower()


def named_targets(words: Sequence[str]) -> dict[str, str]:
    """The targets by name, which `NAME=TARGET` sets. Raises `UsageError` for a duplicate or missing name."""
    found: dict[str, str] = {}
    for word in words:
        given, is_named, target = word.partition("=")
        if not is_named or not is_server_name(given) or Path(word).exists():
            given, target = tidy_name(target_name(word)), word
        if not given or given in found:
            problem = f"{target!r} has no name for its URL" if not given else f"two targets are named {given!r}"
            raise UsageError(problem, hint=f"give each a name of its own, such as first={target}")
        found[given] = target
    return found

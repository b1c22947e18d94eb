"""What the entry of a registry's server remembers of how it was made: a newer version is given the same."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from gaia_mcp.catalog.inputs import asked_of

if TYPE_CHECKING:
    from gaia_mcp.catalog.packages import Way

# The member of an entry that remembers which document it was made of, and with which settings.
REGISTRY = "registry"


def noted(way: Way, given: Mapping[str, str]) -> dict[str, str]:
    """Of what is `given` for the inputs, what an entry has to note: its variables it has, and a secret stands only in
    its place.
    """
    variables = {one.name for one in way.variables}
    return {
        one.name: given[one.name]
        for one in asked_of(way.inputs)
        if one.name in given
        and one.name not in variables
        and not (one.is_secret and re.fullmatch(r"\$\{\w+\}", given[one.name]) is None)
    }


def noted_before(entry: Mapping[str, Any], server: str) -> Mapping[str, Any]:
    """The note in an entry that was made of a document about `server`; empty in any other."""
    held = entry.get(REGISTRY)
    return held if isinstance(held, dict) and held.get("name") == server else {}


def given_before(entry: Mapping[str, Any], server: str, way: Way) -> dict[str, str]:
    """What the inputs of `way` were given when `entry` was made of a document about `server`."""
    note = noted_before(entry, server)
    settings, env = note.get("settings"), entry.get("env") if note else None
    known = {one.name for one in asked_of(way.inputs)}
    held = {**(env if isinstance(env, dict) else {}), **(settings if isinstance(settings, dict) else {})}
    return {name: value for name, value in held.items() if name in known and isinstance(value, str)}

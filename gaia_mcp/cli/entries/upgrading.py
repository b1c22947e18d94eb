"""The origin of an entry that was made from a registry's document, so that a newer version gets the same settings."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from gaia_mcp.catalog.packages import asked_of

if TYPE_CHECKING:
    from gaia_mcp.catalog.packages import Way

# The member of an entry that records the document it was made from, and the settings that were used.
REGISTRY = "registry"


def noted(way: Way, given: Mapping[str, str]) -> dict[str, str]:
    """The values in `given` that an entry must record. Variables are in the entry already. A secret is recorded only if
    it is a reference to a variable.
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
    """The record in an entry that was made from a document about `server`; empty for any other entry."""
    held = entry.get(REGISTRY)
    return held if isinstance(held, dict) and held.get("name") == server else {}


def given_before(entry: Mapping[str, Any], server: str, way: Way) -> dict[str, str]:
    """The values for the inputs of `way` in an `entry` that was made from a document about `server`."""
    note = noted_before(entry, server)
    settings, env = note.get("settings"), entry.get("env") if note else None
    known = {one.name for one in asked_of(way.inputs)}
    held = {**(env if isinstance(env, dict) else {}), **(settings if isinstance(settings, dict) else {})}
    return {name: value for name, value in held.items() if name in known and isinstance(value, str)}

"""Servers that a host has disabled outside their entries."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from gaia_mcp.errors import ConfigFileError
from gaia_mcp.hosts.files import Place, places, read_document

if TYPE_CHECKING:
    from pathlib import Path


def switched_off(place: Place, folder: Path | None, environ: Mapping[str, str], home: Path) -> set[str]:
    """The names of the servers of `place` that are disabled by another key, or in another file. `folder` is that of the
    project.
    """
    if place.host.key == "gemini":
        return _names(_document(place.path), ("mcp", "excluded"))
    if place.host.key == "claude-code" and place.scope != "user":
        (own,) = places(place.host, environ, home)
        key = "disabledMcpjsonServers" if place.scope == "project" else "disabledMcpServers"
        return _names(_document(own.path), ("projects", str(folder), key))
    return set()


def _document(path: Path) -> Any:
    try:
        return read_document(path, "json")
    except ConfigFileError:
        return None  # Reading its servers reports the error.


def _names(document: Any, keys: tuple[str, ...]) -> set[str]:
    for key in keys:
        document = document.get(key) if isinstance(document, dict) else None
    return {name for name in document if isinstance(name, str)} if isinstance(document, list) else set()

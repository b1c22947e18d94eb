"""Where the commands take their servers from, with a word about a project that is not trusted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gaia_mcp.cli.output import remark
from gaia_mcp.config.store import ConfigStore
from gaia_mcp.paths import shown

if TYPE_CHECKING:
    from pathlib import Path


def open_store(config: Path | None) -> ConfigStore:
    """The store that `--config` names, or the usual one."""
    store = ConfigStore.locate(config)
    if store.project is not None and not store.project.approved:
        remark(
            f"{shown(store.project.path)} is not used: nobody has approved what it says; "
            "read it, and then: gaia mcp trust"
        )
    return store

"""Where the commands take their servers from, with a word about a project that is not trusted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gaia_mcp.cli.screen.output import remark
from gaia_mcp.config.store import ConfigStore
from gaia_mcp.errors import ConfigFileError
from gaia_mcp.paths import shown

if TYPE_CHECKING:
    from pathlib import Path


def open_store(config: Path | None, *, may_be_new: bool = False) -> ConfigStore:
    """The store that `--config` names, or the usual one.

    Raises `ConfigFileError` for a file that is named and not there, unless it `may_be_new`, and as `locate` does.
    """
    store = ConfigStore.locate(config)
    if config is not None and not may_be_new and not store.path.exists():
        raise ConfigFileError(store.path, "is not there", hint="check --config; gaia mcp add begins a file")
    if store.project is not None and not store.project.approved:
        remark(
            f"{shown(store.project.path)} is not used: nobody has approved what it says; "
            "read it, and then: gaia mcp trust"
        )
    return store

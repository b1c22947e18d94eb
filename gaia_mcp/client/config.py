"""`MCPConfig`: the configured servers, as GAIA's documents describe them, on the store that the commands use."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

from gaia_mcp.config.store import ConfigStore
from gaia_mcp.errors import ConfigFileError, ServerUnknownError
from gaia_mcp.paths import servers_file


class MCPConfig:
    """The servers in `config_file` (`~/.gaia/mcp_servers.json` by default, `~` is expanded). Every change is saved.

    Only that one file: a project's own is the commands' business. Raises `ConfigFileError` for a file that cannot be
    read.
    """

    def __init__(self, config_file: str | Path | None = None) -> None:
        self._store = ConfigStore.locate(Path(config_file) if config_file is not None else servers_file())
        self.config_file = self._store.path
        try:
            self.config_file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as cause:
            raise ConfigFileError(self.config_file, f"its folder cannot be made: {cause.strerror}") from cause
        self._servers: dict[str, dict[str, Any]] = self._store.servers()

    def __repr__(self) -> str:
        return f"<MCPConfig {self.config_file}, {len(self._servers)} servers>"

    def add_server(self, name: str, config: dict[str, Any]) -> None:
        """Add or replace a server. Raises `EntryError` (a `ValueError`) for an entry that makes no sense."""
        self._store.add(name, copy.deepcopy(config), replace=True)
        self._servers = self._store.servers()

    def remove_server(self, name: str) -> None:
        """Forget a server; nothing happens if it is not there."""
        try:
            self._store.remove([name])
        except ServerUnknownError:
            return
        self._servers = self._store.servers()

    def get_server(self, name: str) -> dict[str, Any]:
        """The entry of a server, an empty dict if there is none."""
        return copy.deepcopy(self._servers.get(name, {}))

    def get_servers(self) -> dict[str, dict[str, Any]]:
        """A copy of all entries, by name."""
        return copy.deepcopy(self._servers)

    def server_exists(self, name: str) -> bool:
        """Whether there is a server of that name."""
        return name in self._servers

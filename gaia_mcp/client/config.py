"""`MCPConfig`: the configured servers, as GAIA's documents describe them, on the store that the commands use."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

from gaia_mcp.config.entries import read_entry
from gaia_mcp.config.store import ConfigStore
from gaia_mcp.errors import ConfigFileError, EntryError, ServerUnknownError
from gaia_mcp.paths import servers_file


class MCPConfig:
    """The servers in `config_file` (`~/.gaia/mcp_servers.json` by default, `~` is expanded). Every change is saved.

    As in GAIA's documents (MCPConfig). The file is read anew each time, so that what others have changed in it is seen
    and stays. Only that one file: a project's own is the commands' business. What is handed out is the caller's.

    Every method raises `ConfigFileError` for a file that cannot be read, or written. Its folder is made at once.
    """

    def __init__(self, config_file: str | Path | None = None) -> None:
        self._store = ConfigStore.locate(Path(config_file) if config_file is not None else servers_file())
        self.config_file = self._store.path
        try:
            self.config_file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as cause:
            raise ConfigFileError(self.config_file, f"its folder cannot be made: {cause.strerror}") from cause
        self._store.servers()  # Whether it can be read should be known from the beginning.

    def __repr__(self) -> str:
        return f"<MCPConfig {self.config_file}>"

    @property
    def _servers(self) -> dict[str, dict[str, Any]]:
        return self._store.servers()

    def add_server(self, name: str, config: dict[str, Any]) -> None:
        """Add or replace a server.

        Raises `EntryError` (a `ValueError`) for an entry that is invalid, or that JSON cannot express.
        """
        try:
            json.dumps(config, allow_nan=False)
        except (TypeError, ValueError, RecursionError) as cause:
            # Written all the same, it would make the whole file unreadable.
            raise EntryError(name, f"it cannot be written as JSON: {cause}") from cause
        self._store.add(read_entry(name, config), replace=[name])

    def remove_server(self, name: str) -> None:
        """Forget a server; nothing happens if it is not there."""
        with suppress(ServerUnknownError):
            self._store.remove([name])

    def get_server(self, name: str) -> dict[str, Any]:
        """The entry of a server, an empty dict if there is none."""
        return self._servers.get(name, {})

    def get_servers(self) -> dict[str, dict[str, Any]]:
        """All entries, by name."""
        return self._servers

    def server_exists(self, name: str) -> bool:
        """Whether there is a server of that name."""
        return name in self._servers

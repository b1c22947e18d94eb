"""`MCPConfig`: the configured servers, as GAIA's documents describe them, on the store that the commands use."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

from gaia_mcp.config.entries import read_entry
from gaia_mcp.config.store import ConfigStore
from gaia_mcp.core.errors import ConfigFileError, EntryError, ServerUnknownError


class MCPConfig:
    """The servers in `config_file` (`~` is expanded). Every change is saved in it.

    Without `config_file`, the files of the command line: `~/.gaia/mcp_servers.json`, overridden by the project's own
    file in the working folder, if the user has approved it (`gaia mcp trust`). Changes are saved in the former.

    As in GAIA's documents (MCPConfig). The files are read again on each access, so that changes by other programs are
    seen and preserved. Returned values are copies.

    Every method raises `ConfigFileError` for a file that cannot be read or written. Its folder is created at once.
    """

    def __init__(self, config_file: str | Path | None = None) -> None:
        self._given: dict[str, dict[str, Any]] | None = None
        self._is_explicit = config_file is not None
        self._store = ConfigStore.locate(Path(config_file) if config_file is not None else None)
        self.config_file = self._store.path
        try:
            self.config_file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as cause:
            raise ConfigFileError(self.config_file, f"its folder cannot be made: {cause.strerror}") from cause
        self._store.servers()  # An unreadable file should be reported at once.

    def __repr__(self) -> str:
        return f"<MCPConfig {self.config_file}>"

    @property
    def load_report(self) -> dict[str, Any]:
        """Which files are in use, as in newer releases of GAIA: `mode` is "explicit" for a given file, with its
        `servers`; else "auto", with `path`, `exists` and `servers` of the user's file ("global") and of the project's
        ("local"), which counts as missing until it is approved, and in `overrides` the servers that are in both.
        """
        if self._is_explicit:
            return {"mode": "explicit", "config_file": self.config_file, "servers": list(self._servers)}
        own, project = self._store.names_by_file()
        found = self._store.project
        place = found.path if found is not None else Path.cwd() / self.config_file.name
        return {
            "mode": "auto",
            "config_file": self.config_file,
            "global": {"path": self.config_file, "exists": self.config_file.exists(), "servers": own},
            "local": {"path": place, "exists": found is not None and found.approved, "servers": project},
            "overrides": [name for name in project if name in own],
        }

    def source_of(self, name: str) -> Path:
        """The file that contains a server's entry; for a new server the file that it would be saved in."""
        return self._store.source_of(name)

    # As in GAIA's documents: programs read it, and their tests replace the entries of the files through it.
    @property
    def _servers(self) -> dict[str, dict[str, Any]]:
        return self._store.servers() if self._given is None else self._given

    @_servers.setter
    def _servers(self, given: dict[str, dict[str, Any]]) -> None:
        self._given = given

    def add_server(self, name: str, config: dict[str, Any]) -> None:
        """Add or replace a server.

        Raises `EntryError` (a `ValueError`) for an entry that is invalid, or that JSON cannot express.
        """
        try:
            json.dumps(config, allow_nan=False)
        except (TypeError, ValueError, RecursionError) as cause:
            # If it were written, the whole file would be unreadable.
            raise EntryError(name, f"it cannot be written as JSON: {cause}") from cause
        self._store.add(read_entry(name, config), replace=[name])

    def remove_server(self, name: str) -> None:
        """Remove a server; nothing happens if there is none of that name."""
        with suppress(ServerUnknownError):
            self._store.remove([name])

    def get_server(self, name: str) -> dict[str, Any]:
        """The entry of a server, an empty dict if there is none."""
        return self._servers.get(name, {})

    def get_servers(self) -> dict[str, dict[str, Any]]:
        """All entries, by name."""
        return dict(self._servers)

    def server_exists(self, name: str) -> bool:
        """Whether there is a server of that name."""
        return name in self._servers

"""The context of a completer: the line so far, and the configuration that it names, which is read once."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gaia_mcp.config.entries import ServerEntry
    from gaia_mcp.config.store import ConfigStore
    from gaia_mcp.storage.server_cache import ServerCache


class CompletionContext:
    """The line so far. `params` holds its values by parameter; `word` is the word being typed. `is_command`: the word
    is after two dashes, where a server's command may be. `may_be_pipe`: the file that `--config` names may be a pipe.
    At a TAB it may not, because reading it would consume the command's input.
    """

    def __init__(
        self, params: Mapping[str, Any], word: str = "", *, is_command: bool = False, may_be_pipe: bool = False
    ) -> None:
        self.params = params
        self.word = word
        self.is_command = is_command
        self._may_be_pipe = may_be_pipe

    @property
    def config(self) -> Path | None:
        """The file that `--config` names."""
        config = self.params.get("config")
        return Path(config) if config else None

    @cached_property
    def store(self) -> ConfigStore:
        """The configuration. Raises as `ConfigStore.locate` does."""
        from gaia_mcp.config.store import ConfigStore

        return ConfigStore.locate(self.config, reads_once=self._may_be_pipe)

    @cached_property
    def servers(self) -> dict[str, Any]:
        """The raw entries of the configuration; empty if it cannot be read."""
        from gaia_mcp.core.errors import MCPError

        try:
            return self.store.servers()
        except (MCPError, OSError):
            return {}

    def entry(self, server: str) -> ServerEntry | None:
        """The entry of the server that a word names; None if there is none or it is invalid."""
        from gaia_mcp.core.errors import MCPError

        try:
            if server in self.servers:
                return self.store.read(server, self.servers[server], self.store.source_of(server))
            from gaia_mcp.cli.entries.targets import instance_entry, typed_entry, with_options

            entry: ServerEntry | None = instance_entry(self.store, server) or typed_entry(server)
            if entry is not None and self.config is not None:
                entry = self.store.in_use(entry)
            given = [self.params.get(name) for name in ("env", "header", "token_env")]
            # Servers are distinguished by the names of their headers and variables too.
            return with_options(entry, given[0] or (), given[1] or (), given[2]) if entry and any(given) else entry
        except (MCPError, OSError, ValueError):
            return None

    def shown_name(self, server: str) -> str:
        """The display name of the server that a word names, without secrets."""
        entry = self.entry(server)
        return entry.name if entry is not None else server

    def seen(self, server: str, kind: str) -> list[dict[str, Any]] | None:
        """The cached tools, prompts or resources (the `kind`) of a server; None if they are not cached."""
        from gaia_mcp.core.errors import MCPError

        try:
            return self._cache(server).seen(kind)
        except (MCPError, OSError, KeyError):
            return None

    def folder_of(self, server: str) -> str:
        """The folder in which a server runs; "" for the working folder, and for one that is not known before the server
        starts.
        """
        cwd = entry.get("cwd") if isinstance(entry := self.servers.get(server), dict) else None
        return os.path.expanduser(cwd) if isinstance(cwd, str) and "$" not in cwd else ""  # noqa: PTH111

    def known(self, server: str, kind: str) -> list[dict[str, Any]]:
        """As `seen`, but empty if nothing is cached."""
        return self.seen(server, kind) or []

    def listed_tools(self, server: str) -> list[dict[str, Any]]:
        """The cached tools of a server, including those that its entry excludes."""
        from gaia_mcp.core.errors import MCPError

        try:
            return self._cache(server).listed() or []
        except (MCPError, OSError, KeyError):
            return []

    def _cache(self, server: str) -> ServerCache:
        from gaia_mcp.core.paths import cache_folder
        from gaia_mcp.storage.server_cache import ServerCache

        entry = self.entry(server) if server else None
        if entry is None:
            raise KeyError(server)
        return ServerCache(cache_folder(), entry)

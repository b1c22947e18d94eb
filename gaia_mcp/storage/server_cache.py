"""What was learnt about a server: its era, its instructions, and what it had when it was last seen: tools, prompts and
resources.

One small file for each server and kind of thing, so that no more is read than is asked for. A value is believed for a
limited time, and only of the server whose identity it was learnt with; what a server calls private only with the
credentials that it was asked with. What suggests words to type uses a list that is no longer fresh (`ttlMs`); what
answers with it does not. A cache is never a reason to fail: a file that
cannot be read is ignored, and one that cannot be written stays as it was.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import time
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import quote

from gaia_mcp.filebytes import read_file
from gaia_mcp.jsontext import paired
from gaia_mcp.names import UNSAVED_MARK
from gaia_mcp.storage.left_over import UNLOCKED_SECONDS, remove_left_over

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from gaia_mcp.protocol.caching import Freshness
    from gaia_mcp.toolspec.tool_filter import ToolFilter

    class Server(Protocol):
        """What a cache is keyed by, such as a server's entry."""

        @property
        def key(self) -> str: ...

        @property
        def tool_filter(self) -> ToolFilter | None: ...

        def identity(self) -> int: ...

        def credentials(self) -> int: ...


# What a file holds beside a list about its freshness.
_OF_FRESHNESS = ("ttlMs", "cacheScope", "credentials")
# The lists of what a server offers.
LISTS = ("tools", "prompts", "resources")
# An update of a server goes unnoticed for a week at most; until then both eras work all the same.
ERA_SECONDS = 7 * 24 * 3600
# Servers change with the packages that they come in. Unless they are asked again, their tools are believed so long.
SEEN_SECONDS = 30 * 24 * 3600


# A hundred times the tools of a large server. A TAB reads it.
MAX_BYTES = 16 << 20


class ServerCache:
    """What is known of one server, under `folder`."""

    def __init__(self, folder: Path, server: Server, now: Callable[[], float] = time.time) -> None:
        self._folder = folder
        self._server = server
        self._now = now

    def era(self) -> str | None:
        """The era of the server, "handshake" or "stateless", "sse" for the oldest transport of the handshake era, or
        "rpc" for AgentVault's dialect; None if it is not known, or too old to rely on.
        """
        era = self._lookup("era", ERA_SECONDS)
        return era if era in ("handshake", "stateless", "sse", "rpc") else None

    def keep_era(self, era: str) -> None:
        """Remember the era, if that is possible."""
        self._keep("era", era)

    def instructions(self) -> str:
        """The server's instructions for its use; empty if they are not known, or too old to rely on."""
        text = self._lookup("instructions", SEEN_SECONDS)
        return text if isinstance(text, str) else ""

    def keep_instructions(self, text: str) -> None:
        """Remember the instructions, if that is possible, and they are others than those that are known."""
        if text != self.instructions():
            self._keep("instructions", text)

    def seen(self, kind: str = "tools", *, is_fresh: bool = False) -> list[dict[str, Any]] | None:
        """The definitions of "tools", "prompts", or "resources" with their templates, as the server sent them; None if
        they are not known, or too old to rely on, which with `is_fresh` the server decides. Of the tools only those
        that the filter of the server allows.
        """
        items = self.listed(kind, is_fresh=is_fresh)
        tool_filter = self._server.tool_filter
        if items is None or tool_filter is None or kind != "tools":
            return items
        return [item for item in items if tool_filter.allows(item["name"])]

    def listed(self, kind: str = "tools", *, is_fresh: bool = False) -> list[dict[str, Any]] | None:
        """As `seen`, with the tools that the filter excludes."""
        items = self._lookup(kind, SEEN_SECONDS, is_fresh=is_fresh)
        if not isinstance(items, list):
            return None
        return [item for item in items if isinstance(item, dict) and isinstance(item.get("name"), str)]

    def keep_seen(
        self, items: Sequence[dict[str, Any]], kind: str = "tools", freshness: Freshness | None = None
    ) -> None:
        """Remember the definitions, if that is possible, and what the server has said of their freshness."""
        more: dict[str, Any] = {}
        if freshness is not None:
            more = {"ttlMs": freshness.ttl_ms, "cacheScope": "private" if freshness.is_private else "public"}
            if freshness.is_private:
                more["credentials"] = self._server.credentials()
        self._keep(kind, list(items), more)

    def copy_to(self, other: ServerCache) -> None:
        """Remember the same of `other`, which is this server under another name."""
        if (era := self.era()) is not None:
            other.keep_era(era)
        for kind in LISTS:
            if (items := self.listed(kind)) is not None:
                kept = self._read(kind)
                other._keep(kind, items, {key: kept[key] for key in _OF_FRESHNESS if key in kept})

    def forget(self, kind: str) -> None:
        """Drop what is known of a kind, or the "era": it has changed."""
        with contextlib.suppress(OSError):
            self._path(kind).unlink()

    def _lookup(self, kind: str, seconds: float, *, is_fresh: bool = False) -> Any:
        try:
            kept = self._read(kind)
            age = self._now() - kept["written"]
            value = kept[kind]
            is_of_server = kept["identity"] == self._server.identity()
            if "credentials" in kept:
                is_of_server &= kept["credentials"] == self._server.credentials()
            if is_fresh and "ttlMs" in kept:
                seconds = min(seconds, kept["ttlMs"] / 1000)
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            return None
        return value if is_of_server and 0 <= age < seconds else None

    def _read(self, kind: str) -> Any:
        return json.loads(read_file(self._path(kind), MAX_BYTES))

    def _keep(self, kind: str, value: Any, more: Mapping[str, Any] = MappingProxyType({})) -> None:
        path = self._path(kind)
        temporary = path.with_suffix(f".{os.getpid()}")
        try:
            kept = {"identity": self._server.identity(), "written": int(self._now()), **more, kind: value}
            text = paired(json.dumps(kept, separators=(",", ":")))
            if len(text) > MAX_BYTES:
                return  # It would not be read.
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            if self._server.key.startswith(UNSAVED_MARK):
                from gaia_mcp.storage.unsaved import make_room

                make_room(path)
            remove_left_over(path.parent, rf"{re.escape(path.stem)}\.\d+", UNLOCKED_SECONDS)
            temporary.write_text(text, "ascii")
            temporary.replace(path)
        except (OSError, ValueError, TypeError, RecursionError):
            with contextlib.suppress(OSError):
                temporary.unlink()

    def _path(self, kind: str) -> Path:
        # Whatever an old configuration file calls its servers; and no longer than file systems allow.
        return self._folder / kind / f"{quote(self._server.key, safe='')[:200]}.json"

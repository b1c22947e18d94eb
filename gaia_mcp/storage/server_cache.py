"""The cache of a server: its era, its instructions, its last lists of tools, prompts and resources, and the time of the
last call of a tool that depends on earlier calls.

One small file for each server and kind, so that only the needed part is read. A value is valid for a limited time, and
only for a server with the same identity; a private list only with the same credentials. Completions and suggestions may
use a list that is no longer fresh (`ttlMs`); other uses may not. The cache never causes a failure: an unreadable file
is ignored, and one that cannot be written stays unchanged.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import time
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import quote

from gaia_mcp.core.files import read_file
from gaia_mcp.core.names import UNSAVED_MARK
from gaia_mcp.storage import UNLOCKED_SECONDS, remove_left_over
from gaia_mcp.text.strict_json import paired

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from gaia_mcp.protocol.pagination import Freshness
    from gaia_mcp.toolspec.tool_filter import ToolFilter

    class Server(Protocol):
        """The key of a cache, such as a server's entry."""

        @property
        def key(self) -> str: ...

        @property
        def tool_filter(self) -> ToolFilter | None: ...

        def identity(self) -> int: ...

        def credentials(self) -> int: ...


# The members of a file for the freshness of its list.
_OF_FRESHNESS = ("ttlMs", "cacheScope", "credentials")
# The times in a file of calls.
_OF_CALLS = ("called", "remarked")
# The lists of a server.
LISTS = ("tools", "prompts", "resources")
# An update of a server goes unnoticed for a week at most; until then both eras still work.
ERA_SECONDS = 7 * 24 * 3600
# Servers change with updates of their packages. Cached lists are valid for this long.
SEEN_SECONDS = 30 * 24 * 3600

# Two calls of one task, typed by a person or made by a script.
TOGETHER_SECONDS = 60
# A person who has read a remark today need not read it again.
REMARKED_SECONDS = 24 * 3600

# A hundred times the tools of a large server. TAB completion reads it.
MAX_BYTES = 16 << 20


class ServerCache:
    """The cache of one server, under `folder`."""

    def __init__(self, folder: Path, server: Server, now: Callable[[], float] = time.time) -> None:
        self._folder = folder
        self._server = server
        self._now = now

    @cached_property
    def _identity(self) -> int:
        return self._server.identity()

    def era(self) -> str | None:
        """The era of the server, one of `ERAS`, "sse" for the oldest transport of the handshake era, or the name of its
        dialect; None if unknown or expired.
        """
        from gaia_mcp.protocol import ERAS

        era = self._lookup("era", ERA_SECONDS)
        if not isinstance(era, str) or era in (*ERAS, "sse"):
            return era if isinstance(era, str) else None
        from gaia_mcp.core.systems import http_dialects

        return era if era in http_dialects() else None

    def keep_era(self, era: str) -> None:
        """Cache the era, if possible."""
        self._keep("era", era)

    def instructions(self) -> str:
        """The server's instructions; empty if unknown or expired."""
        text = self._lookup("instructions", SEEN_SECONDS)
        return text if isinstance(text, str) else ""

    def keep_instructions(self, text: str) -> None:
        """Cache the instructions, if possible, unless they are unchanged."""
        if text != self.instructions():
            self._keep("instructions", text)

    def seen(self, kind: str = "tools", *, is_fresh: bool = False) -> list[dict[str, Any]] | None:
        """The definitions of "tools", "prompts", or "resources" with their templates, as the server sent them; None if
        unknown or expired, or with `is_fresh` if the server's `ttlMs` has passed. Only the tools that the filter of the
        server allows.
        """
        items = self.listed(kind, is_fresh=is_fresh)
        tool_filter = self._server.tool_filter
        if items is None or tool_filter is None or kind != "tools":
            return items
        return [item for item in items if tool_filter.allows(item["name"])]

    def listed(self, kind: str = "tools", *, is_fresh: bool = False) -> list[dict[str, Any]] | None:
        """As `seen`, including the tools that the filter excludes."""
        items = self._lookup(kind, SEEN_SECONDS, is_fresh=is_fresh)
        if not isinstance(items, list):
            return None
        return [item for item in items if isinstance(item, dict) and isinstance(item.get("name"), str)]

    def keep_seen(
        self, items: Sequence[dict[str, Any]], kind: str = "tools", freshness: Freshness | None = None
    ) -> None:
        """Cache the definitions, if possible, with the freshness that the server stated."""
        more: dict[str, Any] = {}
        if freshness is not None:
            more = {"ttlMs": freshness.ttl_ms, "cacheScope": "private" if freshness.is_private else "public"}
            if freshness.is_private:
                more["credentials"] = self._server.credentials()
        self._keep(kind, list(items), more)
        if kind == "tools":
            self._keep_stateful(items)

    def record_call(self, tool: str) -> bool:
        """Record that `tool` is called in a new process of the server. Returns whether to tell that the state of the
        previous call is gone: both calls depend on such state, there is a minute between them at most, and it was not
        told within a day.

        Costs almost nothing for a server whose tools keep no state, because it has no such file.
        """
        kept = self._calls()
        if tool not in kept["tools"]:
            return False
        now = int(self._now())
        called, remarked = (now - kept[key] for key in _OF_CALLS)
        is_due = 0 <= called <= TOGETHER_SECONDS and not 0 <= remarked < REMARKED_SECONDS
        # If this cannot be recorded, the next call would tell it again.
        return self._keep("calls", {**kept, "called": now, **({"remarked": now} if is_due else {})}) and is_due

    def _keep_stateful(self, items: Sequence[Mapping[str, Any]]) -> None:
        """Cache which of the tools depend on earlier calls. Most servers have none, and get no file."""
        from gaia_mcp.toolspec.statefulness import stateful_tools

        names, kept = stateful_tools(items), self._calls()
        if not names:
            self.forget("calls")
        elif names != kept["tools"]:
            self._keep("calls", {**kept, "tools": names})

    def _calls(self) -> dict[str, Any]:
        """The tools that depend on earlier calls, when one of them was last called, and when that was remarked on."""
        kept = self._lookup("calls", SEEN_SECONDS)
        held = kept if isinstance(kept, dict) else {}
        tools = held.get("tools")
        times = {key: at if isinstance(at := held.get(key), int) else 0 for key in _OF_CALLS}
        return {"tools": tools if isinstance(tools, list) else [], **times}

    def copy_to(self, other: ServerCache) -> None:
        """Copy the cache to `other`, which is this server under another name."""
        if (era := self.era()) is not None:
            other.keep_era(era)
        for kind in LISTS:
            if (items := self.listed(kind)) is not None:
                kept = self._read(kind)
                other._keep(kind, items, {key: kept[key] for key in _OF_FRESHNESS if key in kept})
                if kind == "tools":
                    other._keep_stateful(items)

    def forget(self, kind: str) -> None:
        """Delete the cached list of a kind, or the "era", since it has changed."""
        with contextlib.suppress(OSError):
            self._path(kind).unlink()

    def _lookup(self, kind: str, seconds: float, *, is_fresh: bool = False) -> Any:
        try:
            kept = self._read(kind)
            age = self._now() - kept["written"]
            value = kept[kind]
            is_of_server = kept["identity"] == self._identity
            if "credentials" in kept:
                is_of_server &= kept["credentials"] == self._server.credentials()
            if is_fresh and "ttlMs" in kept:
                seconds = min(seconds, kept["ttlMs"] / 1000)
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            return None
        return value if is_of_server and 0 <= age < seconds else None

    def _read(self, kind: str) -> Any:
        return json.loads(read_file(self._path(kind), MAX_BYTES))

    def _keep(self, kind: str, value: Any, more: Mapping[str, Any] = MappingProxyType({})) -> bool:
        """Cache a value. Returns whether that was possible."""
        path = self._path(kind)
        temporary = path.with_suffix(f".{os.getpid()}")
        try:
            kept = {"identity": self._identity, "written": int(self._now()), **more, kind: value}
            text = paired(json.dumps(kept, separators=(",", ":")))
            if len(text) > MAX_BYTES:
                return False  # It would be too large to read.
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            if self._server.key.startswith(UNSAVED_MARK):
                from gaia_mcp.storage import make_room

                make_room(path)
            remove_left_over(path.parent, rf"{re.escape(path.stem)}\.\d+", UNLOCKED_SECONDS)
            temporary.write_text(text, "ascii")
            temporary.replace(path)
        except (OSError, ValueError, TypeError, RecursionError):
            with contextlib.suppress(OSError):
                temporary.unlink()
            return False
        return True

    def _path(self, kind: str) -> Path:
        # Quoted, since old configuration files allow any name; and cut to the limit of file systems.
        return self._folder / kind / f"{quote(self._server.key, safe='')[:200]}.json"

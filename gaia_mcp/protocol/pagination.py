"""The pages of a list, also from servers whose cursors never end; and how long a result may be reused, and by whom
(specification 2026-07-28, utilities/caching).

Only a missing or null `nextCursor` ends a list. An empty string is a cursor since 2026-07-28, while many older servers
mark the end with it: it is followed once. A cursor that was seen before ends the list.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from gaia_mcp.protocol import STATELESS_VERSIONS
from gaia_mcp.protocol.envelope import UNAVAILABLE_KEY, meta_of
from gaia_mcp.protocol.jsonrpc import as_text, is_number

# 10,000 tools come in 100 pages; a list that has not ended after this many never will.
MAX_PAGES = 1000

LISTS = {
    "tools/list": "tools",
    "prompts/list": "prompts",
    "resources/list": "resources",
    "resources/templates/list": "resourceTemplates",
    "skills/list": "skills",
}


class Pages:
    """The state of reading one list: the parameters for the next page, and what was wrong with the pages so far."""

    def __init__(self, method: str) -> None:
        self.method = method
        self._member = LISTS[method]
        self._seen: set[str] = set()
        self._count = 0
        self._first: object = None
        self.params: dict[str, Any] | None = None
        self.done = False
        self.problems: list[str] = []

    def take(self, result: dict[str, Any]) -> list[Any]:
        """The items of this page. Sets `params` for the next one, or `done`."""
        self._count += 1
        items = result.get(self._member)
        if not isinstance(items, list):
            self.problems.append(f"a page without a list of {self._member}")
            items = []
        if isinstance(missing := meta_of(result).get(UNAVAILABLE_KEY), dict):
            self.problems += [f"server {name!r} is not available: {as_text(why)}" for name, why in missing.items()]
        cursor = result.get("nextCursor")
        if self._count == 1:
            self._first = cursor
        if cursor is None:
            self.done = True
        elif not isinstance(cursor, str):
            self._stop("a cursor that is not a string")
        elif cursor in self._seen:
            # An old server that marks the end with an empty string sends the first page again: drop it.
            repeated = self.params == {"cursor": ""} and cursor == self._first
            self._stop("" if repeated else f"the cursor {cursor!r} was sent a second time")
            return [] if repeated else items
        elif self._count >= MAX_PAGES:
            self._stop(f"more than {MAX_PAGES} pages")
        else:
            self._seen.add(cursor)
            self.params = {"cursor": cursor}
        return items

    def is_end_by_error(self) -> bool:
        """Whether an error in response to the last request is the end of the list; that is noted as a problem."""
        # An old server that marks the end with an empty string may reject it as a cursor.
        if self.params != {"cursor": ""}:
            return False
        self._stop("the cursor '' was sent and then rejected")
        return True

    def _stop(self, problem: str) -> None:
        self.done = True
        if problem:
            self.problems.append(problem)


class Freshness(NamedTuple):
    """A result is fresh for `ttl_ms` milliseconds; a private one may be reused with the same credentials only."""

    ttl_ms: int
    is_private: bool

    def with_page(self, other: Freshness | None) -> Freshness:
        """The freshness of a list with this page and another one, whose freshness is `other`."""
        if other is None:
            return self
        return Freshness(min(self.ttl_ms, other.ttl_ms), self.is_private or other.is_private)


def freshness(version: str, result: dict[str, Any]) -> Freshness | None:
    """The freshness that `result` states; None in revisions without it. A missing or invalid member has the default
    of the specification: not fresh, and private.
    """
    if version not in STATELESS_VERSIONS:
        return None
    ttl = result.get("ttlMs")
    return Freshness(int(ttl) if is_number(ttl) and ttl > 0 else 0, result.get("cacheScope") != "public")

"""Long lists in pages.

A cursor names the last item that was sent, so that one which a changed list has outdated is refused.
"""

from __future__ import annotations

import binascii
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Sequence
from typing import Any

from gaia_mcp.server.provider import RequestError

Wire = dict[str, Any]

# There are clients that read the first page alone.
PAGE_ITEMS = 1000


def page_of(member: str, items: Sequence[Wire], key: str, params: Wire) -> Wire:
    """The result of a request for a list: the page of `items` that its cursor asks for, as `member`. Items are named
    by their `key`.

    Raises `RequestError` for a cursor that is not of this list, as it is now.
    """
    begin = 0
    if (cursor := params.get("cursor")) is not None:
        begin = _begin_of(cursor)
        if not 0 < begin < len(items) or _cursor(begin, items[begin - 1][key]) != cursor:
            raise RequestError("invalid cursor: read the list from its beginning")
    end = begin + PAGE_ITEMS
    page: Wire = {member: list(items[begin:end])}
    if end < len(items):
        page["nextCursor"] = _cursor(end, items[end - 1][key])
    return page


def _cursor(end: int, last: str) -> str:
    return urlsafe_b64encode(f"{end} {last}".encode("utf-8", "surrogatepass")).decode("ascii")


def _begin_of(cursor: Any) -> int:
    try:
        return int(urlsafe_b64decode(cursor).partition(b" ")[0])
    except (TypeError, ValueError, binascii.Error):
        return 0

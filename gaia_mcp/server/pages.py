"""Pagination of long lists.

A cursor contains the name of the last item of its page, so that a cursor is refused if the list has changed before it.
"""

from __future__ import annotations

import binascii
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Sequence
from typing import Any

from gaia_mcp.server.provider import RequestError

Wire = dict[str, Any]

# Large, because some clients read only the first page.
PAGE_ITEMS = 1000


def page_of(member: str, items: Sequence[Wire], key: str, params: Wire) -> Wire:
    """The result of a list request: the page of `items` at the request's cursor, as `member`. `key` is the member that
    identifies an item.

    Raises `RequestError` for a cursor that is invalid for the current list.
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

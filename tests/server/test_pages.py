"""Long lists in pages."""

from __future__ import annotations

from base64 import urlsafe_b64encode
from typing import Any

import pytest

from gaia_mcp.protocol.jsonrpc import INVALID_PARAMS
from gaia_mcp.server.pages import PAGE_ITEMS, page_of
from gaia_mcp.server.provider import RequestError


def items(count: int) -> list[dict[str, Any]]:
    """So many items, with names."""
    return [{"name": f"tool \N{GRINNING FACE} {number}"} for number in range(count)]


def test_the_pages_of_a_list_contain_all_items_in_order() -> None:
    """Spec, pagination: the last page has no cursor."""
    for count in (0, 1, PAGE_ITEMS, PAGE_ITEMS + 1, 3 * PAGE_ITEMS):
        read: list[dict[str, Any]] = []
        pages, params = 0, {}
        while True:
            page = page_of("tools", items(count), "name", params)
            pages += 1
            read += page["tools"]
            if "nextCursor" not in page:
                break
            params = {"cursor": page["nextCursor"]}

        assert read == items(count), count
        assert pages == max(1, -(-count // PAGE_ITEMS)), count


def test_an_invalid_cursor_is_refused() -> None:
    """Spec, pagination: -32602."""

    def error_of(cursor: Any) -> tuple[int, str]:
        try:
            page_of("tools", items(PAGE_ITEMS + 1), "name", {"cursor": cursor})
        except RequestError as error:
            return error.code, str(error)
        return 0, ""

    cursors: list[Any] = ["", "x", "é", 7, [], urlsafe_b64encode(b"0 ").decode(), "LTEgeA=="]
    errors = [(cursor, *error_of(cursor)) for cursor in cursors]

    assert [each for each in errors if each[1] != INVALID_PARAMS or "invalid cursor" not in each[2]] == []


def test_a_cursor_is_refused_once_the_list_has_changed() -> None:
    """Spec: an expired cursor has the client read the list from its beginning, instead of missing an item."""
    listed = items(PAGE_ITEMS + 2)
    cursor = page_of("tools", listed, "name", {})["nextCursor"]

    for changed in (listed[1:], listed[: PAGE_ITEMS - 1]):
        with pytest.raises(RequestError):
            page_of("tools", changed, "name", {"cursor": cursor})

    assert page_of("tools", [*listed, *items(1)], "name", {"cursor": cursor})["tools"] == [*listed[-2:], *items(1)]


def test_a_lone_surrogate_may_name_the_last_item() -> None:
    """Ours: a string of an agent may have no UTF-8 encoding."""
    listed = [{"name": "\ud800"}] * (PAGE_ITEMS + 1)

    cursor = page_of("tools", listed, "name", {})["nextCursor"]

    assert page_of("tools", listed, "name", {"cursor": cursor}) == {"tools": listed[:1]}

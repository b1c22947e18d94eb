"""Long lists in pages."""

from __future__ import annotations

from base64 import urlsafe_b64encode
from typing import Any

import pytest

from gaia_mcp.protocol.jsonrpc import INVALID_PARAMS
from gaia_mcp.server.pages import PAGE_ITEMS, page_of
from gaia_mcp.server.provider import RequestError


def items(count: int) -> list[dict[str, Any]]:
    """So many, with names."""
    return [{"name": f"tool \N{GRINNING FACE} {number}"} for number in range(count)]


@pytest.mark.parametrize("count", [0, 1, PAGE_ITEMS, PAGE_ITEMS + 1, 3 * PAGE_ITEMS])
def test_the_pages_of_a_list_are_the_list(count: int) -> None:
    """Spec, pagination: in the same order; the last page has no cursor."""
    read: list[dict[str, Any]] = []
    pages, params = 0, {}
    while True:
        page = page_of("tools", items(count), "name", params)
        pages += 1
        read += page["tools"]
        if "nextCursor" not in page:
            break
        params = {"cursor": page["nextCursor"]}

    assert read == items(count)
    assert pages == max(1, -(-count // PAGE_ITEMS))


@pytest.mark.parametrize("cursor", ["", "x", "é", 7, [], urlsafe_b64encode(b"0 ").decode(), "LTEgeA=="])
def test_a_cursor_that_is_not_ours_is_refused(cursor: Any) -> None:
    """Spec, pagination: -32602."""
    with pytest.raises(RequestError, match="invalid cursor") as caught:
        page_of("tools", items(PAGE_ITEMS + 1), "name", {"cursor": cursor})

    assert caught.value.code == INVALID_PARAMS


def test_a_cursor_is_refused_once_the_list_has_changed() -> None:
    """Spec: an expired cursor has the client read the list from its beginning, instead of missing an item."""
    listed = items(PAGE_ITEMS + 2)
    cursor = page_of("tools", listed, "name", {})["nextCursor"]

    for changed in (listed[1:], listed[: PAGE_ITEMS - 1]):
        with pytest.raises(RequestError):
            page_of("tools", changed, "name", {"cursor": cursor})

    assert page_of("tools", [*listed, *items(1)], "name", {"cursor": cursor})["tools"] == [*listed[-2:], *items(1)]


def test_half_of_a_surrogate_pair_may_name_the_last_item() -> None:
    """Ours: authors' texts may have no UTF-8."""
    listed = [{"name": "\ud800"}] * (PAGE_ITEMS + 1)

    cursor = page_of("tools", listed, "name", {})["nextCursor"]

    assert page_of("tools", listed, "name", {"cursor": cursor}) == {"tools": listed[:1]}

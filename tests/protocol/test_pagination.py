"""Walking a paged list."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from gaia_mcp.protocol.pagination import LISTS, MAX_PAGES, Freshness, Pages, freshness
from tests.protocol_support import check_each, check_rows

if TYPE_CHECKING:
    from collections.abc import Callable

Server = dict[str | None, dict[str, Any]]


def page(*names: str, **members: object) -> dict[str, Any]:
    return {"tools": list(names), **members}


def walk(server: Callable[[str | None], dict[str, Any]]) -> tuple[list[Any], list[str | None], list[str]]:
    """All items, the cursors that were asked with, and the problems."""
    pages = Pages("tools/list")
    items: list[Any] = []
    asked: list[str | None] = []
    while not pages.done:
        cursor = pages.params["cursor"] if pages.params is not None else None
        asked.append(cursor)
        items += pages.take(server(cursor))
    return items, asked, pages.problems


def test_every_list_is_read_from_its_own_member() -> None:
    """Spec: the four lists."""

    def check(method: str) -> None:
        pages = Pages(method)
        assert pages.params is None

        assert pages.take({LISTS[method]: [1, 2], "others": [3]}) == [1, 2]
        assert pages.done
        assert pages.problems == []

    check_each(check, LISTS)


@pytest.mark.parametrize("members", [{}, {"nextCursor": None}])
def test_a_missing_or_null_cursor_ends_the_list(members: dict[str, Any]) -> None:
    """Spec, B-6."""
    assert walk(lambda _: page("a", **members)) == (["a"], [None], [])


def test_each_page_is_requested_with_the_cursor_of_the_previous_one() -> None:
    """Spec, B-6: cursors are opaque."""
    server: Server = {None: page("a", nextCursor="x=="), "x==": page(nextCursor=" "), " ": page("b", "c")}

    assert walk(server.__getitem__) == (["a", "b", "c"], [None, "x==", " "], [])


def test_an_empty_cursor_requests_another_page() -> None:
    """Spec 2026-07-28, B-6: it is sent as it is, and only a missing one ends the list."""
    server: Server = {
        None: page("a", nextCursor="p2"),
        "p2": page("b", nextCursor=""),
        "": page("c", nextCursor="p4"),
        "p4": page("d"),
    }

    assert walk(server.__getitem__) == (["a", "b", "c", "d"], [None, "p2", "", "p4"], [])


def test_an_empty_cursor_after_the_first_page_requests_another_page() -> None:
    """Spec 2026-07-28, B-6."""
    server: Server = {None: page("a", nextCursor=""), "": page("b")}

    assert walk(server.__getitem__) == (["a", "b"], [None, ""], [])


def test_a_first_page_repeated_for_an_empty_cursor_is_dropped() -> None:
    """Ours, B-6: an old server takes the empty cursor for none and sends the first page again."""
    assert walk(lambda _: page("a", nextCursor="")) == (["a"], [None, ""], [])


def test_a_first_page_repeated_after_several_pages_is_dropped() -> None:
    """Ours, B-6: an old server begins the list again, and nothing is listed twice."""
    first = page("a", nextCursor="p2")
    server: Server = {None: first, "p2": page("b", nextCursor=""), "": first}

    assert walk(server.__getitem__) == (["a", "b"], [None, "p2", ""], [])


def test_an_error_to_an_empty_cursor_ends_the_list() -> None:
    """Ours, B-6: an old server meant the end by it; the pages so far are returned, and the contradiction is
    reported.
    """
    pages = Pages("tools/list")
    assert pages.take(page("a", nextCursor="")) == ["a"]
    assert not pages.done

    assert pages.is_end_by_error()

    assert pages.done
    assert pages.problems == ["the cursor '' was sent and then rejected"]


@pytest.mark.parametrize("cursor", [None, "p2"])
def test_an_error_to_any_other_cursor_does_not_end_the_list(cursor: str | None) -> None:
    """Spec: the first page, or a cursor that is not empty."""
    pages = Pages("tools/list")
    if cursor is not None:
        pages.take(page("a", nextCursor=cursor))

    assert not pages.is_end_by_error()

    assert not pages.done
    assert pages.problems == []


@pytest.mark.parametrize("cursor", ["p2", "p1"])
def test_a_repeated_cursor_ends_the_list_and_is_reported(cursor: str) -> None:
    """Ours, B-6: the list would never end; the pages so far are returned."""
    server: Server = {
        None: page("a", nextCursor="p1"),
        "p1": page("b", nextCursor="p2"),
        "p2": page("c", nextCursor=cursor),
    }

    items, asked, problems = walk(server.__getitem__)

    assert items == ["a", "b", "c"]
    assert asked == [None, "p1", "p2"]
    (problem,) = problems
    assert repr(cursor) in problem


def test_a_repeated_empty_cursor_is_reported() -> None:
    """Ours, B-6: the page differs from the first one, so this is no old server that means the end."""
    server: Server = {
        None: page("a", nextCursor="p1"),
        "p1": page("b", nextCursor=""),
        "": page("c", nextCursor=""),
    }

    items, _, problems = walk(server.__getitem__)

    assert items == ["a", "b", "c"]
    assert len(problems) == 1


def test_an_invalid_cursor_ends_the_list_and_is_reported() -> None:
    """Spec: cursors are strings."""

    def check(cursor: object) -> None:
        items, asked, problems = walk(lambda _: page("a", nextCursor=cursor))

        assert (items, asked, len(problems)) == (["a"], [None], 1)

    check_each(check, [5, 0, True, False, ["p2"], {}])


def test_the_number_of_pages_is_limited() -> None:
    """Ours: a list may never end; the pages so far are returned."""
    items, asked, problems = walk(lambda cursor: page("x", nextCursor=str(int(cursor or 0) + 1)))

    assert len(items) == len(asked) == MAX_PAGES
    assert len(problems) == 1


def test_a_list_may_have_as_many_pages_as_the_limit() -> None:
    """Ours: a list that ends exactly there is complete, and nothing is reported."""
    _, asked, problems = walk(
        lambda cursor: page("x", nextCursor=str(n) if (n := int(cursor or 0) + 1) < MAX_PAGES else None)
    )

    assert len(asked) == MAX_PAGES
    assert problems == []


def test_a_page_without_a_list_is_reported_and_the_next_is_read() -> None:
    """Ours: one bad page does not cost the others."""

    def check(members: dict[str, Any]) -> None:
        server: Server = {None: {**members, "nextCursor": "p2"}, "p2": page("b")}

        items, _, problems = walk(server.__getitem__)

        assert items == ["b"]
        (problem,) = problems
        assert "tools" in problem

    check_each(check, [{}, {"tools": None}, {"tools": {"a": 1}}, {"tools": "a"}])


def test_unavailable_servers_of_a_gateway_are_reported() -> None:
    """Ours: in the metadata of its lists, as text whatever it is."""
    missing = {"gaia-mcp/unavailable": {"a": "it is broken", "b": 7}}

    items, _, problems = walk(lambda _: {**page("x"), "_meta": missing})

    assert items == ["x"]
    assert problems == ["server 'a' is not available: it is broken", "server 'b' is not available: 7"]
    assert walk(lambda _: {**page("x"), "_meta": {"gaia-mcp/unavailable": "all"}})[2] == []


def test_a_missing_or_invalid_cache_member_has_the_strictest_value() -> None:
    """MC-10."""
    cases = [
        ({"ttlMs": 300_000, "cacheScope": "public"}, Freshness(300_000, is_private=False)),
        ({"ttlMs": 0, "cacheScope": "private"}, Freshness(0, is_private=True)),
        ({"ttlMs": -5, "cacheScope": "everybody"}, Freshness(0, is_private=True)),
        ({"ttlMs": "long", "cacheScope": None}, Freshness(0, is_private=True)),
        ({"ttlMs": True}, Freshness(0, is_private=True)),
        ({}, Freshness(0, is_private=True)),
    ]

    def check(members: Any, expected: Freshness) -> None:
        assert freshness("2026-07-28", members) == expected
        assert freshness("2025-11-25", members) is None

    check_rows(check, cases)


def test_a_list_has_the_shortest_ttl_of_its_pages() -> None:
    """MC-10."""
    first, second = Freshness(500, is_private=False), Freshness(200, is_private=True)

    assert first.with_page(None) == first
    assert first.with_page(second) == second.with_page(first) == Freshness(200, is_private=True)

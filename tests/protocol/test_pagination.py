"""Walking a paged list."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from gaia_mcp.protocol.pagination import LISTS, MAX_PAGES, Pages

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


@pytest.mark.parametrize("method", LISTS)
def test_every_list_is_read_from_its_own_member(method: str) -> None:
    """Spec: the four lists."""
    pages = Pages(method)
    assert pages.params is None

    assert pages.take({LISTS[method]: [1, 2], "others": [3]}) == [1, 2]
    assert pages.done
    assert pages.problems == []


@pytest.mark.parametrize("members", [{}, {"nextCursor": None}])
def test_a_missing_or_null_cursor_ends_the_list(members: dict[str, Any]) -> None:
    """Spec, B-6."""
    assert walk(lambda _: page("a", **members)) == (["a"], [None], [])


def test_every_page_is_asked_for_with_the_cursor_of_the_one_before() -> None:
    """Spec, B-6: cursors are opaque."""
    server: Server = {None: page("a", nextCursor="x=="), "x==": page(nextCursor=" "), " ": page("b", "c")}

    assert walk(server.__getitem__) == (["a", "b", "c"], [None, "x==", " "], [])


def test_an_empty_cursor_is_a_cursor() -> None:
    """Spec 2026-07-28, B-6: it is sent as it is, and only a missing one ends the list."""
    server: Server = {
        None: page("a", nextCursor="p2"),
        "p2": page("b", nextCursor=""),
        "": page("c", nextCursor="p4"),
        "p4": page("d"),
    }

    assert walk(server.__getitem__) == (["a", "b", "c", "d"], [None, "p2", "", "p4"], [])


def test_an_empty_cursor_after_the_first_page_is_one_too() -> None:
    """Spec 2026-07-28, B-6."""
    server: Server = {None: page("a", nextCursor=""), "": page("b")}

    assert walk(server.__getitem__) == (["a", "b"], [None, ""], [])


def test_an_old_server_that_means_the_end_by_an_empty_cursor_is_understood() -> None:
    """Ours, B-6: it takes the empty cursor for none and answers the first page again, which is dropped."""
    assert walk(lambda _: page("a", nextCursor="")) == (["a"], [None, ""], [])


def test_an_old_server_that_means_the_end_of_several_pages_by_it_is_understood() -> None:
    """Ours, B-6: the list begins again, and nothing is listed twice."""
    first = page("a", nextCursor="p2")
    server: Server = {None: first, "p2": page("b", nextCursor=""), "": first}

    assert walk(server.__getitem__) == (["a", "b"], [None, "p2", ""], [])


def test_an_old_server_that_refuses_its_own_empty_cursor_is_understood() -> None:
    """Ours, B-6: it meant the end by it; what has come is kept, and the odd thing is told."""
    pages = Pages("tools/list")
    assert pages.take(page("a", nextCursor="")) == ["a"]
    assert not pages.done

    assert pages.is_end_by_error()

    assert pages.done
    assert pages.problems == ["the cursor '' was sent and then rejected"]


@pytest.mark.parametrize("cursor", [None, "p2"])
def test_any_other_refusal_is_one(cursor: str | None) -> None:
    """Spec: of the first page, or of a cursor that has a meaning."""
    pages = Pages("tools/list")
    if cursor is not None:
        pages.take(page("a", nextCursor=cursor))

    assert not pages.is_end_by_error()

    assert not pages.done
    assert pages.problems == []


@pytest.mark.parametrize("cursor", ["p2", "p1"])
def test_a_cursor_seen_before_ends_the_walk_and_is_reported(cursor: str) -> None:
    """Ours, B-6: a list that goes in circles; what came with it is kept."""
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


def test_an_empty_cursor_that_comes_again_later_is_reported() -> None:
    """Ours, B-6: this is no first page."""
    server: Server = {
        None: page("a", nextCursor="p1"),
        "p1": page("b", nextCursor=""),
        "": page("c", nextCursor=""),
    }

    items, _, problems = walk(server.__getitem__)

    assert items == ["a", "b", "c"]
    assert len(problems) == 1


@pytest.mark.parametrize("cursor", [5, 0, True, False, ["p2"], {}])
def test_a_cursor_that_is_no_text_ends_the_walk_and_is_reported(cursor: object) -> None:
    """Spec: cursors are strings."""
    items, asked, problems = walk(lambda _: page("a", nextCursor=cursor))

    assert (items, asked, len(problems)) == (["a"], [None], 1)


def test_a_list_that_never_ends_is_left() -> None:
    """Ours: with what has come so far."""
    items, asked, problems = walk(lambda cursor: page("x", nextCursor=str(int(cursor or 0) + 1)))

    assert len(items) == len(asked) == MAX_PAGES
    assert len(problems) == 1


def test_the_last_page_that_is_allowed_may_be_the_last() -> None:
    """Ours: the limit is not a problem for a list that ends there."""
    _, asked, problems = walk(
        lambda cursor: page("x", nextCursor=str(n) if (n := int(cursor or 0) + 1) < MAX_PAGES else None)
    )

    assert len(asked) == MAX_PAGES
    assert problems == []


@pytest.mark.parametrize("members", [{}, {"tools": None}, {"tools": {"a": 1}}, {"tools": "a"}])
def test_a_page_without_a_list_is_reported_and_the_next_is_read(members: dict[str, Any]) -> None:
    """Ours: one bad page does not cost the others."""
    server: Server = {None: {**members, "nextCursor": "p2"}, "p2": page("b")}

    items, _, problems = walk(server.__getitem__)

    assert items == ["b"]
    (problem,) = problems
    assert "tools" in problem


def test_a_gateway_tells_which_of_its_servers_are_missing() -> None:
    """Ours: in the metadata of its lists, as text whatever it is."""
    missing = {"gaia-mcp/unavailable": {"a": "it is broken", "b": 7}}

    items, _, problems = walk(lambda _: {**page("x"), "_meta": missing})

    assert items == ["x"]
    assert problems == ["server 'a' is not available: it is broken", "server 'b' is not available: 7"]
    assert walk(lambda _: {**page("x"), "_meta": {"gaia-mcp/unavailable": "all"}})[2] == []

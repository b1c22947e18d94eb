"""All tools of a provider, page by page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from gaia_mcp.asking import Call
from gaia_mcp.protocol.envelope import UNAVAILABLE_KEY
from gaia_mcp.server.agent import AgentProvider
from gaia_mcp.server.definitions import PAGE_ITEMS
from gaia_mcp.server.provider import MAX_READINGS, Change, RequestError, ToolList, WrappingProvider, all_tools
from tests.fleet.gateway.shelf import Shelf, answer, tool
from tests.waiting import wait_until

if TYPE_CHECKING:
    from collections.abc import Callable

MANY = [tool(f"tool{number}") for number in range(2 * PAGE_ITEMS + 1)]


class Restless(Shelf):
    """Its tools change after each page."""

    def __init__(self, changes: int) -> None:
        super().__init__(*MANY)
        self.list_ttl_ms = 5
        self._changes = changes

    def get_mcp_tool_definitions(self) -> list[dict[str, Any]]:
        self._changes -= 1
        if self._changes >= 0:
            self.tools = [*self.tools[1:], tool(f"new{self._changes}")]
        return self.tools


def test_the_pages_of_a_list_are_joined_with_its_metadata() -> None:
    """Ours: a restriction needs the complete list."""
    shelf = Shelf(*MANY)
    shelf.list_ttl_ms = 5

    listed = all_tools(AgentProvider(shelf), Call())

    assert [each["name"] for each in listed.tools] == [each["name"] for each in MANY]
    assert listed.about == {"ttlMs": 5}


def test_a_list_that_changes_between_two_pages_is_read_again() -> None:
    """Ours: its cursors are invalid then."""
    shelf = Restless(3)

    listed = all_tools(AgentProvider(shelf), Call())

    assert listed.tools[-1]["name"] == "new0"
    assert len(listed.tools) == len(MANY)


def test_a_list_that_changes_as_often_as_it_is_read_is_refused() -> None:
    """Ours: reading it again and again would never end."""
    with pytest.raises(RequestError, match="invalid cursor"):
        all_tools(AgentProvider(Restless(10 * MAX_READINGS)), Call())


def test_a_list_without_an_end_is_refused() -> None:
    """Ours: a hostile server may always have another page."""
    with pytest.raises(RequestError, match="more than 2 pages"):
        all_tools(AgentProvider(Shelf(*MANY)), Call(), max_pages=2)


def test_a_wrapping_provider_passes_everything_on() -> None:
    """Ours: until a subclass changes an answer."""
    shelf = Shelf("a")
    inner = AgentProvider(shelf)
    provider = WrappingProvider(inner)
    heard: list[Change] = []
    stop: Callable[[], None] = provider.on_change(heard.append)

    assert provider.describe() == inner.describe()
    assert answer(provider, "tools/list") == answer(inner, "tools/list")
    shelf.tools_changed()
    wait_until(lambda: bool(heard))
    stop()
    provider.close()


def test_the_tools_of_a_wrapping_provider_are_those_of_its_own_list() -> None:
    """Ours: a restriction has them without pages already."""

    class Without(WrappingProvider):
        def all_tools(self, call: Call) -> ToolList:
            listed = super().all_tools(call)
            return listed._replace(tools=[each for each in listed.tools if each["name"] != "b"])

    provider = WrappingProvider(Without(AgentProvider(Shelf("a", "b"))))

    assert [each["name"] for each in all_tools(provider, Call()).tools] == ["a"]


@pytest.mark.parametrize(
    ("about", "missing"),
    [
        ({"_meta": {UNAVAILABLE_KEY: {"files": "has ended"}}}, ["files"]),
        ({"_meta": {UNAVAILABLE_KEY: "x"}}, []),
        ({}, []),
    ],
    ids=["one", "invalid", "none"],
)
def test_a_list_names_the_servers_that_are_missing(about: dict[str, Any], missing: list[str]) -> None:
    """Ours: a tool of theirs is neither there nor withdrawn."""
    assert ToolList([], about).missing == missing

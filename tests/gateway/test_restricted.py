"""A provider that offers some of the tools of another one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from gaia_mcp.gateway.restricted import RestrictedProvider
from gaia_mcp.gateway.restrictions import Locked, NamePatterns, ReadOnly
from gaia_mcp.protocol.jsonrpc import INVALID_PARAMS
from gaia_mcp.server.agent import AgentProvider
from gaia_mcp.server.pages import PAGE_ITEMS
from gaia_mcp.server.provider import Change, RequestError
from gaia_mcp.toolspec.contract import contract_of
from tests.gateway.shelf import Shelf, answer, names, owners, reader, text_of, tool
from tests.waiting import wait_until

if TYPE_CHECKING:
    from gaia_mcp.gateway.naming import Owner


def patterns(*allow: str, deny: tuple[str, ...] = ()) -> NamePatterns:
    return NamePatterns(allow, deny, lambda *_: None)


def read_only(shelf: Shelf) -> RestrictedProvider:
    return RestrictedProvider(AgentProvider(shelf), owners, None, [ReadOnly(lambda _: None)])


def refusal(provider: RestrictedProvider, name: Any) -> RequestError:
    with pytest.raises(RequestError) as caught:
        answer(provider, "tools/call", name=name, arguments={})
    return caught.value


def is_called(provider: RestrictedProvider, name: str) -> bool:
    try:
        answer(provider, "tools/call", name=name, arguments={})
    except RequestError as error:
        refused = str(error)
    else:
        return True
    assert refused == f"Unknown tool: {name}"
    return False


def test_a_tool_that_is_not_offered_is_neither_listed_nor_called() -> None:
    """Ours: to a client it does not exist, whatever it asks for first."""
    shelf = Shelf("read", "write")
    provider = RestrictedProvider(AgentProvider(shelf), owners, patterns("read"))

    refused, unknown = refusal(provider, "write"), refusal(provider, "none")
    assert (refused.code, str(refused)) == (INVALID_PARAMS, "Unknown tool: write")
    assert (unknown.code, str(unknown)) == (INVALID_PARAMS, "Unknown tool: none")
    assert names(provider) == ["read"]
    assert is_called(provider, "read")
    assert shelf.ran == ["read"]


@pytest.mark.parametrize("is_listed", [False, True])
def test_only_a_tool_with_the_read_only_hint_is_called(is_listed: bool) -> None:
    """Ours: also by a client that has never requested the list, as a stateless one may."""
    shelf = Shelf(reader("read"), "write")
    provider = read_only(shelf)
    if is_listed:
        assert names(provider) == ["read"]

    assert not is_called(provider, "write")
    assert is_called(provider, "read")
    assert not is_called(provider, "none")
    assert shelf.ran == ["read"]


def test_the_tools_of_a_changed_list_are_checked_again() -> None:
    """Ours: a tool that only read when the server began may do more by now."""
    shelf = Shelf(reader("a"), "b")
    provider = read_only(shelf)
    heard: list[Change] = []
    provider.on_change(heard.append)
    assert is_called(provider, "a")

    shelf.put(tool("a"), reader("b"))
    wait_until(lambda: heard == [Change(("tools",))])

    assert not is_called(provider, "a")
    assert is_called(provider, "b")
    assert names(provider) == ["b"]


def test_a_new_tool_is_found_without_a_list_changed_notification() -> None:
    """Ours: some servers do not announce changes."""
    shelf = Shelf(reader("a"))
    provider = read_only(shelf)
    assert names(provider) == ["a"]

    shelf.tools = [reader("a"), reader("b")]

    assert is_called(provider, "b")


def test_a_change_of_resources_changes_no_decision_about_tools() -> None:
    """Ours: deciding again means to list all tools, a request for each page."""
    shelf = Shelf(reader("a"))
    provider = read_only(shelf)
    heard: list[Change] = []
    provider.on_change(heard.append)
    assert names(provider) == ["a"]

    shelf.tools = [tool("a")]
    shelf.resources_changed()
    wait_until(lambda: heard == [Change(("resources",))])

    assert is_called(provider, "a")


def test_a_tool_is_restricted_under_every_name_that_the_gateway_accepts() -> None:
    """Ours: a gateway understands a name with its server even if it lists the tool without."""

    def understood(name: str) -> Owner | None:
        return None if name.startswith("?") else owners(name.removeprefix("one__"))

    shelf = Shelf("write", "?odd")
    provider = RestrictedProvider(AgentProvider(shelf), understood, None, [ReadOnly(lambda _: None)])

    assert names(provider) == []
    assert not is_called(provider, "one__write")
    # What belongs to no server is let through by nothing.
    assert not is_called(provider, "?odd")
    shelf.put(reader("write"), tool("?odd"))
    with pytest.raises(RequestError, match="Unknown tool: one__write"):
        answer(provider, "tools/call", name="one__write")
    assert shelf.ran == []
    assert names(provider) == ["write"]
    assert not is_called(RestrictedProvider(AgentProvider(shelf), understood, patterns("*")), "?odd")


def test_all_restrictions_have_to_allow_a_tool() -> None:
    """Ours: and a later one reports nothing about tools that are left out already."""
    then = [reader("read_a"), reader("read_b"), tool("read_c"), reader("other")]
    reported: list[str] = []
    locked = Locked({"one": contract_of(then)}, lambda _, changes: reported.extend(map(str, changes or ())))
    shelf = Shelf(then[0], reader("read_b", "new"), tool("read_c", "new"), reader("other", "new"))
    restrictions = [ReadOnly(lambda _: None), locked]

    assert names(RestrictedProvider(AgentProvider(shelf), owners, patterns("read_*"), restrictions)) == ["read_a"]
    assert reported == ["'read_b' changed (description)"]


def test_a_long_list_has_pages() -> None:
    """Ours: as that of the provider, with its metadata."""
    shelf = Shelf(*[tool(f"{kind}{number}") for number in range(PAGE_ITEMS + 1) for kind in ("keep", "drop")])
    shelf.list_ttl_ms = 7
    provider = RestrictedProvider(AgentProvider(shelf), owners, patterns(deny=("drop*",)))

    first = answer(provider, "tools/list")
    second = answer(provider, "tools/list", cursor=first["nextCursor"])

    assert (len(first["tools"]), [each["name"] for each in second["tools"]]) == (PAGE_ITEMS, [f"keep{PAGE_ITEMS}"])
    assert first["ttlMs"] == second["ttlMs"] == 7
    with pytest.raises(RequestError, match="invalid cursor"):
        answer(provider, "tools/list", cursor="x")


def test_everything_but_the_list_of_tools_is_passed_on_unchanged() -> None:
    """Ours: resources, results, invalid requests, the end."""
    shelf = Shelf("a")
    shelf.run = lambda _: "text"
    provider = RestrictedProvider(AgentProvider(shelf), owners, patterns("a"))

    assert answer(provider, "resources/read", uri="shelf://all")["contents"][0]["text"] == "all"
    assert text_of(answer(provider, "tools/call", name="a")) == "text"
    assert "a string" in str(refusal(provider, 7))
    provider.close()
    shelf.tools_changed()
    assert names(provider) == ["a"]

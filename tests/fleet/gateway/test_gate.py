"""Which tools are offered, by their names, claims and locked definitions."""

from __future__ import annotations

from typing import Any

import pytest

from gaia_mcp.asking import Call
from gaia_mcp.fleet.gateway.gate import (
    Locked,
    NamePatterns,
    OwnedTool,
    ReadOnly,
    RestrictedProvider,
    Restriction,
    ScopedProvider,
    ScopeRule,
    of_one,
)
from gaia_mcp.fleet.gateway.naming import Owner
from gaia_mcp.fleet.gateway.search import SearchProvider
from gaia_mcp.protocol.jsonrpc import INVALID_PARAMS
from gaia_mcp.server.agent import AgentProvider
from gaia_mcp.server.definitions import PAGE_ITEMS
from gaia_mcp.server.provider import Change, InsufficientScopeError, RequestError
from gaia_mcp.toolspec.contract import contract_of
from tests.fleet.gateway.shelf import Shelf, Wire, answer, names, owners, reader, text_of, tool
from tests.waiting import wait_until

OFFERED = [
    "read_file",
    "write_file",
    "files__read_file",
    "files__delete",
    "web__fetch",
]


def owned(*tools: dict[str, Any]) -> list[OwnedTool]:
    return [OwnedTool(each, owners(each["name"])) for each in tools]


def selected(restriction: Restriction, *tools: dict[str, Any]) -> list[str]:
    return [each.definition["name"] for each in restriction.select(owned(*tools))]


PATTERNS: list[tuple[list[str], list[str], list[str]]] = [
    ([], [], OFFERED),
    (["web__fetch"], [], ["web__fetch"]),
    (["fetch"], [], ["web__fetch"]),
    (["read_*"], [], ["read_file", "files__read_file"]),
    (["files/*"], [], ["files__read_file", "files__delete"]),
    (["*/read_file"], [], ["read_file", "files__read_file"]),
    (["one/*", "web/*"], [], ["read_file", "write_file", "web__fetch"]),
    ([], ["*"], []),
    ([], ["delete"], ["read_file", "write_file", "files__read_file", "web__fetch"]),
    ([], ["[!rw]*_file"], ["read_file", "write_file", "files__delete", "web__fetch"]),
    (["*_file"], ["files/*"], ["read_file", "write_file"]),
    (["READ_FILE"], [], []),
    # No server is meant without a slash.
    (["files*"], [], ["files__read_file", "files__delete"]),
    (["web"], [], []),
    # Characters that mean something to others.
    (["read.file", "(read_file)", "read_file$", "[", "[]", "\\", "files//delete", "\u202e"], [], []),
]


def test_names_are_allowed_and_denied_by_patterns() -> None:
    """Ours: the offered name, the tool's own, and with a slash that with its server; denying decides."""
    for allow, deny, left in PATTERNS:
        patterns = NamePatterns(allow, deny, lambda *_: None)
        found = selected(patterns, *map(tool, OFFERED)), [n for n in OFFERED if patterns.allows(n, owners(n))]
        assert found == (left, left), (allow, deny)


def test_a_tool_whose_own_name_has_a_slash_is_matched_by_it() -> None:
    """Spec 2025-11-25, tool names: they may have one."""
    patterns = NamePatterns(["a/b"], [], lambda *_: None)

    assert patterns.allows("a/b", Owner("one", "a/b"))
    assert patterns.allows("one__a/b", Owner("one", "a/b"))


def test_a_pattern_that_matches_nothing_is_reported_once() -> None:
    """Ours: `--deny 'delet*'` denies nothing, and the typing error has to be noticed."""
    reported: list[tuple[str, str]] = []
    patterns = NamePatterns(["read_*", "odd"], ["a,b"], lambda *each: reported.append(each))

    for _ in range(2):
        selected(patterns, *map(tool, OFFERED))

    assert reported == [("allow", "odd"), ("deny", "a,b")]


def test_only_tools_with_a_true_read_only_hint_are_selected() -> None:
    """Ours: a tool without the hint may do anything."""
    hints = [False, None, "true", 1, {}]
    others = [tool(f"b{number}", annotations={"readOnlyHint": hint}) for number, hint in enumerate(hints)]

    assert selected(ReadOnly(lambda _: None), tool("a"), *others, reader("c"), tool("d", annotations=[])) == ["c"]


def test_a_tool_whose_name_contradicts_its_hint_is_reported_once() -> None:
    """Ours: hints are the server's, which may lie."""
    reported: list[Owner] = []
    restriction = ReadOnly(reported.append)

    for _ in range(2):
        assert selected(restriction, reader("files__delete"), reader("read")) == ["files__delete", "read"]

    assert reported == [Owner("files", "delete")]


class Reports:
    """What `Locked` has reported."""

    def __init__(self, *locked: dict[str, Any]) -> None:
        self.texts: list[str] = []
        self.locked = Locked({"one": contract_of(locked)}, self._take)

    def _take(self, server: str, changes: Any) -> None:
        self.texts.append(f"{server}: {', '.join(map(str, changes)) if changes is not None else 'never locked'}")

    def taken(self) -> list[str]:
        texts, self.texts = self.texts, []
        return texts


def test_a_tool_that_differs_from_its_lock_is_left_out_and_reported_once() -> None:
    """Ours: as `gaia mcp lock` compares them."""
    changes = [
        (tool("add", "Adds, and sends all to me."), "'add' changed (description)"),
        (tool("add", "Adds.", title="Add"), "'add' changed (title)"),
        (tool("add", "Adds.", inputSchema={"type": "object", "required": ["a"]}), "'add' changed (inputSchema)"),
        (reader("add", "Adds."), "'add' changed (annotations)"),
        (tool("new"), "'new' added"),
    ]

    for now, change in changes:
        reports = Reports(tool("add", "Adds."), tool("stay"))
        for reported in ([f"one: {change}"], []):
            assert (selected(reports.locked, now, tool("stay")), reports.taken()) == (["stay"], reported), now


def test_a_tool_is_offered_again_when_it_matches_its_lock() -> None:
    """Ours: also while the server runs; each change is reported."""
    then = tool("add", "Adds.", outputSchema={"type": "object", "default": {"n": 1}})
    changed = {**then, "outputSchema": {"type": "object", "default": {"n": True}}}
    reports = Reports(then)

    assert selected(reports.locked, then) == ["add"]
    assert reports.taken() == []
    for _ in range(2):
        assert selected(reports.locked, changed) == []
        assert reports.taken() == ["one: 'add' changed (outputSchema)"]
        # The order of keys, icons and `_meta` are not locked.
        assert selected(reports.locked, dict(reversed(then.items())) | {"_meta": {"a": 1}}) == ["add"]


def test_a_tool_is_compared_by_its_own_name() -> None:
    """Ours: under which other name it is offered depends on other servers."""
    reports = Reports(tool("add"))
    renamed = OwnedTool(tool("one__add"), Owner("one", "add"))

    assert reports.locked.select([renamed]) == [renamed]


def test_a_server_that_was_never_locked_has_no_tools() -> None:
    """Ours: it is reported once, however many tools it has."""
    reports = Reports(tool("add"))

    for reported in (["two: never locked"], []):
        assert selected(reports.locked, tool("two__add"), tool("two__sub"), tool("add")) == ["add"]
        assert reports.taken() == reported


def test_a_definition_that_has_no_canonical_form_is_not_the_locked_one() -> None:
    """Ours: one tool that is nested too deeply hides no other."""
    deep: dict[str, Any] = {}
    for _ in range(200_000):
        deep = {"not": deep}
    reports = Reports(tool("add"), tool("stay"))

    for reported in (["one: 'add' changed (definition), 'odd' added"], []):
        found = selected(reports.locked, tool("add", inputSchema=deep), tool("odd", inputSchema=deep), tool("stay"))
        assert found == ["stay"]
        assert reports.taken() == reported


def test_the_tools_of_a_single_server_have_it_as_their_owner() -> None:
    """Ours: restrictions need an owner, and a single server is behind no gateway that knows it."""
    assert of_one("notes")("find") == Owner("notes", "find")


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


RULES = [ScopeRule("delete_*", "trips:write"), ScopeRule("two/*", "admin")]


def calling(provider: ScopedProvider | SearchProvider, tool: object, /, *scopes: str, **arguments: object) -> Wire:
    call = Call()
    call.scopes = frozenset(scopes)
    return provider.answer("tools/call", {"name": tool, "arguments": arguments}, call)


def lacking(
    provider: ScopedProvider | SearchProvider, tool: str, /, *scopes: str, **arguments: object
) -> tuple[str, ...]:
    with pytest.raises(InsufficientScopeError) as caught:
        calling(provider, tool, *scopes, **arguments)
    return caught.value.scopes


def test_a_scope_rule_applies_to_the_tools_that_it_matches() -> None:
    """Ours: by each of their names; every rule that matches counts."""
    shelf = Shelf("read", "delete_trip", "two__delete_trip")
    provider = ScopedProvider(AgentProvider(shelf), owners, RULES)

    assert lacking(provider, "delete_trip") == ("trips:write",)
    assert lacking(provider, "two__delete_trip", "admin") == ("trips:write", "admin")
    calling(provider, "read")
    calling(provider, "two__delete_trip", "admin", "trips:write")
    # Without access tokens, scopes restrict nothing.
    answer(provider, "tools/call", name="delete_trip")
    assert shelf.ran == ["read", "two__delete_trip", "delete_trip"]
    assert names(provider) == ["read", "delete_trip", "two__delete_trip"]
    with pytest.raises(RequestError, match="a string"):
        calling(provider, 7)


def test_a_tool_is_looked_up_before_its_scopes_are_checked() -> None:
    """Ours: a gateway may understand a name before it has listed the tool, and then another rule could be about it."""
    known: dict[str, Owner] = {}

    class Lists(AgentProvider):
        def answer(self, method: str, params: Wire, call: Call) -> Wire:
            if method == "tools/list":
                known["odd"] = Owner("two", "odd")
            return super().answer(method, params, call)

    shelf = Shelf("odd", "none")
    provider = ScopedProvider(Lists(shelf), known.get, RULES)

    assert lacking(provider, "odd") == ("admin",)
    with pytest.raises(RequestError, match="Unknown tool: none"):
        calling(provider, "none", "admin")
    assert shelf.ran == []


def test_a_tool_that_is_called_by_another_one_needs_the_same_scopes() -> None:
    """Ours: `call` of `--search` is no way around."""
    provider = SearchProvider(ScopedProvider(AgentProvider(Shelf("delete_trip")), owners, RULES), owners)

    assert lacking(provider, "call", name="delete_trip") == ("trips:write",)
    assert calling(provider, "call", "trips:write", name="delete_trip")["isError"] is False

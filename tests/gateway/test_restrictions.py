"""Which tools are offered, by their names, claims and locked definitions."""

from __future__ import annotations

from typing import Any

from gaia_mcp.gateway.naming import Owner
from gaia_mcp.gateway.restrictions import Locked, NamePatterns, OwnedTool, ReadOnly, Restriction, of_one
from gaia_mcp.toolspec.contract import contract_of
from tests.gateway.shelf import owners, reader, tool

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

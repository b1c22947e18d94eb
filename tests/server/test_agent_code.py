"""The code of an agent, as the parts of its provider use it."""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

from gaia_mcp.asking import Call
from gaia_mcp.server.agent_code import AgentCode, Features
from gaia_mcp.server.failures import note_failure
from tests.server.agents_under_test import Plain


class Prompt(NamedTuple):
    """A marked prompt."""

    definition: dict[str, Any]


class Marked:
    """The marked methods of an agent, with one prompt."""

    def __init__(self) -> None:
        self.prompts = {"p": Prompt({"name": "p"})}
        self.resources: dict[str, Any] = {}
        self.templates: dict[str, Any] = {}


def code_of(agent: Any) -> tuple[AgentCode, list[str]]:
    """The agent's code, and what it reports."""
    reported: list[str] = []
    return AgentCode(agent, reported.append, note_failure), reported


def test_a_problem_is_reported_once() -> None:
    """Ours: lists are read again and again."""
    code, reported = code_of(Plain())

    code.note("a")
    code.note("a")

    assert code.problems == reported == ["a"]


def test_a_missing_or_invalid_optional_method_is_ignored() -> None:
    """Ours, duck typing."""
    agent = Plain()
    agent.own = 1  # type: ignore[attr-defined]
    code, _ = code_of(agent)

    assert code.optional("none") is None
    assert code.optional("own") is None
    assert code.optional("get_mcp_tool_definitions") == []
    assert code.features() == Features()


def test_a_marked_method_overrides_a_definition_of_its_name() -> None:
    """Ours: the duplicate is reported, unless both are equal."""
    agent = Plain()
    agent.get_mcp_features = Marked  # type: ignore[attr-defined]
    code, reported = code_of(agent)
    prompts = code.features().prompts

    assert code.without_marked("prompt", [{"name": "p"}, {"name": "q"}], "name", prompts) == [{"name": "q"}]
    assert reported == []
    code.without_marked("prompt", [{"name": "p", "title": "P"}], "name", prompts)
    assert reported == ["prompt 'p' is defined twice; the marked method is used"]


def test_lists_have_the_ttl_and_cache_scope_of_the_agent() -> None:
    """Spec, MS-11: `ttlMs` and `cacheScope`, for all lists or for each."""
    lists = ("tools", "prompts", "resources", "templates")

    class Cached:
        list_ttl_ms: Any = 5000
        list_cache_scope: Any = ""

    for name in lists:
        agent = Cached()
        agent.list_cache_scope = {name: "public"}
        found = {each: code_of(agent)[0].list_caching(each) for each in lists}
        assert found == {each: {"ttlMs": 5000} for each in lists} | {name: {"ttlMs": 5000, "cacheScope": "public"}}
        assert code_of(object())[0].list_caching(name) == {}
        agent.list_ttl_ms, agent.list_cache_scope = {name: 0}, ""
        assert code_of(agent)[0].list_caching(name) == {"ttlMs": 0}


def test_an_invalid_ttl_or_cache_scope_is_reported_and_left_out() -> None:
    """Ours: as invalid members of definitions are; the list is answered all the same."""

    class Wrong:
        list_ttl_ms = "5 s"
        list_cache_scope: ClassVar = {"tools": "all", "prompts": "private"}

    code, reported = code_of(Wrong())

    assert code.list_caching("tools") == {}
    assert code.list_caching("prompts") == {"cacheScope": "private"}
    assert reported[:2] == [
        "list_ttl_ms of the list of tools is '5 s', not a whole number of milliseconds from 0 on, and is left out",
        "list_cache_scope of the list of tools is 'all', not 'public' or 'private', and is left out",
    ]


def test_a_ttl_for_an_unknown_list_is_reported() -> None:
    """Ours: its author has misspelled it."""

    class Wrong:
        list_ttl_ms: ClassVar = {"tool": 5, "prompts": 7}

    code, reported = code_of(Wrong())

    assert code.list_caching("prompts") == {"ttlMs": 7}
    assert code.list_caching("tools") == {}
    assert reported == ["list_ttl_ms has 'tool', which is not one of prompts, resources, templates, tools"]


def test_a_coroutine_is_awaited() -> None:
    """Ours: whatever method it came from."""

    async def later() -> str:
        return "later"

    code, _ = code_of(Plain())
    call = Call()

    assert [code.awaited("now", call), code.awaited(later(), call)] == ["now", "later"]
    code.loop.close()

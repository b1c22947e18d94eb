"""What the parts of a provider share."""

from __future__ import annotations

from typing import Any, NamedTuple

from gaia_mcp.server.agent_code import AgentCode, Features
from gaia_mcp.server.failures import note_failure
from gaia_mcp.toolcall import Call
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


def test_a_method_may_be_missing_or_something_else() -> None:
    """Ours, duck typing."""
    agent = Plain()
    agent.own = 1  # type: ignore[attr-defined]
    code, _ = code_of(agent)

    assert code.optional("none") is None
    assert code.optional("own") is None
    assert code.optional("get_mcp_tool_definitions") == []
    assert code.features() == Features()


def test_a_marked_method_goes_before_a_definition_of_its_name() -> None:
    """Ours: that is reported, unless both say the same."""
    agent = Plain()
    agent.get_mcp_features = Marked  # type: ignore[attr-defined]
    code, reported = code_of(agent)
    prompts = code.features().prompts

    assert code.without_marked("prompt", [{"name": "p"}, {"name": "q"}], "name", prompts) == [{"name": "q"}]
    assert reported == []
    code.without_marked("prompt", [{"name": "p", "title": "P"}], "name", prompts)
    assert reported == ["prompt 'p' is defined twice; the marked method is used"]


def test_a_coroutine_is_awaited() -> None:
    """Ours: whatever method it came from."""

    async def later() -> str:
        return "later"

    code, _ = code_of(Plain())
    call = Call()

    assert [code.awaited("now", call), code.awaited(later(), call)] == ["now", "later"]
    code.loop.close()

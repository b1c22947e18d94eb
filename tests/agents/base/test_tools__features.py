"""The decorators `prompt` and `resource`."""

from __future__ import annotations

from typing import Any

import pytest

from gaia_mcp import MCPAgent, prompt, resource, tool
from gaia_mcp.agents.base.tools import PromptMark, ResourceMark, marked


class Several(MCPAgent):
    """One method in all three parts."""

    @tool
    @prompt(title="Both")
    @resource("a://all", size=0, ttl_ms=0)
    def both(self) -> str:
        """Two things."""
        return "x"

    @prompt
    @staticmethod
    def fixed() -> str:
        """Of a static method."""
        return "fixed"


class Fewer(Several):
    """Overrides."""

    fixed = None  # type: ignore[assignment]

    def both(self) -> str:
        return "y"


def test_a_method_may_be_marked_several_times() -> None:
    """Ours: it stays what it was."""
    assert Several().both() == "x"
    assert marked(Several, PromptMark) == {"both": PromptMark({"title": "Both"}, {}), "fixed": PromptMark({}, {})}
    assert marked(Several, ResourceMark)["both"][:3] == ("a://all", {"size": 0}, {"ttlMs": 0})
    assert [one["name"] for one in Several().get_mcp_tool_definitions()] == ["both"]


def test_a_method_that_overrides_a_marked_one_has_its_mark() -> None:
    """Ours: and None removes it."""
    agent = Fewer()

    assert [one["name"] for one in agent.get_mcp_prompts()] == ["both"]
    assert agent.both() == "y"


def test_only_methods_can_be_marked() -> None:
    """Ours: a function belongs to no agent, whatever it is called."""

    def alone() -> str:
        return ""

    marks: list[tuple[Any, Any, str]] = [
        (prompt, alone, "@prompt is for methods of an agent"),
        (prompt, "name", "@prompt is for methods of an agent"),
        (resource("a://b"), alone, "@resource is for methods of an agent"),
        (resource, alone, "@resource needs the URI of the resource"),
    ]
    for decorator, value, words in marks:
        with pytest.raises(TypeError, match=words):
            decorator(value)


def test_an_invalid_template_is_an_error_at_the_decorator() -> None:
    """RFC 6570: before anything is served."""
    with pytest.raises(ValueError, match="a brace without its partner"):
        resource("a://{x")(Several.both)

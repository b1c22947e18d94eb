from __future__ import annotations

import sys
from typing import Any

import pytest

from gaia_mcp.server.definitions import (
    described_agent,
    listed_resource,
    prompt_definitions,
    resource_definitions,
    tool_definition,
)


def test_a_tool_gets_a_description_and_the_schema_of_an_object() -> None:
    """Spec, Tool: `inputSchema` has `"type": "object"` at its root."""
    assert tool_definition({"name": "a"}) == {"name": "a", "description": "", "inputSchema": {"type": "object"}}


@pytest.mark.parametrize("schema", [None, "text", [], {"type": "string"}, {"type": ["object", "null"]}])
def test_an_input_schema_for_something_else_becomes_one_for_an_object(schema: Any) -> None:
    """Spec, B-4."""
    assert tool_definition({"name": "a", "inputSchema": schema})["inputSchema"] == {"type": "object"}


def test_a_tools_own_members_are_kept_and_the_agents_definition_is_not_changed() -> None:
    """Ours: None means that the agent left the member out."""
    schema = {"properties": {"a": {"type": "string"}}}
    given = {"name": "a", "description": "d", "title": "A", "icons": None, "inputSchema": schema}

    assert tool_definition(given) == {
        "name": "a", "description": "d", "title": "A", "inputSchema": {"type": "object", **schema},
    }  # fmt: skip
    assert given["inputSchema"] == {"properties": {"a": {"type": "string"}}}
    assert tool_definition({"name": "a", "inputSchema": {"type": "object", "x": 1}})["inputSchema"]["x"] == 1


@pytest.mark.parametrize("defined", [None, [], [{"description": "no name"}, "text", {"name": ""}, {"name": 7}]])
def test_prompts_without_a_name_are_left_out(defined: Any) -> None:
    """Spec, Prompt: `name` is required."""
    assert prompt_definitions(defined) == []


def test_a_prompts_arguments_are_those_with_a_name() -> None:
    """Spec, PromptArgument: `name` is required."""
    given = [{"name": "p", "arguments": [{"name": "x"}, "z", {}]}, {"name": "q", "arguments": "none"}]

    assert prompt_definitions(given) == [{"name": "p", "arguments": [{"name": "x"}]}, {"name": "q", "arguments": []}]
    assert given[1]["arguments"] == "none"


@pytest.mark.parametrize("defined", [None, [], [{"name": "no uri"}, "text", {"uri": ""}]])
def test_resources_without_a_uri_are_left_out(defined: Any) -> None:
    """Spec, Resource: `uri` is required."""
    assert resource_definitions(defined) == []


def test_a_resource_is_listed_with_a_name_and_without_its_contents() -> None:
    """Spec, Resource: `name` is required. Ours: the URI, if it has no name."""
    (resource,) = resource_definitions([{"uri": "x://a", "text": "hi", "blob": b"", "mimeType": "a/b"}])

    assert resource["text"] == "hi"
    assert listed_resource(resource) == {"name": "x://a", "uri": "x://a", "mimeType": "a/b"}
    assert listed_resource({"uri": "x://a", "name": "n"})["name"] == "n"


class Bare:
    pass


class Versioned:
    version = "1.2"


class OfGaia:
    __module__ = "gaia.agents.docker.agent"


class Derived(OfGaia):
    pass


@pytest.mark.parametrize(
    ("kind", "info", "described"),
    [
        (Bare, {}, {"name": "Bare", "version": ""}),
        (Versioned, {}, {"name": "Versioned", "version": "1.2"}),
        (Bare, {"name": "GAIA Bare", "version": "2.0.0", "title": "t"}, {"name": "Bare", "version": "", "title": "t"}),
        (Bare, {"name": "GAIA Bare", "version": "3"}, {"name": "GAIA Bare", "version": "3"}),
        (Versioned, {"name": "n", "version": 4}, {"name": "n", "version": "4"}),
        (Versioned, {"name": "", "version": None}, {"name": "Versioned", "version": "1.2"}),
        (Derived, {}, {"name": "GAIA Derived", "version": "2.0.0"}),
        (Derived, {"name": "GAIA Derived", "version": "2.0.0"}, {"name": "GAIA Derived", "version": "2.0.0"}),
    ],
)
def test_an_agent_is_called_by_its_class(kind: type, info: dict[str, Any], described: dict[str, Any]) -> None:
    """Ours: GAIA's default is the name of its own agents; what an author chose always stays."""
    assert described_agent(kind, info) == described


def test_the_version_of_an_agent_may_be_that_of_its_module(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ours: `__version__` is where Python modules have it."""
    monkeypatch.setattr(sys.modules[__name__], "__version__", "7", raising=False)

    assert described_agent(Bare, {})["version"] == "7"

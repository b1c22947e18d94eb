"""Who may use a tool: the table of A3."""

from __future__ import annotations

import pytest

from gaia_mcp.toolspec.scope import is_in_scope


@pytest.mark.parametrize(
    ("stages", "stage", "allowed"),
    [
        (None, "build", True),
        ([], "build", False),
        (["build", "deploy"], "build", True),
        (["build", "deploy"], "design", False),
        (["all"], "build", True),
        (["deploy", "all"], "build", True),
        (["build"], "Build", False),
        (["build"], "buil", False),
        (["build"], None, True),
        ([], None, True),
        (None, None, True),
    ],
)
def test_stages_restrict_a_caller_that_names_its_stage(
    stages: list[str] | None, stage: str | None, allowed: bool
) -> None:
    """A3: null means all, `[]` nothing, "all" every stage, and a caller's None passes."""
    assert is_in_scope(stages, None, stage, None) is allowed
    assert is_in_scope(stages, ["me"], stage, "me") is allowed
    assert not is_in_scope(stages, ["me"], stage, "you")


@pytest.mark.parametrize(
    ("agents", "agent", "allowed"),
    [
        (None, "terraform-agent", True),
        ([], "terraform-agent", False),
        (["terraform-agent"], "terraform-agent", True),
        (["bicep-agent"], "terraform-agent", False),
        (["all"], "terraform-agent", False),
        (["all"], "all", True),
        (["bicep-agent"], None, True),
        ([], None, True),
    ],
)
def test_agents_restrict_a_caller_that_names_its_agent(
    agents: list[str] | None, agent: str | None, allowed: bool
) -> None:
    """A3: as stages, but no agent's name stands for all of them; both restrictions must allow the caller."""
    assert is_in_scope(None, agents, None, agent) is allowed
    assert is_in_scope(["build"], agents, "build", agent) is allowed
    assert not is_in_scope(["build"], agents, "deploy", agent)

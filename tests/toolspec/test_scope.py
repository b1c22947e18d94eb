"""Who may use a tool: the table of A3."""

from __future__ import annotations

from gaia_mcp.toolspec.scope import can_meet, is_in_scope


def test_stages_restrict_a_caller_that_names_its_stage() -> None:
    """A3: null means all, `[]` nothing, "all" every stage, and a caller's None passes."""
    cases = [
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
    ]

    wrong = [
        (stages, stage, allowed)
        for stages, stage, allowed in cases
        if not (
            is_in_scope(stages, None, stage, None) is allowed
            and is_in_scope(stages, ["me"], stage, "me") is allowed
            and not is_in_scope(stages, ["me"], stage, "you")
        )
    ]

    assert not wrong


def test_agents_restrict_a_caller_that_names_its_agent() -> None:
    """A3: as stages, but no agent's name stands for all of them; both restrictions must allow the caller."""
    cases = [
        (None, "terraform-agent", True),
        ([], "terraform-agent", False),
        (["terraform-agent"], "terraform-agent", True),
        (["bicep-agent"], "terraform-agent", False),
        (["all"], "terraform-agent", False),
        (["all"], "all", True),
        (["bicep-agent"], None, True),
        ([], None, True),
    ]

    wrong = [
        (agents, agent, allowed)
        for agents, agent, allowed in cases
        if not (
            is_in_scope(None, agents, None, agent) is allowed
            and is_in_scope(["build"], agents, "build", agent) is allowed
            and not is_in_scope(["build"], agents, "deploy", agent)
        )
    ]

    assert not wrong


def test_two_restrictions_meet_where_a_caller_may_use_both() -> None:
    """A6: only then is it a problem that both have a tool of one name."""
    cases = [
        ((None, None), (None, None), True),
        ((["build"], None), (["deploy"], None), False),
        ((["build"], None), (["deploy", "build"], None), True),
        ((["build"], None), (["all"], None), True),
        ((["build"], ["coder"]), (["build"], ["cook"]), False),
        ((["build"], ["coder"]), (["all"], ["cook", "coder"]), True),
        ((None, ["all"]), (None, ["coder"]), False),
        (([], None), (None, None), False),
        ((None, []), (None, None), False),
    ]

    wrong = [
        (one, other, meet)
        for one, other, meet in cases
        if not (can_meet(*one, *other) is meet and can_meet(*other, *one) is meet)
    ]

    assert not wrong

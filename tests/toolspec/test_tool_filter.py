"""The choice among a server's tools."""

from __future__ import annotations

from gaia_mcp.toolspec.tool_filter import (
    ToolFilter,
    can_meet,
    claims_to_only_read,
    hints_in_words,
    is_in_scope,
    is_match,
    is_pattern,
    only_reads,
)

TOOLS = ["read_file", "read_dir", "write_file", "Read_file", "delete"]


def test_a_tool_is_used_if_it_is_included_and_not_excluded() -> None:
    """Ours, as Gemini and Codex have it: what is excluded stays so, and an empty list includes nothing."""
    cases = [
        (ToolFilter(), TOOLS),
        (ToolFilter(["read_file"]), ["read_file"]),
        (ToolFilter(["read_*", "delete"]), ["read_file", "read_dir", "delete"]),
        (ToolFilter([]), []),
        (ToolFilter(None, ["*_file"]), ["read_dir", "delete"]),
        (ToolFilter(["read_*"], ["read_dir"]), ["read_file"]),
        (ToolFilter(["[Rr]ead_?i*"]), ["read_file", "read_dir", "Read_file"]),
        (ToolFilter(["READ_FILE"]), []),
        (ToolFilter(["read"], ["rea"]), []),
    ]

    wrong = [
        (filter_, found)
        for filter_, allowed in cases
        if (found := [tool for tool in TOOLS if filter_.allows(tool)]) != allowed
    ]

    assert not wrong


def test_the_excluding_member_is_named_with_its_patterns() -> None:
    """Ours: for the message to the person who wants the tool."""
    filter_ = ToolFilter(["read_*"], ["*_dir"])

    assert [filter_.excluded_by(tool) for tool in TOOLS[:3]] == ["", "excludeTools", "includeTools"]
    assert filter_.patterns("includeTools") == ["read_*"]
    assert filter_.patterns("excludeTools") == ["*_dir"]
    assert ToolFilter().patterns("includeTools") == ()


def test_a_pattern_that_matches_nothing_is_found() -> None:
    """Ours: it is most often a slip of the finger."""
    assert ToolFilter(["raed_*", "read_*"], ["delete", "drop"]).without_match(iter(TOOLS)) == ["raed_*", "drop"]
    assert ToolFilter(None, ["delete"]).without_match(TOOLS) == []


def test_a_plain_name_is_not_a_pattern() -> None:
    """Ours: no other character of a name means anything."""
    assert not any(map(is_pattern, [*TOOLS, "a.b-c/d", "x]"]))
    assert all(map(is_pattern, ["*", "a?", "[ab]"]))
    assert is_match("a.b", "a.b")
    assert not is_match("aXb", "a.b")


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


def test_only_a_hint_of_true_claims_read_only() -> None:
    """GAIA's documents: everything else is to be confirmed by a person."""
    cases = [
        ({"readOnlyHint": True}, True),
        ({"readOnlyHint": False}, False),
        ({"readOnlyHint": "true"}, False),
        ({"readOnlyHint": 1}, False),
        ({"readOnlyHint": None}, False),
        ({}, False),
    ]

    wrong = [
        (annotations, found)
        for annotations, claims in cases
        if (found := claims_to_only_read(annotations)) is not claims
    ]

    assert not wrong


def test_a_hint_is_shown_in_one_word() -> None:
    """Ours: neither word is what a tool does without hints."""
    cases = [
        ({"readOnlyHint": True, "destructiveHint": True}, ["read-only"]),
        ({"readOnlyHint": False, "destructiveHint": True}, ["destructive"]),
        ({"destructiveHint": False}, []),
        ({"destructiveHint": 1}, []),
        ({}, []),
    ]

    wrong = [(annotations, found) for annotations, words in cases if (found := hints_in_words(annotations)) != words]

    assert not wrong


def test_a_name_with_a_writing_verb_contradicts_the_claim() -> None:
    """GAIA: a server's annotation is not to be trusted alone."""
    cases = [
        ("read_file", True),
        ("listAll", True),
        ("address-book", True),
        ("delete_file", False),
        ("deleteFile", False),
        ("file-write", False),
        ("PUTObject", False),
        ("settings", True),
        ("set_2", False),
    ]

    wrong = [
        (name, reads)
        for name, reads in cases
        if not (only_reads(name, {"readOnlyHint": True}) is reads and only_reads(name, {}) is False)
    ]

    assert not wrong


def test_every_name_that_gaia_confirms_is_confirmed() -> None:
    """GAIA 0.25: under its own `Agent`, what our mixin registers runs unasked no more than what its mixin does."""
    cases = [
        "chmod",
        "chown",
        "mkdir",
        "sign_transaction",
        "alter_table",
        "clone_repository",
        "git_checkout",
        "overwriteAll",
        "DESTROYEverything",
        "exec.sql",
        "flush cache",
        "fork-repo",
        "unlinkFile",
        "invoke_lambda",
        "notify_desktop",
        "wait_for_condition",
        "replace_function",
        "sign_in_cli",
        "run_python",
        "update_gaia_md",
        "approve2",
        "\u212aill",
    ]

    wrong = [name for name in cases if only_reads(name, {"readOnlyHint": True}) is not False]

    assert not wrong

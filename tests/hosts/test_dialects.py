"""The choice among a server's tools, in other hosts' entries."""

from __future__ import annotations

import re

import pytest

from gaia_mcp.hosts.dialects import NotCarriedError, choice_by_names, has_patterns
from gaia_mcp.hosts.known import HOSTS
from gaia_mcp.hosts.reading import entry_from
from gaia_mcp.hosts.writing import entry_for

COMMAND = {"command": "x", "args": ["a"]}
BOTH = {"includeTools": ["read", "write"], "excludeTools": ["write"]}
PATTERNS = "the host reads these patterns as names of tools: "
NO_INCLUDE = "includeTools is not exported: the host uses all tools"
NO_EXCLUDE = "excludeTools is not exported: the host uses these tools too"


def test_the_tool_filter_of_a_host_is_imported_with_its_servers() -> None:
    """Gemini CLI's, Codex's and others' own documents; what is excluded there must not be usable here."""
    cases = [
        ("gemini", BOTH, BOTH),
        ("qwen", BOTH, BOTH),
        ("gemini", {"includeTools": ["run(ls)", "read"]}, {"includeTools": ["run", "read"]}),
        ("gemini", {"includeTools": []}, {"includeTools": []}),
        ("gemini", {"excludeTools": []}, {}),
        (
            "codex",
            {"enabled_tools": ["read"], "disabled_tools": ["write"]},
            {"includeTools": ["read"], "excludeTools": ["write"]},
        ),
        ("kiro", {"disabledTools": ["write"]}, {"excludeTools": ["write"]}),
        ("windsurf", {"disabledTools": ["write"]}, {"excludeTools": ["write"]}),
        ("roo", {"disabledTools": ["write"], "alwaysAllow": []}, {"excludeTools": ["write"]}),
        ("copilot-cli", {"tools": ["read"]}, {"includeTools": ["read"]}),
        ("copilot-cli", {"tools": ["*"]}, {}),
        ("copilot-cli", {"tools": []}, {"includeTools": []}),
        ("goose", {"available_tools": ["read"]}, {"includeTools": ["read"]}),
        ("goose", {"available_tools": []}, {}),
        ("mcporter", {"blockedTools": ["write"]}, {"excludeTools": ["write"]}),
        # A file of ours, or of a program that took our names over.
        ("claude-code", BOTH, BOTH),
    ]

    wrong = [
        (host, theirs, found)
        for host, theirs, ours in cases
        if (found := entry_from({**COMMAND, **theirs}, HOSTS[host].dialect)) != ({**COMMAND, **ours}, [])
    ]

    assert not wrong


def test_a_server_with_an_invalid_filter_is_not_imported() -> None:
    """Ours: without the filter it would have more tools than it should."""
    cases = [
        ("gemini", {"includeTools": "read"}, "includeTools"),
        ("codex", {"disabled_tools": {"write": True}}, "disabled_tools"),
        ("copilot-cli", {"tools": [7]}, "tools"),
        ("cursor", {"excludeTools": [""]}, "excludeTools"),
    ]

    wrong = []
    for host, theirs, key in cases:
        try:
            entry_from({**COMMAND, **theirs}, HOSTS[host].dialect)
        except NotCarriedError as error:
            if not re.search(f"its {key} is not a list of tool names", str(error)):
                wrong.append((host, theirs, key, error))
        else:
            wrong.append((host, theirs, key, None))

    assert not wrong


def test_a_tool_filter_is_exported_where_the_host_has_one() -> None:
    """As above; a remark where a tool that is excluded here can be used there."""
    cases = [
        ("gemini", BOTH, BOTH, []),
        ("gemini", {"includeTools": ["read_*"]}, {"includeTools": ["read_*"]}, [f"{PATTERNS}read_*"]),
        ("codex", BOTH, {"enabled_tools": ["read", "write"], "disabled_tools": ["write"]}, []),
        ("kiro", {"excludeTools": ["write"]}, {"disabledTools": ["write"]}, []),
        ("kiro", BOTH, {"disabledTools": ["write"]}, [NO_INCLUDE]),
        ("copilot-cli", {"includeTools": ["read"]}, {"tools": ["read"]}, []),
        ("copilot-cli", BOTH, {"tools": ["read"]}, []),
        ("copilot-cli", {"excludeTools": ["write"]}, {"tools": ["*"]}, [NO_EXCLUDE]),
        ("copilot-cli", {"includeTools": []}, {"tools": []}, []),
        ("mcporter", BOTH, {"allowedTools": ["read"]}, []),
        ("mcporter", {"excludeTools": ["write"]}, {"blockedTools": ["write"]}, []),
        (
            "mcporter",
            {"includeTools": ["*_file"], "excludeTools": ["write"]},
            {"allowedTools": ["*_file"]},
            [NO_EXCLUDE, f"{PATTERNS}*_file"],
        ),
        ("cursor", BOTH, {}, [NO_INCLUDE, NO_EXCLUDE]),
        ("cursor", {"excludeTools": []}, {}, []),
    ]

    wrong = []
    for host, ours, theirs, remarks in cases:
        new, found = entry_for("s", {**COMMAND, **ours}, HOSTS[host].dialect)
        members = {key: value for key, value in new.items() if key not in (*COMMAND, "type")}
        if (members, found) != (theirs, remarks):
            wrong.append((host, ours, members, found))

    assert not wrong


def test_patterns_are_replaced_by_the_names_that_they_match() -> None:
    """Ours: for hosts that take names alone. A name stays, also of a tool that there is not."""
    tools = ["read_file", "read_dir", "write"]
    entry = {**COMMAND, "includeTools": ["read_file", "read_*", "gone"], "excludeTools": ["?rite", "x*"]}

    assert has_patterns(entry)
    assert choice_by_names(entry, tools) == {
        "includeTools": ["read_file", "read_dir", "gone"],
        "excludeTools": ["write"],
    }
    assert choice_by_names({"excludeTools": ["*"]}, tools) == {"excludeTools": tools}
    assert not has_patterns({**COMMAND, "includeTools": ["read"], "excludeTools": None})


def test_a_filter_that_has_no_counterpart_is_refused() -> None:
    """Ours: an empty list means all tools to Goose."""
    with pytest.raises(NotCarriedError, match="excludes all tools"):
        entry_for("s", {**COMMAND, "includeTools": []}, HOSTS["goose"].dialect)


def test_a_filter_is_replaced_with_the_rest_of_an_entry() -> None:
    """Ours: one that stayed behind would be neither the old entry nor the new one."""
    old = {**COMMAND, "enabled_tools": ["read"], "disabled_tools": ["write"], "required": True}

    new, _ = entry_for("s", {**COMMAND, "includeTools": ["list"]}, HOSTS["codex"].dialect, old=old)

    assert new == {**COMMAND, "enabled_tools": ["list"], "required": True}


def test_inherit_has_a_remark_on_export_and_is_imported_again() -> None:
    """Ours: each host decides by itself what a server inherits."""
    new, remarks = entry_for("s", {**COMMAND, "inherit": True}, HOSTS["gemini"].dialect)

    assert new == COMMAND
    assert remarks == ["it inherits all variables here; the host decides which of them it gets there"]
    assert entry_from({**COMMAND, "inherit": True}, HOSTS["claude-code"].dialect) == ({**COMMAND, "inherit": True}, [])

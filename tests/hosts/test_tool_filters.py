"""The choice among a server's tools, in other hosts' entries."""

from __future__ import annotations

from typing import Any

import pytest

from gaia_mcp.hosts.dialects import NotCarriedError
from gaia_mcp.hosts.known import HOSTS
from gaia_mcp.hosts.reading import entry_from
from gaia_mcp.hosts.tool_filters import choice_by_names, has_patterns
from gaia_mcp.hosts.writing import entry_for

COMMAND = {"command": "x", "args": ["a"]}
BOTH = {"includeTools": ["read", "write"], "excludeTools": ["write"]}
PATTERNS = "the host reads these patterns as names of tools: "
NO_INCLUDE = "includeTools is not exported: the host uses all tools"
NO_EXCLUDE = "excludeTools is not exported: the host uses these tools too"


@pytest.mark.parametrize(
    ("host", "theirs", "ours"),
    [
        ("gemini", BOTH, BOTH),
        ("qwen", BOTH, BOTH),
        ("gemini", {"includeTools": ["run(ls)", "read"]}, {"includeTools": ["run", "read"]}),
        ("gemini", {"includeTools": []}, {"includeTools": []}),
        ("gemini", {"excludeTools": []}, {}),
        ("codex", {"enabled_tools": ["read"], "disabled_tools": ["write"]},
         {"includeTools": ["read"], "excludeTools": ["write"]}),
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
    ],
)  # fmt: skip
def test_the_filter_of_a_host_comes_with_its_servers(host: str, theirs: dict[str, Any], ours: dict[str, Any]) -> None:
    """Gemini CLI's, Codex's and others' own documents; what is excluded there must not be usable here."""
    assert entry_from({**COMMAND, **theirs}, HOSTS[host].dialect) == ({**COMMAND, **ours}, [])


@pytest.mark.parametrize(
    ("host", "theirs", "key"),
    [
        ("gemini", {"includeTools": "read"}, "includeTools"),
        ("codex", {"disabled_tools": {"write": True}}, "disabled_tools"),
        ("copilot-cli", {"tools": [7]}, "tools"),
        ("cursor", {"excludeTools": [""]}, "excludeTools"),
    ],
)
def test_a_server_whose_filter_cannot_be_read_is_left(host: str, theirs: dict[str, Any], key: str) -> None:
    """Ours: without the filter it would have more tools than it should."""
    with pytest.raises(NotCarriedError, match=f"its {key} is not a list of tool names"):
        entry_from({**COMMAND, **theirs}, HOSTS[host].dialect)


@pytest.mark.parametrize(
    ("host", "ours", "theirs", "remarks"),
    [
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
        ("mcporter", {"includeTools": ["*_file"], "excludeTools": ["write"]}, {"allowedTools": ["*_file"]},
         [NO_EXCLUDE, f"{PATTERNS}*_file"]),
        ("cursor", BOTH, {}, [NO_INCLUDE, NO_EXCLUDE]),
        ("cursor", {"excludeTools": []}, {}, []),
    ],
)  # fmt: skip
def test_our_filter_goes_where_a_host_has_one(
    host: str, ours: dict[str, Any], theirs: dict[str, Any], remarks: list[str]
) -> None:
    """As above; a remark where a tool that is excluded here can be used there."""
    new, told = entry_for("s", {**COMMAND, **ours}, HOSTS[host].dialect)

    assert {key: value for key, value in new.items() if key not in (*COMMAND, "type")} == theirs
    assert told == remarks


def test_patterns_become_the_names_that_they_match() -> None:
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


def test_inheriting_everything_is_remarked_on_and_read_again() -> None:
    """Ours: each host decides by itself what a server inherits."""
    new, remarks = entry_for("s", {**COMMAND, "inherit": True}, HOSTS["gemini"].dialect)

    assert new == COMMAND
    assert remarks == ["it inherits all variables here; the host decides which of them it gets there"]
    assert entry_from({**COMMAND, "inherit": True}, HOSTS["claude-code"].dialect) == ({**COMMAND, "inherit": True}, [])

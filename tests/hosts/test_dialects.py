"""The choice among a server's tools, in other hosts' entries."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gaia_mcp.hosts.conversion import entry_for, entry_from
from gaia_mcp.hosts.dialects import (
    BRACES,
    CLINE,
    EDITOR,
    GEMINI,
    KIRO,
    NONE,
    QWEN,
    SECRETS,
    SHELL,
    Notation,
    NotCarriedError,
    ToolKeys,
    UntranslatableError,
    choice_by_names,
    folded_setting,
    has_patterns,
    to_ours,
    to_theirs,
)
from gaia_mcp.hosts.known import HOSTS
from tests.protocol_support import steady

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


def test_a_host_with_a_key_for_tools_can_filter_them() -> None:
    """Ours: for the others no pattern is replaced by names."""
    assert [keys.is_known for keys in (ToolKeys("a"), ToolKeys("", "b"), ToolKeys())] == [True, True, False]


def test_a_setting_of_an_authorization_is_known_in_any_spelling() -> None:
    """Ours: each host has its own."""
    assert {folded_setting(name) for name in ("clientId", "client_id", "CLIENT_ID")} == {"clientid"}
    assert folded_setting("scopes") == folded_setting("scope") == "scope"


def test_a_filter_that_has_no_counterpart_is_refused() -> None:
    """Ours: an empty list means all tools to Goose."""
    with pytest.raises(NotCarriedError, match="excludes all tools"):
        entry_for("s", {**COMMAND, "includeTools": []}, HOSTS["goose"].dialect)


def test_a_reference_in_any_notation_is_translated_into_ours() -> None:
    """Ours: an entry that is imported refers to the same variables as in the host's file."""
    cases = [
        (SHELL, "a ${X} ${Y:-d} ${Z:-}", "a ${X} ${Y:-d} ${Z:-}"),
        (GEMINI, "$X/${Y:-d}/$1", "${X}/${Y:-d}/$1"),
        (EDITOR, "Bearer ${env:X}", "Bearer ${X}"),
        (EDITOR, "${userHome}${/}a${pathSeparator}b", "${HOME}/a/b"),
        (EDITOR, "${workspaceFolder}/${workspaceFolderBasename}", "/projects/p/p"),
        (EDITOR, "${other}", "${other}"),
        (CLINE, "${env:X}${userHome}", "${X}${userHome}"),
        (KIRO, "${X}$Y", "${X}$Y"),
        (QWEN, "${X}$Y", "${X}${Y}"),
        (BRACES, "{env:X} {x}", "${X} {x}"),
        (SECRETS, "${{ secrets.X }}${{secrets.Y}}", "${X}${Y}"),
        (NONE, "{env:X} ${env:Y}", "{env:X} ${env:Y}"),
    ]

    wrong = [
        (notation, theirs, found)
        for notation, theirs, ours in cases
        if (found := to_ours(theirs, notation, folder="/projects/p", remark=lambda _: None)) != ours
    ]

    assert not wrong


def test_a_reference_without_a_counterpart_is_refused() -> None:
    """Ours: never copied as if it meant the same."""
    cases = [
        (EDITOR, "${workspaceFolder}/x", "not known here"),
        (EDITOR, "${command:pick}", "not supported here"),
        (EDITOR, "${cwd}", "not supported here"),
        (BRACES, "{file:~/key}", "from a file"),
    ]

    wrong = []
    for notation, text, words in cases:
        try:
            to_ours(text, notation, remark=lambda _: None)
        except UntranslatableError as error:
            if not re.search(words, str(error)):
                wrong.append((notation, text, words, error))
        else:
            wrong.append((notation, text, words, None))

    assert not wrong


def test_text_that_resembles_a_reference_has_a_remark() -> None:
    """Ours: the text is imported as it is, and means something else here than there."""
    cases = [
        (NONE, "${X}", "${X}", "plain text for the host, but a variable here"),
        (EDITOR, "${X}${env:Y}", "${X}${Y}", "plain text for the host, but a variable here"),
        (NONE, "%APPDATA%/x", "%APPDATA%/x", "${APPDATA}"),
        (SHELL, "$X", "$X", "${X}"),
        (QWEN, "${X:-d}", "${X:-d}", "plain text for the host, but a variable here"),
    ]

    wrong = []
    for notation, text, ours, words in cases:
        remarks: list[str] = []
        found = to_ours(text, notation, remark=remarks.append)
        if found != ours or [words in remark for remark in remarks] != [True]:
            wrong.append((notation, text, found, remarks))

    assert not wrong


def test_an_input_of_the_host_becomes_a_variable() -> None:
    """Ours: named after the variable that it is for, else after the question."""
    told: list[str] = []
    assert to_ours("${input:my-key}", EDITOR, key="API_KEY", remark=told.append) == "${API_KEY}"
    assert to_ours("Bearer ${input:my-key}", EDITOR, key="Authorization", remark=told.append) == "Bearer ${MY_KEY}"
    assert ["API_KEY" in told[0], "MY_KEY" in told[1]] == [True, True]


@pytest.mark.parametrize(
    ("asked", "key", "ours"),
    [("my-key", "MY-KEY", "${MY_KEY}"), ("1password", "", "${_1PASSWORD}"), ("é", "é", "${_}")],
)
def test_an_input_gets_a_valid_variable_name(asked: str, key: str, ours: str) -> None:
    """Ours: anything else would be text."""
    assert to_ours(f"${{input:{asked}}}", EDITOR, key=key, remark=lambda _: None) == ours


def test_our_reference_is_translated_into_any_notation_and_back() -> None:
    """Ours: and comes back as it was."""
    cases = [
        (SHELL, "a ${X}"),
        (GEMINI, "a ${X}"),
        (EDITOR, "a ${env:X}"),
        (CLINE, "a ${env:X}"),
        (KIRO, "a ${X}"),
        (QWEN, "a ${X}"),
        (BRACES, "a {env:X}"),
        (SECRETS, "a ${{ secrets.X }}"),
    ]

    wrong = [
        (notation, theirs, found)
        for notation, theirs in cases
        if (found := (to_theirs("a ${X}", notation), to_ours(theirs, notation, remark=lambda _: None)))
        != (theirs, "a ${X}")
    ]

    assert not wrong


def test_a_default_is_exported_only_to_a_notation_with_defaults() -> None:
    """Ours: without its default the reference would mean something else."""
    assert to_theirs("${X:-d}", SHELL) == "${X:-d}"
    with pytest.raises(UntranslatableError, match="default"):
        to_theirs("${X:-d}", EDITOR)


def test_a_host_without_variables_gets_the_value() -> None:
    """Ours: it is asked for with its default."""
    with pytest.raises(UntranslatableError, match="expands none"):
        to_theirs("${X}", NONE)
    assert to_theirs("a ${X} ${Y:-d}", NONE, value=lambda name, default: default or name) == "a X d"
    assert to_theirs("$X {env:X}", NONE) == "$X {env:X}"


@steady
@given(text=st.text(), notation=st.sampled_from([SHELL, GEMINI, EDITOR, CLINE, KIRO, QWEN, BRACES, SECRETS, NONE]))
def test_any_text_is_translated_or_refused(text: str, notation: Notation) -> None:
    """Ours: it is translated or refused."""
    for translate in (lambda: to_ours(text, notation, remark=lambda _: None), lambda: to_theirs(text, notation)):
        try:
            assert isinstance(translate(), str)
        except UntranslatableError:
            continue

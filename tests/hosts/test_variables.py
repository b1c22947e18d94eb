"""References to variables, from every notation into ours and back."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gaia_mcp.hosts.variables import (
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
    UntranslatableError,
    to_ours,
    to_theirs,
)
from tests.protocol_support import steady


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

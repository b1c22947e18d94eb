"""References to variables, from every notation into ours and back."""

from __future__ import annotations

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


@pytest.mark.parametrize(
    ("notation", "theirs", "ours"),
    [
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
    ],
)
def test_every_notation_becomes_ours(notation: Notation, theirs: str, ours: str) -> None:
    """Ours."""
    assert to_ours(theirs, notation, folder="/projects/p", remark=lambda _: None) == ours


@pytest.mark.parametrize(
    ("notation", "text", "words"),
    [
        (EDITOR, "${workspaceFolder}/x", "not known here"),
        (EDITOR, "${command:pick}", "not supported here"),
        (EDITOR, "${cwd}", "not supported here"),
        (BRACES, "{file:~/key}", "from a file"),
    ],
)
def test_what_has_no_counterpart_is_refused(notation: Notation, text: str, words: str) -> None:
    """Ours: never copied as if it meant the same."""
    with pytest.raises(UntranslatableError, match=words):
        to_ours(text, notation, remark=lambda _: None)


@pytest.mark.parametrize(
    ("notation", "text", "ours", "words"),
    [
        (NONE, "${X}", "${X}", "plain text for the host, but a variable here"),
        (EDITOR, "${X}${env:Y}", "${X}${Y}", "plain text for the host, but a variable here"),
        (NONE, "%APPDATA%/x", "%APPDATA%/x", "${APPDATA}"),
        (SHELL, "$X", "$X", "${X}"),
        (QWEN, "${X:-d}", "${X:-d}", "plain text for the host, but a variable here"),
    ],
)
def test_what_only_looks_like_a_reference_is_told(notation: Notation, text: str, ours: str, words: str) -> None:
    """Ours."""
    told: list[str] = []
    assert to_ours(text, notation, remark=told.append) == ours
    assert words in told[0]
    assert len(told) == 1


def test_a_value_that_is_asked_for_becomes_a_variable() -> None:
    """Ours: named after the variable that it is for, else after the question."""
    told: list[str] = []
    assert to_ours("${input:my-key}", EDITOR, key="API_KEY", remark=told.append) == "${API_KEY}"
    assert to_ours("Bearer ${input:my-key}", EDITOR, key="Authorization", remark=told.append) == "Bearer ${MY_KEY}"
    assert ["API_KEY" in told[0], "MY_KEY" in told[1]] == [True, True]


@pytest.mark.parametrize(
    ("asked", "key", "ours"),
    [("my-key", "MY-KEY", "${MY_KEY}"), ("1password", "", "${_1PASSWORD}"), ("é", "é", "${_}")],
)
def test_what_is_asked_for_gets_a_name_that_a_variable_can_have(asked: str, key: str, ours: str) -> None:
    """Ours: anything else would be text."""
    assert to_ours(f"${{input:{asked}}}", EDITOR, key=key, remark=lambda _: None) == ours


@pytest.mark.parametrize(
    ("notation", "theirs"),
    [
        (SHELL, "a ${X}"),
        (GEMINI, "a ${X}"),
        (EDITOR, "a ${env:X}"),
        (CLINE, "a ${env:X}"),
        (KIRO, "a ${X}"),
        (QWEN, "a ${X}"),
        (BRACES, "a {env:X}"),
        (SECRETS, "a ${{ secrets.X }}"),
    ],
)
def test_ours_becomes_every_notation(notation: Notation, theirs: str) -> None:
    """Ours: and comes back as it was."""
    assert to_theirs("a ${X}", notation) == theirs
    assert to_ours(theirs, notation, remark=lambda _: None) == "a ${X}"


def test_a_default_goes_only_where_there_are_defaults() -> None:
    """Ours."""
    assert to_theirs("${X:-d}", SHELL) == "${X:-d}"
    with pytest.raises(UntranslatableError, match="default"):
        to_theirs("${X:-d}", EDITOR)


def test_where_none_is_looked_up_only_a_value_can_stand() -> None:
    """Ours: it is asked for with its default."""
    with pytest.raises(UntranslatableError, match="expands none"):
        to_theirs("${X}", NONE)
    assert to_theirs("a ${X} ${Y:-d}", NONE, value=lambda name, default: default or name) == "a X d"
    assert to_theirs("$X {env:X}", NONE) == "$X {env:X}"


@steady
@given(text=st.text(), notation=st.sampled_from([SHELL, GEMINI, EDITOR, CLINE, KIRO, QWEN, BRACES, SECRETS, NONE]))
def test_no_text_is_too_odd(text: str, notation: Notation) -> None:
    """Ours: it is translated or refused."""
    for translate in (lambda: to_ours(text, notation, remark=lambda _: None), lambda: to_theirs(text, notation)):
        try:
            assert isinstance(translate(), str)
        except UntranslatableError:
            continue

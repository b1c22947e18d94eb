"""The command that an entry starts."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gaia_mcp.config.command import Command, expanded, references_in
from gaia_mcp.core.errors import EntryError, VariableUnsetError
from tests.protocol_support import steady

ENVIRON = {"TOKEN": "t", "DIR": "/d"}


def resolved(command: Command) -> Command:
    return command.resolved("fs", ENVIRON)


def test_variables_are_expanded_everywhere() -> None:
    """Ours: at use, never at save."""
    command = Command("${DIR}/run", ["--token=${TOKEN}", "${NONE:-x}"], {"A": "${TOKEN}", "B": "plain"}, "${DIR}")
    assert resolved(command) == Command("/d/run", ["--token=t", "x"], {"A": "t", "B": "plain"}, "/d")
    assert command.env == {"A": "${TOKEN}", "B": "plain"}


def test_missing_args_stay_missing() -> None:
    """Ours: no args is not the same as no arguments."""
    assert resolved(Command("a b")) == Command("a b", None, {}, None)
    assert resolved(Command("a", [])).args == []


def test_an_unset_variable_is_named_with_its_place() -> None:
    """Ours: which variable, and where it is wanted."""
    cases = [
        (Command("${NONE}"), "command"),
        (Command("a", ["${NONE}"]), "args"),
        (Command("a", env={"TOKEN": "${NONE}"}), "env TOKEN"),
        (Command("a", cwd="${NONE}"), "cwd"),
    ]

    wrong = []
    for command, field in cases:
        try:
            resolved(command)
        except VariableUnsetError as error:
            if not ((error.server, error.variable) == ("fs", "NONE") and f"{field} refers" in error.message):
                wrong.append((command, field, error))
        else:
            wrong.append((command, field, None))

    assert not wrong


def test_an_unset_variable_in_args_may_be_kept_as_text() -> None:
    """GAIA: `args` reach the server as they are. Ours: elsewhere the variable is missed all the same."""
    command = Command("a", ["${NONE}/${TOKEN}", "${NONE:-x}"], keeps_unset=True)

    assert resolved(command).args == ["${NONE}/t", "x"]
    with pytest.raises(VariableUnsetError):
        resolved(command._replace(env={"A": "${NONE}"}))


def test_a_command_line_with_empty_args_is_masked() -> None:
    """Ours: it is split all the same, so it may hold a secret."""
    assert "hunter2" not in Command("run --password hunter2", []).described()


def test_a_tilde_is_expanded_to_the_home_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ours: there is no shell that would expand it. Arguments are the server's own affair."""
    monkeypatch.setenv("HOME", "/home/jane")
    ready = resolved(Command("~/bin/run", ["~/x"], cwd="~"))
    assert (ready.command, ready.cwd, ready.args) == ("/home/jane/bin/run", "/home/jane", ["~/x"])


def test_the_rest_of_a_command_line_is_not_normalized(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ours: the // of a URL in it is not a path's."""
    monkeypatch.setenv("HOME", "/home/jane")
    assert resolved(Command("~/run --url http://h/./x/")).command == "/home/jane/run --url http://h/./x/"


def test_the_home_of_an_unknown_user_is_not_expanded() -> None:
    """Ours: "there is no such command" says it well enough."""
    assert resolved(Command("~nobody-of-that-name/run")).command == "~nobody-of-that-name/run"


def test_a_foreign_keyring_entry_is_refused() -> None:
    """Ours: an entry must not read other programs' secrets."""
    with pytest.raises(EntryError, match="other than"):
        resolved(Command("a", env={"A": {"$keyring": "login:x"}}))


KEYRING = {"$keyring": "gaia.connections:x:KEY"}
SECRETIVE = Command("npx", ["x y", "--token", "hunter22"], {"B": "q7Lm2x", "A": "${A}", "K": KEYRING}, "/x")


@pytest.mark.parametrize(
    ("command", "masked", "summary", "described"),
    [
        (
            SECRETIVE,
            {
                "command": "npx",
                "args": ["x y", "--token", "****"],
                "env": {"B": "****", "A": "${A}", "K": KEYRING},
                "cwd": "/x",
            },
            {"command": "npx", "args": ["x y", "--token", "****"], "env": ["A", "B", "K"], "cwd": "/x"},
            "npx 'x y' --token ****",
        ),
        (
            Command("npx x --token hunter22"),
            {"command": "npx x --token ****", "args": []},
            {"command": "npx x --token ****"},
            "npx x --token ****",
        ),
        (Command("a", []), {"command": "a", "args": []}, {"command": "a", "args": []}, "a"),
    ],
)
def test_a_command_is_shown_without_secrets(
    command: Command, masked: dict[str, Any], summary: dict[str, Any], described: str
) -> None:
    """Ours: with all its members, for a file that others read, and on one line."""
    assert command.masked() == masked
    assert list(command.masked()) == list(masked)
    assert command.summary() == summary
    assert command.described() == described


def test_a_described_command_is_one_line_of_limited_length() -> None:
    """Ours: the text of an entry must not control a terminal."""
    assert Command("a\n\x1b[2Jb").described() == "a \\x1b[2Jb"
    assert len(Command("a" * 1000).described()) == 400


def test_an_identity_contains_no_values_of_variables() -> None:
    """Ours: a token is renewed every day."""
    assert SECRETIVE.identity() == ["npx", ["x y", "--token", "hunter22"], ["A", "B", "K"], "/x"]
    assert SECRETIVE.transport == "stdio"


def test_inherit_changes_the_identity_and_is_shown() -> None:
    """Ours: with other variables it may have other tools. What is cached of other servers stays known."""
    command = Command("a", [], cwd="/x", inherit=True)

    assert command.identity() == [*command._replace(inherit=False).identity(), "inherit"]
    assert command.masked() == {"command": "a", "args": [], "cwd": "/x", "inherit": True}
    assert command.summary() == {"command": "a", "args": [], "cwd": "/x", "inherit": True}
    assert resolved(command).inherit


NAMES = st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,8}", fullmatch=True)


def expand(text: str, **environ: str) -> str:
    return expanded(text, environ, server="fs", field="args")


def test_a_reference_becomes_its_value() -> None:
    """Ours: `${VAR}` and `${VAR:-default}`, and nothing else; a value is not expanded again."""
    cases = [
        ("${A}", "1"),
        ("x${A}y${A}z${B_2}", "x1y1z2"),
        ("${A:-9}", "1"),
        ("${NONE:-9}", "9"),
        ("${NONE:-}", ""),
        ("${NONE:-a b/c:d-e}", "a b/c:d-e"),
        ("${EMPTY}", ""),
        ("${EMPTY:-9}", "9"),
        ("${REF}", "${A}"),
        ("${NONE:-$A}", "$A"),
        ("$A", "$A"),
        ("${}", "${}"),
        ("${1A}", "${1A}"),
        ("${A", "${A"),
        ("${A-9}", "${A-9}"),
        ("${A B}", "${A B}"),
        ("$${A}", "$1"),
        ("", ""),
    ]

    assert {text: expand(text, A="1", B_2="2", EMPTY="", REF="${A}") for text, _ in cases} == dict(cases)


def test_a_variable_that_is_not_set_is_an_error_that_names_it() -> None:
    """Ours: a server that starts with an empty token fails later and less clearly."""
    with pytest.raises(VariableUnsetError) as caught:
        expanded("--token=${MY_TOKEN}", {}, server="fs", field="args")
    assert (caught.value.server, caught.value.variable) == ("fs", "MY_TOKEN")
    assert "args" in caught.value.message


def test_the_references_in_a_text_are_listed_in_order() -> None:
    """Ours: an error names the variables that a value was made of."""
    assert references_in("${B} $C ${A:-x}/${B}") == ["B", "A", "B"]
    assert references_in("$A") == []


@steady
@given(NAMES, st.text(), st.text(), st.text())
def test_the_value_of_a_variable_is_inserted_unchanged(name: str, value: str, before: str, after: str) -> None:
    """Ours: whatever stands in a variable, and around the reference."""
    text = f"{before.replace('$', '')}${{{name}}}{after.replace('$', '')}"
    assert expand(text, **{name: value}) == text.replace(f"${{{name}}}", value)


@steady
@given(st.text().filter(lambda text: "${" not in text))
def test_text_without_references_is_unchanged(text: str) -> None:
    """Ours: nothing else in it is special."""
    assert expand(text) == text


@steady
@given(NAMES, st.text().filter(lambda default: "}" not in default))
def test_an_unset_variable_becomes_its_default(name: str, default: str) -> None:
    """As in a shell."""
    assert expand(f"${{{name}:-{default}}}") == default
    assert not re.search(r"\$\{", expand(f"${{{name}:-x}}"))

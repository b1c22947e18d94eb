"""References to variables."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gaia_mcp.config.expansion import expanded
from gaia_mcp.errors import VariableUnsetError
from tests.protocol_support import steady

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

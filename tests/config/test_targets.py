"""What an entry leads to, if it is not a command."""

from __future__ import annotations

from typing import Any

import pytest

from gaia_mcp.config.targets import Remote, Target
from gaia_mcp.errors import EntryError, VariableUnsetError

ENVIRON = {"TOKEN": "t", "BASE": "https://host", "DIR": "/d"}


@pytest.mark.parametrize(
    ("target", "ready"),
    [
        (
            Remote("${BASE}/mcp", {"Authorization": "Bearer ${TOKEN}", "A": "b"}, "sse"),
            Remote("https://host/mcp", {"Authorization": "Bearer t", "A": "b"}, "sse"),
        ),
    ],
)
def test_variables_are_expanded_everywhere(target: Target, ready: Target) -> None:
    """Ours: at use, never at save."""
    assert target.resolved("x", ENVIRON) == ready
    assert type(target.resolved("x", ENVIRON)) is type(target)


@pytest.mark.parametrize(
    ("target", "field"),
    [
        (Remote("${NONE}/mcp"), "url"),
        (Remote("https://host", {"Authorization": "${NONE}"}), "header Authorization"),
    ],
)
def test_an_unset_variable_is_named_with_its_place(target: Target, field: str) -> None:
    """Ours: which variable, and where it is wanted."""
    with pytest.raises(VariableUnsetError) as caught:
        target.resolved("x", ENVIRON)
    assert (caught.value.server, caught.value.variable) == ("x", "NONE")
    assert f"{field} refers" in caught.value.message


def test_a_url_that_expands_to_a_file_url_is_refused() -> None:
    """Ours: what is not a URL in an entry is not one after its variables are expanded."""
    with pytest.raises(EntryError, match="must begin with http"):
        Remote("${FILE}").resolved("x", {"FILE": "file:///etc/passwd"})


@pytest.mark.parametrize(
    ("target", "transport", "masked", "described"),
    [
        (
            Remote("https://ada:pw@host/?key=1", {"Authorization": "x", "X-Y": "a b", "Z": "1", "T": "${T}"}),
            "http",
            {
                "url": "https://****@host/?key=****",
                "headers": {"Authorization": "****", "X-Y": "a b", "Z": "1", "T": "${T}"},
            },
            "https://****@host/?key=****",
        ),
        (Remote("https://host", {}, "rpc"), "rpc", {"url": "https://host"}, "https://host"),
    ],
)
def test_a_target_is_shown_without_secrets(
    target: Target, transport: str, masked: dict[str, Any], described: str
) -> None:
    """Ours: with all its members, for a file that others read, and on one line."""
    assert target.transport == transport
    assert target.masked() == masked
    assert target.summary() == {key: value for key, value in masked.items() if key != "headers"}
    assert target.described() == described


def test_an_identity_contains_no_values_of_headers() -> None:
    """Ours: a token is renewed every day."""
    assert Remote("https://host", {"B": "secret", "A": "x"}).identity() == ["http", "https://host", ["A", "B"]]

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


def test_an_invalid_header_value_is_named_with_its_variables_and_its_fault() -> None:
    """RFC 9110, section 5.5; ours: a token that was read from a file often ends with a line break or a space."""
    environ = {"SPACE": "hunter22 ", "BROKEN": "hunter22\n", "FINE": "hunter22"}
    faults = {
        "Bearer ${SPACE}": "the header 'Authorization' ends with a space (from SPACE)",
        "Bearer ${FINE}${BROKEN}": "the header 'Authorization' contains a line break (from FINE, BROKEN)",
        "Bearer hunter22\0": "the header 'Authorization' contains characters that HTTP does not allow",
        "\tBearer hunter22": "the header 'Authorization' begins with a tab",
    }

    for value, fault in faults.items():
        with pytest.raises(EntryError) as caught:
            Remote("https://host", {"Authorization": value}).resolved("x", environ)
        assert caught.value.message.endswith(fault)
        assert "hunter22" not in str(caught.value)


def test_a_header_with_an_empty_token_is_left_out() -> None:
    """Ours: an optional token, `${TOKEN:-}`, must not stand in the way of a login; other headers may be empty."""
    headers = {
        "authorization": "Bearer ${NONE:-}",
        "Authorization": "${EMPTY} ",
        "X-Api-Key": "${EMPTY}",
        "X-Flag": "",
        "X-Scheme": "Bearer",
    }

    found = Remote("https://host", headers).resolved("x", {"EMPTY": ""})

    assert found.headers == {"X-Flag": "", "X-Scheme": "Bearer"}


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

"""What an entry leads to, if it is not a command."""

from __future__ import annotations

import json
import sys
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from gaia_mcp.config.entries import read_entry
from gaia_mcp.config.targets import NO_MEMBERS, OAuthMembers, Remote, Target, read_oauth, unknown_members
from gaia_mcp.core.errors import EntryError, VariableUnsetError

if TYPE_CHECKING:
    from pathlib import Path

ENVIRON = {"TOKEN": "t", "BASE": "https://host", "DIR": "/d"}


@pytest.fixture
def keyring(monkeypatch: pytest.MonkeyPatch) -> None:
    """In place of the package, which the system may not have."""
    package = SimpleNamespace(get_password=lambda service, account: f"{service} {account}", errors=None)
    monkeypatch.setitem(sys.modules, "keyring", package)


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


@pytest.mark.usefixtures("keyring")
def test_a_header_may_be_a_secret_of_the_keyring() -> None:
    """Ours: as in `env`; the reference is shown, since it is not a secret."""
    reference = {"$keyring": "gaia.connections:x"}
    remote = Remote("https://host", {"X-Api-Key": reference})

    assert remote.masked()["headers"] == {"X-Api-Key": reference}
    assert remote.resolved("x", {}) == Remote("https://host", {"X-Api-Key": "gaia.connections x"})


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


URL = "https://mcp.example.com/mcp"


def test_oauth_settings_of_other_programs_are_read() -> None:
    """Ours: the file is shared with them."""
    cases = [
        # Claude Code.
        (
            {"oauth": {"clientId": "CID", "callbackPort": 8080, "authServerMetadataUrl": URL, "scopes": "a b"}},
            {"client_id": "CID", "callback_port": 8080, "metadata_url": URL, "scopes": ["a", "b"]},
        ),
        # Cursor.
        (
            {"auth": {"CLIENT_ID": "CID", "CLIENT_SECRET": "${S}", "scopes": ["a"]}},
            {"client_id": "CID", "client_secret": "${S}", "scopes": ["a"]},
        ),
        # Codex and VS Code.
        ({"oauth": {"client_id": "CID"}}, {"client_id": "CID"}),
        # Gemini CLI, with members that are not for us.
        (
            {"oauth": {"enabled": True, "redirectUri": "http://localhost:7777/oauth/callback", "audiences": []}},
            {"redirect_uri": "http://localhost:7777/oauth/callback"},
        ),
        # OpenCode.
        (
            {"oauth": {"clientId": "CID", "scope": "a b", "clientSecret": None}},
            {"client_id": "CID", "scopes": ["a", "b"]},
        ),
        # Ours.
        (
            {"oauth": {"grantType": "client_credentials", "clientId": "CID", "clientSecret": {"$keyring": "x"}}},
            {"client_id": "CID", "client_secret": {"$keyring": "x"}, "grant": "client_credentials"},
        ),
        ({"oauth": {"grantType": "authorization_code"}}, {"grant": ""}),
        ({"oauth": True}, {}),
        ({"oauth": {}}, {}),
        ({"auth": "oauth"}, {}),
        ({}, {}),
    ]

    wrong = [
        (entry, found) for entry, values in cases if (found := read_oauth("web", entry)) != OAuthMembers(values, {})
    ]

    assert not wrong


@pytest.mark.parametrize("held", [False, {"enabled": False, "clientId": "x"}])
def test_authorization_can_be_turned_off(held: object) -> None:
    """Ours, as OpenCode and the Gemini CLI do."""
    members = read_oauth("web", {"oauth": held})

    assert members.is_off
    assert members.masked() == {"enabled": False}


def test_an_invalid_member_is_named() -> None:
    """Ours: a typing mistake would be noticed at the next login."""
    cases = [
        "x",
        7,
        [],
        {"clientId": ""},
        {"clientId": 7},
        {"clientId": {"$keyring": "x"}},
        {"clientSecret": {"$keyring": 7}},
        {"scopes": 7},
        {"scopes": ["a b"]},
        {"scopes": [7]},
        {"callbackPort": "8080"},
        {"callbackPort": True},
        {"callbackPort": 0},
        {"callbackPort": 65536},
        {"grantType": "password"},
        {"grantType": 7},
        {"grantType": "client_credentials"},
        {"grantType": "jwt_bearer"},
        {"grantType": "enterprise", "clientId": "x", "assertionFile": "y"},
    ]

    wrong = []
    for held in cases:
        try:
            read_oauth("web", {"oauth": held})
        except EntryError as error:
            if "'oauth' " not in str(error):
                wrong.append((held, error))
        else:
            wrong.append((held, None))

    assert not wrong


def test_a_member_that_is_not_read_is_found() -> None:
    """Ours: it may be misspelled, and have no effect."""
    held = {"enabled": True, "clientId": "x", "scope": "a", "privateKeyFile": "k", "redirectURL": "x", "audiences": []}

    assert unknown_members({"oauth": held}) == ["redirectURL", "audiences"]
    assert [unknown_members(entry) for entry in ({}, {"oauth": False}, {"auth": {"x": 1}})] == [[], [], []]


@pytest.mark.usefixtures("keyring")
def test_secrets_are_read_from_variables_and_the_keyring() -> None:
    """Ours: as everywhere in an entry."""
    held = {"clientId": "${ID}", "clientSecret": {"$keyring": "gaia.connections:x"}, "scopes": ["a"], "callbackPort": 7}

    assert read_oauth("web", {"oauth": held}).resolved("web", {"ID": "CID"}) == {
        "client_id": "CID",
        "client_secret": "gaia.connections x",
        "scopes": ["a"],
        "callback_port": 7,
    }
    with pytest.raises(VariableUnsetError, match="oauth clientId"):
        read_oauth("web", {"oauth": held}).resolved("web", {})
    assert NO_MEMBERS.resolved("web", {}) == {}


def test_an_assertion_is_read_from_a_file_at_each_use(tmp_path: Path) -> None:
    """Ours: the token of a workload, for instance, is replaced every hour."""
    file = tmp_path / "token"
    members = read_oauth("web", {"oauth": {"grantType": "jwt_bearer", "assertionFile": "${DIR}/token"}})
    file.write_text("JWT\n")
    assert members.resolved("web", {"DIR": str(tmp_path)})["assertion"] == "JWT"

    file.write_bytes(b"\xff")
    with pytest.raises(EntryError, match="is not text"):
        members.resolved("web", {"DIR": str(tmp_path)})
    file.unlink()
    with pytest.raises(EntryError, match="cannot be read"):
        members.resolved("web", {"DIR": str(tmp_path)})


def test_secrets_are_masked() -> None:
    """Ours: `list` and `show` print the rest."""
    held = {
        "clientId": "CID",
        "clientSecret": "s3cret-s3cret",
        "privateKeyFile": "key.pem",
        "callbackPort": 7,
        "grantType": "client_credentials",
        "scopes": ["a"],
    }
    shown = read_oauth("web", {"oauth": held}).masked()

    assert "s3cret" not in json.dumps(shown)
    assert {**held, "clientSecret": shown["clientSecret"]} == shown
    assert read_oauth("web", {"oauth": {"clientSecret": "${S}"}}).masked() == {"clientSecret": "${S}"}


def test_the_target_of_an_entry_has_its_oauth_settings() -> None:
    """Ours: also ready for use, and for showing."""
    target = read_entry("web", {"url": URL, "oauth": {"clientId": "${ID}"}}).target
    assert isinstance(target, Remote)
    resolved = target.resolved("web", {"ID": "CID"})

    assert target.masked()["oauth"] == {"clientId": "${ID}"}
    assert target.identity()[-1] == "${ID}"
    assert isinstance(resolved, Remote)
    assert resolved.oauth is target.oauth
    assert "oauth" not in Remote(URL).masked()

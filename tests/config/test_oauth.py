"""The members about authorization, as several programs write them."""

from __future__ import annotations

import json
import sys
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest

from gaia_mcp.config.entries import read_entry
from gaia_mcp.config.oauth import NO_MEMBERS, OAuthMembers, read_oauth, unknown_members
from gaia_mcp.config.targets import Remote
from gaia_mcp.errors import EntryError, VariableUnsetError

if TYPE_CHECKING:
    from pathlib import Path

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


def test_secrets_are_read_from_variables_and_the_keyring(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ours: as everywhere in an entry."""
    # In place of the package, which the system may not have.
    keyring = SimpleNamespace(get_password=lambda service, account: f"{service} {account}", errors=None)
    monkeypatch.setitem(sys.modules, "keyring", keyring)
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

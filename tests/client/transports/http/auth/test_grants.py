"""Grants on the disk."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from gaia_mcp.client.transports.http.auth.discovery import AuthorizationServer
from gaia_mcp.client.transports.http.auth.fetching import UnacceptableError
from gaia_mcp.client.transports.http.auth.grants import (
    FOLDER,
    NO_PACKAGE,
    Grant,
    Grants,
    granted,
    name_of,
    unreadable_login,
)
from gaia_mcp.client.transports.http.auth.tokens import Identity, Tokens
from gaia_mcp.core.deadline import Deadline
from tests.waiting import ENOUGH_SECONDS

if TYPE_CHECKING:
    from pathlib import Path

ISSUER = "https://auth.example.com"
GRANT = Grant(
    "https://mcp.example.com/team",
    ISSUER,
    f"{ISSUER}/token",
    Identity("CID", "client_secret_post", "s", "http://127.0.0.1:5/callback"),
    Tokens("A", "DPoP", 7.5, "R", ("a",), 0.5),
    ("a", "b"),
    f"{ISSUER}/revoke",
    "PEM",
    3.0,
)
URL = "https://mcp.example.com/team/mcp"


def keep(grants: Grants, *given: Grant) -> None:
    for grant in given:
        with grants.locked(grant.issuer, grant.resource, Deadline(ENOUGH_SECONDS)):
            grants.keep(grant)


def test_a_grant_is_made_from_the_token_response() -> None:
    """Ours: a key is kept with tokens that are bound to it, and with no others."""
    server = AuthorizationServer(ISSUER, f"{ISSUER}/token", revocation_endpoint=f"{ISSUER}/revoke")
    for kind, key in (("DPoP", "PEM"), ("Bearer", "")):
        document = {"access_token": "A", "token_type": kind, "refresh_token": "R", "scope": "a", "expires_in": 4.5}

        grant = granted(server, GRANT.resource, GRANT.identity, document, ("a", "b"), "PEM", 3.0)

        assert (grant.issuer, grant.token_endpoint, grant.revocation_endpoint) == (*GRANT[1:3], f"{ISSUER}/revoke")
        assert (grant.requested, grant.granted_at, grant.dpop_key) == (("a", "b"), 3.0, key)
        assert grant.tokens is not None
        assert (grant.tokens.access, grant.tokens.kind) == ("A", kind)
    with pytest.raises(UnacceptableError):
        granted(server, GRANT.resource, GRANT.identity, {}, (), "", 3.0)


def test_a_saved_grant_is_read_unchanged(folder: Path) -> None:
    """Spec: AC-7: by issuer and resource."""
    grants = Grants(folder)
    bare = GRANT._replace(issuer="https://other.example", tokens=None, granted_at=1.0)
    keep(grants, GRANT, bare)

    assert grants.read(ISSUER, "https://MCP.example.com/team/") == GRANT
    assert grants.read("https://other.example", GRANT.resource) == bare
    assert grants.read("https://third.example", GRANT.resource) is None
    assert sorted(grant.issuer for grant in grants.all()) == [ISSUER, "https://other.example"]


def test_a_grant_is_found_for_the_servers_that_it_covers(folder: Path) -> None:
    """Spec: AC-9: a token goes to no other server."""
    grants = Grants(folder)
    keep(grants, GRANT)

    assert grants.find(URL) == GRANT
    for other in (
        "https://mcp.example.com/other",
        "https://mcp.example.com:8443/team/mcp",
        "http://mcp.example.com/team/mcp",
        "https://evil.example/team/mcp",
        "https://mcp.example.com.evil.example/team/mcp",
    ):
        assert grants.find(other) is None


def test_the_grant_with_the_longest_matching_path_is_used_and_then_the_newest(folder: Path) -> None:
    """Ours: a grant for one path is more specific than one for its origin."""
    grants = Grants(folder)
    root = GRANT._replace(resource="https://mcp.example.com", granted_at=9.0)
    newer = GRANT._replace(issuer="https://other.example", granted_at=4.0, identity=Identity("other"))
    keep(grants, root, GRANT, newer)

    assert grants.find(URL) == newer
    assert grants.find(URL, "CID") == GRANT
    assert grants.find(URL, "third") is None
    assert grants.find("https://mcp.example.com/mcp") == root


def test_a_removed_grant_is_not_found(folder: Path) -> None:
    """Ours: a logout must leave no token behind."""
    grants = Grants(folder)
    keep(grants, GRANT)
    with grants.locked(GRANT.issuer, GRANT.resource, Deadline(ENOUGH_SECONDS)):
        grants.forget(GRANT)

    assert grants.find(URL) is None
    assert grants.all() == []


def test_the_file_name_of_a_grant_has_a_fixed_length(folder: Path) -> None:
    """Ours: a name that is made of two URLs could be too long for a file system."""
    keep(Grants(folder), GRANT)

    (name,) = [path.name for path in (folder / FOLDER).iterdir()]
    assert name == name_of(ISSUER, GRANT.resource)
    assert len(name) == 33


def test_an_edited_file_does_not_apply_to_another_server(folder: Path) -> None:
    """Spec: AC-9. Ours: a damaged file is ignored."""
    keep(Grants(folder), GRANT)
    (file,) = (folder / FOLDER).glob("*/credentials.json")
    whole = json.loads(file.read_text())
    for change in [
        {"resource": "https://evil.example/team"},
        {"issuer": "https://evil.example"},
        {"client_id": None, "method": []},
        {"granted_at": "x"},
        {"scopes": None},
        {"resource": 7},
        {"requested": None},
    ]:
        file.write_text(json.dumps(whole | change))

        found = Grants(folder).find(URL)
        assert found is None or found.identity.method == [], change
        assert Grants(folder).find("https://evil.example/team") is None, change


def test_a_file_without_a_required_member_is_ignored(folder: Path) -> None:
    """Ours: a new login replaces it, which an error would prevent."""
    keep(Grants(folder), GRANT)
    (file,) = (folder / FOLDER).glob("*/credentials.json")
    held = json.loads(file.read_text())
    del held["client_id"]
    file.write_text(json.dumps(held))

    assert Grants(folder).all() == []


def test_a_grant_whose_secret_cannot_be_read_is_marked_as_unreadable(folder: Path) -> None:
    """Ours: another Python, which has the package for the keyring, has kept it."""
    keep(Grants(folder), GRANT)
    (file,) = (folder / FOLDER).glob("*/credentials.json")
    file.write_text(json.dumps(json.loads(file.read_text()) | {"secret": "keyring"}))

    found = Grants(folder).find(URL)
    identity = GRANT.identity._replace(secret="")
    assert found == GRANT._replace(identity=identity, tokens=None, dpop_key="", unreadable=NO_PACKAGE)
    errors = [unreadable_login("web", found), unreadable_login("web", found._replace(unreadable="it is locked"))]
    told = "server 'web' has a login in the system's keyring, which cannot be read: "
    assert [str(error) for error in errors] == [f"{told}{NO_PACKAGE}", f"{told}it is locked"]
    assert [error.case for error in errors] == ["keyring-missing", "keyring-locked"]

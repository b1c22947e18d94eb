"""Grants on the disk."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from gaia_mcp.client.transports.http.auth.addresses import UnacceptableError
from gaia_mcp.client.transports.http.auth.grants import FOLDER, Grant, Grants, granted, name_of, unreadable_login
from gaia_mcp.client.transports.http.auth.identity import Identity
from gaia_mcp.client.transports.http.auth.metadata import AuthorizationServer
from gaia_mcp.client.transports.http.auth.tokens import Tokens
from gaia_mcp.deadline import Deadline
from gaia_mcp.storage.credentials import NO_PACKAGE

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
        with grants.locked(grant.issuer, grant.resource, Deadline(5)):
            grants.keep(grant)


def test_a_grant_is_what_the_token_endpoint_has_answered() -> None:
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


def test_a_grant_comes_back_as_it_was_kept(folder: Path) -> None:
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


def test_the_closest_grant_is_used_and_of_the_same_the_newest(folder: Path) -> None:
    """Ours."""
    grants = Grants(folder)
    root = GRANT._replace(resource="https://mcp.example.com", granted_at=9.0)
    newer = GRANT._replace(issuer="https://other.example", granted_at=4.0, identity=Identity("other"))
    keep(grants, root, GRANT, newer)

    assert grants.find(URL) == newer
    assert grants.find(URL, "CID") == GRANT
    assert grants.find(URL, "third") is None
    assert grants.find("https://mcp.example.com/mcp") == root


def test_a_forgotten_grant_is_gone(folder: Path) -> None:
    """Ours."""
    grants = Grants(folder)
    keep(grants, GRANT)
    with grants.locked(GRANT.issuer, GRANT.resource, Deadline(5)):
        grants.forget(GRANT)

    assert grants.find(URL) is None
    assert grants.all() == []


def test_a_file_tells_its_server_only_inside(folder: Path) -> None:
    """Ours: a name that is made of two URLs could be too long for a file system."""
    keep(Grants(folder), GRANT)

    (name,) = [path.name for path in (folder / FOLDER).iterdir()]
    assert name == name_of(ISSUER, GRANT.resource)
    assert len(name) == 33


@pytest.mark.parametrize(
    "change",
    [
        {"resource": "https://evil.example/team"},
        {"issuer": "https://evil.example"},
        {"client_id": None, "method": []},
        {"granted_at": "x"},
        {"scopes": None},
        {"resource": 7},
        {"requested": None},
    ],
)
def test_a_file_that_was_edited_is_for_no_other_server(folder: Path, change: dict[str, object]) -> None:
    """Spec: AC-9. Ours: a damaged one is as none."""
    keep(Grants(folder), GRANT)
    (file,) = (folder / FOLDER).glob("*/credentials.json")
    file.write_text(json.dumps(json.loads(file.read_text()) | change))

    found = Grants(folder).find(URL)
    assert found is None or found.identity.method == []
    assert Grants(folder).find("https://evil.example/team") is None


def test_a_file_without_a_part_is_as_none(folder: Path) -> None:
    """Ours."""
    keep(Grants(folder), GRANT)
    (file,) = (folder / FOLDER).glob("*/credentials.json")
    held = json.loads(file.read_text())
    del held["client_id"]
    file.write_text(json.dumps(held))

    assert Grants(folder).all() == []


def test_a_grant_whose_secret_cannot_be_read_is_known_without_it(folder: Path) -> None:
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

"""`hosts.masking`: entries without their secrets, and where secrets stand in them."""

from __future__ import annotations

import re

from gaia_mcp.hosts.masking import masked_entry, plain_secrets

# A host's reference to a variable, such as VS Code writes it.
THEIRS = re.compile(r"\$\{env:(?P<name>\w+)\}")
SECRET = "hunter22hunter22"


def test_a_secret_is_masked_anywhere_in_an_entry() -> None:
    """Ours: references and names of variables are not secrets, and everything else stays as it is."""
    cases = [
        ({"env": {"TOKEN": SECRET, "OURS": "${TOKEN}"}}, {"env": {"TOKEN": "****", "OURS": "${TOKEN}"}}),
        ({"headers": {"Authorization": f"Bearer {SECRET}"}}, {"headers": {"Authorization": "****"}}),
        ({"args": ["--token", SECRET, "path"]}, {"args": ["--token", "****", "path"]}),
        ({"command": f"run --token={SECRET} now"}, {"command": "run --token=**** now"}),
        ({"url": f"https://me:{SECRET}@example.com/mcp"}, {"url": "https://****@example.com/mcp"}),
        ({"apiKey": SECRET, "timeout": 5, "note": "plain"}, {"apiKey": "****", "timeout": 5, "note": "plain"}),
        ({"env_http_headers": {"X-Key": "KEY_NAME"}}, {"env_http_headers": {"X-Key": "KEY_NAME"}}),
    ]

    wrong = [(entry, found) for entry, expected in cases if (found := masked_entry(entry)) != expected]

    assert not wrong


def test_a_reference_of_another_host_is_not_a_secret() -> None:
    """Ours: with the host's own notation it is known for what it is."""
    entry = {"env": {"TOKEN": "${env:TOKEN}"}}

    assert masked_entry(entry, THEIRS) == entry
    assert masked_entry(entry) == {"env": {"TOKEN": "****"}}


def test_an_entry_that_is_not_an_object_is_masked_as_a_whole() -> None:
    """Ours: nothing is known about it."""
    cases = [None, "text", 7, ["x"]]

    wrong = [entry for entry in cases if masked_entry(entry) != "****"]

    assert not wrong


def test_plain_secrets_are_listed_by_their_place() -> None:
    """Ours: the remark tells where a reference can stand instead."""
    entry = {
        "command": "run",
        "args": ["--token", SECRET],
        "env": {"TOKEN": SECRET, "OTHER": "${TOKEN}", "LEVEL": "debug"},
        "headers": {"Authorization": f"Bearer {SECRET}"},
    }

    assert plain_secrets(entry) == ["args", "env TOKEN", "header Authorization"]
    assert plain_secrets({"env": {"TOKEN": "${env:TOKEN}"}}, THEIRS) == []


def test_only_the_secrets_of_an_authorization_are_masked() -> None:
    """Ours: an address whose name has the word auth is none."""
    settings = {
        "clientId": "c",
        "client_secret": "s3cret",
        "privateKey": "${KEY}",
        "authServerMetadataUrl": "https://a.example/x",
        "callbackPort": 8080,
        "scopes": ["a"],
    }

    assert masked_entry({"oauth": settings}) == {"oauth": {**settings, "client_secret": "****"}}
    assert plain_secrets({"oauth": settings}) == ["oauth client_secret"]
    assert plain_secrets({"auth": {"CLIENT_SECRET": "${env:S}"}}, THEIRS) == []

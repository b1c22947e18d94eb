"""`hosts.masking`: entries without their secrets, and where secrets stand in them."""

from __future__ import annotations

import re

from gaia_mcp.hosts.masking import is_placeholder, masked_entry, placeholders, plain_secrets

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
        ({"settings": {"auth": {"user": "ada"}, "retries": 5}}, {"settings": {"auth": {"user": "****"}, "retries": 5}}),
        ({"headers": {"pin": 123456, "verbose": True}}, {"headers": {"pin": "****", "verbose": True}}),
        ({"tools": ["a", {"api_key": SECRET}, 5]}, {"tools": ["a", {"api_key": "****"}, 5]}),
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
        "settings": {"api_key": SECRET, "token": "${TOKEN}", "level": "debug"},
        "timeout": 5,
    }

    assert plain_secrets(entry) == ["args", "env TOKEN", "header Authorization", "settings api_key"]
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


def test_a_placeholder_is_recognised() -> None:
    """Ours: as READMEs write it."""
    cases = [
        ("GITHUB_TOKEN", "<YOUR_TOKEN>"),
        ("API_KEY", "YOUR_API_KEY_HERE"),
        ("API_KEY", "your-api-key"),
        ("API_KEY", "sk-xxxxxxxx"),
        ("API_KEY", "xxx"),
        ("API_KEY", "sk-..."),
        ("API_KEY", "insert your key"),
        ("API_KEY", "[API KEY]"),
        ("API_KEY", "$TOKEN"),
        ("API_KEY", ""),
        ("BRAVE_API_KEY", "BRAVE_API_KEY"),
        ("Authorization", "Bearer YOUR_TOKEN"),
        ("Authorization", "Bearer <token>"),
        ("SITE", "https://your-domain.example"),
        ("FOLDER", "/path/to/notes"),
        ("FOLDER", "path/to/notes"),
        ("FOLDER", "/Users/username/Desktop"),
        ("FOLDER", "C:\\path\\to\\notes"),
    ]

    wrong = [(name, value) for name, value in cases if not is_placeholder(value, name)]

    assert not wrong


def test_a_value_is_not_taken_for_a_placeholder() -> None:
    """Ours: a wrong remark would send the user looking for a mistake that there is not."""
    cases = [
        ("TOKEN", "${TOKEN}"),
        ("TOKEN", "${TOKEN:-x}"),
        ("Authorization", "Bearer ${T}"),
        ("API_KEY", "abc123def"),
        ("TZ", "Europe/Oslo"),
        ("DEBUG", ""),
        ("FOLDER", "/Users/ada/Desktop"),
        ("MAIL", "user@example.com"),
        ("WHERE", "nowhere"),
        ("FOLDER", "xpath/tools"),
        ("LEVEL", "info"),
        ("KEYRING", {"$keyring": "x"}),
    ]

    wrong = [(name, value) for name, value in cases if is_placeholder(value, name)]

    assert not wrong


def test_placeholders_are_found_anywhere_in_an_entry() -> None:
    """Ours; an entry that is not valid has none."""
    command = {"command": "x", "args": ["-y", "/path/to/notes"], "env": {"A": "1", "TOKEN": "<token>"}}
    remote = {"url": "https://host/<id>", "headers": {"X": "YOUR_KEY"}}
    assert placeholders(command) == ["env TOKEN", "args 1"]
    assert placeholders(remote) == ["header X", "url"]
    assert placeholders({"command": "/ABSOLUTE/PATH/TO/uv", "args": ["run"]}) == ["command"]
    assert placeholders({"env": 5, "args": 5, "headers": [], "url": 5, "command": 5}) == []

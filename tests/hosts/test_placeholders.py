"""Values that stand for a person's own."""

from __future__ import annotations

import pytest

from gaia_mcp.hosts.placeholders import is_placeholder, placeholders


@pytest.mark.parametrize(
    ("name", "value"),
    [
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
    ],
)
def test_what_stands_for_a_value_is_recognised(name: str, value: str) -> None:
    """Ours: as READMEs write it."""
    assert is_placeholder(value, name)


@pytest.mark.parametrize(
    ("name", "value"),
    [
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
    ],
)
def test_a_value_is_not_taken_for_a_placeholder(name: str, value: object) -> None:
    """Ours."""
    assert not is_placeholder(value, name)


def test_every_place_of_an_entry_is_looked_at() -> None:
    """Ours; an entry that is not valid has none."""
    command = {"command": "x", "args": ["-y", "/path/to/notes"], "env": {"A": "1", "TOKEN": "<token>"}}
    remote = {"url": "https://host/<id>", "headers": {"X": "YOUR_KEY"}}
    assert placeholders(command) == ["env TOKEN", "args 1"]
    assert placeholders(remote) == ["header X", "url"]
    assert placeholders({"command": "/ABSOLUTE/PATH/TO/uv", "args": ["run"]}) == ["command"]
    assert placeholders({"env": 5, "args": 5, "headers": [], "url": 5, "command": 5}) == []

"""Placeholders, in whose place the user puts a value."""

from __future__ import annotations

from gaia_mcp.hosts.placeholders import is_placeholder, placeholders


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

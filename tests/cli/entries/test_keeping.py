"""The command that saves a server which was used without an entry."""

from __future__ import annotations

from gaia_mcp.cli.entries.keeping import how_to_keep
from gaia_mcp.cli.entries.targets import TypedEntry, command_entry
from gaia_mcp.config.command import Command
from gaia_mcp.config.served import Served
from gaia_mcp.config.targets import Remote

LINES = (
    (command_entry(["uvx", "mcp-server-time", "a b"]), "time -- uvx mcp-server-time 'a b'"),
    (command_entry(["python", "server.py"]), "server -- python server.py"),
    (TypedEntry("x", Command("srv", ["--token", "sk-1234567890"])), "srv -- srv --token ****"),
    (TypedEntry("demo", Served("agent", "demo", is_typed=True)), "demo demo"),
    (
        TypedEntry("./it's.py:Notes", Served("agent", "/x/it's.py:Notes", is_typed=True)),
        """notes './it'"'"'s.py:Notes'""",
    ),
    (TypedEntry("https://example.com/mcp", Remote("https://example.com/mcp")), "https://example.com/mcp"),
)


def test_the_command_that_saves_a_server_is_quoted_for_a_shell() -> None:
    """Ours: with a suggested name; an agent as it was typed, and a command with its secrets masked."""
    assert [how_to_keep(entry) for entry, _ in LINES] == [f"gaia mcp add {line}" for _, line in LINES]


def test_the_name_of_another_server_is_not_suggested() -> None:
    """Ours: the line would be refused."""
    entry = command_entry(["uvx", "mcp-server-time"])

    assert how_to_keep(entry, {"time", "time-2"}) == "gaia mcp add time-3 -- uvx mcp-server-time"

"""How a server is kept that was tried."""

from __future__ import annotations

import pytest

from gaia_mcp.cli.entries.keeping import how_to_keep
from gaia_mcp.cli.entries.targets import command_entry
from gaia_mcp.config.command import Command
from gaia_mcp.config.served import Served
from gaia_mcp.config.targets import Remote
from gaia_mcp.config.typed import TypedEntry


@pytest.mark.parametrize(
    ("entry", "line"),
    [
        (command_entry(["uvx", "mcp-server-time", "a b"]), "time -- uvx mcp-server-time 'a b'"),
        (command_entry(["python", "server.py"]), "server -- python server.py"),
        (TypedEntry("x", Command("srv", ["--token", "sk-1234567890"])), "srv -- srv --token ****"),
        (TypedEntry("demo", Served("agent", "demo", is_typed=True)), "demo demo"),
        (
            TypedEntry("./it's.py:Notes", Served("agent", "/x/it's.py:Notes", is_typed=True)),
            """notes './it'"'"'s.py:Notes'""",
        ),
        (TypedEntry("https://example.com/mcp", Remote("https://example.com/mcp")), "https://example.com/mcp"),
    ],
    ids=lambda one: getattr(one, "name", ""),
)
def test_what_keeps_a_server_can_be_typed_as_it_is(entry: TypedEntry, line: str) -> None:
    """Ours: with a name made of what it starts; an agent as it was typed; of a command what is secret is not shown."""
    assert how_to_keep(entry) == f"gaia mcp add {line}"


def test_the_name_of_another_server_is_not_proposed() -> None:
    """Ours: the line would be refused."""
    entry = command_entry(["uvx", "mcp-server-time"])

    assert how_to_keep(entry, {"time", "time-2"}) == "gaia mcp add time-3 -- uvx mcp-server-time"

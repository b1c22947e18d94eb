"""`gaia mcp show`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.cli.conftest import Gaia


def test_an_entry_is_shown_whole_without_connecting_and_without_secrets(gaia: Gaia) -> None:
    """Ours: each member on a line of its own."""
    entry = {"command": "npx", "args": ["-y", "a b", "--token", "hunter22"], "env": {"KEY": "hunter22", "X": "${X}"}}
    gaia.write({"x": {**entry, "cwd": "/srv", "timeout": 1.5, "disabled": True}})

    ran = gaia("show", "x")

    assert (ran.code, ran.stderr) == (0, "")
    assert [line.split(None, 1) for line in ran.stdout.splitlines()] == [
        ["name", "x"],
        ["transport", "stdio"],
        ["command", "npx"],
        ["args", '-y "a b" --token ****'],
        ["env", "KEY=****, X=${X}"],
        ["cwd", "/srv"],
        ["timeout", "1.5 s"],
        ["disabled", "yes"],
        ["source", str(gaia.config)],
        ["tools", "not known yet"],
    ]


def test_check_shows_the_server_info_and_its_capabilities(demo: Gaia) -> None:
    """Ours: version, capabilities and instructions, as text and as JSON."""
    ran = demo("show", "demo", "--check")

    assert (ran.code, ran.stderr) == (0, "")
    shown = dict(line.split(None, 1) for line in ran.stdout.splitlines())
    assert shown["server"] == "GAIA MCP demo demo 0.1.0"
    assert shown["protocol"] == "2026-07-28 (stateless)"
    assert shown["capabilities"] == "tools, logging, prompts, resources, completions, io.modelcontextprotocol/tasks"
    assert shown["instructions"].startswith("Try greet")
    assert shown["tools"] == "10"
    server = demo("show", "demo", "--check", "--json").json["server"]
    assert (server["protocolVersion"], server["tools"], server["serverInfo"]["name"]) == ("2026-07-28", 10, "demo")


def test_cached_tools_are_counted_without_connecting(demo: Gaia) -> None:
    """Ours: the count of the last connection."""
    assert demo("show", "demo", "--json").json["known_tools"] is None
    demo("tools")

    assert demo("show", "demo", "--json").json["known_tools"] == 10


@pytest.mark.parametrize(("name", "code"), [("nobody", 3), ("odd", 3)])
def test_an_unknown_or_invalid_entry_is_an_error(gaia: Gaia, name: str, code: int) -> None:
    """Ours: the error names the server that was typed."""
    gaia.write({"odd": {"command": 7}})

    ran = gaia("show", name)

    assert (ran.code, ran.stdout) == (code, "")
    assert f"'{name}'" in ran.errors[0]


def test_a_server_that_does_not_start_is_reported(gaia: Gaia) -> None:
    """Ours: with the exit code and the two lines of every other command."""
    gaia.use("exits-at-once")

    ran = gaia("show", "exits-at-once", "--check")

    assert (ran.code, len(ran.errors)) == (4, 2)


def test_a_url_and_its_headers_are_shown_without_secrets(gaia: Gaia) -> None:
    """Ours: other people may see the screen."""
    headers = {"Authorization": "Bearer x y z", "X-Mark": "sk-proj-0123456789abcdef", "X-Tenant": "blue"}
    gaia.write({"far": {"url": "https://ada:pw@example.com/mcp?key=1", "headers": headers}})

    shown = gaia("show", "far").stdout + gaia("list", "--json").stdout

    assert "****@example.com/mcp?key=****" in shown
    assert "Bearer x" not in shown
    assert "0123456789" not in shown
    assert "pw" not in shown
    assert "blue" in shown


def test_the_file_of_a_project_server_is_shown(gaia: Gaia) -> None:
    """Ours: the person has to know which file to edit."""
    gaia.write({})
    (gaia.cwd / ".mcp.json").write_text('{"mcpServers": {"p": {"command": "x"}}}')
    assert gaia("trust").code == 0

    assert f"source     {gaia.cwd / '.mcp.json'}" in gaia("show", "p").stdout

"""Names for servers that were given without one."""

from __future__ import annotations

import shlex

from gaia_mcp.cli.entries.targets import suggested_name
from gaia_mcp.core.names import is_server_name

COMMANDS = {
    "uvx mcp-server-time": "time",
    "uvx --from git+https://host/serena serena start-mcp-server": "serena",
    "npx -y @modelcontextprotocol/server-filesystem /path": "filesystem",
    "npx -y @modelcontextprotocol/server-memory@2025.1.1": "memory",
    "npx @playwright/mcp@latest": "playwright",
    "npx -y @upstash/context7-mcp --api-key X": "context7",
    "npx -y mcp-remote https://mcp.linear.app/sse": "linear",
    "cmd /c npx -y @brave/brave-search-mcp-server": "brave-search",
    "docker run -i --rm -e GITHUB_TOKEN ghcr.io/github/github-mcp-server": "github",
    "docker run -i --rm mcp/time:latest": "time",
    "uv --directory /home/ada/weather run weather.py": "weather",
    "python -m mcp_server_git": "git",
    "node /home/ada/weather/build/index.js": "weather",
    "gaia mcp serve demo": "demo",
    "gaia mcp serve ./agent.py:Notes": "notes",
    "claude mcp serve": "claude",
    "/opt/bin/notes-server --x": "notes",
    "node dist/index.js": "",
    "python3 server.py": "",
    "./run.sh": "",
    "./run.sh --token abc123def": "",
    "npx -y --api-key abc123def foo-mcp": "foo",
}


def test_a_command_suggests_a_name() -> None:
    """Ours: what is left without launchers, options, scopes, versions, and words such as `mcp` and `server`."""
    split = {line: shlex.split(line) for line in COMMANDS}

    assert {line: suggested_name({"command": line}) for line in COMMANDS} == COMMANDS
    assert {line: suggested_name({"command": words[0], "args": words[1:]}) for line, words in split.items()} == COMMANDS
    assert not [name for name in COMMANDS.values() if name and not is_server_name(name)]


def test_a_url_suggests_the_name_of_its_host() -> None:
    """Ours: never its credentials."""
    names = {
        "https://mcp.deepwiki.com/mcp": "deepwiki",
        "https://docs.mcp.cloudflare.com/sse": "cloudflare",
        "https://huggingface.co/mcp": "huggingface",
        "https://ada:secret@host.co.uk/mcp": "host",
        "http://localhost:3000/mcp": "localhost",
        "http://127.0.0.1:8000/mcp": "127.0.0.1",
        "https://[bad": "",
    }

    assert {url: suggested_name({"url": url}) for url in names} == names


def test_an_invalid_entry_suggests_no_name() -> None:
    """Ours: the error about the entry comes later, where it is saved."""
    assert [suggested_name(entry) for entry in ({}, {"command": 5}, {"command": "'"}, {"handler": 5})] == [""] * 4


def test_an_agent_or_handler_suggests_its_own_name() -> None:
    """A2: a handler is named after its file without `_handler`, an agent after its class."""
    names = {
        ("handler", "/x/cost_lookup_handler.py"): "cost_lookup",
        ("handler", "./cost_handler.py:Cost"): "cost",
        ("handler", "_handler.py"): "_handler",
        ("handler", "package.cost_handler:Cost"): "cost",
        ("agent", "/x/notes.py:MyNotes"): "mynotes",
        ("agent", "demo"): "demo",
    }

    assert {(key, target): suggested_name({key: target}) for key, target in names} == names

"""Servers that have been seen, and the candidates for a line."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from gaia_mcp.cli.completion.answering import candidates
from gaia_mcp.config.entries import read_entry
from gaia_mcp.core.paths import cache_folder
from gaia_mcp.storage.server_cache import ServerCache

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

SCHEMA = {
    "type": "object",
    "properties": {
        "loud": {"type": "boolean"},
        "name": {"type": "string", "description": "Who"},
        "style": {"enum": ["plain", "warm"]},
    },
    "required": ["name"],
}


TOOLS = [
    {"name": "greet", "description": "Say hello.\nTo somebody.", "inputSchema": SCHEMA},
    {"name": "add", "title": "Add numbers"},
    {"name": "odd", "description": 7, "inputSchema": "none"},
]


PROMPTS = [
    {
        "name": "review",
        "description": "Review it",
        "arguments": [{"name": "language"}, {"name": "code", "required": True}],
    },
    {"name": "bare", "arguments": [7, {"name": 7}]},
    {"name": "odd", "arguments": "none"},
]


RESOURCES = [
    {"name": "about", "uri": "demo://about", "description": "What it is"},
    {"name": "page", "uriTemplate": "demo://{folder}{?from,to*}"},
    {"name": "broken", "uri": 7},
]


TOKEN = "sk-1234567890abcdef"


SERVERS: dict[str, Any] = {
    "demo": {"command": "uvx", "args": ["demo-server", "--token", TOKEN]},
    "deaf": {"command": "npx run", "disabled": True},
    "far": {"url": f"https://user:{TOKEN}@example.com/mcp"},
    "own": {"handler": "x"},
    "wrong": {"command": 7},
    "my server": {"command": "x"},
    "a:b.c": {"command": "x", "args": []},
}


@pytest.fixture
def configure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[dict[str, Any]], None]:
    """Writes the configuration of a home of its own; the working folder is empty."""
    home, work = tmp_path / "home", tmp_path / "work"
    work.mkdir()
    home.mkdir()
    monkeypatch.setenv("GAIA_HOME", str(home))
    monkeypatch.chdir(work)

    def write(servers: dict[str, Any]) -> None:
        (home / "mcp_servers.json").write_text(json.dumps({"mcpServers": servers}))

    return write


@pytest.fixture
def known(configure: Callable[[dict[str, Any]], None]) -> None:
    """Servers that have been seen."""
    configure(SERVERS)
    for name in ("demo", "deaf", "my server", "a:b.c"):
        for kind, items in (("tools", TOOLS), ("prompts", PROMPTS), ("resources", RESOURCES)):
            ServerCache(cache_folder(), read_entry(name, SERVERS[name])).keep_seen(items, kind)  # type: ignore[arg-type]


def after(*words: str, program: str = "gaia") -> list[str]:
    return [candidate.value for candidate in candidates(words, program)]


def described(*words: str) -> dict[str, str]:
    return dict(candidates(words))

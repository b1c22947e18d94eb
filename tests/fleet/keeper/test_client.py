"""The address of an entry, and a client of a held server in Python."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from gaia_mcp import held_client
from gaia_mcp.config.command import Command
from gaia_mcp.config.entries import ServerEntry, read_entry
from gaia_mcp.config.served import Served
from gaia_mcp.config.store import ConfigStore
from gaia_mcp.config.targets import Remote
from gaia_mcp.core.errors import NotConnectedError, ServerUnknownError
from gaia_mcp.fleet.keeper import socket_path
from gaia_mcp.fleet.keeper.client import address_in
from tests.fleet.keeper.conftest import Running, script

if TYPE_CHECKING:
    from gaia_mcp.config.targets import Target


def typed(target: Target) -> list[str] | None:
    """The words that name a target; None if it cannot be named."""
    address = address_in(ServerEntry("it", target), None, "/work", {"A": "1"})
    return None if address is None else list(address.words)


def test_a_saved_server_is_named_by_its_name_and_the_file() -> None:
    """Ours: never by its entry, which the keeper reads itself."""
    entry = read_entry("pw", {"command": "x"}, Path("/f.json"))._replace(name="pw@a", instance="a")

    address = address_in(entry, Path("own.json"), "/work", {"A": "1"})

    assert address is not None
    assert (address.name, address.instance, list(address.words)) == ("pw", "a", [])
    assert (address.config, address.folder, address.environ) == (str(Path.cwd() / "own.json"), "/work", {"A": "1"})


def test_a_target_is_named_by_its_words() -> None:
    """Ours: with options of its own it cannot be named, for the keeper would read another entry."""
    assert typed(Command("npx", ["-y", "x"])) == ["npx", "-y", "x"]
    assert typed(Command("npx")) == ["npx"]
    assert typed(Command("npx", [], {"TOKEN": "1"})) is None
    assert typed(Remote("https://a.test")) == ["https://a.test"]
    assert typed(Remote("https://a.test", {"A": "1"})) is None
    assert typed(Served("agent", "/a.py:A", is_typed=True)) == ["/a.py:A"]
    assert typed(Served("agent", "/a.py:A", env={"A": "1"}, is_typed=True)) is None
    other: Any = object()
    assert typed(other) is None


@pytest.mark.story
def test_a_program_uses_a_held_server_and_leaves_it_running(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ours: it has what another client left there. What is not held is not started."""
    raw = script("remembers")
    (tmp_path / "mcp_servers.json").write_text(json.dumps({"mcpServers": {"calc": raw}}))
    monkeypatch.setenv("GAIA_HOME", str(tmp_path))
    with pytest.raises(NotConnectedError, match="calc"):
        held_client("calc")
    running = Running(socket_path().parent)
    try:
        running.entries["calc"] = ConfigStore.locate().entry("calc")
        pid = running.hold("calc")["pid"]
        for _ in range(2):
            with held_client("calc") as client:
                assert client.list_tools()
        assert running.facts()["calc"]["pid"] == pid
        with pytest.raises(NotConnectedError, match="calc@b"):
            held_client("calc", instance="b")
        with pytest.raises(ServerUnknownError):
            held_client("other")
    finally:
        running.end()
    assert sys.executable == raw["command"]

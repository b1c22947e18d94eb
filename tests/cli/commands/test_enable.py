"""`gaia mcp enable` and `gaia mcp disable`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from tests.cli.conftest import entry_of

if TYPE_CHECKING:
    from tests.cli.conftest import Gaia


def servers(gaia: Gaia) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(gaia.config.read_text())["mcpServers"]
    return found


def test_a_disabled_server_is_left_out_unless_it_is_named(gaia: Gaia) -> None:
    """Ours: and everything else in its entry stays as it was."""
    entries = {"a": entry_of("good-handshake", x_mine=1), "b": entry_of("good-stateless")}
    gaia.write(entries)

    ran = gaia("disable", "a", "a")

    assert (ran.code, ran.stdout) == (0, "disabled 'a' in ~/.gaia/mcp_servers.json\n")
    assert servers(gaia) == {"a": {**entries["a"], "disabled": True}, "b": entries["b"]}
    assert [server["name"] for server in gaia("tools", "--json").json["servers"]] == ["b"]
    assert gaia("tools", "a").code == 0
    assert "disabled" in gaia("list").stdout


def test_an_enabled_server_takes_part_again(gaia: Gaia) -> None:
    """Ours: as if it had never been disabled."""
    entries = {"a": entry_of("good-handshake"), "b": entry_of("good-stateless")}
    gaia.write({name: {**entry, "disabled": True} for name, entry in entries.items()})

    ran = gaia("enable", "a", "b", "--json")

    assert (ran.code, ran.json) == (0, {"enabled": ["a", "b"], "path": str(gaia.config)})
    assert servers(gaia) == entries


def test_all_are_changed_or_none(gaia: Gaia) -> None:
    """Ours."""
    gaia.use("good-handshake")
    before = gaia.config.read_text()

    ran = gaia("disable", "good-handshake", "nobody")

    assert ran.code == 3
    assert "'nobody'" in ran.errors[0]
    assert gaia.config.read_text() == before


def test_an_invalid_entry_cannot_be_disabled(gaia: Gaia) -> None:
    """Ours: nothing is made of what makes no sense."""
    gaia.write({"odd": "uvx x"})

    assert gaia("disable", "odd").code == 3
    assert servers(gaia) == {"odd": "uvx x"}


def test_where_there_is_no_file_none_is_made(gaia: Gaia) -> None:
    """Ours."""
    assert gaia("enable", "x").code == 3
    assert not gaia.config.parent.exists()


def test_when_all_are_disabled_it_says_so(gaia: Gaia) -> None:
    """Ours: the next step is not to add one."""
    gaia.use("good-handshake", disabled=True)

    assert "none is enabled; see: " in gaia("tools").stderr

"""`gaia mcp enable` and `gaia mcp disable`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.cli.conftest import entry_of

if TYPE_CHECKING:
    from tests.cli.conftest import Gaia


def test_a_disabled_server_is_left_out_unless_it_is_named(gaia: Gaia) -> None:
    """Ours: and the rest of its entry stays unchanged."""
    entries = {"a": entry_of("good-handshake", x_mine=1), "b": entry_of("good-stateless")}
    gaia.write(entries)

    ran = gaia("disable", "a", "a")

    assert (ran.code, ran.stdout) == (0, "disabled 'a' in ~/.gaia/mcp_servers.json\n")
    assert gaia.saved == {"a": {**entries["a"], "disabled": True}, "b": entries["b"]}
    assert [server["name"] for server in gaia("tools", "--json").json["servers"]] == ["b"]
    assert gaia("tools", "a").code == 0
    assert "disabled" in gaia("list").stdout


def test_enable_restores_the_entry(gaia: Gaia) -> None:
    """Ours: as if it had never been disabled."""
    entries = {"a": entry_of("good-handshake"), "b": entry_of("good-stateless")}
    gaia.write({name: {**entry, "disabled": True} for name, entry in entries.items()})

    ran = gaia("enable", "a", "b", "--json")

    assert (ran.code, ran.json) == (0, {"enabled": ["a", "b"], "path": str(gaia.config)})
    assert gaia.saved == entries


def test_an_unknown_name_changes_no_server(gaia: Gaia) -> None:
    """Ours: servers that are named together are changed together."""
    gaia.use("good-handshake")
    before = gaia.config.read_text()

    ran = gaia("disable", "good-handshake", "nobody")

    assert ran.code == 3
    assert "'nobody'" in ran.errors[0]
    assert gaia.config.read_text() == before


def test_an_invalid_entry_cannot_be_disabled(gaia: Gaia) -> None:
    """Ours: what is not an object cannot have a member."""
    gaia.write({"odd": "uvx x"})

    assert gaia("disable", "odd").code == 3
    assert gaia.saved == {"odd": "uvx x"}


def test_a_missing_file_is_not_created(gaia: Gaia) -> None:
    """Ours: an error leaves the disk as it was."""
    assert gaia("enable", "x").code == 3
    assert not gaia.config.parent.exists()


def test_a_note_reports_that_all_servers_are_disabled(gaia: Gaia) -> None:
    """Ours: the next step is to enable one, and not to add one."""
    gaia.use("good-handshake", disabled=True)

    assert "none is enabled; see: " in gaia("tools").stderr

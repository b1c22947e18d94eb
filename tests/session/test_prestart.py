"""A server that is started before its session."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from gaia_mcp.config.entries import read_entry
from gaia_mcp.errors import SpawnError, VariableUnsetError
from gaia_mcp.session.prestart import prestarted
from tests.waiting import wait_until

if TYPE_CHECKING:
    from tests.session.conftest import Entries


def test_a_server_runs_and_is_ended_at_the_latest_with_the_block(entries: Entries) -> None:
    """Ours: whatever becomes of it. Its stderr is kept, and its secrets are known."""
    heard: list[bytes] = []
    entry = entries("ignores_eof", first='echo "has $TOKEN" >&2', TOKEN="hunter2222")

    with prestarted(entry, "call", heard.append) as server:
        assert server.entry == entry
        assert "hunter2222" in server.masker().secrets
        assert server.masker() is server.masker(), "they are looked for once"
        wait_until(lambda: heard)
        assert server.child.is_running()

    assert not server.child.is_running()
    server.child.close_stdout()
    assert heard == [b"has ****\n"]
    assert len(entries.logs()) == 1


def test_what_cannot_be_started_is_reported_by_its_first_use(entries: Entries) -> None:
    """Ours: the command that uses it reports the error, and nothing is left."""
    with prestarted(read_entry("x", {"command": "/nowhere/at/all"}), "call") as server, pytest.raises(SpawnError):
        server.child.start()


def test_a_variable_that_is_not_set_is_reported_at_once(entries: Entries) -> None:
    """Ours: nothing is started."""
    entry = read_entry("x", {"command": "/bin/true", "env": {"X": "${UNSET_HERE}"}})

    with pytest.raises(VariableUnsetError), prestarted(entry, "call"):
        pass


def test_a_server_that_inherits_everything_does_so_also_when_it_is_started_early(
    entries: Entries, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ours: as it does when the session starts it."""
    monkeypatch.setenv("SHELL_TOKEN", "hunter2222")
    heard: list[bytes] = []
    entry = entries("ignores_eof", first='echo "has $SHELL_TOKEN" >&2')
    entry = read_entry(entry.name, {**entry.raw, "inherit": True})

    with prestarted(entry, "call", heard.append) as server:
        wait_until(lambda: heard)

    server.child.close_stdout()
    assert heard == [b"has ****\n"]

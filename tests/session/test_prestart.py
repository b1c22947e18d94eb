"""A server that is started before its session."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from gaia_mcp.config.entries import read_entry
from gaia_mcp.errors import SpawnError, VariableUnsetError
from gaia_mcp.redaction.masker import Masker
from gaia_mcp.session.prestart import StderrLog, prestarted
from tests.waiting import wait_until

if TYPE_CHECKING:
    from tests.session.conftest import Entries


def test_a_prestarted_server_is_stopped_at_the_end_of_the_block(entries: Entries) -> None:
    """Ours: whether or not it was used. Its stderr is logged, without its secrets."""
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


def test_a_failed_start_is_reported_at_the_first_use(entries: Entries) -> None:
    """Ours: the command that uses it reports the error, and nothing is left."""
    with prestarted(read_entry("x", {"command": "/nowhere/at/all"}), "call") as server, pytest.raises(SpawnError):
        server.child.start()


def test_an_unset_variable_is_reported_at_once(entries: Entries) -> None:
    """Ours: nothing is started."""
    entry = read_entry("x", {"command": "/bin/true", "env": {"X": "${UNSET_HERE}"}})

    with pytest.raises(VariableUnsetError), prestarted(entry, "call"):
        pass


def test_a_prestarted_server_inherits_the_environment_as_configured(
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


def masker() -> Masker:
    return Masker(["hunter2222"])


def test_a_silent_server_leaves_no_log(entries: Entries) -> None:
    """Ours: no file, no folder."""
    StderrLog(entries("good_handshake"), "call", masker).end(0)

    assert entries.logs() == []


def test_stderr_is_logged_until_the_server_ends(entries: Entries) -> None:
    """Ours: the name of the log has the front and the exit status. `end` may be called twice."""
    log = StderrLog(entries("good_handshake"), "call", masker)
    log.hear(b"has hunter")
    log.hear(b"2222\nlast")
    log.end(3)
    log.end(None)
    log.hear(b"late\n")

    assert entries.logs() == ["call.3.log: has ****\nlast\n"]


def test_whole_lines_are_shown(entries: Entries) -> None:
    """Ours: also the last one, which may have no end."""
    shown: list[bytes] = []
    log = StderrLog(entries("good_handshake"), "call", masker, shown.append)
    log.hear(b"one\nhas hunter")
    log.hear(b"2222\nla")
    log.hear(b"st")
    log.end(0)
    log.end(0)

    assert b"".join(shown) == b"one\nhas ****\nlast\n"

"""Many servers at once: each has its own result, and none is left."""

from __future__ import annotations

import os
import signal
import threading
from typing import TYPE_CHECKING

import pytest

from gaia_mcp.config.entries import read_entry
from gaia_mcp.core.deadline import Deadline
from gaia_mcp.core.errors import DeadlineError, MCPError, NotConnectedError, ServerExitedError, VariableUnsetError
from gaia_mcp.fleet.parallel import ask_all, use_all
from gaia_mcp.fleet.session import Answerers
from tests.fleet.conftest import QUIET, Noting
from tests.waiting import wait_until

if TYPE_CHECKING:
    from gaia_mcp.fleet.session import Session
    from tests.fleet.conftest import Entries


def names(session: Session) -> list[str]:
    return [tool.name for tool in session.tools()]


def test_each_server_has_its_own_result_in_the_order_of_the_entries(entries: Entries) -> None:
    """Ours: one failure does not concern the others."""
    observer = Noting()

    results = ask_all([entries("exits_at_once"), entries("exits_on_probe"), entries("bad_tools")], names, observer)

    assert [result.entry.name for result in results] == ["exits_at_once", "exits_on_probe", "bad_tools"]
    assert isinstance(results[0].error, ServerExitedError)
    assert results[1].value == ["echo"]
    assert results[1].peer is not None
    assert results[1].peer.info["name"] == "exits_on_probe.py"
    assert all(result.seconds > 0 for result in results)
    assert sorted(note[:2] for note in observer.notes if note[0] == "finished") == [
        ("finished", name) for name in ("bad_tools", "exits_at_once", "exits_on_probe")
    ]
    assert {note[2] for note in observer.notes if note[0] == "finished"} == {3}


def test_a_session_that_was_only_started_is_closed(entries: Entries) -> None:
    """Ours: `test-client` takes each step itself."""
    results = use_all([entries("ignores_eof")], lambda session: session.start(), QUIET)

    assert (results[0].error, results[0].peer) == (None, None)


def test_no_server_is_started_after_the_deadline(entries: Entries) -> None:
    """Ours: with `--timeout`, what waited in line is reported as such."""
    deadline = Deadline(5)
    deadline.cancel()

    (result,) = ask_all([entries("good_handshake")], names, QUIET, deadline)

    assert isinstance(result.error, DeadlineError)
    assert entries.notes() == []


def test_a_bug_in_the_work_is_raised_once_all_have_ended(entries: Entries) -> None:
    """Ours: it is no result of a server."""
    ended = []

    def work(session: Session) -> None:
        if session.entry.name == "bad_tools":
            raise ZeroDivisionError
        ended.append(names(session))

    with pytest.raises(ZeroDivisionError):
        ask_all([entries("bad_tools"), entries("exits_on_probe")], work, QUIET)

    assert ended == [["echo"]]


def test_an_interruption_ends_all_servers_at_once(entries: Entries) -> None:
    """Ours: a Ctrl-C, which the main thread gets. The waits of the other threads end with an error, and what has not
    begun by then does not begin.
    """
    errors: list[type[MCPError]] = []
    observer = Noting()

    def work(session: Session) -> None:
        session.open()
        try:
            session.call("echo", {})
        except MCPError as error:
            errors.append(type(error))
            raise

    def answerers_of(server: str) -> Answerers:
        if server == "good_handshake":
            wait_until(lambda: errors)
        return Answerers()

    def interrupt() -> None:
        wait_until(lambda: "tools/call echo" in entries.notes())
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=interrupt).start()
    with pytest.raises(KeyboardInterrupt):
        use_all([entries("hangs_in_call"), entries("good_handshake")], work, observer, None, answerers_of)

    wait_until(lambda: ("finished", "good_handshake", 2) in observer.notes)
    assert errors == [NotConnectedError]
    assert [note[1] for note in observer.notes if note[0] == "starting"] == ["hangs_in_call"]


def test_an_entry_that_cannot_be_resolved_is_an_error_of_its_server(entries: Entries) -> None:
    """Ours: before there is a session to close."""
    unset = read_entry("unset", {"command": "/bin/true", "env": {"X": "${UNSET_HERE}"}})

    results = ask_all([unset, entries("bad_tools")], names, QUIET)

    assert [type(result.error) for result in results] == [VariableUnsetError, type(None)]

"""A server that is started before its session."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from gaia_mcp.cli.entries.targets import TypedEntry
from gaia_mcp.config.command import Command
from gaia_mcp.config.entries import read_entry
from gaia_mcp.config.served import Served
from gaia_mcp.core.errors import (
    AgentError,
    CallLostError,
    HandlerError,
    MCPError,
    ServerExitedError,
    SpawnError,
    VariableUnsetError,
)
from gaia_mcp.fleet.server_process import StderrLog, explained, prestarted
from gaia_mcp.text.redaction.masker import Masker
from tests.waiting import wait_until

if TYPE_CHECKING:
    from tests.fleet.conftest import Entries


def test_a_prestarted_server_is_stopped_at_the_end_of_the_block(entries: Entries) -> None:
    """Ours: whether or not it was used. Its stderr is logged, without its secrets."""
    heard: list[bytes] = []
    entry = entries("ignores_eof", first='echo "has $TOKEN" >&2', TOKEN="hunter2222")

    with prestarted(entry, "call", heard.append) as server:
        assert server.entry == entry
        assert server.masker().text("has hunter2222") == "has ****"
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
    log = StderrLog(entries("good_handshake"), "call", masker)
    log.end(0)

    assert not log.has_begun
    assert entries.logs() == []


def test_stderr_is_logged_until_the_server_ends(entries: Entries) -> None:
    """Ours: the name of the log has the front and the exit status. `end` may be called twice."""
    log = StderrLog(entries("good_handshake"), "call", masker)
    log.hear(b"has hunter")
    log.hear(b"2222\nlast")
    log.end(3)
    log.end(None)
    log.hear(b"late\n")

    assert log.has_begun
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


ENTRY = TypedEntry("./a.py:A", Served("agent", "/x/a.py:A", is_typed=True))


def exited(stderr: str, returncode: int | None = 3) -> ServerExitedError:
    return ServerExitedError("./a.py:A", "at its start", returncode, stderr)


@pytest.mark.parametrize(
    ("problem", "hint", "shown"),
    [
        ("cannot be imported: SyntaxError: x", "see the traceback with --debug", "see the traceback with --debug"),
        ("contains several agents: A, B", "name one: /x/a.py:A:A", "name one: ./a.py:A:A"),
    ],
)
def test_the_error_that_a_child_prints_becomes_an_agent_error(problem: str, hint: str, shown: str) -> None:
    """Ours: named as it was typed, with what the child knows to do about it."""
    stderr = (
        f"a banner\nerror: agent '/x/old.py' was older\nhint: x\nerror: agent '/x/a.py:A' {problem}\nhint: {hint}\n"
    )

    error = explained(exited(stderr), ENTRY)

    assert isinstance(error, AgentError)
    assert (error.message, error.target, error.hint) == (f"agent './a.py:A' {problem}", "./a.py:A", shown)


def test_a_handler_that_cannot_be_loaded_is_an_error_of_the_handler() -> None:
    """Ours: as that of an agent."""
    error = explained(exited("error: handler '/x/a.py:A' was not found: x\nhint: check /x/a.py:A\n"), ENTRY)

    assert isinstance(error, HandlerError)
    assert (error.target, error.hint) == ("./a.py:A", "check ./a.py:A")
    assert error.message == "handler './a.py:A' was not found: x"


def test_a_file_without_an_agent_may_be_a_server_of_its_own() -> None:
    """Ours: what to do about that is for the command line to know."""
    error = explained(exited('error: agent "/x/it\'s.py" contains no agent class\nhint: name one\n'), ENTRY)

    assert (error.case, error.hint) == ("agent-missing", "")


def test_an_agent_that_lacks_arguments_is_an_error_of_its_own() -> None:
    """Ours: the hint of the child is about its own command line, which was not typed."""
    error = explained(exited("error: agent '/x/a.py:A' cannot be created: TypeError: x\nhint: give them\n"), ENTRY)

    assert (error.case, error.hint) == ("agent-arguments", "")


def test_any_other_error_is_returned_unchanged() -> None:
    """Ours: an agent may end its process with any status, and in the middle of a call."""
    errors = [
        exited("it crashed\n"),
        exited("error: agent '/x/a.py' has two lines\nand no hint\n"),
        exited("error: agent '/x/a.py' is closed\nhint: x\n", None),
        exited("error: agent '/x/a.py' is done\nhint: x\n", 0),
        CallLostError("./a.py:A", "tools/call", 3, "error: agent '/x/a.py' was called\nhint: x\n"),
        MCPError("something else"),
    ]

    assert not [error for error in errors if explained(error, ENTRY) is not error]


def test_the_exit_of_a_configured_server_is_returned_unchanged() -> None:
    """Ours: its entry is a command, whatever that serves."""
    error = exited("error: agent 'x' cannot be imported\nhint: x\n")

    assert explained(error, TypedEntry("x", Command("gaia", ["mcp", "serve", "x"]))) is error

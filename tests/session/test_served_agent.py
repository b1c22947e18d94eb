"""An agent in a child that cannot load it."""

from __future__ import annotations

import pytest

from gaia_mcp.cli.entries.targets import TypedEntry
from gaia_mcp.config.command import Command
from gaia_mcp.config.served import Served
from gaia_mcp.errors import AgentError, CallLostError, HandlerError, MCPError, ServerExitedError
from gaia_mcp.session.served_agent import explained

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

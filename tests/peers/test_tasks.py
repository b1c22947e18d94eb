"""Calls that become tasks, by the official SDK's interface for extensions."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from tests.cli.conftest import Gaia, gaia, no_orphans, run_on_terminal, shared
from tests.peers.conftest import PROGRAMS
from tests.peers.test_http_servers import free_port, running

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["gaia", "no_orphans", "shared"]  # Fixtures.

PROGRAM = PROGRAMS / "sdk_tasks.py"


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    """The URL of the server, and the file of what happens in it."""
    notes = tmp_path_factory.mktemp("tasks") / "notes"
    port = free_port()
    with running([sys.executable, str(PROGRAM), str(port)], port, {}, NOTES=str(notes)) as origin:
        yield f"{origin}/mcp", notes


def test_the_result_of_a_task_is_printed_like_a_result_of_a_call(gaia: Gaia, served: tuple[str, Path]) -> None:
    """Extension: the person answers what the task asks, and need not know that it is one."""
    gaia.write({"tasks": {"url": served[0]}})

    shown, code = run_on_terminal(gaia, "call", "tasks", "report", typed=b"\rAda\r", after=b"Answer?")

    assert "the report of Ada" in shown
    assert code == 0
    assert gaia("call", "tasks", "greet").stdout.strip() == "hello"


def test_ctrl_c_cancels_the_task(gaia: Gaia) -> None:
    """Extension: with tasks/cancel; the server would go on with it otherwise. Over stdio."""
    notes = gaia.cwd / "notes"
    gaia.write({"tasks": {"command": sys.executable, "args": [str(PROGRAM)], "env": {"NOTES": str(notes)}}})

    # While the task is shown, nothing is being read or written: a message that Ctrl-C cut would end the conversation.
    shown, code = run_on_terminal(gaia, "call", "tasks", "endless", typed=b"\x03", after=b"dawdling")

    assert "dawdling" in shown
    assert code == 130
    assert notes.read_text().splitlines() == ["asked for endless-0", "cancelled endless-0"]


def test_a_task_is_cancelled_at_the_timeout(gaia: Gaia, served: tuple[str, Path]) -> None:
    """Ours: nothing goes on that no caller waits for."""
    url, notes = served
    gaia.write({"tasks": {"url": url}})

    # Long enough to connect on a busy machine.
    ran = gaia("call", "tasks", "endless", "--timeout", "6")

    assert ran.code == 5
    assert ran.errors[0].endswith(" within 6 s")
    assert notes.read_text().splitlines()[-1].startswith("cancelled endless-")


def test_a_tool_that_requires_the_older_tasks_is_reported(gaia: Gaia) -> None:
    """Ours: the experiment of 2025-11-25 is not supported, and the author can do something about that."""
    gaia.use("needs-task")

    for command in (("call", "needs-task", "report"), ("test-client", "needs-task", "--call", "report")):
        ran = gaia(*command)
        assert ran.code == 6
        assert "tasks of revision 2025-11-25" in ran.errors[1]

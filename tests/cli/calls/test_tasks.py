"""Calls that an agent of ours runs as tasks."""

from __future__ import annotations

import signal
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from gaia_mcp import MCPAgent, current_call, tool
from gaia_mcp.config.entries import REVISION
from gaia_mcp.testing import client_for
from tests.agents.jobs import Jobs
from tests.cli.conftest import Gaia, gaia, no_orphans, run_on_terminal, shared
from tests.waiting import PATIENCE_SECONDS, wait_until

if TYPE_CHECKING:
    from gaia_mcp.protocol.events import Progressed

__all__ = ["gaia", "no_orphans", "shared"]  # Fixtures.

AGENT = f"{Path(__file__).parents[2] / 'agents' / 'jobs.py'}:Jobs"


class Reporting(MCPAgent):
    """Its tool runs until its progress has been reported, however slowly a client polls."""

    def __init__(self) -> None:
        self.is_reported = threading.Event()

    @tool(task="optional")
    def work(self) -> str:
        """Work."""
        current_call().progress(1, 2, "half of it")
        assert self.is_reported.wait(PATIENCE_SECONDS)
        return "worked"


@pytest.mark.parametrize(("revision", "is_task"), [("2026-07-28", True), ("2025-11-25", False)])
def test_a_call_has_the_same_result_with_and_without_a_task(revision: str, is_task: bool) -> None:
    """Extension; ours: in an older revision the client waits for the result."""
    agent = Reporting()
    reports: list[Progressed] = []

    def report(progress: Progressed) -> None:
        reports.append(progress)
        agent.is_reported.set()

    with client_for(agent, revision=revision) as client:
        result = client.call("work", {}, on_progress=report)
    with client_for(Jobs(), revision=revision, answers=[{"name": "Ada"}]) as client:
        greeting = client.call("order", {})

    assert [block["text"] for block in (*result["content"], *greeting["content"])] == ["worked", "for Ada"]
    assert [report.text for report in reports] == ["half of it"]
    assert (reports[0].total is None) is is_task


@pytest.mark.parametrize("entry", [{}, {REVISION: "2025-11-25"}])
def test_a_task_gets_its_input_from_the_answer_option(gaia: Gaia, entry: dict[str, str]) -> None:
    """Extension, tasks/update; an older client receives requests instead."""
    gaia.write({"jobs": {"agent": AGENT, **entry}})

    ran = gaia("call", "jobs", "order", "--answer", "name=Ada")

    assert (ran.code, ran.stdout) == (0, "for Ada\n")


def test_a_task_shows_its_progress_on_a_terminal(gaia: Gaia) -> None:
    """Ours: as any call does."""
    shown, code = run_on_terminal(gaia, "call", AGENT, "work", "seconds=1")

    assert "half of it" in shown
    assert "worked" in shown
    assert code == 0


def test_ctrl_c_cancels_the_task(gaia: Gaia) -> None:
    """Extension, tasks/cancel: the cancellation reaches the tool."""
    notes = gaia.cwd / "notes"
    calling = gaia.popen("call", AGENT, "work", "seconds=3600", f"notes={notes}", "--debug")
    assert calling.stderr is not None
    # Not before the client knows the task: its server is ended at once then.
    while b'"taskId"' not in calling.stderr.readline():
        pass
    wait_until(lambda: notes.exists() and "began" in notes.read_text())

    calling.send_signal(signal.SIGINT)

    calling.communicate(timeout=20)
    assert calling.returncode == 130
    wait_until(lambda: notes.read_text() == "began\ncancelled\n")

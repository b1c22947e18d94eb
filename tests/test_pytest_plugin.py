"""The fixtures for pytest, in a run of pytest of their own, as an author of a server starts it."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from gaia_mcp.protocol import ALL_VERSIONS
from tests.cli.conftest import SERVERS

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.story
AGENT = """
from gaia_mcp import MCPAgent, tool


class Notes(MCPAgent):
    "Keeps notes."

    def __init__(self, **options):
        super().__init__(**options)
        self.notes = []

    @tool
    def add(self, text: str) -> int:
        "Keep a note."
        self.notes.append(text)
        return len(self.notes)
"""
CONFTEST = """
import pytest

from notes import Notes


@pytest.fixture
def mcp_server():
    return {server}
"""
TESTS = """
import pytest


def test_a_tool_is_called(mcp_client, mcp_revision):
    assert mcp_client.protocol_version == mcp_revision
    assert mcp_client.call("{tool}", {"text": "milk"})["content"][0]["text"]


@pytest.mark.parametrize("mcp_revision", ["2025-06-18"])
def test_one_revision_is_chosen(mcp_client):
    assert mcp_client.protocol_version == "2025-06-18"
"""


def run_pytest(folder: Path) -> tuple[int, str]:
    """The exit code and the output of a run in this folder. The plugin is found by its entry point."""
    command = [sys.executable, "-m", "pytest", "-q", "-rs", "-p", "no:cacheprovider", "--rootdir", str(folder)]
    done = subprocess.run([*command, str(folder)], cwd=folder, capture_output=True, text=True, timeout=120, check=False)
    return done.returncode, done.stdout


def run_with(folder: Path, server: str, tool: str = "add") -> tuple[int, str]:
    """The same for the tests above, with the server that is written so."""
    (folder / "notes.py").write_text(AGENT)
    (folder / "conftest.py").write_text(CONFTEST.replace("{server}", server))
    (folder / "test_notes.py").write_text(TESTS.replace("{tool}", tool))
    return run_pytest(folder)


def counts(printed: str) -> str:
    """How many tests have passed, failed and been skipped."""
    return printed.splitlines()[-1].split(" in ")[0]


def test_an_agent_is_tested_with_each_revision(tmp_path: Path) -> None:
    """Issue: parametrized by revision, without a process."""
    code, printed = run_with(tmp_path, "Notes()")

    assert (code, counts(printed)) == (0, f"{len(ALL_VERSIONS) + 1} passed")


def test_a_server_of_another_program_is_tested_as_well(tmp_path: Path) -> None:
    """Ours: as an entry or as a command line. What it does not support is skipped, in either era."""
    command = f"{sys.executable} {SERVERS / 'good_handshake.py'}"
    entry = {"command": sys.executable, "args": [str(SERVERS / "good_handshake.py")]}

    for server in (repr(entry), repr(command)):
        code, printed = run_with(tmp_path, server, "echo")

        assert (code, counts(printed)) == (0, "1 passed, 5 skipped")
        assert "the server does not support 2026-07-28" in printed
        assert "the server does not support 2024-11-05" in printed


def test_a_url_is_tested_and_a_server_that_fails_is_an_error(tmp_path: Path) -> None:
    """Ours: a server that cannot be reached is not one that does not support a revision."""
    code, printed = run_with(tmp_path, "'http://127.0.0.1:9/mcp'")

    assert (code, counts(printed)) == (1, f"{len(ALL_VERSIONS) + 1} errors")
    assert "could not be reached" in printed


def test_a_server_has_to_be_named(tmp_path: Path) -> None:
    """Ours: the message names the fixture."""
    (tmp_path / "test_a.py").write_text("def test_a(mcp_client): pass\n")

    code, printed = run_pytest(tmp_path)

    assert code == 1
    assert "define a fixture 'mcp_server'" in printed

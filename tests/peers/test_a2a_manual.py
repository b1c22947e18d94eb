"""The steps of the manual, and the line of the README, that lead an agent of AgentVault to our proxy."""

from __future__ import annotations

import re
import shlex
import subprocess
from contextlib import ExitStack
from pathlib import Path
from textwrap import dedent
from typing import TYPE_CHECKING

from tests.peers.a2a_world import TIMEOUT_SECONDS, Serving
from tests.prepare.installing import python_in
from tests.prepare.peers import AGENTVAULT

if TYPE_CHECKING:
    import pytest

    from tests.forking.client import ForkServer
    from tests.prepare.fixtures import Prepared

ROOT = Path(__file__).parents[2]
MANUAL = (ROOT / "gaia_mcp/cli/manual/gaia-mcp.txt").read_text("utf-8")
README = (ROOT / "README.md").read_text("utf-8")


def test_the_steps_of_the_manual_work(
    prepared: Prepared, fork_server: ForkServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Seed systems, C11: typed as they stand there, but for the ports."""
    section = MANUAL.partition("# AGENTS OF AGENTVAULT\n")[2].partition("\n# ")[0]
    first, variable, second = re.findall(r"^    \$ (.*)$", section, re.MULTILINE)
    program = dedent(section[section.index("    import asyncio") : section.index("\nThe proxy takes")])
    (tmp_path / "a.txt").touch()

    monkeypatch.chdir(tmp_path)
    with ExitStack() as ending:
        tools = started(fork_server, tmp_path, first)
        ending.callback(tools.end)
        name, _, value = shlex.split(variable)[1].partition("=")
        proxy = started(fork_server, tmp_path, second, **{name: value.replace("8001", str(tools.port))})
        ending.callback(proxy.end)
        ran = subprocess.run(
            [python_in(prepared.folder(AGENTVAULT)), "-c", program.replace("8069", str(proxy.port))],
            capture_output=True, text=True, check=False, timeout=TIMEOUT_SECONDS,
        )  # fmt: skip

    assert ran.returncode == 0, ran.stderr
    assert "[FILE] a.txt" in ran.stdout
    assert "TaskState.COMPLETED" in ran.stdout.splitlines()[-1]


def test_the_readme_has_the_command_of_the_manual() -> None:
    """Ours: in one line."""
    variable, command = re.findall(
        r"^    \$ (?:export )?(MCP_SERVER_MAP=.*|gaia mcp serve --all .*--a2a)$", MANUAL, re.M
    )

    assert f"```sh\n{variable} {command}\n```" in README


def started(fork_server: ForkServer, home: Path, command: str, **environ: str) -> Serving:
    """A server that a command of the manual starts, on a port of its own."""
    program, mcp, serve, *words, http, address = [word for word in shlex.split(command) if word != "--a2a"]
    assert (program, mcp, serve, http) == ("gaia", "mcp", "serve", "--http"), command
    assert address.startswith(":"), command
    has_a2a = ["--a2a"] * command.endswith(" --a2a")
    home = home / ("proxy" if has_a2a else "tools")
    return Serving(home, *words, *has_a2a, fork_server=fork_server, http=":0", **environ)

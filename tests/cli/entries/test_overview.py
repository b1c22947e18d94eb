"""A plain `list` runs without Typer; any other line goes to it."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from gaia_mcp.cli.entries.overview import run_if_plain
from tests.waiting import ENOUGH_SECONDS

if TYPE_CHECKING:
    from tests.cli.conftest import Gaia

WITHOUT_TYPER = """
import sys
sys.modules["typer"] = None
from gaia_mcp.cli.program import main
main()
"""


@pytest.mark.parametrize("words", [("mcp", "list"), ("list", "--json"), ("mcp", "list", "--quiet", "--config", "own")])
@pytest.mark.story
def test_a_plain_list_prints_without_typer_what_it_prints_with_it(gaia: Gaia, words: tuple[str, ...]) -> None:
    gaia.use("good-handshake", "hangs-at-start")
    (gaia.cwd / "own").write_text('{"mcpServers": {"one": {"command": "x", "stages": ["build"]}, "two": {}}}')
    line = [sys.executable, "-c", WITHOUT_TYPER, *words]
    options = {"cwd": gaia.cwd, "env": gaia.environ, "capture_output": True, "timeout": ENOUGH_SECONDS}

    plain = subprocess.run(line, check=False, **options)  # type: ignore[call-overload]

    _, _, options_of_list = " ".join(words).partition("list")
    expected = gaia("list", *options_of_list.split(), "--debug")
    assert (plain.returncode, plain.stderr) == (expected.code, b"")
    assert plain.stdout.decode() == expected.stdout


def test_other_lines_go_to_typer() -> None:
    """Ours: what needs more than the configuration, and what Typer refuses or explains."""
    others = ["--check", "--outdated", "--timeout 3", "--debug", "--help", "--bad", "--config", "name", "--quiet=1"]

    assert [other for other in others if run_if_plain(["mcp", "list", *other.split()]) is not None] == []
    assert run_if_plain(["mcp", "tools", "list"]) is None

"""`cli.guard`: what all commands have in common."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest

from gaia_mcp.cli.manual import commands
from tests.cli.conftest import BIN, entry_of, run_on_terminal

if TYPE_CHECKING:
    from tests.cli.conftest import Gaia


def test_every_command_with_json_has_quiet_after_it() -> None:
    """Ours: the two options stand together in every help page."""
    for command in commands():
        names = [option.name for option in command.options]
        assert ("--quiet" in names) is ("--json" in names), command.name
        if "--quiet" in names:
            assert names[names.index("--json") + 1] == "--quiet"


def test_a_quiet_command_prints_only_its_answer(gaia: Gaia) -> None:
    """Ours: cron sends a mail for any other output."""
    gaia.use("prints-banner")

    loud = gaia("call", "prints-banner", "echo", "text=hi")
    quiet = gaia("call", "prints-banner", "echo", "text=hi", "--quiet")

    assert loud.stderr.startswith("note: server 'prints-banner' wrote ")
    assert (quiet.stdout, quiet.stderr, quiet.code) == (loud.stdout, "", 0)
    assert gaia("list", "--config", str(gaia.config), "--quiet").stderr == ""


def test_a_quiet_command_prints_its_errors(gaia: Gaia) -> None:
    """Ours: with the same two lines and the same exit code."""
    gaia.use("exits-at-once")

    ran = gaia("call", "exits-at-once", "echo", "--quiet")

    assert (len(ran.stderr.splitlines()), ran.code) == (2, 4)


@pytest.mark.parametrize("options", [(), ("--quiet",)])
def test_progress_is_shown_on_a_terminal_unless_quiet(gaia: Gaia, options: tuple[str, ...]) -> None:
    """Ours: a person sees which server is slow; `--quiet` leaves only the answer."""
    gaia.write({"x": entry_of("hangs-at-start")})

    seen, code = run_on_terminal(gaia, "tools", "x", "--timeout", "4", *options)

    assert ("asking x" in seen) is not bool(options)
    assert code == 5


@pytest.mark.parametrize(
    "words", [("lock", "good-handshake"), ("trust",), ("add", "x", "--cwd", ".", "--no-check", "--", "./x")]
)
def test_a_removed_working_folder_is_named_in_the_error(gaia: Gaia, words: tuple[str, ...]) -> None:
    """Ours: the system reports only ENOENT, without the name."""
    gone = gaia.cwd / "gone"
    gone.mkdir()
    gaia.use("good-handshake")
    command = ["sh", "-c", 'cd "$0" && rmdir "$0" && exec "$@"', gone, BIN / "gaia", "mcp", *words]

    ran = subprocess.run(command, capture_output=True, text=True, env=gaia.environ, check=False, timeout=30)

    assert ran.returncode == 1
    assert ran.stderr.startswith("error: the working folder no longer exists\nhint: change to a folder that exists")

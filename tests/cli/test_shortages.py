"""No disk space, memory, descriptors or reader: an error, a hint and an exit code, and nothing half done."""

from __future__ import annotations

import os
import resource
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from gaia_mcp.cli.signals import FILES, MEMORY, THREADS, shortage_in, shortage_told
from tests.cli.conftest import BIN, Ran, entry_of
from tests.forking.client import Command

if TYPE_CHECKING:
    from tests.cli.conftest import Gaia
    from tests.forking.client import ForkServer

SECONDS = 30
ANSWERS = [
    "mcp list",
    "mcp list --json",
    "mcp show demo",
    "mcp tools demo",
    "mcp call demo greet name=Ada",
    "mcp call demo greet name=Ada --json",
    "mcp call demo picture -o -",
    "mcp test-client demo",
    "mcp add x --no-check -- true",
    "mcp guide",
    "mcp completion bash",
    "mcp serve demo --check",
    "mcp --help",
    "mcp call --help",
    "--version",
]


def shell(gaia: Gaia, line: str) -> Ran:
    """Run a line of a shell."""
    done = subprocess.run(
        ["bash", "-c", line], capture_output=True, cwd=gaia.cwd, env=gaia.environ, timeout=SECONDS, check=False
    )
    return checked(done.returncode, done.stdout, done.stderr)


def limited(gaia: Gaia, line: str, limit: int, amount: int, *, starts: bool = False) -> Ran:
    """Run `gaia mcp …` with so much of something that the system limits."""
    limits = {limit: (amount, amount)}
    done = gaia.command(BIN / "gaia", "mcp", *line.split(), limits=limits, starts=starts, timeout=SECONDS)
    return checked(done.returncode, done.stdout, done.stderr)


def checked(code: int, stdout: bytes, stderr: bytes) -> Ran:
    """How a command ended; nothing that it printed is a traceback."""
    ran = Ran(stdout.decode(), stderr.decode(), code)
    assert "Traceback" not in ran.stderr, ran.stderr
    assert "bug in gaia mcp" not in ran.stderr, ran.stderr
    return ran


def assert_two_lines(ran: Ran, *codes: int) -> None:
    assert ran.code in codes, ran
    assert [line.partition(" ")[0] for line in ran.errors[-2:]] == ["error:", "hint:"], ran


@pytest.mark.parametrize("line", ["mcp list --json", "mcp call demo picture -o -", "mcp call --help", "--version"])
def test_a_closed_stdout_is_an_error(demo: Gaia, line: str) -> None:
    """Ours: as in `ls` and `cat`, for each way to write. A closed pipe, as after `head`, is not an error."""
    ran = shell(demo, f"gaia {line} >&-")

    assert_two_lines(ran, 1)
    assert ran.errors[-2] == "error: standard output cannot be written: it is closed"


def test_a_full_stdout_is_an_error(demo: Gaia, fork_server: ForkServer) -> None:
    """Ours: as in `ls` and `cat`."""
    for line in ANSWERS:
        words = [BIN / "gaia", *line.split()]
        with Path("/dev/full").open("wb") as full:
            streams = {"stdin": subprocess.PIPE, "stdout": full, "stderr": subprocess.PIPE}
            with Command(fork_server, words, cwd=demo.cwd, env=demo.environ, **streams) as command:
                _, printed = command.communicate(timeout=SECONDS)
        ran = checked(command.returncode, b"", printed)

        assert_two_lines(ran, 1)
        assert ran.errors[-2] == "error: standard output cannot be written: No space left on device"


@pytest.mark.parametrize("closed", ["<&-", "2>&-", "<&- 2>&-"])
def test_a_closed_stdin_or_stderr_is_ignored(demo: Gaia, closed: str) -> None:
    """Ours: cron and daemons close more than they need."""
    ran = shell(demo, f"gaia mcp call demo greet name=Ada {closed}")

    assert (ran.stdout, ran.code) == ("Hello, Ada!\n", 0)


def test_completion_is_silent_when_stdout_is_closed_or_full(demo: Gaia) -> None:
    """Ours: an error has no place in a line that is being typed."""
    for where in (">&-", "> /dev/full", "2>&- >&- <&-"):
        ran = shell(demo, f"gaia complete fish -- mcp call '' {where}")
        assert (ran.stdout, ran.stderr, ran.code) == ("", "", 0)


@pytest.mark.parametrize(
    "line", ["list", "tools demo", "call demo greet name=Ada", "test-client demo", "serve demo --check"]
)
def test_running_out_of_descriptors_is_reported(demo: Gaia, line: str) -> None:
    """Ours: at whatever step; with fewer than five, Python itself cannot start."""
    for limit in (5, 6, 7, 8, 10, 12, 14, 17):
        # With some of these numbers it is an import that fails, which a forked command has behind it.
        ran = limited(demo, line, resource.RLIMIT_NOFILE, limit, starts=limit in (5, 6, 14))
        if ran.code:
            assert_two_lines(ran, 1, 3, 4)
            assert "Too many open files" in ran.stderr or "ulimit -n" in ran.stderr, ran


def test_servers_without_descriptors_fail_at_once(gaia: Gaia) -> None:
    """Ours: each is reported at once, not when its time has run out."""
    gaia.write({f"s{number}": entry_of("good_stateless") for number in range(16)})
    for limit in (30, 40, 50):
        ran = limited(gaia, "list --check --timeout 100", resource.RLIMIT_NOFILE, limit)
        assert_two_lines(ran, 4)


def test_running_out_of_memory_is_reported(demo: Gaia) -> None:
    """Ours: a file that is larger than the memory is not an internal error."""
    with (demo.cwd / "large").open("wb") as file:
        file.truncate(250 << 20)

    ran = shell(demo, f"ulimit -v {300 << 10}; gaia mcp call demo greet name=@large")

    assert_two_lines(ran, 1)
    assert ran.errors[-2] == "error: out of memory"


@pytest.mark.parametrize(
    ("line", "code", "before"),
    [
        ("test-client demo --junit OUT", 1, None),
        ("test-client demo --junit OUT", 1, "a report"),
        ("call demo picture -o OUT", 1, None),
        ("call demo picture -o OUT", 1, "a picture"),
        ("call demo picture -o ./", 1, None),
        ("init OUT.py", 3, None),
        ("init OUT.py --force", 3, "an agent"),
        ("lock demo --lock-file OUT", 3, None),
        ("record demo --to OUT", 3, None),
        ("record demo --to OUT", 3, ""),
        ("add x --no-check --config OUT -- true", 3, None),
        ("add x --no-check --config OUT -- true", 3, '{"mcpServers": {}}'),
    ],
)
def test_a_full_disk_leaves_every_file_unchanged(demo: Gaia, line: str, code: int, before: str | None) -> None:
    """Ours: a file is written completely or not at all. Here no file may grow."""
    name = "OUT.py" if "OUT.py" in line else "OUT"
    if before is not None:
        (demo.cwd / name).write_text(before)

    ran = limited(demo, line, resource.RLIMIT_FSIZE, 0)

    assert_two_lines(ran, code)
    assert "File too large" in ran.errors[-2]
    assert {path.name: path.read_text() for path in demo.cwd.iterdir()} == ({} if before is None else {name: before})


def test_a_shortage_is_recognised_by_errno_and_text() -> None:
    """Ours: extension modules and threads raise errors with a text only, and one error may cause another."""
    assert shortage_in(MemoryError()) is MEMORY
    assert shortage_in(OSError(24, os.strerror(24))) is FILES
    assert shortage_in(ImportError("x.so: failed to map segment from shared object")) is MEMORY
    assert shortage_in(RuntimeError("can't start new thread")) is THREADS
    assert shortage_in(OSError(2, "x")) is None
    assert shortage_in(ValueError("Too many open files")) is None
    assert shortage_told("cannot be run: Too many open files") is FILES
    error = KeyError("x")
    error.__context__ = MemoryError()
    assert shortage_in(error) is MEMORY

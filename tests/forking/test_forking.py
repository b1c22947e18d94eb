"""What a forked command line is given, and what is left of it: seen by an agent that the command serves."""

from __future__ import annotations

import json
import os
import pty
import resource
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from coverage import CoverageData

from gaia_mcp.client.transports.stdio.processes import VARIABLE
from tests.forking.client import Command, ForkServer
from tests.forking.server import BIN, LANG, LENGTH, NAME, SERVERS, SPARE_DESCRIPTOR, is_forked, receive
from tests.processes import children, ended_name, living_with
from tests.waiting import PATIENCE_SECONDS, wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator

REQUESTS = (
    {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-06-18"}},
    {"jsonrpc": "2.0", "id": 2, "method": "tools/list"},
    {"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": {"name": "echo", "arguments": {"text": "x"}}},
)
# One of each: it ends with its input, with an exit status of its own, and with a traceback.
SCRIPTS = ("many_pages.py", "prints_banner.py", "dies_mid_answer.py", "exits_at_once.py", "list_errors.py")
SERVE = (BIN / "gaia", "mcp", "serve", "probe.py")
# Writes, when it is imported, all that a program can see of how it was started.
PROBE = """
import json, os, resource, signal, sys, threading, time
from pathlib import Path
from gaia_mcp import MCPAgent, tool


def shown(name):
    return Path("/proc/self", name).read_text(errors="surrogateescape").rstrip("\\0\\n")


main = sys.modules["__main__"]
streams = [sys.stdin, sys.stdout, sys.stderr]
seen = {
    "argv": sys.argv,
    "orig_argv": sys.orig_argv,
    "executable": sys.executable,
    "path": sys.path,
    "flags": str(sys.flags),
    "main": [main.__name__, main.__file__],
    "environ": dict(os.environ),
    "cwd": os.getcwd(),
    "umask": os.umask(0),
    "descriptors": sorted(os.listdir("/proc/self/fd")),
    "limits": [resource.getrlimit(limit) for limit in range(16)],
    "handlers": [str(signal.getsignal(number)).partition(" at ")[0] for number in signal.valid_signals()],
    "blocked": sorted(signal.pthread_sigmask(signal.SIG_BLOCK, ())),
    "threads": [thread.name for thread in threading.enumerate()],
    "zone": time.tzname,
    "leads": [os.getpgrp() == os.getpid(), os.getsid(0) == os.getpid()],
    "streams": [[s.encoding, s.errors, s.line_buffering, s.write_through, s.newlines, s.mode] for s in streams],
    "shown": [shown("cmdline"), shown("comm"), shown("environ")],
    "parent": os.getppid(),
}
Path("seen").write_text(json.dumps(seen))


class Probe(MCPAgent):
    @tool
    def look(self) -> None:
        "Has looked already."
"""


# Notes whether it has a module that no server imports: a forked one has it from the fork server.
NOTING = """
import os, sys
from pathlib import Path
from gaia_mcp import MCPAgent, tool

Path(f"seen-{os.getpid()}").write_text(str("gaia_mcp.cli.commands.exporting" in sys.modules))


class Noting(MCPAgent):
    @tool
    def look(self) -> None:
        "Has looked already."
"""


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "probe.py").write_text(PROBE)
    return tmp_path


def environ(folder: Path, **more: str) -> dict[str, str]:
    return {"HOME": str(folder), "PATH": os.environ["PATH"], "LANG": LANG, **more}


def seen(server: ForkServer, place: Path, *words: str | Path, **options: Any) -> dict[str, Any]:
    """What the served agent sees, with no request to answer."""
    settings = {"cwd": place, "env": environ(place), **options}
    done = server.run((*(words or SERVE), "--check"), **settings)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads((place / "seen").read_text())
    found["descriptors"] = [each for each in found["descriptors"] if each != str(SPARE_DESCRIPTOR)]
    return found


def test_a_forked_program_sees_what_a_started_one_sees(fork_server: ForkServer, place: Path) -> None:
    """Ours: a test may not be able to tell the difference."""
    options = [
        {},
        {"env": environ(place, TZ="Asia/Tokyo", EMPTY="", ODD="\udc80")},
        {"umask": 0o027},
        {"start_new_session": True},
        {"process_group": 0},
        {"limits": {resource.RLIMIT_NOFILE: (300, 400), resource.RLIMIT_CORE: (0, 0)}},
    ]

    found = [[seen(fork_server, place, starts=starts, **one) for one in options] for starts in (True, False)]

    assert found[1] == found[0]


def test_a_forked_command_inherits_the_working_folder_and_the_umask_of_the_test(
    fork_server: ForkServer, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ours: as a started one does, where the caller names none."""
    monkeypatch.chdir(place)
    before = os.umask(0o037)
    try:
        found = [seen(fork_server, place, cwd=None, starts=starts) for starts in (True, False)]
    finally:
        os.umask(before)

    assert found[1] == found[0]
    assert (found[1]["cwd"], found[1]["umask"]) == (str(place), 0o037)


def test_a_forked_module_sees_what_a_started_one_sees(fork_server: ForkServer, place: Path) -> None:
    """Ours: a server that the configuration keeps as `python -m gaia_mcp` is forked too."""
    words = (sys.executable, "-m", "gaia_mcp", *SERVE[2:])

    started, forked = (seen(fork_server, place, *words, starts=starts) for starts in (True, False))

    assert forked == started


def test_a_forked_script_does_what_a_started_one_does(fork_server: ForkServer, tmp_path: Path) -> None:
    """Ours: servers of other programs are forked where they are scripts without imports of their own."""
    asked = b"".join(json.dumps(request).encode() + b"\n" for request in REQUESTS)

    def outcomes(*, starts: bool) -> dict[str, Any]:
        options = {"cwd": tmp_path, "env": environ(tmp_path), "input": asked, "starts": starts}
        done = {name: fork_server.run((sys.executable, SERVERS / name), **options) for name in SCRIPTS}
        return {name: (each.returncode, each.stdout, each.stderr) for name, each in done.items()}

    started = outcomes(starts=True)
    assert outcomes(starts=False) == started
    assert {code for code, _, _ in started.values()} == {0, 1, 3}
    assert b"Traceback" in started["list_errors.py"][2]


def test_a_forked_command_is_a_child_of_the_test_and_has_its_descriptors_alone(
    fork_server: ForkServer, place: Path
) -> None:
    """Ours: it is waited for, signalled and reaped like any other, and an open descriptor would hold a pipe open."""
    reader, writer = os.pipe()

    started, forked = (seen(fork_server, place, pass_fds=[writer], starts=starts) for starts in (True, False))

    os.close(reader)
    os.close(writer)
    assert started["parent"] == forked["parent"] == os.getpid()
    assert str(writer) in started["descriptors"]
    assert forked["descriptors"] == started["descriptors"]


def test_every_server_that_a_command_starts_is_forked(fork_server: ForkServer, tmp_path: Path) -> None:
    """Ours: each leaves a child that waits to be the next one, and none is left in the end."""
    agent = tmp_path / "agent.py"
    agent.write_text(NOTING)
    entry = {"command": str(BIN / "gaia"), "args": ["mcp", "serve", str(agent)]}
    config = tmp_path / ".gaia" / "mcp_servers.json"
    config.parent.mkdir()
    config.write_text(json.dumps({"mcpServers": {f"s{number}": entry for number in range(4)}}))
    found = []

    for starts in (True, False):
        done = fork_server.run((BIN / "gaia", "mcp", "tools"), cwd=tmp_path, env=environ(tmp_path), starts=starts)
        assert done.returncode == 0, done
        seen = list(tmp_path.glob("seen-*"))
        found.append([path.read_text() for path in seen])
        for path in seen:
            path.unlink()

    assert found == [["False"] * 4, ["True"] * 4]
    spares = {child for child in children() if ended_name(child) == NAME}
    # Those of commands before are reaped with each.
    fork_server.run((BIN / "gaia", "--version"), env=environ(tmp_path))
    assert not spares.intersection(children())


def test_a_request_that_is_cut_off_is_the_end_of_them() -> None:
    """Ours: a command may be killed while it starts a server, and the child that waits for it ends then."""
    whole = LENGTH.pack(2) + b"{}"

    for size in range(len(whole)):
        ours, theirs = socket.socketpair()
        with theirs:
            with ours:
                ours.sendall(whole[:size])
            assert receive(theirs) is None, size


def test_an_end_by_a_signal_is_reported_as_one(fork_server: ForkServer, place: Path) -> None:
    """Ours: a command that is killed has no exit status."""
    command = Command(fork_server, SERVE, cwd=place, env=environ(place), stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    wait_until((place / "seen").exists)

    command.kill()
    command.communicate(timeout=PATIENCE_SECONDS)

    assert command.returncode == -signal.SIGKILL


def test_a_missing_working_folder_is_the_error_of_a_start(fork_server: ForkServer, tmp_path: Path) -> None:
    """Ours: no process is left of it."""
    errors = []
    for starts in (True, False):
        with pytest.raises(FileNotFoundError) as caught:
            Command(fork_server, SERVE, cwd=tmp_path / "none", env=environ(tmp_path), starts=starts)
        errors.append((caught.value.errno, caught.value.filename))

    assert errors[0] == errors[1]


def test_ctrl_c_at_the_terminal_of_a_forked_command_interrupts_it(fork_server: ForkServer, place: Path) -> None:
    """POSIX: the controlling terminal signals its foreground process group."""
    ours, theirs = pty.openpty()
    script = place / "slow.py"
    script.write_text("import time\nopen('up', 'w').close()\ntime.sleep(60)\n")
    words = (BIN / "gaia", "mcp", "tools", "--", sys.executable, str(script))
    streams = {"stdin": theirs, "stdout": theirs, "stderr": theirs}
    command = Command(fork_server, words, cwd=place, env=environ(place), terminal=True, **streams)
    os.close(theirs)
    wait_until((place / "up").exists)

    os.write(ours, b"\x03")
    code = command.wait(PATIENCE_SECONDS)
    os.close(ours)

    assert code == 130


def test_the_server_of_a_forked_command_is_its_child_like_any_other(fork_server: ForkServer, place: Path) -> None:
    """Ours: the first server of ours that a command starts is forked as well."""
    words = (BIN / "gaia", "mcp", "tools", "--", *SERVE)
    limits = {resource.RLIMIT_NOFILE: (300, 400)}
    found = []
    for starts in (True, False):
        done = fork_server.run(words, cwd=place, env=environ(place), umask=0o027, limits=limits, starts=starts)
        assert done.returncode == 0, done.stderr
        found.append(json.loads((place / "seen").read_text()))

    assert len({each.pop("parent") for each in found} - {os.getpid()}) == 2
    assert all(each["environ"].pop(VARIABLE) in each["shown"].pop() for each in found)
    assert found[1] == found[0]


@pytest.fixture
def own() -> Iterator[ForkServer]:
    server = ForkServer()
    yield server
    server.close()


@pytest.mark.story
def test_a_child_that_was_not_needed_is_reaped(own: ForkServer, place: Path) -> None:
    """Ours: a run of the tests types thousands of command lines."""
    own.open()
    before = set(children())

    for _ in range(3):
        own.run((BIN / "gaia", "--version"), cwd=place, env=environ(place))

    wait_until(lambda: own.close() or set(children()) < before)


@pytest.mark.story
def test_commands_end_with_their_fork_server(own: ForkServer, place: Path) -> None:
    """Ours: a test run that is over leaves nothing running."""
    command = Command(own, SERVE, cwd=place, env=environ(place), stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    wait_until((place / "seen").exists)

    own.close()

    assert command.wait(PATIENCE_SECONDS) == -signal.SIGKILL
    command.communicate()


@pytest.mark.story
def test_a_fork_server_ends_with_its_test_run(place: Path) -> None:
    """Ours: also where the run is killed, as are the commands that it has started."""
    program = (
        "import os, subprocess, sys, time\n"
        "from pathlib import Path\n"
        "from tests.forking.client import Command, ForkServer\n"
        "words, place = sys.argv[1:-1], sys.argv[-1]\n"
        "Command(ForkServer(), words, cwd=place, env=dict(os.environ), stdin=subprocess.PIPE)\n"
        "while not Path(place, 'seen').exists():\n"
        "    time.sleep(0.01)\n"
        "os.kill(os.getpid(), 9)\n"
    )
    root = Path(__file__).parents[2]
    run = subprocess.run(
        [sys.executable, "-c", program, *map(str, SERVE), place], cwd=root, env=environ(place), timeout=PATIENCE_SECONDS
    )

    assert run.returncode == -signal.SIGKILL
    wait_until(lambda: not living_with(str(place)))


def test_the_code_of_a_forked_command_is_measured(fork_server: ForkServer, place: Path) -> None:
    """Ours: `python -m tests.covered` counts what commands run for the test that typed them."""
    config = place / "config"
    config.write_text(f"[run]\nparallel = true\npatch = _exit\ncontext = here\ndata_file = {place}/data\n")

    seen(fork_server, place, env=environ(place, COVERAGE_PROCESS_START=str(config)))

    (file,) = place.glob("data.*")
    data = CoverageData(str(file))
    data.read()
    data.set_query_context("here")
    measured = {Path(name).name for name in data.measured_files() if data.lines(name)}
    assert measured >= {"program.py", "serve.py", "probe.py"}


def test_only_what_starts_alike_is_forked() -> None:
    """Ours: what the interpreter reads at its start cannot be changed by a fork."""
    plain = {"LANG": LANG}
    gaia = [str(BIN / "gaia")]

    assert is_forked(gaia, plain)
    assert is_forked([BIN / "gmcp", "call"], {**plain, "COLUMNS": "40"})
    assert is_forked([sys.executable, "-P", "-m", "gaia_mcp", "serve"], plain)
    for words, variables in [
        ([sys.executable], plain),
        ([sys.executable, "-O", "-m", "gaia_mcp"], plain),
        ([sys.executable, "-m", "gaia_mcp.checking"], plain),
        ([sys.executable, __file__], plain),
        (gaia, {}),
        (gaia, {"LANG": "C"}),
        (gaia, {**plain, "LC_ALL": "C"}),
        (gaia, {**plain, "PYTHONPATH": "."}),
        (gaia, {**plain, "LD_PRELOAD": "x"}),
    ]:
        assert not is_forked(words, variables), (words, variables)

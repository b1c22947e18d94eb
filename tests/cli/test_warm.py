"""A plain `call` of a held server, which the keeper runs: how it ends by a signal, and where its output goes.

Each story is told with `gaia` as it prints what came back, and as the ordinary command with a connection of its own.
"""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING, Any

import pytest

from gaia_mcp.cli import warm
from gaia_mcp.fleet.keeper import socket_path
from tests.cli.conftest import BIN, entry_of
from tests.waiting import wait_until

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cli.conftest import Gaia, Started
    from tests.cli.terminals import Person

FULL, CLOSED = (f"standard output cannot be written: {why}" for why in ("No space left on device", "it is closed"))
# A path that ends with a slash is left to the ordinary command.
WAYS = {"warm": "", "ordinary": "/"}


@pytest.fixture(params=WAYS)
def held(keeping: Gaia, request: pytest.FixtureRequest) -> Gaia:
    """The program, with servers that are held. `hand` writes what it has received to a file."""
    seen = str(keeping.cwd / "seen")
    keeping.write({
        "hand": entry_of("good-handshake", env={"NOTES": seen}),
        "demo": {"command": str(BIN / "gaia"), "args": ["mcp", "serve", "demo"]},
    })  # fmt: skip
    keeping.environ["GAIA_HOME"] = f"{keeping.home}/.gaia{WAYS[request.param]}"
    assert keeping("up", "hand", "demo").code == 0
    return keeping


def seen_by(gaia: Gaia) -> list[str]:
    """What the server `hand` has received."""
    file = gaia.cwd / "seen"
    return file.read_text().splitlines() if file.exists() else []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_cancels_the_call_at_the_server(held: Gaia, number: signal.Signals) -> None:
    """Ours: a held server goes on, and would run the call to its end."""
    calling = held.popen("call", "hand", "slow", "seconds:=60")
    wait_until(lambda: "tools/call slow" in seen_by(held))

    calling.send_signal(number)

    calling.communicate(timeout=20)
    assert calling.returncode in (-number, 128 + number)
    wait_until(lambda: "cancelled slow" in seen_by(held))
    assert held("call", "hand", "echo", "a=b").stdout == '{"a": "b"}\n'


@pytest.mark.parametrize(
    ("words", "more", "code", "error"),
    [
        (["greet", "name=Ada"], "> /dev/full", 1, FULL),
        (["greet", "name=Ada", "--json"], "> /dev/full", 1, FULL),
        (["greet", "name=Ada"], ">&-", 1, CLOSED),
        (["fail"], "2> /dev/full", 9, ""),
        (["fail"], "2>&-", 9, ""),
        (["fail"], "<&-", 9, "tool 'fail' of 'demo' failed: this tool always fails"),
        (["attach"], "| head -n 1", 0, ""),
    ],
)  # fmt: skip
def test_output_that_cannot_be_written_is_reported(
    held: Gaia, words: list[str], more: str, code: int, error: str
) -> None:
    """Ours: a full disk is an error, a closed reader is none."""
    line = f"{BIN / 'gaia'} mcp call demo {' '.join(words)} {more}"
    ran: Any = held.command("bash", "-o", "pipefail", "-c", line, text=True)

    assert ran.returncode == code
    errors = [each for each in ran.stderr.splitlines() if each.startswith(("error: ", "Traceback"))]
    assert errors == ([f"error: {error}"] if error else [])


def at_terminal(gaia: Gaia, theirs: int, *words: str) -> Started:
    """A call at a terminal, whose output goes into a pipe."""
    return gaia.popen("call", *words, stdin=theirs, stderr=theirs, env={"TERM": "xterm", **gaia.environ}, terminal=True)


def test_a_person_answers_the_questions_of_a_held_server(held: Gaia, terminal: tuple[Person, int]) -> None:
    """Ours: the call runs in the keeper, the person sits here."""
    person, theirs = terminal
    calling = at_terminal(held, theirs, "demo", "order")
    for asked, typed in (("[Y/n]", b"\n"), ("size [", b"large\n"), ("cups", b"2\n"), ("sugar", b"\n")):
        person.waits_for(asked)
        person.types(typed)

    assert calling.communicate(timeout=20)[0] == b"2 large, without sugar\n"
    assert calling.returncode == 0


def test_a_person_who_declines_is_not_asked_again(held: Gaia, terminal: tuple[Person, int]) -> None:
    """Ours: the error is that of the ordinary command."""
    person, theirs = terminal
    calling = at_terminal(held, theirs, "demo", "order")
    person.waits_for("[Y/n]")
    person.types(b"n\n")

    assert calling.communicate(timeout=20)[0] == b"no coffee\n"


def test_a_person_sees_that_they_wait_and_the_progress(held: Gaia, terminal: tuple[Person, int]) -> None:
    """Ours: as in an ordinary command, from the same moment on. Then the terminal is in order."""
    person, theirs = terminal
    calling = at_terminal(held, theirs, "demo", "countdown", "steps=30", "seconds=3")
    person.waits_for("calling demo countdown")
    person.waits_for("/30")

    assert calling.communicate(timeout=20)[0] == b"counted down from 30\n"
    assert person.seen.endswith("\r\x1b[K")


def test_ctrl_c_at_a_terminal_ends_the_call(held: Gaia, terminal: tuple[Person, int]) -> None:
    """Ours: at the server too; the shell's prompt begins on a line of its own."""
    person, theirs = terminal
    calling = at_terminal(held, theirs, "hand", "slow", "seconds:=60")
    person.waits_for("calling hand slow")
    calling.send_signal(signal.SIGINT)
    calling.communicate(timeout=20)

    assert calling.returncode == 130
    assert person.seen.endswith("\r\n")
    wait_until(lambda: "cancelled slow" in seen_by(held))


def test_a_call_in_a_folder_that_was_removed_is_the_ordinary_one(held: Gaia) -> None:
    """Ours: the keeper could not tell which server is meant."""
    line = f"mkdir gone && cd gone && rmdir ../gone && {BIN / 'gaia'} mcp call demo greet name=Ada"

    ran: Any = held.command("bash", "-c", line, text=True)

    assert (ran.returncode, ran.stdout) == (0, "Hello, Ada!\n"), ran.stderr


@pytest.mark.parametrize(
    "variables",
    [
        {"GAIA_HOME": "/some/where"},
        {"GAIA_CONFIG_DIR": "/some/where"},
        {"GAIA_HOME": "/some/where", "GAIA_CONFIG_DIR": "/some/other"},
        {"GAIA_HOME": "/some/where", "TMPDIR": "/tmp/none"},
        {},
    ],
)
def test_the_socket_is_the_one_of_the_keeper(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variables: dict[str, str]
) -> None:
    """Ours: the path is made twice, since loading what makes it takes longer than the call."""
    for name in ("GAIA_HOME", "GAIA_CONFIG_DIR", "TMPDIR"):
        monkeypatch.delenv(name, raising=False)
    runtime = tmp_path.parents[2]
    for name, value in {**variables, "HOME": "/some/home", "XDG_RUNTIME_DIR": str(runtime)}.items():
        monkeypatch.setenv(name, value)
    expected = socket_path()
    try:
        expected.parent.mkdir(parents=True)
        expected.parent.chmod(0o700)

        assert warm._socket_path() == os.fspath(expected)
        expected.parent.chmod(0o750)
        assert warm._socket_path() is None
    finally:
        expected.parent.rmdir()


@pytest.mark.parametrize("folder", ["relative", "/some/../where", "/some/where/"])
def test_an_unusual_path_is_left_to_the_ordinary_command(monkeypatch: pytest.MonkeyPatch, folder: str) -> None:
    """Ours: what it means is known there."""
    monkeypatch.setenv("GAIA_HOME", folder)

    assert warm._socket_path() is None

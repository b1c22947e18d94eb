"""`gaia mcp ps`."""

from __future__ import annotations

import re
import signal
from typing import TYPE_CHECKING

from tests.cli.conftest import entry_of, run_on_terminal
from tests.waiting import wait_until

if TYPE_CHECKING:
    from tests.cli.conftest import Gaia


def test_without_a_keeper_nothing_is_held(keeping: Gaia) -> None:
    """Ours: `ps` starts none."""
    ran = keeping("ps")

    assert (ran.code, ran.stdout) == (0, "")
    assert ran.stderr == "note: no server is held; hold one with: gaia mcp up NAME\n"
    assert keeping("ps", "--json").json == {"keeper": None, "servers": []}


def test_each_server_is_shown_with_what_it_has_done(keeping: Gaia) -> None:
    """Ours: its process, how long it has not been called, its calls, and its memory."""
    keeping.write({"hand": entry_of("good-handshake"), "dies": entry_of("dies-in-call")})
    keeping("up", "hand", "hand@two", "dies")
    keeping("call", "hand@two", "echo")
    keeping("call", "hand@two", "refuse")
    keeping("call", "dies", "echo")

    lines = keeping("ps").stdout.splitlines()
    described = keeping("ps", "--json").json

    assert [re.sub(r"\d+", "N", " ".join(line.split())) for line in lines] == [
        "dies process N ended N call, N failed",
        "hand process N idle N s N calls N MB",
        "hand@two process N idle N s N calls, N failed N MB",
    ]
    assert described["keeper"].keys() == {"pid", "version", "since", "running"}
    assert [(each["name"], each["instance"], each["calls"], each["errors"]) for each in described["servers"]] == [
        ("dies", "", 1, 1), ("hand", "", 0, 0), ("hand", "two", 2, 1),
    ]  # fmt: skip
    assert {each["folder"] for each in described["servers"]} == {str(keeping.cwd)}


def test_a_narrow_terminal_omits_the_memory_first(keeping: Gaia) -> None:
    """Ours: the name, the state and the calls count."""
    keeping.write({"hand": entry_of("good-handshake")})
    keeping("up", "hand")

    shown, code = run_on_terminal(keeping, "ps", width=35)

    assert code == 0
    assert "0 calls" in shown
    assert "MB" not in shown


def test_a_server_that_is_being_started_is_shown_as_such(keeping: Gaia) -> None:
    """Ours: a first start may download a lot. A Ctrl-C at `up` ends it."""
    keeping.write({"mute": entry_of("hangs-at-start")})
    starting = keeping.popen("up", "mute")
    wait_until(lambda: keeping("ps").stdout.startswith("mute"))

    assert "starting" in keeping("ps").stdout
    assert keeping("ps", "--json").json["servers"][0]["state"] == "starting"
    starting.send_signal(signal.SIGINT)
    starting.communicate(timeout=20)
    assert starting.returncode == 130
    wait_until(lambda: keeping("ps").stdout == "")

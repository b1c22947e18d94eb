"""The keeper's own process: what ends it, and that all its servers end with it."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.cli.conftest import entry_of
from tests.processes import command_line, pids_with
from tests.waiting import wait_until

if TYPE_CHECKING:
    from tests.cli.conftest import Gaia

HAND = entry_of("good-handshake")


@pytest.fixture
def hand(keeping: Gaia) -> Gaia:
    """The program, with a server whose tool `slow` takes a minute."""
    keeping.write({"hand": HAND})
    return keeping


def sockets_of(gaia: Gaia) -> Path:
    """The folder of the keeper's sockets, whose name is known once there is one."""
    (folder,) = Path(gaia.environ["XDG_RUNTIME_DIR"], "gaia-mcp").iterdir()
    return folder


@pytest.mark.parametrize("is_warm", [True, False])
def test_servers_end_with_a_keeper_that_is_killed(hand: Gaia, is_warm: bool) -> None:
    """Ours: a call that it was running may have run and is not sent again, and the next command starts afresh."""
    home = f"{hand.home}/.gaia" + "/" * (not is_warm)
    hand("up", "hand")
    described = hand("ps", "--json").json
    calling = hand.popen("call", "hand", "slow", "seconds:=60", env={**hand.environ, "GAIA_HOME": home})
    # A call, not the list before it.
    wait_until(lambda: hand("ps", "--json").json["servers"][0]["calls"])

    os.kill(described["keeper"]["pid"], 9)

    _, stderr = calling.communicate(timeout=20)
    assert calling.returncode == 4
    assert stderr.decode() == (
        "error: the keeper, which held server 'hand', ended while answering tools/call 'slow'\n"
        "hint: 'slow' may have run, and was not called again\n"
    )
    wait_until(lambda: command_line(described["servers"][0]["pid"]) == "")
    assert hand("ps").stdout == ""
    assert hand("call", "hand", "echo", "a=b").stdout == '{"a": "b"}\n'


@pytest.mark.parametrize("is_warm", [True, False])
def test_a_keeper_that_is_terminated_ends_its_calls_and_leaves_no_file(hand: Gaia, is_warm: bool) -> None:
    """Ours: as at the end of a session."""
    hand("up", "hand")
    sockets, described = sockets_of(hand), hand("ps", "--json").json
    home = f"{hand.home}/.gaia" + "/" * (not is_warm)
    calling = hand.popen("call", "hand", "slow", "seconds:=60", env={**hand.environ, "GAIA_HOME": home})
    # A call, not the list before it.
    wait_until(lambda: hand("ps", "--json").json["servers"][0]["calls"])

    os.kill(described["keeper"]["pid"], 15)

    _, stderr = calling.communicate(timeout=20)
    assert calling.returncode == 4
    assert "'slow' may have run, and was not called again" in stderr.decode()
    wait_until(lambda: not command_line(described["keeper"]["pid"]))
    assert not sockets.exists()
    assert not command_line(described["servers"][0]["pid"])


def test_a_keeper_ends_when_its_folder_is_removed(hand: Gaia) -> None:
    """Ours: the system does that at the end of a login session, and asks no program."""
    hand("up", "hand")
    described = hand("ps", "--json").json

    shutil.rmtree(sockets_of(hand))

    wait_until(lambda: not command_line(described["keeper"]["pid"]))
    assert not command_line(described["servers"][0]["pid"])


def test_commands_at_the_same_time_start_one_keeper_and_one_server(keeping: Gaia) -> None:
    """Ours: two hundred of a script that calls in parallel."""
    keeping.write({"hand": {**entry_of("remembers"), "keepAlive": True}})
    pids = set()
    for _ in range(4):
        running = [keeping.popen("call", "hand", "pid") for _ in range(50)]
        for each in running:
            out, err = each.communicate(timeout=60)
            assert (each.returncode, err) == (0, b"")
            pids.add(out)
    (server,) = keeping("ps", "--json").json["servers"]

    assert pids == {b"%d\n" % server["pid"]}
    assert server["calls"] == 200
    keepers = [line for line in pids_with(keeping.environ["XDG_RUNTIME_DIR"]).values() if line.endswith("keeper")]
    assert len(keepers) <= 1

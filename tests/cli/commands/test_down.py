"""`gaia mcp down`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.cli.conftest import entry_of
from tests.processes import command_line
from tests.waiting import wait_until

if TYPE_CHECKING:
    from tests.cli.conftest import Gaia

AGENT = """
from gaia_mcp import MCPAgent, tool


class Agent(MCPAgent):
    "Does nothing."

    @tool
    def rest(self) -> None:
        "Do nothing."
"""


@pytest.fixture
def held(keeping: Gaia) -> Gaia:
    """The program, with servers that are held."""
    keeping.write({
        "mem": entry_of("remembers"), "spins": entry_of("spins-in-call"), "hand": entry_of("good-handshake"),
    })  # fmt: skip
    return keeping


def test_servers_are_ended_by_the_names_that_ps_prints(held: Gaia) -> None:
    """Ours: what is not held is a remark, since it is as it is to be."""
    held("up", "mem", "mem@two", "hand")

    ended = held("down", "mem@two", "none", "hand")
    again = held("down", "mem@two", "--json")

    assert (ended.code, ended.stdout) == (0, "ended 'hand'\nended 'mem@two'\n")
    assert ended.stderr == "note: 'none' is not held; see what is with: gaia mcp ps\n"
    assert (again.code, again.json) == (0, {"ended": []})
    assert held("down", "--all", "--json").json == {"ended": ["mem"]}


def test_a_target_is_ended_by_the_words_that_hold_it(held: Gaia) -> None:
    """Ours: in the same folder, as `call` finds it by them. `ps` prints the whole path of an agent."""
    (held.cwd / "agent.py").write_text(AGENT)
    held("up", "./agent.py")

    assert held("ps").stdout.startswith(str(held.cwd / "agent.py"))
    assert held("down", "./agent.py").code == 0
    assert held("ps").stdout == ""
    assert held("down", "./agent.py").stderr.startswith("note: './agent.py' is not held; ")


def test_a_keeper_that_holds_no_server_leaves_no_process_and_no_file(held: Gaia) -> None:
    """Ours: the sockets are gone with it."""
    held("up", "mem")
    keeper = held("ps", "--json").json["keeper"]["pid"]
    (sockets,) = Path(held.environ["XDG_RUNTIME_DIR"], "gaia-mcp").iterdir()
    assert sorted(path.name for path in sockets.iterdir()) == [".keeper", ".lock", "mem.sock"]

    held("down", "mem")

    wait_until(lambda: not command_line(keeper))
    assert not sockets.exists()
    (log_file,) = held.home.rglob("keeper.log")
    log = log_file.read_text().splitlines()
    assert [line.split(" ", 2)[2] for line in log] == [f"process {keeper} begins", f"process {keeper} ends"]


def test_all_or_some_are_named(held: Gaia) -> None:
    """Ours: an argument that is missing would end everything, or nothing."""
    neither, both = held("down"), held("down", "mem", "--all")

    assert (neither.code, both.code) == (2, 2)
    assert neither.stderr == "error: no server is named\nhint: name one, or end all with: gaia mcp down --all\n"
    assert both.stderr.startswith("error: --all ends all servers, and some are named\n")
    assert held("down", "--all").stderr == "note: no server is held\n"


@pytest.mark.parametrize("is_warm", [True, False])
def test_a_call_of_a_server_that_is_ended_may_have_run(held: Gaia, is_warm: bool) -> None:
    """Ours: also one that never answers. No other caller waits for it."""
    home = str(held.home / ".gaia") + "/" * (not is_warm)
    held("up", "spins", "mem")
    calling = held.popen("call", "spins", "echo", env={**held.environ, "GAIA_HOME": home})
    wait_until(lambda: any(each["running"] for each in held("ps", "--json").json["servers"]))
    spinning = held("ps", "--json").json["servers"][1]["pid"]

    assert "busy" in held("ps").stdout
    assert held("call", "mem", "keep", "label=x").code == 0
    assert held("down", "spins").stdout == "ended 'spins'\n"

    _, stderr = calling.communicate(timeout=20)
    assert calling.returncode == 4
    assert stderr.decode() == (
        "error: server 'spins' is not held any more: it was ended during tools/call 'echo'\n"
        "hint: 'echo' may have run, and was not called again\n"
    )
    assert command_line(spinning) == ""

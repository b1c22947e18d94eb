"""The targets of `gaia mcp serve`: they are loaded, opened, limited and watched."""

from __future__ import annotations

import re
import signal
from typing import TYPE_CHECKING

import pytest

from gaia_mcp.cli.serving import named_targets
from gaia_mcp.cli.status import UsageError
from tests.cli.commands.test_serve import AGENT, ask, initialize, next_answer, send
from tests.waiting import wait_until

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cli.conftest import Gaia


def test_a_changed_agent_is_reloaded(gaia: Gaia) -> None:
    """Ours, `--reload`: clients stay connected, and a version that does not load is skipped."""
    path = gaia.cwd / "agent.py"
    path.write_text(AGENT.format(word="one", tool="first"))
    process = gaia.popen("serve", "agent.py:Agent", "--reload")
    initialize(process)
    number = 1

    def tools() -> list[str]:
        nonlocal number
        number += 1
        return [tool["name"] for tool in ask(process, "tools/list", number)["result"]["tools"]]

    assert tools() == ["first"]
    path.write_text("this is no python")
    path.write_text(AGENT.format(word="x", tool="t").replace("return [", "raise OSError('no') or ["))
    path.write_text(AGENT.format(word="two", tool="second") + "\n# longer")
    wait_until(lambda: tools() == ["second"])
    process.communicate(timeout=20)


@pytest.mark.parametrize("way_out", ["SystemExit('away')", "KeyboardInterrupt"])
def test_reloading_continues_after_a_version_that_exits(gaia: Gaia, way_out: str) -> None:
    """Ours, `--reload`: it is reported, and the next version is loaded."""
    path = gaia.cwd / "agent.py"
    path.write_text(AGENT.format(word="one", tool="first"))
    with (gaia.cwd / "log").open("wb") as log:
        process = gaia.popen("serve", "agent.py:Agent", "--reload", stderr=log)
    initialize(process)

    path.write_text(AGENT.format(word="x", tool="t").replace("return [", f"raise {way_out} or ["))
    wait_until(lambda: b"error: " in (gaia.cwd / "log").read_bytes())
    path.write_text(AGENT.format(word="two", tool="second"))
    wait_until(lambda: b"was reloaded" in (gaia.cwd / "log").read_bytes())

    assert ask(process, "tools/list", 2)["result"]["tools"][0]["name"] == "second"
    process.communicate(timeout=20)
    assert way_out.partition("(")[0] in (gaia.cwd / "log").read_text()


LIMITED = """
import time
from pathlib import Path
from gaia_mcp import MCPAgent, tool

class Limited(MCPAgent):
    max_calls = {limit!r}

    @tool
    def block(self, name: str) -> str:
        Path(name).touch()
        while not Path("unblock").exists():
            time.sleep(0.01)
        return name
"""


@pytest.mark.parametrize(("limit", "options"), [(2, ()), (None, ("--max-calls", "2")), (1, ("--max-calls", "2"))])
def test_calls_beyond_the_limit_wait_and_are_reported(gaia: Gaia, limit: int | None, options: tuple[str, ...]) -> None:
    """Ours: the agent sets the limit, and `--max-calls` overrides it."""
    (gaia.cwd / "agent.py").write_text(LIMITED.format(limit=limit))
    process = gaia.popen("serve", "agent.py", *options)
    assert process.stderr is not None
    initialize(process)
    ask(process, "tools/list", 2)
    for name in "abc":
        send(process, "tools/call", ord(name), name="block", arguments={"name": name})

    assert (
        process.stderr.readline() == b"note: 2 calls of agent.py are running, and the next ones wait: see --max-calls\n"
    )
    assert ask(process, "ping", 3)["result"] == {}
    wait_until(lambda: (gaia.cwd / "a").exists() and (gaia.cwd / "b").exists())
    assert not (gaia.cwd / "c").exists()
    (gaia.cwd / "unblock").touch()
    assert {next_answer(process)["id"] for _ in "abc"} == set(map(ord, "abc"))
    process.communicate(timeout=20)
    assert process.returncode == 0


def test_an_invalid_limit_is_refused(gaia: Gaia) -> None:
    """Ours: in the agent as in the option."""
    (gaia.cwd / "agent.py").write_text(LIMITED.format(limit=0))

    ran = gaia("serve", "agent.py")
    assert (ran.code, len(ran.errors)) == (3, 2)
    assert "has the max_calls 0, not a number from 1 to" in ran.errors[0]
    assert gaia("serve", "agent.py", "--max-calls", "0").code == 2


MARKED = """
from gaia_mcp import MCPAgent, tool

class Notes(MCPAgent):
    @tool
    async def {tool}(self, number: {kind}) -> str:
        return str(number)
"""


def test_a_changed_agent_with_decorated_methods_is_reloaded(gaia: Gaia) -> None:
    """Ours, `--reload`: with its new type hints; its coroutines run on an event loop of its own."""
    path = gaia.cwd / "agent.py"
    path.write_text(MARKED.format(tool="one", kind="int"))
    with (gaia.cwd / "log").open("wb") as log:
        process = gaia.popen("serve", "agent.py", "--reload", stderr=log)
    initialize(process)
    assert ask(process, "tools/call", 2, name="one", arguments={"number": 1})["result"]["isError"] is False

    path.write_text(MARKED.format(tool="bad", kind="type"))
    wait_until(lambda: b"Notes.bad(number): type is not" in (gaia.cwd / "log").read_bytes())
    assert ask(process, "tools/call", 5, name="one", arguments={"number": 1})["result"]["isError"] is False
    path.write_text(MARKED.format(tool="two", kind="str") + "# longer")
    wait_until(lambda: b"was reloaded" in (gaia.cwd / "log").read_bytes())

    assert ask(process, "tools/list", 3)["result"]["tools"][0]["inputSchema"]["properties"] == {
        "number": {"type": "string"}
    }
    called = ask(process, "tools/call", 4, name="two", arguments={"number": "x"})
    assert called["result"]["structuredContent"] == {"result": "x"}
    process.communicate(timeout=20)


def test_type_hints_without_a_schema_are_reported_when_serving_begins(gaia: Gaia) -> None:
    """Ours: with class, method and parameter, also where the agent is used by its file."""
    (gaia.cwd / "agent.py").write_text(MARKED.format(tool="add", kind="'Nope', where: type"))
    problem = "has a problem: Notes.add(number): name 'Nope' is not defined (and 1 more)"

    served, called = gaia("serve", "agent.py"), gaia("call", "./agent.py", "add", "number=1")

    assert (served.code, called.code) == (3, 3)
    assert served.errors[-2:] == [
        f"error: agent 'agent.py' {problem}",
        "hint: correct it, and check again: gaia mcp serve agent.py --check",
    ]
    assert called.errors == [
        f"error: agent './agent.py' {problem}",
        "hint: correct it, and check again: gaia mcp serve ./agent.py --check",
    ]


LASTING = """
import sys
from gaia_mcp import MCPAgent, tool

class Lasting(MCPAgent):
    def opened(self):
        {opened}
    async def closed(self):
        print("closed", file=sys.stderr)
    @tool
    def work(self) -> str:
        print("worked", file=sys.stderr)
        return ""
"""


@pytest.mark.parametrize("end", ["end of input", "a signal"])
def test_an_agent_is_opened_before_its_first_call_and_closed_at_the_end(gaia: Gaia, end: str) -> None:
    """Ours: for resources that live as long as the server; also if a signal ends it."""
    (gaia.cwd / "agent.py").write_text(LASTING.format(opened="print('opened', file=sys.stderr)"))
    process = gaia.popen("serve", "agent.py:Lasting")
    initialize(process)
    ask(process, "tools/call", 2, name="work")

    if end == "a signal":
        process.send_signal(signal.SIGTERM)
    _, err = process.communicate(timeout=20)

    assert err.decode().splitlines()[:3] == ["opened", "worked", "closed"]


def test_an_agent_that_cannot_be_opened_is_not_served(gaia: Gaia) -> None:
    """Ours: exit code 3, as for one that cannot be created."""
    (gaia.cwd / "agent.py").write_text(LASTING.format(opened="raise OSError('no database')"))

    ran = gaia("serve", "agent.py:Lasting")

    assert ran.code == 3
    assert "cannot be opened: OSError: no database" in ran.stderr
    assert "closed" not in ran.stderr


def test_each_of_several_targets_has_a_name_for_its_url(tmp_path: Path) -> None:
    """Ours: what it serves names it, unless a name is given; two of one name would share a URL."""
    file = tmp_path / "a=b.py"
    file.touch()
    targets = ["demo", "pkg.mod:Notes", "./cost_handler.py", "own=./notes.py", str(file)]

    assert named_targets(targets) == {
        "demo": "demo",
        "notes": "pkg.mod:Notes",
        "cost": "./cost_handler.py",
        "own": "./notes.py",
        "a-b": str(file),
    }
    for words, problem in (
        (["notes.py", "pkg:Notes"], "two targets are named 'notes'"),
        (["own=demo", "own=filesystem"], "two targets are named 'own'"),
        (["???"], "'???' has no name for its URL"),
    ):
        with pytest.raises(UsageError, match=re.escape(problem)):
            named_targets(words)

"""`gaia mcp watch`."""

from __future__ import annotations

import json
import os
import select
import signal
from typing import TYPE_CHECKING, Any

import pytest

from tests.cli.conftest import BIN, entry_of

if TYPE_CHECKING:
    from tests.cli.conftest import Gaia

# The stateless era and the newest of the other one.
ERAS = ("2026-07-28", "2025-11-25")


class Watched:
    """A `gaia mcp watch` that runs, and the server that it holds open and that does what it is ordered to."""

    def __init__(self, gaia: Gaia, era: str, *arguments: str, server: dict[str, Any] | None = None) -> None:
        self.orders = gaia.cwd / "orders"
        gaia.write({"x": server or entry_of("announces", era, env={"ORDERS": str(self.orders)})})
        self.process = gaia.popen("watch", "x", *arguments)
        self._read: dict[int, bytes] = {}
        assert self.process.stdout is not None
        assert self.process.stderr is not None
        self._stdout, self._stderr = self.process.stdout.fileno(), self.process.stderr.fileno()
        self.began = self._line(self._stderr)

    def order(self, text: str) -> None:
        """Have the server do something."""
        with self.orders.open("a") as file:
            file.write(f"{text}\n")

    def line(self) -> str:
        """The next line of the answer."""
        return self._line(self._stdout)

    def event(self) -> dict[str, Any]:
        """The next line of the answer, as JSON, without its time."""
        event: dict[str, Any] = json.loads(self.line())
        assert event.pop("time").endswith("+00:00")
        return event

    def end(self) -> tuple[int, str]:
        """Ctrl-C: exit code, and what else was said on stderr."""
        self.process.send_signal(signal.SIGINT)
        return self.wait()

    def wait(self) -> tuple[int, str]:
        """Wait for the end."""
        _, err = self.process.communicate(timeout=10)
        return self.process.returncode, err.decode()

    def _line(self, source: int) -> str:
        while b"\n" not in (read := self._read.get(source, b"")):
            assert select.select([source], [], [], 10)[0], read
            data = os.read(source, 65536)
            assert data, (read, self.process.wait(5))
            self._read[source] = read + data
        line, _, self._read[source] = read.partition(b"\n")
        return line.decode()


@pytest.fixture(params=ERAS)
def era(request: pytest.FixtureRequest) -> str:
    revision: str = request.param
    return revision


def test_changed_lists_are_told_with_what_came_and_went(gaia: Gaia, era: str) -> None:
    """Spec, list changes: in both eras; the names are ours."""
    watched = Watched(gaia, era)
    assert watched.began == "note: watching tools, prompts, resources, log messages of 'x'"

    watched.order("add new other")
    assert watched.line().split("  ", 1)[1] == "tools: +new +other"
    watched.order("remove new")
    assert watched.line().endswith("  tools: -new")

    assert watched.end() == (130, "")


def test_each_line_is_an_object_with_json(gaia: Gaia, era: str) -> None:
    """Ours: JSON Lines, for programs."""
    watched = Watched(gaia, era, "--json", "x://a")

    watched.order("add new")
    assert watched.event() == {
        "event": "list-changed", "kind": "tools", "added": ["new"], "removed": [], "changed": [],
    }  # fmt: skip
    watched.order("touch x://a")
    assert watched.event() == {"event": "resource-updated", "uri": "x://a"}
    watched.order("log warning low on disk")
    assert watched.event() == {"event": "log", "level": "warning", "logger": "app", "data": "low on disk"}

    assert watched.end()[0] == 130


def test_a_changed_resource_is_read_again_when_that_is_wanted(gaia: Gaia, era: str) -> None:
    """Ours."""
    watched = Watched(gaia, era, "x://a", "--read")

    watched.order("touch x://a")

    assert watched.line().endswith("  x://a has changed")
    assert watched.line() == "1 names"
    assert watched.end()[0] == 130


def test_a_resource_that_has_gone_again_ends_nothing(gaia: Gaia, era: str) -> None:
    """Ours: the next change is waited for all the same."""
    watched = Watched(gaia, era, "x://gone", "--read", "--json")

    watched.order("touch x://gone")

    assert watched.event() == {"event": "resource-updated", "uri": "x://gone", "contents": []}
    assert "has no resource 'x://gone'" in watched.end()[1]


def test_the_end_of_a_subscription_is_told(gaia: Gaia) -> None:
    """Spec 2026-07-28, subscriptions: a server may end one."""
    watched = Watched(gaia, "2026-07-28", "x://a", "--json")

    watched.order("end x://a")

    assert watched.event() == {"event": "subscription-ended", "uri": "x://a"}
    assert watched.end()[0] == 130


def test_a_log_message_stands_on_one_line_without_control_characters(gaia: Gaia, era: str) -> None:
    """Ours: whatever the server writes."""
    watched = Watched(gaia, era)

    watched.order("log error \x1b[31mred")

    assert watched.line().endswith("  error: app: \\x1b[31mred")
    assert watched.end()[0] == 130


def test_when_the_server_ends_so_does_the_watch(gaia: Gaia, era: str) -> None:
    """Ours: exit code 4, and how it ended."""
    watched = Watched(gaia, era)

    watched.order("mutter out of memory")
    watched.order("die 3")

    code, err = watched.wait()
    assert code == 4
    assert "exited with status 3" in err
    assert "out of memory" in err


def test_a_server_that_ends_is_started_again_when_that_is_wanted(gaia: Gaia, era: str) -> None:
    """Ours: what is different then is told too, and the subscriptions are renewed."""
    watched = Watched(gaia, era, "--restart", "--json", "x://a")
    watched.order("add new")
    assert watched.event()["added"] == ["new"]

    watched.order("die 3")

    assert watched.event() == {"event": "restarted"}
    assert watched.event()["removed"] == ["new"]
    assert watched.event() == {"event": "resource-updated", "uri": "x://a"}
    watched.order("add newer")
    assert watched.event()["added"] == ["newer"]
    assert watched.end()[0] == 130


def test_it_ends_when_its_time_is_over(gaia: Gaia, era: str) -> None:
    """Ours: with success, for that is what was asked for."""
    watched = Watched(gaia, era, "--timeout", "4")

    assert watched.wait() == (0, "")


def test_a_server_that_does_not_start_in_that_time_is_a_failure(gaia: Gaia) -> None:
    """Ours: nothing was watched."""
    gaia.use("hangs-at-start")

    assert gaia("watch", "hangs-at-start", "--timeout", "0.5").code == 5


def test_it_ends_when_nobody_reads_it_any_more(gaia: Gaia, era: str) -> None:
    """Ours: `| head` is no error, and no server stays open for nobody."""
    watched = Watched(gaia, era)
    assert watched.process.stdout is not None

    watched.process.stdout.close()

    assert watched.process.wait(10) == 0


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("declares-nothing",), 6, "does not support notifications"),
        (("good-handshake", "x://a"), 6, "does not support resources"),
        (("exits-at-once",), 4, "exited"),
        (("nobody",), 3, "no server 'nobody'"),
        (("good-handshake", "--level", "loud"), 2, "no log level 'loud'"),
        (("good-handshake", "--timeout", "nan"), 2, "nan"),
        ((), 2, "missing argument"),
    ],
)
def test_what_cannot_be_watched_is_said(gaia: Gaia, words: tuple[str, ...], code: int, said: str) -> None:
    """Ours: two lines, and an exit code for each kind."""
    gaia.use("good-handshake", "declares-nothing", "exits-at-once")

    ran = gaia("watch", *words)

    assert (ran.code, ran.stdout, len(ran.errors)) == (code, "", 2)
    assert said in ran.errors[0]


def test_a_server_of_ours_that_is_reloaded_is_heard(gaia: Gaia) -> None:
    """Ours: what `serve --reload` announces."""
    agent = gaia.cwd / "agent.py"
    source = "class A:\n    def get_mcp_tool_definitions(self):\n        return [{'name': 'NAME', 'description': ''}]\n"
    source += "    def execute_mcp_tool(self, name, arguments):\n        return {}\n"
    agent.write_text(source.replace("NAME", "one"))
    gaia.write({"x": {"command": str(BIN / "gaia"), "args": ["mcp", "serve", f"{agent}:A", "--reload"]}})
    process = gaia.popen("watch", "x", "--json")
    assert process.stderr is not None
    assert process.stdout is not None
    assert b"watching tools" in process.stderr.readline()

    agent.write_text(source.replace("NAME", "another"))

    event = json.loads(process.stdout.readline())
    assert (event["added"], event["removed"]) == (["another"], ["one"])
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=10)
    assert process.returncode == 130


BOARD = """
import threading
from pathlib import Path
from gaia_mcp import MCPAgent, resource, tool

class Board(MCPAgent):
    names = ()
    text = "nothing"
    is_closed = threading.Event()

    def opened(self):
        threading.Thread(target=self.obey, daemon=True).start()

    def closed(self):
        self.is_closed.set()

    def obey(self):
        done = 0
        while not self.is_closed.wait(0.05):
            orders = Path("orders").read_text().split() if Path("orders").exists() else []
            for order in orders[done:]:
                self.names, self.text = (*self.names, order), order
                self.resources_changed()
                self.resource_updated("board://today")
            done = len(orders)

    @tool
    def nothing(self) -> None:
        "A tool."

    @resource("board://today")
    def today(self) -> str:
        return self.text

    def get_mcp_resources(self):
        return [{"uri": f"board://{name}", "name": name, "text": name} for name in self.names]
"""


def test_an_agent_of_ours_that_changes_is_heard(gaia: Gaia, era: str) -> None:
    """Ours: what it announces from a thread of its own; `--read` prints what a resource has become."""
    (gaia.cwd / "board.py").write_text(BOARD)
    server = {"agent": f"{gaia.cwd / 'board.py'}:Board", "cwd": str(gaia.cwd), "protocolVersion": era}
    watched = Watched(gaia, era, "board://today", "--read", "--json", server=server)
    assert watched.began == "note: watching tools, resources, board://today, log messages of 'x'"

    watched.order("milk")

    events = sorted((watched.event() for _ in range(2)), key=lambda event: str(event["event"]))
    assert events[0] == {
        "event": "list-changed", "kind": "resources", "added": ["board://milk"], "removed": [], "changed": []
    }  # fmt: skip
    assert events[1]["event"] == "resource-updated"
    assert [content["text"] for content in events[1]["contents"]] == ["milk"]
    assert watched.end() == (130, "")


def test_what_a_subscription_was_not_granted_is_told(gaia: Gaia) -> None:
    """MC-9: changes of it would be waited for in vain."""
    withheld = {"ORDERS": str(gaia.cwd / "orders"), "WITHHELD": "promptsListChanged"}
    gaia.write({"x": entry_of("announces", ERAS[0], env=withheld)})

    ran = gaia("watch", "x", "--timeout", "3")

    assert "note: server 'x' declares listChanged for its prompts, but does not send it" in ran.stderr
    assert "changes of its tools" not in ran.stderr


def test_that_a_subscription_is_refused_is_told(gaia: Gaia) -> None:
    """MC-9: and it is no change of the lists."""
    refusing = {"ORDERS": str(gaia.cwd / "orders"), "WITHHELD": "everything"}
    gaia.write({"x": entry_of("announces", ERAS[0], env=refusing)})

    ran = gaia("watch", "x", "--timeout", "3")

    for kind in ("tools", "prompts", "resources"):
        assert f"note: server 'x' declares listChanged for its {kind}, but does not send it" in ran.stderr
    assert ran.stdout == ""

"""`gaia mcp watch`."""

from __future__ import annotations

import json
import os
import select
import signal
import sys
from typing import TYPE_CHECKING, Any

import pytest

from tests.cli.conftest import BIN, entry_of
from tests.waiting import PATIENCE_SECONDS

if TYPE_CHECKING:
    from tests.cli.conftest import Gaia

# The stateless era and the newest of the other one.
ERAS = ("2026-07-28", "2025-11-25")


class Watched:
    """A running `gaia mcp watch`, and its server, which obeys orders."""

    def __init__(self, gaia: Gaia, era: str, *arguments: str, server: dict[str, Any] | None = None) -> None:
        self.orders = gaia.cwd / "orders"
        gaia.write({"x": server or entry_of("announces", era, env={"ORDERS": str(self.orders)})})
        self.process = gaia.popen("watch", "x", *arguments)
        self._read: dict[int, bytes] = {}
        assert self.process.stdout is not None
        assert self.process.stderr is not None
        self._stdout, self._stderr = self.process.stdout.fileno(), self.process.stderr.fileno()
        self.began = self.remark()

    def remark(self) -> str:
        """The next line of stderr."""
        return self._line(self._stderr)

    def order(self, text: str) -> None:
        """Have the server do something."""
        with self.orders.open("a") as file:
            file.write(f"{text}\n")

    def line(self) -> str:
        """The next line of stdout."""
        return self._line(self._stdout)

    def event(self) -> dict[str, Any]:
        """The next line of stdout, as JSON, without its time."""
        event: dict[str, Any] = json.loads(self.line())
        assert event.pop("time").endswith("+00:00")
        return event

    def end(self) -> tuple[int, str]:
        """Ctrl-C: the exit code, and the rest of stderr."""
        self.process.send_signal(signal.SIGINT)
        return self.wait()

    def wait(self) -> tuple[int, str]:
        """Wait for the end."""
        _, err = self.process.communicate(timeout=20)
        return self.process.returncode, err.decode()

    def _line(self, source: int) -> str:
        while b"\n" not in (read := self._read.get(source, b"")):
            assert select.select([source], [], [], PATIENCE_SECONDS)[0], read
            data = os.read(source, 65536)
            assert data, (read, self.process.wait(20))
            self._read[source] = read + data
        line, _, self._read[source] = read.partition(b"\n")
        return line.decode()


@pytest.fixture(params=ERAS)
def era(request: pytest.FixtureRequest) -> str:
    revision: str = request.param
    return revision


# Declares log messages, and does not have the method for their level.
REFUSES_LEVELS = """
import json, sys

for line in sys.stdin:
    asked = json.loads(line)
    results = {
        "initialize": {
            "protocolVersion": "2025-06-18",
            "capabilities": {"logging": {}, "tools": {}},
            "serverInfo": {"name": "x", "version": "1"},
        },
        "tools/list": {"tools": [{"name": "t", "inputSchema": {"type": "object"}}]},
        "tools/call": {"content": [{"type": "text", "text": "done"}]},
    }
    found = results.get(asked["method"])
    answer = {"error": {"code": -32601, "message": "no such method"}} if found is None else {"result": found}
    if "id" in asked:
        print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], **answer}), flush=True)
"""


def test_a_server_that_refuses_a_log_level_is_watched_and_called(gaia: Gaia) -> None:
    """Ours: it may send log messages of its own choice, and a call does not depend on them."""
    (gaia.cwd / "server.py").write_text(REFUSES_LEVELS)
    watched = Watched(gaia, "", server={"command": sys.executable, "args": [str(gaia.cwd / "server.py")]})
    called = gaia("call", "x", "t", "--debug")

    assert watched.began.startswith("note: server 'x' ")
    assert watched.began.endswith("; its log messages may be of other levels")
    assert "watching log messages of 'x'" in watched.remark()
    assert watched.end()[0] == 130
    assert (called.code, called.stdout) == (0, "done\n")


def test_changed_lists_are_printed_with_added_and_removed_names(gaia: Gaia, era: str) -> None:
    """Spec, list changes: in both eras; we find the names."""
    watched = Watched(gaia, era)
    assert watched.began == "note: watching tools, prompts, resources, log messages of 'x'"

    watched.order("add new other")
    assert watched.line().split("  ", 1)[1] == "tools: +new +other"
    watched.order("remove new")
    assert watched.line().endswith("  tools: -new")

    assert watched.end() == (130, "")


def test_watch_with_json_prints_one_object_on_a_line(gaia: Gaia, era: str) -> None:
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


def test_the_read_option_prints_a_changed_resource(gaia: Gaia, era: str) -> None:
    """Ours: the notification has only its URI."""
    watched = Watched(gaia, era, "x://a", "--read")

    watched.order("touch x://a")

    assert watched.line().endswith("  x://a has changed")
    assert watched.line() == "1 names"
    assert watched.end()[0] == 130


def test_a_resource_that_no_longer_exists_does_not_end_the_watch(gaia: Gaia, era: str) -> None:
    """Ours: the next notification is waited for all the same."""
    watched = Watched(gaia, era, "x://gone", "--read", "--json")

    watched.order("touch x://gone")

    assert watched.event() == {"event": "resource-updated", "uri": "x://gone", "contents": []}
    assert "has no resource 'x://gone'" in watched.end()[1]


def test_the_end_of_a_subscription_is_printed(gaia: Gaia) -> None:
    """Spec 2026-07-28, subscriptions: a server may end one."""
    watched = Watched(gaia, "2026-07-28", "x://a", "--json")

    watched.order("end x://a")

    assert watched.event() == {"event": "subscription-ended", "uri": "x://a"}
    assert watched.end()[0] == 130


def test_a_log_message_is_printed_on_one_line_with_escapes(gaia: Gaia, era: str) -> None:
    """Ours: whatever the server sends."""
    watched = Watched(gaia, era)

    watched.order("log error \x1b[31mred")

    assert watched.line().endswith("  error: app: \\x1b[31mred")
    assert watched.end()[0] == 130


def test_a_watch_ends_with_its_server(gaia: Gaia, era: str) -> None:
    """Ours: exit code 4, and how the server ended."""
    watched = Watched(gaia, era)

    watched.order("mutter out of memory")
    watched.order("die 3")

    code, err = watched.wait()
    assert code == 4
    assert "exited with status 3" in err
    assert "out of memory" in err


def test_the_restart_option_starts_an_exited_server_again(gaia: Gaia, era: str) -> None:
    """Ours: differences are printed as well, and the subscriptions are renewed."""
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


def test_a_watch_ends_after_its_timeout(gaia: Gaia, era: str) -> None:
    """Ours: with success, since that was requested."""
    watched = Watched(gaia, era, "--timeout", "8")

    assert watched.wait() == (0, "")


def test_a_server_that_does_not_start_within_the_timeout_is_a_failure(gaia: Gaia) -> None:
    """Ours: nothing was watched."""
    gaia.use("hangs-at-start")

    assert gaia("watch", "hangs-at-start", "--timeout", "0.5").code == 5


def test_a_watch_ends_when_its_stdout_is_closed(gaia: Gaia, era: str) -> None:
    """Ours: `| head` is not an error, and no server is left running for it."""
    watched = Watched(gaia, era)
    assert watched.process.stdout is not None

    watched.process.stdout.close()

    assert watched.process.wait(20) == 0


@pytest.mark.parametrize(
    ("words", "code", "expected"),
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
def test_a_server_that_cannot_be_watched_is_reported(
    gaia: Gaia, words: tuple[str, ...], code: int, expected: str
) -> None:
    """Ours: two lines, and an exit code for each kind."""
    gaia.use("good-handshake", "declares-nothing", "exits-at-once")

    ran = gaia("watch", *words)

    assert (ran.code, ran.stdout, len(ran.errors)) == (code, "", 2)
    assert expected in ran.errors[0]


def test_a_reload_of_a_served_agent_is_printed(gaia: Gaia) -> None:
    """Ours: `serve --reload` sends the notification."""
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
    process.communicate(timeout=20)
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


def test_notifications_of_an_agent_are_printed(gaia: Gaia, era: str) -> None:
    """Ours: it sends them from a thread of its own; `--read` prints the new text of a resource."""
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


def test_a_kind_that_a_subscription_does_not_grant_is_reported(gaia: Gaia) -> None:
    """MC-9: its notifications would be waited for in vain."""
    withheld = {"ORDERS": str(gaia.cwd / "orders"), "WITHHELD": "promptsListChanged"}
    gaia.write({"x": entry_of("announces", ERAS[0], env=withheld)})

    ran = gaia("watch", "x", "--timeout", "8")

    assert "note: server 'x' declares listChanged for its prompts, but does not send it" in ran.stderr
    assert "changes of its tools" not in ran.stderr


def test_a_refused_subscription_is_reported(gaia: Gaia) -> None:
    """MC-9: it is not mistaken for a change of the lists."""
    refusing = {"ORDERS": str(gaia.cwd / "orders"), "WITHHELD": "everything"}
    gaia.write({"x": entry_of("announces", ERAS[0], env=refusing)})

    ran = gaia("watch", "x", "--timeout", "8")

    for kind in ("tools", "prompts", "resources"):
        assert f"note: server 'x' declares listChanged for its {kind}, but does not send it" in ran.stderr
    assert ran.stdout == ""

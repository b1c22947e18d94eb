"""Many calls on one connection, each a line of JSON, and each result a line of JSON."""

from __future__ import annotations

import json
import os
import signal
from typing import TYPE_CHECKING, Any

import pytest

from gaia_mcp.cli.calls.batch import MAX_REMARKS, read_call
from gaia_mcp.cli.status import UsageError
from tests.waiting import ENOUGH_SECONDS, wait_until

if TYPE_CHECKING:
    from tests.cli.conftest import Gaia

# Its tool returns once as many calls as are to meet are in it.
MEETING = """
import threading
from gaia_mcp import MCPAgent

class Meeting(MCPAgent):
    def __init__(self):
        self._place = threading.Barrier(3, timeout=20)

    def get_mcp_tool_definitions(self):
        return [{"name": "meet", "description": "Meet.", "inputSchema": {"type": "object"}}]

    def execute_mcp_tool(self, name, arguments):
        self._place.wait()
        return arguments
"""


# Its tool is another one after its first call.
CHANGING = """
from gaia_mcp import MCPAgent

class Changing(MCPAgent):
    text = "Stay."

    def get_mcp_tool_definitions(self):
        return [{"name": "change", "description": self.text, "inputSchema": {"type": "object"}}]

    def execute_mcp_tool(self, name, arguments):
        self.text = "Go."
        self.tools_changed()
        return {"content": [{"type": "text", "text": "changed"}]}
"""


def greeting(name: str, **members: Any) -> str:
    return json.dumps({"tool": "greet", "arguments": {"name": name}, **members})


def texts_of(out: str) -> dict[Any, Any]:
    """The text of each result, or the kind of each error, by id."""
    records = [json.loads(line) for line in out.splitlines()]
    assert all(len(record) == 2 for record in records), out
    return {
        json.dumps(record["id"]): record["error"]["kind"]
        if "error" in record
        else record["result"]["content"][0]["text"]
        for record in records
    }


@pytest.mark.parametrize("jobs", [(), ("--jobs", "3")])
def test_results_are_in_the_order_of_the_lines(gaia: Gaia, jobs: tuple[str, ...]) -> None:
    """Ours: each with the id of its line, or its number."""
    lines = [greeting("Ada"), "", greeting("Bob", id="b"), greeting("Eve", id={"of": [1]}), greeting("Kim", id=None)]
    (gaia.cwd / "calls").write_text("\n".join(lines))

    ran = gaia("call", "demo", "--batch", "calls", *jobs)

    found = ['1 "Hello, Ada!"', '"b" "Hello, Bob!"', '{"of": [1]} "Hello, Eve!"', 'null "Hello, Kim!"']
    assert (ran.code, ran.stderr) == (0, "")
    assert [f"{name} {json.dumps(text)}" for name, text in texts_of(ran.stdout).items()] == found


def test_a_result_is_printed_before_the_next_line_is_read(gaia: Gaia) -> None:
    """Ours: another program may ask for one thing after the other, on one connection."""
    running = gaia.popen("call", "demo", "--batch", "-")
    assert running.stdin is not None
    assert running.stdout is not None
    for name in ("Ada", "Bob"):
        running.stdin.write(f"{greeting(name)}\n".encode())
        running.stdin.flush()
        assert f"Hello, {name}!".encode() in running.stdout.readline()

    out, err = running.communicate(timeout=ENOUGH_SECONDS)

    assert (running.returncode, out, err) == (0, b"", b"")


def test_jobs_are_calls_at_once(gaia: Gaia) -> None:
    (gaia.cwd / "meeting.py").write_text(MEETING)
    lines = [json.dumps({"tool": "meet", "arguments": {"n": number}}) for number in range(6)]

    ran = gaia("call", "./meeting.py", "--batch", "-", "--jobs", "3", stdin="\n".join(lines))

    assert (ran.code, ran.stderr) == (0, "")
    assert [json.loads(line)["result"]["structuredContent"] for line in ran.stdout.splitlines()] == [
        {"n": number} for number in range(6)
    ]


def test_no_line_is_called_after_a_failure(gaia: Gaia) -> None:
    lines = [greeting("Ada"), '{"tool": "fail"}', greeting("Bob")]

    ran = gaia("call", "demo", "--batch", "-", stdin="\n".join(lines))

    assert ran.code == 9
    assert list(texts_of(ran.stdout).values()) == ["Hello, Ada!", "this tool always fails"]
    assert ran.stderr == (
        "error: line 2: tool 'fail' of 'demo' failed: this tool always fails\n"
        "hint: show its parameters: gaia mcp call demo fail --help\n"
        "note: stopped at the failure; continue after failures, with the same input: gaia mcp call demo --batch - "
        "--keep-going\n"
    )


@pytest.mark.parametrize("jobs", ["1", "4"])
def test_lines_that_fail_leave_the_others_alone_with_keep_going(gaia: Gaia, jobs: str) -> None:
    """Ours: the exit code is that of the first failure, and the number of a line that cannot be read is named."""
    lines = {
        greeting("Ada"): "Hello, Ada!",
        '{"tool": "greet", "arguments": {"nam": "Bob"}}': "arguments",
        '{"tool": "gret"}': "tool-unknown",
        "nope": "usage",
        '{"tool": "fail"}': "this tool always fails",
        greeting("Eve"): "Hello, Eve!",
    }

    ran = gaia("call", "demo", "--batch", "-", "--keep-going", "--jobs", jobs, stdin="\n".join(lines))

    assert ran.code == 7
    assert list(texts_of(ran.stdout).values()) == list(lines.values())
    assert ran.stderr.startswith("error: 4 of 6 calls failed; the first is that of line 2: tool 'greet' of 'demo'")
    assert json.loads(ran.stdout.splitlines()[3])["error"]["message"] == "line 4: not JSON: Expecting value at column 1"


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("[]", "line 7 holds a list, not a JSON object"),
        ("{}", "line 7: 'tool' is required"),
        ('{"tool": 1}', "line 7: 'tool' is not the name of a tool"),
        ('{"tool": "t", "arguments": []}', "line 7: 'arguments' is a list, not an object"),
        ('{"tool": "t", "args": {}}', "line 7: unknown member 'args'"),
        ('{"tool": "t", "tool": "u"}', "line 7: the key 'tool' appears twice in one object"),
        ("\udcff", "line 7: not UTF-8"),
    ],
)
def test_a_line_that_is_no_call_is_refused(line: str, problem: str) -> None:
    with pytest.raises(UsageError, match=problem) as raised:
        read_call(7, line.encode(errors="surrogateescape"))

    assert raised.value.hint


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (("greet", "--batch", "-"), "'greet' cannot be used with --batch, whose lines name the tools"),
        (("--batch", "-", "--args", "{}"), "--args and --batch cannot be used together"),
        (("--batch", "-", "--raw"), "--raw and --batch cannot be used together"),
        (("--batch", "missing"), "'missing' cannot be read: No such file or directory"),
        (("--batch", "."), "'.' cannot be read: it is a folder, not a regular file"),
        (("greet", "--jobs", "2"), "--jobs needs --batch"),
        (("greet", "--keep-going"), "--keep-going needs --batch"),
    ],
)
def test_a_batch_that_cannot_begin_is_an_error(gaia: Gaia, words: tuple[str, ...], problem: str) -> None:
    ran = gaia("call", "demo", *words, stdin=greeting("Ada"))

    assert (ran.code, ran.stdout) == (2, "")
    assert ran.stderr.startswith(f"error: {problem}\n")


def test_a_server_that_dies_is_started_again_for_the_next_line(gaia: Gaia) -> None:
    """Ours: with a remark, since its state is lost."""
    gaia.use("dies-in-call")

    ran = gaia("call", "dies-in-call", "--batch", "-", "--keep-going", stdin='{"tool": "echo"}\n' * 2)

    assert ran.code == 4
    assert list(texts_of(ran.stdout).items()) == [("1", "exited"), ("2", "exited")]
    assert "note: restarting 'dies-in-call'; its state is lost\n" in ran.stderr


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_ctrl_c_ends_a_batch(gaia: Gaia, jobs: str) -> None:
    """Ours: while a call is under way, and another line may come."""
    notes = gaia.cwd / "notes"
    gaia.use("hangs-in-call", env={"NOTES": str(notes)})
    running = gaia.popen("call", "hangs-in-call", "--batch", "-", "--jobs", jobs)
    assert running.stdin is not None
    running.stdin.write(b'{"tool": "echo"}\n')
    running.stdin.flush()
    wait_until(lambda: notes.exists() and "tools/call" in notes.read_text())

    running.send_signal(signal.SIGINT)

    out, err = running.communicate(timeout=ENOUGH_SECONDS)
    assert (running.returncode, out, err) == (130, b"", b"")


def test_a_failure_ends_a_batch_while_another_line_is_waited_for(gaia: Gaia) -> None:
    running = gaia.popen("call", "demo", "--batch", "-", "--jobs", "2", "--quiet")
    assert running.stdin is not None
    running.stdin.write(b'{"tool": "fail"}\n')
    running.stdin.flush()

    assert running.wait(ENOUGH_SECONDS) == 9


def test_a_batch_ends_with_the_reader_of_its_results(gaia: Gaia) -> None:
    """Ours: as `yes | head`, whose input has no end either."""
    line = greeting("Ada")
    ran = gaia.command("sh", "-c", f"yes '{line}' | gaia mcp call demo --batch - | head -n 1", timeout=ENOUGH_SECONDS)

    assert list(texts_of(ran.stdout.decode()).values()) == ["Hello, Ada!"]
    assert ran.stderr == b""


def test_every_line_is_checked_against_the_lock_file(gaia: Gaia) -> None:
    agent = gaia.cwd / "meeting.py"
    agent.write_text(MEETING)
    assert gaia("lock", "./meeting.py").code == 0
    agent.write_text(MEETING.replace("Meet.", "Part."))

    ran = gaia("call", "./meeting.py", "--batch", "-", "--keep-going", "--locked", stdin='{"tool": "meet"}\n' * 2)

    assert ran.code == 8
    assert list(texts_of(ran.stdout).values()) == ["contract", "contract"]


def test_a_tool_that_changes_is_checked_again(gaia: Gaia) -> None:
    (gaia.cwd / "changing.py").write_text(CHANGING)
    assert gaia("lock", "./changing.py").code == 0

    ran = gaia("call", "./changing.py", "--batch", "-", "--locked", stdin='{"tool": "change"}\n' * 3)

    assert ran.code == 8
    assert list(texts_of(ran.stdout).values()) == ["changed", "contract"]


def test_every_line_is_held_to_read_only(demo: Gaia) -> None:
    lines = ['{"tool": "order"}', greeting("Ada")]
    assert demo("edit", "demo", "--trust-hints").code == 0

    ran = demo("call", "demo", "--batch", "-", "--keep-going", "--read-only", stdin="\n".join(lines))

    assert ran.code == 8
    assert list(texts_of(ran.stdout).values()) == ["read-only", "Hello, Ada!"]


def test_each_remark_is_printed_once(gaia: Gaia) -> None:
    """Ours: and no more than a few, whatever the lines are."""
    alone = MEETING.replace("Barrier(3", "Barrier(1").replace('"object"', '"object", "properties": {"apple": {}}')
    (gaia.cwd / "meeting.py").write_text(alone)
    lines = [json.dumps({"tool": "meet", "arguments": {f"n{number // 2}": 1}}) for number in range(50)]

    ran = gaia("call", "./meeting.py", "--batch", "-", stdin="\n".join(lines))

    assert ran.stderr.splitlines() == [f"note: 'meet' does not mention 'n{number}'" for number in range(MAX_REMARKS)]
    assert ran.code == 0


# Its calls last until they are let go.
HOLDING = """
import time
from pathlib import Path
from gaia_mcp import MCPAgent

class Holding(MCPAgent):
    def get_mcp_tool_definitions(self):
        return [{"name": "hold", "description": "Hold.", "inputSchema": {"type": "object"}}]

    def execute_mcp_tool(self, name, arguments):
        with Path("begun").open("a") as begun:
            begun.write(".")
        while not Path("go").exists():
            time.sleep(0.01)
        return {"content": []}
"""
LINE_BYTES = 256 * 1024


def test_no_more_lines_are_read_than_are_called(gaia: Gaia) -> None:
    """Ours: memory does not grow with the number of lines. A pipe and a buffer hold less than a line of this test."""
    (gaia.cwd / "holding.py").write_text(HOLDING)
    line = b'{"tool": "hold", "arguments": {"text": "%s"}}\n'
    line %= b"x" * (LINE_BYTES - len(line))
    running = gaia.popen("call", "./holding.py", "--batch", "-", "--jobs", "2")
    assert running.stdin is not None
    begun = gaia.cwd / "begun"
    running.stdin.write(line * 2)
    running.stdin.flush()
    wait_until(lambda: begun.exists() and len(begun.read_bytes()) == 2)

    os.set_blocking(running.stdin.fileno(), False)
    taken = os.write(running.stdin.fileno(), line)
    assert taken < len(line)

    os.set_blocking(running.stdin.fileno(), True)
    (gaia.cwd / "go").touch()
    out, err = running.communicate(line[taken:], timeout=ENOUGH_SECONDS)
    assert (running.returncode, out.count(b"\n"), err) == (0, 3, b"")

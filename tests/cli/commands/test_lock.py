"""`gaia mcp lock`, and `--locked` and `--read-only` of the commands that use tools."""

from __future__ import annotations

import json
import os
import sys
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

import pytest

from gaia_mcp.cli.checks.locked import contract_now
from gaia_mcp.client.tools import MCPTool
from gaia_mcp.core.errors import RemoteProtocolError
from tests.cli.conftest import BIN, entry_of

if TYPE_CHECKING:
    from tests.cli.conftest import Gaia

AGENT = """
import json
from pathlib import Path

class Agent:
    def get_mcp_tool_definitions(self):
        return json.loads((Path(__file__).parent / "tools.json").read_text())

    def execute_mcp_tool(self, tool_name, arguments):
        (Path(__file__).parent / "called").touch()
        return {"tool": tool_name}
"""
SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}}
READ = {"name": "read", "description": "Reads.", "inputSchema": SCHEMA, "annotations": {"readOnlyHint": True}}
WRITE = {"name": "write", "description": "Writes.", "inputSchema": SCHEMA}


class Server:
    """A server `s` whose tools a test can change."""

    def __init__(self, gaia: Gaia) -> None:
        self._folder = gaia.home
        (gaia.home / "agent.py").write_text(AGENT)
        gaia.write({"s": {"command": str(BIN / "gaia"), "args": ["mcp", "serve", f"{gaia.home}/agent.py:Agent"]}})
        self.offer(READ, WRITE)

    def offer(self, *tools: dict[str, Any]) -> None:
        (self._folder / "tools.json").write_text(json.dumps(tools))

    def forget_calls(self) -> None:
        (self._folder / "called").unlink()

    @property
    def was_called(self) -> bool:
        return (self._folder / "called").exists()


@pytest.fixture
def server(gaia: Gaia) -> Server:
    return Server(gaia)


@pytest.fixture
def locked(gaia: Gaia, server: Server) -> Server:
    """The server, its tools locked."""
    assert gaia("lock", "s").code == 0
    return server


def test_tools_are_locked_and_then_unchanged(gaia: Gaia, server: Server) -> None:
    """Ours: the file is written in the working folder, and not rewritten without need."""
    ran = gaia("lock", "s")
    assert (ran.code, ran.stdout, ran.stderr) == (0, "locked 's' in mcp.lock.json: 2 tools\n", "")
    before = (gaia.cwd / "mcp.lock.json").stat().st_ino

    ran = gaia("lock", "s")

    assert (ran.code, ran.stdout) == (0, "'s' is unchanged since it was locked: 2 tools\n")
    assert (gaia.cwd / "mcp.lock.json").stat().st_ino == before


def test_a_change_is_shown_and_refused_until_it_is_approved(gaia: Gaia, locked: Server) -> None:
    """Ours: the approved changes are shown as well."""
    before = (gaia.cwd / "mcp.lock.json").read_bytes()
    locked.offer({**READ, "description": "Reads it.\nAll of it."}, {**WRITE, "name": "put"})
    difference = [
        "  added put",
        "  changed read",
        "    description",
        "      - Reads.",
        "      + Reads it.",
        "      + All of it.",
        "  removed write",
    ]

    ran = gaia("lock", "s")

    assert ran.code == 8
    assert ran.stdout.splitlines() == ["'s' has changed since it was locked:", *difference]
    summary = "'put' added, 'read' changed (description), 'write' removed"
    assert ran.errors == [
        f"error: server 's' does not match mcp.lock.json: {summary}",
        "hint: review the changes; to approve them: gaia mcp lock s --update",
    ]
    assert (gaia.cwd / "mcp.lock.json").read_bytes() == before

    ran = gaia("lock", "s", "--update")

    assert (ran.code, ran.stderr) == (0, "")
    assert ran.stdout.splitlines() == ["'s' has changed since it was locked; approved:", *difference]
    assert gaia("lock", "s").stdout == "'s' is unchanged since it was locked: 2 tools\n"


def test_a_change_that_breaks_no_caller_is_allowed_where_that_is_enough(gaia: Gaia, locked: Server) -> None:
    """Issue: in `test-client`, `call` and `lock`; each other difference is breaking, and says why."""
    schema = {**READ["inputSchema"], "properties": {"city": {"type": "string"}, "lines": {"type": "integer"}}}
    wider = {**READ, "description": "Reads more.", "inputSchema": schema}
    locked.offer(wider, WRITE, {**WRITE, "name": "put"})

    plain = gaia("test-client", "s", "--locked")
    tested = gaia("test-client", "s", "--compatible")
    called = gaia("call", "s", "read", "city=x", "--locked", "--compatible")
    (gaia.cwd / "calls.jsonl").write_text('{"tool": "read", "arguments": {"city": "x"}}\n')
    batched = gaia("call", "s", "--batch", "calls.jsonl", "--compatible")
    locked.offer({**wider, "inputSchema": {**schema, "required": ["lines"]}})
    broken = gaia("test-client", "s", "--locked", "--compatible", "--json")
    refused = gaia("call", "s", "read", "city=x", "--compatible")
    kept = gaia("lock", "s", "--compatible")
    locked.offer(wider, WRITE, {**WRITE, "name": "put"})
    approved = gaia("lock", "s", "--compatible")

    assert (plain.code, tested.code, called.code, batched.code) == (8, 0, 0, 0), (tested.stderr, batched.stderr)
    assert (broken.code, refused.code, kept.code, approved.code) == (8, 8, 8, 0)
    reason = 'inputSchema: to leave out "lines" is no longer allowed'
    check = next(check for check in broken.json["servers"][0]["checks"] if check["name"] == "contract")
    assert [(change["tool"], change["breaking"]) for change in check["error"]["changes"]] == [
        ("read", [reason]), ("write", ["it is gone"])
    ]  # fmt: skip
    assert f"  breaking: {reason}" in refused.stderr.splitlines()
    assert f"'read' is breaking ({reason})" in refused.errors[-2]
    assert f"    breaking: {reason}" in kept.stdout.splitlines()
    assert approved.stdout.startswith("'s' has changed since it was locked; approved:\n  added put\n")
    assert gaia("lock", "s").stdout == "'s' is unchanged since it was locked: 3 tools\n"


def test_several_servers_are_locked_and_others_preserved(gaia: Gaia, locked: Server) -> None:
    """Ours: one that fails does not prevent the others, and decides the exit code."""
    entries = json.loads(gaia.config.read_text())["mcpServers"]
    gaia.write({**entries, "good": entry_of("good-handshake"), "off": entry_of("good-stateless", disabled=True),
                "bad": entry_of("exits-at-once")})  # fmt: skip

    ran = gaia("lock", "good", "bad")

    assert (ran.code, ran.stdout) == (4, "locked 'good' in mcp.lock.json: 10 tools\n")
    assert "'bad'" in ran.errors[0]
    ran = gaia("lock", "--all", "--json")
    assert (ran.code, [(one["name"], one["outcome"]) for one in ran.json["servers"]]) == (
        4,
        [("s", "unchanged"), ("good", "unchanged"), ("bad", "failed")],
    )
    document = json.loads((gaia.cwd / "mcp.lock.json").read_text())
    assert list(document["servers"]) == ["good", "s"]
    assert document["servers"]["good"]["entry"] == {"command": sys.executable, "args": entries_args("good-handshake")}


def entries_args(name: str) -> list[str]:
    return list(entry_of(name)["args"])


def test_json_has_the_changes_as_objects(gaia: Gaia, locked: Server) -> None:
    """Ours: a program decides by their kinds, without parsing text."""
    locked.offer(READ, {**WRITE, "inputSchema": {"type": "object"}})

    ran = gaia("lock", "s", "--json")

    (found,) = ran.json["servers"]
    assert (ran.code, found["outcome"], found["error"]["kind"]) == (8, "changed", "contract")
    lines = ['- properties.city: {"type": "string"}']
    assert found["changes"] == [
        {"tool": "write", "kind": "changed", "parts": [{"part": "inputSchema", "lines": lines}]}
    ]


@pytest.mark.parametrize(("words", "code"), [((), 2), (("nobody",), 3), (("s", "--lock-file", "broken.json"), 3)])
def test_a_server_that_cannot_be_locked_is_reported_in_two_lines(
    gaia: Gaia, server: Server, words: tuple[str, ...], code: int
) -> None:
    """Ours: a broken lock file is left alone."""
    (gaia.cwd / "broken.json").write_text("{")

    ran = gaia("lock", *words)

    assert (ran.code, ran.stdout, len(ran.errors)) == (code, "", 2)
    assert (gaia.cwd / "broken.json").read_text() == "{"
    assert not (gaia.cwd / "mcp.lock.json").exists()


def test_invalid_tools_are_reported_and_not_locked(gaia: Gaia) -> None:
    """Ours: the valid ones are locked."""
    gaia.use("bad-tools")

    ran = gaia("lock", "bad-tools")

    assert ran.code == 0
    assert "note: bad-tools: tool " in ran.stderr
    assert gaia("lock", "bad-tools").stdout.startswith("'bad-tools' is unchanged since it was locked")


def test_lock_all_without_servers_is_an_error(gaia: Gaia) -> None:
    """Ours: a build must not go on with nothing locked."""
    gaia.write({})

    assert gaia("lock", "--all").code == 3


def test_a_definition_without_a_canonical_form_is_a_remote_error() -> None:
    """Ours: JSON has no infinity, so that nothing is written of it."""
    tool = MCPTool("x", "", {}, {}, {"name": "x", "inputSchema": {"maximum": float("inf")}})

    with pytest.raises(RemoteProtocolError):
        contract_now("s", [tool])


def test_test_client_passes_an_unchanged_server(gaia: Gaia, locked: Server) -> None:
    """Ours: a check of its own, made on demand."""
    ran = gaia("test-client", "s", "--locked")

    assert ran.code == 0
    assert "  ok    contract " in ran.stdout
    assert "contract" not in gaia("test-client", "s").stdout


def test_test_client_fails_with_the_difference_when_a_tool_has_changed(gaia: Gaia, locked: Server) -> None:
    """Ours: for people, for programs, and for build servers."""
    locked.offer({**READ, "annotations": {"readOnlyHint": False}}, WRITE)

    ran = gaia("test-client", "s", "--locked", "--junit", "report.xml")

    assert ran.code == 8
    lines = ran.stdout.splitlines()
    at = next(number for number, line in enumerate(lines) if line.startswith("  FAIL  contract "))
    assert [line.strip() for line in lines[at + 1 : at + 4]] == [
        "changed read", "annotations", "~ readOnlyHint: true → false"
    ]  # fmt: skip
    assert ran.errors[1] == "hint: review the changes; to approve them: gaia mcp lock s --update"
    failure = ElementTree.parse(gaia.cwd / "report.xml").getroot().findtext(".//failure")
    assert failure is not None
    assert [line.strip() for line in failure.splitlines()] == [
        "changed read",
        "annotations",
        "~ readOnlyHint: true → false",
        ran.errors[1].removeprefix("hint: "),
    ]

    ran = gaia("test-client", "s", "--lock-file", "mcp.lock.json", "--json")
    check = next(check for check in ran.json["servers"][0]["checks"] if check["name"] == "contract")
    assert (ran.code, check["outcome"], check["error"]["changes"][0]["tool"]) == (8, "fail", "read")


def test_test_client_calls_no_tool_of_a_changed_server(gaia: Gaia, locked: Server) -> None:
    """Ours: that call is what the lock has to prevent."""
    assert gaia("test-client", "s", "--locked", "--call", "read").code == 0
    assert locked.was_called
    locked.forget_calls()
    locked.offer({**READ, "description": "Reads more."}, WRITE)

    ran = gaia("test-client", "s", "--locked", "--call", "read")

    assert ran.code == 8
    assert "  skip  call\n" in ran.stdout
    assert not locked.was_called


def test_a_pipe_in_place_of_the_lock_file_is_refused(gaia: Gaia, server: Server) -> None:
    """Ours: it lies in a folder that others may have made, and a program may never write to it."""
    os.mkfifo(gaia.cwd / "mcp.lock.json")

    ran = gaia("call", "s", "read", "--locked")

    assert not server.was_called

    assert ran.code == 3
    assert "mcp.lock.json" in ran.errors[0]


def test_a_server_that_is_not_locked_is_refused(gaia: Gaia, server: Server) -> None:
    """Ours: a missing file approves nothing either."""
    assert gaia("test-client", "s", "--locked").code == 3
    ran = gaia("call", "s", "read", "--locked")
    assert (ran.code, ran.errors[1]) == (3, "hint: create it with: gaia mcp lock NAME...")

    gaia.write({**json.loads(gaia.config.read_text())["mcpServers"], "good": entry_of("good-handshake")})
    assert gaia("lock", "good", "--lock-file", "my lock.json").code == 0
    for words in (("call", "s", "read"), ("test-client", "s")):
        ran = gaia(*words, "--lock-file", "my lock.json")
        assert ran.code == 8
        assert ran.errors[-1] == "hint: approve its tools: gaia mcp lock s --lock-file 'my lock.json'"
    assert not server.was_called


def test_an_unchanged_tool_is_called(gaia: Gaia, locked: Server) -> None:
    """Ours: the change of another tool does not matter."""
    locked.offer(READ, {**WRITE, "description": "Writes more."}, {**WRITE, "name": "new"})

    ran = gaia("call", "s", "read", "--locked")

    assert (ran.code, json.loads(ran.stdout)) == (0, {"tool": "read"})


@pytest.mark.parametrize(
    ("tool", "words"),
    [({**READ, "title": "Read"}, ["changed read", "  title", "    + Read"]), ({**READ, "name": "new"}, ["added new"])],
)
def test_a_call_of_a_changed_or_new_tool_is_refused_with_the_difference(
    gaia: Gaia, locked: Server, tool: dict[str, Any], words: list[str]
) -> None:
    """Ours: before anything is sent; stdout is for the result of the tool."""
    locked.offer(tool)

    ran = gaia("call", "s", tool["name"], "--locked")

    assert (ran.code, ran.stdout) == (8, "")
    assert ran.errors[:-2] == words
    assert not locked.was_called
    ran = gaia("call", "s", tool["name"], "--locked", "--json")
    assert (ran.json["exit"], ran.json["error"]["kind"]) == (8, "contract")
    assert ran.json["error"]["changes"][0]["tool"] == tool["name"]


def test_read_only_refuses_an_unmarked_tool(gaia: Gaia, server: Server) -> None:
    """Ours: the specification's default of the hint is false. Nothing is sent."""
    ran = gaia("call", "s", "write", "--read-only")

    assert (ran.code, ran.stdout) == (8, "")
    assert ran.errors[0] == "error: tool 'write' of 's' is not marked as read-only by its server"
    assert not server.was_called
    assert gaia("call", "s", "write", "--read-only", "--json").json["error"]["kind"] == "read-only"
    gaia("edit", "s", "--trust-hints")
    assert gaia("call", "s", "read", "--read-only").code == 0


def test_read_only_refuses_an_untrusted_hint(gaia: Gaia, server: Server) -> None:
    """B-10: what a server declares of its tools is believed only while the person trusts it."""
    ran = gaia("call", "s", "read", "--read-only")

    assert ran.code == 8
    assert ran.errors == [
        "error: tool 'read' of 's' is marked as read-only, but the hints of its server are not trusted",
        "hint: if you trust its author: gaia mcp edit s --trust-hints",
    ]
    assert not server.was_called
    gaia("edit", "s", "--trust-hints")
    assert gaia("call", "s", "read", "--read-only").code == 0
    gaia("edit", "s", "--no-trust-hints")
    assert gaia("call", "s", "read", "--read-only").code == 8


def test_read_only_refuses_a_hint_that_contradicts_the_name(gaia: Gaia, server: Server) -> None:
    """Ours: a server's hint never lowers a guard; GAIA asks for confirmation at the same names."""
    server.offer({**READ, "name": "chmod"})

    ran = gaia("call", "s", "chmod", "--read-only")

    assert ran.code == 8
    problem = "is marked as read-only, but its name suggests that it changes something"
    assert ran.errors[0] == f"error: tool 'chmod' of 's' {problem}"
    assert not server.was_called
    assert gaia("call", "s", "chmod").code == 0

"""Restrictions of `gaia mcp serve`: `--allow`, `--deny`, `--read-only`, `--locked`, `--search` and `--audit`."""

from __future__ import annotations

import json
import os
import signal
import stat
from typing import TYPE_CHECKING, Any

import pytest

from gaia_mcp.agents.demo import DemoAgent
from gaia_mcp.asking import Call
from gaia_mcp.cli.lines import CommandLine
from gaia_mcp.cli.screen.output import Screen
from gaia_mcp.cli.serving.gate import Gate, ToolOptions, scope_rules
from gaia_mcp.server.agent import AgentProvider
from gaia_mcp.server.provider import InsufficientScopeError
from tests.cli.conftest import BIN
from tests.cli.serving.test_over_http import url_of
from tests.server.talk import META
from tests.waiting import wait_until

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cli.conftest import Gaia

SERVE = (str(BIN / "gaia"), "mcp", "serve")
AGENT = """
from gaia_mcp import MCPAgent, tool

class Notes(MCPAgent):
    @tool(read_only=True)
    def find(self) -> str:
        "Find notes."
        return "found"

    @tool
    def add(self, text: str) -> str:
        "{text}"
        return "added"
"""


def request(number: int, method: str, **params: Any) -> str:
    message = {"jsonrpc": "2.0", "id": number, "method": method, "params": {**params, "_meta": META}}
    return json.dumps(message) + "\n"


def write(folder: Path, text: str = "Add a note.") -> None:
    (folder / "notes.py").write_text(AGENT.format(text=text))


def listed(gaia: Gaia, *options: str) -> list[str]:
    """The tools that a client of `serve notes.py` with these options has."""
    ran = gaia("tools", "--json", "--", *SERVE, "notes.py", *options)
    assert ran.code == 0, ran.stderr
    return [tool["name"] for tool in ran.json["servers"][0]["tools"]]


def test_a_client_gets_only_the_allowed_tools(gaia: Gaia) -> None:
    """Ours: a tool that is not listed is unknown in a call too."""
    write(gaia.cwd)

    assert listed(gaia) == ["find", "add"]
    assert listed(gaia, "--allow", "f*", "--allow", "notes.py/add", "--deny", "add") == ["find"]
    assert listed(gaia, "--read-only") == ["find"]
    assert listed(gaia, "--search") == ["find", "describe", "call"]
    ran = gaia("call", "add", "text=x", "--", *SERVE, "notes.py", "--deny", "add")
    assert (ran.code, ran.stdout) == (7, "")
    answers = gaia("serve", "notes.py", "--read-only", stdin=request(1, "tools/call", name="add", arguments={}))
    assert answers.json["error"]["message"] == "Unknown tool: add"


def test_check_lists_the_allowed_tools_and_reports_doubtful_options(gaia: Gaia) -> None:
    """Ours: to see it before anything is served."""
    write(gaia.cwd)

    ran = gaia("serve", "notes.py", "--check", "--json", "--read-only", "--allow", "fin?", "--deny", "del,rm")

    assert [tool["name"] for tool in ran.json["tools"]] == ["find"]
    assert ran.stderr == "note: --deny 'del,rm' matches no tool of 'notes.py': repeat the option for each pattern\n"
    doubtful = gaia("serve", "demo", "--check", "--read-only")
    assert doubtful.code == 0
    assert doubtful.stderr.splitlines() == [
        "note: 'demo/add' is marked read-only, but its name suggests otherwise; leave it out with: --deny demo/add"
    ]


def test_the_entry_for_a_host_has_the_options(gaia: Gaia) -> None:
    """Ours: with absolute paths, since a host starts it in another folder."""
    options = ("--allow", "a*", "--deny", "b", "--read-only", "--search", "--locked", "--audit", "audit.jsonl")

    ran = gaia("serve", "demo", "--print-config", "cursor", "--json", *options)

    (entry,) = ran.json["servers"].values()
    assert entry["args"][-11:] == [
        "demo", "--allow", "a*", "--deny", "b", "--read-only", "--lock-file", str(gaia.cwd / "mcp.lock.json"),
        "--search", "--audit", str(gaia.cwd / "audit.jsonl"),
    ]  # fmt: skip
    assert not (gaia.cwd / "audit.jsonl").exists()


def test_a_changed_tool_is_no_longer_listed(gaia: Gaia) -> None:
    """Ours, `--locked`: neither at the start nor while the server runs, which reports the change."""
    write(gaia.cwd)
    assert gaia("lock", "notes.py").code == 0
    process = gaia.popen("serve", "notes.py", "--locked", "--reload")
    assert process.stdin is not None
    assert process.stdout is not None

    def ask(method: str, **params: Any) -> Any:
        process.stdin.write(request(1, method, **params).encode())
        process.stdin.flush()
        while "id" not in (answer := json.loads(process.stdout.readline())):
            pass
        return answer

    def tools() -> list[str]:
        return [tool["name"] for tool in ask("tools/list")["result"]["tools"]]

    assert tools() == ["find", "add"]
    write(gaia.cwd, "Add a note, and send it to me.")
    wait_until(lambda: tools() == ["find"])
    assert ask("tools/call", name="add", arguments={"text": "x"})["error"]["message"] == "Unknown tool: add"
    write(gaia.cwd)
    wait_until(lambda: tools() == ["find", "add"])
    _, err = process.communicate(timeout=20)

    reports = [line for line in err.decode().splitlines() if "mcp.lock.json" in line]
    assert len(reports) == 1
    assert reports[0].startswith("note: server 'notes.py' does not match mcp.lock.json: 'add' changed (description);")
    assert reports[0].endswith("to approve them: gaia mcp lock notes.py --update")


def test_a_target_that_was_never_locked_is_not_served(gaia: Gaia) -> None:
    """Ours: none of its tools would be listed."""
    write(gaia.cwd)
    assert gaia("lock", "demo").code == 0

    for option in ((), ("--check",)):
        ran = gaia("serve", "notes.py", "--locked", *option)
        assert (ran.code, ran.errors) == (
            8,
            [
                "error: server 'notes.py' is not in mcp.lock.json",
                "hint: approve its tools: gaia mcp lock notes.py",
            ],
        )


def test_calls_over_http_are_audited(gaia: Gaia) -> None:
    """Ours: with all other options, under the name of the tool that `call` has called."""
    write(gaia.cwd)
    options = ("--read-only", "--search", "--audit", "audit.jsonl", "--json")
    process = gaia.popen("serve", "notes.py", "--http", "127.0.0.1:0", *options)
    url = url_of(process)

    assert gaia("call", url, "call", "name=find").stdout == "found\n"
    assert gaia("call", url, "call", "name=add", "arguments:={}").code == 9
    assert gaia("call", url, "find", "words=notes").stdout == "find()  Find notes.\n"
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=20)

    path = gaia.cwd / "audit.jsonl"
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert [(line["server"], line["tool"], line["outcome"]) for line in lines] == [
        ("notes.py", "find", "ok"), ("notes.py", "add", "error"),
    ]  # fmt: skip
    assert lines[0]["client"]["name"] == "gaia-mcp"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_scopes_apply_to_a_tool_called_through_search_and_are_audited(tmp_path: Path) -> None:
    """Ours: `--scope 'a*=admin'` with `--search`; a call that lacks a scope is refused, and recorded."""
    options = ToolOptions(search=True, audit=tmp_path / "audit.jsonl")
    provider = Gate(Screen(CommandLine()), options, scope_rules(["all", "a*=admin"])).of_one(
        "demo", AgentProvider(DemoAgent())
    )
    call = Call()
    call.scopes = frozenset({"all"})
    params = {"name": "call", "arguments": {"name": "add", "arguments": {"a": 1, "b": 2}}}

    with pytest.raises(InsufficientScopeError) as caught:
        provider.answer("tools/call", params, call)
    call.scopes = frozenset({"all", "admin"})
    provider.answer("tools/call", params, call)

    assert caught.value.scopes == ("admin",)
    lines = [json.loads(line) for line in (tmp_path / "audit.jsonl").read_text().splitlines()]
    assert [(line["tool"], line["outcome"]) for line in lines] == [("add", "error"), ("add", "ok")]


@pytest.mark.peer
def test_a_gateway_has_the_same_restrictions(gaia: Gaia, npm_servers: dict[str, list[str]]) -> None:
    """Ours: all options together, for two servers from npm and one that does not start."""
    commands = {"every": npm_servers["everything"], "files": [*npm_servers["filesystem"], str(gaia.cwd)]}
    servers = {name: {"command": command[0], "args": command[1:]} for name, command in commands.items()}
    gaia.write({**servers, "dead": {"command": "/bin/false"}})
    (gaia.cwd / "a.txt").write_text("kept")
    assert gaia("lock", "files").code == 0
    options = ("--all", "--read-only", "--lock-file", "mcp.lock.json", "--deny", "list_*", "--search")
    gate = ("--", *SERVE, *options, "--audit", "audit.jsonl")

    path = str(gaia.cwd / "a.txt")
    assert gaia("call", "call", "name=read_text_file", f'arguments:={{"path": "{path}"}}', *gate).stdout == "kept\n"
    refused = gaia("call", "call", "name=write_file", f'arguments:={{"path": "{path}", "content": ""}}', *gate)
    found = gaia("call", "find", *gate)

    assert (refused.code, "Unknown tool: write_file" in refused.stderr) == (9, True)
    assert (gaia.cwd / "a.txt").read_text() == "kept"
    assert found.stdout == "files: 7 tools\nNot available now: dead\n"
    lines = [json.loads(line) for line in (gaia.cwd / "audit.jsonl").read_text().splitlines()]
    assert {(line["server"], line["tool"]) for line in lines} == {("files", "read_text_file"), ("files", "write_file")}


@pytest.mark.parametrize(
    ("options", "code", "error"),
    [
        (("--audit", "folder"), 3, "error: folder: cannot be written: Is a directory"),
        (("--audit", "pipe"), 3, "error: pipe: cannot be written: it is a pipe, not a regular file"),
        (("--audit", "/dev/full"), 3, "error: /dev/full: cannot be written: it is a device, not a regular file"),
        (("--audit", "none/audit.jsonl"), 3, "error: none/audit.jsonl: cannot be written: No such file or directory"),
        (("--locked",), 3, "error: mcp.lock.json: does not exist"),
        (("--lock-file", "pipe"), 3, "error: pipe: cannot be read: it is a pipe, not a regular file"),
        (("--allow", ""), 2, "error: --allow needs a pattern, not an empty word"),
        (("--deny", "a", "--deny", " "), 2, "error: --deny needs a pattern, not an empty word"),
    ],
)
def test_an_invalid_restriction_is_an_error_before_anything_is_served(
    gaia: Gaia, options: tuple[str, ...], code: int, error: str
) -> None:
    """Ours: a typing error must not leave a server unrestricted."""
    (gaia.cwd / "folder").mkdir()
    os.mkfifo(gaia.cwd / "pipe")

    ran = gaia("serve", "demo", *options)

    assert (ran.code, ran.errors[0], ran.stdout) == (code, error, "")
    assert ran.errors[1].startswith("hint: ")

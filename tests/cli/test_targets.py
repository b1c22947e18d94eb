"""Servers that are used without being saved: agents, command lines and URLs in the place of a name."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.cli.conftest import BIN, SERVERS, entry_of, run_on_terminal

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cli.conftest import Gaia

AGENT = """
import sys

print("imported")


class {name}:
    def get_mcp_tool_definitions(self):
        return [{{
            "name": "add",
            "description": "Add a note",
            "inputSchema": {{"type": "object", "properties": {{"text": {{"type": "string"}}}}, "required": ["text"]}},
        }}]

    def execute_mcp_tool(self, tool_name, arguments):
        print("called")
        if arguments["text"] == "crash":
            import os

            os._exit(5)
        return f"added {{arguments['text']}}"

    def get_mcp_prompts(self):
        return [{{"name": "review", "arguments": [{{"name": "note", "required": True}}]}}]

    def get_mcp_prompt(self, name, arguments):
        return f"Review {{arguments['note']}}"

    def get_mcp_resources(self):
        return [{{"uri": "note://1", "name": "first"}}]

    def read_mcp_resource(self, uri):
        return "the first note"
"""
TOKEN = "sk-1234567890abcdef"
# A server of our own as a command line of one word with spaces.
HANDSHAKE = f"{sys.executable} {SERVERS / 'good_handshake.py'}"


@pytest.fixture
def notes(gaia: Gaia) -> Gaia:
    """The program, in a folder with the agent `Notes`."""
    (gaia.cwd / "notes.py").write_text(AGENT.format(name="Notes"))
    return gaia


def nothing_is_saved(gaia: Gaia) -> bool:
    return not gaia.config.exists()


@pytest.mark.parametrize("target", ["./notes.py:Notes", "notes.py", "notes:Notes"])
def test_an_agent_is_used_by_its_file_or_its_module(notes: Gaia, target: str) -> None:
    """Ours: what it prints is not in the answer."""
    tools, call = notes("tools", target), notes("call", target, "add", "text=hi")

    assert (tools.stdout.splitlines()[1:], tools.stderr, tools.code) == (
        ["  add(text: string)", "      Add a note"],
        "",
        0,
    )
    assert tools.stdout.startswith(f"{target} (")
    assert (call.stdout.strip(), call.stderr, call.code) == ("added hi", "", 0)
    assert nothing_is_saved(notes)


def test_every_command_that_uses_a_server_takes_an_agent(notes: Gaia) -> None:
    """Ours: with the same name in all of them."""
    target = "./notes.py:Notes"

    assert "review(note)" in notes("prompts", target).stdout
    assert notes("prompt", target, "review", "note=this").stdout.strip() == "Review this"
    assert "note://1" in notes("resources", target).stdout
    assert notes("read", target, "note://1").stdout.strip() == "the first note"
    assert notes("test-client", target, "--call", "add", "text=hi").code == 0
    assert notes("show", target, "--check", "--json").json["known_tools"] == 1
    assert "Tools: add" in notes("guide", target).stdout
    assert notes("search", "note", "--server", target).stdout.startswith(f"{target} add(text: string)")
    assert "imported" in notes("logs", target).stdout
    assert nothing_is_saved(notes)


@pytest.mark.parametrize("words", [[HANDSHAKE], ["--", *HANDSHAKE.split()]], ids=["one word", "dashes"])
def test_every_command_that_uses_a_server_takes_a_command_line(gaia: Gaia, words: list[str]) -> None:
    """Ours: quoted in the place of the name, or after two dashes behind everything else."""

    def run(command: str, *rest: str) -> str:
        is_quoted = words[0] != "--"
        ran = gaia(command, *words, *rest) if is_quoted else gaia(command, *rest, *words)
        assert (ran.code, ran.stderr) == (0, ""), (command, ran)
        return ran.stdout

    assert run("tools").startswith(f"{HANDSHAKE} (")
    assert json.loads(run("call", "echo", "text=hi")) == {"text": "hi"}
    assert "1 of 1 server passed" in run("test-client", "--call", "echo", "text=hi")
    assert json.loads(run("show", "--json"))["known_tools"] > 1
    assert json.loads(run("lock", "--json"))["servers"][0]["name"] == HANDSHAKE
    assert json.loads(run("call", "--locked", "echo", "text=hi")) == {"text": "hi"}
    assert nothing_is_saved(gaia)


def test_a_command_after_two_dashes_comes_with_the_tool_before_them(gaia: Gaia) -> None:
    """Ours: as with other programs that call tools; options may stand anywhere before the dashes."""
    command = HANDSHAKE.split()

    ran = gaia("call", "echo", "--json", "text=hi", "--", *command)
    forgotten = gaia("call", "--", *command)

    assert ran.json["content"] == [{"type": "text", "text": '{"text": "hi"}'}]
    assert (forgotten.code, forgotten.errors[0]) == (2, f"error: no tool of {HANDSHAKE!r} given")


@pytest.mark.parametrize("command", ["prompt", "read"])
def test_prompts_and_resources_come_with_a_command_too(notes: Gaia, command: str) -> None:
    """Ours: before the dashes, as a tool does."""
    words = {"prompt": ["review", "note=this"], "read": ["note://1"]}[command]

    ran = notes(command, *words, "--", "gaia", "mcp", "serve", "./notes.py")

    assert (ran.code, ran.stdout.strip()) == (0, {"prompt": "Review this", "read": "the first note"}[command])


def test_a_command_is_watched_until_it_ends(gaia: Gaia) -> None:
    """Ours."""
    server = ["env", "ORDERS=orders", sys.executable, str(SERVERS / "announces.py"), "2026-07-28"]

    ran = gaia("watch", "--timeout", "1.5", "--", *server)

    assert (ran.code, ran.stderr.startswith("note: watching tools")) == (0, True), ran


def test_a_command_is_recorded_in_place_of_a_server(gaia: Gaia) -> None:
    """Ours: so any client can be pointed at it, with nothing saved."""
    recorder = f"gaia mcp record --to r.jsonl -- {HANDSHAKE}"

    assert gaia("call", "echo", "text=hi", "--", *recorder.split()).json == {"text": "hi"}
    assert gaia("call", "gaia mcp replay r.jsonl", "echo", "text=hi").json == {"text": "hi"}
    assert gaia("record", "demo", "two", "--to", "x").code == 2


def test_two_dashes_mean_what_they_meant_where_a_configured_server_is_named(demo: Gaia) -> None:
    """Ours: no more options."""
    for words in (
        ("demo", "greet", "--", "name=Ada"),
        ("demo", "--", "greet", "name=Ada"),
        ("--", "demo", "greet", "name=Ada"),
        ("--", "demo.greet", "name=Ada"),
    ):
        assert demo("call", *words).stdout.strip() == "Hello, Ada!", words
    assert demo("tools", "--", "demo").code == 0
    assert demo("test-client", "demo", "--call", "greet", "--", "name=Ada").code == 0


def test_a_configured_name_wins_over_a_file_with_a_remark(notes: Gaia) -> None:
    """Ours: and what is meant otherwise can be written as a path."""
    notes.write({"notes.py": entry_of("good-handshake"), "demo": entry_of("good-handshake")})

    ran = notes("call", "notes.py", "echo", "text=hi")

    assert (ran.code, ran.json) == (0, {"text": "hi"})
    assert (
        ran.stderr == "note: 'notes.py' is the name of a saved server, which is used; for the file, type ./notes.py\n"
    )
    assert notes("call", "./notes.py", "add", "text=hi").stdout.strip() == "added hi"
    assert notes("call", "demo", "echo", "text=hi").stderr == ""


def test_a_built_in_agent_needs_no_name(gaia: Gaia) -> None:
    """Ours: the first thing that a new user can call."""
    assert gaia("call", "demo", "greet", "name=Ada").stdout.strip() == "Hello, Ada!"
    assert gaia("call", "demo.greet", "name=Ada").stdout.strip() == "Hello, Ada!"
    assert nothing_is_saved(gaia)


def test_one_tool_of_a_target_is_looked_at(notes: Gaia) -> None:
    """Ours: as one of a configured server; a word that can only be a target is one."""
    notes.use("good-handshake")

    for words in (["./notes.py", "add"], ["add", "--", "./notes.py"], ["./notes.py", "add", "good-handshake", "echo"]):
        ran = notes("tools", "--names", *words)
        assert (ran.code, ran.stdout.split()[0].rpartition(".")[2]) == (0, "add"), ran
    assert notes("tools", "demo.greet", "--names").stdout == "greet\n"
    assert notes("tools", "good-handshake", "./notes.py", "nope").errors[0].endswith("has no tool 'nope'")


def test_several_targets_are_asked_at_once_beside_configured_servers(notes: Gaia) -> None:
    """Ours: each under its own name."""
    notes.use("good-handshake")

    ran = notes("tools", "good-handshake", "./notes.py", "--json", "--", *HANDSHAKE.split())

    assert [server["name"] for server in ran.json["servers"]] == ["good-handshake", "./notes.py", HANDSHAKE]


@pytest.mark.parametrize(
    ("words", "code", "problem", "hint"),
    [
        (("tools", ""), 3, "no server '' in ", "the name is empty"),
        (("tools", "   "), 3, "no server ' ' in ", "the name is empty"),
        (("tools", "nope"), 3, "no server 'nope' in ", "list the servers with: gaia mcp list"),
        (
            ("tools", "gmcp", "serve", "x y"),
            3,
            "no server 'gmcp' in ",
            "run it with: gaia mcp tools -- gmcp serve 'x y'",
        ),
        (
            ("tools", "sh", "-y", "x y"),
            2,
            "no such option: -y",
            "put -- before the command of a server: gaia mcp tools -- sh -y 'x y'",
        ),
        (("tools", "nope", "-y"), 2, "no such option: -y", "see: gaia mcp tools --help"),
        (("tools", "gmcp"), 3, "no server 'gmcp' in ", "it is a program; run it with: gaia mcp tools -- gmcp"),
        (("tools", "env"), 3, "no server 'env' in ", "it is a program; run it with: gaia mcp tools -- env"),
        (("call", "cat", "x"), 3, "no server 'cat' in ", "list the servers with: gaia mcp list"),
        (("tools", "localhost:80/mcp"), 3, "no server ", "gaia mcp tools http://localhost:80/mcp"),
        (("call", "./gone.py", "x"), 3, "agent './gone.py' does not exist: there is no file './gone.py'", "check"),
        (("call", "./notes.py:Nots", "x"), 3, "agent './notes.py:Nots' does not exist: ", "did you mean 'Notes'?"),
        (("tools", "./broken.py"), 3, "agent './broken.py' cannot be imported: ZeroDivisionError: ", "--debug"),
        (("test-client", "./broken.py"), 3, "agent './broken.py' cannot be imported: ZeroDivisionError: ", "--debug"),
        (("tools", "./two.py"), 3, "agent './two.py' contains several agents: One, Two", "name one: ./two.py:One"),
        (("tools", "nope.mod:X"), 3, "agent 'nope.mod:X' cannot be imported: ModuleNotFoundError: ", "install"),
        (("tools", "nope --x"), 4, "server 'nope --x' could not be started: 'nope' was not found on PATH", "install"),
        (("tools", "--", "nope"), 4, "server 'nope' could not be started: 'nope' was not found on PATH", "install"),
        (("tools", "./nope"), 4, "server './nope' could not be started: './nope' does not exist", "check"),
        (("tools", "x | y"), 3, "server 'x | y': the command line uses shell syntax ('|')", "gaia mcp tools -- sh -c"),
        (("tools", "A=1 x"), 4, "server 'A=1 x' could not be started: 'A=1' was not found", "-- env A="),
        (("call", "./notes.py"), 2, "no tool of './notes.py' given", "gaia mcp tools ./notes.py"),
        (("call", "./notes.py", "nope"), 7, "server './notes.py' has no tool 'nope'", "gaia mcp tools ./notes.py"),
        (("show", "one", "two"), 3, "no server 'one' in ", "gaia mcp list"),
        (("show", "demo", "two"), 2, "one server at a time, not also 'two'", "gaia mcp show --help"),
    ],
)
def test_what_cannot_be_used_is_two_lines_and_an_exit_code(
    notes: Gaia, words: tuple[str, ...], code: int, problem: str, hint: str
) -> None:
    """Ours: what was typed is repeated, and what to type next."""
    (notes.cwd / "broken.py").write_text("1 / 0\n")
    (notes.cwd / "two.py").write_text(AGENT.format(name="One") + AGENT.format(name="Two"))

    ran = notes(*words)

    assert ran.code == code, ran
    assert ran.errors[0].startswith(f"error: {problem}"), ran
    assert hint in ran.errors[1], ran
    assert len(ran.errors) == 2


def test_a_server_that_is_no_agent_is_told_how_to_be_run(gaia: Gaia) -> None:
    """Ours: many a `server.py` is a program."""
    (gaia.cwd / "server.py").write_text("x = 1\n")

    ran = gaia("tools", "./server.py")

    assert (ran.code, ran.errors) == (
        3,
        [
            "error: agent './server.py' contains no agent class",
            "hint: if it is an MCP server, run it with: gaia mcp tools -- python ./server.py",
        ],
    )


@pytest.mark.parametrize("words", [("tools",), ("call", "x"), ("test-client",), ("show", "--check")])
def test_a_url_where_nothing_is_hides_its_secrets(gaia: Gaia, words: tuple[str, ...]) -> None:
    """Ours: in the name that it has in errors, and in those."""
    command, *rest = words

    ran = gaia(command, f"http://me:{TOKEN}@127.0.0.1:1/mcp?key={TOKEN}", *rest)

    assert ran.code == 4
    told = ran.stderr + ran.stdout
    assert "http://****@127.0.0.1:1/mcp?key=****" in told
    assert "could not be reached at 127.0.0.1:1: nothing listens there" in told
    assert TOKEN not in ran.stdout + ran.stderr


def test_a_command_line_hides_its_secrets(gaia: Gaia) -> None:
    """Ours: in errors, hints, help pages, logs and the names of files."""
    line = f"{HANDSHAKE} --token {TOKEN}"
    for words in (("tools", line), ("call", line, "echo", "--help"), ("call", line, "nope", "--help"), ("show", line)):
        ran = gaia(*words)
        assert ran.code in (0, 7), ran
        assert TOKEN not in ran.stdout + ran.stderr
        assert "--token ****" in ran.stdout + ran.stderr, words
    for words in (
        [f"nope --token {TOKEN}"],
        ["--", sys.executable, str(SERVERS / "exits_at_once.py"), "--token", TOKEN],
    ):
        ran = gaia("tools", *words)
        assert ran.code == 4
        assert TOKEN not in ran.stderr
        assert "--token ****" in ran.stderr
    assert not [path for path in gaia.home.rglob("*") if TOKEN in path.name]


def test_an_agent_that_crashes_does_not_take_the_command_line_with_it(notes: Gaia) -> None:
    """Ours: it runs in a process of its own."""
    ran = notes("call", "./notes.py", "add", "text=crash")

    assert ran.code == 4
    assert ran.errors[0].startswith("error: server './notes.py' exited with status 5 while answering ")


def test_a_target_is_run_only_because_it_was_typed(notes: Gaia) -> None:
    """Ours: not by a TAB, not by a search in general, not for all, and not by a configuration that is not there."""
    (notes.cwd / "notes.py").write_text("import pathlib\npathlib.Path('ran').touch()\n")
    line = ["mcp", "call", "./notes.py:Notes", ""]

    subprocess.run([BIN / "gaia", "complete", "fish", "--", *line], cwd=notes.cwd, env=notes.environ, check=True)
    notes("search", "note")
    notes("test-client", "--all")
    notes("tools")
    notes("lock", "--all")
    notes("logs", "./notes.py:Notes")
    notes("show", "./notes.py:Notes")
    assert not (notes.cwd / "ran").exists()

    notes("tools", "./notes.py:Notes")
    assert (notes.cwd / "ran").exists()


def completed(gaia: Gaia, *line: str) -> list[str]:
    """What `line` may become at a TAB."""
    command = [BIN / "gaia", "complete", "fish", "--", "mcp", *line]
    ran = subprocess.run(command, cwd=gaia.cwd, env=gaia.environ, capture_output=True, text=True, check=True)
    return [each.partition("\t")[0] for each in ran.stdout.splitlines()]


def test_a_tab_knows_what_was_looked_at(notes: Gaia, tmp_path: Path) -> None:
    """Ours: however the same target is written; and not the agent of the same name in another folder."""
    assert completed(notes, "call", "./notes.py:Notes", "") == []
    notes("tools", "./notes.py:Notes")
    notes("prompts", "notes.py:Notes")
    notes("resources", "./notes.py:Notes")
    notes("tools", "--", *HANDSHAKE.split())

    for target in ("./notes.py:Notes", "notes.py:Notes", str(notes.cwd / "notes.py:Notes")):
        assert completed(notes, "call", target, "") == ["add"]
        assert completed(notes, "call", target, "add", "") == ["text="]
    assert completed(notes, "prompt", "./notes.py:Notes", "review", "") == ["note="]
    assert completed(notes, "read", "./notes.py:Notes", "") == ["note://1"]
    assert completed(notes, "call", HANDSHAKE, "ech") == ["echo"]
    other = tmp_path / "other"
    other.mkdir()
    (other / "notes.py").touch()
    notes.cwd = other
    assert completed(notes, "call", "./notes.py:Notes", "") == []
    assert completed(notes, "call", HANDSHAKE, "ech") == ["echo"]


def test_the_help_of_a_tool_is_that_of_a_target(notes: Gaia) -> None:
    """Ours: once it was looked at; before, it is told how."""
    assert "gaia mcp tools ./notes.py" in notes("call", "./notes.py", "add", "--help").stderr
    notes("tools", "./notes.py")
    assert "Example: gaia mcp call ./notes.py add text=" in notes("call", "./notes.py", "add", "--help").stdout


def test_a_terminal_is_told_how_to_keep_what_was_tried(notes: Gaia) -> None:
    """Ours: and nothing else is: not a pipe, not with --quiet, not with --json, not after a failure."""
    kept = "note: this server is not saved; save it with: gaia mcp add notes ./notes.py:Notes"

    seen, code = run_on_terminal(notes, "call", "./notes.py:Notes", "add", "text=hi")
    assert (code, kept in seen) == (0, True)
    for words in (("--quiet", "add", "text=hi"), ("--json", "add", "text=hi"), ("nope",)):
        seen, _ = run_on_terminal(notes, "call", "./notes.py:Notes", *words)
        assert "nothing was saved" not in seen
    assert notes("call", "./notes.py:Notes", "add", "text=hi").stderr == ""


def test_a_lock_file_in_a_project_holds_its_agent(notes: Gaia) -> None:
    """Ours: the same on every machine, so that a build can test it."""
    target = "./notes.py:Notes"
    assert notes("lock", target).code == 0

    locked = json.loads((notes.cwd / "mcp.lock.json").read_text())
    assert locked["servers"][target]["entry"] == {"agent": "notes.py:Notes"}
    assert notes("test-client", target, "--locked").code == 0
    assert notes("call", target, "add", "text=hi", "--locked").code == 0


@pytest.mark.parametrize(
    ("words", "name"),
    [(["mine", "./notes.py:Notes"], "mine"), (["./notes.py:Notes"], "notes"), (["mine", "notes:Notes"], "mine")],
)
def test_an_agent_is_added_as_an_agent(notes: Gaia, words: list[str], name: str) -> None:
    """Ours: found from every folder, with the variables that it was tried with."""
    assert notes("add", *words).code == 0

    entry = json.loads(notes.config.read_text())["mcpServers"][name]
    module = {"agent": "notes:Notes", "cwd": str(notes.cwd)}
    assert entry == (module if words[-1] == "notes:Notes" else {"agent": f"{notes.cwd}/notes.py:Notes"})
    notes.cwd = notes.home
    assert notes("call", name, "add", "text=hi").stdout.strip() == "added hi"


def test_what_is_told_to_keep_a_server_keeps_it(notes: Gaia) -> None:
    """Ours: the line can be copied."""
    seen, _ = run_on_terminal(notes, "tools", "./notes.py")
    told = next(line for line in seen.splitlines() if "save it with: " in line).partition("save it with: gaia mcp ")[2]

    assert notes(*told.split()).code == 0
    assert notes("call", "notes", "add", "text=hi").stdout.strip() == "added hi"


def test_the_real_servers_of_others_are_tried_without_adding(
    gaia: Gaia, npm_servers: dict[str, list[str]], tmp_path: Path
) -> None:
    """Ours: from npm and PyPI."""
    everything = npm_servers["everything"]
    ran = gaia("call", "echo", "message=hi", "--", *everything)
    assert (ran.code, ran.stdout.strip()) == (0, "Echo: hi")
    assert gaia("test-client", "--timeout", "50", "--", *npm_servers["filesystem"], str(tmp_path)).code == 0
    assert "get_current_time(" in gaia("tools", "mcp-server-time --local-timezone UTC").stdout


@pytest.mark.parametrize(
    "words",
    [
        ("call", "./notes.py", "add", "text=hi"),
        ("tools", "./notes.py"),
        ("tools", "--", "gmcp", "serve", "./notes.py"),
        ("prompts", "gmcp serve ./notes.py"),
        ("test-client", "./notes.py"),
        ("logs", "./notes.py"),
        ("lock", "./notes.py"),
        ("show", "./notes.py"),
        ("guide", "./notes.py"),
    ],
)
def test_a_configuration_that_cannot_be_read_stops_no_target(notes: Gaia, words: tuple[str, ...]) -> None:
    """Ours: nothing of it is needed; whatever needs it is refused as ever."""
    notes.config.parent.mkdir(exist_ok=True)
    notes.config.write_text("{broken")

    ran = notes(*words)

    assert ran.code == 0, ran
    assert ran.stderr.splitlines()[0].startswith(f"note: {notes.config}:1:2: not JSON: ")
    assert ran.stderr.splitlines()[0].endswith("; its servers are left out")
    for needing in (
        ("tools",),
        ("tools", "notes"),
        ("tools", "notes", "./notes.py"),
        ("call", "notes", "add"),
        ("list",),
    ):
        assert notes(*needing).code == 3, needing
    assert notes.config.read_text() == "{broken"


def test_a_configuration_that_cannot_be_read_is_no_place_to_save_a_target(notes: Gaia) -> None:
    """Ours: so a terminal is not told how."""
    notes.config.parent.mkdir(exist_ok=True)
    notes.config.write_text("{broken")

    shown, code = run_on_terminal(notes, "call", "./notes.py", "add", "text=hi")

    assert (code, "not saved" in shown) == (0, False)

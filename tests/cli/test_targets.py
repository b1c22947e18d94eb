"""Servers that are used without being saved: agents, command lines and URLs in the place of a name."""

from __future__ import annotations

import json
import signal
import sys
from typing import TYPE_CHECKING

import pytest

from tests.cli.conftest import BIN, SERVERS, entry_of, run_on_terminal
from tests.client.transports.http.web import Answer, Asked, serving
from tests.waiting import ENOUGH_SECONDS

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
    """Ours: under the same name in each command."""
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
    """Ours: quoted in place of the name, or after two dashes at the end."""

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


def test_a_tool_is_named_before_the_dashes_that_begin_a_command(gaia: Gaia) -> None:
    """Ours: as with other programs that call tools; options may stand anywhere before the dashes."""
    command = HANDSHAKE.split()

    ran = gaia("call", "echo", "--json", "text=hi", "--", *command)
    forgotten = gaia("call", "--", *command)

    assert ran.json["content"] == [{"type": "text", "text": '{"text": "hi"}'}]
    assert (forgotten.code, forgotten.errors[0]) == (2, f"error: no tool of {HANDSHAKE!r} given")


def test_every_command_sends_the_headers_of_the_line_to_a_url(gaia: Gaia) -> None:
    """Ours: a server that wants a token is tried before it is saved, and no output contains the token."""
    seen: list[tuple[str, str]] = []

    def answer(asked: Asked) -> Answer:
        seen.append((asked.headers.get("authorization", ""), asked.headers.get("x-team", "")))
        tools = [{"name": "find", "inputSchema": {"type": "object"}}]
        response = {
            "server/discover": {"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}},
            "tools/list": {"tools": tools},
            "tools/call": {"content": [{"type": "text", "text": "found"}]},
        }.get(asked.message["method"], {})
        fields = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"}
        body = {"jsonrpc": "2.0", "id": asked.message["id"], "result": {**fields, **response}}
        return Answer(headers={"Content-Type": "application/json"}, body=json.dumps(body).encode())

    options = ["--token-env", "WEB_TOKEN", "-H", "X-Team: blue"]
    with serving(answer) as web:
        url = web.url
        for words in (
            ["call", url, "find"],
            ["tools", url],
            ["test-client", url, "--call", "find"],
            ["show", "--check", url],
            ["guide", url],
            ["search", "find", "--server", url],
            ["lock", url],
            ["tools", "-e", "WEB_TOKEN", "--", "gaia", "mcp", "serve", "--server", url],
        ):
            begun = len(seen)
            ran = gaia(*words, *options, WEB_TOKEN=TOKEN)

            assert ran.code == 0, (words, ran)
            assert set(seen[begun:]) == {(f"Bearer {TOKEN}", "blue")}, words
            assert TOKEN not in ran.stdout + ran.stderr
        unset = gaia("call", url, "find", *options)
        found = gaia("call", url, "nope", *options, WEB_TOKEN=TOKEN)

    assert (unset.code, "WEB_TOKEN" in unset.errors[0]) == (3, True)
    assert found.errors[1].endswith(f"gaia mcp tools --header 'X-Team: blue' --token-env WEB_TOKEN {url}")
    assert nothing_is_saved(gaia)


def test_a_command_or_an_agent_gets_the_variables_of_the_line(notes: Gaia) -> None:
    """Ours: as `add` would save them; a name alone passes the variable on."""
    source = AGENT.format(name="Notes").replace("f\"added {arguments['text']}\"", "f\"{environ['A']} {environ['B']}\"")
    (notes.cwd / "notes.py").write_text(f"from os import environ\n{source}")

    ran = notes("call", "notes:Notes", "add", "text=x", "-e", "A=one", "--env", "B", B="two")

    assert (ran.stdout.strip(), ran.code) == ("one two", 0), ran


def test_the_headers_and_variables_of_the_line_are_for_one_server_that_is_typed(demo: Gaia) -> None:
    """Ours: a token is never sent to two servers, nor left out without a word."""
    refused = {
        "call demo greet --header A:b": "--header is for a server that is typed, and 'demo' is saved",
        "call demo greet --env A=b": "--env is for a server that is typed, and 'demo' is saved",
        "tools --token-env A": "--token-env is for a server that is typed, and none is given",
        "lock --all --env A=b": "--env is for a server that is typed, and none is given",
        "serve demo -e A=b": "--env is for a server that is typed, and none is given",
        "serve --all --header A:b": "--header is for a server that is typed, and none is given",
        "serve --server demo --token-env A": "--token-env is for a server that is typed, and 'demo' is saved",
        "search x -H A:b": "--header is for a server that is typed, and none is given",
        "test-client --all -e A=b": "--env is for a server that is typed, and 'demo' is saved",
        "tools https://a.invalid https://b.invalid -H A:b": "--header is for one server",
        "tools https://a.invalid -e A=b": "--env is for a command, and this server is reached by a URL",
        "tools demo:Agent -H A:b": "--header is for a URL, and this server has none",
        "call https://a.invalid find --header A": "--header 'A' has no colon after a name",
        "call https://a.invalid find --token-env sk-1": "--token-env takes the name of a variable",
        "tools https://a.invalid --token-env A -H authorization:b": (
            "--token-env and a header Authorization cannot be used together"
        ),
    }

    found = {line: demo(*line.split()) for line in refused}

    assert {line: (ran.code, ran.errors[0]) for line, ran in found.items()} == {
        line: (2, f"error: {problem}") for line, problem in refused.items()
    }


@pytest.mark.parametrize("command", ["prompt", "read"])
def test_prompt_and_read_take_a_command_line_after_two_dashes(notes: Gaia, command: str) -> None:
    """Ours: the prompt or the URI comes before the dashes, as a tool does."""
    words = {"prompt": ["review", "note=this"], "read": ["note://1"]}[command]

    ran = notes(command, *words, "--", "gaia", "mcp", "serve", "./notes.py")

    assert (ran.code, ran.stdout.strip()) == (0, {"prompt": "Review this", "read": "the first note"}[command])


def test_watch_takes_a_command_line(gaia: Gaia) -> None:
    """Ours: changes of a server can be observed before it is saved."""
    server = ["env", "ORDERS=orders", sys.executable, str(SERVERS / "announces.py"), "2026-07-28"]

    watching = gaia.popen("watch", "--", *server)
    assert watching.stderr is not None
    note = watching.stderr.readline()
    watching.send_signal(signal.SIGINT)

    watching.communicate(timeout=ENOUGH_SECONDS)
    assert (watching.returncode, note.startswith(b"note: watching tools")) == (130, True), note


def test_record_takes_a_command_line(gaia: Gaia) -> None:
    """Ours: any client can use the recorder, with nothing saved."""
    recorder = f"gaia mcp record --to r.jsonl -- {HANDSHAKE}"

    assert gaia("call", "echo", "text=hi", "--", *recorder.split()).json == {"text": "hi"}
    assert gaia("call", "gaia mcp replay r.jsonl", "echo", "text=hi").json == {"text": "hi"}
    assert gaia("record", "demo", "two", "--to", "x").code == 2


def test_two_dashes_after_a_configured_name_end_the_options(demo: Gaia) -> None:
    """POSIX, utility syntax guideline 10: they begin a command only where no server is named."""
    for words in (
        ("demo", "greet", "--", "name=Ada"),
        ("demo", "--", "greet", "name=Ada"),
        ("--", "demo", "greet", "name=Ada"),
        ("--", "demo.greet", "name=Ada"),
    ):
        assert demo("call", *words).stdout.strip() == "Hello, Ada!", words
    assert demo("tools", "--", "demo").code == 0
    assert demo("test-client", "demo", "--call", "greet", "--", "name=Ada").code == 0


def test_a_configured_name_takes_precedence_over_a_file_with_a_note(notes: Gaia) -> None:
    """Ours: the file can be typed as a path."""
    notes.write({"notes.py": entry_of("good-handshake"), "demo": entry_of("good-handshake")})

    ran = notes("call", "notes.py", "echo", "text=hi")

    assert (ran.code, ran.json) == (0, {"text": "hi"})
    assert (
        ran.stderr == "note: 'notes.py' is the name of a saved server, which is used; for the file, type ./notes.py\n"
    )
    assert notes("call", "./notes.py", "add", "text=hi").stdout.strip() == "added hi"
    assert notes("call", "demo", "echo", "text=hi").stderr == ""


def test_the_built_in_agent_needs_no_configuration(gaia: Gaia) -> None:
    """Ours: a new user can call it at once."""
    assert gaia("call", "demo", "greet", "name=Ada").stdout.strip() == "Hello, Ada!"
    assert gaia("call", "demo.greet", "name=Ada").stdout.strip() == "Hello, Ada!"
    assert nothing_is_saved(gaia)


def test_tools_lists_one_tool_of_a_target(notes: Gaia) -> None:
    """Ours: as of a configured server; a word that can only be a target is one."""
    notes.use("good-handshake")

    for words in (["./notes.py", "add"], ["add", "--", "./notes.py"], ["./notes.py", "add", "good-handshake", "echo"]):
        ran = notes("tools", "--names", *words)
        assert (ran.code, ran.stdout.split()[0].rpartition(".")[2]) == (0, "add"), ran
    assert notes("tools", "demo.greet", "--names").stdout == "greet\n"
    assert notes("tools", "good-handshake", "./notes.py", "nope").errors[0].endswith("has no tool 'nope'")


def test_tools_takes_targets_beside_configured_servers(notes: Gaia) -> None:
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
def test_an_unusable_target_is_an_error_with_a_hint(
    notes: Gaia, words: tuple[str, ...], code: int, problem: str, hint: str
) -> None:
    """Ours: the error repeats what was typed, and the hint names one thing to type."""
    (notes.cwd / "broken.py").write_text("1 / 0\n")
    (notes.cwd / "two.py").write_text(AGENT.format(name="One") + AGENT.format(name="Two"))

    ran = notes(*words)

    assert ran.code == code, ran
    assert ran.errors[0].startswith(f"error: {problem}"), ran
    assert hint in ran.errors[1], ran
    assert len(ran.errors) == 2


def test_the_hint_for_a_file_without_an_agent_runs_it_as_a_server(gaia: Gaia) -> None:
    """Ours: a `server.py` is often a program."""
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
def test_secrets_of_an_unreachable_url_are_masked(gaia: Gaia, words: tuple[str, ...]) -> None:
    """Ours: in the server's name and in the message."""
    command, *rest = words

    ran = gaia(command, f"http://me:{TOKEN}@127.0.0.1:1/mcp?key={TOKEN}", *rest)

    assert ran.code == 4
    printed = ran.stderr + ran.stdout
    assert "http://****@127.0.0.1:1/mcp?key=****" in printed
    assert "could not be reached at 127.0.0.1:1: nothing listens there" in printed
    assert TOKEN not in ran.stdout + ran.stderr


def test_secrets_of_a_command_line_are_masked(gaia: Gaia) -> None:
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


def test_an_agent_that_crashes_is_an_error_of_its_server(notes: Gaia) -> None:
    """Ours: it runs in a process of its own."""
    ran = notes("call", "./notes.py", "add", "text=crash")

    assert ran.code == 4
    assert ran.errors[0].startswith("error: server './notes.py' exited with status 5 while answering ")


def test_a_target_is_started_only_by_a_command_that_uses_it(notes: Gaia) -> None:
    """Ours: not by completion, by `search`, or by a command about all servers."""
    (notes.cwd / "notes.py").write_text("import pathlib\npathlib.Path('ran').touch()\n")
    line = ["mcp", "call", "./notes.py:Notes", ""]

    assert notes.command(BIN / "gaia", "complete", "fish", "--", *line).returncode == 0
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
    ran = gaia.command(BIN / "gaia", "complete", "fish", "--", "mcp", *line, text=True)
    assert ran.returncode == 0
    return [each.partition("\t")[0] for each in ran.stdout.splitlines()]


def test_completion_offers_the_tools_of_a_target_that_was_listed(notes: Gaia, tmp_path: Path) -> None:
    """Ours: however its path is written; not those of the same file name in another folder."""
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


def test_a_tool_of_a_target_has_a_help_page_once_it_was_listed(notes: Gaia) -> None:
    """Ours: help never connects; before, the error names the command that lists the tools."""
    assert "gaia mcp tools ./notes.py" in notes("call", "./notes.py", "add", "--help").stderr
    notes("tools", "./notes.py")
    assert "Example: gaia mcp call ./notes.py add text=" in notes("call", "./notes.py", "add", "--help").stdout


def test_a_terminal_shows_how_to_save_a_target(notes: Gaia) -> None:
    """Ours: only a terminal does: no pipe, no `--quiet`, no `--json`, and not after a failure."""
    note = "note: this server is not saved; save it with: gaia mcp add notes ./notes.py:Notes"

    seen, code = run_on_terminal(notes, "call", "./notes.py:Notes", "add", "text=hi")
    assert (code, note in seen) == (0, True)
    for words in (("--quiet", "add", "text=hi"), ("--json", "add", "text=hi"), ("nope",)):
        seen, _ = run_on_terminal(notes, "call", "./notes.py:Notes", *words)
        assert "not saved" not in seen, words
    assert notes("call", "./notes.py:Notes", "add", "text=hi").stderr == ""


def test_a_lock_file_names_an_agent_by_its_relative_path(notes: Gaia) -> None:
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
    """Ours: its entry works from every folder."""
    assert notes("add", *words).code == 0

    entry = json.loads(notes.config.read_text())["mcpServers"][name]
    module = {"agent": "notes:Notes", "cwd": str(notes.cwd)}
    assert entry == (module if words[-1] == "notes:Notes" else {"agent": f"{notes.cwd}/notes.py:Notes"})
    notes.cwd = notes.home
    assert notes("call", name, "add", "text=hi").stdout.strip() == "added hi"


def test_the_advised_line_saves_the_target(notes: Gaia) -> None:
    """Ours: it is copied from the terminal."""
    seen, _ = run_on_terminal(notes, "tools", "./notes.py")
    advised = next(line for line in seen.splitlines() if "save it with: " in line).partition("save it with: gaia mcp ")[
        2
    ]

    assert notes(*advised.split()).code == 0
    assert notes("call", "notes", "add", "text=hi").stdout.strip() == "added hi"


def test_servers_from_npm_and_pypi_are_used_without_saving(
    gaia: Gaia, npm_servers: dict[str, list[str]], tmp_path: Path
) -> None:
    """Ours: as a person tries a published server."""
    everything = npm_servers["everything"]
    ran = gaia("call", "echo", "message=hi", "--", *everything)
    assert (ran.code, ran.stdout.strip()) == (0, "Echo: hi")
    assert gaia("test-client", "--timeout", "50", "--", *npm_servers["filesystem"], str(tmp_path)).code == 0
    assert "get_current_time(" in gaia("tools", "mcp-server-time --local-timezone UTC").stdout


def test_a_target_needs_no_readable_configuration(notes: Gaia) -> None:
    """Ours: a command that needs the configuration still fails."""
    notes.config.parent.mkdir(exist_ok=True)
    notes.config.write_text("{broken")

    for words in (
        ("call", "./notes.py", "add", "text=hi"),
        ("tools", "./notes.py"),
        ("tools", "--", "gmcp", "serve", "./notes.py"),
        ("prompts", "gmcp serve ./notes.py"),
        ("test-client", "./notes.py"),
        ("logs", "./notes.py"),
        ("lock", "./notes.py"),
        ("show", "./notes.py"),
        ("guide", "./notes.py"),
    ):
        ran = notes(*words)
        assert ran.code == 0, ran
        assert ran.stderr.splitlines()[0].startswith(f"note: {notes.config}:1:2: not JSON: "), ran
        assert ran.stderr.splitlines()[0].endswith("; its servers are left out"), ran
    for needing in (
        ("tools",),
        ("tools", "notes"),
        ("tools", "notes", "./notes.py"),
        ("call", "notes", "add"),
        ("list",),
    ):
        assert notes(*needing).code == 3, needing
    assert notes.config.read_text() == "{broken"


def test_saving_a_target_is_not_advised_for_an_unreadable_configuration(notes: Gaia) -> None:
    """Ours: the advised command would fail."""
    notes.config.parent.mkdir(exist_ok=True)
    notes.config.write_text("{broken")

    shown, code = run_on_terminal(notes, "call", "./notes.py", "add", "text=hi")

    assert (code, "not saved" in shown) == (0, False)

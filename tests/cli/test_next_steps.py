"""A line that a hint advises is copied from stderr, its placeholders are filled in, and it does what was promised."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from tests.cli.conftest import BIN, entry_of, run_on_terminal
from tests.cli.typed_lines import lines_in

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cli.conftest import Gaia

# With a space, which has to be quoted.
CONFIG = "my servers.json"
DEMO = {"command": str(BIN / "gaia"), "args": ["mcp", "serve", "demo"]}
PLACEHOLDERS = ("DIR", "FILE", "FOLDER", "NAME", "NAME...")
SERVERS: dict[str, Any] = {
    "demo": DEMO,
    "exits": entry_of("exits-at-once"),
    "silent": {"command": "/bin/sh", "args": ["-c", "exit 3"]},
    "dies": entry_of("dies-in-call"),
    "refuses": entry_of("list-errors", "-32603", "no", "no workspace is open"),
    "plain": entry_of("good-handshake"),
    "mute": entry_of("declares-nothing"),
    "nowhere": {**DEMO, "cwd": "/surely/not/there"},
}


class Step(NamedTuple):
    """`words` end with `code`. The line that they advise, with `fill` in the place of its placeholder, ends with `then`
    and shows `shows`; if `works`, so do `words` afterwards.
    """

    words: str
    code: int
    shows: str
    fill: str = ""
    then: int = 0
    works: bool = False


STEPS = [
    Step("call demo", 2, "greet("),
    Step("call unheard-of greet", 3, "demo"),
    Step("call demo unheard-of", 7, "greet("),
    Step("call demo greet Ada", 2, "greet("),
    Step("call demo greet --zzzz 1", 2, "Usage: gaia mcp call"),
    Step("call demo greet --name", 2, "Usage: gaia mcp call"),
    Step("call --zzzz demo greet", 2, "Usage: gaia mcp call"),
    Step("call demo greet name=Ada --locked", 3, "locked", "demo", works=True),
    Step("prompt demo unheard-of", 7, "introduce"),
    Step("read demo unheard://of", 7, "demo://about"),
    Step("tools exits", 4, "no configuration found"),
    Step("call exits echo", 4, "no configuration found"),
    Step("call dies echo", 4, "fatal: out of memory"),
    Step("tools silent", 4, "exit 3"),
    Step("tools refuses", 6, "no workspace is open"),
    Step("watch mute", 6, "capabilities"),
    Step("tools nowhere", 4, "changed 'nowhere'", ".", works=True),
    Step("add demo -- gaia mcp serve demo", 3, "added 'demo'"),
    Step("add new -- gaia mcp serve demo --nonsense", 4, "", then=0),
    Step("test-client", 2, "demo", then=4),
    Step("lock --quiet", 2, "", then=4),
    Step("show unheard-of", 3, "demo"),
    Step("rename demo other", 2, "changed 'demo'"),
    Step("status", 2, "demo", then=4),
    Step("delete demo", 2, "removed 'demo'"),
    Step("lsit", 2, "demo"),
    Step("xyzzy", 2, "Commands:"),
    Step("list --timeout soon", 2, "Usage: gaia mcp list"),
    Step("logs plain", 0, "ok    start"),
]


def config_of(gaia: Gaia) -> Path:
    """The servers, in a file that is not where it is looked for."""
    path = gaia.cwd / CONFIG
    path.write_text(json.dumps({"mcpServers": SERVERS}))
    return path


@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.words)
def test_the_advised_line_shows_the_reason_or_solves_the_problem(gaia: Gaia, step: Step) -> None:
    """Ours: a person who copies the line sees the reason or the alternatives, or the first line works then."""
    config_of(gaia)
    words = step.words.split()
    words[1:1] = ["--config", CONFIG]

    first = gaia(*words)

    assert first.code == step.code, first
    (line,) = lines_in(first.stderr)
    if "--help" not in line:
        assert line[line.index("--config") + 1] == CONFIG
    second = gaia(*(step.fill if word in PLACEHOLDERS else word for word in line))
    assert second.code == step.then, second
    assert step.shows in second.stdout + second.stderr
    if step.works:
        assert gaia(*words).code == 0


def test_the_line_advised_for_a_value_without_a_key_calls_the_tool(gaia: Gaia) -> None:
    """Ours: once the tools have been seen, as the hint before advises."""
    config_of(gaia)
    words = ("call", "--config", CONFIG, "demo", "greet", "Ada L")
    (see,) = lines_in(gaia(*words).stderr)
    assert gaia(*see).code == 0

    (write,) = lines_in(gaia(*words).stderr)

    assert (write, gaia(*write).stdout) == ([*words[:-1], "name=Ada L"], "Hello, Ada L!\n")


def test_a_missing_config_file_is_created_as_advised(gaia: Gaia) -> None:
    """Ours: under the given name."""
    first = gaia("list", "--config", CONFIG)
    assert first.code == 3
    (line,) = lines_in(first.stderr)

    assert gaia(*line[:-1], str(BIN / "gaia"), "mcp", "serve", "demo").code == 0
    assert gaia("list", "--config", CONFIG).stdout.startswith("NAME ")


def test_an_invalid_entry_is_corrected_as_advised(gaia: Gaia) -> None:
    """Ours: on a terminal."""
    gaia.write({"bad": {"command": 7}})
    (line,) = lines_in(gaia("tools", "bad").stderr)
    editor = gaia.cwd / "editor"
    editor.write_text(f"#!/bin/sh\ncat > \"$1\" <<'END'\n{json.dumps(DEMO)}\nEND\n")
    editor.chmod(0o700)
    gaia.environ["EDITOR"] = str(editor)

    shown, code = run_on_terminal(gaia, *line)

    assert code == 0, shown
    assert "greet(" in gaia("tools", "bad").stdout


def test_a_project_is_approved_as_advised_and_revoked_as_advised(gaia: Gaia) -> None:
    """Ours: the note names both commands, and each has the effect that it promises."""
    (gaia.cwd / "mcp_servers.json").write_text(json.dumps({"mcpServers": {"its": DEMO}}))

    approve, _ = lines_in(gaia("list").stderr)
    assert gaia(*approve).code == 0
    assert gaia("list").stdout.startswith("its ")
    (revoke,) = lines_in(gaia("remove", "its").stderr)
    assert gaia(*revoke).code == 0
    assert "its " not in gaia("list").stdout


def test_the_lock_is_extended_and_updated_as_advised(gaia: Gaia) -> None:
    """Ours: each time the refused call goes through afterwards."""
    gaia.write({"s": DEMO, "plain": entry_of("good-handshake")})
    lock = ("--lock-file", "my lock.json")
    assert gaia("lock", "plain", *lock).code == 0

    for call in (("call", "s", "greet", "name=Ada"), ("call", "s", "echo", "text=x")):
        refused = gaia(*call, "--locked", *lock)
        assert refused.code == 8, refused
        (line,) = lines_in(refused.stderr)
        assert gaia(*line).code == 0, line
        assert gaia(*call, "--locked", *lock).code == 0
        gaia.write({"s": entry_of("good-handshake")})  # Other tools from now on.


def test_servers_of_another_host_are_imported_as_advised(gaia: Gaia) -> None:
    """Ours: the line keeps the options that were typed."""
    (gaia.home / ".cursor").mkdir()
    (gaia.home / ".cursor" / "mcp.json").write_text(json.dumps({"mcpServers": {"demo": DEMO}}))

    for words in (("import",), ("import", "--dry-run"), ("import", "--force")):
        (line,) = lines_in(gaia(*words).stderr)
        assert gaia(*line).code == 0
        assert [word for word in line if word in ("--dry-run", "--force")] == list(words[1:])
    assert gaia("list").stdout.startswith("demo ")


def test_lines_advised_by_serve_replay_and_trust_work(gaia: Gaia) -> None:
    """Ours: with a value in the place of each placeholder."""
    (gaia.cwd / "empty.jsonl").touch()
    (gaia.cwd / "mine.py").write_text("class Agent: pass\n")
    gaia.write({"demo": DEMO})
    for words, shows in (
        (("serve", "mine.py:Agent"), "wrote agent.py"),
        (("replay", "empty.jsonl"), ""),
        (("trust",), "contains no "),
    ):
        (line,) = lines_in(gaia(*words).stderr)
        fills = {"NAME": "demo", "FILE": "time.jsonl", "FOLDER": "."}
        ran = gaia(*(fills.get(word, word) for word in line))
        assert ran.code in (0, 3)
        assert shows in ran.stdout + ran.stderr


def test_a_line_that_read_stdin_is_advised_with_the_same_input(gaia: Gaia) -> None:
    """Ours: without the input it would wait for the terminal."""
    pasted = json.dumps({"mcpServers": {"demo": DEMO}})
    assert gaia("add", "-", stdin=pasted).code == 0
    refused = gaia("add", "-", stdin=pasted)
    (line,) = lines_in(refused.stderr)

    assert (refused.code, line) == (3, ["add", "-", "--force"])
    assert "with the same input: " in refused.stderr
    assert gaia(*line, stdin=pasted).code == 0


def test_an_unreachable_server_is_saved_as_advised(gaia: Gaia) -> None:
    """Ours: a whole line, not only the option."""
    (line,) = lines_in(gaia("add", "http://127.0.0.1:1/mcp").stderr)

    assert line == ["add", "http://127.0.0.1:1/mcp", "--no-check"]
    assert gaia(*line).code == 0


def test_the_advised_init_does_not_overwrite_an_agent(gaia: Gaia) -> None:
    """Ours: the agent without tools may be the very file that `init` writes."""
    (gaia.cwd / "agent.py").write_text("class Agent:\n    pass\n")
    (line,) = lines_in(gaia("tools", "./agent.py:Agent").stderr)

    assert (line, gaia(*line).code) == (["init", "example.py"], 0)
    assert gaia("call", "./example.py", "greet", "name=Ada").stdout == "Hello, Ada!\n"


def test_the_arguments_of_a_built_in_agent_are_given_as_advised(gaia: Gaia) -> None:
    """Ours: by the command that was typed, or in an entry; `tools` and `call` take none."""

    def advised(*words: str) -> list[str]:
        refused = gaia(*words)
        assert refused.code == 3, refused
        (line,) = lines_in(refused.stderr)
        return ["root=." if word == "NAME=VALUE" else "files" if word == "NAME" else word for word in line]

    for words in (("tools", "filesystem"), ("call", "filesystem", "x"), ("add", "more", "filesystem")):
        line = advised(*words)
        assert gaia(*line).code == 0, line
        assert gaia("tools", line[1]).code == 0
        gaia.write({"files": {"agent": "filesystem"}})
        line = advised("tools", "files")
        assert gaia(*line).code == 0, line
        gaia.config.unlink()
    assert advised("serve", "filesystem", "--check") == ["serve", "filesystem", "--check", "--kwarg", "root=."]


def test_a_variable_of_an_agent_that_is_only_typed_is_exported(gaia: Gaia) -> None:
    """Ours: no entry has to be saved for it."""
    (gaia.cwd / "own.py").write_text(
        "import os\nfrom gaia_mcp import MCPAgent, tool\n"
        "class A(MCPAgent):\n    @tool\n    def who(self) -> str:\n        return os.environ['OWN_API_KEY']\n"
    )
    failed = gaia("call", "./own.py", "who")

    assert failed.errors[-1] == "hint: the server mentions OWN_API_KEY; set it first: export OWN_API_KEY=…"
    assert gaia("call", "./own.py", "who", OWN_API_KEY="abcdefgh").code == 0


def test_dashes_before_a_value_without_a_key_do_not_make_it_a_command(gaia: Gaia) -> None:
    """Ours: the server and its tool come before the dashes."""
    gaia.write({"demo": DEMO})
    assert gaia("tools", "demo").code == 0
    refused = gaia("call", "demo", "greet", "--", "Ada")
    (line,) = lines_in(refused.stderr)

    assert (refused.code, gaia(*line).stdout) == (2, "Hello, Ada!\n")
    # For a command of one word, the dashes stay.
    (line,) = lines_in(gaia("call", "greet", "Ada", "--", "gmcp").stderr)
    assert line == ["tools", "--", "gmcp"]


def test_a_placeholder_of_one_of_several_servers_is_filled_in_under_its_name(gaia: Gaia) -> None:
    """Ours: `--env` for both would be refused."""
    needs = "import os, sys; sys.exit('its key: ' + os.environ['SOME_KEY'])"
    fails = {"command": sys.executable, "args": ["-c", needs], "env": {"SOME_KEY": "<your key>"}}
    (gaia.cwd / "two.json").write_text(json.dumps({"mcpServers": {"demo": DEMO, "fails": fails}}))
    (line,) = lines_in(gaia("add", "@two.json").stderr)

    assert line == ["add", "fails", "@two.json", "--env", "SOME_KEY=VALUE"]
    assert "the last line of its stderr: its key: " in gaia(*line[:-1], "SOME_KEY=abcdefgh").stderr


def test_the_hint_for_a_missing_file_shows_how_to_pass_text_with_an_at_sign(gaia: Gaia) -> None:
    """Ours: an address such as `@ada` is text, and `--args` has no key."""
    gaia.write({"demo": DEMO})
    as_value = gaia("call", "demo", "greet", "name=@ada")
    as_object = gaia("call", "demo", "greet", "--args", "@ada")

    assert as_value.errors[1] == """hint: key=@FILE takes the value from a file; for the text itself: key:='"@ada"'"""
    assert gaia("call", "demo", "greet", 'name:="@ada"').stdout == "Hello, @ada!\n"
    assert as_object.errors[1] == "hint: --args takes a JSON object, @FILE with one, or - for stdin"

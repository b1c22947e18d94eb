"""A plain `call` runs without Typer. Its server starts before the rest is loaded, and never where the line is wrong."""

from __future__ import annotations

import signal
import sys
from contextlib import redirect_stdout
from io import StringIO
from typing import TYPE_CHECKING, Any

import pytest
import typer
from hypothesis import example, given
from hypothesis import strategies as st

from gaia_mcp.cli.app import app
from gaia_mcp.cli.calls.calling import call_of
from gaia_mcp.cli.grammar.parsing import PROGRAM
from tests.cli.conftest import BIN
from tests.protocol_support import steady
from tests.waiting import PATIENCE_SECONDS, wait_until

if TYPE_CHECKING:
    from tests.cli.conftest import Gaia

# Loaded by every Python of the test: a `call` waits with what it loads next until the server has noted that it runs.
# Typer cannot be loaded by it.
CALL_WAITS = """
import pathlib, sys, time

class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == "typer" and "call" in sys.argv:
            raise ImportError("a plain call loads Typer")
        if name == "gaia_mcp.fleet.session":
            pathlib.Path("loading").touch()
            end = time.monotonic() + {seconds}
            while not pathlib.Path("{awaited}").exists():
                if time.monotonic() > end:
                    raise ImportError("{awaited} did not come")
                time.sleep(0.01)

sys.meta_path.insert(0, Finder())
"""


def noting(gaia: Gaia, *command: str) -> dict[str, Any]:
    """An entry whose server notes in `started` that it was started."""
    return {"command": "/bin/sh", "args": ["-c", f'echo >> {gaia.cwd}/started; exec "$@"', "sh", *command]}


@pytest.fixture
def noted(gaia: Gaia) -> Gaia:
    """The program, with a `demo` that notes its starts."""
    gaia.write({"demo": noting(gaia, str(BIN / "gaia"), "mcp", "serve", "demo")})
    return gaia


def starts(gaia: Gaia) -> int:
    """How often the server was started."""
    path = gaia.cwd / "started"
    return len(path.read_text().splitlines()) if path.exists() else 0


def let_call_wait(gaia: Gaia, awaited: str, seconds: float = PATIENCE_SECONDS) -> None:
    """From now on a `call` goes on once the file `awaited` is there, and without Typer."""
    folder = gaia.cwd / "site"
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(CALL_WAITS.format(awaited=awaited, seconds=seconds))
    gaia.environ["PYTHONPATH"] = str(folder)


@pytest.mark.parametrize(
    "words",
    [
        ("demo", "greet", "name=Ada"),
        ("demo.greet", "name=Ada"),
        ("--timeout", "20", "demo", "greet", "--args", '{"name": "Ada"}'),
        ("demo", "greet", "name=Ada", "--json", "--timeout=20", "-o", "out/"),
        ("demo", "--", "greet", "name=Ada"),
        ("demo", "greet", "--name", "Ada", "--style=plain", "--quiet"),
        ("demo", "greet", '{"name": "Ada"}'),
        ("/bin/sh SCRIPT", "greet", "name=Ada"),
        ("greet", "name=Ada", "--", "/bin/sh", "SCRIPT"),
    ],
)
def test_the_server_is_started_first_and_only_once_and_typer_is_not_loaded(noted: Gaia, words: tuple[str, ...]) -> None:
    """Ours: what a call needs takes as long to load as many a server to start, and Typer twice as long."""
    script = noted.cwd / "demo.sh"
    script.write_text(f"echo >> {noted.cwd}/started; exec {BIN}/gaia mcp serve demo")
    let_call_wait(noted, "started")

    ran = noted("call", *(word.replace("SCRIPT", str(script)) for word in words))

    assert (ran.code, ran.stderr) == (0, "")
    assert "Hello, Ada!" in ran.stdout
    assert starts(noted) == 1


def test_the_config_option_applies_to_the_early_start(noted: Gaia) -> None:
    """Ours: the server must be the same whether it starts early or late."""
    noted.config.rename(noted.cwd / "other.json")
    let_call_wait(noted, "started")

    ran = noted("call", "--config", "other.json", "demo", "greet", "name=Ada")

    assert (ran.code, ran.stdout) == (0, "Hello, Ada!\n")
    assert starts(noted) == 1


@pytest.mark.parametrize("args", [("--args", "-"), ("--args=@-",)])
def test_arguments_on_standard_input_are_read_once(noted: Gaia, args: tuple[str, ...]) -> None:
    """Ours: parsing the line before the start must not consume what the call needs."""
    ran = noted("call", "demo", "greet", *args, stdin='{"name": "Ada"}')

    assert (ran.code, ran.stdout) == (0, "Hello, Ada!\n")
    assert starts(noted) == 1


@pytest.mark.parametrize(
    ("words", "code"),
    [
        ((), 2),
        (("demo",), 2),
        (("demo", "greet", "--help"), 7),
        (("demo", "--nonsense", "greet"), 2),
        (("--nonsense", "demo", "greet"), 2),
        (("demo", "greet", "-x"), 2),
        (("demo", "greet", "--name", "Ada", "Eve"), 2),
        (("demo", "greet", "{"), 2),
        (("demo", "greet", "{}", "{}"), 2),
        (("demo", "greet", "{}", "--args", "{}"), 2),
        (("demo", "greet", "--json=yes"), 2),
        (("demo", "greet", "--timeout"), 2),
        (("demo", "greet", "--timeout", "soon"), 2),
        (("demo", "greet", "--timeout", "0"), 2),
        (("demo", "greet", "--timeout", "inf"), 2),
        (("demo", "greet", "--timeout", "nan"), 2),
        (("demo", "greet", "name"), 2),
        (("demo", "greet", "--args", "{"), 2),
        (("demo", "greet", "--args", "@nowhere"), 2),
        (("deno", "greet"), 3),
        (("demo", "greet", "--locked"), 3),
        (("demo", "greet", "--lock-file", "nowhere.json"), 3),
        (("demo", "greet", "--config", "nowhere.json"), 3),
    ],
)
def test_an_error_in_the_command_line_starts_no_server(noted: Gaia, words: tuple[str, ...], code: int) -> None:
    """Ours: an error that is visible without the server is reported without it."""
    ran = noted("call", *words)

    assert ran.code == code
    assert starts(noted) == 0


@pytest.mark.parametrize(
    ("number", "code"),
    [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129), (signal.SIGQUIT, 131)],
)
def test_a_signal_while_modules_are_loading_stops_the_server(gaia: Gaia, number: int, code: int) -> None:
    """Ours: at every stage. This server ignores SIGTERM."""
    program = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); open('ready', 'w'); time.sleep(60)"
    gaia.write({"stubborn": noting(gaia, sys.executable, "-S", "-c", program)})
    let_call_wait(gaia, "never", seconds=30)
    process = gaia.popen("call", "stubborn", "echo")
    wait_until(lambda: (gaia.cwd / "ready").exists() and (gaia.cwd / "loading").exists())

    process.send_signal(number)

    out, err = process.communicate(timeout=PATIENCE_SECONDS)
    assert (process.returncode, out, err) == (code, b"", b"")


WORDS = (
    "demo",
    "demo.greet",
    "greet",
    "name=Ada",
    "3",
    "0",
    "1e9",
    "nan",
    "soon",
    "",
    "-",
    "--",
    "-x",
    "--nonsense",
    "--json=",
    "--name",
    "-1",
    "-xh",
    "{}",
)
OPTIONS = {name: each for each in PROGRAM.commands["mcp"].commands["call"].options for name in each.names}
# Lines with these go to Typer, though they could be parsed.
TYPER_FIRST = {"help", "debug", "interactive", "locked", "lock_file", "batch", "jobs", "keep_going", "unchecked"}


def parsed_by_typer(words: list[str]) -> dict[str, Any] | None:
    """What `call` would be run with, but for what Typer sets by itself; None for a line that it refuses."""
    group = typer.main.get_command(app).get_command(None, "mcp")  # type: ignore[attr-defined]
    parent = group.context_class(group, info_name="mcp", **group.context_settings)
    try:
        context = group.get_command(None, "call").make_context("call", list(words), parent=parent)
    except (typer.BadParameter.__mro__[2], typer.Exit):
        return None
    return {name: value for name, value in context.params.items() if value not in (None, False, ())}


def lines_of_call() -> st.SearchStrategy[list[str]]:
    """Words, of which most are options of `call` or their values."""
    options, values = st.sampled_from(sorted(OPTIONS)), st.sampled_from(WORDS)
    attached = st.builds("{}={}".format, options, values)
    return st.lists(st.one_of(values, options, attached, st.text(max_size=4)), max_size=8)


@steady
@given(lines_of_call())
@example(["demo", "greet", "--timeout", "3", "--timeout=nan"])
@example(["demo", "greet", "--timeout", "0.01", "--args", "--json", "--config=x"])
@example(["demo", "--", "greet", "--help", "--debug"])
@example(["demo", "greet", "-xh"])
@example(["demo", "greet", "--name", "-1"])
@example(["demo", "--read-only", "--quiet", "-ox", "--json"])
@example(["demo", "--output-dir", "x"])
def test_a_call_is_parsed_as_typer_parses_it(words: list[str]) -> None:
    """Ours: the same server, tool, arguments, file and time; and no line that Typer refuses, or that goes to it."""
    with redirect_stdout(StringIO()):
        expected = parsed_by_typer(words)
    if expected is not None and not TYPER_FIRST.isdisjoint(expected):
        expected = None

    call = call_of(["mcp", "call", *words])

    assert (call is None) == (expected is None)
    for name in expected or ():
        assert type(expected[name])(call.values[name]) == expected[name]  # type: ignore[union-attr]


def test_a_line_without_the_call_command_is_left_to_typer() -> None:
    """Ours: `call` may also be the value of an option."""
    assert call_of(["mcp", "--", "call"]) is None
    assert call_of(["mcp", "call", "--config", "call"]) is None
    assert call_of(["mcp", "list", "call"]) is None


# Its second tool needs what the first has opened, and the third needs nothing.
TERMINALS = """
from gaia_mcp import MCPAgent, tool


class Terminals(MCPAgent):
    def __init__(self):
        self.terminals = []

    @tool
    def open_terminal(self) -> str:
        'Open a terminal.'
        self.terminals.append(f"t{len(self.terminals)}")
        return self.terminals[-1]

    @tool
    def type_text(self, terminal_id: str, text: str) -> str:
        'Type text at a terminal.'
        return "typed" if terminal_id in self.terminals else "no such terminal"

    @tool
    def close_terminal(self, terminal_id: str) -> str:
        'Close a terminal.'
        self.terminals.remove(terminal_id)
        return "closed"

    @tool
    def help(self) -> str:
        'Explain.'
        return "type"
"""
TYPED = ("call", "terminals", "type_text", "terminal_id=t0", "text=ls")
# The command that it advises belongs to another change, so that these lines are not rehearsed.
LOST = (
    "note: each call starts 'terminals' anew, without the state of earlier calls; "
    "keep it running with: gaia mcp up terminals\n"
)


@pytest.fixture
def terminals(gaia: Gaia) -> Gaia:
    """The program, with a server that keeps terminals open while it runs."""
    script = gaia.cwd / "terminals.py"
    script.write_text(TERMINALS)
    gaia.write({"terminals": {"command": str(BIN / "gaia"), "args": ["mcp", "serve", f"{script}:Terminals"]}})
    return gaia


def printed(gaia: Gaia, *words: str, **variables: str) -> tuple[str, str]:
    """What a line prints to stdout and stderr."""
    ran = gaia.command(BIN / "gaia", "mcp", *words, env={**gaia.environ, **variables}, input=b"")
    return ran.stdout.decode(), ran.stderr.decode()


def test_the_second_call_without_what_the_first_has_opened_names_the_command_that_keeps_it(terminals: Gaia) -> None:
    """Ours: the answer alone does not say why the terminal is gone. Once a day is enough."""
    assert printed(terminals, "call", "terminals", "open_terminal") == ("t0\n", "")

    assert printed(terminals, *TYPED) == ("no such terminal\n", LOST)
    assert printed(terminals, *TYPED) == ("no such terminal\n", "")


def test_a_lost_state_is_not_told_where_it_is_not_wanted_or_no_help(terminals: Gaia) -> None:
    """Ours: to a program, in a build, of a tool that needs nothing, of a server that is not saved."""
    printed(terminals, "call", "terminals", "open_terminal")

    lines: list[tuple[tuple[str, ...], dict[str, str]]] = [
        ((*TYPED, "--quiet"), {}),
        ((*TYPED, "--json"), {}),
        (TYPED, {"CI": "true"}),
        (("call", "terminals", "help"), {}),
        (("call", f"{terminals.cwd}/terminals.py:Terminals", "open_terminal"), {}),
        (("call", f"{terminals.cwd}/terminals.py:Terminals", "open_terminal"), {}),
    ]
    remarks = [printed(terminals, *words, **variables)[1] for words, variables in lines]

    assert remarks == [""] * len(lines)
    assert printed(terminals, *TYPED)[1] == LOST


def test_nothing_is_lost_of_a_server_that_is_held_open(terminals: Gaia) -> None:
    """Ours: its state is there for the next call."""
    printed(terminals, "up", "terminals")
    try:
        assert printed(terminals, "call", "terminals", "open_terminal") == ("t0\n", "")

        answer, remark = printed(terminals, *TYPED)
    finally:
        printed(terminals, "down", "--all")

    assert (answer, remark) == ("typed\n", "")


def test_a_cache_that_cannot_be_written_is_no_failure_of_a_call(terminals: Gaia) -> None:
    """Ours: nothing is told then, for it could not be told once."""
    (terminals.home / ".cache").write_text("")

    assert [printed(terminals, *TYPED) for _ in range(2)] == [("no such terminal\n", "")] * 2


def test_unchecked_arguments_are_sent_as_they_are(demo: Gaia) -> None:
    """Ours: whether a server refuses what its schema does not allow can be tried. Nothing is added, or left out."""
    refused = demo("call", "demo", "greet", "style=odd")
    sent = demo("call", "demo", "greet", "style=odd", "--unchecked")
    valid = demo("call", "demo", "greet", "name=Ada", "--unchecked")
    (demo.cwd / "b.jsonl").write_text('{"tool": "greet", "arguments": {"name": "Ada"}}')
    batch = demo("call", "demo", "--batch", "b.jsonl", "--unchecked")

    assert refused.code == 7
    assert (sent.code, "name" in sent.stderr) == (6, True) or sent.code == 9
    assert (valid.code, valid.stdout) == (0, "Hello, Ada!\n")
    assert (batch.code, batch.errors[0]) == (2, "error: --unchecked and --batch cannot be used together")

"""A command line does the same with a server that is held as with one of its own, to the byte: what it prints, and its
exit code.

Each line is typed in two homes of the same content, one of which holds all its servers. There, a plain `call` runs in
the keeper; every third one runs once more as the others do, with a connection of its own.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from tests.cli.conftest import BIN, entry_of
from tests.forking.test_honesty import split, without_times

if TYPE_CHECKING:
    from tests.cli.conftest import Gaia

DEMO = {"command": str(BIN / "gaia"), "args": ["mcp", "serve", "demo"]}
AGENT = """
import sys

from gaia_mcp import MCPAgent, tool


class Notes(MCPAgent):
    "Keeps notes."

    @tool
    def add(self, text: str) -> str:
        "Keep a note."
        print("a stray line")
        return f"kept: {text}"

    @tool
    def broken(self, text: str = "") -> dict:
        "Raises."
        print("about to fail", file=sys.stderr)
        return {"x": 1 / 0}

    @tool
    def deep(self, names: list[str], at: dict[str, int], flag: bool = False) -> dict:
        "Structured."
        return {"names": names, "at": at, "flag": flag}
"""
SERVERS = {
    "demo": DEMO,
    "few": {**DEMO, "includeTools": ["greet", "add", "fail"], "trustHints": True},
    "sure": {**DEMO, "trustHints": True},
    "secret": {**DEMO, "env": {"API_KEY": "hunter2hunter2"}, "excludeTools": ["note"]},
    "hand": entry_of("good-handshake"),
    "new": entry_of("good-stateless"),
    "strange": entry_of("strange-results"),
    "old": entry_of("offers", "2025-11-25"),
    "young": entry_of("offers", "2026-07-28"),
    "picky": entry_of("refuses-arguments"),
    "says": entry_of("repeats", "said.txt"),
    "liar": entry_of("breaks-promise"),
    "lists": entry_of("list-errors", "-32603", "the list is lost"),
    "bare": entry_of("declares-nothing"),
    "bytes": entry_of("invalid-utf8"),
    "php": entry_of("malformed"),
    "halves": entry_of("bad-tools"),
    "places": entry_of("bad-resources"),
    "untyped": entry_of("no-output-type"),
    "pages": entry_of("many-pages"),
    "hangs": entry_of("hangs-in-call"),
    "garbage": entry_of("garbage-answer"),
    "wrong": entry_of("wrong-id"),
    "task": entry_of("needs-task"),
    "notes": {},
    "large": entry_of("huge-result", "1"),
    "heavy": entry_of("costly-schemas"),
    "sick": entry_of("refuses-ping"),
}
# Variables before a line are those of the command; BIN is the program.
CALLS = """
call demo greet name=Ada
call demo greet name=Ada style=warm
call demo greet name=Ada --json
call demo greet name=Ada --raw
call demo greet --args '{"name": "Ada"}'
call demo greet name=Ada name=Bob
call demo greet name=Ada style=rude
call demo greet
call demo greet name=@missing.txt
call demo greet name=@agent.py --quiet
call demo.greet name=Ada
call demo greet name=Ada --max-chars 4
call demo greet name=Ada --read-only
call sure greet name=Ada --read-only
call sure note text=x --read-only
call demo greet name=Ada --locked
call demo greet name=Ada --stage build
call demo greet name=Ada --timeout 0
call demo greet name=Ada --timeout soon
call demo greet name=\u2028Zoé
call demo greet name='Ada\x1b[31m'
call demo greet name=Ada --frobnicate
call demo grete name=Ada
call demo
call dmeo greet name=Ada
call
call demo add a=1 b=2
call demo add a=one b=2
call demo picture
call demo picture size=2 --json
call demo picture size=4 -o p.png
call demo picture size=4 --output-dir out
call demo picture size=2 --max-chars 10
call demo sound hertz=4000 seconds=0.01 --json
call demo attach
call demo attach --raw
call demo fail
call demo fail --json
call demo fail message='no such file: /x/y'
call demo countdown steps=2 seconds=0
call demo countdown steps=2 seconds=60 --timeout 1
call demo order
call demo order --decline
call demo order --answer size=large
call demo order --answer size=huge
call demo haiku about=spring
call demo haiku about=spring --sample cat
call demo note text=x --quiet
call few greet name=Ada
call few note text=x
call few picture --json
call secret greet name=hunter2hunter2
call secret fail message='the key is hunter2hunter2'
call secret note text=x
call hand echo text=hi n:=1
call hand refuse
call hand ask
call hand ask --answer city=Oslo
call hand roots
call hand roots --root .
call hand any method=sampling/createMessage
call hand any method=no/such
call hand log
call hand steps count:=2 seconds:=0
call hand slow seconds:=60 --timeout 1
call new echo text=hi
call new ask
call new ask --answer city=Oslo --root .
call new again
call new sampling
call new nothing
call new endless --answer city=Oslo
call strange strange
call strange strange --json
call strange refuse --json
call strange told a:=1 --json
call strange inner
call old touch
call young touch --json
call picky book
call picky book day=today
call says refuse
call says fail
call says stray
call liar answer
call liar echo --json
call lists x
call bare x
call bytes echo
call bytes inside
call php echo
call php list --json
call halves good
call hangs hang --timeout 1
call garbage echo --timeout 1
call wrong echo --timeout 1
call task simulate
call heavy takes x=1
call heavy elsewhere x=1
call large any
call notes add text=hi
call notes broken
call notes deep names:='["a"]' at:='{"b": 1}'
call notes deep names=a at=b
call ./agent.py add text=hi
call gaia mcp serve demo
call 'BIN mcp serve demo' greet name=Ada
call greet name=Ada -- BIN mcp serve demo
call demo greet name=Ada --batch -
call demo greet --help
call demo greet name=Ada --fresh
GAIA_MCP_KEEPER=0 call demo greet name=Ada
NO_COLOR=1 call demo fail
LANG=C call demo greet name=Ada
"""
OTHERS = """
tools demo
tools demo --json
tools demo --openai
tools demo greet
tools demo few new
tools few
tools secret --json
tools old
tools lists
tools bare
tools php
tools halves
tools places
tools untyped --json
tools says
tools pages --quiet
tools notes --json
tools ./agent.py
tools -- BIN mcp serve demo
prompts demo
prompts demo --json
prompts lists
prompt demo introduce name=Ada
prompt demo introduce
prompt demo other
prompt old review lang=python
resources demo
resources demo --json
resources young
resources places
read demo demo://about
read demo demo://about --json
read demo demo://logo -o logo.png
read demo demo://nothing
read demo demo://notes/9
read old file:///a
read hand x://y
search greet
search --json 'say hello'
guide demo
guide bare
watch demo --timeout 1
watch demo demo://notes --timeout 1 --json
watch young file:///a --timeout 1
test-client demo
test-client demo --json
test-client demo --call greet name=Ada
test-client hand --json
test-client few --call note text=x
test-client sick
watch sick file:///a
lock demo
"""
# A number of lines in each test: pytest-xdist shares the tests out.
PART = 34
ROUNDS = "the keeper makes the round trips of a server that asks by its results, and has its own words for their end"
STDOUT = "what a server writes to stdout beside MCP cannot be told apart by calls, and is in the keeper's log"
SHUTDOWN = "a server that is held is not ended, and a note says so"
SHUTDOWN_TEXT = r'note: server .* is held: .*\n| *ok +shutdown.*\n|,\n +\{\n +"name": "shutdown",[^}]*\}'
# What differs in a line, and why.
EXCEPTIONS = {
    "call says refuse": (r"hint: .*", "its stderr was written at its start, before the command"),
    "call says stray": (r"note: .*\n", STDOUT),
    "call bytes echo": (r"note: .*\n", STDOUT),
    "call bytes inside": (r"note: .*\n", STDOUT),
    "call bare x": (r": tools/list", "the keeper refuses by itself what the server does not declare"),
    "call new sampling": (r"error: .*\nhint: .*", ROUNDS),
    "call new nothing": (r"'nothing' may have run, and was not called again; ", ROUNDS),
    "call new endless --answer city=Oslo": (r"error: .*\nhint: .*", ROUNDS),
    "call strange told a:=1 --json": (r'"progressToken": \d+', "it is of a connection that has had other calls"),
    **{
        f"test-client {words}": (SHUTDOWN_TEXT, SHUTDOWN)
        for words in (
            "demo", "demo --json", "demo --call greet name=Ada", "hand --json",
            "few --call note text=x", "sick",
        )
    },
}  # fmt: skip


def _lines() -> list[str]:
    return [*CALLS.strip().splitlines(), *OTHERS.strip().splitlines()]


def _prepare(gaia: Gaia, home: str) -> None:
    gaia.home, gaia.cwd = gaia.home.parent / f"home-{home}", gaia.cwd.parent / f"work-{home}"
    for folder in (gaia.home, gaia.cwd):
        folder.mkdir()
    gaia.environ["HOME"] = str(gaia.home)
    gaia.write({**SERVERS, "notes": {"agent": f"{gaia.cwd / 'agent.py'}:Notes"}})
    (gaia.cwd / "agent.py").write_text(AGENT)
    (gaia.cwd / "said.txt").write_text("a text\nof two lines")


def _typed(gaia: Gaia, line: str, **variables: str) -> tuple[str, str, int]:
    """What a line prints, without the names of folders, times and what its exception masks; and its exit code."""
    before, words = split(line.replace("BIN", str(BIN / "gaia")))
    ran = gaia.command(BIN / "gaia", "mcp", *words, env={**gaia.environ, **variables, **before}, input=b"")
    masked, _ = EXCEPTIONS.get(line, ("$^", ""))

    def shown(printed: bytes) -> str:
        text = without_times(printed.decode(errors="backslashreplace"))
        for name in (str(gaia.home), str(gaia.cwd), gaia.cwd.name):
            text = text.replace(name, "_")
        return re.sub(masked, "", text)

    return shown(ran.stdout), shown(ran.stderr), ran.returncode


@pytest.mark.parametrize("first", range(0, len(_lines()), PART))
def test_a_line_prints_the_same_with_a_server_that_is_held(keeping: Gaia, first: int) -> None:
    """Ours: whether a server is held shows in how long a command takes, and in nothing else. A line that cannot do the
    same is in a table, with the reason.
    """
    lines = _lines()[first : first + PART]
    used = [name for name in SERVERS if any(name in line for line in lines)]
    found: dict[str, set[tuple[str, str, int]]] = {line: set() for line in lines}
    for home in ("alone", "warm", "held"):
        _prepare(keeping, home)
        folder = str(keeping.home / ".gaia")
        # A path that ends with a slash is left to the ordinary command.
        variables = {"GAIA_HOME": folder + "/" * (home == "held")}
        if home == "alone":
            variables["GAIA_MCP_KEEPER"] = "0"
        else:
            held = _typed(keeping, " ".join(["up", *used, "./agent.py"]), **variables)
            assert held[2] == 0, held
        calls = [line for line in lines if line.startswith("call")]
        for line in calls[::3] if home == "held" else lines:
            found[line].add(_typed(keeping, line, **variables))

    assert not {line: outcomes for line, outcomes in found.items() if len(outcomes) > 1}
    assert not [line for line in EXCEPTIONS if line not in _lines()]

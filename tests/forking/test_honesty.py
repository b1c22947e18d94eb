"""A command line does the same whether it is forked or started: what it prints, how it ends, which files it writes, and
what is left running.
"""

from __future__ import annotations

import re
import shlex
import shutil
from itertools import takewhile
from typing import TYPE_CHECKING

import pytest

from tests.cli.conftest import BIN, entry_of, gaia, no_orphans, run_on_terminal, shared

if TYPE_CHECKING:
    from tests.cli.conftest import Gaia

__all__ = ["gaia", "no_orphans", "shared"]  # Fixtures.

# In each home. `plain` and `new` are of the two eras, the others fail in ways of their own.
SERVERS = {
    "demo": {"command": str(BIN / "gaia"), "args": ["mcp", "serve", "demo"]},
    "plain": entry_of("good-handshake"),
    "new": entry_of("good-stateless", env={"API_KEY": "hunter2hunter2"}),
    "dead": entry_of("exits-at-once"),
    "dies": entry_of("dies-in-call"),
    "mute": entry_of("hangs-at-start", timeout=3),
    "gone": {"command": "no-such-program"},
    "far": {"url": "http://127.0.0.1:9/mcp"},
}
AGENT = """
from gaia_mcp import MCPAgent, tool


class Notes(MCPAgent):
    "Keeps notes."

    @tool
    def add(self, text: str) -> str:
        "Keep a note."
        print("a stray line")
        return f"kept: {text}"
"""
CODEX = '[mcp_servers.time]\ncommand = "time-server"\nargs = ["--utc"]\n'
GOOSE = "extensions:\n  fetch:\n    type: stdio\n    cmd: fetch-server\n    enabled: true\n"

# Each is typed in a fresh home, with variables before it. What libraries read at their import is among these: colours,
# widths, the terminal's name, folders, the time zone, proxies.
MANAGE = """
list
list --check
NO_COLOR=1 list
FORCE_COLOR=1 list
COLUMNS=40 list
COLUMNS=40 --help
TERMINAL_WIDTH=40 list --help
TYPER_USE_RICH=1 add --help
_TYPER_FORCE_DISABLE_TERMINAL=1 tools --help
GITHUB_ACTIONS=true lits
TERM=dumb list
TZ=Asia/Tokyo logs demo
show new --json
GAIA_HOME=elsewhere list
GAIA_CONFIG_DIR=elsewhere list --json
XDG_CONFIG_HOME=elsewhere import --json
XDG_CACHE_HOME=cache tools demo
HOME=nowhere list
add x -- gaia mcp serve demo
add x -- no-such-program
add '{"mcpServers": {"t": {"command": "gaia", "args": ["mcp", "serve", "demo"]}}}'
add y ./agent.py
EDITOR=true edit demo
disable demo plain
remove demo --json
import
import goose --dry-run
export demo --as codex
trust
login --status
frobnicate
--version
"""
USE = """
tools demo
tools demo plain new --json
tools dead
tools mute
tools gone
tools -- gaia mcp serve demo
tools ./agent.py
call demo greet name=Ada
call demo greet name=Ada --json
call demo fail --json
call demo order --answer size=large
call new echo text=hi
call dies die
call ./agent.py add text=hi
call demo picture --output-dir out
GAIA_HOME=elsewhere search greet
resources demo
read demo nothing://here
guide --json
logs demo
complete fish -- mcp call demo ''
complete bash -- 'gaia mcp ' ''
"""
TEST = """
test-client demo
test-client demo --json
test-client demo --call greet name=Ada --junit report.xml
lock demo
call demo greet name=Ada --locked
init agent2.py
init --handler handler.py
serve demo
serve ./agent.py --check
serve ./nothing.py
PYTHONPATH=. serve agent:Notes --check
record plain --to r.jsonl
replay nothing.jsonl
completion bash
"""
# At a terminal, as wide as a person's.
AT_TERMINAL = """
list
tools demo
tools --help
call demo greet name=Ada
call demo fail
test-client demo
NO_COLOR=1 tools demo
TERM=dumb tools demo
COLORTERM=truecolor tools demo
call dead echo
"""
TABLES = {"manage": MANAGE, "use": USE, "test": TEST}
# What differs from one run to the next in any case.
VARIABLE = re.compile(
    r"""\d+(?:\.\d+)?[ ]?(?:ms|s)\b
    |time="[\d.]+"|timestamp="[^"]+"
    |"(?:ms|seconds|pid)":[ ][\d.]+
    |\d{4}-\d\d-\d\d[T ][\d:.]+Z?""",
    re.VERBOSE,
)
# Shown while a command waits, and removed: on a busy machine more of it.
SPINNER = re.compile(r"(?:\r[\u2800-\u28ff] [^\r\x1b]*\x1b\[K)+\r\x1b\[K")


def prepare(gaia: Gaia) -> None:
    """The same home and working folder each time."""
    for folder in (gaia.home, gaia.cwd):
        shutil.rmtree(folder)
        folder.mkdir()
    gaia.write(SERVERS)
    for path, text in {
        gaia.cwd / "agent.py": AGENT,
        gaia.home / ".codex" / "config.toml": CODEX,
        gaia.home / ".config" / "goose" / "config.yaml": GOOSE,
    }.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def without_times(text: str) -> str:
    return VARIABLE.sub("_", SPINNER.sub("", text))


def files_of(gaia: Gaia) -> dict[str, str]:
    """The names of all files, without the numbers that make them unique, and what has been configured."""
    paths = [path for folder in (gaia.home, gaia.cwd) for path in folder.rglob("*") if path.is_file()]
    names = {re.sub(r"\d{3,}", "_", str(path)): "" for path in paths if "__pycache__" not in path.parts}
    return {**names, "configuration": gaia.config.read_text()}


def split(line: str) -> tuple[dict[str, str], list[str]]:
    """The variables before a line, and its words."""
    words = shlex.split(line)
    variables = list(takewhile(re.compile(r"[A-Z_]+=").match, words))
    return dict(each.split("=", 1) for each in variables), words[len(variables) :]


@pytest.mark.parametrize("table", TABLES)
def test_a_forked_command_line_does_what_a_started_one_does(gaia: Gaia, table: str) -> None:
    """Ours: a story may not be able to tell the difference."""
    wrong = {}
    for line in TABLES[table].strip().splitlines():
        variables, words = split(line)
        first = () if words[0] in ("complete", "--version") else ("mcp",)
        found = []
        for starts in (True, False):
            prepare(gaia)
            environ = {**gaia.environ, **variables}
            ran = gaia.command(BIN / "gaia", *first, *words, env=environ, input="", starts=starts, text=True)
            outcome = {"stdout": without_times(ran.stdout), "stderr": without_times(ran.stderr), "code": ran.returncode}
            found.append({**outcome, **files_of(gaia)})
        if found[0] != found[1]:
            wrong[line] = {
                name: (found[0].get(name), found[1].get(name))
                for name in found[0].keys() | found[1].keys()
                if found[0].get(name) != found[1].get(name) or name not in found[0] or name not in found[1]
            }

    assert not wrong


def test_a_forked_command_line_does_the_same_at_a_terminal(gaia: Gaia) -> None:
    """Ours: colours, width and what is asked depend on it."""
    wrong = {}
    plain = gaia.environ
    for line in AT_TERMINAL.strip().splitlines():
        variables, words = split(line)
        gaia.environ = {**plain, **variables}
        found = []
        for gaia.starts in (True, False):
            prepare(gaia)
            shown, code = run_on_terminal(gaia, *words, width=70)
            found.append((without_times(shown), code))
        if found[0] != found[1]:
            wrong[line] = found

    assert not wrong

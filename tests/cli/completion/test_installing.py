"""A TAB pressed in real interactive shells, in which only `completion --install` was run."""

from __future__ import annotations

import re
import shutil
import subprocess
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from gaia_mcp.config.entries import read_entry
from gaia_mcp.storage.server_cache import ServerCache
from tests.cli.conftest import BIN, Gaia
from tests.cli.terminals import START_FILES, Terminal, write_start_file

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Open = Callable[..., Terminal]

ROOT = Path(__file__).parents[3]
SCHEMA = {
    "type": "object",
    "properties": {
        "dir": {"type": "string"},
        "loud": {"type": "boolean"},
        "name": {"type": "string", "description": "Who is meant"},
        "path": {"type": "string"},
        "style": {"enum": ["plain", "very warm", "it's"], "default": "plain"},
        "zone": {"enum": ["UTC+1:00"]},
    },
    "required": ["name"],
}
# What is typed, and what the line is then; the same in all shells but for what they quote and how. Each is here for
# what a shell does with it; what is offered is tested without shells.
TYPED = [
    ("gaia ", "gaia mcp "),
    ("gaia mcp ca", "gaia mcp call "),
    ("gmcp ca", "gmcp call "),
    ("gmcp mcp ca", "gmcp mcp call "),
    ("gaia mcp list --ch", "gaia mcp list --check "),
    ("gaia mcp call de", "gaia mcp call demo "),
    ("gaia mcp call demo gr", "gaia mcp call demo greet "),
    ("gaia mcp call demo greet n", "gaia mcp call demo greet name="),
    ("gaia mcp call demo greet name=Ada l", "gaia mcp call demo greet name=Ada loud="),
    ("gaia mcp call demo greet style=p", "gaia mcp call demo greet style=plain "),
    ("gaia mcp call demo greet style=v", r"gaia mcp call demo greet style=very\ warm "),
    ("gaia mcp call demo greet style=i", r"gaia mcp call demo greet style=it\'s "),
    ("gaia mcp call demo greet zone=", "gaia mcp call demo greet zone=UTC+1:00 "),
    ("gaia mcp call demo greet zone=UTC+1:", "gaia mcp call demo greet zone=UTC+1:00 "),
    ("gaia mcp call demo greet name=@no", "gaia mcp call demo greet name=@note.txt "),
    ("gaia mcp call demo greet name=@tw", r"gaia mcp call demo greet name=@two\ words.txt "),
    ("gaia mcp call demo greet name=@fo", "gaia mcp call demo greet name=@folder/"),
    ("gaia mcp call demo greet name=@folder/", "gaia mcp call demo greet name=@folder/inner "),
    ("gaia mcp call demo greet path=no", "gaia mcp call demo greet path=note.txt "),
    ("gaia mcp call demo greet path=./tw", r"gaia mcp call demo greet path=./two\ words.txt "),
    (r"gaia mcp call demo greet path=two\ w", r"gaia mcp call demo greet path=two\ words.txt "),
    ("gaia mcp call demo greet path=~/in", r"gaia mcp call demo greet path=~/in\ home "),
    ("gaia mcp call demo greet dir=", "gaia mcp call demo greet dir=folder/"),
    ("gaia mcp list --config no", "gaia mcp list --config note.txt "),
    ("gaia mcp list --config=no", "gaia mcp list --config=note.txt "),
    ("gaia mcp show my", r"gaia mcp show my\ server "),
    (r"gaia mcp show my\ s", r"gaia mcp show my\ server "),
    ("gaia mcp show 'my", "gaia mcp show 'my server' "),
    ('gaia mcp show "my', 'gaia mcp show "my server" '),
    (r"gaia mcp show 'back\sl", r"gaia mcp show 'back\slash' "),
    (r"gaia mcp show back\\sl", r"gaia mcp show back\\slash "),
    ("gaia mcp list --config ~/in", r"gaia mcp list --config ~/in\ home "),
    ("gaia mcp add new -- ~/in", r"gaia mcp add new -- ~/in\ home "),
    ("gaia mcp trust ~/fo", "gaia mcp trust ~/folder/"),
    ("gaia mcp call my\\ server gr", "gaia mcp call my\\ server greet "),
    ("gaia mcp show a:", "gaia mcp show a:b "),
    ("gaia mcp show q", r"gaia mcp show q\"q "),
    ("gaia mcp show h", "gaia mcp show h\u00f6flich\U0001f600 "),
    ("gaia mcp show \u05e9", "gaia mcp show \u05e9\u05dc\u05d5\u05dd "),
    ("gaia mcp serve agent.", "gaia mcp serve agent.py:"),
    ("gaia mcp serve agent.py:", "gaia mcp serve agent.py:One "),
    ("gaia mcp list | gaia mcp ca", "gaia mcp list | gaia mcp call "),
    ("gaia mcp list >no", "gaia mcp list >note.txt "),
    ("gaia mcp show surely-nobo", "gaia mcp show surely-nobo"),
]
OTHERS = (
    "off",
    "my server",
    "back\\slash",
    "a:b",
    'q"q',
    "h\u00f6flich\U0001f600",
    "\u05e9\u05dc\u05d5\u05dd",
    "\x1b[31mred",
)


def settle(gaia: Gaia, shell: str) -> None:
    """A home with a start file, completion installed, servers, one of which has been seen, and files."""
    if not (gaia.home / START_FILES[shell][0]).exists():
        write_start_file(shell, gaia.home)
    assert gaia("completion", shell, "--install").code == 0
    gaia.environ["GAIA_HOME"] = str(gaia.home / ".gaia")
    entry: dict[str, Any] = {"command": "surely-not-installed"}
    gaia.write({"demo": entry, **dict.fromkeys(OTHERS, entry), "off": {**entry, "disabled": True}})
    for name in ("demo", "my server"):
        tools = [{"name": "greet", "inputSchema": SCHEMA, "description": "\x1b[31mSay hello"}, {"name": "add"}]
        ServerCache(gaia.home / ".gaia" / "cache", read_entry(name, entry)).keep_seen(tools)
    for file in ("note.txt", "two words.txt", "folder/inner"):
        (gaia.cwd / file).parent.mkdir(exist_ok=True)
        (gaia.cwd / file).touch()
    (gaia.home / "in home").touch()
    (gaia.home / "folder" / "sub").mkdir(parents=True)
    (gaia.cwd / "agent.py").write_text("class One: ...\n")


@pytest.fixture(params=START_FILES)
def shell(request: pytest.FixtureRequest) -> str:
    """The name of each shell in turn."""
    return str(request.param)


@pytest.fixture
def opened(gaia: Gaia, shells: dict[str, str]) -> Iterator[Open]:
    """Opens a shell by its name, with changes to its environment."""
    terminals: list[Terminal] = []

    def start(shell: str, **variables: str) -> Terminal:
        terminals.append(Terminal(shells[shell], gaia.cwd, {**gaia.environ, **variables}))
        return terminals[-1]

    yield start
    for terminal in terminals:
        terminal.close()


@pytest.fixture
def open_shell(gaia: Gaia, shell: str, opened: Open) -> Open:
    """Opens each shell, in a home where completion is installed."""
    settle(gaia, shell)
    return partial(opened, shell)


def test_a_tab_completes(open_shell: Open) -> None:
    """Ours: the line as it stands after one TAB."""
    terminal = open_shell()

    found = [(typed, terminal.line_after(f"{typed}\t")) for typed, _ in TYPED]

    assert found == TYPED


def test_several_candidates_are_listed_with_descriptions(open_shell: Open) -> None:
    """Ours: required arguments first, types, and never a control character of the server's."""
    terminal = open_shell()

    shown = terminal.shown_after("gaia mcp call demo greet \t\t", "UTC+1:00")
    assert shown.index("name=") < shown.index("Who is meant") < shown.index("loud=") < shown.index("boolean")

    assert "\x1b[31m" not in terminal.shown_after("gaia mcp call demo \t\t", "Say hello")


@pytest.mark.parametrize("shell", ["bash", "zsh"])
def test_values_are_listed_without_the_name_of_the_argument(gaia: Gaia, opened: Open, shell: str) -> None:
    """Ours: zsh draws no dashes after a value without a description. Fish always shows the whole word."""
    settle(gaia, shell)
    shown = opened(shell).shown_after("gaia mcp call demo greet style=\t\t", "warm")

    listed = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", shown).replace("\r", "").partition("\n")[2]
    assert "very" in listed
    assert "style=very" not in listed
    assert not [line for line in listed.splitlines() if line.rstrip().endswith(" --")]


def test_a_corrupt_cache_or_configuration_leaves_the_line_unchanged(open_shell: Open, gaia: Gaia) -> None:
    """Ours: and nothing is printed, which would garble the line."""
    terminal = open_shell()
    (gaia.home / ".gaia" / "cache" / "tools" / "demo.json").write_text("{")
    assert terminal.line_after("gaia mcp call demo gr\t") == "gaia mcp call demo gr"

    gaia.config.write_text("{")
    for line in ("gaia mcp call de", "gaia mcp call demo greet n", "gaia mcp show "):
        assert terminal.line_after(f"{line}\t") == line
    assert "rror" not in terminal.seen
    assert "Traceback" not in terminal.seen


def test_a_program_typed_by_its_path_is_completed(open_shell: Open, gaia: Gaia, tmp_path: Path) -> None:
    """Ours: a program in a virtual environment need not be on PATH."""
    (gaia.home / "venv").symlink_to(BIN.parent)
    terminal = open_shell(PATH="/usr/local/bin:/usr/bin:/bin")
    assert shutil.which("gaia", path="/usr/local/bin:/usr/bin:/bin") is None

    for program in (f"{BIN}/gaia", "~/venv/bin/gaia", "../home/venv/bin/gaia"):
        assert terminal.line_after(f"{program} mcp call de\t") == f"{program} mcp call demo "
    assert terminal.line_after(f"{BIN}/gmcp ca\t") == f"{BIN}/gmcp call "
    assert terminal.line_after("gaia mcp call de\t") == "gaia mcp call de"


def test_the_scripts_load_silently(gaia: Gaia, shells: dict[str, str], shell: str, tmp_path: Path) -> None:
    """Ours: also a second time, since a start file may be read again."""
    name = {"bash": "gaia.bash", "zsh": "_gaia", "fish": "gaia.fish"}[shell]
    init = "autoload -Uz compinit; compinit -i; " if shell == "zsh" else ""
    source = f"source {ROOT / 'completions' / name}; "
    ran = subprocess.run(
        [shells[shell], "-c", init + source + source], capture_output=True, env=gaia.environ, check=True
    )

    assert (ran.stdout, ran.stderr) == (b"", b"")


def test_zsh_finds_the_script_in_fpath(gaia: Gaia, opened: Open) -> None:
    """zsh: a file in `fpath` whose first line names the commands, as the wheel installs it."""
    settle(gaia, "zsh")
    assert gaia("completion", "zsh", "--uninstall").code == 0
    start = gaia.home / ".zshrc"
    start.write_text(f"{start.read_text()}fpath=({ROOT / 'completions'} $fpath)\nautoload -Uz compinit; compinit -i\n")

    terminal = opened("zsh")

    for _ in range(2):
        assert terminal.line_after("gaia mcp call demo gr\t") == "gaia mcp call demo greet "


def test_bash_word_breaks_are_unchanged(gaia: Gaia, opened: Open) -> None:
    """Ours: COMP_WORDBREAKS belongs to all programs."""
    settle(gaia, "bash")
    terminal = opened("bash")

    def breaks() -> list[str]:
        return re.findall(r"<(\d+)>\r", terminal.shown_after('echo "<${#COMP_WORDBREAKS}>"\n', ">\r\n"))

    before = breaks()
    assert terminal.line_after("gaia mcp call demo greet n\t") == "gaia mcp call demo greet name="
    assert breaks() == before != []


def test_bash_completion_loads_the_script_on_demand(bash_completion: str, gaia: Gaia, opened: Open) -> None:
    """bash-completion: where it is installed, the start file stays as it is."""
    start = write_start_file("bash", gaia.home)
    start.write_text(f"{start.read_text()}source {bash_completion}\n")
    before = start.read_bytes()
    settle(gaia, "bash")

    terminal = opened("bash")

    assert start.read_bytes() == before
    for program in ("gaia mcp", "gmcp", f"{BIN}/gmcp", "sudo gaia mcp"):
        assert terminal.line_after(f"{program} call demo greet style=p\t") == f"{program} call demo greet style=plain "

"""Words that people type: `help`, `version`, aliases, and the names that other programs have for our commands."""

from __future__ import annotations

import re
import shlex
import subprocess
from typing import TYPE_CHECKING

import pytest

from gaia_mcp._version import __version__
from gaia_mcp.cli.app import COMMANDS, UNLISTED
from gaia_mcp.cli.lines import Typed
from gaia_mcp.cli.vocabulary import _MEANT, _RENAME, _STATUS, ALIASES, meant_by
from tests.cli.conftest import BIN

if TYPE_CHECKING:
    from tests.cli.conftest import Gaia


def printed(gaia: Gaia, *words: str) -> str:
    """What the program prints, which must end well."""
    program, *rest = words
    ran = subprocess.run([BIN / program, *rest], capture_output=True, env=gaia.environ, cwd=gaia.cwd, check=False)
    assert (ran.returncode, ran.stderr) == (0, b""), (words, ran)
    return ran.stdout.decode()


@pytest.mark.parametrize("lead", [("gaia",), ("gaia", "mcp"), ("gmcp",), ("gmcp", "mcp")], ids=" ".join)
def test_help_and_version_are_understood_at_both_levels(gaia: Gaia, lead: tuple[str, ...]) -> None:
    """Ours: as words and as options."""
    page = printed(gaia, *lead, "--help")

    assert printed(gaia, *lead, "-h") == printed(gaia, *lead, "help") == page
    assert printed(gaia, *lead, "version") == printed(gaia, *lead, "--version") == f"gaia-mcp {__version__}\n"
    assert "help  " not in page.partition("Commands:")[2]


@pytest.mark.parametrize("lead", [("gaia",), ("gaia", "mcp"), ("gmcp",), ("gaia", "help", "mcp")], ids=" ".join)
def test_help_explains_a_command(gaia: Gaia, lead: tuple[str, ...]) -> None:
    """Ours: the page of `--help`."""
    words = (*lead, "call") if "help" in lead else (*lead, "help", "call")

    assert "TOOL [ARG...]" in printed(gaia, *words)
    assert printed(gaia, "gaia", "mcp", "call", "-h") == printed(gaia, "gaia", "mcp", "help", "call")


def test_help_explains_a_tool(demo: Gaia) -> None:
    """Ours: as `call SERVER TOOL --help` does."""
    assert demo("tools", "demo").code == 0

    assert printed(demo, "gaia", "mcp", "help", "call", "demo", "greet").startswith("Usage: gaia mcp call demo greet ")


def test_an_alias_is_the_command_and_in_no_list(demo: Gaia) -> None:
    """Ours: its own errors and pages name the command."""
    assert printed(demo, "gaia", "mcp", "ls") == printed(demo, "gmcp", "ls") == printed(demo, "gaia", "mcp", "list")
    assert printed(demo, "gaia", "mcp", "get", "demo") == printed(demo, "gaia", "mcp", "show", "demo")
    assert "greet" in printed(demo, "gaia", "mcp", "test", "demo", "--call", "greet", "name=Ada")
    assert printed(demo, "gaia", "mcp", "rm", "--help").startswith("Usage: gaia mcp remove ")
    assert demo("rm").errors[1] == "hint: see: gaia mcp remove --help"
    assert demo("rm", "--config").errors[1] == "hint: see: gaia mcp remove --help"
    assert printed(demo, "gaia", "mcp", "rm", "demo").startswith("removed 'demo'")
    listed = printed(demo, "gaia", "mcp", "--help")
    assert not [alias for alias in ALIASES if f"\n    {alias} " in listed]


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("rename", "edit NAME --rename NEW"),
        ("rename old", "edit old --rename NEW"),
        ("rename old 'a b'", "edit old --rename 'a b'"),
        ("info demo", "show demo"),
        ("info", "show NAME"),
        ("inspect demo --check", "show demo --check"),
        ("doctor", "test-client --all"),
        ("doctor demo", "test-client demo"),
        ("delete demo", "remove demo"),
        ("uninstall demo", "remove demo"),
        ("install time -- uvx mcp-server-time", "add time -- uvx mcp-server-time"),
        ("update demo --cwd 'my folder'", "edit demo --cwd 'my folder'"),
        ("status", "list --check"),
        ("run demo greet name='Ada L'", "call demo greet 'name=Ada L'"),
        ("exec", "call NAME TOOL"),
        ("ps", "list --check"),
        ("log demo", "logs demo"),
        ("tail", "logs NAME --follow"),
        ("lsit --check", "list --check"),
        ("tool demo", "tools demo"),
        ("rename old --config 'a b' new", "edit --config 'a b' old --rename new"),
        ("status --config=x", "list --config x --check"),
        ("install new --config x -- npx --config y", "add --config x new -- npx --config y"),
        ("info --config", "show NAME"),
    ],
)
def test_another_word_suggests_what_is_meant_with_what_was_typed(
    monkeypatch: pytest.MonkeyPatch, typed: str, meant: str
) -> None:
    """Ours: by meaning first, then by letters; a line that can be copied."""
    monkeypatch.setattr(Typed, "config", None)
    word, *rest = shlex.split(typed)

    assert meant_by(word, rest, COMMANDS) == f"gaia mcp {meant}"


def test_each_meaning_is_a_command_and_no_word_has_two() -> None:
    """Ours: the lists stay true when commands come and go."""
    assert {command for command, _ in _MEANT.values()} | set(ALIASES.values()) <= set(COMMANDS)
    words = [*_MEANT, *_RENAME, *_STATUS, *ALIASES, *COMMANDS, *UNLISTED, "help", "version"]
    assert len(words) == len(set(words))


@pytest.mark.parametrize("lead", [("gaia", "mcp"), ("gmcp",), ("gaia",)], ids=" ".join)
def test_what_is_suggested_is_never_run(demo: Gaia, lead: tuple[str, ...]) -> None:
    """Ours: two lines, exit code 2, and nothing has changed."""
    before = demo.config.read_bytes()
    program, *rest = lead

    ran = subprocess.run(
        [BIN / program, *rest, "delete", "demo"], capture_output=True, env=demo.environ, cwd=demo.cwd, check=False
    )

    assert (ran.returncode, ran.stdout) == (2, b"")
    again = "gmcp" if program == "gmcp" else "gaia mcp"
    assert ran.stderr.decode() == f"error: no such command 'delete'\nhint: did you mean: {again} remove demo\n"
    assert demo.config.read_bytes() == before


def test_a_word_like_no_other_leads_to_the_list(gaia: Gaia) -> None:
    """Ours."""
    ran = gaia("xyzzy")

    assert (ran.code, ran.errors) == (2, ["error: no such command 'xyzzy'", "hint: see: gaia mcp --help"])


def test_the_manual_lists_the_aliases() -> None:
    """Ours: they are in no help page."""
    from gaia_mcp.cli.manual.pages import pages

    page = re.sub(r"\\f[BIRP]|\\", "", pages()["gaia-mcp.1"])
    assert all(f"{alias} ({name})" in page for alias, name in ALIASES.items())

"""`help`, `version`, aliases, and the names that other programs have for our commands."""

from __future__ import annotations

import re
import shlex
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
    ran = gaia.command(BIN / program, *rest)
    assert (ran.returncode, ran.stderr) == (0, b""), (words, ran)
    return ran.stdout.decode()


@pytest.mark.parametrize("lead", [("gaia",), ("gaia", "mcp"), ("gmcp",), ("gmcp", "mcp")], ids=" ".join)
def test_help_and_version_are_understood_at_both_levels(gaia: Gaia, lead: tuple[str, ...]) -> None:
    """Ours: as words and as options, before and after `mcp`."""
    page = printed(gaia, *lead, "--help")

    assert printed(gaia, *lead, "-h") == printed(gaia, *lead, "help") == page
    assert printed(gaia, *lead, "version") == printed(gaia, *lead, "--version") == f"gaia-mcp {__version__}\n"
    assert "help  " not in page.partition("Commands:")[2]


@pytest.mark.parametrize("lead", [("gaia",), ("gaia", "mcp"), ("gmcp",), ("gaia", "help", "mcp")], ids=" ".join)
def test_help_explains_a_command(gaia: Gaia, lead: tuple[str, ...]) -> None:
    """Ours: `help call` prints the page of `call --help`."""
    words = (*lead, "call") if "help" in lead else (*lead, "help", "call")

    assert "TOOL [ARG...]" in printed(gaia, *words)
    assert printed(gaia, "gaia", "mcp", "call", "-h") == printed(gaia, "gaia", "mcp", "help", "call")


def test_help_explains_a_tool(demo: Gaia) -> None:
    """Ours: as `call SERVER TOOL --help` does."""
    assert demo("tools", "demo").code == 0

    assert printed(demo, "gaia", "mcp", "help", "call", "demo", "greet").startswith("Usage: gaia mcp call demo greet ")


def test_an_alias_runs_its_command_and_is_not_in_the_help(demo: Gaia) -> None:
    """Ours: errors and help pages name the command, not the alias."""
    assert printed(demo, "gaia", "mcp", "ls") == printed(demo, "gmcp", "ls") == printed(demo, "gaia", "mcp", "list")
    assert printed(demo, "gaia", "mcp", "get", "demo") == printed(demo, "gaia", "mcp", "show", "demo")
    assert "greet" in printed(demo, "gaia", "mcp", "test", "demo", "--call", "greet", "name=Ada")
    assert printed(demo, "gaia", "mcp", "rm", "--help").startswith("Usage: gaia mcp remove ")
    assert demo("rm").errors[1] == "hint: see: gaia mcp remove --help"
    assert demo("rm", "--config").errors[1] == "hint: see: gaia mcp remove --help"
    assert printed(demo, "gaia", "mcp", "rm", "demo").startswith("removed 'demo'")
    listed = printed(demo, "gaia", "mcp", "--help")
    assert not [alias for alias in ALIASES if f"\n    {alias} " in listed]


def test_a_command_of_another_program_suggests_ours_with_its_arguments() -> None:
    """Ours: by meaning first, then by letters; a line that can be copied."""
    meant = {
        "rename": "edit NAME --rename NEW",
        "rename old": "edit old --rename NEW",
        "rename old 'a b'": "edit old --rename 'a b'",
        "info demo": "show demo",
        "info": "show NAME",
        "inspect demo --check": "show demo --check",
        "doctor": "test-client --all",
        "doctor demo": "test-client demo",
        "delete demo": "remove demo",
        "uninstall demo": "remove demo",
        "install time -- uvx mcp-server-time": "add time -- uvx mcp-server-time",
        "update demo --cwd 'my folder'": "edit demo --cwd 'my folder'",
        "status": "list --check",
        "run demo greet name='Ada L'": "call demo greet 'name=Ada L'",
        "exec": "call NAME TOOL",
        "ps": "list --check",
        "log demo": "logs demo",
        "tail": "logs NAME --follow",
        "lsit --check": "list --check",
        "auth": "login NAME",
        "auth demo": "login demo",
        "auth login demo": "login demo",
        "auth logout demo": "logout demo",
        "grep word": "search word",
        "cache": "tools NAME",
        "daemon": "serve --all",
        "session": "list --check",
        "sync": "export --to HOST",
        "discover": "import",
        "connect time -- uvx mcp-server-time": "add time -- uvx mcp-server-time",
        "tools/call demo greet": "call demo greet",
        "tools-list demo": "tools demo",
        "whoami": "login --status",
        "config list --json": "list --json",
        "delete list": "remove list",
        "roots": "",
        "tool demo": "tools demo",
        "rename old --config 'a b' new": "edit --config 'a b' old --rename new",
        "status --config=x": "list --config x --check",
        "install new --config x -- npx --config y": "add --config x new -- npx --config y",
        "info --config": "show NAME",
    }

    def suggested(typed: str) -> str:
        Typed.begin("", None)
        word, *rest = shlex.split(typed)
        return meant_by(word, rest, COMMANDS).removeprefix("gaia mcp ")

    assert {typed: suggested(typed) for typed in meant} == meant


def test_every_synonym_has_one_existing_command() -> None:
    """Ours: a suggestion must not name a command that was removed."""
    assert {command for command, _ in _MEANT.values()} | set(ALIASES.values()) <= set(COMMANDS)
    words = [*_MEANT, *_RENAME, *_STATUS, *ALIASES, *COMMANDS, *UNLISTED, "help", "version"]
    assert len(words) == len(set(words))


@pytest.mark.parametrize("lead", [("gaia", "mcp"), ("gmcp",), ("gaia",)], ids=" ".join)
def test_a_suggested_command_is_not_run(demo: Gaia, lead: tuple[str, ...]) -> None:
    """Ours: it might remove a server; the exit code is 2."""
    before = demo.config.read_bytes()
    program, *rest = lead

    ran = demo.command(BIN / program, *rest, "delete", "demo")

    assert (ran.returncode, ran.stdout) == (2, b"")
    again = "gmcp" if program == "gmcp" else "gaia mcp"
    assert ran.stderr.decode() == f"error: no such command 'delete'\nhint: did you mean: {again} remove demo\n"
    assert demo.config.read_bytes() == before


def test_an_unrelated_command_leads_to_the_help(gaia: Gaia) -> None:
    """Ours: a suggestion that is far off would be wrong advice."""
    ran = gaia("xyzzy")

    assert (ran.code, ran.errors) == (2, ["error: no such command 'xyzzy'", "hint: see: gaia mcp --help"])


def test_the_manual_lists_the_aliases() -> None:
    """Ours: they are in no help page."""
    from gaia_mcp.cli.manual.pages import pages

    page = re.sub(r"\\f[BIRP]|\\", "", pages()["gaia-mcp.1"])
    assert all(f"{alias} ({name})" in page for alias, name in ALIASES.items())

"""The program as a whole: its names, its help, its errors, completion, and being part of another program."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from gaia_mcp._version import __version__
from gaia_mcp.cli.app import _MEANT, _RENAME, _STATUS, ALIASES, COMMANDS, UNLISTED, meant_by
from gaia_mcp.cli.lines import CommandLine
from tests.cli.conftest import BIN

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cli.conftest import Gaia


def test_mcp_may_be_left_out_of_an_unlisted_command_too(gaia: Gaia) -> None:
    """Ours: `gmcp generate`, as the hints of `gaia mcp generate` are typed by those who have AMD's `gaia`."""
    ran = gaia.command(BIN / "gmcp", "generate", "--help")

    assert b"gmcp mcp generate" in ran.stdout


def test_an_option_that_takes_one_value_is_refused_if_it_is_given_twice(gaia: Gaia) -> None:
    """Ours: the last one would win, and half of what was asked for would be left out without a word."""
    lines = {
        "call demo greet name=Ada --timeout 5 --timeout=6": "--timeout",
        "call demo greet name=Ada -o a -o b": "--output",
        "call demo greet --args {} --args {}": "--args",
        "tools demo --config a --config b": "--config",
        "lock demo --lock-file a --lock-file b": "--lock-file",
        "list --json --quiet --json --config a": "",
        "add x --env A=1 --env B=2 --no-check -- node": "",
    }

    found = {line: gaia(*line.split()) for line in lines}

    refused = {line: (ran.code, ran.errors[0]) for line, ran in found.items() if "given twice" in ran.stderr}
    assert refused == {
        line: (2, f"error: option '{option}' is given twice, and takes one value")
        for line, option in lines.items()
        if option
    }


def test_the_version_is_printed(gaia: Gaia) -> None:
    """GNU coding standards: the name of the program, and its version."""
    ran = subprocess.run([BIN / "gaia", "--version"], capture_output=True, env=gaia.environ, check=True)

    assert ran.stdout.decode() == f"gaia-mcp {__version__}\n"


def test_version_reports_an_installed_amd_gaia(gaia: Gaia, tmp_path: Path) -> None:
    """Ours: both packages have a script `gaia`, and the one installed last replaces the other."""
    package = tmp_path / "packages" / "amd_gaia-0.25.1.dist-info"
    package.mkdir(parents=True)
    (package / "METADATA").write_text("Metadata-Version: 2.1\nName: amd-gaia\nVersion: 0.25.1\n")
    environ = {**gaia.environ, "PYTHONPATH": str(package.parent)}

    ran = subprocess.run([BIN / "gaia", "--version"], capture_output=True, text=True, env=environ, check=True)

    assert ran.stdout == f"gaia-mcp {__version__}\n"
    assert ran.stderr == "note: amd-gaia 0.25.1 is installed here too; its program is gaia-cli, and this one is gmcp\n"


def test_every_help_page_has_an_example(gaia: Gaia) -> None:
    """Ours: every help text ends with an example."""
    listed = gaia("--help").stdout
    for command in COMMANDS:
        ran = gaia(command, "--help")
        assert ran.code == 0
        assert f"Example: gaia mcp {command}" in ran.stdout
        assert f"  {command} " in listed


@pytest.mark.parametrize("words", [(), ("mcp",)])
def test_the_list_of_commands_fits_80_columns_and_ends_with_an_example(gaia: Gaia, words: tuple[str, ...]) -> None:
    """Ours: no summary is cut, on a terminal of the usual width."""
    environ = {**gaia.environ, "COLUMNS": "80"}

    ran = gaia.command(BIN / "gaia", *words, "--help", env=environ)

    printed = ran.stdout.decode()
    assert "..." not in printed.partition("Commands:")[2]
    assert "Example: gaia mcp " in printed.splitlines()[-1]


def test_an_unknown_command_is_an_error_with_a_suggestion(gaia: Gaia) -> None:
    """Ours: the whole line is repeated, so that it can be copied, and `--json` gets an object."""
    ran = gaia("lsit", "--json")

    assert ran.code == 2
    assert ran.errors == ["error: no such command 'lsit'", "hint: did you mean: gaia mcp list --json"]
    assert ran.json["error"]["kind"] == "usage"


def test_no_command_prints_the_help(gaia: Gaia) -> None:
    """Ours: on stderr with exit code 2, since a script that names no command has a mistake."""
    ran = gaia()

    assert ran.code == 2
    assert "test-client" in ran.stderr


def test_the_completion_options_of_typer_are_removed(gaia: Gaia) -> None:
    """Ours: Typer's scripts split words at `=` in bash."""
    assert "--install-completion" not in gaia("--help").stdout
    ran = gaia.command(BIN / "gaia", "--show-completion")
    assert ran.returncode == 2


def test_another_program_can_mount_the_commands(demo: Gaia, tmp_path: Path) -> None:
    """Ours: the `mcp` sub-app is importable."""
    other = tmp_path / "other.py"
    other.write_text(
        "import typer\nfrom gaia_mcp.cli.app import mcp\n"
        "app = typer.Typer()\napp.add_typer(mcp, name='servers')\n"
        "@app.command()\ndef hello() -> None: print('hello')\n"
        "app()\n"
    )

    def run(*arguments: str) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(
            [sys.executable, other, *arguments], capture_output=True, cwd=demo.cwd, env=demo.environ, check=False
        )

    assert run("servers", "list").stdout.startswith(b"demo ")
    assert run("hello").stdout == b"hello\n"
    failed = run("servers", "call", "nobody", "x")
    assert failed.returncode == 3
    assert failed.stderr.startswith(b"error: no server 'nobody'")


def test_list_loads_no_client_no_schema_library_and_no_http(gaia: Gaia) -> None:
    """Speed is a feature: `list` and a TAB load no client, no schema library, no HTTP."""
    ran = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "gaia_mcp", "list"],
        capture_output=True,
        env=gaia.environ,
        check=True,
    )
    loaded = {line.rpartition("|")[2].strip() for line in ran.stderr.decode().splitlines()}
    for heavy in (
        "jsonschema_rs",
        "httpx2",
        "rich",
        "asyncio",
        "gaia_mcp.protocol.client",
        "gaia_mcp.client.mcp_client",
    ):
        assert heavy not in loaded


def test_an_internal_error_has_a_traceback_only_with_debug(gaia: Gaia, tmp_path: Path) -> None:
    """Ours: a person needs the message and where to report it."""
    (tmp_path / "sitecustomize.py").write_text(
        "import gaia_mcp.config.store as store\n"
        "def broken(self): raise ZeroDivisionError('oops')\n"
        "store.ConfigStore.entries = broken\n"
    )

    ran = gaia("list", PYTHONPATH=str(tmp_path))

    assert ran.code == 1
    assert ran.errors[0] == "error: ZeroDivisionError: oops"
    assert len(ran.errors) == 2
    assert "Traceback" in gaia("list", "--debug", PYTHONPATH=str(tmp_path)).stderr


def test_an_invalid_time_is_refused(demo: Gaia) -> None:
    """Ours, bad input: each by one command, and one by each."""
    times = ["inf", "nan", "1e12", "-1", "0", "soon", "\u0663", "1_0", "9" * 400]
    commands = [("list", "--check"), ("call", "demo", "greet", "name=Ada"), ("test-client", "demo")]
    for command, seconds in [*((("tools",), each) for each in times), *((each, times[0]) for each in commands)]:
        ran = demo(*command, "--timeout", seconds)
        assert (ran.code, len(ran.errors)) == (2, 2), (command, seconds)
        assert "--timeout" in ran.errors[0]
    assert demo("add", "x", "--no-check", "--request-timeout", times[0], "--", "y").code == 2


@pytest.mark.parametrize(
    "command",
    [
        ("list",),
        ("list", "--check"),
        ("tools",),
        ("tools", "a"),
        ("call", "a", "b"),
        ("test-client", "--all"),
        ("remove", "a"),
    ],
)
def test_a_missing_config_file_is_an_error(demo: Gaia, command: tuple[str, ...]) -> None:
    """Ours: a build that tests an empty list because of a misspelt name would test nothing."""
    ran = demo(*command, "--config", "nowhere.json")

    assert ran.code == 3
    assert "nowhere.json: is not there" in ran.errors[0]
    assert not (demo.cwd / "nowhere.json").exists()


def test_add_creates_a_missing_config_file(gaia: Gaia) -> None:
    """Ours: no other command creates one."""
    assert gaia("add", "x", "--config", "new.json", "--no-check", "--", "y").code == 0
    assert gaia("list", "--config", "new.json").stdout.startswith("x ")


def test_a_removed_working_folder_has_no_project(gaia: Gaia) -> None:
    """Ours, bad input: the user's own file works from everywhere."""
    gaia.use("good-handshake")
    for command in ("list", "call good-handshake echo", "tools good-handshake"):
        ran = subprocess.run(
            ["bash", "-c", f"mkdir gone; cd gone; rmdir ../gone; {BIN}/gaia mcp {command}"],
            capture_output=True,
            cwd=gaia.cwd,
            env=gaia.environ,
            check=False,
        )
        assert (ran.returncode, ran.stderr) == (0, b""), command


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
        word, *rest = shlex.split(typed)
        return meant_by(CommandLine(), word, rest, COMMANDS).removeprefix("gaia mcp ")

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
    from gaia_mcp.cli.manual import pages

    page = re.sub(r"\\f[BIRP]|\\", "", pages()["gaia-mcp.1"])
    assert all(f"{alias} ({name})" in page for alias, name in ALIASES.items())

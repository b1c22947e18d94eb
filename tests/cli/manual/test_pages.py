"""The pages of the manual: whole, true to the program, and without anything that a reader of pages complains about."""

from __future__ import annotations

import re
import subprocess
from textwrap import dedent
from typing import TYPE_CHECKING

import pytest

from gaia_mcp.agents.loader import load_agent
from gaia_mcp.cli.app import COMMANDS
from gaia_mcp.cli.manual.markup import Place, Span, parsed
from gaia_mcp.cli.manual.pages import PROSE, inherited_variables, pages
from gaia_mcp.cli.manual.tree import commands
from gaia_mcp.cli.status import MEANINGS
from gaia_mcp.deadline import DEFAULT_TIMEOUT_SECONDS, MAX_ENTRY_TIMEOUT_SECONDS
from gaia_mcp.handlers import MCPHandlerConfig, MCPManager, MCPRegistry, MCPToolResult, load_mcp_handler
from gaia_mcp.hosts.known import HOSTS
from gaia_mcp.paths import approvals_file, cache_folder, log_folder, servers_file
from gaia_mcp.paths import shown as home_shown

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    # A page, by its name and a kind of terminal, as it is shown there.
    Shown = Callable[..., str]

PAGES = pages()
WRITTEN = [name for name, text in PAGES.items() if not text.startswith(".so")]


@pytest.fixture(scope="module")
def shown(groff: str) -> Shown:
    """Shows a page as a terminal of 80 columns does. Fails at a warning."""

    def run(name: str, device: str = "utf8") -> str:
        command = [groff, "-ww", "-man", f"-T{device}", "-P-c", "-P-b", "-P-u", "-rLL=80n"]
        ran = subprocess.run(command, input=PAGES[name].encode(), capture_output=True, check=True)
        assert ran.stderr == b"", name
        return ran.stdout.decode()

    return run


@pytest.mark.parametrize("device", ["utf8", "ascii", "latin1"])
@pytest.mark.parametrize("name", WRITTEN)
def test_a_page_is_shown_without_a_warning_and_fits_the_screen(shown: Shown, name: str, device: str) -> None:
    """Ours: on every kind of terminal."""
    lines = shown(name, device).splitlines()

    assert [line for line in lines if len(line) > 80] == []
    assert [line for line in lines if line.endswith("‐")] == []


@pytest.mark.parametrize("name", WRITTEN)
def test_the_other_reader_of_pages_has_nothing_to_complain_about(mandoc: str, name: str) -> None:
    """Ours: but for the date, which would make each day another page of the same commands."""
    command = [mandoc, "-Tlint", "-Wwarning"]
    ran = subprocess.run(command, input=PAGES[name].encode(), capture_output=True, check=False)

    complaints = (ran.stdout + ran.stderr).decode().splitlines()
    assert [line for line in complaints if "missing date" not in line] == []


def test_the_names_of_the_program_lead_to_its_page(groff: str, tmp_path: Path) -> None:
    """Ours: found as `man` finds them, by the folder of the section."""
    folder = tmp_path / "man1"
    folder.mkdir()
    for name, text in PAGES.items():
        (folder / name).write_text(text, "utf-8")

    for name in ("gaia.1", "gmcp.1"):
        command = [groff, "-ww", "-man", "-Tutf8", f"-I{tmp_path}", folder / name]
        ran = subprocess.run(command, capture_output=True, check=True)
        assert ran.stderr == b""
        assert b"GAIA-MCP(1)" in ran.stdout


def test_every_command_argument_option_and_example_is_in_it(shown: Shown) -> None:
    """Ours."""
    text = " ".join(shown("gaia-mcp.1").split())

    for command in commands():
        assert f" {command.name} gaia mcp {command.name}" in text
        for said in (command.summary, *command.paragraphs, *command.examples):
            assert " ".join(said.replace("…", "...").split()) in text
        for option in command.options:
            names = option.name.replace(", ", " | ")
            assert f"[{names} {option.value}".rstrip() in text
    assert [command.name for command in commands()] == list(COMMANDS)


def test_every_exit_code_is_in_it(shown: Shown) -> None:
    """Ours: the enum is their one source."""
    _, title, rest = shown("gaia-mcp.1").partition("EXIT STATUS")
    text = " ".join((title + rest).split())

    for status, meaning in MEANINGS.items():
        assert f" {int(status)} {meaning} " in text


def test_every_host_is_in_it(shown: Shown) -> None:
    """Ours: by the word that is typed, and by its name."""
    text = " ".join(shown("gaia-mcp.1").split())
    assert [host.key for host in HOSTS.values() if f"{host.key} ({host.title})" not in text] == []


def test_an_option_with_a_meaning_of_its_own_is_told_where_it_is(shown: Shown) -> None:
    """Ours: only what is said once for all is left out."""
    page = shown("gaia-mcp.1").partition("\nCOMMANDS\n")[2]

    assert page.count("Use this configuration file, and no project's.") == 0
    assert page.count("Print the whole input schema of each tool.") == 1


def test_the_prose_agrees_with_the_program(shown: Shown) -> None:
    """Ours: the few facts that it repeats, and what a server inherits."""
    about = " ".join(shown("gaia-mcp-servers.5").split())

    assert f"above 0 and up to {MAX_ENTRY_TIMEOUT_SECONDS}. Default: {DEFAULT_TIMEOUT_SECONDS:g}." in about
    for name in WRITTEN:
        assert ", ".join(inherited_variables()) in " ".join(shown(name).split())


def test_the_folders_are_where_the_page_says(shown: Shown, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ours: in their usual places."""
    for name in ("XDG_CACHE_HOME", "XDG_STATE_HOME"):
        monkeypatch.delenv(name, raising=False)
    text = shown("gaia-mcp.1")

    for path in (servers_file({}), approvals_file({}), cache_folder({}) / "tools", log_folder({})):
        assert home_shown(path) in text


def write_code(section: str, file: Path) -> Path:
    """Write the code of a section of the manual to a file."""
    text = (PROSE / "gaia-mcp.txt").read_text("utf-8").partition(f"# {section}\n")[2].partition("\n# ")[0]
    file.write_text(dedent("\n".join(line for line in text.splitlines() if line.startswith("    ") or not line)))
    return file


@pytest.fixture
def written(tmp_path: Path) -> str:
    """A file with the classes that the manual shows."""
    return str(write_code("WRITING AN AGENT", tmp_path / "written.py"))


def test_the_agent_of_the_manual_is_one(written: str) -> None:
    """Ours: a reader who copies it has an agent."""
    agent = load_agent(f"{written}:Notes")

    assert agent.get_mcp_tool_problems() == []
    (tool,) = agent.get_mcp_tool_definitions()
    assert tool["inputSchema"]["properties"]["words"] == {"type": "string", "description": "What to look for."}
    assert agent.execute_mcp_tool("find", {"words": "milk"}) == ["buy milk"]


def test_the_class_of_the_manual_without_a_base_is_an_agent(written: str) -> None:
    """Ours: as GAIA's documents show one."""
    agent = load_agent(f"{written}:Weather")

    (tool,) = agent.get_mcp_tool_definitions()
    assert agent.execute_mcp_tool(tool["name"], {"city": "Oslo"}) == {"city": "Oslo", "sky": "clear"}


def test_the_handler_of_the_manual_is_one(tmp_path: Path) -> None:
    """Ours: a reader who copies it has a handler, which uses its settings."""
    file = write_code("WRITING A HANDLER", tmp_path / "prices_handler.py")
    registry = MCPRegistry()
    registry.register_custom(load_mcp_handler(file, MCPHandlerConfig("prices", settings={"currency": "NOK"})))

    with MCPManager(registry) as manager:
        assert manager.call_tool("price", {"sku": "B2"}) == MCPToolResult("B2: 9.50 NOK")


def test_there_is_no_prose_about_what_there_is_not() -> None:
    """Ours: a command that goes takes its prose along; nothing typed in the manual is unknown to the program."""
    assert {path.stem for path in (PROSE / "commands").iterdir()} <= set(COMMANDS)
    known = {name for command in commands() for option in command.options for name in option.name.split(", ")}
    prose = "".join(path.read_text("utf-8") for path in PROSE.rglob("*.txt"))
    assert set(re.findall(r"(?<![\w-])--[a-z][a-z0-9-]*", prose)) <= {*known, "--help", "--version", "--folder"}
    assert set(re.findall(r"gaia mcp ([a-z][a-z-]*)", prose)) <= {*COMMANDS, "help", "version"}


@pytest.mark.parametrize("path", sorted(PROSE.rglob("*.txt")), ids=lambda path: path.stem)
def test_the_prose_uses_its_markup_up(path: Path) -> None:
    """Ours: a mark without its partner would be printed."""
    for block in parsed(path.read_text("utf-8")):
        for part in block if not isinstance(block, Place) else ():
            for span in part if isinstance(part, list) else ():
                assert not (isinstance(span, Span) and span.style != "B" and "`" in span.text), span


def test_the_synopsis_shows_that_one_name_of_an_option_is_typed(shown: Shown) -> None:
    """Ours, as in the manual of git; with the description of the option all its names stand in a list."""
    page = " ".join(shown("gaia-mcp.1").split())

    assert "[--inherit-env | --no-inherit-env]" in page
    assert "--inherit-env, --no-inherit-env Pass on all variables" in page

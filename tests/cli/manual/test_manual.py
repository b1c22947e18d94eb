"""The pages of the manual: complete, true to the program, and accepted by groff and mandoc."""

from __future__ import annotations

import re
import subprocess
from textwrap import dedent
from typing import TYPE_CHECKING

import pytest

from gaia_mcp.agents import load_agent
from gaia_mcp.cli.app import COMMANDS, HEADINGS, run
from gaia_mcp.cli.manual import PROSE, Option, Place, Span, commands, inherited_variables, pages, parsed
from gaia_mcp.cli.options import COMMON_OPTIONS
from gaia_mcp.cli.status import MEANINGS
from gaia_mcp.core.deadline import DEFAULT_TIMEOUT_SECONDS, MAX_ENTRY_TIMEOUT_SECONDS
from gaia_mcp.core.grant_kinds import CLIENT_CREDENTIALS, ENTERPRISE, GRANT_KINDS, JWT_BEARER, LOGIN
from gaia_mcp.core.paths import approvals_file, cache_folder, log_folder, servers_file
from gaia_mcp.core.paths import shown as home_shown
from gaia_mcp.handlers import MCPHandlerConfig, MCPManager, MCPRegistry, MCPToolResult, load_mcp_handler
from gaia_mcp.hosts.known import HOSTS

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

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


def test_groff_formats_each_page_in_80_columns_without_a_warning(shown: Shown) -> None:
    """Ours: on every kind of terminal, since `man` on Linux runs groff."""
    lines = [
        line for name in WRITTEN for device in ("utf8", "ascii", "latin1") for line in shown(name, device).splitlines()
    ]

    assert len(lines) > 1000
    assert [line for line in lines if len(line) > 80] == []
    assert [line for line in lines if line.endswith("‐")] == []


def test_mandoc_accepts_each_page(mandoc: str) -> None:
    """Ours: except for the missing date, which would change the pages every day."""
    complaints = []
    for name in WRITTEN:
        command = [mandoc, "-Tlint", "-Wwarning"]
        ran = subprocess.run(command, input=PAGES[name].encode(), capture_output=True, check=False)
        complaints += [f"{name}: {line}" for line in (ran.stdout + ran.stderr).decode().splitlines()]

    assert [line for line in complaints if "missing date" not in line] == []


def test_each_name_of_the_program_has_its_manual_page(groff: str, tmp_path: Path) -> None:
    """man: a page is found by its name in the folder of its section."""
    folder = tmp_path / "man1"
    folder.mkdir()
    for name, text in PAGES.items():
        (folder / name).write_text(text, "utf-8")

    for name in ("gaia.1", "gmcp.1"):
        command = [groff, "-ww", "-man", "-Tutf8", f"-I{tmp_path}", folder / name]
        ran = subprocess.run(command, capture_output=True, check=True)
        assert ran.stderr == b""
        assert b"GAIA-MCP(1)" in ran.stdout


def test_every_command_argument_option_and_example_is_in_the_manual(shown: Shown) -> None:
    """Ours: the page is generated from the commands, and nothing of them may be missing."""
    text = " ".join(shown("gaia-mcp.1").split())

    for command in commands():
        assert f" {command.name} gaia mcp {command.name}" in text
        for said in (command.summary, *command.paragraphs, *command.examples):
            assert " ".join(said.replace("…", "...").split()) in text
        for option in command.options:
            names = option.name.replace(", ", " | ")
            assert f"[{names} {option.value}".replace(" [=", "[=").rstrip() in text
    assert [command.name for command in commands()] == list(COMMANDS)


def test_every_exit_code_is_in_the_manual(shown: Shown) -> None:
    """Ours: the enum is their one source."""
    _, title, rest = shown("gaia-mcp.1").partition("EXIT STATUS")
    text = " ".join((title + rest).split())

    for status, meaning in MEANINGS.items():
        assert f" {int(status)} {meaning} " in text


def test_every_host_is_in_the_manual(shown: Shown) -> None:
    """Ours: by the word that is typed, and by its title."""
    text = " ".join(shown("gaia-mcp.1").split())
    assert [host.key for host in HOSTS.values() if f"{host.key} ({host.title})" not in text] == []


def test_an_option_with_its_own_meaning_is_described_at_its_command(shown: Shown) -> None:
    """Ours: only an option that is described once for all commands is omitted."""
    page = shown("gaia-mcp.1").partition("\nCOMMANDS\n")[2]

    assert page.count("Use this configuration file, and no project's.") == 0
    assert page.count("Print the whole input schema of each tool.") == 1


def test_the_groups_of_options_are_those_of_the_help_page(shown: Shown, capsys: pytest.CaptureFixture[str]) -> None:
    """Ours: both are read from the options, and the common options of all commands are described once."""
    page = shown("gaia-mcp.1").partition("\n   serve\n")[2].partition("\n   completion\n")[0]
    run(["mcp", "serve", "--help"])

    headings = re.findall(r"^([A-Z].*):$", capsys.readouterr().out, re.MULTILINE)
    assert headings[:3] == ["Arguments", "Options", "What is served"]
    assert headings[-1] == COMMON_OPTIONS
    assert re.findall(r"^       ([A-Z][A-Za-z ]+):$", page.partition("Example:")[0], re.MULTILINE) == headings[2:]
    assert {option.group for command in FOUND.values() if command.name != "serve" for option in command.options} == {
        "",
        COMMON_OPTIONS,
    }


def test_facts_in_the_prose_agree_with_the_program(shown: Shown) -> None:
    """Ours: the limits of timeouts, and the variables that a server inherits."""
    about = " ".join(shown("gaia-mcp-servers.5").split())

    assert f"above 0 and up to {MAX_ENTRY_TIMEOUT_SECONDS}. Default: {DEFAULT_TIMEOUT_SECONDS:g}." in about
    for name in WRITTEN:
        assert ", ".join(inherited_variables()) in " ".join(shown(name).split())


def test_every_grant_without_a_person_is_in_the_manual(shown: Shown) -> None:
    """Ours: their table is the one source, and the prose names what an entry writes."""
    about = " ".join(shown("gaia-mcp-servers.5").partition("grantType")[2].partition("privateKey")[0].split())

    assert about == f"{CLIENT_CREDENTIALS}, {JWT_BEARER} or {ENTERPRISE}: a token without a person"
    assert set(GRANT_KINDS) == {LOGIN, CLIENT_CREDENTIALS, JWT_BEARER, ENTERPRISE}


def test_the_documented_folders_are_the_ones_in_use(shown: Shown, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ours: with no variable set, the folders are in their default places."""
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


def test_the_agent_in_the_manual_works(written: str) -> None:
    """Ours: a reader who copies it has an agent."""
    agent = load_agent(f"{written}:Notes")

    assert agent.get_mcp_tool_problems() == []
    (tool,) = agent.get_mcp_tool_definitions()
    assert tool["inputSchema"]["properties"]["words"] == {"type": "string", "description": "What to look for."}
    assert agent.execute_mcp_tool("find", {"words": "milk"}) == ["buy milk"]


def test_the_class_in_the_manual_without_a_base_works_as_an_agent(written: str) -> None:
    """Ours: as GAIA's documents show one."""
    agent = load_agent(f"{written}:Weather")

    (tool,) = agent.get_mcp_tool_definitions()
    assert agent.execute_mcp_tool(tool["name"], {"city": "Oslo"}) == {"city": "Oslo", "sky": "clear"}


def test_the_handler_in_the_manual_works(tmp_path: Path) -> None:
    """Ours: a reader who copies it has a handler, which uses its settings."""
    file = write_code("WRITING A HANDLER", tmp_path / "prices_handler.py")
    registry = MCPRegistry()
    registry.register_custom(load_mcp_handler(file, MCPHandlerConfig("prices", settings={"currency": "NOK"})))

    with MCPManager(registry) as manager:
        assert manager.call_tool("price", {"sku": "B2"}) == MCPToolResult("B2: 9.50 NOK")


def test_the_prose_names_only_existing_commands_and_options() -> None:
    """Ours: prose about a removed command must be removed with it."""
    assert {path.stem for path in (PROSE / "commands").iterdir()} <= set(COMMANDS)
    known = {name for command in commands() for option in command.options for name in option.name.split(", ")}
    prose = "".join(path.read_text("utf-8") for path in PROSE.rglob("*.txt"))
    assert set(re.findall(r"(?<![\w-])--[a-z][a-z0-9-]*", prose)) <= {*known, "--help", "--version", "--folder"}
    assert set(re.findall(r"gaia mcp ([a-z][a-z-]*)", prose)) <= {*COMMANDS, "help", "version"}


def spans_of(path: Path) -> list[Span]:
    """All spans of a file of the prose."""
    parts = [part for block in parsed(path.read_text("utf-8")) if not isinstance(block, Place) for part in block]
    return [span for part in parts if isinstance(part, list) for span in part if isinstance(span, Span)]


def test_the_markup_of_the_prose_is_balanced() -> None:
    """Ours: an unmatched mark would be printed."""
    spans = [(path.stem, span) for path in sorted(PROSE.rglob("*.txt")) for span in spans_of(path)]

    assert len({name for name, _ in spans}) > 20
    assert [(name, span) for name, span in spans if span.style != "B" and "`" in span.text] == []


def test_the_synopsis_shows_alternative_names_of_an_option(shown: Shown) -> None:
    """Ours, as in the manual of git: `[--a | --b]` in the synopsis, `--a, --b` in the list."""
    page = " ".join(shown("gaia-mcp.1").split())

    assert "[--inherit-env | --no-inherit-env]" in page
    assert "--inherit-env, --no-inherit-env Pass on all variables" in page


# Where an option has another meaning, which the manual then gives beside the command.
OF_THEIR_OWN = {
    ("login", "--timeout"): "a person has more time than a server",
    ("watch", "--timeout"): "waiting is what it is for, so the end of that is no failure",
}

FOUND = {command.name: command for command in commands()}


def test_commands_are_in_the_order_of_the_help() -> None:
    """Ours: and each group of the help begins with an existing command."""
    assert list(FOUND) == list(COMMANDS)
    assert next(iter(HEADINGS)) == next(iter(COMMANDS))
    assert set(HEADINGS) <= set(COMMANDS)


def test_every_command_has_a_summary_help_and_an_example() -> None:
    """Ours: a summary that is a sentence, help for each argument and option, an example."""
    for command in FOUND.values():
        assert command.summary.endswith("."), command
        assert command.examples, command
        assert all(example.startswith("gaia mcp ") for example in command.examples), command
        for said in (*command.arguments, *command.options):
            assert said.help.endswith((".", ")", "…")), said


def test_the_same_option_means_the_same_in_every_command() -> None:
    """Ours: and is described with the same words."""
    for name in ("--config", "--json", "--quiet", "--timeout", "--debug", "-o, --output", "--output-dir", "--raw"):
        held = {
            option
            for command in FOUND.values()
            for option in command.options
            if option.name == name and (command.name, name) not in OF_THEIR_OWN
        }
        assert len(held) == 1, held


def test_an_argument_in_brackets_is_optional() -> None:
    """Ours: whether Typer or a help text wrote the brackets."""
    (names,) = FOUND["prompts"].arguments
    assert (names.shown, names.is_required) == ("NAME...", False)
    assert [argument.shown for argument in FOUND["call"].arguments] == ["NAME", "TOOL [ARG...]"]
    assert [argument.is_required for argument in FOUND["call"].arguments] == [True, False]


def test_options_have_their_values_and_ranges() -> None:
    """Ours: with ranges, repetition and flags."""
    options = {option.name: option for option in FOUND["add"].options}

    assert options["--force"] == Option("--force", "", False, "Replace a server of the same name.")
    assert options["--keep-alive"].value == "[=TIME]"
    assert (options["-e, --env"].value, options["-e, --env"].is_repeatable) == ("K[=V]", True)
    assert options["--request-timeout"].help.endswith("From 0.01 to 600.")

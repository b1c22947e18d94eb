"""The README is true: its commands print what it shows, and its first one works on a fresh copy."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from gaia_mcp.cli.app import COMMANDS
from gaia_mcp.cli.status import MEANINGS, ExitStatus
from tests.forking.client import Command
from tests.forking.server import LANG

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.forking.client import ForkServer

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text("utf-8")
BIN = Path(sys.executable).parent

pytestmark = pytest.mark.story


def blocks(language: str) -> list[str]:
    """The README's blocks in a language, in order."""
    return re.findall(rf"^```{language}\n(.*?)^```", README, re.DOTALL | re.MULTILINE)


def commands(block: str) -> Iterator[tuple[str, list[str]]]:
    """Each command of a console block with the lines it is said to print."""
    for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
        command, *expected = part.rstrip("\n").split("\n")
        yield command, expected


def matches(printed: list[str], expected: list[str]) -> bool:
    """Whether the lines are as expected, where `...` stands for any text, or alone for any number of lines."""
    if not expected:
        return not printed
    if expected[0] == "...":
        return any(matches(printed[skipped:], expected[1:]) for skipped in range(len(printed) + 1))
    if not printed:
        return False
    pattern = re.sub(r"([\[?*])", r"[\1]", expected[0]).replace("...", "*")
    return fnmatchcase(printed[0], pattern) and matches(printed[1:], expected[1:])


def write_agent(folder: Path) -> None:
    """The agent that the README writes first."""
    (folder / "notes.py").write_text(blocks("python")[0])


# Characters that the shell reads in another way than `shlex` does.
FOR_THE_SHELL = re.compile(r"[|;&<>$`~*?()]")


def words_of(command: str) -> list[str | Path]:
    """The program of a command line, which is our own if the shell need not read it, with its arguments."""
    program, *arguments = shlex.split(command)
    if program == "gaia" and not FOR_THE_SHELL.search(re.sub(r"'[^']*'", "", command)):
        return [BIN / program, *arguments]
    return ["bash", "-c", command]


@pytest.fixture
def launchers(playwright: list[str], tmp_path: Path) -> Path:
    """A folder with an `npx` that starts the Playwright server that has been prepared: nothing is fetched in a test."""
    folder = tmp_path / "launchers"
    folder.mkdir()
    npx = folder / "npx"
    npx.write_text(f"#!/bin/sh\nexec {shlex.join(playwright)}\n")
    npx.chmod(0o755)
    return folder


def test_the_console_blocks_print_what_they_show(
    fork_server: ForkServer, jq: str, launchers: Path, tmp_path: Path
) -> None:
    """Ours: README blocks run in the tests."""
    write_agent(tmp_path)
    environ = {"HOME": str(tmp_path), "PATH": f"{launchers}:{BIN}:/usr/bin:/bin", "LANG": LANG}
    options = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True, "cwd": tmp_path, "env": environ}
    for block in blocks("console"):
        for command, expected in commands(block):
            with Command(fork_server, words_of(command), **options) as running:
                printed, _ = running.communicate(timeout=60)
            assert matches(printed.splitlines(), expected), f"$ {command}\n{printed}"


def test_the_python_examples_print_what_they_show(tmp_path: Path) -> None:
    """Ours: each with a home and a working folder of its own."""
    examples, outputs = blocks("python")[1:], blocks("text")
    for number, (example, expected) in enumerate(zip(examples, outputs, strict=True)):
        home = tmp_path / str(number)
        home.mkdir()
        environ = {"HOME": str(home), "PATH": f"{BIN}:/usr/bin:/bin", "LANG": "C.UTF-8"}

        ran = subprocess.run(
            [sys.executable, "-c", example],
            capture_output=True,
            text=True,
            cwd=home,
            env=environ,
            timeout=60,
            check=False,
        )

        assert matches(ran.stdout.splitlines(), expected.splitlines()), f"{example}\n{ran.stdout}\n{ran.stderr}"


def test_the_first_command_works_on_a_fresh_copy(tmp_path: Path, wheels: Path) -> None:
    """Ours: word for word, in a fresh folder and a fresh environment. What pip would fetch lies prepared."""
    copy = tmp_path / "copy"
    subprocess.run(["git", "clone", "-q", ROOT, copy], check=True)
    subprocess.run(
        [
            "cp",
            "-r",
            *(ROOT / name for name in ("gaia_mcp", "completions", "man", "pyproject.toml", "README.md")),
            copy,
        ],
        check=True,
    )
    first, *_ = blocks("sh")

    environ = {
        **os.environ,
        "HOME": str(tmp_path),
        # The interpreter that the wheels were fetched for.
        "PATH": f"{sys.base_prefix}/bin{os.pathsep}{os.environ['PATH']}",
        "PIP_FIND_LINKS": str(wheels),
        "PIP_NO_INDEX": "1",
        # Compile only what is imported; pip reads 0 here as the option `--no-compile`.
        "PIP_NO_COMPILE": "0",
    }
    # Then two more commands make an agent of one's own.
    for command in (first, ".venv/bin/gaia mcp init", ".venv/bin/gaia mcp call ./agent.py greet name=Ada"):
        ran = subprocess.run(
            ["bash", "-c", command], capture_output=True, text=True, cwd=copy, env=environ, timeout=600, check=False
        )
        assert ran.returncode == 0, ran.stderr
        if "greet" in command:
            assert ran.stdout.splitlines()[-1] == "Hello, Ada!"


def test_the_readme_names_every_command() -> None:
    """Ours: a command that the README leaves out is found only by those who read the manual."""
    assert [command for command in COMMANDS if f"`{command}`" not in README.replace(" --install`", "`")] == []


def test_the_exit_codes_are_those_of_the_program() -> None:
    """Ours: the manual has all of them, the README those that scripts ask for."""
    (said,) = re.findall(r"exit code tells what failed: (.+?)\.", README, re.DOTALL)
    codes = {int(code): word for code, word in re.findall(r"(\d+) the (\w+)", said)}
    assert codes == {4: "connection", 5: "time", 7: "arguments", 9: "tool"}
    assert all(word in MEANINGS[ExitStatus(code)] for code, word in codes.items())


def test_the_readme_has_at_most_1200_words() -> None:
    """Ours: a stranger reads it in a few minutes; everything else is in the manual."""
    assert len(README.split()) <= 1200


def test_the_readme_does_not_promise_a_published_package() -> None:
    """Ours: until it is, only one line says how it will be."""
    (line,) = (line for line in README.splitlines() if "pip install gaia-mcp" in line)
    assert "Once the package is published" in line


def test_the_map_of_the_house_names_only_what_is_there_and_every_room() -> None:
    """Ours: it would lead a newcomer astray. A room is a package or a module at the top."""
    house = (ROOT / "gaia_mcp" / "README.md").read_text("utf-8")
    named = set(re.findall(r"`([a-z_./]+(?:/|\.py)|tests/[a-z_./]+)`", house))
    rooms = {f"{path.name}/" for path in (ROOT / "gaia_mcp").iterdir() if (path / "__init__.py").exists()}
    modules = {"recordings.py", "importing.py"}

    assert {name for name in named if not any((base / name).exists() for base in (ROOT, ROOT / "gaia_mcp"))} == set()
    assert (rooms | modules) - named == set()

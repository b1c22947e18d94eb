"""The README is true: its commands print what it shows, and its first one works on a fresh copy."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from gaia_mcp.cli.app import COMMANDS
from gaia_mcp.cli.status import MEANINGS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Shell = Callable[..., subprocess.CompletedProcess[str]]

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


def write_weather(folder: Path) -> None:
    """The agent that the README writes."""
    (folder / "weather.py").write_text(next(block for block in blocks("python") if block.startswith("# weather.py")))


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    """Runs what a recipe says, in a home and a working folder with the agent in it, and little else around."""
    write_weather(tmp_path)

    def run(script: str, shell: str = "bash", path: str = f"{BIN}:/usr/bin:/bin") -> subprocess.CompletedProcess[str]:
        environ = {"HOME": str(tmp_path), "PATH": path}
        return subprocess.run(
            [shell, "-c", script], capture_output=True, text=True, cwd=tmp_path, env=environ, timeout=60, check=False
        )

    return run


def test_the_console_blocks_print_what_they_show(jq: str, tmp_path: Path) -> None:
    """Ours: README blocks run in the tests."""
    write_weather(tmp_path)
    environ = {"HOME": str(tmp_path), "PATH": f"{BIN}:/usr/bin:/bin", "LANG": "C.UTF-8"}
    for block in blocks("console"):
        for command, expected in commands(block):
            ran = subprocess.run(
                ["bash", "-c", f"{command} 2>&1"],
                capture_output=True,
                text=True,
                cwd=tmp_path,
                env=environ,
                timeout=60,
                check=False,
            )
            assert matches(ran.stdout.splitlines(), expected), f"$ {command}\n{ran.stdout}"


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
    (first, _) = blocks("sh")

    environ = {
        **os.environ,
        # The interpreter that the wheels were fetched for.
        "PATH": f"{sys.base_prefix}/bin{os.pathsep}{os.environ['PATH']}",
        "PIP_FIND_LINKS": str(wheels),
        "PIP_NO_INDEX": "1",
    }
    ran = subprocess.run(
        ["bash", "-c", first], capture_output=True, text=True, cwd=copy, env=environ, timeout=600, check=False
    )

    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.splitlines()[-1] == "Hello, Ada!"


def test_every_command_and_exit_code_is_in_it() -> None:
    """Ours."""
    for command in COMMANDS:
        assert f"gaia mcp {command}" in README or f"`{command}`" in README
    for status, meaning in MEANINGS.items():
        assert f"| {int(status)} | {meaning} |" in README.replace("`", "")


def test_the_recipes_for_builds_work(shell: Shell, tmp_path: Path) -> None:
    """Ours: each step of the workflow as it stands there, and then the hook in the same folder."""
    workflow, hook = blocks("yaml")
    steps = re.findall(r"^ +- run: (.+)$", workflow, re.MULTILINE)
    (entry,) = re.findall(r"^ +entry: (.+)$", hook, re.MULTILINE)

    for step in (*steps, entry):
        ran = shell(step)
        assert ran.returncode == 0, f"{step}\n{ran.stdout}\n{ran.stderr}"

    assert 'testsuite name="weather"' in (tmp_path / "report.xml").read_text()
    (tmp_path / "weather.py").unlink()
    assert shell(steps[-1]).returncode == shell(entry).returncode == 4


def test_the_recipe_for_cron_is_silent_until_something_is_wrong(shell: Shell, tmp_path: Path) -> None:
    """Ours: run as cron does, by sh, with the variables that the table sets."""
    variables, line = "".join(blocks("crontab")).splitlines()
    *times, command = line.split(" ", 5)
    assert [bool(re.fullmatch(r"[0-9*]+", time)) for time in times] == [True] * 5
    assert "%" not in command
    path = variables.removeprefix("PATH=").replace("/home/ada/.venv/bin", str(BIN))
    assert shell("gaia mcp add weather -- gaia mcp serve weather.py:Weather").returncode == 0

    ran = shell(command, "sh", path)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "", "")

    (tmp_path / "weather.py").unlink()
    ran = shell(command, "sh", path)
    assert ran.returncode == 4
    assert ran.stderr.startswith("error: ")


def test_the_recipe_for_a_script_tells_failures_apart(shell: Shell, tmp_path: Path) -> None:
    """Ours: no server of the name, one that works, one that is away, and a tool that fails."""
    (script,) = blocks("bash")
    (tmp_path / "no.py").write_text(
        (tmp_path / "weather.py").read_text().replace("return {", 'return {"error": "no", ')
    )

    def outcome(*command: str) -> tuple[int, str]:
        if command:
            assert shell(f"gaia mcp add weather --force --no-check -- {' '.join(command)}").returncode == 0
        ran = shell(script)
        return ran.returncode, ran.stdout.strip()

    assert outcome() == (2, "somebody has to look at this")
    assert outcome("gaia", "mcp", "serve", "weather.py:Weather") == (0, "there is a forecast")
    assert outcome("false")[1].startswith("the server is away")
    assert outcome("gaia", "mcp", "serve", "no.py:Weather") == (1, "the tool says no")

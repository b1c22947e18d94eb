"""The README is true: its commands print what it shows, and its first one works on a fresh copy."""

from __future__ import annotations

import re
import subprocess
import sys
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING

from gaia_mcp.cli.app import COMMANDS
from gaia_mcp.cli.status import MEANINGS

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text("utf-8")
BIN = Path(sys.executable).parent


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


def test_the_console_blocks_print_what_they_show(tmp_path: Path) -> None:
    """Ours: README blocks run in the tests."""
    (tmp_path / "weather.py").write_text(next(block for block in blocks("python") if block.startswith("# weather.py")))
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


def test_the_first_command_works_on_a_fresh_copy(tmp_path: Path) -> None:
    """Ours: word for word, in a fresh folder and a fresh environment."""
    copy = tmp_path / "copy"
    subprocess.run(["git", "clone", "-q", ROOT, copy], check=True)
    subprocess.run(
        ["cp", "-r", *(ROOT / name for name in ("gaia_mcp", "pyproject.toml", "README.md")), copy], check=True
    )
    (first, _) = blocks("sh")

    ran = subprocess.run(["bash", "-c", first], capture_output=True, text=True, cwd=copy, timeout=600, check=False)

    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.splitlines()[-1] == "Hello, Ada!"


def test_every_command_and_exit_code_is_in_it() -> None:
    """Ours."""
    for command in COMMANDS:
        assert f"gaia mcp {command}" in README or f"`{command}`" in README
    for status, meaning in MEANINGS.items():
        assert f"| {int(status)} | {meaning} |" in README.replace("`", "")

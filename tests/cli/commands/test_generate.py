"""`gaia mcp generate`: the manual and the completion scripts of the commands as they are."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from gaia_mcp.cli.commands.generate import generated

if TYPE_CHECKING:
    from tests.cli.conftest import Gaia

ROOT = Path(__file__).parents[3]


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """Something that looks like a checkout, with nothing generated in it."""
    folder = tmp_path / "checkout"
    (folder / "gaia_mcp" / "cli").mkdir(parents=True)
    return folder


def test_the_committed_files_are_up_to_date() -> None:
    """Ours: byte for byte. After a change of a command: gaia mcp generate, and both are committed."""
    wanted = generated()
    written = {path for part in ("man", "completions") for path in (ROOT / part).iterdir()}

    differing = [name for name, text in wanted.items() if not _holds(ROOT / name, text)]

    assert differing == [], "write them with: gaia mcp generate"
    assert {str(path.relative_to(ROOT)) for path in written} == {*wanted} - {"gaia_mcp/cli/grammar/table.json"}


def _holds(path: Path, text: str) -> bool:
    return path.is_file() and path.read_bytes() == text.encode()


def test_generated_files_are_written_and_then_up_to_date(gaia: Gaia, checkout: Path) -> None:
    """Ours: a file that is right already is not written again."""
    gaia.cwd = checkout

    ran = gaia("generate", "--json")

    assert (ran.code, ran.json) == (0, {"written": list(generated())})
    assert gaia("generate", "--check", "--json").json == {"checked": list(generated())}
    assert gaia("generate").stdout == "all files were up to date\n"
    assert gaia("generate", "--check").code == 0


def test_check_names_outdated_files_and_writes_nothing(gaia: Gaia, checkout: Path) -> None:
    """Ours: exit code 1, for builds."""
    assert gaia("generate", str(checkout)).code == 0
    (checkout / "man" / "gaia-mcp.1").write_text("old")
    (checkout / "man" / "gmcp.1").unlink()

    ran = gaia("generate", "--check", str(checkout))

    assert (ran.code, ran.stdout) == (1, "")
    assert ran.errors == [
        "error: out of date: man/gaia-mcp.1, man/gmcp.1",
        "hint: write them with: gaia mcp generate",
    ]
    assert (checkout / "man" / "gaia-mcp.1").read_text() == "old"
    assert gaia("generate", str(checkout)).stdout == "wrote man/gaia-mcp.1, man/gmcp.1\n"


def test_a_folder_that_is_not_a_checkout_is_left_alone(gaia: Gaia) -> None:
    """Ours: a home folder is not a checkout."""
    ran = gaia("generate")

    assert ran.code == 3
    assert f"{gaia.cwd}: is not a checkout" in ran.errors[0]
    assert list(gaia.cwd.iterdir()) == []


def test_generated_files_do_not_depend_on_the_terminal_or_locale(gaia: Gaia, checkout: Path) -> None:
    """Ours: or the commit of one person would undo that of another."""
    assert gaia("generate", str(checkout), COLUMNS="30", LANG="de_DE.UTF-8", TERM="dumb", NO_COLOR="1").code == 0
    first = {path: path.read_bytes() for path in checkout.rglob("*.*") if path.is_file()}
    shutil.rmtree(checkout / "man")

    assert gaia("generate", str(checkout), COLUMNS="200", LANG="C", TERM="xterm-256color").code == 0

    assert {path: path.read_bytes() for path in first} == first


def test_generate_is_not_in_the_help(gaia: Gaia) -> None:
    """Ours: users of the program have no checkout."""
    assert "generate" not in gaia("--help").stdout
    assert "Example: gaia mcp generate" in gaia("generate", "--help").stdout

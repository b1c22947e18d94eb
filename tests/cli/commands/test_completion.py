"""`gaia mcp completion`: the scripts, and where they go."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from gaia_mcp.cli.completion.installing import BEGIN, END, FILES, SCRIPTS, install, places, start_files, uninstall
from gaia_mcp.cli.lines import CommandLine
from gaia_mcp.core.errors import ConfigFileError

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.cli.conftest import Gaia

ROOT = Path(__file__).parents[3]
BASH_FILES = [".local/share/bash-completion/completions/gaia", ".local/share/bash-completion/completions/gmcp"]
FILES_OF = {
    "bash": [*BASH_FILES, ".bashrc"],
    "zsh": [".local/share/gaia-mcp/_gaia", ".zshrc"],
    "fish": [".config/fish/conf.d/gaia-mcp.fish"],
}


def files_in(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize(("name", "shell"), FILES.items())
def test_the_committed_scripts_are_printed(gaia: Gaia, name: str, shell: str) -> None:
    """Ours: packages install the committed files, and people the printed ones."""
    assert (ROOT / "completions" / name).read_text() == SCRIPTS[shell] == gaia("completion", shell).stdout


def test_the_shell_is_detected(gaia: Gaia) -> None:
    """Ours: by the parent process; `pwsh` is another name of PowerShell."""
    ran = subprocess.run(
        ["bash", "-c", "gaia mcp completion; true"], capture_output=True, env=gaia.environ, text=True, check=True
    )
    assert ran.stdout == SCRIPTS["bash"]
    assert gaia("completion", "pwsh").stdout == SCRIPTS["powershell"]


@pytest.mark.parametrize("arguments", [("ksh",), ("fish", "--install", "--uninstall"), ("ksh", "--install")])
def test_an_unknown_shell_and_conflicting_options_are_refused(gaia: Gaia, arguments: tuple[str, ...]) -> None:
    """Ours: no file is written by mistake."""
    ran = gaia("completion", *arguments)

    assert (ran.code, ran.stdout, len(ran.errors)) == (2, "", 2)
    assert files_in(gaia.home) == {}


@pytest.mark.parametrize("shell", FILES_OF)
def test_completion_is_installed_once_and_removed(gaia: Gaia, shell: str) -> None:
    """Ours: installing again changes nothing, and removing leaves nothing."""
    first = gaia("completion", shell, "--install")
    assert first.code == 0
    assert first.stdout.startswith("wrote ~/")
    assert f"exec {shell}" in first.stdout
    assert sorted(files_in(gaia.home)) == sorted(FILES_OF[shell])
    installed = files_in(gaia.home)

    again = gaia("completion", shell, "--install")
    assert "already" in again.stdout
    assert files_in(gaia.home) == installed

    assert gaia("completion", shell, "--uninstall").stdout.startswith("removed it from ~/")
    assert files_in(gaia.home) == {}
    assert "not installed" in gaia("completion", shell, "--uninstall").stdout


def test_json_lists_the_changed_files(gaia: Gaia) -> None:
    """Ours: a program that sets up a machine reports them."""
    ran = gaia("completion", "fish", "--install", "--json")

    changed = [str(gaia.home / name) for name in FILES_OF["fish"]]
    assert ran.json == {"shell": "fish", "changed": changed, "next": "exec fish"}
    assert gaia("completion", "fish", "--json").json == {"shell": "fish", "script": SCRIPTS["fish"]}


@pytest.mark.parametrize("before", [b"", b"alias x=y\n", b"no end", b"\xff\r\nwindows\r\n"])
def test_the_rest_of_a_start_file_is_preserved(gaia: Gaia, before: bytes) -> None:
    """Ours: with its mode, and as a symbolic link."""
    real = gaia.cwd / "dotfiles"
    real.write_bytes(before)
    real.chmod(0o640)
    start = gaia.home / ".zshrc"
    start.symlink_to(real)

    assert gaia("completion", "zsh", "--install").code == 0

    assert start.is_symlink()
    assert real.read_bytes().startswith(before)
    assert real.stat().st_mode & 0o777 == 0o640
    real.write_bytes(real.read_bytes() + b"later=1\n")
    installed = real.read_bytes()
    assert gaia("completion", "zsh", "--install").code == 0
    assert real.read_bytes() == installed

    assert gaia("completion", "zsh", "--uninstall").code == 0
    assert start.is_symlink()
    assert real.read_bytes() == (before + b"\n" if before == b"no end" else before) + b"later=1\n"


def test_an_old_block_is_replaced(gaia: Gaia) -> None:
    """Ours: there is never a second one."""
    start = gaia.home / ".zshrc"
    start.write_bytes(b"a=1\n" + BEGIN + b"source /old\n" + END + b"b=2\n" + BEGIN + b"source /older\n" + END)

    assert gaia("completion", "zsh", "--install").code == 0

    text = start.read_bytes()
    assert text.startswith(b"a=1\nb=2\n")
    assert text.count(BEGIN) == text.count(END) == 1
    assert b"/old" not in text


@pytest.mark.parametrize("rewritten", [lambda data: data[:-1], lambda data: data.replace(b"\n", b"\r\n")])
def test_a_block_is_found_when_an_editor_has_changed_its_line_ends(
    gaia: Gaia, rewritten: Callable[[bytes], bytes]
) -> None:
    """Ours: editors remove the last newline, or write those of Windows."""
    start = gaia.home / ".zshrc"
    start.write_bytes(b"a=1\n")
    assert gaia("completion", "zsh", "--install").code == 0
    installed = start.read_bytes()
    start.write_bytes(rewritten(installed))

    assert gaia("completion", "zsh", "--install").code == 0
    assert start.read_bytes().replace(b"\r", b"") == installed

    start.write_bytes(rewritten(installed))
    assert gaia("completion", "zsh", "--uninstall").code == 0
    assert start.read_bytes().replace(b"\r", b"") == b"a=1\n"


def test_an_incomplete_block_is_left_alone(gaia: Gaia) -> None:
    """Ours: it is unknown which lines belong to it."""
    start = gaia.home / ".zshrc"
    start.write_bytes(BEGIN + b"a=1\n")

    ran = gaia("completion", "zsh", "--install")

    assert (ran.code, len(ran.errors)) == (3, 2)
    assert start.read_bytes() == BEGIN + b"a=1\n"
    assert gaia("completion", "zsh", "--uninstall").code == 3


def test_a_file_of_another_program_is_left_alone(gaia: Gaia) -> None:
    """Ours: there is more than one `gaia`."""
    path = gaia.home / ".config" / "fish" / "conf.d" / "gaia-mcp.fish"
    path.parent.mkdir(parents=True)
    path.write_text("complete -c gmcp\n")

    assert gaia("completion", "fish", "--install").code == 3
    assert gaia("completion", "fish", "--uninstall").code == 3
    assert files_in(gaia.home) == {".config/fish/conf.d/gaia-mcp.fish": b"complete -c gmcp\n"}


def test_an_older_script_of_ours_is_replaced(gaia: Gaia) -> None:
    """Ours: after an update."""
    path = gaia.home / ".config" / "fish" / "conf.d" / "gaia-mcp.fish"
    path.parent.mkdir(parents=True)
    path.write_text("# Completion of gaia and gmcp for fish, version 0\n")

    assert gaia("completion", "fish", "--install").code == 0
    assert path.read_text() == SCRIPTS["fish"]


def test_an_unwritable_file_is_an_error(gaia: Gaia) -> None:
    """Ours: a folder in place of the file, or a start file that its owner protects."""
    (gaia.home / ".config" / "fish" / "conf.d" / "gaia-mcp.fish").mkdir(parents=True)
    assert gaia("completion", "fish", "--install").code == 3

    (gaia.home / ".zshrc").write_text("x")
    (gaia.home / ".zshrc").chmod(0o400)
    assert gaia("completion", "zsh", "--install").code == 3
    assert (gaia.home / ".zshrc").read_text() == "x"


@pytest.mark.story
def test_bash_with_bash_completion_needs_no_start_file(tmp_path: Path) -> None:
    """bash-completion: it reads that folder by itself, once the user's start file has loaded it."""
    (tmp_path / ".bashrc").write_text("BASH_COMPLETION_VERSINFO=(2 11)\necho welcome\n")
    environ = {"HOME": str(tmp_path), "PATH": os.environ["PATH"]}

    there = places(CommandLine(), "bash", environ)

    assert there.start_file is None
    assert install("bash", there) == [tmp_path / name for name in BASH_FILES]
    # A block from before that is still found.
    (tmp_path / ".bashrc").write_bytes(b"x=1\n" + BEGIN + b"y\n" + END)
    assert uninstall(there, start_files("bash", there, environ))[0] == tmp_path / ".bashrc"
    assert (tmp_path / ".bashrc").read_bytes() == b"x=1\n"


@pytest.mark.story
def test_folders_named_by_the_environment_are_used(tmp_path: Path) -> None:
    """XDG, zsh, bash-completion: each shell reads its files there."""
    environ = {
        "HOME": "/nowhere",
        "PATH": os.environ["PATH"],
        "XDG_DATA_HOME": str(tmp_path / "data"),
        "XDG_CONFIG_HOME": str(tmp_path / "config"),
        "ZDOTDIR": str(tmp_path / "z d"),
        "BASH_COMPLETION_USER_DIR": str(tmp_path / "bash it's"),
    }

    assert places(CommandLine(), "bash", environ).scripts[0] == tmp_path / "bash it's" / "completions" / "gaia"
    assert places(CommandLine(), "zsh", environ).start_file == tmp_path / "z d" / ".zshrc"
    assert places(CommandLine(), "zsh", environ).scripts == [tmp_path / "data" / "gaia-mcp" / "_gaia"]
    assert places(CommandLine(), "fish", environ).scripts == [tmp_path / "config" / "fish" / "conf.d" / "gaia-mcp.fish"]


@pytest.mark.story
def test_the_path_of_the_profile_comes_from_powershell(tmp_path: Path) -> None:
    """Ours: it lies elsewhere on every system. The program on PATH here only answers as PowerShell does."""
    environ = {"HOME": str(tmp_path), "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    with pytest.raises(ConfigFileError):
        places(CommandLine(), "powershell", {**environ, "PATH": str(tmp_path)})
    profile = tmp_path / "it's" / "profile.ps1"
    stand_in = tmp_path / "powershell"
    stand_in.write_text(f'#!/bin/sh\necho "{profile}"\n')
    stand_in.chmod(0o755)

    there = places(CommandLine(), "powershell", environ)

    assert there.start_file == profile
    assert install("powershell", there) == [tmp_path / ".local/share/gaia-mcp/gaia.ps1", profile]
    assert profile.read_bytes() == BEGIN + f". '{tmp_path}/.local/share/gaia-mcp/gaia.ps1'\n".encode() + END


def test_every_script_is_committed() -> None:
    """Ours: packages install only what is committed."""
    assert set(FILES.values()) == set(SCRIPTS)

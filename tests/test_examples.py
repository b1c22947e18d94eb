"""The examples in docstrings print what they show."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "gaia_mcp"
BIN = Path(sys.executable).parent
RUN = """import doctest, importlib, sys
module = importlib.import_module(sys.argv[1])
failed, tried = doctest.testmod(module, optionflags=doctest.ELLIPSIS)
sys.exit(failed or not tried)"""
MODULES = sorted(
    ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts).removesuffix(".__init__")
    for path in PACKAGE.rglob("*.py")
    if re.search(r"^ *>>> ", path.read_text("utf-8"), re.MULTILINE)
)

pytestmark = pytest.mark.story


@pytest.mark.parametrize("module", MODULES)
def test_the_examples_print_what_they_show(module: str, tmp_path: Path) -> None:
    """Ours: each module in a process with a home and a working folder of its own."""
    environ = {"HOME": str(tmp_path), "PATH": f"{BIN}{os.pathsep}{os.defpath}", "LANG": "C.UTF-8"}

    ran = subprocess.run(
        [sys.executable, "-c", RUN, module],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env=environ,
        timeout=60,
        check=False,
    )

    assert ran.returncode == 0, ran.stdout + ran.stderr


def test_every_kind_of_client_has_an_example() -> None:
    """Ours: the README shows one, and leaves the others to these."""
    assert {"gaia_mcp.client", "gaia_mcp.manager", "gaia_mcp.contrib.gaia.mixin"} <= set(MODULES)

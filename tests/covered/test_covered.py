"""The proof that modules are covered: what it counts, and what it reports."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.covered import __main__ as covered
from tests.covered.measuring import PatientSys

MODULE = "def double(number):\n    if number:\n        return 2 * number\n    return 0\n"
IN_PROCESS = """
import subprocess, sys
from gaia_mcp.part.small.{other} import double

def test_here():
    assert double(1) == 2

def test_there():
    program = "import os; from gaia_mcp.part.small.{own} import double; double(0); double(1); os._exit(0)"
    assert subprocess.run([sys.executable, "-c", program]).returncode == 0
"""


def test_a_module_has_the_test_file_of_its_name() -> None:
    """Ours: tests mirror the package."""
    module = covered.PACKAGE / "client" / "transports" / "base.py"

    own = re.compile(covered.own_tests(module)).fullmatch

    assert own("tests/client/transports/test_base.py")
    assert own("tests/client/transports/test_base__limits.py")
    assert not own("tests/client/transports/test_base_limits.py")
    assert not own("tests/client/transports/stdio/test_base.py")


@pytest.mark.story
def test_only_its_own_test_file_counts_for_a_module_also_in_processes(tmp_path: Path) -> None:
    """Ours: what another file covers stays covered by chance only."""
    package, tests = tmp_path / "gaia_mcp" / "part" / "small", tmp_path / "tests" / "part" / "small"
    package.mkdir(parents=True)
    tests.mkdir(parents=True)
    for folder in (tmp_path / "gaia_mcp", tmp_path / "gaia_mcp" / "part", package):
        (folder / "__init__.py").touch()
    for module in ("one", "two"):
        (package / f"{module}.py").write_text(MODULE)
    (tests / "test_one.py").write_text(IN_PROCESS.format(own="one", other="two"))
    # Without our own plugin, as in the settings of this project: that package is another one.
    (tmp_path / "pytest.ini").write_text("[pytest]\npythonpath = .\naddopts = -p no:gaia-mcp\n")

    done = subprocess.run(
        [sys.executable, "-m", "tests.covered", "part/small"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
        capture_output=True,
        text=True,
        check=False,
    )

    assert "2 passed" in done.stdout
    assert done.stdout.splitlines()[-1] == "part/small/two.py: its own tests leave out 2, 3, 4, 2->3, 2->4"
    assert (done.returncode, done.stderr) == (1, "")


def test_a_thread_that_cannot_be_traced_yet_tries_again() -> None:
    """Ours: Python lets no two threads begin that at once, and one that fails with it runs nothing."""
    refusals = [RuntimeError("another trace function is being installed")] * 2
    traced: list[Any] = []

    class Real:
        flags = "the flags"

        def settrace(self, function: Any) -> None:
            if refusals:
                raise refusals.pop()
            traced.append(function)

    patient = PatientSys(Real())
    patient.settrace(print)

    assert (traced, patient.flags) == ([print], "the flags")

"""`python -m tests.covered [PACKAGE...]`: prove that each module is covered by its own test file alone.

Lines and branches, package by package, each in a process of its own; to be run at the root. The module
`gaia_mcp/a/b.py` has the test file `tests/a/test_b.py`, and `tests/a/test_b__PART.py` for a part of it: what another
file covers does not count, for it stays covered by chance only.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from coverage import Coverage

ROOT = Path.cwd()
PACKAGE = ROOT / "gaia_mcp"
# The longest first. Each is measured without its folders that stand here themselves.
PACKAGES = ("client/transports/stdio", "server", "client/transports/http", "server/http", "client", "protocol", "store")
# Processes that the tests start are measured too, each for the test file that started it.
IN_PROCESSES = """[run]
branch = true
parallel = true
patch = _exit
data_file = {data}
source = {package}
context = ${{COVERED_BY}}
"""


class PatientSys:
    """`sys` for the module `threading`, by which that has each new thread traced.

    Python refuses to begin that while another thread begins it too, and the thread then never runs: here it tries
    again.
    """

    def __init__(self, real: Any) -> None:
        self._real = real

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)

    def settrace(self, function: Any) -> None:
        """As `sys.settrace`."""
        while True:
            try:
                self._real.settrace(function)
            except RuntimeError:
                time.sleep(0)
            else:
                return


class ByFile:
    """Notes for each test file what its tests have covered."""

    def __init__(self, coverage: Coverage) -> None:
        self._coverage = coverage

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        """Whatever runs from here on is due to this file."""
        file = item.path.relative_to(ROOT).as_posix()
        self._coverage.switch_context(file)
        os.environ["COVERED_BY"] = file


def own_tests(module: Path) -> str:
    """A regular expression for the test files of a module, as paths from the root."""
    inside = module.relative_to(PACKAGE)
    names = {inside.stem, inside.parent.name} if inside.stem == "__init__" else {inside.stem}
    return f"{re.escape((Path('tests') / inside.parent).as_posix())}/test_({'|'.join(sorted(names))})(__[a-z_]+)?\\.py"


def gaps(package: str) -> dict[str, list[str]]:
    """What is not covered of each module of a package that has gaps. Runs the tests of the package."""
    folder = PACKAGE / package
    others = [PACKAGE / one for one in PACKAGES if one.startswith(f"{package}/")]
    left_out = [f"--ignore={ROOT / 'tests' / one.relative_to(PACKAGE)}" for one in others]
    with tempfile.TemporaryDirectory() as scratch:
        data, config = Path(scratch) / "data", Path(scratch) / "config"
        config.write_text(IN_PROCESSES.format(data=data, package=folder))
        coverage = Coverage(str(data), branch=True, source=[str(folder)], config_file=False)
        coverage.exclude("if TYPE_CHECKING:")
        threading._sys = PatientSys(sys)  # type: ignore[attr-defined]
        coverage.start()
        os.environ["COVERAGE_PROCESS_START"] = str(config)
        words = ["-q", "-p", "no:cacheprovider", *left_out, str(ROOT / "tests" / package)]
        status = pytest.main(words, [ByFile(coverage)])
        coverage.stop()
        if status != 0:
            raise SystemExit(status)
        coverage.combine([scratch])
        found = {}
        for module in sorted(folder.rglob("*.py")):
            if any(module.is_relative_to(other) for other in others):
                continue
            # What runs at the import of a module is due to whichever test file imports it first.
            contexts = ["^$", f"^{own_tests(module)}$"]
            out = Path(scratch) / "report.json"
            coverage.json_report(morfs=[str(module)], outfile=str(out), contexts=contexts)
            (file,) = json.loads(out.read_text())["files"].values()
            missing = [str(line) for line in file["missing_lines"]]
            missing += [f"{start}->{'exit' if end < 0 else end}" for start, end in file["missing_branches"]]
            if missing:
                found[module.relative_to(PACKAGE).as_posix()] = missing
    return found


def main(packages: list[str]) -> int:
    """Check one package here, or several, each in a process of its own. Returns the exit status."""
    if len(packages) == 1:
        found = gaps(packages[0])
        for module, missing in found.items():
            print(f"{module}: its own tests leave out {', '.join(missing)}")
        if not found:
            print(f"{packages[0]}: each module is covered by its own tests")
        return int(bool(found))
    # Two for each processor: most tests wait, and with more of them some would wait too long.
    with ThreadPoolExecutor(2 * (os.cpu_count() or 1)) as pool:
        return max(pool.map(_measured_apart, packages or PACKAGES))


def _measured_apart(package: str) -> int:
    return subprocess.run([sys.executable, "-m", "tests.covered", package], cwd=ROOT, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""`python -m tests.covered [PACKAGE...]`: prove that each module is covered by its own test file alone.

Lines and branches, package by package, each in a process of its own. The module `gaia_mcp/a/b.py` has the test file
`tests/a/test_b.py`: what another file covers does not count, for it stays covered by chance only.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from coverage import Coverage

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "gaia_mcp"
PACKAGES = ("client", "protocol", "server")
# Modules whose own tests leave something out. This table only shrinks: a module that is complete has to leave it, and
# no other module may enter it.
INCOMPLETE = frozenset(
    {
        # Runs in processes of its own, where nothing is measured.
        "server/stdio/process.py",
    }
)


class ByFile:
    """Notes for each test file what its tests have covered."""

    def __init__(self, coverage: Coverage) -> None:
        self._coverage = coverage

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        """Whatever runs from here on is due to this file."""
        self._coverage.switch_context(item.path.relative_to(ROOT).as_posix())


def own_tests(module: Path) -> str:
    """The test file of a module, as a path from the root."""
    inside = module.relative_to(PACKAGE)
    return (Path("tests") / inside.parent / f"test_{inside.name}").as_posix()


def gaps(package: str) -> dict[str, list[str]]:
    """What is not covered of each module of a package that is not complete. Runs the tests of the package."""
    folder = PACKAGE / package
    with tempfile.TemporaryDirectory() as scratch:
        coverage = Coverage(str(Path(scratch) / "data"), branch=True, source=[str(folder)], config_file=False)
        coverage.exclude("if TYPE_CHECKING:")
        coverage.start()
        status = pytest.main(["-q", "-p", "no:cacheprovider", str(ROOT / "tests" / package)], [ByFile(coverage)])
        coverage.stop()
        if status != 0:
            raise SystemExit(status)
        found = {}
        for module in sorted(folder.rglob("*.py")):
            # What runs at the import of a module is due to whichever test file imports it first.
            contexts = ["^$", f"^{re.escape(own_tests(module))}$"]
            out = Path(scratch) / "report.json"
            coverage.json_report(morfs=[str(module)], outfile=str(out), contexts=contexts)
            (file,) = json.loads(out.read_text())["files"].values()
            missing = [str(line) for line in file["missing_lines"]]
            missing += [f"{start}->{'exit' if end < 0 else end}" for start, end in file["missing_branches"]]
            if missing:
                found[module.relative_to(PACKAGE).as_posix()] = missing
    return found


def problems(package: str, found: Mapping[str, list[str]], listed: Iterable[str] = INCOMPLETE) -> list[str]:
    """What is wrong with a package, line by line: gaps where there may be none, and none where the table says so."""
    excused = {name for name in listed if name.startswith(f"{package}/")}
    return [
        *(f"{name}: its own tests leave out {', '.join(found[name])}" for name in found if name not in excused),
        *(f"{name}: is complete, so take it out of the table" for name in sorted(excused - set(found))),
    ]


def main(packages: list[str]) -> int:
    """Check one package here, or several, each in a process of its own. Returns the exit status."""
    if len(packages) == 1:
        found = problems(packages[0], gaps(packages[0]))
        print("\n".join(found) or f"{packages[0]}: covered, but for what the table names")
        return int(bool(found))
    running = [subprocess.Popen([sys.executable, "-m", "tests.covered", one], cwd=ROOT) for one in packages or PACKAGES]
    return max(one.wait() for one in running)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

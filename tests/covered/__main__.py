"""`python -m tests.covered [--measured FOLDER | PACKAGE...]`: prove that each module is covered by its own test file
alone.

Lines and branches, of all packages in one run of their tests, or in a run of pytest that has measured them into FOLDER;
to be run at the root. The module `gaia_mcp/a/b.py` has the test file `tests/a/test_b.py`, and `tests/a/test_b__PART.py`
for a part of it: what another file covers does not count, for it stays covered by chance only.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from coverage import Coverage

from tests.covered.measuring import CHOSEN, DATA, PACKAGES

if TYPE_CHECKING:
    from collections.abc import Sequence

ROOT = Path.cwd()
PACKAGE = ROOT / "gaia_mcp"
# As many as for all tests: most tests wait for something, though each worker traces the import of everything.
MOST_WORKERS = (os.cpu_count() or 1) + 3


def own_tests(module: Path) -> str:
    """A regular expression for the test files of a module, as paths from the root."""
    inside = module.relative_to(PACKAGE)
    names = {inside.stem, inside.parent.name} if inside.stem == "__init__" else {inside.stem}
    return f"{re.escape((Path('tests') / inside.parent).as_posix())}/test_({'|'.join(sorted(names))})(__[a-z_]+)?\\.py"


def measure(packages: Sequence[str], data: str) -> None:
    """Run the tests of the packages, and measure into the folder `data`."""
    workers = min(MOST_WORKERS, sum(len([*(ROOT / "tests" / package).rglob("test_*.py")]) for package in packages))
    words = ["-q", "-n", str(workers), "-p", "no:cacheprovider", "-p", "tests.covered.measuring"]
    # Not as one of the workers that run this, if it is run by a test.
    environ = {name: value for name, value in os.environ.items() if name != "PYTEST_XDIST_WORKER"}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *words, *(f"tests/{package}" for package in packages)],
        env={**environ, DATA: data, CHOSEN: ",".join(packages)},
        check=False,
    )
    if done.returncode != 0:
        raise SystemExit(done.returncode)


def gaps(packages: Sequence[str], data: str) -> dict[str, list[str]]:
    """What is not covered of each module of the packages that has gaps, as was measured."""
    folders = [str(PACKAGE / package) for package in packages]
    coverage = Coverage(f"{data}/data", branch=True, source=folders, config_file=False)
    coverage.exclude("if TYPE_CHECKING:")
    coverage.combine([data])
    found = {}
    for module in sorted(path for folder in folders for path in Path(folder).rglob("*.py")):
        # What runs at the import of a module is due to whichever test file imports it first.
        contexts = ["^$", f"^{own_tests(module)}$"]
        out = Path(data) / "report.json"
        coverage.json_report(morfs=[str(module)], outfile=str(out), contexts=contexts)
        (file,) = json.loads(out.read_text())["files"].values()
        missing = [str(line) for line in file["missing_lines"]]
        missing += [f"{start}->{'exit' if end < 0 else end}" for start, end in file["missing_branches"]]
        if missing:
            found[module.relative_to(PACKAGE).as_posix()] = missing
    return found


def main(words: list[str]) -> int:
    """Check some packages, or all that are to be covered. Returns the exit status."""
    if words[:1] == ["--measured"]:
        packages: Sequence[str] = PACKAGES
        found = gaps(packages, words[1])
    else:
        packages = words or PACKAGES
        with tempfile.TemporaryDirectory() as scratch:
            measure(packages, scratch)
            found = gaps(packages, scratch)
    for module, missing in found.items():
        print(f"{module}: its own tests leave out {', '.join(missing)}")
    if not found:
        print(f"{', '.join(packages)}: each module is covered by its own tests")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

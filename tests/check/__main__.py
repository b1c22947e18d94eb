"""`python -m tests.check [--fix]`: what to run before a commit. It takes about a minute.

Style, types, the generated files, and the tests that start no process, which include those about the floors. With
`--fix`, style and generated files are corrected first, where that can be done without a person.
"""

from __future__ import annotations

import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

ROOT = Path(__file__).parents[2]
PYTHON = sys.executable


class Step(NamedTuple):
    """A command that fails if something is wrong; `fix`, where there is one, corrects what it can."""

    name: str
    command: Sequence[str]
    fix: Sequence[str] = ()


# The longest first, since they run side by side.
STEPS = (
    Step("tests without processes", [PYTHON, "-m", "pytest", "-q", "-n", "auto", "-m", "not story and not peer"]),
    Step("types", [PYTHON, "-m", "mypy"]),
    Step("style", [PYTHON, "-m", "ruff", "check", "."], [PYTHON, "-m", "ruff", "check", "--fix", "-q", "."]),
    Step("format", [PYTHON, "-m", "ruff", "format", "--check", "."], [PYTHON, "-m", "ruff", "format", "-q", "."]),
    Step(
        "generated files",
        [PYTHON, "-m", "gaia_mcp", "mcp", "generate", "--check"],
        [PYTHON, "-m", "gaia_mcp", "mcp", "generate"],
    ),
)


def run(steps: Sequence[Step], *, fix: bool = False) -> list[str]:
    """Run all steps and print how each ended, with the output of those that failed. Returns the names of these."""
    if fix:
        for step in steps:
            if step.fix:
                # What it cannot correct is reported by the step itself.
                subprocess.run(step.fix, cwd=ROOT, capture_output=True, check=False)
    with ThreadPoolExecutor(len(steps)) as pool:
        return [name for name in pool.map(_failed, steps) if name]


def _failed(step: Step) -> str:
    """The name of a step that failed, otherwise nothing."""
    began = time.monotonic()
    done = subprocess.run(step.command, cwd=ROOT, capture_output=True, text=True, check=False)
    seconds = time.monotonic() - began
    if done.returncode == 0:
        print(f"ok      {step.name} ({seconds:.0f} s)", flush=True)
        return ""
    print(f"FAILED  {step.name} ({seconds:.0f} s): {' '.join(step.command)}", flush=True)
    print(f"{done.stdout}{done.stderr}", flush=True)
    return step.name


def main(words: Sequence[str]) -> int:
    """Run the steps. Returns the exit status."""
    if set(words) - {"--fix"}:
        print("usage: python -m tests.check [--fix]", file=sys.stderr)
        return 2
    return 1 if run(STEPS, fix="--fix" in words) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

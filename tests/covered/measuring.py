"""A plugin of pytest that notes for each test file what its tests cover of its package, in each worker.

Runs with `-p tests.covered.measuring` and the variables `COVERED_DATA`, a folder, and perhaps `COVERED_PACKAGES`. Only
the tests of these packages are traced, so that it can be part of a run of all tests.
"""

from __future__ import annotations

import importlib
import os
import pkgutil
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from coverage import Coverage

if TYPE_CHECKING:
    from collections.abc import Sequence

PACKAGES = (
    "agents", "asking", "catalog", "checking", "client", "config", "core", "fleet", "hosts", "protocol",
    "requirements", "server", "storage", "store", "text", "toolspec",
)  # fmt: skip
# The folder of the data files, and the packages that are measured, unless it is all of those above.
DATA, CHOSEN = "COVERED_DATA", "COVERED_PACKAGES"
# Processes that the tests start are measured too, each for the test file that started it.
IN_PROCESSES = """[run]
branch = true
parallel = true
patch = _exit
data_file = {data}/data
source = {sources}
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
    """Notes for each test file what its tests cover; what runs before them is due to no file."""

    def __init__(self, data: str, packages: Sequence[str]) -> None:
        sources = [str(Path("gaia_mcp", package).absolute()) for package in packages]
        self._folders = [Path("tests", package).absolute() for package in packages]
        self._config = Path(data, f"config-{os.getpid()}")
        self._config.write_text(IN_PROCESSES.format(data=data, sources=",".join(sources)))
        threading._sys = PatientSys(sys)  # type: ignore[attr-defined]
        self._coverage = Coverage(f"{data}/data", data_suffix=True, branch=True, source=sources, config_file=False)
        self._coverage.start()
        # Otherwise whichever test comes first would import a module.
        for package, source in zip(packages, sources, strict=True):
            for found in pkgutil.walk_packages([source], f"gaia_mcp.{package.replace('/', '.')}."):
                importlib.import_module(found.name)
        # Until the first test: what test files do when they are collected counts for every file.
        self._measures = True

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        """Whatever runs from here on is due to this file, if its package is measured."""
        file = item.path.relative_to(Path.cwd()).as_posix()
        measures = any(item.path.is_relative_to(folder) for folder in self._folders)
        if measures and not self._measures:
            self._coverage.start()
        elif self._measures and not measures:
            self._coverage.stop()
        self._measures = measures
        if measures:
            self._coverage.switch_context(file)
            os.environ |= {"COVERAGE_PROCESS_START": str(self._config), "COVERED_BY": file}
        else:
            os.environ.pop("COVERAGE_PROCESS_START", None)

    def pytest_unconfigure(self) -> None:
        """Save what has been measured."""
        if self._measures:
            self._coverage.stop()
        self._coverage.save()


def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    """Begin before anything is imported, in each worker."""
    if "PYTEST_XDIST_WORKER" in os.environ:
        # The runs of pytest that tests start are not measured.
        os.environ.pop("PYTEST_ADDOPTS", None)
        packages = os.environ.pop(CHOSEN, ",".join(PACKAGES)).split(",")
        early_config.pluginmanager.register(ByFile(os.environ.pop(DATA), packages))

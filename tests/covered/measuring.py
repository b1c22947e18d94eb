"""A plugin of pytest that notes for each test file what its tests cover, in each worker."""

from __future__ import annotations

import importlib
import os
import pkgutil
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from coverage import Coverage

# The folder of the data files, and those of the packages that are measured.
DATA, SOURCES = "COVERED_DATA", "COVERED_SOURCES"
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

    def __init__(self, data: str, sources: list[str]) -> None:
        config = Path(data, f"config-{os.getpid()}")
        config.write_text(IN_PROCESSES.format(data=data, sources=",".join(sources)))
        os.environ["COVERAGE_PROCESS_START"] = str(config)
        threading._sys = PatientSys(sys)  # type: ignore[attr-defined]
        self._coverage = Coverage(f"{data}/data", data_suffix=True, branch=True, source=sources, config_file=False)
        self._coverage.start()
        # Otherwise whichever test comes first would import a module.
        for source in sources:
            name = ".".join(Path(source).relative_to(Path.cwd()).parts)
            for found in pkgutil.walk_packages([source], f"{name}."):
                importlib.import_module(found.name)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        """Whatever runs from here on is due to this file."""
        file = item.path.relative_to(Path.cwd()).as_posix()
        self._coverage.switch_context(file)
        os.environ["COVERED_BY"] = file

    def pytest_unconfigure(self) -> None:
        """Save what has been measured."""
        self._coverage.stop()
        self._coverage.save()


def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    """Begin before anything is imported, in each worker."""
    if "PYTEST_XDIST_WORKER" in os.environ:
        early_config.pluginmanager.register(ByFile(os.environ[DATA], os.environ[SOURCES].split(os.pathsep)))

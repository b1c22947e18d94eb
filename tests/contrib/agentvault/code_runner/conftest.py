"""The limits, the folders and the processes of runs."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from gaia_mcp.contrib.agentvault.code_runner import Limits
from tests.waiting import PATIENCE_SECONDS, wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator

# Long enough for every run that is to end by itself, on a machine that is busy.
LIMITS = Limits(PATIENCE_SECONDS)


def running_in(folder: Path) -> list[str]:
    """The processes that work below a folder, which may be gone."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if str((process / "cwd").readlink()).startswith(str(folder)):
                found.append(process.name)
    return found


@pytest.fixture(autouse=True)
def folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Where the runs have their folders. Of a run that has ended there is no folder and no process."""
    # Python looks up TMPDIR once, and may have done so.
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    yield tmp_path
    wait_until(lambda: not [*tmp_path.iterdir(), *running_in(tmp_path)])

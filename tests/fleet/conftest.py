"""Entries of the servers of `tests/servers`, in a home of their own, and an observer that records its calls."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from gaia_mcp.config.entries import read_entry
from gaia_mcp.fleet import Observer
from tests.processes import living_with
from tests.waiting import wait_until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from gaia_mcp.config.entries import ServerEntry

SERVERS = Path(__file__).parents[1] / "servers"


class Quiet(Observer):
    """Shows nothing."""

    command = "test"
    debug = False


QUIET = Quiet()


class Noting(Observer):
    """Records its calls."""

    def __init__(self, *, debug: bool = False) -> None:
        self.notes: list[tuple[Any, ...]] = []
        self._debug = debug

    @property
    def command(self) -> str:
        return "some-front"

    @property
    def debug(self) -> bool:
        return self._debug

    def starting(self, server: str, last_line: Callable[[], str]) -> None:
        self.notes.append(("starting", server, last_line()))

    def finished(self, server: str, total: int) -> None:
        self.notes.append(("finished", server, total))

    def stopping(self, server: str) -> None:
        self.notes.append(("stopping", server))

    def remark(self, text: str) -> None:
        self.notes.append(("remark", text))

    def stderr(self, server: str, lines: bytes) -> None:
        self.notes.append(("stderr", server, lines))

    def logged(self, server: str, level: str, data: Any) -> None:
        self.notes.append(("logged", server, level, data))


class Entries:
    """Makes entries of servers that must not be left running."""

    def __init__(self, folder: Path) -> None:
        self.home = folder / "gaia"
        self._notes = folder / "notes"

    def __call__(self, server: str, *arguments: str, first: str = "", **env: str) -> ServerEntry:
        """The entry of `tests/servers/<server>.py`, which is run after the shell command `first`."""
        words = [sys.executable, str(SERVERS / f"{server}.py"), *arguments]
        raw = {"command": "/bin/sh", "args": ["-c", f'{first or ":"}; exec "$@"', "sh", *words]}
        return read_entry(server, {**raw, "env": {"NOTES": str(self._notes), **env}})

    def notes(self) -> list[str]:
        """What the servers have received."""
        return self._notes.read_text().splitlines() if self._notes.exists() else []

    def remembered(self, kind: str, server: str) -> str:
        """The remembered list of a server, empty if there is none."""
        path = self.home / "cache" / kind / f"{server}.json"
        return path.read_text() if path.exists() else ""

    def logs(self) -> list[str]:
        """The kept logs, each after the name of its file without date and process."""
        paths = sorted((self.home).rglob("*.log"))
        return [f"{path.name.split('-', 2)[2]}: {path.read_text()}" for path in paths]


@pytest.fixture
def entries(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Entries]:
    """Makes entries; at the end no server may be left."""
    made = Entries(tmp_path)
    monkeypatch.setenv("GAIA_HOME", str(made.home))
    yield made
    wait_until(lambda: not living_with(str(tmp_path)))

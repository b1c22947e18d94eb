"""Children of these tests are marked as those of other peers are; and the agent is served over HTTP."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.peers.conftest import mark

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["mark"]

HERE = Path(__file__).parent


@pytest.fixture
def http_url(mark: dict[str, str]) -> Iterator[str]:
    """The URL at which the agent `Everything` is served, by a process of its own."""
    command = [sys.executable, "-m", "gaia_mcp", "mcp", "serve", f"{HERE / 'everything.py'}:Everything"]
    running = subprocess.Popen(
        [*command, "--http", "127.0.0.1:0", "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**mark, "PATH": os.environ["PATH"]},
    )
    try:
        assert running.stdout is not None
        found: str = json.loads(running.stdout.readline())["url"]
        yield found
    finally:
        running.terminate()
        running.communicate()

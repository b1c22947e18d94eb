"""A manager of servers, and the proof that none of them outlives its test."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from gaia_mcp import MCPClientManager, MCPConfig
from tests.processes import living_with
from tests.waiting import wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def mark(tmp_path: Path) -> Iterator[str]:
    """What the environment of every server of a test holds: afterwards none may be left."""
    yield str(tmp_path)
    wait_until(lambda: not living_with(str(tmp_path)))


@pytest.fixture
def config(tmp_path: Path) -> MCPConfig:
    return MCPConfig(tmp_path / "servers.json")


@pytest.fixture
def manager(config: MCPConfig, mark: str) -> Iterator[MCPClientManager]:
    with MCPClientManager(config) as manager:
        yield manager

"""The fork server of this worker; `conftest.py` marks the tests that use it as `story`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.forking.client import ForkServer

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="session")
def fork_server() -> Iterator[ForkServer]:
    """Runs, so that no test takes it for a process that was left behind."""
    server = ForkServer()
    server.open()
    yield server
    server.close()

"""Served agents that end with their test."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.server.talk import Process, Session

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@pytest.fixture
def open_session() -> Iterator[Callable[..., Session]]:
    """Starts a `StdioSession` for an agent."""
    sessions: list[Session] = []

    def start(agent: Any = None, **options: Any) -> Session:
        sessions.append(Session(agent, **options))
        return sessions[-1]

    yield start
    for session in sessions:
        session.end()


@pytest.fixture
def start_process() -> Iterator[Callable[..., Process]]:
    """Serves a target in a process of its own."""
    processes: list[Process] = []

    def start(target: str, **options: Any) -> Process:
        processes.append(Process(target, **options))
        return processes[-1]

    yield start
    for process in processes:
        process.end()

"""The limits of the hub: concurrent agents, and requests per agent and minute. Excess requests fail without waiting."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gaia_mcp.agents.hub.entries import AgentEntry

MINUTE_SECONDS = 60.0


class Limits:
    """Counts the running requests, at most `most`, and the requests of the last minute. May be used from several
    threads.
    """

    def __init__(self, most: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._most = most
        self._clock = clock
        self._lock = threading.Lock()
        self._running: dict[str, int] = {}
        self._begun: dict[str, deque[float]] = {}

    @contextmanager
    def running(self, agent: AgentEntry) -> Iterator[None]:
        """Count one request of `agent` as running. Raises `HubError` at once if it exceeds a limit."""
        self._begin(agent)
        try:
            yield
        finally:
            with self._lock:
                self._running[agent.name] -= 1

    def _begin(self, agent: AgentEntry) -> None:
        with self._lock:
            if sum(self._running.values()) >= self._most:
                raise HubError(f"{self._most} agents are running, which is the limit of the hub; try again later")
            if self._running.get(agent.name, 0) >= agent.max_concurrent:
                limit = f"{agent.max_concurrent} requests of agent {agent.name!r} are running"
                raise HubError(f"{limit}, which is its max_concurrent; try again later")
            now = self._clock()
            begun = self._begun.setdefault(agent.name, deque())
            while begun and begun[0] <= now - MINUTE_SECONDS:
                begun.popleft()
            if len(begun) >= agent.per_minute:
                # There may be more than `per_minute`, if the configuration was changed to a smaller number.
                seconds = max(1, round(begun[-agent.per_minute] + MINUTE_SECONDS - now))
                limit = f"agent {agent.name!r} has had {agent.per_minute} requests in a minute"
                raise HubError(f"{limit}, which is its per_minute; try again in {seconds} s")
            begun.append(now)
            self._running[agent.name] = self._running.get(agent.name, 0) + 1


class HubError(Exception):
    """The request failed. The text becomes the `error` of its result."""

"""Keeps an agent's tools up to date: when a server announces changed tools, they are registered again; after its client
was disconnected, they are not registered until it is connected again.
"""

from __future__ import annotations

import logging
import threading
import weakref
from typing import TYPE_CHECKING, Any

from gaia_mcp.errors import MCPError
from gaia_mcp.mixin.tool_registry import registry_of, unregister

if TYPE_CHECKING:
    from gaia_mcp.client.mcp_client import MCPClient

logger = logging.getLogger("gaia_mcp")

# A server that announces a change after every list would be polled without end: with this pause that costs little.
PAUSE_SECONDS = 0.1


class Follower:
    """Refreshes the agents of a server when its tools have changed; unregisters the tools after the last agent.

    Runs in its own thread: the notification arrives on the thread that reads responses, which a refresh needs. There is
    at most one such thread, however often a server announces changes.
    """

    def __init__(self, client: MCPClient) -> None:
        # Held while tools are listed and registered, so that a stale list is not registered last.
        self.changing = threading.RLock()
        self._client = client
        self._agents: list[weakref.WeakMethod[Any]] = []
        self._lock = threading.Lock()
        self._is_due = False
        self._is_looking = False
        # Whether the client was disconnected, and not connected again.
        self._is_over = False

    def add(self, agent: Any) -> None:
        """Also refresh `agent`, a mixin, as long as it exists."""
        registry = registry_of(agent)

        def gone(_: object) -> None:
            if not self.agents():
                unregister(registry, self._client)

        self._agents.append(weakref.WeakMethod(agent._refresh, gone))

    def agents(self) -> list[Any]:
        """The `_refresh` methods of the agents that still exist."""
        return [refresh for reference in list(self._agents) if (refresh := reference()) is not None]

    def __call__(self, kind: str) -> None:
        if kind != "tools":
            return
        with self._lock:
            self._is_due = True
            if self._is_looking:
                return
            self._is_looking = True
        threading.Thread(target=self._look, name="MCP tools changed", daemon=True).start()

    def connection_changed(self, how: str) -> None:
        """Unregister the tools of a client that was disconnected; register them again once it is connected."""
        if how == "disconnected":
            # Without waiting for an agent that is registering tools: it unregisters them afterwards.
            self._is_over = True
            for refresh in self.agents():
                refresh.__self__._leave(self._client)
        elif self._is_over:
            self._is_over = False
            self("tools")

    def _look(self) -> None:
        while True:
            with self._lock:
                if not self._is_due:
                    self._is_looking = False
                    return
                self._is_due = False
            try:
                self._client.fetch_tools()
                for refresh in self.agents():
                    with self.changing:
                        refresh(self._client)
                        if self._is_over:
                            refresh.__self__._leave(self._client)
            except MCPError as error:
                logger.warning("the tools of MCP server %r were not updated: %s", self._client.name, str(error))
            except Exception:  # the agent's own code, which may be overridden
                logger.exception("an agent could not update the tools of MCP server %r", self._client.name)
            refresh = None  # Otherwise the agent could not be garbage-collected during the pause.
            threading.Event().wait(PAUSE_SECONDS)


# Held to assign a client its only follower.
_following = threading.Lock()


def follower_of(client: MCPClient) -> Follower:
    with _following:
        if not isinstance(client.on_list_changed, Follower):
            client.on_list_changed = Follower(client)
            client.on_connection = client.on_list_changed.connection_changed
        return client.on_list_changed


def follows(agent: object, client: MCPClient) -> bool:
    follower = client.on_list_changed
    return isinstance(follower, Follower) and any(method.__self__ is agent for method in follower.agents())

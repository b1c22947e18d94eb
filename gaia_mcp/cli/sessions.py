"""A command's conversation with one server: from its entry to a client that is certainly ended."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

from gaia_mcp.cli.output import Form, on_terminal, remark, stderr_shown
from gaia_mcp.client.engine import DEFAULT_TIMEOUT_SECONDS
from gaia_mcp.client.host import Host
from gaia_mcp.client.mcp_client import MCPClient
from gaia_mcp.client.transports.stdio import IMPATIENT_GRACE_SECONDS, StdioTransport
from gaia_mcp.client.verdicts import Verdicts
from gaia_mcp.deadline import Deadline
from gaia_mcp.errors import PeerError
from gaia_mcp.paths import cache_folder
from gaia_mcp.safetext import one_line
from gaia_mcp.toolcache import ToolCache

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from gaia_mcp.client.host import Elicit
    from gaia_mcp.client.tool import MCPTool
    from gaia_mcp.client.transports.child import Child, Stopped
    from gaia_mcp.config.entries import ServerEntry

# A server that has answered everything and does not leave when its input ends is not worth more of a person's time.
GRACE_SECONDS = 1.0


class Session:
    """A client and its time: with `--timeout` one deadline for everything, without it one for each request."""

    def __init__(self, entry: ServerEntry, whole: Deadline | None, host: Host, child: Child | None = None) -> None:
        self._whole = whole
        self.entry = entry
        self.client = MCPClient.from_config(
            entry.name,
            dict(entry.raw),
            whole.seconds if whole is not None else DEFAULT_TIMEOUT_SECONDS,
            Form.debug,
            host=host,
            verdicts=Verdicts(cache_folder(), entry),
            on_stderr=stderr_shown(entry.name, self._secrets),
            child=child,
        )

    def _secrets(self) -> list[str]:
        transport = self.client.transport
        return transport.secrets() if isinstance(transport, StdioTransport) else []

    def deadline(self) -> Deadline:
        """The time for the next request."""
        return self._whole or self.client.deadline()

    def start_deadline(self) -> Deadline:
        """The time for connecting, which no progress extends."""
        return self._whole or Deadline(self.client.timeout)

    def fetch_tools(self) -> list[MCPTool]:
        """All tools, none from a server that offers none; they are remembered for what does not connect. Raises as the
        client's `open` does.
        """
        found: list[MCPTool] = []
        try:
            found = self.client.fetch_tools(self.deadline())
        except PeerError:
            # Some forget to declare their tools, so all are asked; those that have none may answer with an error.
            if self.client.peer is None or "tools" in self.client.peer.capabilities:
                raise
        ToolCache(cache_folder()).keep(self.entry, [tool.definition for tool in found])
        return found

    def close(self, grace_seconds: float = GRACE_SECONDS) -> Stopped | None:
        """End the server for good; how that went."""
        transport = self.client.transport
        stopped = transport.close(grace_seconds) if isinstance(transport, StdioTransport) else None
        # Whoever is still at work with it, in another thread, must not start it again.
        self.client.disconnect()
        return stopped


@contextmanager
def connected(
    entry: ServerEntry, whole: Deadline | None, *, elicit: Elicit | None = None, child: Child | None = None
) -> Iterator[Session]:
    """A session that has been opened, and is closed whatever happens. What the server wrote beside the protocol is told
    afterwards, once.
    """
    session = Session(entry, whole, Host(elicit=elicit, on_log=_log_shown(entry.name)), child)
    grace = IMPATIENT_GRACE_SECONDS
    try:
        session.client.open(session.start_deadline())
        yield session
        grace = GRACE_SECONDS
    finally:
        session.close(grace)
    # Where something failed, the error says it.
    if noise := session.client.host.noise():
        remark(f"server {entry.name!r} wrote {noise}; tell its author")


def _log_shown(name: str) -> Callable[[str, str, Any], None] | None:
    """Log messages are for whoever watches: a terminal, or `--debug`."""
    if not (Form.debug or on_terminal(sys.stderr)):
        return None

    def show(level: str, _logger: str, data: Any) -> None:
        if Form.debug or level not in ("debug", "info", "notice"):
            text = data if isinstance(data, str) else repr(data)
            remark(f"{name} says ({level}): {one_line(text, 500)}")

    return show

"""A command's conversation with one server: from its entry to a client that is certainly ended."""

from __future__ import annotations

import sys
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from gaia_mcp.cli.hints import Typed
from gaia_mcp.cli.screen.output import Form, remark
from gaia_mcp.cli.screen.terminal import on_terminal
from gaia_mcp.cli.servers.kept import KeptStderr
from gaia_mcp.client.engine import DEFAULT_TIMEOUT_SECONDS
from gaia_mcp.client.host import Host
from gaia_mcp.client.mcp_client import MCPClient
from gaia_mcp.client.transports.stdio.transport import IMPATIENT_GRACE_SECONDS, StdioTransport
from gaia_mcp.deadline import Deadline
from gaia_mcp.errors import MCPError, PeerError
from gaia_mcp.paths import cache_folder
from gaia_mcp.safetext import one_line, redacted
from gaia_mcp.storage.era_cache import EraCache
from gaia_mcp.storage.tool_cache import ToolCache

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from gaia_mcp.cli.screen.progress import Waiting
    from gaia_mcp.cli.servers.launch import Launched
    from gaia_mcp.client.host import Elicit, OnLog
    from gaia_mcp.client.tool import MCPTool
    from gaia_mcp.client.transports.stdio.child import Stopped
    from gaia_mcp.config.entries import ServerEntry

# A server that has answered everything and does not leave when its input ends is not worth more of a person's time.
GRACE_SECONDS = 1.0
# What is only good for the next TAB is not worth more of a person's time either.
SETTLE_SECONDS = 1.0


class Session:
    """A client and its time: with `--timeout` one deadline for everything, without it one for each request."""

    def __init__(self, entry: ServerEntry, whole: Deadline | None, host: Host, running: Launched | None = None) -> None:
        self._whole = whole
        self.entry = entry
        self._stderr = running.stderr if running is not None else KeptStderr(entry, Typed.command, self.secrets)
        self.client = MCPClient.from_config(
            entry.name,
            dict(entry.raw),
            whole.seconds if whole is not None else DEFAULT_TIMEOUT_SECONDS,
            Form.debug,
            host=host,
            era_cache=EraCache(cache_folder(), entry),
            on_stderr=self._stderr.hear,
            child=running.child if running is not None else None,
        )
        # Hears of what `listen` asks for too; as there, it must not ask the server anything.
        self.on_list_changed: Callable[[str], None] | None = None
        # The kinds of lists that are no longer what they were.
        self._changed: set[str] = set()
        # Whether the tools were known, or asked for.
        self._knew_tools = False

    def secrets(self) -> list[str]:
        """What the server was given and nobody is to be shown."""
        transport = self.client.transport
        return transport.secrets() if isinstance(transport, StdioTransport) else []

    def last_line(self) -> str:
        """The last line that the server has written to stderr so far, without its secrets."""
        transport = self.client.transport
        tail = transport.stderr_tail() if isinstance(transport, StdioTransport) else ""
        return one_line(tail.rstrip().rpartition("\n")[2])

    def deadline(self) -> Deadline:
        """The time for the next request."""
        return self._whole or self.client.deadline()

    def start_deadline(self) -> Deadline:
        """The time for connecting, which no progress extends."""
        return self._whole or Deadline(self.client.timeout)

    def fetch_tools(self, deadline: Deadline | None = None) -> list[MCPTool]:
        """All tools, none from a server that offers none; they are remembered for what does not connect. Raises as the
        client's `open` does.
        """
        found: list[MCPTool] = []
        self.listen()
        self._knew_tools = True
        self._changed.discard("tools")
        try:
            found = self.client.fetch_tools(deadline or self.deadline())
        except PeerError:
            # Some forget to declare their tools, so all are asked; those that have none may answer with an error.
            if self.client.peer is None or "tools" in self.client.peer.capabilities:
                raise
        self.keep("tools", [tool.definition for tool in found])
        return found

    def fetch_prompts(self) -> list[dict[str, Any]]:
        """All prompts; they are remembered in the same way. Raises as the client's `open` does."""
        self.listen()
        self._changed.discard("prompts")
        found = self.client.list_prompts(self.deadline())
        self.keep("prompts", found)
        return found

    def keep(self, kind: str, found: list[dict[str, Any]]) -> None:
        """Remember what the server has of a kind, unless it has announced a change since it was asked."""
        if kind not in self._changed:
            ToolCache(cache_folder()).keep(self.entry, found, kind)

    def keep_seen(self) -> None:
        """Remember the tools if a search for one of them has shown them all, and none are known yet."""
        seen = self.client.all_seen
        if seen is not None and ToolCache(cache_folder()).lookup(self.entry) is None:
            self.keep("tools", [tool for tool in seen if isinstance(tool, dict)])

    def settle(self) -> None:
        """Ask once more for tools that were known and have changed since: some servers make up their tools only when
        they know who asks, and what was remembered is gone.
        """
        if "tools" in self._changed and (self._knew_tools or self.client.all_seen is not None):
            with suppress(MCPError):
                self.fetch_tools(Deadline(SETTLE_SECONDS))

    def listen(self) -> None:
        """Forget what the server announces to be no longer true. Once it has been opened: to some servers that says
        that they shall announce it, and a call need not wait for that.
        """
        self.client.on_list_changed = self._forget

    def _forget(self, kind: str) -> None:
        self._changed.add(kind)
        cache = ToolCache(cache_folder())
        self._knew_tools |= kind == "tools" and cache.lookup(self.entry) is not None
        cache.forget(self.entry, kind)
        if self.on_list_changed is not None:
            self.on_list_changed(kind)

    def close(self, grace_seconds: float = GRACE_SECONDS) -> Stopped | None:
        """End the server for good; how that went."""
        # Some end a subscription with an error when their input ends. From then on nothing that is told is news.
        self.client.on_list_changed = None
        transport = self.client.transport
        stopped = None
        if isinstance(transport, StdioTransport):
            stopped = transport.close(grace_seconds)
            self._stderr.end(transport.stopped.returncode if transport.stopped is not None else None)
        # Whoever is still at work with it, in another thread, must not start it again.
        self.client.disconnect()
        return stopped


@contextmanager
def connected(
    entry: ServerEntry,
    whole: Deadline | None,
    *,
    elicit: Elicit | None = None,
    running: Launched | None = None,
    on_log: OnLog | None = None,
    waiting: Waiting | None = None,
) -> Iterator[Session]:
    """A session that has been opened, and is closed whatever happens. What the server wrote beside the protocol is told
    afterwards, once. Without `on_log` its log messages are shown to whoever watches. `waiting` is what moves meanwhile.
    """

    def ask(params: dict[str, Any]) -> dict[str, Any]:
        assert elicit is not None  # noqa: S101 (else nobody is asked)
        message = params.get("message")
        told = redacted(message, session.secrets()) if isinstance(message, str) else message
        return elicit({**params, "message": told})

    host = Host(elicit=None if elicit is None else ask, on_log=on_log or _log_shown(entry.name))
    session = Session(entry, whole, host, running)
    if waiting is not None:
        waiting.begin(entry.name, session.last_line)
    grace = IMPATIENT_GRACE_SECONDS
    try:
        session.client.open(session.start_deadline())
        session.listen()
        yield session
        session.settle()
        grace = GRACE_SECONDS
    finally:
        if waiting is not None:
            waiting.leave(f"stopping {entry.name}")
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

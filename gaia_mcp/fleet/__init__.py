"""Servers in use: from an entry to a process that has reliably ended.

What uses a server stands on `ServerInUse`, which is connected until it is closed for good, listed, and masked; the
`CircuitBreaker` is the rule when to stop trying it. Each use adds what is its own: a command its deadline, a gateway
its callers, a manager the errors that it counts. Neither knows a front, another server, or a clock: callers pass `now`.

`session` is the interface for every front. It prints nothing: output for the user goes to an `Observer`, which the
front implements. `server_process` starts a server before the rest of the program is loaded, and has the log of its
stderr; `parallel` uses many at once. `recorder` relays between a server and another program that uses it. `gateway`
shows many servers as one provider.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, Literal, Protocol

from gaia_mcp.core.deadline import IMPATIENT_GRACE_SECONDS, Deadline
from gaia_mcp.core.errors import MCPError, NotConnectedError, PeerError
from gaia_mcp.protocol.jsonrpc import METHOD_NOT_FOUND

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from gaia_mcp.client.mcp_client import MCPClient
    from gaia_mcp.client.tools import MCPTool
    from gaia_mcp.client.transports.stdio.child import Stopped
    from gaia_mcp.config.entries import ServerEntry
    from gaia_mcp.fleet.server_process import StderrLog
    from gaia_mcp.protocol.events import Peer
    from gaia_mcp.storage.server_cache import ServerCache
    from gaia_mcp.text.redaction.masker import Masker

Wire = dict[str, Any]

# The lists of a server, by the method that requests them.
KINDS = {
    "tools/list": "tools",
    "prompts/list": "prompts",
    "resources/list": "resources",
    "resources/templates/list": "resourceTemplates",
}
# The list in the `list_changed` notification that covers each of them, which is also the one in the cache.
ANNOUNCED = {"tools": "tools", "prompts": "prompts", "resources": "resources", "resourceTemplates": "resources"}
# Whether a call is admitted; `TRIAL` is the single one that tests whether the server can be used again.
Admission = Literal["refused", "admitted", "trial"]
REFUSED: Admission = "refused"
ADMITTED: Admission = "admitted"
TRIAL: Admission = "trial"
# As specified in the document of handlers.
MAX_CONSECUTIVE_ERRORS = 3


class Observer(Protocol):
    """A front's view of sessions. The methods are called from any thread and must not block.

    `command` names the front in the servers' logs, in lower-case letters and dashes. With `debug` it also gets the
    servers' stderr.
    """

    @property
    def command(self) -> str: ...

    @property
    def debug(self) -> bool: ...

    def held(self, entry: ServerEntry) -> ServerEntry:
        """The entry as it is to be used: with a connection to the keeper that holds its server, if one does. Raises
        `MCPError`.
        """
        return entry

    def starting(self, server: str, last_line: Callable[[], str]) -> None:
        """A server is being started; `last_line()` is the end of its stderr so far."""

    def finished(self, server: str, total: int) -> None:
        """One of `total` servers is no longer in use."""

    def stopping(self, server: str) -> None:
        """A server is being stopped, and gets no more requests."""

    def remark(self, text: str) -> None:
        """A message for the user that is not an error."""

    def stderr(self, server: str, lines: bytes) -> None:
        """Whole lines of a server's stderr, without its secrets."""

    def logged(self, server: str, level: str, data: Any) -> None:
        """A log message from a server."""


class ServerInUse:
    """The server of `client`, described by `entry`. Its lists are written to `cache`; its stderr goes to `stderr_log`.

    Safe to use from several threads.
    """

    def __init__(
        self,
        client: MCPClient,
        entry: ServerEntry | None = None,
        cache: ServerCache | None = None,
        stderr_log: StderrLog | None = None,
    ) -> None:
        self.client = client
        self.entry = entry
        # Messages about problems of the list that was requested last.
        self.problems: list[str] = []
        # Whether it has been connected. Before, a server that runs is not yet one that answers requests.
        self.was_open = False
        self._cache = cache
        self._stderr_log = stderr_log
        self._is_closed = False
        # The last lists, by kind; including the tools that the entry excludes.
        self._lists: dict[str, list[Wire]] = {}

    @property
    def is_ready(self) -> bool:
        """Whether requests can be sent without connecting."""
        return self.was_open and self.client.is_connected()

    @property
    def is_closed(self) -> bool:
        """Whether it was stopped for good."""
        return self._is_closed

    def open(self, deadline: Deadline | None = None) -> Peer:
        """Connect and agree on a version, also again after the connection has ended. Raises as `MCPClient.open` does,
        and `NotConnectedError` after `close`, which may come meanwhile and find nothing to stop.
        """
        if not self._is_closed:
            peer = self.client.open(deadline or self.client.deadline())
            if not self._is_closed:
                self.was_open = True
                return peer
            self.client.close(IMPATIENT_GRACE_SECONDS)
        raise NotConnectedError(self.client.name)

    def close(self, grace_seconds: float) -> Stopped | None:
        """Stop the server for good, with `grace_seconds` for each step. Returns how it ended, None if none was running.
        May be called twice.
        """
        self._is_closed = True
        # Some servers end a subscription with an error when their input ends. Changes from now on are ignored.
        self.client.on_list_changed = None
        stopped = self.client.close(grace_seconds)
        if self._stderr_log is not None:
            self._stderr_log.end(self.client.exit_status)
        return stopped

    def masker(self) -> Masker:
        """A masker for the secrets that were passed to the server."""
        return self.client.masker()

    def explained(self, error: MCPError) -> MCPError:
        """The error to report for an error of this server, without the secrets that the server was given."""
        from gaia_mcp.fleet.server_process import explained

        told = explained(error, self.entry) if self.entry is not None else error
        masker = self.masker()
        told.message, told.hint = masker.text(told.message), masker.text(told.hint)
        told.args = (told.message,)
        # It may contain a part of a tool definition.
        told.facts = masker.value(told.facts)
        return told

    def fetch_tools(self, deadline: Deadline | None = None, **options: bool) -> list[MCPTool]:
        """All tools, unmasked; none from a server without tools. The `options` are those of `MCPClient.fetch_tools`,
        which also says what is raised.
        """
        found: list[MCPTool] = []
        problems: list[str] = []
        try:
            found = self.client.fetch_tools(deadline, **options)
        except PeerError as error:
            # Some servers do not declare their tools, so all are asked; those without tools may respond with an error.
            if self.client.peer is None or "tools" in self.client.capabilities:
                problems = [_unsupported("tools", error)]
        self.problems = [*self.client.tool_problems, *problems]
        # Another thread may have closed the server meanwhile.
        listed = self.client.listed_tools() or found
        self._lists["tools"] = [tool.definition for tool in listed]
        return found

    def fetch(self, kind: str, deadline: Deadline | None = None) -> list[Wire]:
        """All prompts, resources or resource templates, masked; none from a server that declares the capability but
        does not know the method. Raises as the methods of `MCPClient`.
        """
        client = self.client
        ask = {
            "prompts": client.list_prompts,
            "resources": client.list_resources,
            "resourceTemplates": client.list_resource_templates,
        }[kind]
        try:
            found, self.problems = ask(deadline), list(client.tool_problems)
        except PeerError as error:
            found, self.problems = [], [_unsupported(kind, error)]
        masker = self.masker()
        self._lists[kind] = [masker.definition(item) for item in found]
        return list(self._lists[kind])

    def keep(self, kind: str) -> None:
        """Cache the last list of a kind. Resources and their templates are one list there, with the freshness of the
        less fresh one.
        """
        kinds = [each for each, announced in ANNOUNCED.items() if announced == ANNOUNCED[kind]]
        if self._cache is None or not self._lists.keys() >= set(kinds):
            return
        methods = {each: method for method, each in KINDS.items()}
        items = [item for each in kinds for item in self._lists[each] if isinstance(item, dict)]
        if kind == "tools":
            # Including those that the entry excludes: its filter is applied when the cache is read.
            items = [self.masker().definition(item) for item in items]
        fresh = self.client.freshness.get(methods[kinds[0]])
        for each in kinds[1:]:
            fresh = fresh.with_page(self.client.freshness.get(methods[each])) if fresh is not None else None
        self._cache.keep_seen(items, ANNOUNCED[kind], fresh)


class CircuitBreaker:
    """Opens after `max_errors` consecutive errors, and then refuses every call.

    With `cool_down_seconds` it admits one trial that long after it has opened: a success closes it, an error restarts
    the cool-down, which doubles up to `longest_seconds`. Without, it stays open. The outcome of a call that was
    admitted before it opened is ignored. `errors` is the number of consecutive errors. Callers hold a lock.
    """

    def __init__(
        self,
        cool_down_seconds: float | None = None,
        *,
        longest_seconds: float = 0.0,
        max_errors: int = MAX_CONSECUTIVE_ERRORS,
    ) -> None:
        self.errors = 0
        self._cool_down_seconds = self._first_seconds = cool_down_seconds
        self._longest_seconds = longest_seconds
        self._max_errors = max_errors
        self._opened_at: float | None = None
        self._is_on_trial = False

    @property
    def is_open(self) -> bool:
        """Whether it has opened and not closed since, also during a trial."""
        return self._opened_at is not None

    def refuses(self, now: float) -> bool:
        """Whether a call at `now`, in seconds, would be refused."""
        if self._opened_at is None:
            return False
        if self._cool_down_seconds is None or self._is_on_trial:
            return True
        return now < self._opened_at + self._cool_down_seconds

    def admit(self, now: float) -> Admission:
        """Admit a call at `now`, in seconds, or refuse it. An admitted one ends with one of the three methods below."""
        if self._opened_at is None:
            return ADMITTED
        if self.refuses(now):
            return REFUSED
        self._is_on_trial = True
        return TRIAL

    def succeeded(self, admission: Admission) -> bool:
        """The call succeeded. Returns whether this closed the breaker."""
        closes = admission == TRIAL
        if closes:
            self._opened_at, self._is_on_trial, self._cool_down_seconds = None, False, self._first_seconds
        if self._opened_at is None:
            self.errors = 0
        return closes

    def failed(self, admission: Admission, now: float) -> bool:
        """The call failed at `now`, in seconds. Returns whether this opened the breaker."""
        if self._opened_at is not None:
            if admission == TRIAL:
                self._opened_at, self._is_on_trial = now, False
                seconds = self._cool_down_seconds or 0.0
                self._cool_down_seconds = max(seconds, min(seconds * 2, self._longest_seconds))
            return False
        self.errors += 1
        if self.errors < self._max_errors:
            return False
        self._opened_at = now
        return True

    def withdrawn(self, admission: Admission) -> None:
        """The call was cancelled, which is neither a success nor an error."""
        if admission == TRIAL:
            self._is_on_trial = False


def close_all(closes: Sequence[Callable[[], object]], name: str) -> None:
    """Call all functions at once, each in a thread of its own called `name`, and wait for them. One alone is called in
    this thread.
    """
    if len(closes) == 1:
        closes[0]()
        return
    threads = []
    for close in closes:
        thread = threading.Thread(target=close, name=name, daemon=True)
        try:
            thread.start()
        except RuntimeError:
            close()  # The interpreter is shutting down, and starts no more threads.
        else:
            threads.append(thread)
    for thread in threads:
        thread.join()


def unsupported(kind: str) -> str:
    """The problem of a server that declares a capability, but responds that the method for its list is unknown.

    It is not fatal: the server's other features can be used.
    """
    return f"it declares {kind}, and does not support {kind}/list"


def _unsupported(kind: str, error: PeerError) -> str:
    """Raises `error` if it has another cause."""
    if error.code != METHOD_NOT_FOUND:
        raise error
    return unsupported(kind)

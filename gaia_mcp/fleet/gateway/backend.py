"""One instance of a server behind a gateway: its client, which connects on first use, and its lists.

Its last errors are kept, because the gateway reports them in lists; an invalid entry is a server that always fails.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from gaia_mcp.client.mcp_client import MCPClient
from gaia_mcp.config.command import NOTHING, Command
from gaia_mcp.config.entries import ServerEntry
from gaia_mcp.config.targets import Remote, Target
from gaia_mcp.core.deadline import DEFAULT_TIMEOUT_SECONDS, LONGEST_REQUEST_SECONDS, Deadline
from gaia_mcp.core.errors import MCPError
from gaia_mcp.core.paths import cache_folder
from gaia_mcp.fleet import ANNOUNCED, TRIAL, CircuitBreaker, ServerInUse
from gaia_mcp.fleet.server_process import StderrLog
from gaia_mcp.protocol.envelope import LOG_LEVELS
from gaia_mcp.protocol.input_required import is_known_to_ask_by_result
from gaia_mcp.storage.server_cache import ServerCache
from gaia_mcp.text import one_line

if TYPE_CHECKING:
    from gaia_mcp.fleet.gateway.questions import ServerRequests

Wire = dict[str, Any]

# Backoff: after a failure a list is not requested again for this time, which doubles with each further failure.
FIRST_PAUSE_SECONDS = 5.0
LONGEST_PAUSE_SECONDS = 300.0
# A host allows its servers about two seconds to end before it kills them.
GRACE_SECONDS = 0.5


class Heard(NamedTuple):
    """Callbacks for a server's notifications, which must not block: a list has changed (its kind), a resource was
    updated (its URI), the server has connected, so that its instructions are known.
    """

    list_changed: Callable[[str], None]
    resource_updated: Callable[[str], None]
    connected: Callable[[], None]


class Backend:
    """An instance of the server of `entry`; for an invalid entry, `entry` is the error. `requests` answers its
    requests. `environment` is added to the environment of its process, which inherits from `environ`, by default this
    process's own; `headers` are added to those of requests to its URL.
    `use` returns the entry as it is to be used now, perhaps with a connection to a keeper that holds the server.
    `command` names the front in the stderr log, `show` is called with the server's output on stderr, and with `debug`
    every message is logged. The first backoff after an error takes `first_pause_seconds`.

    Safe to use from several threads.
    """

    def __init__(
        self,
        name: str,
        entry: ServerEntry | MCPError,
        heard: Heard,
        requests: ServerRequests,
        *,
        environment: Mapping[str, str] = NOTHING,
        environ: Mapping[str, str] | None = None,
        headers: Mapping[str, str] = NOTHING,
        use: Callable[[ServerEntry], ServerEntry] | None = None,
        command: str = "serve",
        show: Callable[[str, bytes], None] | None = None,
        debug: bool = False,
        first_pause_seconds: float = FIRST_PAUSE_SECONDS,
    ) -> None:
        self.name = name
        self.requests = requests
        # Whether lists are cached for later connections. What one caller is shown may be for that caller only.
        self.keeps_lists = False
        # The last lists, by kind; kept if the server fails later.
        self.lists: dict[str, list[Wire]] = {}
        # The last error of the connection, and of each kind of list.
        self.problem: MCPError | None = None
        self.list_problems: dict[str, MCPError] = {}
        self._server: ServerInUse | None = None
        self._heard = heard
        self._environment = environment
        self._environ = environ
        self._headers = dict(headers)
        self._use = use
        self._command = command
        self._show = show
        self._debug = debug
        self._first_pause_seconds = first_pause_seconds
        # Held to create the client, and to connect it.
        self._connecting = threading.Lock()
        self._is_closed = False
        self._fresh: set[str] = set()
        # Of what has failed, by the kind of the list; "" is the connection.
        self._breakers: dict[str, CircuitBreaker] = {}
        self._log_level: str | None = None
        self._subscribed: set[str] = set()
        # The kinds of lists that did not arrive in time; with "", it was not even connected then.
        self.late: set[str] = set()
        # What is raised in place of connecting.
        self._invalid = entry if isinstance(entry, MCPError) else None
        if isinstance(entry, MCPError):
            self.problem, entry = entry, ServerEntry(name, Command(""))
        self._entry = entry
        self._cache = ServerCache(cache_folder(), entry)

    def __repr__(self) -> str:
        return f"<Backend {self.name!r}>"

    @property
    def instructions(self) -> str:
        """The server's instructions, with secrets masked: the current ones, or those of the last connection."""
        server = self._server
        if server is not None and server.client.peer is not None:
            return server.masker().text(server.client.instructions)
        return self._cache.instructions()

    def declares(self, capability: str) -> bool:
        """Whether the server declares this capability; False while it is not connected."""
        return self._server is not None and capability in self._server.client.capabilities

    @property
    def has_connected(self) -> bool:
        """Whether it has been connected, or is being connected."""
        return self._server is not None

    @property
    def server(self) -> ServerInUse | None:
        """The server, once it has been connected or is being connected; None before."""
        return self._server

    @property
    def is_open(self) -> bool:
        """Whether it has been connected, and is not being connected for the first time."""
        return self._server is not None and self._server.was_open

    @property
    def has_subscriptions(self) -> bool:
        """Whether it is to notify about resources."""
        return bool(self._subscribed)

    def is_known_to_ask_by_result(self) -> bool:
        """Whether an earlier connection, of any process, has found that the server asks in its results."""
        return is_known_to_ask_by_result(self._cache.era())

    def uses(self, kind: str, name: str) -> bool:
        """Whether the entry's tool filter allows this name. Only tools are filtered."""
        tool_filter = self._entry.tool_filter
        return kind != "tools" or tool_filter is None or tool_filter.allows(name)

    def may_try(self, kind: str) -> bool:
        """Whether a list of this kind may be requested now: not for an invalid entry, nor during a backoff."""
        now = time.monotonic()
        is_refused = any(self._breakers[of].refuses(now) for of in ("", kind) if of in self._breakers)
        return self._invalid is None and not is_refused

    def problem_of(self, kind: str) -> MCPError | None:
        """The error of the connection or of this kind of list, or None."""
        return self.problem or self.list_problems.get(kind)

    def ready(self) -> ServerInUse:
        """The connected server. Raises `MCPError` if it cannot connect."""
        server = self._server
        if server is not None and server.is_ready:
            return server
        with self._connecting:
            try:
                if self._use is not None and server is not None and server.was_open and not server.is_ready:
                    # Meanwhile a keeper may have begun to hold it, or ceased.
                    server.close(GRACE_SECONDS)
                    self._server = None
                server = self._server = self._server or self._made()
                if self._is_closed:
                    server.close(GRACE_SECONDS)
                if not server.is_ready:
                    self._fresh.clear()
                    self._log_level = None
                    server.open()
            except MCPError as error:
                self.problem = self._failed("", error)
                raise self.problem from None
            self.problem = None
            self._breakers.pop("", None)
            self._cache.keep_instructions(self.instructions)
        self._heard.connected()
        return server

    def fetch(self, kind: str) -> list[Wire]:
        """The list of a kind; of tools, only those that the entry's filter allows. A server that sends `list_changed`
        notifications is asked again only after one.

        Raises `MCPError`.
        """
        server = self.ready()
        if kind in self._fresh:
            return self.lists[kind]
        # Before the request, so that a change during the request is not lost.
        declared = server.client.capabilities.get(ANNOUNCED[kind])
        if isinstance(declared, dict) and declared.get("listChanged") is True:
            self._fresh.add(kind)
        try:
            if kind == "tools":
                masker = server.masker()
                tools = server.fetch_tools(refresh=True)
                self.lists[kind] = [masker.definition(tool.definition) for tool in tools]
            else:
                self.lists[kind] = server.fetch(kind)
        except MCPError as error:
            self._fresh.discard(kind)
            self.list_problems[kind] = told = self._failed(kind, error)
            raise told from None
        self.list_problems.pop(kind, None)
        self._breakers.pop(kind, None)
        if self.keeps_lists:
            server.keep(kind)
        return self.lists[kind]

    def recall(self, kind: str) -> None:
        """Use the cached list of a kind until the server has answered, if there is one."""
        if kind in self.lists:
            return
        is_template = kind == "resourceTemplates"
        items = self._cache.seen("resources" if is_template else kind)
        if items is not None and kind in ("resources", "resourceTemplates"):
            items = [item for item in items if ("uriTemplate" in item) == is_template]
        if items is not None:
            self.lists.setdefault(kind, items)

    def subscribe(self, uri: str) -> None:
        """Subscribe to a resource. Raises `MCPError` if the server refuses."""
        self.ready().client.subscribe_resource(uri)
        self._subscribed.add(uri)

    def unsubscribe(self, uri: str) -> None:
        """Unsubscribe from a resource, if the server is connected. Errors are ignored."""
        self._subscribed.discard(uri)
        if self._server is not None and self._server.is_ready:
            with suppress(MCPError):
                self._server.client.unsubscribe_resource(uri)

    def want_logs(self, client: MCPClient, level: str | None) -> None:
        """Lower the server's log level to `level`, if it is higher or not set: the level applies to all its calls."""
        known = self._log_level
        if level is None or (known is not None and LOG_LEVELS.index(known) <= LOG_LEVELS.index(level)):
            return
        self._log_level = level
        with suppress(MCPError):  # If the connection is broken, the request that follows fails too.
            client.set_log_level(level)

    def deadline(self) -> Deadline:
        """The deadline of a forwarded request: the timeout of the entry, or the longest that a request may take. The
        client cancels a request when it does not want to wait longer.
        """
        longest = LONGEST_REQUEST_SECONDS
        return Deadline(self._entry.request_seconds(longest) if self.has_timeout else longest, ceiling=longest)

    @property
    def has_timeout(self) -> bool:
        """Whether the entry has a timeout."""
        return self._entry.timeout is not None

    def explained(self, error: MCPError) -> MCPError:
        """The error, with the secrets that the server was given masked."""
        # Without a server, its entry could not be resolved.
        told = self._server.explained(error) if self._server is not None else error
        told.message = one_line(told.message, 1000)
        told.args = (told.message,)
        return told

    def set_header(self, name: str, value: str) -> None:
        """Send this header with all further requests, if the server is behind a URL."""
        self._headers[name] = value
        if self._server is not None and isinstance(self._entry.target, Remote):
            from gaia_mcp.client.transports.http.transport import HttpTransport

            transport = self._server.client.transport
            if not isinstance(transport, HttpTransport):
                return  # A keeper holds it.
            transport.headers[name] = value

    def close(self) -> None:
        """Stop the server. It cannot be used again. May be called twice."""
        self._is_closed = True
        if self._server is not None:
            self._server.close(GRACE_SECONDS)

    def _made(self) -> ServerInUse:
        if self._invalid is not None:
            raise self._invalid
        entry = self._entry if self._use is None else self._use(self._entry)
        shown = self._show
        show = None if shown is None else lambda lines: shown(self.name, lines)
        log = StderrLog(entry, self._command, lambda: client.masker(), show)
        client = MCPClient.from_entry(
            entry._replace(target=self._with_additions(entry.target)),
            DEFAULT_TIMEOUT_SECONDS,
            self._debug,
            host=self.requests.host,
            environ=self._environ,
            # A keeper speaks the server's own revision.
            era_cache=self._cache if entry.held is None else None,
            on_stderr=log.hear,
            # A gateway serves many clients for a long time: its processor time counts for more than a few microseconds.
            busy_polls=False,
        )
        client.on_list_changed = self._changed
        client.on_resource_updated = self._heard.resource_updated
        return ServerInUse(client, entry, self._cache, log)

    def _with_additions(self, target: Target) -> Target:
        if isinstance(target, Remote):
            return target._replace(headers={**target.headers, **self._headers})
        return target._replace(env={**target.env, **self._environment})

    def _changed(self, kind: str) -> None:
        self._fresh.difference_update([each for each, announced in ANNOUNCED.items() if announced == kind])
        self._heard.list_changed(kind)

    def _failed(self, kind: str, error: MCPError) -> MCPError:
        """The error, explained and masked. Starts or extends the backoff."""
        told = self.explained(error)
        breaker = self._breakers.setdefault(
            kind, CircuitBreaker(self._first_pause_seconds, longest_seconds=LONGEST_PAUSE_SECONDS, max_errors=1)
        )
        breaker.failed(TRIAL, time.monotonic())
        return told

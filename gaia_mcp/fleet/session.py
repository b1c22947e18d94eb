"""A server in use by a front: its features, each with the deadline of the command, and its changes.

The lists are cached for programs that do not connect: TAB completion, `search`, `show`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from gaia_mcp.client.host import Elicit, Host, OnLog, Roots, Sample
from gaia_mcp.client.mcp_client import MCPClient
from gaia_mcp.client.transports.base import UNLISTED as UNLISTED
from gaia_mcp.core.deadline import DEFAULT_TIMEOUT_SECONDS, IMPATIENT_GRACE_SECONDS, Deadline
from gaia_mcp.core.errors import MCPError, PeerError, ToolUnknownError
from gaia_mcp.core.names import did_you_mean
from gaia_mcp.core.paths import cache_folder
from gaia_mcp.fleet import Observer, ServerInUse
from gaia_mcp.fleet.server_process import Prestarted, StderrLog
from gaia_mcp.protocol.events import Change, ListChanged, NotGranted, Peer, ResourceUpdated, SubscriptionEnded
from gaia_mcp.storage.server_cache import ServerCache
from gaia_mcp.text import one_line

if TYPE_CHECKING:
    from gaia_mcp.client.conversation.pipelining import Pipeline as Pipeline
    from gaia_mcp.client.tools import Completion, MCPTool
    from gaia_mcp.client.transports.base import OnProgress
    from gaia_mcp.client.transports.stdio.child import Stopped
    from gaia_mcp.config.entries import ServerEntry
    from gaia_mcp.fleet.process_usage import Usage


# All requests have been answered: the user should not wait longer for a server that ignores the end of its input.
GRACE_SECONDS = 1.0
# The user should not wait longer for a list that only the next TAB completion needs.
SETTLE_SECONDS = 1.0
# A batch of calls may have any number of errors; the first ones are reported.
MAX_FAILURES = 100


class Answerers(NamedTuple):
    """The functions that answer the requests of a server, as for a `Host`. The requests are masked first."""

    elicit: Elicit | None = None
    roots: Roots = ()
    sample: Sample | None = None


class Session(ServerInUse):
    """The server of `entry`, used by `observer`. All requests share `deadline`; without one, or also with
    `keeps_timeout`, each request has the timeout of the entry.

    `answerers` answer the server's requests; `on_log` is called with its log messages. `prestarted` is used as the
    server's process if it was started for this very entry.

    Every request raises errors of `core.errors`: `ConnectError`, `DeadlineError`, `ProtocolError`, in particular
    `PeerError` for an error response, and `NotSupportedError` if the server does not declare the capability. A request
    reconnects if the connection has ended since the previous one. May be used from several threads.

    Raises `EntryError` and `VariableUnsetError`.
    """

    entry: ServerEntry
    _cache: ServerCache
    _stderr_log: StderrLog

    def __init__(
        self,
        entry: ServerEntry,
        observer: Observer,
        *,
        deadline: Deadline | None = None,
        keeps_timeout: bool = False,
        answerers: Answerers = Answerers(),  # noqa: B008 (it cannot be changed)
        on_log: OnLog | None = None,
        prestarted: Prestarted | None = None,
    ) -> None:
        self._deadline = deadline
        self._keeps_timeout = keeps_timeout
        self._on_change: Callable[[Change], None] | None = None
        # Whether the tools were cached, or requested, and whether they have changed since.
        self._knew_tools = self._have_changed = False
        # The first errors with which the use of the server has failed.
        self._failures: list[PeerError] = []
        ahead = prestarted if prestarted is not None and prestarted.entry == entry else None
        show = (lambda lines: observer.stderr(entry.name, lines)) if observer.debug else None
        log = ahead.stderr_log if ahead is not None else StderrLog(entry, observer.command, self.masker, show)
        cache = ServerCache(cache_folder(), entry)
        is_held = entry.held is not None
        client = MCPClient.from_entry(
            entry,
            deadline.seconds if deadline is not None else DEFAULT_TIMEOUT_SECONDS,
            observer.debug,
            host=Host(
                elicit=self._masking(answerers.elicit),
                roots=answerers.roots,
                sample=self._masking(answerers.sample),
                on_log=on_log,
            ),
            # The keeper supports both eras, whatever the server does.
            era_cache=None if is_held else cache,
            on_stderr=log.hear,
            started=(ahead.command, ahead.child) if ahead is not None else None,
        )
        super().__init__(client, entry, cache, log)

    def __repr__(self) -> str:
        return f"<Session with {self.entry.name!r}>"

    # The connection.

    def start(self) -> None:
        """Start the server without sending it anything. Raises `SpawnError`."""
        self.client.start()

    def open(self, deadline: Deadline | None = None) -> Peer:
        """As `ServerInUse.open`, within the deadline of the session."""
        peer = super().open(deadline or self._time())
        # Only now: announcing changes may take a request, which must not delay connecting.
        self.client.on_list_changed = self._list_changed
        return peer

    @property
    def peer(self) -> Peer | None:
        """The server as it presented itself, masked; None while not connected."""
        peer = self.client.peer
        if peer is None:
            return None
        masker = self.masker()
        info, capabilities = masker.value(peer.info), masker.value(peer.capabilities)
        return peer._replace(info=info, capabilities=capabilities, instructions=masker.text(peer.instructions))

    @property
    def capabilities(self) -> dict[str, Any]:
        """The capabilities that the server declares; empty while not connected."""
        return self.client.capabilities

    def is_connected(self) -> bool:
        """Whether the connection is open."""
        return self.client.is_connected()

    def stay_disconnected(self) -> None:
        """From now on a connection that is lost is not replaced: the next request raises `NotConnectedError`."""
        self.client.engine.forget()

    def check_alive(self, *, reconnects: bool = True) -> None:
        """Check that the server responds. Without `reconnects` raises why the connection has ended."""
        if reconnects and self.entry.held is not None:
            self.entry.held.check(self._time() or self.client.deadline())
        else:
            self.client.check_alive(self._time(), reconnects=reconnects)

    def restart(self) -> None:
        """Stop the server, and connect to it again. Raises as `open` does."""
        self.client.close(IMPATIENT_GRACE_SECONDS)
        self.open()

    def close(self, grace_seconds: float = GRACE_SECONDS) -> Stopped | None:
        """Stop the server for good, as `ServerInUse.close`."""
        stopped = super().close(grace_seconds)
        # Not before: stderr that it wrote along with its response may be read later.
        for failure in self._failures:
            failure.is_logged = self._stderr_log.has_begun
        return stopped

    def explained(self, error: MCPError) -> MCPError:
        """As `ServerInUse.explained`. Whether the server has written a log is known once it is closed."""
        told = super().explained(error)
        if isinstance(told, PeerError) and len(self._failures) < MAX_FAILURES:
            self._failures.append(told)
        return told

    # The features of the server.

    def find_tool(self, name: str) -> MCPTool | None:
        """The tool of that name, unmasked, without reading more pages than needed; None if the server has none. Apply
        `masked_tool` before it is shown.

        Raises `ToolExcludedError` for one that the entry excludes.
        """
        return self.client.find_tool(name, self._time())

    def tools(self, deadline: Deadline | None = None) -> list[MCPTool]:
        """All tools, masked; none from a server without tools. They are cached for programs that do not connect."""
        # Before the request: a list that changes during it is requested again.
        self._knew_tools, self._have_changed = True, False
        found = self.fetch_tools(deadline or self._time(), logs_problems=False)
        self.keep("tools")
        return [self.masked_tool(tool) for tool in found]

    def masked_tool(self, tool: MCPTool) -> MCPTool:
        """A tool whose definition contains none of the server's secrets, except in the names needed to call it."""
        definition = self.masker().definition(tool.definition)
        if definition is tool.definition:
            return tool
        from gaia_mcp.client.tools import read_tools

        return read_tools([definition], trusts_hints=tool.trusts_hints)[0][0]

    def call(
        self,
        tool: str,
        arguments: dict[str, Any],
        *,
        on_progress: OnProgress | None = None,
        deadline: Deadline | None = None,
    ) -> dict[str, Any]:
        """The tool's result as the server sent it, even if it reports a failure (`isError`). A call that may have been
        sent is never sent again. The structured content is not validated. It may have a `deadline` of its own.
        """
        return self.client.call_unchecked(tool, arguments, deadline or self._time(), on_progress=on_progress)

    def calls(self, tool: str, arguments: dict[str, Any], at_once: int) -> Pipeline | None:
        """The same call many times on the open connection, `at_once` of them by one thread, each with a deadline as
        that of `call`; None where each call needs a thread.
        """
        return self.client.engine.pipeline("tools/call", {"name": tool, "arguments": arguments}, at_once, self._time)

    def prompts(self) -> list[dict[str, Any]]:
        """All prompts, masked. They are cached, as the tools are."""
        found = self.fetch("prompts", self._time())
        self.keep("prompts")
        return found

    def prompt(self, name: str, arguments: Mapping[str, str]) -> dict[str, Any]:
        """A prompt filled with `arguments`: `messages` with `role` and `content`."""
        return self.client.get_prompt(name, arguments, self._time())

    def resources(self) -> list[dict[str, Any]]:
        """All resources, masked, without templates."""
        return self.fetch("resources", self._time())

    def resources_and_templates(self) -> list[dict[str, Any]]:
        """All resources, then all resource templates. They are cached, as the tools are."""
        found, problems = self.resources(), self.problems
        found += self.fetch("resourceTemplates", self._time())
        self.problems = [*problems, *self.problems]
        self.keep("resources")
        return found

    def read(self, uri: str) -> dict[str, Any]:
        """A resource: `contents`, each with its `uri` and either `text` or `blob`, which is base64."""
        return self.client.read_resource(uri, self._time())

    def complete(
        self, reference: dict[str, str], argument: str, value: str, arguments: Mapping[str, str] | None = None
    ) -> Completion:
        """The completions of `value`, the beginning of `argument`. `reference` is that of the specification,
        `{"type": "ref/prompt", "name": …}` or `{"type": "ref/resource", "uri": …}`; `arguments` are the other
        arguments that are already known.
        """
        return self.client.complete(reference, argument, value, arguments, self._time())

    def listed(self, method: str) -> list[Any]:
        """The items of one of the paged lists as the server sent them, unchecked."""
        found = list(self.client.items(method, self._time()))
        self.problems = list(self.client.tool_problems)
        return found

    # Notifications of the server.

    def watch(self, on_change: Callable[[Change], None]) -> None:
        """Call `on_change` with every change that the server announces from now on. It is called on the thread that
        reads, so it must not send requests to the server.
        """
        self._on_change = on_change
        self.client.on_resource_updated = lambda uri: on_change(ResourceUpdated(uri))
        self.client.on_subscription_ended = lambda uri: on_change(SubscriptionEnded(uri))
        self.client.on_not_granted = lambda kind: on_change(NotGranted(kind))

    def subscribe(self, uri: str) -> None:
        """Subscribe to changes of a resource, also after the server has been restarted."""
        deadline = self._time() or self.client.deadline()
        if self.entry.held is not None:
            self.entry.held.check(deadline, uri)
        self.client.subscribe_resource(uri, deadline)

    def set_log_level(self, level: str) -> None:
        """Request log messages from `level` upwards, if the server declares logging. Raises `LocalProtocolError` for an
        unknown level.
        """
        self.client.set_log_level(level, self._time())

    # Available without a request.

    def stderr_tail(self) -> str:
        """The end of the server's stderr so far, without secrets."""
        return self.client.stderr_tail()

    def last_line(self) -> str:
        """The last line of the server's stderr so far, without secrets."""
        return one_line(self.stderr_tail().rstrip().rpartition("\n")[2])

    def noise(self) -> str:
        """A description of the server's output that is not MCP; empty if there is none."""
        return self.client.host.noise(self.output)

    @property
    def noise_count(self) -> int:
        """How many parts of that output have been kept so far."""
        return len(self.client.host.strays) + len(self.client.host.breaches)

    @property
    def output(self) -> str:
        """Where the server writes its messages: `stdout`, or empty for a server behind a URL."""
        return "" if self.entry.is_remote else "stdout"

    def usage(self) -> Usage | None:
        """The memory and the processor time of the server's processes; None if they are not known."""
        from gaia_mcp.fleet.process_usage import usage_of

        pid = getattr(self.client.transport, "pid", None)
        return usage_of(pid) if pid is not None else None

    def settle(self) -> None:
        """Update the cached tools, in a second at most.

        They are cached if a search for one has listed them all. They are requested again if they were known and have
        changed since: some servers create their tools only once they know their client.
        """
        if self.client.all_seen is not None:
            self._knew_tools = True
            if self._cache.seen() is None:
                self._lists["tools"] = self.client.all_seen
                self.keep("tools")
        if self._knew_tools and self._have_changed:
            with suppress(MCPError):
                self.tools(Deadline(SETTLE_SECONDS))

    def _time(self) -> Deadline:
        if self._deadline is None:
            return self.client.deadline()
        if self._keeps_timeout and self.client.timeout < self._deadline.remaining():
            return self._deadline.sooner(self.client.timeout)
        return self._deadline

    def _list_changed(self, kind: str) -> None:
        if kind == "tools":
            self._have_changed = True
            self._knew_tools |= self._cache.seen() is not None
        if self._on_change is not None:
            self._on_change(ListChanged(kind))

    def _masking(
        self, answer: Callable[[dict[str, Any]], dict[str, Any]] | None
    ) -> Callable[[dict[str, Any]], dict[str, Any]] | None:
        """`answer` with masked requests: they may contain the server's secrets."""
        return (lambda params: answer(self.masker().definition(params))) if answer is not None else None


@contextmanager
def connected(
    entry: ServerEntry,
    observer: Observer,
    *,
    deadline: Deadline | None = None,
    answerers: Answerers = Answerers(),  # noqa: B008 (it cannot be changed)
    on_log: OnLog | None = None,
    prestarted: Prestarted | None = None,
) -> Iterator[Session]:
    """An open session, which is always closed. Without `on_log` the observer gets the server's log messages. Output of
    the server to stdout that is not MCP is a remark at the end; after a failure it is part of the error.
    """
    name = entry.name
    if prestarted is None:
        entry = observer.held(entry)
    session = Session(
        entry,
        observer,
        deadline=deadline,
        answerers=answerers,
        on_log=on_log or (lambda level, _logger, data: observer.logged(name, level, data)),
        prestarted=prestarted,
    )
    observer.starting(name, session.last_line)
    grace = IMPATIENT_GRACE_SECONDS
    try:
        session.open()
        yield session
        session.settle()
        grace = GRACE_SECONDS
    except MCPError as error:
        told = session.explained(error)
        if told is error:
            raise
        raise told from error.__cause__
    finally:
        observer.stopping(name)
        session.close(grace)
    if noise := session.noise():
        observer.remark(f"server {name!r} wrote {noise}; report it to its author")


def unknown_tool(session: Session, name: str, known: Iterable[str]) -> ToolUnknownError:
    """The error for the tool `name`, which is not in `known`, the names that `session` listed last. It contains the
    reason if the server has the tool but it cannot be called, or no tools at all, else a suggestion of a similar name.
    """
    server, tool = session.entry.name, f"tool {name!r} "
    for problem in session.problems:
        if problem.startswith(f"{tool}is left out"):
            reason = f"it {problem.removeprefix(tool)}"
            return ToolUnknownError(server, name, reason=reason, suggestion="its author has to change that")
    if not (names := list(known)) and session.entry.tool_filter is None:
        return ToolUnknownError(server, name, reason="it lists no tools", case="no-tools")
    return ToolUnknownError(server, name, suggestion=did_you_mean(name, names))

"""One server in use: the complete interface for fronts.

It hides the client underneath, and caches the server's lists for programs that do not connect: TAB completion,
`search`, `show`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from gaia_mcp.client.host import Elicit, Host, OnLog, Roots, Sample
from gaia_mcp.client.mcp_client import MCPClient
from gaia_mcp.client.transports.base import UNLISTED as UNLISTED
from gaia_mcp.core.deadline import DEFAULT_TIMEOUT_SECONDS, IMPATIENT_GRACE_SECONDS, Deadline
from gaia_mcp.core.errors import MCPError, PeerError, ToolUnknownError
from gaia_mcp.core.names import did_you_mean
from gaia_mcp.core.paths import cache_folder
from gaia_mcp.fleet.server_process import StderrLog
from gaia_mcp.protocol.events import Change, ListChanged, NotGranted, Peer, ResourceUpdated, SubscriptionEnded
from gaia_mcp.protocol.jsonrpc import METHOD_NOT_FOUND
from gaia_mcp.storage.server_cache import ServerCache
from gaia_mcp.text.safe import one_line

if TYPE_CHECKING:
    from gaia_mcp.client.mcp_client import Completion
    from gaia_mcp.client.tools import MCPTool
    from gaia_mcp.client.transports.base import OnProgress
    from gaia_mcp.client.transports.stdio.child import Stopped
    from gaia_mcp.config.entries import ServerEntry
    from gaia_mcp.fleet import Observer
    from gaia_mcp.fleet.server_process import Prestarted
    from gaia_mcp.protocol.pagination import Freshness
    from gaia_mcp.text.redaction.masker import Masker


# All requests have been answered: the user should not wait longer for a server that ignores the end of its input.
GRACE_SECONDS = 1.0
# The user should not wait longer for a list that only the next TAB completion needs.
SETTLE_SECONDS = 1.0


class Answerers(NamedTuple):
    """The functions that answer the requests of a server, as for a `Host`. The requests are masked first."""

    elicit: Elicit | None = None
    roots: Roots = ()
    sample: Sample | None = None


class Session:
    """The server of `entry`, used by `observer`. All requests share `deadline`; without one, each request has the
    timeout of the entry.

    `answerers` answer the server's requests; `on_log` is called with its log messages. `prestarted` is used as the
    server's process if it was started for this very entry.

    Every request raises errors of `core.errors`: `ConnectError`, `DeadlineError`, `ProtocolError`, in particular
    `PeerError` for an error response, and `NotSupportedError` if the server does not declare the capability. A request
    reconnects if the connection has ended since the previous one. May be used from several threads.

    Raises `EntryError` and `VariableUnsetError`.
    """

    def __init__(
        self,
        entry: ServerEntry,
        observer: Observer,
        *,
        deadline: Deadline | None = None,
        answerers: Answerers = Answerers(),  # noqa: B008 (it cannot be changed)
        on_log: OnLog | None = None,
        prestarted: Prestarted | None = None,
    ) -> None:
        self.entry = entry
        # Messages about problems of the lists that were requested last.
        self.problems: list[str] = []
        self._deadline = deadline
        ahead = prestarted if prestarted is not None and prestarted.entry == entry else None
        self._stderr_log = ahead.stderr_log if ahead is not None else self._new_stderr_log(observer)
        cache = ServerCache(cache_folder(), entry)
        self._client = MCPClient.from_entry(
            entry,
            deadline.seconds if deadline is not None else DEFAULT_TIMEOUT_SECONDS,
            observer.debug,
            host=Host(
                elicit=self._masking(answerers.elicit),
                roots=answerers.roots,
                sample=self._masking(answerers.sample),
                on_log=on_log,
            ),
            era_cache=cache,
            on_stderr=self._stderr_log.hear,
            child=ahead.child if ahead is not None else None,
        )
        self._on_change: Callable[[Change], None] | None = None
        # The errors with which the use of the server has failed.
        self._failures: list[PeerError] = []
        self._remembered = Remembered(cache, lambda item: self.masker().definition(item))

    def __repr__(self) -> str:
        return f"<Session with {self.entry.name!r}>"

    # The connection.

    def start(self) -> None:
        """Start the server without sending it anything. Raises `SpawnError`."""
        self._client.start()

    def open(self) -> Peer:
        """Connect and agree on a version, also again after the connection has ended."""
        peer = self._client.open(self._deadline or Deadline(self._client.timeout))
        # Only now: announcing changes may take a request, which must not delay connecting.
        self._client.on_list_changed = self._list_changed
        return peer

    @property
    def peer(self) -> Peer | None:
        """The server as it presented itself, masked; None while not connected."""
        peer = self._client.peer
        if peer is None:
            return None
        masker = self.masker()
        info, capabilities = masker.value(peer.info), masker.value(peer.capabilities)
        return peer._replace(info=info, capabilities=capabilities, instructions=masker.text(peer.instructions))

    @property
    def capabilities(self) -> dict[str, Any]:
        """The capabilities that the server declares; empty while not connected."""
        return self._client.capabilities

    def is_connected(self) -> bool:
        """Whether the connection is open."""
        return self._client.is_connected()

    def check_alive(self, *, reconnects: bool = True) -> None:
        """Check that the server responds. Without `reconnects` raises why the connection has ended."""
        self._client.check_alive(self._time(), reconnects=reconnects)

    def close(self, grace_seconds: float = GRACE_SECONDS) -> Stopped | None:
        """Stop the server for good, with `grace_seconds` for each step. Returns how it ended, None if none was running.
        May be called twice.
        """
        # Some servers end a subscription with an error when their input ends. Changes from now on are ignored.
        self._client.on_list_changed = None
        stopped = self._client.close(grace_seconds)
        self._stderr_log.end(self._client.exit_status)
        # Not before: stderr that it wrote along with its response may be read later.
        for failure in self._failures:
            failure.is_logged = self._stderr_log.has_begun
        return stopped

    def explained(self, error: MCPError) -> MCPError:
        """The error to report for an error of this session, without the secrets that the server was given."""
        from gaia_mcp.fleet.server_process import explained

        told = explained(error, self.entry)
        masker = self.masker()
        told.message, told.hint = masker.text(told.message), masker.text(told.hint)
        told.args = (told.message,)
        # It may contain a part of a tool definition.
        told.facts = masker.value(told.facts)
        if isinstance(told, PeerError):
            self._failures.append(told)
        return told

    # The features of the server.

    def find_tool(self, name: str) -> MCPTool | None:
        """The tool of that name, unmasked, without reading more pages than needed; None if the server has none. Apply
        `masked_tool` before it is shown.

        Raises `ToolExcludedError` for one that the entry excludes.
        """
        return self._client.find_tool(name, self._time())

    def tools(self) -> list[MCPTool]:
        """All tools, masked; none from a server without tools. They are cached for programs that do not connect."""
        return [self.masked_tool(tool) for tool in self._tools(self._time())]

    def masked_tool(self, tool: MCPTool) -> MCPTool:
        """A tool whose definition contains none of the server's secrets, except in the names needed to call it."""
        definition = self.masker().definition(tool.definition)
        if definition is tool.definition:
            return tool
        from gaia_mcp.client.tools import read_tools

        return read_tools([definition], trusts_hints=tool.trusts_hints)[0][0]

    def call(self, tool: str, arguments: dict[str, Any], *, on_progress: OnProgress | None = None) -> dict[str, Any]:
        """The tool's result as the server sent it, even if it reports a failure (`isError`). A call that may have been
        sent is never sent again. The structured content is not validated.
        """
        return self._client.call_unchecked(tool, arguments, self._time(), on_progress=on_progress)

    def prompts(self) -> list[dict[str, Any]]:
        """All prompts, masked. They are cached, as the tools are."""
        self._remembered.asking("prompts")
        found = self._declared("prompts", self._client.list_prompts)
        self._remembered.keep("prompts", found, self._client.freshness.get("prompts/list"))
        return found

    def prompt(self, name: str, arguments: Mapping[str, str]) -> dict[str, Any]:
        """A prompt filled with `arguments`: `messages` with `role` and `content`."""
        return self._client.get_prompt(name, arguments, self._time())

    def resources(self) -> list[dict[str, Any]]:
        """All resources, masked, without templates."""
        return self._declared("resources", self._client.list_resources)

    def resources_and_templates(self) -> list[dict[str, Any]]:
        """All resources, then all resource templates. They are cached, as the tools are."""
        self._remembered.asking("resources")
        found, problems = self.resources(), self.problems
        found += self._masked(self._client.list_resource_templates(self._time()))
        self.problems = [*problems, *self._client.tool_problems]
        # Both are one list in the cache, with the freshness of the less fresh one.
        fresh = self._client.freshness.get("resources/list")
        if fresh is not None:
            fresh = fresh.with_page(self._client.freshness.get("resources/templates/list"))
        self._remembered.keep("resources", found, fresh)
        return found

    def read(self, uri: str) -> dict[str, Any]:
        """A resource: `contents`, each with its `uri` and either `text` or `blob`, which is base64."""
        return self._client.read_resource(uri, self._time())

    def complete(
        self, reference: dict[str, str], argument: str, value: str, arguments: Mapping[str, str] | None = None
    ) -> Completion:
        """The completions of `value`, the beginning of `argument`. `reference` is that of the specification,
        `{"type": "ref/prompt", "name": …}` or `{"type": "ref/resource", "uri": …}`; `arguments` are the other
        arguments that are already known.
        """
        return self._client.complete(reference, argument, value, arguments, self._time())

    def listed(self, method: str) -> list[Any]:
        """The items of one of the paged lists as the server sent them, unchecked."""
        found = list(self._client.items(method, self._time()))
        self.problems = list(self._client.tool_problems)
        return found

    # Notifications of the server.

    def watch(self, on_change: Callable[[Change], None]) -> None:
        """Call `on_change` with every change that the server announces from now on. It is called on the thread that
        reads, so it must not send requests to the server.
        """
        self._on_change = on_change
        self._client.on_resource_updated = lambda uri: on_change(ResourceUpdated(uri))
        self._client.on_subscription_ended = lambda uri: on_change(SubscriptionEnded(uri))
        self._client.on_not_granted = lambda kind: on_change(NotGranted(kind))

    def subscribe(self, uri: str) -> None:
        """Subscribe to changes of a resource, also after the server has been restarted."""
        self._client.subscribe_resource(uri, self._time())

    def set_log_level(self, level: str) -> None:
        """Request log messages from `level` upwards, if the server declares logging. Raises `LocalProtocolError` for an
        unknown level.
        """
        self._client.set_log_level(level, self._time())

    # Available without a request.

    def masker(self) -> Masker:
        """A masker for the secrets that were passed to the server."""
        return self._client.masker()

    def stderr_tail(self) -> str:
        """The end of the server's stderr so far, without secrets."""
        return self._client.stderr_tail()

    def last_line(self) -> str:
        """The last line of the server's stderr so far, without secrets."""
        return one_line(self.stderr_tail().rstrip().rpartition("\n")[2])

    def noise(self) -> str:
        """A description of the server's output that is not MCP; empty if there is none."""
        return self._client.host.noise(self.output)

    @property
    def output(self) -> str:
        """Where the server writes its messages: `stdout`, or empty for a server behind a URL."""
        return "" if self.entry.is_remote else "stdout"

    def settle(self) -> None:
        """Update the cached tools, in a second at most.

        They are cached if a search for one has listed them all. They are requested again if they were known and have
        changed since: some servers create their tools only once they know their client.
        """
        if self._client.all_seen is not None:
            self._remembered.keep_new(self._client.all_seen, self._client.freshness.get("tools/list"))
        if self._remembered.lacks_tools:
            with suppress(MCPError):
                self._tools(Deadline(SETTLE_SECONDS))

    def _time(self) -> Deadline:
        return self._deadline or self._client.deadline()

    def _tools(self, deadline: Deadline) -> list[MCPTool]:
        found: list[MCPTool] = []
        listed: list[MCPTool] = []
        self._remembered.asking("tools")
        problems: list[str] = []
        try:
            found = self._client.fetch_tools(deadline, logs_problems=False)
            # Another thread may have closed the session meanwhile.
            listed = self._client.listed_tools() or found
        except PeerError as error:
            # Some servers do not declare their tools, so all are asked; those without tools may respond with an error.
            if self.peer is None or "tools" in self.capabilities:
                problems = [_unsupported("tools", error)]
        self.problems = [*self._client.tool_problems, *problems]
        # Including the tools that the entry excludes: it may change, and its filter is applied when the cache is read.
        fresh = self._client.freshness.get("tools/list")
        self._remembered.keep("tools", [tool.definition for tool in listed], fresh)
        return found

    def _declared(self, kind: str, ask: Callable[[Deadline], list[dict[str, Any]]]) -> list[dict[str, Any]]:
        """The items of a list, masked; none from a server that declares the capability but does not know the method."""
        try:
            found = self._masked(ask(self._time()))
        except PeerError as error:
            found, self.problems = [], [_unsupported(kind, error)]
        else:
            self.problems = list(self._client.tool_problems)
        return found

    def _masked(self, definitions: Sequence[Any]) -> list[Any]:
        return [self.masker().definition(each) for each in definitions]

    def _list_changed(self, kind: str) -> None:
        self._remembered.changed(kind)
        if self._on_change is not None:
            self._on_change(ListChanged(kind))

    def _masking(
        self, answer: Callable[[dict[str, Any]], dict[str, Any]] | None
    ) -> Callable[[dict[str, Any]], dict[str, Any]] | None:
        """`answer` with masked requests: they may contain the server's secrets."""
        return (lambda params: answer(self.masker().definition(params))) if answer is not None else None

    def _new_stderr_log(self, observer: Observer) -> StderrLog:
        name = self.entry.name
        show = (lambda lines: observer.stderr(name, lines)) if observer.debug else None
        return StderrLog(self.entry, observer.command, self.masker, show)


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


class Remembered:
    """The lists of one server: "tools", "prompts" and "resources". A list stays until it is replaced, even after the
    server has announced a change: most of it is still correct. Each item is `masked` before it is written.
    """

    def __init__(self, cache: ServerCache, masked: Callable[[dict[str, Any]], dict[str, Any]] = dict) -> None:
        self._cache = cache
        self._masked = masked
        # The kinds of lists that have changed since they were requested.
        self._changed: set[str] = set()
        # Whether the tools were cached, or requested.
        self._knew_tools = False

    def asking(self, kind: str) -> None:
        """The list is being requested."""
        self._knew_tools |= kind == "tools"
        self._changed.discard(kind)

    def keep(self, kind: str, items: Sequence[Any], freshness: Freshness | None = None) -> None:
        """Cache the items of a list, with their freshness, in place of earlier ones."""
        self._cache.keep_seen([self._masked(item) for item in items if isinstance(item, dict)], kind, freshness)

    def keep_new(self, tools: Sequence[Any], freshness: Freshness | None = None) -> None:
        """Cache the tools unless some are cached already."""
        self._knew_tools = True
        if self._cache.seen() is None:
            self.keep("tools", tools, freshness)

    def changed(self, kind: str) -> None:
        """The server has announced that the list has changed."""
        self._changed.add(kind)
        self._knew_tools |= kind == "tools" and self._cache.seen() is not None

    @property
    def lacks_tools(self) -> bool:
        """Whether the known tools have changed, and have not been requested since."""
        return self._knew_tools and "tools" in self._changed


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

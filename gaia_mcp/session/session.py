"""One server in use, with everything that a front may ask of it. Nothing of the client under it shows through."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from gaia_mcp.client.host import Elicit, Host, OnLog, Roots, Sample
from gaia_mcp.client.mcp_client import MCPClient
from gaia_mcp.client.transports.base import UNLISTED as UNLISTED
from gaia_mcp.deadline import DEFAULT_TIMEOUT_SECONDS, IMPATIENT_GRACE_SECONDS, Deadline
from gaia_mcp.errors import MCPError, PeerError
from gaia_mcp.paths import cache_folder
from gaia_mcp.protocol.events import Change, ListChanged, NotGranted, Peer, ResourceUpdated, SubscriptionEnded
from gaia_mcp.protocol.jsonrpc import METHOD_NOT_FOUND
from gaia_mcp.safetext import one_line
from gaia_mcp.session.remembered import Remembered
from gaia_mcp.session.stderr_log import StderrLog
from gaia_mcp.storage.server_cache import ServerCache

if TYPE_CHECKING:
    from gaia_mcp.client.features import Completion
    from gaia_mcp.client.tool import MCPTool
    from gaia_mcp.client.transports.base import OnProgress
    from gaia_mcp.client.transports.stdio.child import Stopped
    from gaia_mcp.config.entries import ServerEntry
    from gaia_mcp.redaction.masker import Masker
    from gaia_mcp.session.observer import Observer
    from gaia_mcp.session.prestart import Prestarted


# A server that has answered everything and does not end with its input is not worth more of a person's time.
GRACE_SECONDS = 1.0
# What is only good for the next TAB is not worth more of a person's time either.
SETTLE_SECONDS = 1.0


class Answerers(NamedTuple):
    """What answers the requests of a server, as a `Host` has them. What it asks is masked before they see it."""

    elicit: Elicit | None = None
    roots: Roots = ()
    sample: Sample | None = None


class Session:
    """The server of `entry` while `observer` uses it. All requests share `deadline`; without one, each request has the
    time that the entry allows.

    `answerers` answer the server's requests; `on_log` is called with its log messages. `prestarted` is used as the
    server's process if it was started for this very entry.

    Every request raises what is in `gaia_mcp.errors`: `ConnectError`, `DeadlineError`, `ProtocolError`, among these
    `PeerError` for what the server refuses, and `NotOfferedError` where it does not declare the capability. A request
    connects again if the server has gone since the one before it. May be used from several threads.

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
        # What was wrong with the lists that were asked for last, in words.
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
        # What the use of the server has failed with.
        self._failures: list[PeerError] = []
        self._remembered = Remembered(cache, lambda item: self.masker().definition(item))

    def __repr__(self) -> str:
        return f"<Session with {self.entry.name!r}>"

    # The connection.

    def start(self) -> None:
        """Start the server, without a message to it yet. Raises `SpawnError`."""
        self._client.start()

    def open(self) -> Peer:
        """Connect and agree on a version, also again after the server has gone."""
        peer = self._client.open(self._deadline or Deadline(self._client.timeout))
        # Only now: some servers must be asked to announce changes, and connecting need not wait for that.
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
        """What the server declares; empty while not connected."""
        return self._client.capabilities

    def is_connected(self) -> bool:
        """Whether the server is there."""
        return self._client.is_connected()

    def check_alive(self, *, reconnects: bool = True) -> None:
        """Ask whether the server is there. Without `reconnects` raises why a server has gone."""
        self._client.check_alive(self._time(), reconnects=reconnects)

    def close(self, grace_seconds: float = GRACE_SECONDS) -> Stopped | None:
        """End the server for good, with `grace_seconds` for each step; how that went, None if nothing was running. May
        be called twice.
        """
        # Some end a subscription with an error when their input ends. Nothing that is announced from now on counts.
        self._client.on_list_changed = None
        stopped = self._client.close(grace_seconds)
        self._stderr_log.end(self._client.exit_status)
        # Not before: what it wrote with its answer may have been read later.
        for failure in self._failures:
            failure.is_logged = self._stderr_log.has_begun
        return stopped

    def explained(self, error: MCPError) -> MCPError:
        """What to report of an error that the use of the server has ended with, without what the server was given."""
        from gaia_mcp.session.served_agent import explained

        told = explained(error, self.entry)
        masker = self.masker()
        told.message, told.hint = masker.text(told.message), masker.text(told.hint)
        told.args = (told.message,)
        # A part of a definition may stand in it.
        told.facts = masker.value(told.facts)
        if isinstance(told, PeerError):
            self._failures.append(told)
        return told

    # What the server offers.

    def find_tool(self, name: str) -> MCPTool | None:
        """The tool of that name as it is, without reading more pages than needed; None if the server has none. What is
        shown of it is to be `masked_tool`.

        Raises `ToolExcludedError` for one that the entry excludes.
        """
        return self._client.find_tool(name, self._time())

    def tools(self) -> list[MCPTool]:
        """All tools, masked; none from a server that offers none. They are remembered for what does not connect."""
        return [self.masked_tool(tool) for tool in self._tools(self._time())]

    def masked_tool(self, tool: MCPTool) -> MCPTool:
        """A tool with a definition that does not repeat what the server was given, but for what it is called by."""
        definition = self.masker().definition(tool.definition)
        if definition is tool.definition:
            return tool
        from gaia_mcp.client.tool import read_tools

        return read_tools([definition], trusts_hints=tool.trusts_hints)[0][0]

    def call(self, tool: str, arguments: dict[str, Any], *, on_progress: OnProgress | None = None) -> dict[str, Any]:
        """The tool's result as the server sent it, also one that reports a failure (`isError`). A call that may have
        left is never sent again. Its structured content is not checked.
        """
        return self._client.call_unchecked(tool, arguments, self._time(), on_progress=on_progress)

    def prompts(self) -> list[dict[str, Any]]:
        """All prompts, masked. They are remembered as tools are."""
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
        """All resources, then all templates of resources. They are remembered as tools are."""
        self._remembered.asking("resources")
        found, problems = self.resources(), self.problems
        found += self._masked(self._client.list_resource_templates(self._time()))
        self.problems = [*problems, *self._client.tool_problems]
        # Both lists are one in the memory, as fresh as the older one.
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
        """What `value`, the beginning of `argument`, may become. `reference` is that of the specification,
        `{"type": "ref/prompt", "name": …}` or `{"type": "ref/resource", "uri": …}`; `arguments` are known already.
        """
        return self._client.complete(reference, argument, value, arguments, self._time())

    def listed(self, method: str) -> list[Any]:
        """The items of one of the paged lists as the server sent them, unchecked."""
        found = list(self._client.items(method, self._time()))
        self.problems = list(self._client.tool_problems)
        return found

    # What the server announces.

    def watch(self, on_change: Callable[[Change], None]) -> None:
        """Call `on_change` with every change that the server announces from now on. It is called where the server's
        answers are read, so it must not ask anything of the server.
        """
        self._on_change = on_change
        self._client.on_resource_updated = lambda uri: on_change(ResourceUpdated(uri))
        self._client.on_subscription_ended = lambda uri: on_change(SubscriptionEnded(uri))
        self._client.on_not_granted = lambda kind: on_change(NotGranted(kind))

    def subscribe(self, uri: str) -> None:
        """Have changes of a resource announced, also after the server has been started again."""
        self._client.subscribe_resource(uri, self._time())

    def set_log_level(self, level: str) -> None:
        """Have log messages sent from `level` upwards, if the server has any. Raises `LocalProtocolError` for a level
        that does not exist.
        """
        self._client.set_log_level(level, self._time())

    # What is known of it without asking.

    def masker(self) -> Masker:
        """Masks what the server was given and must not be shown."""
        return self._client.masker()

    def stderr_tail(self) -> str:
        """The end of what the server has written to stderr so far, without its secrets."""
        return self._client.stderr_tail()

    def last_line(self) -> str:
        """The last line that the server has written to stderr so far, without its secrets."""
        return one_line(self.stderr_tail().rstrip().rpartition("\n")[2])

    def noise(self) -> str:
        """What the server wrote to its stdout that is not MCP, in words; empty if nothing."""
        return self._client.host.noise()

    def settle(self) -> None:
        """Bring up to date what is remembered of the tools, in a second at most.

        They are remembered if a search for one has shown them all; and asked for once more if they were known and have
        changed since: some servers make up their tools only when they know their client.
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
            # Another thread may have ended the session meanwhile.
            listed = self._client.listed_tools() or found
        except PeerError as error:
            # Some forget to declare their tools, so all are asked; those that have none may answer with an error.
            if self.peer is None or "tools" in self.capabilities:
                problems = [_unsupported("tools", error)]
        self.problems = [*self._client.tool_problems, *problems]
        # Also what the entry excludes: it may be changed, and the cache is read through its filter.
        fresh = self._client.freshness.get("tools/list")
        self._remembered.keep("tools", [tool.definition for tool in listed], fresh)
        return found

    def _declared(self, kind: str, ask: Callable[[Deadline], list[dict[str, Any]]]) -> list[dict[str, Any]]:
        """The items of a list, masked; none from a server that declares it and does not support it."""
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
        """`answer`, given the questions masked: they may repeat what the server was given."""
        return (lambda params: answer(self.masker().definition(params))) if answer is not None else None

    def _new_stderr_log(self, observer: Observer) -> StderrLog:
        name = self.entry.name
        show = (lambda lines: observer.stderr(name, lines)) if observer.debug else None
        return StderrLog(self.entry, observer.command, self.masker, show)


def unsupported(kind: str) -> str:
    """The problem of a server that declares a capability, and answers that it does not know the request for its list.

    It works without; what it has of the others can be used.
    """
    return f"it declares {kind}, and does not support {kind}/list"


def _unsupported(kind: str, error: PeerError) -> str:
    """Raises `error` if it is another one."""
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
    """A session that has been opened, and is closed whatever happens. Without `on_log` the observer is given the
    server's log messages. What the server wrote to stdout beside MCP is a remark at the end, unless something failed:
    then the error says so.
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

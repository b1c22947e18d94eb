"""`GatewayProvider`: configured servers as one provider."""

from __future__ import annotations

import operator
import threading
from collections import deque
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from gaia_mcp._version import __version__
from gaia_mcp.asking import Call, CallingClient
from gaia_mcp.config.command import NOTHING
from gaia_mcp.core.errors import MCPError
from gaia_mcp.fleet import KINDS, close_all
from gaia_mcp.fleet.gateway.backend import FIRST_PAUSE_SECONDS, Backend, Heard
from gaia_mcp.fleet.gateway.forwarding import Passing, UnknownResourceError, UnreachableError
from gaia_mcp.fleet.gateway.instances import BusyError, Instances, kind_of
from gaia_mcp.fleet.gateway.listing import PATIENCE_SECONDS, SETTLE_SECONDS, Following, Listing, Wanted, owners_of
from gaia_mcp.fleet.gateway.naming import Names, Owner, Prefix, prefixed_name, servers_of, unlisted
from gaia_mcp.fleet.gateway.questions import Declared, ServerRequests, passed_on
from gaia_mcp.protocol.envelope import FAILURE_KEY, TASKS_EXTENSION, UNAVAILABLE_KEY
from gaia_mcp.protocol.headers import GATEWAY_HEADER
from gaia_mcp.protocol.jsonrpc import INTERNAL_ERROR, METHOD_NOT_FOUND, RESOURCE_NOT_FOUND
from gaia_mcp.protocol.server import Description
from gaia_mcp.server.definitions import IDENTIFIERS, listed_item, page_of
from gaia_mcp.server.provider import (
    LISTS,
    Announcer,
    Change,
    Listener,
    Listeners,
    RequestError,
    Watched,
    method_not_found,
)

if TYPE_CHECKING:
    from gaia_mcp.config.entries import ServerEntry
    from gaia_mcp.server.http.gateway_marks import GatewayMarks

Wire = dict[str, Any]

# Declared before any server is connected, so it covers all capabilities that servers may have.
CAPABILITIES: Wire = {
    "tools": {"listChanged": True},
    "prompts": {"listChanged": True},
    "resources": {"subscribe": True, "listChanged": True},
    "completions": {},
    "logging": {},
    "extensions": {TASKS_EXTENSION: {}},
}
# Of so many problems of servers each is reported once, and others not at all.
MAX_REPORTED = 1000
_NOTHING_LISTED: list[Wire] = []
# Of so many callers with different lists the combined lists are kept.
_CALLERS_CACHED = 32


class GatewayProvider:
    """The servers of `entries`, by name; an invalid entry is the error.

    Each server is connected on first use. `prefix` determines when names get the server as a prefix. `report` is called
    with every problem of a server, `show` with the output of servers on stderr; `command` names the front in the stderr
    logs. `environment` is added to the environment of each server that is started, which inherits from `environ`, by
    default this process's own; variables of entries are expanded from it too. `use` is that of `Backend`. Requests to
    URLs carry the `marks`, by which a gateway detects that it is a server of itself. With `max_instances` it has
    several clients, and each server up to so many further instances for them; see `instances`. A list waits
    `patience_seconds` for slow servers, a call `settle_seconds` for subscriptions; a failed server is not tried for
    `first_pause_seconds`.
    """

    def __init__(
        self,
        entries: Mapping[str, ServerEntry | MCPError],
        *,
        prefix: Prefix = Prefix.CONFLICT,
        report: Callable[[str], None] = lambda _: None,
        show: Callable[[str, bytes], None] | None = None,
        environment: Mapping[str, str] = NOTHING,
        environ: Mapping[str, str] | None = None,
        marks: GatewayMarks | None = None,
        use: Callable[[ServerEntry], ServerEntry] | None = None,
        command: str = "serve",
        debug: bool = False,
        max_instances: int = 0,
        patience_seconds: float = PATIENCE_SECONDS,
        settle_seconds: float = SETTLE_SECONDS,
        first_pause_seconds: float = FIRST_PAUSE_SECONDS,
    ) -> None:
        # Of the single client, if it is one.
        self._declared = Declared({})
        self._prefix = prefix
        self._report = report
        self._reported: set[str] = set()
        self._listeners = Listeners()
        self._announcer = Announcer(self._listeners.announce, self._listeners)
        # The sessions of clients, by their ids.
        self._sessions: dict[str, _Session] = {}

        def instances_of(name: str, entry: ServerEntry | MCPError) -> Instances:
            def make(requests: ServerRequests, session: Callable[[], str | None]) -> Backend:
                return Backend(
                    name,
                    entry,
                    self._heard(session),
                    requests,
                    environment=environment,
                    environ=environ,
                    headers={GATEWAY_HEADER: marks.header} if marks is not None else NOTHING,
                    use=use,
                    command=command,
                    show=show,
                    debug=debug,
                    first_pause_seconds=first_pause_seconds,
                )

            is_shared = not isinstance(entry, MCPError) and entry.is_shared
            return Instances(name, make, self._declared, max_instances, is_shared=is_shared)

        self._instances_of = instances_of
        self._entries = dict(entries)
        # Replaced as a whole, never changed.
        self._servers = {name: instances_of(name, entry) for name, entry in entries.items()}
        if marks is not None:
            marks.on_change = lambda: self._set_header(GATEWAY_HEADER, marks.header)
        self._listing = Listing(lambda kind: self._announcer.announce(Change((kind,))), patience_seconds)
        self._passing = Passing(self._report_once)
        self._following = Following(self._wanted, self._subscribers, settle_seconds)
        self._listeners.on_change = self._following.look
        # Guards the lists below: those of several callers may differ.
        self._lock = threading.Lock()
        # By kind, the lists of the last callers, and the names that were made from them; and the combined lists.
        self._names: dict[str, deque[tuple[tuple[list[Wire] | None, ...], Names]]] = {}
        self._made: dict[str, deque[_Made]] = {}
        # The first owner that each name was listed for. A name is never used for another owner later.
        self._given: dict[str, dict[str, Owner]] = {"tools": {}, "prompts": {}}
        self._answers: dict[str, Callable[[Wire, Call], Wire]] = {
            "tools/call": self._call_tool,
            "prompts/get": self._get_prompt,
            "resources/read": self._read,
            "completion/complete": self._complete,
        }

    def describe(self) -> Description:
        """All capabilities, and the instructions of the servers that have been connected before."""
        known = [(name, instances.instructions) for name, instances in self._servers.items()]
        # Quoted, so that the text of one server cannot continue as that of another.
        instructions = "\n\n".join(f"# {name}\n\n{_quoted(text)}" for name, text in known if text)
        return Description({"name": "gaia-mcp", "version": __version__}, CAPABILITIES, instructions)

    def answer(self, method: str, params: Wire, call: Call) -> Wire:
        """The result of a request, from one server or from all. Raises as `Provider.answer`."""
        self._declared.add(call.client.capabilities)
        if (session := self._sessions.get(call.session or "")) is not None:
            session.capabilities = call.client.capabilities
        if (kind := KINDS.get(method)) is not None:
            return self._list(kind, params, call)
        if (answer := self._answers.get(method)) is None:
            raise method_not_found(method)
        return answer(params, call)

    def tool_owner(self, name: str) -> Owner | None:
        """The owner of the tool with this name, among the tools listed so far; None if it is unknown or ambiguous."""
        with self._lock:
            listed = [names for _, names in self._names.get("tools", ())]
        # Of the callers that have listed tools, the last one that has this name.
        owner = next(filter(None, (names.find(name) for names in reversed(listed))), None)
        return owner if owner is not None and self._given["tools"].get(name, owner) == owner else None

    def has_tool(self, server: str, name: str, call: Call) -> bool | None:
        """Whether the server lists a tool of this name; None if it lists no tools, or is no longer served. Fetches the
        list if that was not done before.
        """
        if (instances := self._servers.get(server)) is None:
            return None
        backend = instances.listed_by(call)
        if "tools" not in backend.lists:
            self._listing.ask("tools", call, [backend])
        return any(tool["name"] == name for tool in listed) if (listed := backend.lists.get("tools")) else None

    def name_of(self, server: str, tool: str, call: Call) -> str | None:
        """The name for calling this tool of this server, which may not exist; None if every name for it means another
        tool. Fetches the lists of servers that the name may belong to, if that was not done before.
        """
        owner = Owner(server, tool)
        wanted = prefixed_name(server, tool)
        self._ask("tools", call, servers_of(wanted, list(self._servers)))
        names = self._names_of("tools", self._seen_by(call))
        for name in (wanted, names.shown(owner)):
            if name is not None and self._meant("tools", name, names) in (owner, None):
                return name
        return None

    def on_change(self, listener: Listener, wanted: Container[str] = ()) -> Callable[[], None]:
        """Call `listener` after change notifications of servers, and when a slow server has responded. Returns a
        function that removes the listener.
        """
        remove = self._listeners.add(listener, wanted)
        if not isinstance(wanted, Watched) or (session_id := wanted.session) is None:
            return remove
        session = self._sessions[session_id] = _Session(session_id, listener, wanted)

        def end() -> None:
            remove()
            session.announcer.close()
            self._sessions.pop(session_id, None)
            for instances in self._servers.values():
                instances.end_session(session_id)

        return end

    def replace(self, entries: Mapping[str, ServerEntry | MCPError]) -> None:
        """Serve these servers from now on. Those whose entries have not changed stay as they are, the others are
        stopped; their running calls fail.
        """
        with self._lock:
            known, earlier = self._entries, self._servers
            self._entries = dict(entries)
            kept = {name for name, entry in entries.items() if name in known and _is_same(entry, known[name])}
            self._servers = {
                name: earlier[name] if name in kept else self._instances_of(name, entry)
                for name, entry in entries.items()
            }
            self._names.clear()
            self._made.clear()
            ended = [instances for name, instances in earlier.items() if name not in kept]
        self._announcer.announce(Change(LISTS, description=True))
        _close(ended)

    def close(self) -> None:
        """Stop all servers concurrently. May be called twice."""
        self._announcer.close()
        self._following.close()
        self._passing.close()
        _close(self._servers.values())

    def _heard(self, session: Callable[[], str | None]) -> Heard:
        """The callbacks of an instance, whose changes concern the given session only, or all callers."""

        def announce(change: Change) -> None:
            if (session_id := session()) is None:
                self._announcer.announce(change)
            elif (own := self._sessions.get(session_id)) is not None:
                own.announcer.announce(change)

        def connected() -> None:
            announce(Change(description=True))
            self._following.server_connected()

        return Heard(lambda kind: announce(Change((kind,))), lambda uri: announce(Change(uris=(uri,))), connected)

    def _set_header(self, name: str, value: str) -> None:
        for instances in self._servers.values():
            for backend in instances.all():
                backend.set_header(name, value)

    def _seen_by(self, call: Call) -> list[Backend]:
        """The instance of each server whose lists this caller gets."""
        kind = kind_of(call)
        return [instances.listed_by(call, kind) for instances in self._servers.values()]

    # Subscriptions.

    def _wanted(self) -> set[Wanted]:
        """The resources that clients have subscribed to, each with the session whose instances notify about it."""
        sessions = list(self._sessions.values())
        own = {(uri, each.id) for each in sessions if each.has_instances for uri in each.uris()}
        shared = self._listeners.uris(without=[each.wanted for each in sessions if each.has_instances])
        return own | {(uri, None) for uri in shared}

    def _subscribers(self, uri: str, session_id: str | None) -> Iterator[Backend]:
        """The instances to subscribe to a resource at, the most likely first."""
        session = self._sessions.get(session_id or "")
        call = session.call() if session is not None else Call()
        for instances in self._owners(uri, call):
            with suppress(BusyError):
                yield instances.owned_by(call)

    # Lists.

    def _list(self, kind: str, params: Wire, call: Call) -> Wire:
        backends = self._seen_by(call)
        answered = self._listing.ask(kind, call, backends)
        page = page_of(kind, self._items_of(kind, answered, backends), IDENTIFIERS[kind], params)
        if missing := self._missing(kind, answered, backends):
            for name, problem in missing.items():
                call.log("warning", f"server {name!r} is not available: {problem}")
            page["_meta"] = {UNAVAILABLE_KEY: missing}
        return page

    def _items_of(self, kind: str, answered: list[Backend], backends: list[Backend]) -> list[Wire]:
        """The items of the combined list of the servers that have answered, of these `backends`. Cached until a list or
        a name changes: a list may have thousands of items, and is requested page by page.
        """
        key = IDENTIFIERS[kind]
        names = self._names_of(kind, backends) if key == "name" else None
        lists = [(backend.name, backend.lists.get(kind, _NOTHING_LISTED)) for backend in answered]
        with self._lock:
            known = self._made.setdefault(kind, deque(maxlen=_CALLERS_CACHED))
            for made in known:
                if made.is_of(names, lists):
                    return made.items
        items: dict[str, Wire] = {}
        for server, listed in lists:
            for item in listed:
                if (shown := self._shown(kind, server, item, names)) is not None:
                    items.setdefault(shown[key], shown)
        made = _Made(names, lists, list(items.values()))
        with self._lock:
            known.append(made)
        return made.items

    def _shown(self, kind: str, server: str, item: Wire, names: Names | None) -> Wire | None:
        """The definition as it is listed; None if it cannot be, or another server hides it. A valid definition is
        unchanged except for its name.
        """
        valid = listed_item(kind, item, lambda problem: self._report_once(f"server {server!r}: {problem}"))
        if names is None or valid is None:
            return valid
        item = valid
        owner = Owner(server, item["name"])
        if (shown := names.shown(owner)) is None:
            self._report_once(f"server {server!r}: {owner.name!r} is hidden by an earlier server's")
            return None
        self._given[kind].setdefault(shown, owner)
        return item if shown == owner.name else {**item, "name": shown}

    def _missing(self, kind: str, answered: list[Backend], backends: list[Backend]) -> dict[str, str]:
        """The reasons why servers have no list of this kind, by server name."""
        missing = {}
        for backend in backends:
            name = backend.name
            if (problem := backend.problem_of(kind)) is not None:
                missing[name] = problem.message.removeprefix(f"server {name!r}").lstrip(": ")
                self._report_once(problem.message)
            elif backend not in answered:
                missing[name] = "it has not answered yet"
        return missing

    def _served(self, servers: Iterable[str]) -> list[Instances]:
        """Those of these servers that are served: `replace` may have come since they were named."""
        known = self._servers
        return [known[server] for server in servers if server in known]

    def _ask(self, kind: str, call: Call, servers: Iterable[str]) -> None:
        """Fetch the lists of these servers that have not been fetched before."""
        backends = [instances.listed_by(call) for instances in self._served(servers)]
        self._listing.ask(kind, call, [backend for backend in backends if kind not in backend.lists])

    def _names_of(self, kind: str, backends: list[Backend]) -> Names:
        lists = tuple(backend.lists.get(kind) for backend in backends)
        with self._lock:
            known = self._names.setdefault(kind, deque(maxlen=_CALLERS_CACHED))
            for made_of, names in known:
                if len(made_of) == len(lists) and all(map(operator.is_, lists, made_of)):
                    return names
            offered = {
                backend.name: [item["name"] for item in found or ()]
                for backend, found in zip(backends, lists, strict=True)
            }
            names = Names(offered, self._prefix)
            known.append((lists, names))
            return names

    def _find(self, kind: str, name: str, what: str, call: Call) -> Owner:
        """The owner that a name means. Raises `RequestError` if the name is unknown or ambiguous."""
        backends = self._seen_by(call)
        names = self._names_of(kind, backends)
        if names.find(name) is None:
            unknown = [backend.name for backend in backends if kind not in backend.lists]
            self._ask(kind, call, servers_of(name, unknown) or (unknown if self._prefix is not Prefix.ALWAYS else []))
            names = self._names_of(kind, backends)
        if (meant := self._meant(kind, name, names)) is not None:
            return meant
        if len(meanings := names.meanings(name)) > 1 or names.find(name) is not None:
            raise RequestError(f"Unknown {what}: {name}. Several servers have one: {', '.join(meanings)}")
        raise RequestError(f"Unknown {what}: {name}{''.join(_reasons(kind, backends))}")

    def _meant(self, kind: str, name: str, names: Names) -> Owner | None:
        """The owner that a name means, by the lists so far; None if the name is unknown or ambiguous."""
        if (owner := names.find(name)) is not None:
            return owner if self._given[kind].get(name, owner) == owner else None
        if len(names.meanings(name)) > 1 or (owner := unlisted(name, list(self._servers))) is None:
            return None
        instances = self._servers.get(owner.server)
        return owner if instances is not None and instances.shared.uses(kind, owner.name) else None

    # Requests of one server.

    def _call_tool(self, params: Wire, call: Call) -> Wire:
        if not isinstance(name := params.get("name"), str):
            raise RequestError("tools/call needs params.name, a string")
        owner = self._find("tools", name, "tool", call)
        try:
            return self._pass_on(owner.server, "tools/call", {**params, "name": owner.name}, call)
        except UnreachableError as problem:
            # A result, because a model can read it and use another tool.
            text = {"type": "text", "text": str(problem)}
            return {"content": [text], "isError": True, "_meta": {FAILURE_KEY: problem.failure}}

    def _get_prompt(self, params: Wire, call: Call) -> Wire:
        if not isinstance(name := params.get("name"), str):
            raise RequestError("prompts/get needs params.name, a string")
        owner = self._find("prompts", name, "prompt", call)
        return self._pass_on(owner.server, "prompts/get", {**params, "name": owner.name}, call)

    def _read(self, params: Wire, call: Call) -> Wire:
        if not isinstance(uri := params.get("uri"), str):
            raise RequestError("resources/read needs params.uri, a string")
        refusal = RequestError(f"Resource not found: {uri}", RESOURCE_NOT_FOUND, {"uri": uri})
        for instances in self._owners(uri, call):
            try:
                return self._pass_on(instances.name, "resources/read", params, call)
            except (UnknownResourceError, UnreachableError) as problem:
                refusal = problem
        raise refusal

    def _owners(self, uri: str, call: Call) -> list[Instances]:
        """The servers that may have a resource, the most likely first."""
        for kind in ("resources", "resourceTemplates"):
            self._ask(kind, call, self._servers)
        return self._served(backend.name for backend in owners_of(uri, self._seen_by(call)))

    def _complete(self, params: Wire, call: Call) -> Wire:
        reference = params.get("ref")
        reference = reference if isinstance(reference, dict) else {}
        if isinstance(name := reference.get("name"), str):
            owner = self._find("prompts", name, "prompt", call)
            server, reference = owner.server, {**reference, "name": owner.name}
        elif isinstance(uri := reference.get("uri"), str):
            owners = self._owners(uri, call)
            if not owners:
                raise RequestError(f"Unknown resource template: {uri}")
            server = owners[0].name
        else:
            raise RequestError("completion/complete needs params.ref, with the name of a prompt or a uri")
        try:
            return self._pass_on(server, "completion/complete", {**params, "ref": reference}, call)
        except RequestError as problem:
            if problem.code != METHOD_NOT_FOUND:
                raise
            # The gateway declares completions for all of its servers, but this one does not support them.
            return {"completion": {"values": []}}

    def _pass_on(self, server: str, method: str, params: Wire, call: Call) -> Wire:
        # Subscriptions that came before this request must cover the changes that it makes.
        self._following.settle()
        if (instances := self._servers.get(server)) is None:
            raise RequestError(f"server {server!r} is no longer configured", INTERNAL_ERROR)
        return self._passing.pass_on(instances, method, params, call)

    def _report_once(self, problem: str) -> None:
        # The texts are chosen by servers, which could fill the memory with new ones.
        if problem not in self._reported and len(self._reported) < MAX_REPORTED:
            self._reported.add(problem)
            self._report(problem)


class _Session:
    """A session of a client: its listener, and the capabilities of the client, as of its last request."""

    def __init__(self, session_id: str, listener: Listener, wanted: Watched) -> None:
        self.id = session_id
        self.wanted = wanted
        self.uris = wanted.uris
        self.capabilities: Mapping[str, Any] = {}
        # For the changes that concern this session only.
        self.announcer = Announcer(listener, wanted)

    @property
    def has_instances(self) -> bool:
        """Whether servers have instances for this session."""
        return bool(passed_on(self.capabilities))

    def call(self) -> Call:
        """A call in this session, for requests of our own."""
        call = Call()
        call.session = self.id
        call.client = CallingClient(capabilities=self.capabilities)
        return call


class _Made(NamedTuple):
    """The items of a combined list, and what they were made from: the names, and each server's list."""

    names: Names | None
    lists: list[tuple[str, list[Wire]]]
    items: list[Wire]

    def is_of(self, names: Names | None, lists: list[tuple[str, list[Wire]]]) -> bool:
        """Whether they were made from these objects, compared by identity."""
        return (
            names is self.names
            and len(lists) == len(self.lists)
            and all(one[0] == other[0] and one[1] is other[1] for one, other in zip(lists, self.lists, strict=True))
        )


def _reasons(kind: str, backends: list[Backend]) -> list[str]:
    """Why servers that may have an unknown name have not listed it, each as a further sentence."""
    reasons = []
    for backend in backends:
        if (problem := backend.problem_of(kind)) is not None:
            reasons.append(f". {problem.message}")
        elif kind in backend.late:
            reasons.append(f". server {backend.name!r} has not answered yet; try again later")
    return reasons


def _is_same(entry: ServerEntry | MCPError, other: ServerEntry | MCPError) -> bool:
    """Whether nothing has changed in the entry of a server."""
    if isinstance(entry, MCPError):
        return isinstance(other, MCPError) and other.message == entry.message
    return entry == other


def _close(servers: Iterable[Instances]) -> None:
    """Stop servers concurrently."""
    servers = list(servers)
    for instances in servers:
        instances.close()
    close_all([backend.close for instances in servers for backend in instances.all()], "close")


def _quoted(text: str) -> str:
    """The text as a quotation in Markdown."""
    return "\n".join(f"> {line}".rstrip() for line in text.splitlines())

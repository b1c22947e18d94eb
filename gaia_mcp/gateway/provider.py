"""`GatewayProvider`: configured servers as one provider."""

from __future__ import annotations

import threading
from collections.abc import Callable, Container, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from gaia_mcp._version import __version__
from gaia_mcp.config.command import NOTHING
from gaia_mcp.gateway.backend import FIRST_PAUSE_SECONDS, KINDS, Backend, Heard
from gaia_mcp.gateway.following import SETTLE_SECONDS, Following
from gaia_mcp.gateway.listing import PATIENCE_SECONDS, Listing
from gaia_mcp.gateway.naming import Names, Owner, Prefix, prefixed_name, servers_of, unlisted
from gaia_mcp.gateway.passing import Passing, UnknownResourceError, UnreachableError
from gaia_mcp.gateway.questions import Declared
from gaia_mcp.gateway.resources import owners_of
from gaia_mcp.protocol.envelope import FAILURE_KEY, TASKS_EXTENSION, UNAVAILABLE_KEY
from gaia_mcp.protocol.headers import GATEWAY_HEADER
from gaia_mcp.protocol.jsonrpc import METHOD_NOT_FOUND, RESOURCE_NOT_FOUND
from gaia_mcp.protocol.server import Description
from gaia_mcp.server.announcer import Announcer
from gaia_mcp.server.definitions import prompt_definitions, tool_definition
from gaia_mcp.server.pages import page_of
from gaia_mcp.server.provider import Change, Listener, Listeners, RequestError, method_not_found
from gaia_mcp.toolcall import Call

if TYPE_CHECKING:
    from gaia_mcp.config.entries import ServerEntry
    from gaia_mcp.errors import MCPError

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
_NOTHING_LISTED: list[Wire] = []
_IDENTIFIERS = {"tools": "name", "prompts": "name", "resources": "uri", "resourceTemplates": "uriTemplate"}


class GatewayProvider:
    """The servers of `entries`, by name; an invalid entry is the error.

    Each server is connected on first use. `prefix` determines when names get the server as a prefix. `report` is called
    with every problem of a server, `show` with the output of servers on stderr; `command` names the front in the stderr
    logs. `environment` is added to the environment of each server that is started. Requests to URLs carry `mark`, by
    which a gateway detects that it is a server of itself. With `declares_all` all client capabilities are declared to
    servers; otherwise those of the clients so far, when the server is connected. A list waits `patience_seconds` for
    slow servers, a call `settle_seconds` for subscriptions; a failed server is not tried for `first_pause_seconds`.
    """

    def __init__(
        self,
        entries: Mapping[str, ServerEntry | MCPError],
        *,
        prefix: Prefix = Prefix.CONFLICT,
        report: Callable[[str], None] = lambda _: None,
        show: Callable[[str, bytes], None] | None = None,
        environment: Mapping[str, str] = NOTHING,
        mark: str = "",
        command: str = "serve",
        debug: bool = False,
        declares_all: bool = False,
        patience_seconds: float = PATIENCE_SECONDS,
        settle_seconds: float = SETTLE_SECONDS,
        first_pause_seconds: float = FIRST_PAUSE_SECONDS,
    ) -> None:
        self._declared = Declared(is_all=declares_all)
        self._prefix = prefix
        self._report = report
        self._reported: set[str] = set()
        self._listeners = Listeners()
        self._announcer = Announcer(self._listeners.announce, self._listeners)
        heard = Heard(
            list_changed=lambda kind: self._announcer.announce(Change((kind,))),
            resource_updated=lambda uri: self._announcer.announce(Change(uris=(uri,))),
            connected=self._server_connected,
        )
        self._backends = {
            name: Backend(
                name,
                entry,
                heard,
                self._declared,
                environment=environment,
                headers={GATEWAY_HEADER: mark} if mark else NOTHING,
                command=command,
                show=show,
                debug=debug,
                first_pause_seconds=first_pause_seconds,
            )
            for name, entry in entries.items()
        }
        self._listing = Listing(tuple(self._backends.values()), heard.list_changed, patience_seconds)
        self._passing = Passing(self._report_once)
        self._following = Following(self._listeners.uris, lambda uri: self._owners(uri, Call()), settle_seconds)
        self._listeners.on_change = self._following.look
        # Guards `_names`: by kind, the lists that the names were made from, and the names.
        self._lock = threading.Lock()
        self._names: dict[str, tuple[tuple[list[Wire] | None, ...], Names]] = {}
        # The last list, by kind.
        self._made: dict[str, _Made] = {}
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
        known = [(name, backend.instructions) for name, backend in self._backends.items()]
        instructions = "\n\n".join(f"# {name}\n\n{text}" for name, text in known if text)
        return Description({"name": "gaia-mcp", "version": __version__}, CAPABILITIES, instructions)

    def answer(self, method: str, params: Wire, call: Call) -> Wire:
        """The result of a request, from one server or from all. Raises as `Provider.answer`."""
        self._declared.add(call.client.capabilities)
        if (kind := KINDS.get(method)) is not None:
            return self._list(kind, params, call)
        if (answer := self._answers.get(method)) is None:
            raise method_not_found(method)
        return answer(params, call)

    def tool_owner(self, name: str) -> Owner | None:
        """The owner of the tool with this name, among the tools listed so far; None if it is unknown or ambiguous."""
        owner = self._names_of("tools").find(name)
        return owner if owner is not None and self._given["tools"].get(name, owner) == owner else None

    def has_tool(self, server: str, name: str, call: Call) -> bool:
        """Whether the server lists a tool of this name. Fetches the list if that was not done before."""
        backend = self._backends[server]
        if "tools" not in backend.lists:
            self._listing.ask("tools", call, [backend])
        return any(tool["name"] == name for tool in backend.lists.get("tools", ()))

    def name_of(self, server: str, tool: str, call: Call) -> str | None:
        """The name for calling this tool of this server, which may not exist; None if every name for it means another
        tool. Fetches the lists of servers that the name may belong to, if that was not done before.
        """
        owner = Owner(server, tool)
        wanted = prefixed_name(server, tool)
        backends = [self._backends[name] for name in servers_of(wanted, list(self._backends))]
        self._listing.ask("tools", call, [backend for backend in backends if "tools" not in backend.lists])
        names = self._names_of("tools")
        for name in (wanted, names.shown(owner)):
            if name is not None and self._meant("tools", name, names) in (owner, None):
                return name
        return None

    def on_change(self, listener: Listener, wanted: Container[str] = ()) -> Callable[[], None]:
        """Call `listener` after change notifications of servers, and when a slow server has responded. Returns a
        function that removes the listener.
        """
        return self._listeners.add(listener, wanted)

    def close(self) -> None:
        """Stop all servers concurrently. May be called twice."""
        self._announcer.close()
        self._following.close()
        self._passing.close()
        closing = [
            threading.Thread(target=backend.close, name=f"close {name}", daemon=True)
            for name, backend in self._backends.items()
        ]
        for thread in closing:
            thread.start()
        for thread in closing:
            thread.join()

    def _server_connected(self) -> None:
        self._announcer.announce(Change(description=True))
        self._following.server_connected()

    # Lists.

    def _list(self, kind: str, params: Wire, call: Call) -> Wire:
        answered = self._listing.ask(kind, call)
        page = page_of(kind, self._items_of(kind, answered), _IDENTIFIERS[kind], params)
        if missing := self._missing(kind, answered):
            for name, problem in missing.items():
                call.log("warning", f"server {name!r} is not available: {problem}")
            page["_meta"] = {UNAVAILABLE_KEY: missing}
        return page

    def _items_of(self, kind: str, answered: list[Backend]) -> list[Wire]:
        """The items of the combined list of these servers. Cached until a list or a name changes: a list may have
        thousands of items, and is requested page by page.
        """
        key = _IDENTIFIERS[kind]
        names = self._names_of(kind) if key == "name" else None
        lists = [(backend.name, backend.lists.get(kind, _NOTHING_LISTED)) for backend in answered]
        made = self._made.get(kind)
        if made is not None and made.is_of(names, lists):
            return made.items
        items: dict[str, Wire] = {}
        for server, listed in lists:
            for item in listed:
                if (shown := self._shown(kind, server, item, names)) is not None:
                    items.setdefault(shown[key], shown)
        self._made[kind] = _Made(names, lists, list(items.values()))
        return self._made[kind].items

    def _shown(self, kind: str, server: str, item: Wire, names: Names | None) -> Wire | None:
        """The definition as it is listed; None if another server hides it. A valid definition is unchanged except for
        its name.
        """
        problems: list[str] = []
        if kind == "tools":
            completed = tool_definition(item, problems.append)
            item = completed if problems or _lacks_object(item) else item
        elif kind == "prompts":
            completed = prompt_definitions([item], problems.append)[0]
            item = completed if problems else item
        for problem in problems:
            self._report_once(f"server {server!r}: {problem}")
        if names is None:
            return item
        owner = Owner(server, item["name"])
        if (shown := names.shown(owner)) is None:
            self._report_once(f"server {server!r}: {owner.name!r} is hidden by an earlier server's")
            return None
        self._given[kind].setdefault(shown, owner)
        return item if shown == owner.name else {**item, "name": shown}

    def _missing(self, kind: str, answered: list[Backend]) -> dict[str, str]:
        """The reasons why servers have no list of this kind, by server name."""
        missing = {}
        for name, backend in self._backends.items():
            if (problem := backend.problem_of(kind)) is not None:
                missing[name] = problem.message.removeprefix(f"server {name!r}").lstrip(": ")
                self._report_once(problem.message)
            elif backend not in answered:
                missing[name] = "it has not answered yet"
        return missing

    def _names_of(self, kind: str) -> Names:
        lists = tuple(backend.lists.get(kind) for backend in self._backends.values())
        with self._lock:
            made_of, names = self._names.get(kind, ((), None))
            if names is None or any(one is not other for one, other in zip(lists, made_of, strict=True)):
                offered = {
                    name: [item["name"] for item in found or ()]
                    for name, found in zip(self._backends, lists, strict=True)
                }
                names = Names(offered, self._prefix)
                self._names[kind] = (lists, names)
            return names

    def _find(self, kind: str, name: str, what: str, call: Call) -> Owner:
        """The owner that a name means. Raises `RequestError` if the name is unknown or ambiguous."""
        names = self._names_of(kind)
        if names.find(name) is None:
            unknown = [server for server, backend in self._backends.items() if kind not in backend.lists]
            asked = servers_of(name, unknown) or (unknown if self._prefix is not Prefix.ALWAYS else [])
            self._listing.ask(kind, call, [self._backends[server] for server in asked])
            names = self._names_of(kind)
        if (meant := self._meant(kind, name, names)) is not None:
            return meant
        if len(meanings := names.meanings(name)) > 1 or names.find(name) is not None:
            raise RequestError(f"Unknown {what}: {name}. Several servers have one: {', '.join(meanings)}")
        missing = {server: backend.problem_of(kind) for server, backend in self._backends.items()}
        reasons = [f". {problem.message}" for problem in missing.values() if problem is not None]
        raise RequestError(f"Unknown {what}: {name}{''.join(reasons)}")

    def _meant(self, kind: str, name: str, names: Names) -> Owner | None:
        """The owner that a name means, by the lists so far; None if the name is unknown or ambiguous."""
        if (owner := names.find(name)) is not None:
            return owner if self._given[kind].get(name, owner) == owner else None
        if len(names.meanings(name)) > 1 or (owner := unlisted(name, list(self._backends))) is None:
            return None
        return owner if self._backends[owner.server].uses(kind, owner.name) else None

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
        for backend in self._owners(uri, call):
            try:
                return self._pass_on(backend.name, "resources/read", params, call)
            except (UnknownResourceError, UnreachableError) as problem:
                refusal = problem
        raise refusal

    def _owners(self, uri: str, call: Call) -> list[Backend]:
        """The servers that may have a resource, the most likely first."""
        backends = list(self._backends.values())
        for kind in ("resources", "resourceTemplates"):
            self._listing.ask(kind, call, [backend for backend in backends if kind not in backend.lists])
        return owners_of(uri, backends)

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
        return self._passing.pass_on(self._backends[server], method, params, call)

    def _report_once(self, problem: str) -> None:
        if problem not in self._reported:
            self._reported.add(problem)
            self._report(problem)


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


def _lacks_object(tool: Wire) -> bool:
    """Whether a tool's input schema does not have the type "object", which clients require."""
    schema = tool.get("inputSchema")
    return not isinstance(schema, dict) or schema.get("type") != "object"

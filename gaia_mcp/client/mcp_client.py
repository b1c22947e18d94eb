"""The client of one server: its tools, prompts, resources, completions, skills and change notifications.

Sends no request whose capability the server did not declare (specification, lifecycle). How a connection is opened and
replaced, and what one request may take, is known in `engine`.
"""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Self

from gaia_mcp.client.conversation.engine import ChannelTransport
from gaia_mcp.client.host import Host
from gaia_mcp.client.tools import (
    Completion,
    MCPTool,
    failure_of,
    mcp_tool_requires_confirmation,
    read_completion,
    read_items,
    read_tools,
    sanitise_server_name,
)
from gaia_mcp.client.transports.base import UNLISTED, MCPTransport, OnProgress
from gaia_mcp.core.deadline import DEFAULT_TIMEOUT_SECONDS, LONGEST_REQUEST_SECONDS, Deadline
from gaia_mcp.core.errors import (
    LocalProtocolError,
    MCPError,
    NotConnectedError,
    PeerError,
    RemoteProtocolError,
    ToolExcludedError,
    resource_unknown,
)
from gaia_mcp.protocol.envelope import LOG_LEVELS, SKILLS_EXTENSION
from gaia_mcp.protocol.events import Change, ListChanged, NotGranted, Peer, ResourceUpdated
from gaia_mcp.protocol.jsonrpc import INVALID_PARAMS, METHOD_NOT_FOUND
from gaia_mcp.protocol.pagination import Freshness, Pages, freshness
from gaia_mcp.text import one_line

if TYPE_CHECKING:
    from pathlib import Path

    from gaia_mcp.client.transports.http.auth import Person
    from gaia_mcp.client.transports.stdio.child import Child, Stopped
    from gaia_mcp.config.command import Command
    from gaia_mcp.config.entries import ServerEntry
    from gaia_mcp.storage.server_cache import ServerCache
    from gaia_mcp.text.redaction.masker import Masker
    from gaia_mcp.toolspec.tool_filter import ToolFilter

    OnHeard = Callable[[str], None]

# What programs for GAIA import from here.
__all__ = ["MCPClient", "MCPTool", "mcp_tool_requires_confirmation", "sanitise_server_name"]
# For listing the tools for the schema in an error: a caller that has waited for the refusal should not wait long again.
LIST_SECONDS = 5.0
# Errors that are returned instead of raised. Anything else is a bug in a program, which its author should see.
_TOLD = (MCPError, OSError, RuntimeError, ValueError)

logger = logging.getLogger("gaia_mcp")


class MCPClient:
    """A client named `name` over `transport`. `timeout`, in seconds, is for connecting and for each request. With
    `debug` every message is logged at DEBUG level, without secrets.

    A tool that `tool_filter` excludes is not listed, and cannot be called. `trusts_hints`: the user trusts the
    annotations of the server's tools. `revision`, if given, is the only acceptable one; the cached era of the server,
    in `era_cache`, is ignored then.

    `connect`, `list_tools` and `call_tool` behave as GAIA's documents promise. All other methods raise as `open` does,
    `PeerError` for an error response, and `NotSupportedError` if the server does not declare the capability. May be
    used from several threads at once. `server_info` is the server's last `Implementation`, also after the connection
    has ended; `peer` exists as long as the connection.

    `on_connection` is called with "opened", also when a lost connection was replaced, and with "disconnected". Four
    attributes are called for the server's notifications, at once and on the thread that reads, so they must not send
    requests: `on_list_changed` with "tools", "prompts" or "resources"; `on_resource_updated` with the URI of a
    subscribed resource; `on_subscription_ended` with the URI of a resource whose subscription has ended;
    `on_not_granted` with the kind of a list whose changes the server declares but did not grant. Some servers announce
    changed lists only to a subscriber: if `on_list_changed` is set after `open`, it is called once the next list has
    been requested.
    """

    def __init__(
        self,
        name: str,
        transport: MCPTransport,
        debug: bool = False,
        *,
        timeout: float = DEFAULT_TIMEOUT_SECONDS,
        host: Host | None = None,
        era_cache: ServerCache | None = None,
        tool_filter: ToolFilter | None = None,
        revision: str | None = None,
        trusts_hints: bool = False,
    ) -> None:
        self.name = name
        self.transport = transport
        self.debug = debug
        self.timeout = timeout
        self.host = host or Host()
        self.server_info: dict[str, Any] = {}
        self.last_error: str | None = None
        self.tool_filter = tool_filter
        self.trusts_hints = trusts_hints
        self.tool_problems: list[str] = []
        self.all_seen: list[Any] | None = None
        # The freshness that the server stated for each list, by its method; empty in the handshake era.
        self.freshness: dict[str, Freshness] = {}
        self.on_connection: OnHeard | None = None
        self.on_list_changed: OnHeard | None = None
        self.on_resource_updated: OnHeard | None = None
        self.on_subscription_ended: OnHeard | None = None
        self.on_not_granted: OnHeard | None = None
        self._tools: list[MCPTool] | None = None  # Includes those that the filter excludes.
        self._tools_stale_at = math.inf
        self._declares_tools = False  # On the last connection.
        self._has_more_tools = False  # Whether there may be tools that are not listed.
        if isinstance(transport, ChannelTransport):
            transport.name = name
            self.engine = transport.engine
            self.engine.revision = revision
        else:
            from gaia_mcp.client.transports.in_process import CustomTransport

            self.engine = CustomTransport(transport, name=name, timeout=timeout).engine
        self.engine.transport.debug = debug or self.engine.transport.debug
        self.engine.host = self.host
        self.engine.era_cache = era_cache if revision is None else None
        self.engine.on_change = self._changed
        self.engine.on_forget = self._forget
        self.engine.on_opened = self._opened
        self.engine.watches_lists = lambda: self.on_list_changed is not None

    def __repr__(self) -> str:
        return f"<MCPClient {self.name!r} over {self.transport!r}>"

    @property
    def prefix(self) -> str:
        """The server's name as used in the names of its tools."""
        return sanitise_server_name(self.name)

    @property
    def peer(self) -> Peer | None:
        """The server as it presented itself; None before `open()` and after `disconnect()`."""
        return self.engine.peer

    @property
    def capabilities(self) -> dict[str, Any]:
        """The capabilities that the server has declared; empty while not connected."""
        return self.engine.capabilities

    @property
    def instructions(self) -> str:
        """The server's instructions for a model's prompt; empty if there are none, and while not connected."""
        return peer.instructions if (peer := self.peer) is not None else ""

    @property
    def protocol_version(self) -> str | None:
        """The revision agreed upon, as "2026-07-28"; None while not connected."""
        return peer.version if (peer := self.peer) is not None else None

    @classmethod
    def from_config(
        cls,
        name: str,
        config: dict[str, Any],
        timeout: float = DEFAULT_TIMEOUT_SECONDS,
        debug: bool = False,
        *,
        host: Host | None = None,
        environ: Mapping[str, str] | None = None,
        on_stderr: Callable[[bytes], None] | None = None,
        source: Path | None = None,
        person: Person | None = None,
    ) -> MCPClient:
        """A client, not yet connected, for an entry in Claude Desktop's format: `command`, `args`, `env`, `cwd`, or
        `url`, `headers`, `oauth`.

        An entry's own `timeout` takes precedence over the argument; `${VAR}` is looked up in `environ`, and left
        unexpanded in `args` if it is not set. Without `args`, `command` is a command line, as for `from_command`.
        `person` grants access to a server behind a URL that requires authorization; without one that is an error,
        unless the command line has logged in, or `oauth` contains what a program needs to obtain a token.
        Paths of code in it are relative to the folder of `source`, the file that contains the entry.
        Raises `EntryError` (a `ValueError`) for an invalid entry, `VariableUnsetError`.
        """
        from gaia_mcp.config.entries import read_entry

        entry = read_entry(name, config, source, keeps_unset=True)
        if source is not None:
            entry = entry.in_file(source)
        return cls.from_entry(entry, timeout, debug, host=host, environ=environ, on_stderr=on_stderr, person=person)

    @classmethod
    def from_entry(
        cls,
        entry: ServerEntry,
        timeout: float = DEFAULT_TIMEOUT_SECONDS,
        debug: bool = False,
        *,
        host: Host | None = None,
        environ: Mapping[str, str] | None = None,
        era_cache: ServerCache | None = None,
        on_stderr: Callable[[bytes], None] | None = None,
        started: tuple[Command, Child] | None = None,
        person: Person | None = None,
        busy_polls: bool = True,
    ) -> MCPClient:
        """A client, not yet connected, for an entry that has been parsed; otherwise as `from_config`.

        `era_cache` stores the era of the server; `started` and `busy_polls` are those of `transport_of`.
        """
        from gaia_mcp.client.transports.factory import transport_of

        seconds = entry.request_seconds(timeout)
        transport = transport_of(
            entry,
            seconds,
            debug,
            environ=environ,
            on_stderr=on_stderr,
            started=started,
            person=person,
            busy_polls=busy_polls,
        )
        return cls(
            entry.name,
            transport,
            debug,
            timeout=seconds,
            host=host,
            era_cache=era_cache,
            tool_filter=entry.tool_filter,
            revision=entry.revision if entry.held is None else entry.held.revision,
            trusts_hints=entry.trusts_hints,
        )

    @classmethod
    def from_command(
        cls, name: str, command: str, timeout: float = DEFAULT_TIMEOUT_SECONDS, debug: bool = False
    ) -> MCPClient:
        """A client, not yet connected, for a command line, which is split into words without a shell; `~`, `$NAME`
        and `${NAME}` are expanded in them.
        """
        from gaia_mcp.client.transports.stdio.transport import StdioTransport

        return cls(name, StdioTransport(command, timeout=timeout, debug=debug, name=name), debug, timeout=timeout)

    def connect(self) -> bool:
        """Connect; False on failure, with the reason in `last_error`."""
        self.last_error = None
        try:
            self.open()
        except _TOLD as error:
            self.last_error = str(error)
            logger.warning("MCP server %r: %s", self.name, self.last_error)
            return False
        return True

    def open(self, deadline: Deadline | None = None) -> Peer:
        """Connect and agree on a version.

        Raises `ConnectError`, `DeadlineError` or `ProtocolError`; nothing is left running then.
        """
        return self.engine.open(deadline or Deadline(self.timeout))

    def start(self) -> None:
        """Start the server without sending it anything. Raises `SpawnError`."""
        self.engine.start()

    def is_connected(self) -> bool:
        """Whether the connection to the server is open."""
        return self.engine.transport.is_connected()

    def disconnect(self) -> None:
        """Disconnect from the server and forget its tools. May be called twice."""
        self.close(None)

    def close(self, grace_seconds: float | None) -> Stopped | None:
        """As `disconnect`, with `grace_seconds` for each step of ending a process; how that ended, None if none ran."""
        self.engine.forget()
        stopped = self.engine.transport.close(grace_seconds)
        # Last: pending requests have ended, so nothing that the listener waits for takes long.
        self.engine.tell(self.on_connection, "disconnected")
        return stopped

    def __enter__(self) -> Self:
        try:
            self.open()
        except BaseException:
            self.disconnect()  # Also after a Ctrl-C that arrived once connected.
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.disconnect()

    @property
    def exit_status(self) -> int | None:
        """The exit status of the server's process, once it has been ended."""
        return self.engine.transport.exit_status

    def stderr_tail(self) -> str:
        """The end of the server's stderr, without secrets."""
        return self.engine.transport.stderr_tail()

    def masker(self) -> Masker:
        """A masker for the secrets that were passed to the server and that no error or log may contain."""
        return self.engine.transport.masker()

    def deadline(self) -> Deadline:
        """A new deadline with this client's timeout, which progress may extend."""
        return Deadline(self.timeout, ceiling=LONGEST_REQUEST_SECONDS)

    def request(
        self,
        method: str,
        params: dict[str, Any] | None = None,
        deadline: Deadline | None = None,
        *,
        on_progress: OnProgress | None = None,
    ) -> dict[str, Any]:
        """The result of any request. Reconnects if the connection was lost, and asks the host for the input that the
        server requires, including URLs that have to be opened first.
        """
        return self.engine.request(method, params, deadline or self.deadline(), on_progress=on_progress)

    def check_alive(self, deadline: Deadline | None = None, *, reconnects: bool = True) -> None:
        """Check that the server responds. Without `reconnects` it raises why the connection has ended."""
        deadline = deadline or self.deadline()
        if reconnects:
            self.engine.renewed(lambda conversation: conversation.check_alive(deadline), deadline)
        else:
            self.engine.conversation.check_alive(deadline)

    def list_tools(self, refresh: bool = False) -> list[MCPTool]:
        """The server's tools: the cached ones unless the server has announced a change or `refresh` is set.

        An empty list on failure, with the reason in `last_error`.
        """
        self.last_error = None
        try:
            return self.fetch_tools(refresh=refresh)
        except _TOLD as error:
            self.last_error = str(error)
            logger.error("failed to list the tools of %r: %s", self.name, self.last_error)
            return []

    def call_tool(
        self,
        tool_name: str,
        arguments: dict[str, Any],
        *,
        deadline: Deadline | None = None,
        on_progress: OnProgress | None = None,
    ) -> dict[str, Any]:
        """The tool's result as the server sent it, or `{"error": "…"}` on failure. A result that reports a failure
        (`isError`) has the text of its content as `error` too: the documents' programs look for that member alone.

        `on_progress` is called with a `Progressed` (`progress`, `total`, `text`) for each progress notification;
        `deadline.cancel()`, in another thread, cancels the call. Raises `NotConnectedError` (a `RuntimeError`) without
        a connection.
        """
        deadline = deadline or self.deadline()
        try:
            result = self.call(tool_name, arguments, deadline, on_progress=on_progress)
        except NotConnectedError:
            raise
        except PeerError as error:
            text = error.text
            if error.code == INVALID_PARAMS:
                text = self._format_validation_error(tool_name, text, arguments, deadline)
            return {"error": text}
        except _TOLD as error:
            return {"error": str(error)}
        return {"error": failure_of(result), **result} if result.get("isError") is True else result

    def create_tool_wrapper(self, tool: MCPTool) -> Callable[..., dict[str, Any]]:
        """A function that takes the tool's arguments by keyword and returns what `call_tool` returns."""

        def wrapper(**arguments: Any) -> dict[str, Any]:
            return self.call_tool(tool.name, arguments)

        return wrapper

    def fetch_tools(
        self, deadline: Deadline | None = None, *, refresh: bool = False, logs_problems: bool = True
    ) -> list[MCPTool]:
        """The server's tools, from all pages. The problems of unusable ones are in `tool_problems`, and are logged
        unless the caller reports them. An empty list, without a request, if the server declares other capabilities but
        no tools.
        """
        deadline = deadline or self.deadline()
        with self.engine.alone(deadline):
            changes = self.engine.list_changes
            if "tools" in changes:
                self._tools = None
            if self._tools is None or refresh or time.monotonic() >= self._tools_stale_at:
                conversation = self.engine.ready(deadline)
                if not self.engine.offers("tools"):
                    self.tool_problems = []
                    return []
                changes.discard("tools")
                conversation.watch_lists(deadline)
                definitions = list(self.items("tools/list", deadline))
                fresh = self.freshness.get("tools/list")
                self._tools_stale_at = math.inf if fresh is None else time.monotonic() + fresh.ttl_ms / 1000
                self._tools, problems = read_tools(definitions, self._uses, trusts_hints=self.trusts_hints)
                left_out = self.engine.conversation.tools_left_out()
                problems += [f"tool {name!r} is left out: {why}" for name, why in left_out.items() if self._uses(name)]
                self._has_more_tools = not conversation.lists_tools
                problems += [UNLISTED] if self._has_more_tools else []
                self.tool_problems.extend(problems)
                for problem in problems if logs_problems else ():
                    logger.warning("MCP server %r: %s", self.name, self.masker().text(one_line(problem)))
            return self.known_tools()

    def find_tool(self, name: str, deadline: Deadline | None = None) -> MCPTool | None:
        """The tool of that name, without reading more pages than needed; None if the server has none. If the whole list
        was read, it is in `all_seen`.

        Raises `ToolExcludedError` for a tool that the filter excludes.
        """
        found = self._find_tool(name, deadline or self.deadline())
        if found is not None:
            self._check_used(name)
        return found

    def known_tools(self) -> list[MCPTool]:
        """The tools listed last, without a request; empty if none were."""
        return [tool for tool in self.listed_tools() if self._uses(tool.name)]

    def listed_tools(self) -> list[MCPTool]:
        """As `known_tools`, including those that the filter excludes: for a cache, which outlives the filter."""
        return list(self._tools or ())

    def call(
        self,
        tool_name: str,
        arguments: dict[str, Any],
        deadline: Deadline | None = None,
        *,
        on_progress: OnProgress | None = None,
    ) -> dict[str, Any]:
        """The tool's result as the server sent it, even if it reports a failure (`isError`). A warning is logged if the
        structured content does not match the output schema of a listed tool.

        Asks the host for the input that the server requires. A call that may have been sent is never sent again.
        Raises `ArgumentsError` for arguments that JSON cannot express, `ToolExcludedError` for a tool that the filter
        excludes, and `NotSupportedError` if the server declares other capabilities but no tools.
        """
        deadline = deadline or self.deadline()
        result = self.call_unchecked(tool_name, arguments, deadline, on_progress=on_progress)
        schema = next((tool.output_schema for tool in self._tools or () if tool.name == tool_name), None)
        if schema is not None:
            from gaia_mcp.checking import structure_problem

            if problem := structure_problem(self.name, tool_name, schema, result, deadline):
                logger.warning("MCP server %r: %s", self.name, self.masker().text(problem))
        return result

    def call_unchecked(
        self,
        tool_name: str,
        arguments: dict[str, Any],
        deadline: Deadline | None = None,
        *,
        on_progress: OnProgress | None = None,
    ) -> dict[str, Any]:
        """As `call`, for a caller that validates the structured content itself."""
        deadline = deadline or self.deadline()
        if self.tool_filter is not None:
            self._check_used(tool_name)
        # A server that declares tools is called at once: that may restart it, and it reports an unknown tool itself.
        if not self._declares_tools:
            self.engine.require("tools", deadline)
        params = {"name": tool_name, "arguments": arguments}
        return self.request("tools/call", params, deadline, on_progress=on_progress)

    def items(self, method: str, deadline: Deadline | None = None) -> Iterator[Any]:
        """The items of one of the paged lists, page by page; problems of the pagination are in `tool_problems`."""
        yield from self._walk(Pages(method), deadline or self.deadline())

    def list_prompts(self, deadline: Deadline | None = None) -> list[dict[str, Any]]:
        """The prompts, from all pages: each with `name`, and perhaps `title`, `description`, `arguments`. An empty
        list, without a request, if the server does not declare prompts.
        """
        return self._list("prompts", "prompts/list", "name", deadline)

    def get_prompt(
        self, name: str, arguments: Mapping[str, str] | None = None, deadline: Deadline | None = None
    ) -> dict[str, Any]:
        """A prompt filled with `arguments`, whose values are text: `messages` with `role` and `content`."""
        deadline = deadline or self.deadline()
        self.engine.require("prompts", deadline)
        params: dict[str, Any] = {"name": name}
        if arguments:
            params["arguments"] = dict(arguments)
        return self._with_list("prompts/get", params, "messages", deadline)

    def list_resources(self, deadline: Deadline | None = None) -> list[dict[str, Any]]:
        """The resources, from all pages: each with `uri` and `name`, and perhaps `title`, `description`, `mimeType`,
        `size` in bytes. An empty list, without a request, if the server does not declare resources.
        """
        return self._list("resources", "resources/list", "uri", deadline)

    def list_resource_templates(self, deadline: Deadline | None = None) -> list[dict[str, Any]]:
        """The resource templates, from all pages: each with `uriTemplate` (RFC 6570) and `name`. An empty list also if
        the server has resources but does not support templates, as many do not.
        """
        try:
            return self._list("resources", "resources/templates/list", "uriTemplate", deadline)
        except PeerError as error:
            if error.code == METHOD_NOT_FOUND:
                return []
            raise

    def read_resource(self, uri: str, deadline: Deadline | None = None) -> dict[str, Any]:
        """A resource: `contents`, each with its `uri` and either `text` or `blob`, which is base64.

        Raises as `open` does, and `ResourceUnknownError` (a `PeerError`) for one that the server does not have.
        """
        deadline = deadline or self.deadline()
        self.engine.require("resources", deadline)
        try:
            return self._with_list("resources/read", {"uri": uri}, "contents", deadline)
        except PeerError as error:
            raise resource_unknown(error, uri) from error.__cause__

    def list_skills(self, deadline: Deadline | None = None) -> list[dict[str, Any]]:
        """The skills, from all pages: each with its `uri`, its `frontmatter` and its `resources`, the files with size
        and digest, or "dynamic". No file is read. An empty list, without a request, if the server does not declare the
        extension.
        """
        return self._list(SKILLS_EXTENSION, "skills/list", "uri", deadline)

    def read_skill(self, skill: Mapping[str, Any], uri: str = "", deadline: Deadline | None = None) -> bytes:
        """A file of a skill returned by `list_skills`: the one with this `uri`, by default the SKILL.md.

        Raises as `read_resource` does, `LocalProtocolError` for a file that the skill does not have, and
        `RemoteProtocolError` for one that differs from the listing: it must not be used.
        """
        from gaia_mcp.text.skills import check_listed, verified

        uri = uri or skill["uri"]
        check_listed(self.name, skill, uri)
        return verified(self.name, skill, uri, self.read_resource(uri, deadline)["contents"])

    def complete(
        self,
        reference: dict[str, str],
        argument: str,
        value: str,
        arguments: Mapping[str, str] | None = None,
        deadline: Deadline | None = None,
    ) -> Completion:
        """The completions of `value`, the beginning of `argument`.

        `reference` is `{"type": "ref/prompt", "name": …}`, or `{"type": "ref/resource", "uri": …}` with a template;
        `arguments` are the values of the other arguments that are already known.
        """
        deadline = deadline or self.deadline()
        self.engine.require("completions", deadline)
        params: dict[str, Any] = {"ref": reference, "argument": {"name": argument, "value": value}}
        if arguments:
            params["context"] = {"arguments": dict(arguments)}
        return read_completion(self.name, self.request("completion/complete", params, deadline))

    def set_log_level(self, level: str, deadline: Deadline | None = None) -> None:
        """Request log messages from `level` upwards, "debug" to "emergency"; the host's `on_log` receives them.

        Raises as `open` does, `LocalProtocolError` for an unknown level.
        """
        if level not in LOG_LEVELS:
            # In the stateless era every later request would carry it, and be rejected.
            raise LocalProtocolError(
                f"there is no log level {level!r}", hint=f"use one of: {', '.join(LOG_LEVELS)}", server=self.name
            )
        self.engine.set_log_level(level, deadline or self.deadline())

    def want_logs(self, level: str, deadline: Deadline | None = None) -> None:
        """As `set_log_level`, for the present connection only."""
        deadline = deadline or self.deadline()
        self.engine.renewed(lambda conversation: conversation.want_logs(level, deadline), deadline)

    def subscribe_resource(self, uri: str, deadline: Deadline | None = None) -> None:
        """Call `on_resource_updated` whenever a resource changes, also after the server has been restarted.

        Subscribing twice has no further effect. Raises as `open` does, `PeerError` for an error response, in particular
        `ResourceUnknownError` for a resource that the server does not have.
        """
        self.engine.subscribe(uri, deadline or self.deadline())

    def unsubscribe_resource(self, uri: str, deadline: Deadline | None = None) -> None:
        """End the subscription. Raises as `open` does."""
        self.engine.unsubscribe(uri, deadline or self.deadline())

    def _forget(self) -> None:
        self._tools = None

    def _opened(self, peer: Peer) -> None:
        self.server_info = peer.info
        self._declares_tools = "tools" in peer.capabilities
        self.engine.tell(self.on_connection, "opened")

    def _changed(self, change: Change) -> None:
        if isinstance(change, ListChanged):
            self.engine.tell(self.on_list_changed, change.kind)
        elif isinstance(change, ResourceUpdated):
            self.engine.tell(self.on_resource_updated, change.uri)
        elif isinstance(change, NotGranted):
            logger.info("MCP server %r does not announce changes of its %s", self.name, change.kind)
            self.engine.tell(self.on_not_granted, change.kind)
        else:
            self.engine.tell(self.on_subscription_ended, change.uri)

    def _find_tool(self, name: str, deadline: Deadline) -> MCPTool | None:
        with self.engine.alone(deadline):
            if self._tools is not None and "tools" not in self.engine.list_changes:
                known = next((tool for tool in self._tools if tool.name == name), None)
                if known is not None or not self._has_more_tools:
                    return known
            conversation = self.engine.ready(deadline)
            if not self.engine.offers("tools"):
                return None
            pages, seen, found = Pages("tools/list"), [], None
            for definition in self._walk(pages, deadline):
                seen.append(definition)
                if found is None and isinstance(definition, dict) and definition.get("name") == name:
                    found = definition
                if found is not None and not pages.done:
                    break
            else:
                self.all_seen = seen
            if found is None and not conversation.lists_tools:
                # The call will show whether it exists.
                found = {"name": name, "inputSchema": {"type": "object"}}
            return next(iter(read_tools([found] if found else [], trusts_hints=self.trusts_hints)[0]), None)

    def _walk(self, pages: Pages, deadline: Deadline) -> Iterator[Any]:
        self.tool_problems = []
        self.freshness.pop(pages.method, None)
        while not pages.done:
            try:
                page = self.request(pages.method, pages.params, deadline)
            except PeerError:
                if not pages.is_end_by_error():
                    raise
            else:
                peer = self.peer
                if peer is not None and (fresh := freshness(peer.version, page)) is not None:
                    self.freshness[pages.method] = fresh.with_page(self.freshness.get(pages.method))
                yield from pages.take(page)
        self.tool_problems.extend(pages.problems)

    def _list(self, kind: str, method: str, key: str, deadline: Deadline | None) -> list[dict[str, Any]]:
        deadline = deadline or self.deadline()
        conversation = self.engine.ready(deadline)
        if not self.engine.offers(kind):
            return []
        if self.on_list_changed is not None:
            conversation.watch_lists(deadline)  # First, so that no change is missed in between.
        found, problems = read_items(self.items(method, deadline), method, key)
        self.tool_problems.extend(problems)
        return found

    def _with_list(self, method: str, params: dict[str, Any], member: str, deadline: Deadline | None) -> dict[str, Any]:
        result = self.request(method, params, deadline)
        items = result.get(member)
        if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
            raise RemoteProtocolError(self.name, f"answered {method} without a list of {member}")
        return result

    def _uses(self, tool_name: str) -> bool:
        return self.tool_filter is None or self.tool_filter.allows(tool_name)

    def _check_used(self, tool_name: str) -> None:
        if self.tool_filter is not None and (member := self.tool_filter.excluded_by(tool_name)):
            raise ToolExcludedError(self.name, tool_name, member, self.tool_filter.patterns(member))

    def _format_validation_error(self, tool_name: str, text: str, arguments: dict[str, Any], deadline: Deadline) -> str:
        try:
            # Listed now if they were not before, in what is left of the time of the call.
            tool = self.find_tool(tool_name, deadline.sooner(LIST_SECONDS))
        except _TOLD:
            tool = None  # The error of the call is reported, and not that of the list.
        if tool is None:
            return text
        from gaia_mcp.toolspec.validation import report

        return report(tool_name, [text], tool.input_schema, arguments)

"""The client of one server.

`FeaturesClient` has the features beside tools, the same in both eras: prompts, resources, completion, skills, change
notifications. `MCPClient` reports failures as GAIA's documents promise: a bool, an empty list, an `error` key. For
everything else, and for errors that are raised, see `engine`.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from gaia_mcp.client.tools import MCPTool, ToolsClient, failure_of, mcp_tool_requires_confirmation
from gaia_mcp.core.deadline import DEFAULT_TIMEOUT_SECONDS, Deadline
from gaia_mcp.core.errors import (
    LocalProtocolError,
    MCPError,
    NotConnectedError,
    NotSupportedError,
    PeerError,
    RemoteProtocolError,
    resource_unknown,
)
from gaia_mcp.protocol.envelope import LOG_LEVELS, SKILLS_EXTENSION
from gaia_mcp.protocol.events import Change, ListChanged, NotGranted, ResourceUpdated, SubscriptionEnded
from gaia_mcp.protocol.jsonrpc import INVALID_PARAMS, METHOD_NOT_FOUND

if TYPE_CHECKING:
    from pathlib import Path

    from gaia_mcp.client.conversation.conversation import Conversation
    from gaia_mcp.client.host import Host
    from gaia_mcp.client.transports.base import MCPTransport, OnProgress
    from gaia_mcp.client.transports.http.auth import Person
    from gaia_mcp.client.transports.stdio.child import Child
    from gaia_mcp.config.entries import ServerEntry
    from gaia_mcp.core.deadline import Deadline
    from gaia_mcp.storage.server_cache import ServerCache
    from gaia_mcp.toolspec.tool_filter import ToolFilter

    OnHeard = Callable[[str], None]

# What programs for GAIA import from here.
__all__ = ["MCPClient", "MCPTool", "mcp_tool_requires_confirmation", "sanitise_server_name"]
# For listing the tools for the schema in an error: a caller that has waited for the refusal should not wait long again.
LIST_SECONDS = 5.0
# Errors that are returned instead of raised. Anything else is a bug in a program, which its author should see.
_TOLD = (MCPError, OSError, RuntimeError, ValueError)


class Completion(NamedTuple):
    """Completions of an argument: at most 100 `values`, of `total` if the server sends that number."""

    values: list[str]
    total: int | None
    has_more: bool


class FeaturesClient(ToolsClient):
    """A client for prompts, resources and completions. Every method raises as `open` does, `PeerError` for an error
    response, and `NotSupportedError` if the server does not declare the capability.

    `on_connection` is called with "opened", also when a lost connection was replaced, and with "disconnected".

    Four attributes are called for the server's notifications, at once and on the thread that reads, so they must not
    send requests: `on_list_changed` with "tools", "prompts" or "resources"; `on_resource_updated` with the URI of a
    subscribed resource; `on_subscription_ended` with the URI of a resource whose subscription has ended;
    `on_not_granted` with the kind of a list whose changes the server declares but did not grant. Some servers announce
    changed lists only to a subscriber: if `on_list_changed` is set after `open`, it is called once the next list has
    been requested.
    """

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.on_connection: OnHeard | None = None
        self.on_list_changed: OnHeard | None = None
        self.on_resource_updated: OnHeard | None = None
        self.on_subscription_ended: OnHeard | None = None
        self.on_not_granted: OnHeard | None = None
        self._subscribed: dict[str, Conversation | None] = {}
        self._log_level: str | None = None
        self._channels.on_change = self._heard

    @property
    def instructions(self) -> str:
        """The server's instructions for a model's prompt; empty if there are none, and while not connected."""
        peer = self.peer
        return peer.instructions if peer is not None else ""

    @property
    def protocol_version(self) -> str | None:
        """The revision agreed upon, as "2026-07-28"; None while not connected."""
        peer = self.peer
        return peer.version if peer is not None else None

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
        self._require("prompts", deadline)
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
        self._require("resources", deadline)
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
        self._require("completions", deadline)
        params: dict[str, Any] = {"ref": reference, "argument": {"name": argument, "value": value}}
        if arguments:
            params["context"] = {"arguments": dict(arguments)}
        found = self.request("completion/complete", params, deadline).get("completion")
        values = found.get("values") if isinstance(found, dict) else None
        if not isinstance(found, dict) or not isinstance(values, list):
            raise RemoteProtocolError(self.name, "answered completion/complete without a list of values")
        total = found.get("total")
        is_count = isinstance(total, int) and not isinstance(total, bool)
        texts = [text for text in values if isinstance(text, str)]
        return Completion(texts, total if is_count else None, found.get("hasMore") is True)

    def set_log_level(self, level: str, deadline: Deadline | None = None) -> None:
        """Request log messages from `level` upwards, "debug" to "emergency"; the host's `on_log` receives them.

        Raises as `open` does, `LocalProtocolError` for an unknown level.
        """
        if level not in LOG_LEVELS:
            # In the stateless era every later request would carry it, and be rejected.
            raise LocalProtocolError(
                f"there is no log level {level!r}", hint=f"use one of: {', '.join(LOG_LEVELS)}", server=self.name
            )
        self.want_logs(level, deadline)
        self._log_level = level

    def subscribe_resource(self, uri: str, deadline: Deadline | None = None) -> None:
        """Call `on_resource_updated` whenever a resource changes, also after the server has been restarted.

        Subscribing twice has no further effect. Raises as `open` does, `PeerError` for an error response, in particular
        `ResourceUnknownError` for a resource that the server does not have.
        """
        deadline = deadline or self.deadline()
        self._require("resources", deadline)
        if not self._declares_subscriptions():
            raise NotSupportedError(self.name, "subscriptions")
        if uri in self._subscribed:
            return
        # Before it is granted, since the server may end it right after.
        self._subscribed[uri] = None

        def subscribe(conversation: Conversation) -> None:
            # If the session had to be renewed, it has been subscribed again with the others.
            if self._subscribed.get(uri) is not conversation:
                conversation.subscribe(uri, deadline)

        try:
            self._renewed(subscribe, deadline)
        except BaseException as error:
            self._subscribed.pop(uri, None)
            if isinstance(error, PeerError):
                raise resource_unknown(error, uri) from error.__cause__
            raise

    def unsubscribe_resource(self, uri: str, deadline: Deadline | None = None) -> None:
        """End the subscription. Raises as `open` does."""
        deadline = deadline or self.deadline()
        self._subscribed.pop(uri, None)
        self._renewed(lambda conversation: conversation.unsubscribe(uri, deadline), deadline)

    def _subscribe_again(self, uri: str, deadline: Deadline) -> None:
        conversation = self._channels.conversation
        try:
            conversation.subscribe(uri, deadline)
        except MCPError as error:
            logger.warning("MCP server %r ended the subscription to %r: %s", self.name, uri, str(error))
            self._heard(SubscriptionEnded(uri))
        else:
            self._subscribed[uri] = conversation
            self._heard(ResourceUpdated(uri))  # It may have changed meanwhile.

    def _heard(self, change: Change) -> None:
        if isinstance(change, ListChanged):
            self._tell(self.on_list_changed, change.kind)
        elif isinstance(change, ResourceUpdated):
            self._tell(self.on_resource_updated, change.uri)
        elif isinstance(change, NotGranted):
            logger.info("MCP server %r does not announce changes of its %s", self.name, change.kind)
            self._tell(self.on_not_granted, change.kind)
        else:
            self._subscribed.pop(change.uri, None)
            self._tell(self.on_subscription_ended, change.uri)

    def _tell(self, listener: OnHeard | None, word: str) -> None:
        if listener is None:
            return
        self._tellers.add(threading.get_ident())
        try:
            listener(word)
        except Exception:  # the listener's code; the thread that reads or reconnects must go on
            logger.exception("a listener of MCP server %r failed", self.name)
        finally:
            self._tellers.discard(threading.get_ident())

    def disconnect(self) -> None:
        self._subscribed.clear()
        self._log_level = None
        super().disconnect()
        # Last: pending requests have ended, so nothing that the listener waits for takes long.
        self._tell(self.on_connection, "disconnected")

    def _opened(self, deadline: Deadline) -> None:
        super()._opened(deadline)
        if self._log_level is not None:
            with suppress(MCPError):  # As below.
                self._channels.conversation.want_logs(self._log_level, deadline)
        if self.on_list_changed is not None:
            with suppress(MCPError):  # The next request reports what is wrong.
                self._channels.conversation.watch_lists(deadline)
        # They were granted on the previous connection.
        for uri in list(self._subscribed):
            self._subscribe_again(uri, deadline)
        self._tell(self.on_connection, "opened")

    def _list(self, kind: str, method: str, key: str, deadline: Deadline | None) -> list[dict[str, Any]]:
        deadline = deadline or self.deadline()
        self._ready(deadline)
        if not self._offers(kind):
            return []
        if self.on_list_changed is not None:
            self._channels.conversation.watch_lists(deadline)  # First, so that no change is missed in between.
        found = []
        problems = []
        for number, item in enumerate(self.items(method, deadline), 1):
            if isinstance(item, dict) and isinstance(item.get(key), str):
                found.append(item)
            else:
                problems.append(f"item {number} of {method} has no {key}")
        self.tool_problems.extend(problems)
        return found

    def _with_list(self, method: str, params: dict[str, Any], member: str, deadline: Deadline | None) -> dict[str, Any]:
        result = self.request(method, params, deadline)
        items = result.get(member)
        if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
            raise RemoteProtocolError(self.name, f"answered {method} without a list of {member}")
        return result

    def _declares_subscriptions(self) -> bool:
        declared = self.capabilities.get("resources")
        return self._declares_nothing() or (isinstance(declared, dict) and declared.get("subscribe") is True)


logger = logging.getLogger("gaia_mcp")

# The names for which a warning was logged: one each is enough.
_logged_sanitisations: set[str] = set()


def sanitise_server_name(raw: str) -> str:
    """A server's name as used in the names of its tools, as in GAIA from 0.18 on: in lower case, with "_" for "-" and
    spaces, and without the word "mcp". "server" if nothing is left.
    """
    spelled = raw.strip().lower().replace("-", "_").replace(" ", "_")
    words = spelled.split("_")
    if "mcp" not in words:
        return spelled or "server"
    found = "_".join(word for word in words if word != "mcp").strip("_") or "server"
    if raw not in _logged_sanitisations:
        _logged_sanitisations.add(raw)
        logger.warning("the tools of MCP server %r are named with the normalised prefix %r", raw, found)
    return found


class MCPClient(FeaturesClient):
    """A client named `name` over `transport`. `timeout`, in seconds, is for connecting and for each request. With
    `debug` every message is logged at DEBUG level, without secrets.

    `connect`, `list_tools` and `call_tool` behave as GAIA's documents promise; `open`, `fetch_tools`, `call` and the
    rest raise what is in `gaia_mcp.core.errors`.
    """

    # Spelled out for `help()` and editors.
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
        super().__init__(
            name,
            transport,
            debug,
            timeout=timeout,
            host=host,
            era_cache=era_cache,
            tool_filter=tool_filter,
            revision=revision,
            trusts_hints=trusts_hints,
        )

    @property
    def prefix(self) -> str:
        """The server's name as used in the names of its tools."""
        return sanitise_server_name(self.name)

    def __repr__(self) -> str:
        return f"<MCPClient {self.name!r} over {self.transport!r}>"

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
        child: Child | None = None,
        person: Person | None = None,
        busy_polls: bool = True,
    ) -> MCPClient:
        """A client, not yet connected, for an entry that has been parsed; otherwise as `from_config`.

        `era_cache` stores the era of the server; `child` is its process, if it has been started already. `busy_polls`
        is that of `StdioTransport`.
        """
        from gaia_mcp.client.transports.factory import transport_of

        seconds = entry.request_seconds(timeout)
        transport = transport_of(
            entry,
            seconds,
            debug,
            environ=environ,
            on_stderr=on_stderr,
            child=child,
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
            revision=entry.revision,
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

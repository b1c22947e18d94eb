"""The client of one server, which reports failures as GAIA's documents promise: a bool, an empty list, an `error` key.

For everything else, and for errors that are raised, see `engine`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from gaia_mcp.client.features import FeaturesClient
from gaia_mcp.client.tools import MCPTool, failure_of, mcp_tool_requires_confirmation
from gaia_mcp.deadline import DEFAULT_TIMEOUT_SECONDS, Deadline
from gaia_mcp.errors import MCPError, NotConnectedError, PeerError
from gaia_mcp.protocol.jsonrpc import INVALID_PARAMS

if TYPE_CHECKING:
    from pathlib import Path

    from gaia_mcp.client.host import Host
    from gaia_mcp.client.transports.base import MCPTransport, OnProgress
    from gaia_mcp.client.transports.http.auth import Person
    from gaia_mcp.client.transports.stdio.child import Child
    from gaia_mcp.config.entries import ServerEntry
    from gaia_mcp.storage.server_cache import ServerCache
    from gaia_mcp.toolspec.tool_filter import ToolFilter

# What programs for GAIA import from here.
__all__ = ["MCPClient", "MCPTool", "mcp_tool_requires_confirmation", "sanitise_server_name"]

logger = logging.getLogger("gaia_mcp")

# The names for which a warning was logged: one each is enough.
_logged_sanitisations: set[str] = set()

# For listing the tools for the schema in an error: a caller that has waited for the refusal should not wait long again.
LIST_SECONDS = 5.0
# Errors that are returned instead of raised. Anything else is a bug in a program, which its author should see.
_TOLD = (MCPError, OSError, RuntimeError, ValueError)


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
    rest raise what is in `gaia_mcp.errors`.
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

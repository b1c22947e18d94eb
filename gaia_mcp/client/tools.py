"""A client that lists, finds and calls the tools of its server.

Sends no request whose capability the server did not declare (specification, lifecycle).
"""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from gaia_mcp.client.engine import ClientEngine
from gaia_mcp.client.tool import MCPTool, read_tools
from gaia_mcp.client.transports.base import UNLISTED
from gaia_mcp.errors import NotSupportedError, PeerError, ToolExcludedError
from gaia_mcp.protocol.caching import Freshness, freshness
from gaia_mcp.protocol.pagination import Pages
from gaia_mcp.protocol.revisions import can_declare, capability_names
from gaia_mcp.safetext import one_line

if TYPE_CHECKING:
    from gaia_mcp.client.transports.base import OnProgress
    from gaia_mcp.deadline import Deadline
    from gaia_mcp.toolspec.tool_filter import ToolFilter

logger = logging.getLogger("gaia_mcp")


class ToolsClient(ClientEngine):
    """A client for tools. A tool that `tool_filter` excludes is not listed, and cannot be called. `trusts_hints` means
    that the user trusts the annotations of the server's tools. Every method raises as `open` does.
    """

    def __init__(
        self, *arguments: Any, tool_filter: ToolFilter | None = None, trusts_hints: bool = False, **options: Any
    ) -> None:
        super().__init__(*arguments, **options)
        self.tool_filter = tool_filter
        self.trusts_hints = trusts_hints
        self.tool_problems: list[str] = []
        self.all_seen: list[Any] | None = None
        # The freshness that the server stated for each list, by its method; empty in the handshake era.
        self.freshness: dict[str, Freshness] = {}
        # Includes those that the filter excludes.
        self._tools: list[MCPTool] | None = None
        self._tools_stale_at = math.inf
        # Of the last connection.
        self._declares_tools = False
        # Whether the server may have tools that it does not list.
        self._has_more_tools = False

    @property
    def capabilities(self) -> dict[str, Any]:
        """The capabilities that the server has declared; empty while not connected."""
        # Read once: another thread may disconnect meanwhile.
        peer = self.peer
        return peer.capabilities if peer is not None else {}

    def known_tools(self) -> list[MCPTool]:
        """The tools listed last, without a request; empty if none were."""
        return [tool for tool in self.listed_tools() if self._uses(tool.name)]

    def listed_tools(self) -> list[MCPTool]:
        """As `known_tools`, including those that the filter excludes: for a cache, which outlives the filter."""
        return list(self._tools or ())

    def fetch_tools(
        self, deadline: Deadline | None = None, *, refresh: bool = False, logs_problems: bool = True
    ) -> list[MCPTool]:
        """The server's tools, from all pages. The problems of unusable ones are in `tool_problems`, and are logged
        unless the caller reports them. An empty list, without a request, if the server declares other capabilities but
        no tools.
        """
        deadline = deadline or self.deadline()
        with self._alone(deadline):
            changes = self._channels.list_changes
            if "tools" in changes:
                self._tools = None
            if self._tools is None or refresh or time.monotonic() >= self._tools_stale_at:
                conversation = self._ready(deadline)
                if not self._offers_tools():
                    self.tool_problems = []
                    return []
                changes.discard("tools")
                conversation.watch_lists(deadline)
                definitions = list(self.items("tools/list", deadline))
                fresh = self.freshness.get("tools/list")
                self._tools_stale_at = math.inf if fresh is None else time.monotonic() + fresh.ttl_ms / 1000
                self._tools, problems = read_tools(definitions, self._uses, trusts_hints=self.trusts_hints)
                left_out = self._channels.conversation.tools_left_out()
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

    def _find_tool(self, name: str, deadline: Deadline) -> MCPTool | None:
        with self._alone(deadline):
            if self._tools is not None and "tools" not in self._channels.list_changes:
                known = next((tool for tool in self._tools if tool.name == name), None)
                if known is not None or not self._has_more_tools:
                    return known
            conversation = self._ready(deadline)
            if not self._offers_tools():
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
            if found is None:
                return None
            return next(iter(read_tools([found], trusts_hints=self.trusts_hints)[0]), None)

    def items(self, method: str, deadline: Deadline | None = None) -> Iterator[Any]:
        """The items of one of the paged lists, page by page; problems of the pagination are in `tool_problems`."""
        yield from self._walk(Pages(method), deadline or self.deadline())

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
        for tool in self._tools or ():
            if tool.name == tool_name:
                if tool.output_schema is not None:
                    self._warn_of_structure(tool_name, tool.output_schema, result, deadline)
                break
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
            self._ready(deadline)
            if not self._offers_tools():
                raise NotSupportedError(self.name, "tools")
        params = {"name": tool_name, "arguments": arguments}
        return self.request("tools/call", params, deadline, on_progress=on_progress)

    def _uses(self, tool_name: str) -> bool:
        return self.tool_filter is None or self.tool_filter.allows(tool_name)

    def _check_used(self, tool_name: str) -> None:
        if self.tool_filter is not None and (member := self.tool_filter.excluded_by(tool_name)):
            raise ToolExcludedError(self.name, tool_name, member, self.tool_filter.patterns(member))

    def _warn_of_structure(self, tool_name: str, schema: Any, result: dict[str, Any], deadline: Deadline) -> None:
        from gaia_mcp.checking.structure import structure_problem

        if problem := structure_problem(self.name, tool_name, schema, result, deadline):
            logger.warning("MCP server %r: %s", self.name, self.masker().text(problem))

    def _opened(self, deadline: Deadline) -> None:
        self._declares_tools = "tools" in self.capabilities
        super()._opened(deadline)

    def _forget(self) -> None:
        self._tools = None

    def _require(self, kind: str, deadline: Deadline) -> None:
        self._ready(deadline)
        if not self._offers(kind):
            raise NotSupportedError(self.name, kind)

    def _offers(self, kind: str) -> bool:
        # Read once: another thread may disconnect meanwhile, and the request reports that.
        peer = self.peer
        return (
            peer is None
            or self._declares_nothing()
            or not can_declare(peer.version, kind)
            or kind in capability_names(peer.capabilities)
        )

    def _offers_tools(self) -> bool:
        # Small servers that declare no capabilities usually have tools and nothing else.
        return not self.capabilities or self._offers("tools")

    def _declares_nothing(self) -> bool:
        """Whether this is a custom transport whose server declares no capabilities at all."""
        return not self._channels.reconnects and not self.capabilities

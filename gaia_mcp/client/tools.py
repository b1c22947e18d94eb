"""The tools of a server: the definition of one, its form in GAIA's registry, and the client that lists, finds and calls
them.

Sends no request whose capability the server did not declare (specification, lifecycle).
"""

from __future__ import annotations

import itertools
import logging
import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from gaia_mcp.client.engine import ClientEngine
from gaia_mcp.client.transports.base import UNLISTED
from gaia_mcp.core.errors import NotSupportedError, PeerError, ToolExcludedError
from gaia_mcp.protocol.pagination import Freshness, Pages, freshness
from gaia_mcp.protocol.revisions import can_declare, capability_names
from gaia_mcp.text.safe import one_line
from gaia_mcp.text.strict_json import is_same
from gaia_mcp.toolspec.schema import (
    choices_of,
    description_of,
    parts_of,
    properties_of,
    required_of,
    resolved,
    types_of,
)
from gaia_mcp.toolspec.tool_filter import only_reads

if TYPE_CHECKING:
    from gaia_mcp.client.transports.base import OnProgress
    from gaia_mcp.core.deadline import Deadline
    from gaia_mcp.toolspec.tool_filter import ToolFilter

logger = logging.getLogger("gaia_mcp")
# The number of choices that are compared with each other among the members of a union.
MAX_CHOICES = 300


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
        from gaia_mcp.checking import structure_problem

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


# The JSON types of Python's types.
_TYPES = {
    str: "string", bool: "boolean", int: "integer", float: "number", list: "array", dict: "object", type(None): "null",
}  # fmt: skip


@dataclass
class MCPTool:
    """A tool, as in GAIA's documents (MCPTool). `input_schema` is the JSON Schema as the server sent it, unchecked;
    `definition` is the whole definition as the server sent it.

    Annotations are untrusted hints from the server (specification, server/tools). `trusts_hints` is whether the user
    who chose the server trusts them; a program that creates a tool itself is responsible for its annotations.
    """

    name: str
    description: str
    input_schema: dict[str, Any]
    annotations: dict[str, Any] = field(default_factory=dict)
    definition: dict[str, Any] = field(default_factory=dict, repr=False)
    trusts_hints: bool = True

    @property
    def title(self) -> str:
        """The display name: `title`, else the annotations' title, else the name (specification, server/tools)."""
        title = self.definition.get("title") or self.annotations.get("title")
        return title if isinstance(title, str) else self.name

    @property
    def output_schema(self) -> Any:
        """The schema of the structured content, None without one."""
        return self.definition.get("outputSchema")

    @property
    def only_reads(self) -> bool:
        """Whether the server declares the tool read-only, is trusted, and the tool's name does not contradict it. False
        without an annotation.
        """
        return self.trusts_hints and only_reads(self.name, self.annotations)

    def to_gaia_format(self, prefix: str, raw_server_name: str | None = None) -> dict[str, Any]:
        """The entry for GAIA's `_TOOL_REGISTRY`, without its `function`: GAIA's documents, "Tool Registration Pattern".
        Its name is made with `prefix`; `raw_server_name` is the server's own, the same if it is not given.

        A parameter's `type` is one word, or a list of several; `enum` and `items` are there where the schema has them.
        Tolerates every schema.
        """
        required = dict.fromkeys(required_of(self.input_schema))
        # Some schemas require properties that they do not describe.
        described = {**properties_of(self.input_schema)}
        described.update((name, {}) for name in required if name not in described)
        parameters = {
            name: _parameter(schema, self.input_schema, is_required=name in required)
            for name, schema in described.items()
        }
        return {
            "name": f"mcp_{prefix}_{self.name}",
            "display_name": f"{self.title} ({prefix})",
            "description": f"[MCP:{prefix}] {self.description}",
            "parameters": parameters,
            "atomic": True,
            "requires_confirmation": not self.only_reads,
            "_mcp_server": prefix if raw_server_name is None else raw_server_name,
            "_mcp_tool_name": self.name,
        }


def mcp_tool_requires_confirmation(name: str, annotations: dict[str, Any] | None) -> bool:
    """Whether the user should confirm a call of the tool `name`: unless its server declares it read-only, and its name
    does not contradict that.
    """
    return not only_reads(name, annotations or {})


def _parameter(schema: Any, root: dict[str, Any], *, is_required: bool) -> dict[str, Any]:
    parts = parts_of(schema, root)
    types = list(dict.fromkeys(kind for part in parts for kind in _types(part)))
    parameter: dict[str, Any] = {
        "type": types[0] if len(types) == 1 else types or "string",
        "required": is_required,
        "description": description_of(schema, root),
    }
    if choices := _all_choices(schema, root):
        parameter["enum"] = choices
    if (items := next((part["items"] for part in parts if isinstance(part.get("items"), dict)), None)) is not None:
        parameter["items"] = resolved(items, root)
    return parameter


def _types(part: dict[str, Any]) -> list[str]:
    return types_of(part) or [_TYPES[type(choice)] for choice in choices_of(part) if type(choice) in _TYPES]


def _all_choices(schema: Any, root: dict[str, Any]) -> list[Any]:
    """The only allowed values; empty if a part of a union does not list its values."""
    for part in parts_of(schema, root, ("allOf",)):
        if choices := choices_of(part):
            return choices
    unions = ("anyOf", "oneOf")
    members = [part for part in parts_of(schema, root, unions) if not any(union in part for union in unions)]
    found = [choices_of(member) for member in members if member.get("type") != "null"]
    if not all(found):
        return []
    merged: list[Any] = []
    for choice in itertools.islice((choice for choices in found for choice in choices), MAX_CHOICES):
        if not any(is_same(choice, other) for other in merged):
            merged.append(choice)
    return merged


def failure_of(result: dict[str, Any]) -> str:
    """The text of a result that reports a failure (`isError`)."""
    content = result.get("content")
    blocks = content if isinstance(content, list) else []
    texts = [block["text"] for block in blocks if isinstance(block, dict) and isinstance(block.get("text"), str)]
    return "\n".join(texts) or "the tool reported an error without a text"


def read_tools(
    definitions: list[Any], is_used: Callable[[str], bool] = lambda _: True, *, trusts_hints: bool = True
) -> tuple[list[MCPTool], list[str]]:
    """The usable tools among a server's definitions, and messages about the unusable ones, except those whose name
    `is_used` rejects.
    """
    tools: list[MCPTool] = []
    problems: list[str] = []
    seen: set[str] = set()
    for number, definition in enumerate(definitions, 1):
        name = definition.get("name") if isinstance(definition, dict) else None
        if not isinstance(name, str) or not name:
            problems.append(f"tool {number} has no name")
            continue
        if name in seen:
            problems += [f"tool {name!r} is listed twice"] if is_used(name) else []
            continue
        seen.add(name)
        schema, annotations = definition.get("inputSchema"), definition.get("annotations")
        if not isinstance(schema, dict):
            problems += [f"tool {name!r} has no inputSchema object"] if is_used(name) else []
            schema = {}
        description = definition.get("description")
        tools.append(
            MCPTool(
                name,
                description if isinstance(description, str) else "",
                schema,
                annotations if isinstance(annotations, dict) else {},
                definition,
                trusts_hints,
            )
        )
    return tools, list(dict.fromkeys(problems))

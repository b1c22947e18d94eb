"""Three tools in place of many, for models with a small context: to find tools, to describe one, and to call one.

A search lists a line for each tool, ranked as by `gaia mcp search`.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Container, Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from gaia_mcp.checking import Checker
from gaia_mcp.protocol.jsonrpc import INVALID_PARAMS
from gaia_mcp.server.definitions import page_of
from gaia_mcp.server.provider import (
    Change,
    Listener,
    Provider,
    RequestError,
    ToolList,
    WrappingProvider,
    all_tools,
    unknown_tool,
)
from gaia_mcp.server.results import failure
from gaia_mcp.text import cut, first_line, one_line
from gaia_mcp.toolspec.describe import SearchWord, score, search_words, signature
from gaia_mcp.toolspec.validation import report

if TYPE_CHECKING:
    from gaia_mcp.asking import Call
    from gaia_mcp.fleet.gateway.gate import Owners
    from gaia_mcp.protocol.server import Description

# Longer texts are shortened: the tool's definition has the full text.
SIGNATURE_CHARS, DESCRIPTION_CHARS = 200, 120
Wire = dict[str, Any]
# The limit of an unknown tool's name in an error message.
NAME_CHARS = 100
DESCRIBE: Wire = {
    "name": "describe",
    "description": "Describe a tool that find has found: what it does, and the JSON Schema of its arguments.",
    "inputSchema": {
        "type": "object",
        "properties": {"name": {"type": "string", "description": "The tool's name"}},
        "required": ["name"],
        "additionalProperties": False,
    },
    "annotations": {"readOnlyHint": True, "openWorldHint": False},
}
CALL: Wire = {
    "name": "call",
    "description": "Call a tool that find has found.",
    "inputSchema": {
        "type": "object",
        "properties": {
            "name": {"type": "string", "description": "The tool's name"},
            "arguments": {"type": "object", "description": "Its arguments, as describe shows them"},
        },
        "required": ["name"],
        "additionalProperties": False,
    },
    # It may do anything that one of the tools does.
    "annotations": {"readOnlyHint": False, "destructiveHint": True, "idempotentHint": False, "openWorldHint": True},
}
# The members of a definition that a model needs.
DESCRIBED = ("name", "title", "description", "inputSchema", "annotations")


class _Match(NamedTuple):
    """A tool, the number of words that it matches, and its score."""

    words: int
    points: int
    tool: Wire


def found_tools(tools: Iterable[Wire], words: str, limit: int, owners: Owners) -> list[str]:
    """The lines for the tools that match all of `words`: at most `limit` tools, and a last line with the number of
    others. If no tool matches all words, a first line says so, and the tools that match some of them follow.
    """
    wanted = search_words([words])
    matches = _matches(tools, wanted, owners)
    if not matches:
        return ["No tool matches any of these words. Use others, or no words at all."]
    lines = [] if matches[0].words == len(wanted) else ["No tool matches all of these words. The closest:"]
    lines += [_line(match.tool) for match in matches[:limit]]
    if len(matches) > limit:
        lines.append(f"… and {len(matches) - limit} more: use more words, or a higher limit.")
    return lines


def counted_tools(tools: Iterable[Wire], owners: Owners) -> list[str]:
    """A line for each server, with the number of its tools."""
    counts = Counter(_server_of(tool, owners) for tool in tools)
    lines = [f"{one_line(server)}: {count} tool{'s' if count > 1 else ''}" for server, count in sorted(counts.items())]
    return lines or ["There are no tools."]


def _matches(tools: Iterable[Wire], wanted: Sequence[SearchWord], owners: Owners) -> list[_Match]:
    found = []
    for tool in tools:
        server = _server_of(tool, owners)
        points = [score(tool, [word], server) for word in wanted]
        if any(points):
            found.append(_Match(sum(map(bool, points)), sum(points), tool))
    found.sort(key=lambda match: (-match.words, -match.points, match.tool["name"]))
    return [match for match in found if match.words == len(wanted)] or found


def _server_of(tool: Wire, owners: Owners) -> str:
    owner = owners(tool["name"])
    return owner.server if owner is not None else ""


def _line(tool: Wire) -> str:
    shown = one_line(signature(tool["name"], tool.get("inputSchema"), SIGNATURE_CHARS), SIGNATURE_CHARS)
    described = first_line(tool.get("description"))
    return f"{shown}  {one_line(described, DESCRIPTION_CHARS)}" if described else shown


# The default and the maximum of the number of tools in one result.
FOUND_TOOLS, MOST_TOOLS = 10, 50

FIND: Wire = {
    "name": "find",
    "description": (
        "Find tools by words about what they do; the best match comes first. Without words: the servers, and how many "
        "tools each has. Then use describe to read about a tool, and call to call it."
    ),
    "inputSchema": {
        "type": "object",
        "properties": {
            "words": {"type": "string", "description": "For example: create issue"},
            "limit": {"type": "integer", "minimum": 1, "maximum": MOST_TOOLS, "default": FOUND_TOOLS},
        },
        "additionalProperties": False,
    },
    "annotations": {"readOnlyHint": True, "openWorldHint": False},
}


class SearchProvider(WrappingProvider):
    """Offers `find`, `describe` and `call` in place of the tools of `provider`. Prompts and resources are unchanged.

    `read_only` means that all tools of the provider are read-only, and so `call` is too.
    """

    def __init__(self, provider: Provider, owners: Owners, *, read_only: bool = False) -> None:
        super().__init__(provider)
        self._owners = owners
        called = {**CALL, "annotations": {"readOnlyHint": True, "openWorldHint": True}} if read_only else CALL
        functions: tuple[tuple[Wire, Callable[[Wire, Wire, Call], Wire]], ...] = (
            (FIND, self._find), (DESCRIBE, self._describe), (called, self._call),
        )  # fmt: skip
        self._tools = {each["name"]: _Tool(each, Checker(each["inputSchema"]), run) for each, run in functions}

    def describe(self) -> Description:
        """As the provider, but with a list of tools that never changes."""
        described = self._provider.describe()
        return described._replace(capabilities={**described.capabilities, "tools": {}})

    def answer(self, method: str, params: Wire, call: Call) -> Wire:
        """As the provider, except for the list and the calls of the three tools. Raises as the provider, and
        `RequestError`.
        """
        if method == "tools/list":
            return page_of("tools", self.all_tools(call).tools, "name", params)
        if method != "tools/call":
            return self._provider.answer(method, params, call)
        name, arguments = params.get("name"), params.get("arguments", {})
        if not isinstance(arguments, dict):
            raise RequestError("tools/call needs params.arguments to be an object")
        if not isinstance(name, str) or (tool := self._tools.get(name)) is None:
            raise unknown_tool(str(name))
        arguments, problems = tool.checker.checked_arguments(arguments)
        if problems:
            lines = [f"- {problem}" for problem in problems]
            return failure(report(name, lines, tool.definition["inputSchema"], arguments))
        return tool.run(arguments, params, call)

    def all_tools(self, call: Call) -> ToolList:  # noqa: ARG002
        """The three tools."""
        return ToolList([tool.definition for tool in self._tools.values()], {})

    def on_change(self, listener: Listener, wanted: Container[str] = ()) -> Callable[[], None]:
        """As the provider, without the changes of its tools."""

        def without_tools(change: Change) -> None:
            kept = change._replace(lists=tuple(kind for kind in change.lists if kind != "tools"))
            if kept != Change():
                listener(kept)

        return self._provider.on_change(without_tools, wanted)

    def _find(self, arguments: Wire, _: Wire, call: Call) -> Wire:
        listed = all_tools(self._provider, call)
        if (words := arguments.get("words", "")).strip():
            lines = found_tools(listed.tools, words, arguments.get("limit", FOUND_TOOLS), self._owners)
        else:
            lines = counted_tools(listed.tools, self._owners)
        if listed.missing:
            lines.append(f"Not available now: {one_line(', '.join(listed.missing))}")
        return _text("\n".join(lines))

    def _describe(self, arguments: Wire, _: Wire, call: Call) -> Wire:
        name = arguments["name"]
        tools = all_tools(self._provider, call).tools
        tool = next((tool for tool in tools if tool["name"] == name), None)
        if tool is None:
            return _unknown(name)
        return _text(json.dumps({key: tool[key] for key in DESCRIBED if key in tool}, ensure_ascii=False))

    def _call(self, arguments: Wire, params: Wire, call: Call) -> Wire:
        inner = {**params, "name": arguments["name"], "arguments": arguments.get("arguments", {})}
        try:
            return self._provider.answer("tools/call", inner, call)
        except RequestError as error:
            # The model gave these parameters to `call`, so it has to read the error as a result.
            if error.code == INVALID_PARAMS:
                return failure(f"{error}. Use find to look for tools, and describe for their arguments.")
            raise


class _Tool(NamedTuple):
    """One of the three tools. `run` is called with its arguments, the parameters of the request, and the call."""

    definition: Wire
    checker: Checker
    run: Callable[[Wire, Wire, Call], Wire]


def _unknown(name: str) -> Wire:
    return failure(f"There is no tool {cut(name, NAME_CHARS)!r}. Use find to look for tools.")


def _text(text: str) -> Wire:
    return {"content": [{"type": "text", "text": text}], "isError": False}

"""`gaia mcp tools`: the tools of servers, as signatures, as costs in a model's context, or as functions of a language
model's API.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gaia_mcp.cli.completion.completers import tool_targets
from gaia_mcp.cli.grammar import ServerWords
from gaia_mcp.cli.invocation import Invocation
from gaia_mcp.cli.options import AGENT, CONFIG, FRESH, HEADER, JSON, STAGE, TIMEOUT
from gaia_mcp.cli.screen import columns
from gaia_mcp.cli.screen.output import counted
from gaia_mcp.cli.typer_command import ServerCommand
from gaia_mcp.text import one_line

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gaia_mcp.cli.screen.inventory import Inventory
    from gaia_mcp.cli.screen.output import Screen
    from gaia_mcp.client.tools import MCPTool
    from gaia_mcp.fleet.parallel import Result
    from gaia_mcp.fleet.session import Session

Names = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[NAME...]",
        help="Servers, each with the tools to show. Default: all that are enabled.",
        autocompletion=tool_targets,
    ),
]
SchemaOption = Annotated[bool, typer.Option("--schema", help="Print the whole input schema of each tool.")]
CostOption = Annotated[bool, typer.Option("--cost", help="Print how many tokens the definitions of each server take.")]
NamesOption = Annotated[bool, typer.Option("--names", help="Print only names: of one server's tools, or SERVER.TOOL.")]

OpenAIOption = Annotated[
    bool, typer.Option("--openai", help="Print them as the functions of a chat completion, in OpenAI's format.")
]

SETTINGS = {"cls": ServerCommand}

# Longer than any name that a person would type.
NAME_CHARS = 1000

COMMON = (STAGE, AGENT, FRESH, HEADER, CONFIG, JSON, TIMEOUT)
# Models count differently; for English and JSON a token is about four bytes.
TOKEN_BYTES = 4
# The members that a host gives to a model; the others are for the host.
SHOWN_TO_MODELS = ("name", "description", "inputSchema")
# The column that a narrow terminal omits.
TOOLS = 1
# The limit for a remark about one schema.
REMARK_CHARS = 300


def tools(
    invocation: Invocation,
    names: Names = None,
    schema: SchemaOption = False,
    only_names: NamesOption = False,
    cost: CostOption = False,
    openai: OpenAIOption = False,
) -> None:
    """Show the tools of servers, as signatures.

    Required parameters come first. Without a name, asks all enabled servers at once. A tool that is named, as
    SERVER.TOOL or after its server, is shown with its whole description and those of its arguments. With --cost, shows
    what the definitions would take of a model's context, at four bytes for a token. With --openai, prints the tools of
    a chat completion, and repairs schemas that the API refuses; --json adds the server and the tool that each function
    stands for.

    Example: gaia mcp tools time.get_current_time
    """
    from gaia_mcp.cli.screen.inventory import Kind, show_inventory

    screen = invocation.screen
    store = invocation.open_store_for(invocation.typed(names or []))
    typed = invocation.typed(names or []).of_names(store.names())
    wanted, of_command = _wanted(typed, store.names())
    entries = invocation.servers(store, ServerWords(list(wanted), typed.after))
    chosen = {entry.name: tools for entry, tools in zip(entries, [*wanted.values(), of_command], strict=False)}
    is_one = len(chosen) == 1

    def lines(tool: MCPTool) -> list[str]:
        return _lines(tool, is_looked_at=any(chosen.values()), with_schema=schema)

    def as_object(tool: MCPTool) -> dict[str, Any]:
        if cost:
            return {"name": tool.name, "tokens": tokens_of(tool.definition)}
        return {"name": tool.name} if only_names else tool.definition

    def print_names(result: Result) -> None:
        for tool in result.value.items:
            name = tool.name if is_one else f"{result.entry.name}.{tool.name}"
            screen.print_line(one_line(name, NAME_CHARS))

    kind = Kind(
        "tools",
        lambda session: _read(session, chosen.get(session.entry.name, ())),
        as_object,
        lines,
        is_expected=True,
    )
    if openai:
        functions = Functions(screen)
        try:
            show_inventory(kind, entries, store, invocation, functions.add, as_json=False)
        finally:
            functions.print(with_names=screen.as_json)
        return
    costs = Costs(screen)
    try:
        show_inventory(kind, entries, store, invocation, costs.add if cost else print_names if only_names else None)
    finally:
        costs.print()


def _wanted(typed: ServerWords, servers: Sequence[str]) -> tuple[dict[str, list[str]], list[str]]:
    """The named servers, each with its requested tools, and the server of the command after two dashes; all servers if
    none is named.

    A word that is the name of a server always names that server. A word that cannot be a target is a tool of the server
    before it.
    """
    from gaia_mcp.cli.entries.targets import is_target, tool_of

    wanted: dict[str, list[str]] = {}
    of_command: list[str] = []
    server = ""
    for word in typed.before:
        if (parts := tool_of(word, servers)) is not None:
            server = parts[0]
            wanted.setdefault(server, []).append(parts[1])
        elif word in servers or is_target(word) or not (server or typed.after):
            server = word
            wanted.setdefault(server, [])
        else:
            (wanted[server] if server else of_command).append(word)
    return wanted, of_command


def _read(session: Session, names: Sequence[str]) -> Inventory:
    """The tools with these names, or all. Raises `ToolUnknownError`, and `ToolExcludedError` as `Session.find_tool`
    does.
    """
    from gaia_mcp.cli.screen.inventory import Inventory
    from gaia_mcp.fleet.session import unknown_tool

    found = session.tools()
    known = {tool.name: tool for tool in found}
    for name in names:
        if name not in known and session.find_tool(name) is None:
            raise unknown_tool(session, name, known)
    if names:
        return Inventory([known[name] for name in dict.fromkeys(names)], [])
    if not found and "tools" not in session.capabilities:
        others = ", ".join(session.capabilities)
        return Inventory([], [f"does not declare {f'tools, only {others}' if others else 'any capability'}"])
    return Inventory(found, session.problems)


def _lines(tool: MCPTool, *, is_looked_at: bool, with_schema: bool) -> list[str]:
    import json

    from gaia_mcp.cli.screen.inventory import description_lines, signature_lines
    from gaia_mcp.toolspec.describe import signature
    from gaia_mcp.toolspec.schema import description_of, properties_of
    from gaia_mcp.toolspec.tool_filter import hints_in_words

    schema = tool.input_schema
    hints = "".join(f" ({hint})" for hint in hints_in_words(tool.annotations))
    lines = signature_lines(signature(tool.name, schema) + hints)
    lines += description_lines(tool.description, whole=is_looked_at or with_schema)
    if with_schema:
        lines += [f"    {line}" for line in json.dumps(schema, indent=2, ensure_ascii=False).splitlines()]
    elif is_looked_at:
        explained = ((key, description_of(described, schema)) for key, described in properties_of(schema).items())
        for key, text in explained:
            lines += description_lines(f"{key}: {text}", whole=True) if text else []
    return lines


def tokens_of(definition: Mapping[str, Any]) -> int:
    """The approximate number of tokens of a tool's definition."""
    shown = {key: definition[key] for key in SHOWN_TO_MODELS if key in definition}
    text = json.dumps(shown, ensure_ascii=False, separators=(",", ":"))
    return -(-len(text.encode("utf-8", "replace")) // TOKEN_BYTES)


class Costs:
    """The costs of servers, printed together once all are known, because they are aligned in columns."""

    def __init__(self, screen: Screen) -> None:
        self._screen = screen
        self._rows: list[tuple[str, int, int]] = []

    def add(self, result: Result) -> None:
        """Add the tools of a server."""
        tools = result.value.items
        self._rows.append((result.entry.name, len(tools), sum(tokens_of(tool.definition) for tool in tools)))

    def print(self) -> None:
        """Print a line for each server, and the total if there are several."""
        rows = list(self._rows)
        if len(rows) > 1:
            rows.append(("in all", sum(row[1] for row in rows), sum(row[2] for row in rows)))
        shown = [(one_line(name), counted(tools, "tool"), f"about {tokens:,} tokens") for name, tools, tokens in rows]
        for line in columns(shown, spare=(TOOLS,)):
            self._screen.print_line(line)


def _remark_schema(screen: Screen, owner: str, problem: str) -> None:
    screen.remark(one_line(f"{owner}: {problem}", REMARK_CHARS))


class Functions:
    """The functions of several servers, printed together once all are known, because their names must be unique."""

    def __init__(self, screen: Screen) -> None:
        self._screen = screen
        self._tools: list[tuple[str, MCPTool]] = []

    def add(self, result: Result) -> None:
        """Add the tools of a server."""
        self._tools += [(result.entry.name, tool) for tool in result.value.items]

    def print(self, *, with_names: bool) -> None:
        """Print the `tools` of a chat completion as JSON; `with_names`, an object with these and, for each function,
        its server and its tool.

        A function is named after its tool, or SERVER_TOOL if several servers have a tool of that name.
        """
        from gaia_mcp.toolspec.repair import FunctionNames, openai_function

        counts = Counter(tool.name for _, tool in self._tools)
        names = FunctionNames()
        wanted = {
            (server, tool.name): tool.name if counts[tool.name] == 1 else f"{server}_{tool.name}"
            for server, tool in self._tools
        }
        names.add((f"{server}.{tool}", name) for (server, tool), name in wanted.items())
        functions: list[dict[str, Any]] = []
        origins = {}
        for server, tool in self._tools:
            name = names.function_of(f"{server}.{tool.name}")
            owner = f"tool {tool.name!r} of {server!r}"
            functions.append(
                openai_function(name, tool.description, tool.input_schema, partial(_remark_schema, self._screen, owner))
            )
            origins[name] = {"server": server, "tool": tool.name}
        self._screen.print_json({"tools": functions, "names": origins} if with_names else functions)

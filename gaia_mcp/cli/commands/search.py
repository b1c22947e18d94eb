"""`gaia mcp search`: find tools among all servers."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gaia_mcp.cli.completion.completers import servers
from gaia_mcp.cli.grammar import ServerWords
from gaia_mcp.cli.invocation import Invocation
from gaia_mcp.cli.options import AGENT, CONFIG, FRESH, HEADER, JSON, STAGE, TIMEOUT
from gaia_mcp.cli.typer_command import ServerCommand

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gaia_mcp.config.entries import ServerEntry
    from gaia_mcp.core.deadline import Deadline

Words = Annotated[
    list[str],
    typer.Argument(metavar="WORD...", help="Words, or globs of names; a tool has to match all of them."),
]

ServerOption = Annotated[
    list[str] | None,
    typer.Option(
        "--server", metavar="NAME", help="Search only this server.", autocompletion=servers,
        show_default=False,
    ),
]  # fmt: skip

RegistryOption = Annotated[bool, typer.Option("--registry", help="Search the registry for servers to add instead.")]

# The limit for a description after a signature.
DESCRIPTION_CHARS = 100
# Servers without cached tools are asked during a search; one that hangs must not slow down every search.
ASKING_SECONDS = 10.0

SETTINGS = {"cls": ServerCommand}

COMMON = (STAGE, AGENT, FRESH, HEADER, CONFIG, JSON, TIMEOUT)


def search(invocation: Invocation, words: Words, only: ServerOption = None, registry: RegistryOption = False) -> None:
    """Search the tools of servers, by words or patterns.

    Looks in names, descriptions and parameters, of all enabled servers or of those that are named, and prints the
    best match first. A word with * or ? is a glob, which the whole name of a tool has to match. Connects only to
    servers whose tools are not known or no longer fresh, for ten seconds at most, or that are not saved. Exit code
    7 if no tool is found, with words that find the closest. With --registry it searches the official registry of
    servers, the one of GAIA_MCP_REGISTRY, or the one whose URL is the first word.

    Example: gaia mcp search issue create
    """
    screen = invocation.screen
    if registry:
        from gaia_mcp.cli.entries.registry import print_published

        print_published(screen, words, invocation.deadline())
        return
    from gaia_mcp.cli.screen.inventory import enabled_names
    from gaia_mcp.core.deadline import Deadline
    from gaia_mcp.core.errors import ToolError
    from gaia_mcp.toolspec.describe import closest_words, score, search_words

    store, typed, deadline = invocation.open_store(), invocation.typed(words), invocation.deadline()
    command = typed.after if typed.has_command(()) else ()
    if only or command:
        entries = invocation.servers(store, ServerWords(only or [], command))
    else:
        invocation.check_saved()
        enabled = [store.entry(name) for name in enabled_names(screen, store)]
        entries = [entry for entry in enabled if entry.is_available(invocation.stage, invocation.agent)]
        deadline = deadline or Deadline(ASKING_SECONDS)
    wanted = search_words(typed.before if command else words)
    known = [(server, tool) for server, tools in _known(entries, invocation, deadline) for tool in tools]
    found = [(points, server, tool) for server, tool in known if (points := score(tool, wanted))]
    if not found:
        closest = closest_words([tool for _, tool in known], wanted)
        more = " ".join(map(shlex.quote, [*closest, *(word for name in only or [] for word in ("--server", name))]))
        hint = f"find the closest with: {screen.line.to_type('search', more=more)}" if closest and not command else ""
        raise ToolError(f"no tool matches {' '.join(words)!r}", hint=hint or "use fewer words, or parts of them")
    found.sort(key=lambda one: (-one[0], one[1], one[2]["name"]))
    if screen.as_json:
        screen.print_json({"tools": [{"server": server, **tool} for _, server, tool in found]})
        return
    for _, server, tool in found:
        screen.print_line(_line(server, tool))


def _known(
    entries: list[ServerEntry], invocation: Invocation, deadline: Deadline | None
) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """The tools of each server, from a fresh cache. Servers without one are asked, and those that are not saved."""
    from gaia_mcp.core.paths import cache_folder
    from gaia_mcp.storage.server_cache import ServerCache

    unknown = []
    for entry in entries:
        tools = ServerCache(cache_folder(), entry).seen(is_fresh=True)
        if tools is None or entry.source is None:
            unknown.append(entry)
        else:
            yield entry.name, tools
    if not unknown:
        return
    from gaia_mcp.cli.screen.session_view import asking
    from gaia_mcp.fleet.parallel import ask_all

    with asking(invocation.screen, unknown) as view:
        # Unless `--timeout` replaces it, the timeout of an entry applies.
        keeps = invocation.timeout is None
        results = ask_all(unknown, lambda session: session.tools(), view, deadline, keeps_timeouts=keeps)
    for result in results:
        if result.error is not None:
            see = invocation.line.to_type("tools", result.entry.name)
            invocation.screen.remark(f"not searched: {result.error.message}; see: {see}")
        else:
            yield result.entry.name, [tool.definition for tool in result.value]


def _line(server: str, tool: dict[str, Any]) -> str:
    from gaia_mcp.cli.screen import fitted
    from gaia_mcp.text import first_line, one_line
    from gaia_mcp.toolspec.describe import signature

    name = f"{server} {tool['name']}"
    shown = one_line(f"{server} {signature(tool['name'], tool.get('inputSchema'))}", 1000)
    if described := first_line(tool.get("description")):
        shown += f"  {one_line(described, DESCRIPTION_CHARS)}"
    return fitted(shown, one_line(name))

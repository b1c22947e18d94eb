"""The tools, prompts or resources of several servers, requested concurrently and printed server by server."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import typer

from gaia_mcp.cli.screen.output import counted

if TYPE_CHECKING:
    from gaia_mcp.cli.invocation import Invocation
    from gaia_mcp.cli.lines import CommandLine
    from gaia_mcp.cli.screen.output import Screen
    from gaia_mcp.config.entries import ServerEntry
    from gaia_mcp.config.store import ConfigStore
    from gaia_mcp.fleet.parallel import Result
    from gaia_mcp.fleet.session import Session

# A server's items are indented below its name.
INDENT = 2


class Inventory(NamedTuple):
    """The items of one server, and the problems of its lists, in words."""

    items: Sequence[Any]
    problems: Sequence[str]


class Kind(NamedTuple):
    """A kind of item: `plural` in text and JSON, how to request the items, and how to convert one to an object and to
    lines.

    Unless `is_expected`, a server without items is printed only if it was named.
    """

    plural: str
    read: Callable[[Session], Inventory]
    as_object: Callable[[Any], Any]
    as_lines: Callable[[Any], list[str]]
    is_expected: bool = False


def show_inventory(
    kind: Kind,
    entries: Sequence[ServerEntry],
    store: ConfigStore,
    invocation: Invocation,
    show: Callable[[Result], None] | None = None,
    *,
    as_json: bool = True,
) -> None:
    """Request the items of the named servers in `entries`, or of all enabled servers if it is empty, and print them, or
    pass each result to `show`. With `--json` they are printed as JSON instead, unless `as_json` is false.

    Raises the error of a single named server. For several, reports each error, and the first one determines the exit
    code.
    """
    screen = invocation.screen
    from gaia_mcp.cli.screen.session_view import asking
    from gaia_mcp.fleet.parallel import ask_all

    if not entries:
        invocation.check_saved()
    enabled = [] if entries else [store.entry(name) for name in enabled_names(screen, store)]
    chosen = entries or [entry for entry in enabled if entry.is_available(invocation.stage, invocation.agent)]
    screen.line.used.extend(enabled)
    if not chosen:
        screen.remark(f"no servers to ask; {_why_none(screen.line, store, is_any_enabled=bool(enabled))}")
    with asking(screen, chosen) as view:
        results = ask_all(chosen, kind.read, view, invocation.deadline())
    if entries and len(results) == 1 and results[0].error is not None:
        raise results[0].error
    as_json = as_json and screen.as_json
    if as_json:
        screen.print_json({"servers": [_object(screen, kind, result) for result in results]})
    status = 0
    for result in results:
        if result.error is not None:
            failed = screen.report(result.error)
            status = status or int(failed)
            continue
        if as_json:
            continue
        if show is not None:
            show(result)
        elif entries or kind.is_expected or any(result.value):
            _show(screen, kind, result)
        for problem in result.value.problems:
            screen.remark(f"{result.entry.name}: {problem}")
    answers = [result.value for result in results if result.error is None]
    if answers and not entries and not kind.is_expected and not any(any(answer) for answer in answers):
        screen.remark(f"no {kind.plural}: {counted(len(answers), 'server')} asked")
    if status:
        raise typer.Exit(status)


def enabled_names(screen: Screen, store: ConfigStore) -> list[str]:
    """The servers that are not disabled. Prints a remark for an invalid entry."""
    from gaia_mcp.core.errors import EntryError

    names = []
    for name, entry in store.entries().items():
        if isinstance(entry, EntryError):
            screen.remark(f"skipped: {entry.message}")
        elif not entry.disabled:
            names.append(name)
    return names


def _object(screen: Screen, kind: Kind, result: Result) -> dict[str, Any]:
    shown: dict[str, Any] = {"name": result.entry.name}
    if result.error is not None:
        return {**shown, "error": screen.error_object(result.error)}
    peer = result.peer
    shown["serverInfo"] = peer.info if peer else {}
    shown["protocolVersion"] = peer.version if peer else ""
    shown[kind.plural] = [kind.as_object(item) for item in result.value.items]
    if result.value.problems:
        shown["problems"] = list(result.value.problems)
    return shown


def _show(screen: Screen, kind: Kind, result: Result) -> None:
    from gaia_mcp.cli.screen import fitted
    from gaia_mcp.text import one_line

    info = result.peer.info if result.peer else {}
    presented = " ".join(str(info[key]) for key in ("name", "version") if info.get(key))
    name = one_line(result.entry.name)
    screen.print_line(fitted(f"{name} ({one_line(presented, 80)})" if presented else name, name))
    for item in result.value.items:
        for line in kind.as_lines(item):
            screen.print_line(" " * INDENT + line)
    if not result.value.items and not result.value.problems:
        screen.print_line(f"  (no {kind.plural})")


def signature_lines(text: str) -> list[str]:
    """A signature in lines: several on a narrow terminal."""
    from gaia_mcp.cli.screen import folded
    from gaia_mcp.text import one_line

    return folded(one_line(text, 1000), margin=INDENT)


def description_lines(text: Any, *, whole: bool = False) -> list[str]:
    """A description below its name: its first line, or all of it with `whole`."""
    from gaia_mcp.cli.screen import fitted
    from gaia_mcp.text import clean, first_line

    cleaned = clean(text).strip() if isinstance(text, str) else ""
    if not cleaned:
        return []
    first = " ".join(first_line(cleaned).split())
    return [f"    {line}" for line in (cleaned.splitlines() if whole else [fitted(first, margin=INDENT + 4)])]


def _why_none(line: CommandLine, store: ConfigStore, *, is_any_enabled: bool) -> str:
    if is_any_enabled:
        return f"all that are enabled are restricted to other stages or agents; see: {line.to_type('list')}"
    return f"none is enabled; see: {line.to_type('list')}" if store.names() else line.how_to_add()

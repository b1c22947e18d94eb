"""The tools, prompts or resources of several servers, requested concurrently and printed server by server."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import typer

from gaia_mcp.cli.lines import CommandLine, how_to_add, to_type
from gaia_mcp.cli.screen.output import counted, error_object, print_json, print_line, remark, report

if TYPE_CHECKING:
    from gaia_mcp.cli.invocation import Invocation
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
) -> None:
    """Request the items of the named servers in `entries`, or of all enabled servers if it is empty, and print them, or
    pass each result to `show`.

    Raises the error of a single named server. For several, reports each error, and the first one determines the exit
    code.
    """
    from gaia_mcp.cli.screen.session_view import asking
    from gaia_mcp.fleet.parallel import ask_all

    if not entries:
        invocation.check_saved()
    enabled = [] if entries else [store.entry(name) for name in enabled_names(store)]
    chosen = entries or [entry for entry in enabled if entry.is_available(invocation.stage, invocation.agent)]
    CommandLine.used.extend(enabled)
    if not chosen:
        remark(f"no servers to ask; {_why_none(store, is_any_enabled=bool(enabled))}")
    with asking(chosen) as view:
        results = ask_all(chosen, kind.read, view, invocation.deadline())
    if entries and len(results) == 1 and results[0].error is not None:
        raise results[0].error
    if invocation.as_json:
        print_json({"servers": [_object(kind, result) for result in results]})
    status = 0
    for result in results:
        if result.error is not None:
            failed = report(result.error)
            status = status or int(failed)
            continue
        if invocation.as_json:
            continue
        if show is not None:
            show(result)
        elif entries or kind.is_expected or any(result.value):
            _show(kind, result)
        for problem in result.value.problems:
            remark(f"{result.entry.name}: {problem}")
    answers = [result.value for result in results if result.error is None]
    if answers and not entries and not kind.is_expected and not any(any(answer) for answer in answers):
        remark(f"no {kind.plural}: {counted(len(answers), 'server')} asked")
    if status:
        raise typer.Exit(status)


def enabled_names(store: ConfigStore) -> list[str]:
    """The servers that are not disabled. Prints a remark for an invalid entry."""
    from gaia_mcp.core.errors import EntryError

    names = []
    for name, entry in store.entries().items():
        if isinstance(entry, EntryError):
            remark(f"skipped: {entry.message}")
        elif not entry.disabled:
            names.append(name)
    return names


def _object(kind: Kind, result: Result) -> dict[str, Any]:
    shown: dict[str, Any] = {"name": result.entry.name}
    if result.error is not None:
        return {**shown, "error": error_object(result.error)}
    peer = result.peer
    shown["serverInfo"] = peer.info if peer else {}
    shown["protocolVersion"] = peer.version if peer else ""
    shown[kind.plural] = [kind.as_object(item) for item in result.value.items]
    if result.value.problems:
        shown["problems"] = list(result.value.problems)
    return shown


def _show(kind: Kind, result: Result) -> None:
    from gaia_mcp.cli.screen.terminal import fitted
    from gaia_mcp.text.safe import one_line

    info = result.peer.info if result.peer else {}
    presented = " ".join(str(info[key]) for key in ("name", "version") if info.get(key))
    name = one_line(result.entry.name)
    print_line(fitted(f"{name} ({one_line(presented, 80)})" if presented else name, name))
    for item in result.value.items:
        for line in kind.as_lines(item):
            print_line(" " * INDENT + line)
    if not result.value.items and not result.value.problems:
        print_line(f"  (no {kind.plural})")


def signature_lines(text: str) -> list[str]:
    """A signature in lines: several on a narrow terminal."""
    from gaia_mcp.cli.screen.terminal import folded
    from gaia_mcp.text.safe import one_line

    return folded(one_line(text, 1000), margin=INDENT)


def description_lines(text: Any, *, whole: bool = False) -> list[str]:
    """A description below its name: its first line, or all of it with `whole`."""
    from gaia_mcp.cli.screen.terminal import fitted
    from gaia_mcp.text.safe import clean, first_line

    cleaned = clean(text).strip() if isinstance(text, str) else ""
    if not cleaned:
        return []
    first = " ".join(first_line(cleaned).split())
    return [f"    {line}" for line in (cleaned.splitlines() if whole else [fitted(first, margin=INDENT + 4)])]


def _why_none(store: ConfigStore, *, is_any_enabled: bool) -> str:
    if is_any_enabled:
        return f"all that are enabled are restricted to other stages or agents; see: {to_type('list')}"
    return f"none is enabled; see: {to_type('list')}" if store.names() else how_to_add()

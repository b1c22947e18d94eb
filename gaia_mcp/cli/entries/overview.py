"""The configured servers, as `gaia mcp list` shows them.

Does not load Typer: a plain line is parsed with the table of `cli/grammar`.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gaia_mcp.cli.grammar import with_group
from gaia_mcp.cli.grammar.parsing import plain_line
from gaia_mcp.cli.invocation import Invocation, status_of_run
from gaia_mcp.cli.lines import CommandLine, program_name
from gaia_mcp.cli.screen import columns
from gaia_mcp.cli.screen.output import counted
from gaia_mcp.text import one_line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gaia_mcp.cli.screen.output import Screen
    from gaia_mcp.config.entries import ServerEntry
    from gaia_mcp.core.deadline import Deadline
    from gaia_mcp.core.errors import EntryError, MCPError

# The columns that a narrow terminal omits.
TRANSPORT, SCOPE, TARGET = 1, 3, 3

# `show` prints a longer value in full.
SCOPE_CHARS = 100
# A line with any other parameter goes to Typer.
_PARAMETERS = frozenset(("config", "as_json", "quiet"))


def run_if_plain(words: Sequence[str]) -> int | None:
    """Run the command line `words` if it is a plain `list`. Returns the exit code, or None for any other line."""
    words = with_group(words)
    if (line := plain_line(words, ("mcp", "list"), _PARAMETERS)) is None:
        return None
    given = dict(line.values)
    if "config" in given:
        given["config"] = Path(given["config"])
    invocation = Invocation.of(CommandLine(words, program=program_name()), "list", given)
    return status_of_run(invocation, lambda: show_servers(invocation))


def show_servers(invocation: Invocation, *, checks: bool = False, shows_outdated: bool = False) -> None:
    """Show the configured servers; with `checks` connect to all that are enabled, and with `shows_outdated` compare
    them with their registries instead.
    """
    screen = invocation.screen
    store = invocation.open_store()
    entries = store.entries()
    if shows_outdated:
        from gaia_mcp.cli.entries.registry import print_outdated

        print_outdated(screen, entries, invocation.deadline())
        return
    rows = _rows(entries)
    errors = _check(screen, entries, rows, invocation.deadline()) if checks else []
    if screen.as_json:
        screen.print_json({"servers": rows, "path": str(store.path)})
    elif rows:
        scopes = [_scope(row) for row in rows] if any(map(_scope, rows)) else []
        cells = [_cells(row, store.path, scopes[at : at + 1]) for at, row in enumerate(rows)]
        for line in columns(cells, spare=(*((SCOPE,) if scopes else ()), TRANSPORT, TARGET + len(scopes[:1]))):
            screen.print_line(line)
    else:
        screen.remark(f"no servers yet; {screen.line.how_to_add()}")
    _remark(screen, entries)
    screen.fail_with(errors)


def _remark(screen: Screen, entries: Mapping[str, ServerEntry | EntryError]) -> None:
    from gaia_mcp.core.errors import EntryError

    agents = [entry for entry in entries.values() if not isinstance(entry, EntryError) and entry.transport == "agent"]
    if agents:
        from gaia_mcp.cli.entries.remarks import remark_on_retries

        remark_on_retries(screen, agents)


def _rows(entries: Mapping[str, ServerEntry | EntryError]) -> list[dict[str, Any]]:
    from gaia_mcp.core.errors import EntryError

    rows: list[dict[str, Any]] = []
    for name, entry in entries.items():
        if isinstance(entry, EntryError):
            # An invalid entry must not prevent the others from being listed.
            rows.append({"name": name, "transport": "?", "invalid": entry.message, "target": entry.message})
        else:
            rows.append({**entry.masked(), "target": entry.described()})
    return rows


def _cells(row: dict[str, Any], path: Path, scope: list[str]) -> list[str]:
    return [one_line(row["name"]), row["transport"], _state(row, path), *scope, row["target"]]


def _scope(row: dict[str, Any]) -> str:
    """The stages and agents that may use the server, if it is restricted."""
    restrictions = {member: row[member] for member in ("stages", "agents") if member in row}
    return "; ".join(
        f"{member} {one_line(', '.join(names), SCOPE_CHARS)}" if names else f"no {member}"
        for member, names in restrictions.items()
    )


def _state(row: dict[str, Any], path: Path) -> str:
    if "invalid" in row:
        return "invalid"
    if "check" in row:
        return str(row["check"]["summary"])
    if row["disabled"]:
        return "disabled"
    return "enabled" if row["source"] in (None, str(path)) else "project"


def _check(
    screen: Screen,
    entries: Mapping[str, ServerEntry | EntryError],
    rows: list[dict[str, Any]],
    deadline: Deadline | None,
) -> list[MCPError]:
    """Connect to all servers at once, and add the results to `rows`. Returns the errors."""
    from gaia_mcp.cli.screen.session_view import asking
    from gaia_mcp.core.errors import EntryError
    from gaia_mcp.fleet.parallel import ask_all

    wanted = [
        (row, entry)
        for row, entry in zip(rows, entries.values(), strict=True)
        if not isinstance(entry, EntryError) and not entry.disabled
    ]
    errors: list[MCPError] = []
    asked = [entry for _, entry in wanted]
    with asking(screen, asked) as view:
        results = ask_all(asked, lambda session: session.tools(), view, deadline)
    for (row, _), result in zip(wanted, results, strict=True):
        if result.error is not None:
            row["check"] = {"ok": False, "summary": "failed", "error": screen.error_object(result.error)}
            row["target"] = one_line(result.error.message, 400)
            errors.append(result.error)
        else:
            peer, count = result.peer, len(result.value)
            row["check"] = {
                "ok": True,
                "summary": f"ok, {counted(count, 'tool')}, {result.seconds:.2f} s",
                "seconds": round(result.seconds, 3),
                "tools": count,
                "protocolVersion": peer.version if peer else "",
                "serverInfo": peer.info if peer else {},
            }
    return errors

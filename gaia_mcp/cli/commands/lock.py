"""`gaia mcp lock`: approve the tools of servers as they are now, and write down what they are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from gaia_mcp.cli.checks.locked import LockFileOption, changed, contract_now, lock_path
from gaia_mcp.cli.completion.sources import server_names
from gaia_mcp.cli.options import CONFIG, JSON, TIMEOUT, Invocation
from gaia_mcp.cli.screen.output import counted, error_object, remark, report, say, say_json
from gaia_mcp.toolspec.contract import as_objects, worded

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from gaia_mcp.errors import MCPError
    from gaia_mcp.session.parallel import Result
    from gaia_mcp.session.session import Session
    from gaia_mcp.storage.lock_file import LockedServer
    from gaia_mcp.toolspec.contract import Contract, ToolChange

Names = Annotated[
    list[str] | None,
    typer.Argument(metavar="[NAME...]", help="Servers.", autocompletion=server_names, show_default=False),
]
AllOption = Annotated[bool, typer.Option("--all", help="Every server that is not disabled, all at once.")]
UpdateOption = Annotated[bool, typer.Option("--update", help="Approve what has changed, and show it.")]

COMMON = (CONFIG, JSON, TIMEOUT)


def lock(
    invocation: Invocation,
    names: Names = None,
    every: AllOption = False,
    lock_file: LockFileOption = None,
    update: UpdateOption = False,
) -> None:
    """Write down what the tools of servers are, for --locked.

    A name, a title, a description, a schema or an annotation that changes afterwards is shown and refused, until
    --update approves it. Other servers in the file stay as they are.

    Example: gaia mcp lock time
    """
    from gaia_mcp.cli.screen.inventory import enabled_names
    from gaia_mcp.cli.screen.session_view import asking
    from gaia_mcp.cli.status import UsageError, status_of
    from gaia_mcp.errors import ConfigError
    from gaia_mcp.session.parallel import ask_all
    from gaia_mcp.storage.lock_file import LockedServer, read_lock, update_lock

    if not names and not every:
        raise UsageError("which server?", hint="name one, or lock all of them with --all")
    store, path = invocation.open_store(), lock_path(lock_file)
    chosen = enabled_names(store) if every else list(dict.fromkeys(names or []))
    if not chosen:
        raise ConfigError(f"no server to lock in {store.path}", hint="add one with: gaia mcp add NAME -- COMMAND")
    entries = [store.entry(name) for name in chosen]
    # Before anything is started: nobody wants to hear of a broken file afterwards.
    before = read_lock(path) or {}

    with asking(entries) as view:
        results = ask_all(entries, _seen, view, invocation.deadline())
    outcomes = [_outcome(result, before.get(result.entry.name), update=update) for result in results]
    approved = {
        outcome.result.entry.name: LockedServer(outcome.result.entry.target.summary(), outcome.result.value.contract)
        for outcome in outcomes
        if outcome.what in ("locked", "approved")
    }
    if approved:
        update_lock(path, approved)
    if invocation.as_json:
        say_json({"path": str(path), "servers": [_object(outcome, path) for outcome in outcomes]})
    else:
        for outcome in outcomes:
            _show(outcome, path)
    errors = [error for outcome in outcomes if (error := _error(outcome, path)) is not None]
    for result in results:
        for problem in result.value.problems if result.value is not None else ():
            remark(f"{result.entry.name}: {problem}")
    for error in errors:
        report(error)
    if errors:
        raise typer.Exit(status_of(errors[0]))


class _Seen(NamedTuple):
    """The tools of a server, and what was wrong with those that are none, in words."""

    contract: Contract
    problems: list[str]


class _Outcome(NamedTuple):
    """What came of one server: `what` is "failed", "changed", "unchanged", "approved" or "locked"."""

    result: Result
    what: str
    changes: Sequence[ToolChange] = ()


def _seen(session: Session) -> _Seen:
    contract = contract_now(session.entry.name, session.tools())
    return _Seen(contract, session.problems)


def _outcome(result: Result, before: LockedServer | None, *, update: bool) -> _Outcome:
    from gaia_mcp.toolspec.contract import differences

    if result.error is not None:
        return _Outcome(result, "failed")
    if before is None:
        return _Outcome(result, "locked")
    changes = differences(before.contract, result.value.contract)
    return _Outcome(result, ("approved" if update else "changed") if changes else "unchanged", changes)


def _error(outcome: _Outcome, path: Path) -> MCPError | None:
    """Why a server is not locked as it is now, None if it is."""
    if outcome.what == "changed":
        return changed(outcome.result.entry.name, outcome.changes, path)
    return outcome.result.error


def _show(outcome: _Outcome, path: Path) -> None:
    name = outcome.result.entry.name
    if outcome.what in ("locked", "unchanged"):
        tools = counted(len(outcome.result.value.contract), "tool")
        say(f"locked {name!r} in {path}: {tools}" if outcome.what == "locked" else f"{name!r} is as locked: {tools}")
    elif outcome.what != "failed":
        say(f"{name!r} has changed since it was locked" + ("; approved:" if outcome.what == "approved" else ":"))
        for line in worded(as_objects(outcome.changes)):
            say(f"  {line}")


def _object(outcome: _Outcome, path: Path) -> dict[str, Any]:
    shown: dict[str, Any] = {"name": outcome.result.entry.name, "outcome": outcome.what}
    if outcome.what != "failed":
        shown["tools"] = len(outcome.result.value.contract)
    if outcome.changes:
        shown["changes"] = as_objects(outcome.changes)
    if (error := _error(outcome, path)) is not None:
        shown["error"] = {key: value for key, value in error_object(error).items() if key != "changes"}
    return shown

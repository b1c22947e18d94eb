"""`gaia mcp lock` for one server: compares its current tools with the locked ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from gaia_mcp.cli.checks.locked import changed, contract_now
from gaia_mcp.cli.screen.output import counted, error_object, print_line
from gaia_mcp.toolspec.contract import Contract, ToolChange, as_lines, as_objects, differences

if TYPE_CHECKING:
    from pathlib import Path

    from gaia_mcp.errors import MCPError
    from gaia_mcp.session.parallel import Result
    from gaia_mcp.session.session import Session
    from gaia_mcp.storage.lock_file import LockedServer


class Seen(NamedTuple):
    """The tools of a server as a contract, and the problems of tools with an invalid definition."""

    contract: Contract
    problems: list[str]


class Outcome(NamedTuple):
    """The outcome for one server: "failed", "changed", "unchanged", "approved" or "locked"."""

    result: Result
    what: str
    changes: Sequence[ToolChange] = ()


def read_contract(session: Session) -> Seen:
    """The current tools of a server. Raises as the session's requests do."""
    contract = contract_now(session.entry.name, session.tools())
    return Seen(contract, session.problems)


def outcome_of(result: Result, before: LockedServer | None, *, update: bool) -> Outcome:
    """The outcome for a server that was locked as `before`, None if it never was; `update` approves its changes."""
    if result.error is not None:
        return Outcome(result, "failed")
    if before is None:
        return Outcome(result, "locked")
    changes = differences(before.contract, result.value.contract)
    return Outcome(result, ("approved" if update else "changed") if changes else "unchanged", changes)


def error_of(outcome: Outcome, path: Path) -> MCPError | None:
    """The error for a server that does not match its locked contract; None if it matches."""
    if outcome.what == "changed":
        return changed(outcome.result.entry.name, outcome.changes, path)
    return outcome.result.error


def print_outcome(outcome: Outcome, path: Path) -> None:
    """Print the outcome for a server; a failure is reported as an error instead."""
    name = outcome.result.entry.name
    if outcome.what in ("locked", "unchanged"):
        tools = counted(len(outcome.result.value.contract), "tool")
        print_line(
            f"locked {name!r} in {path}: {tools}"
            if outcome.what == "locked"
            else f"{name!r} is unchanged since it was locked: {tools}"
        )
    elif outcome.what != "failed":
        print_line(f"{name!r} has changed since it was locked" + ("; approved:" if outcome.what == "approved" else ":"))
        for line in as_lines(as_objects(outcome.changes)):
            print_line(f"  {line}")


def outcome_object(outcome: Outcome, path: Path) -> dict[str, Any]:
    """The outcome for a server in its JSON form."""
    shown: dict[str, Any] = {"name": outcome.result.entry.name, "outcome": outcome.what}
    if outcome.what != "failed":
        shown["tools"] = len(outcome.result.value.contract)
    if outcome.changes:
        shown["changes"] = as_objects(outcome.changes)
    if (error := error_of(outcome, path)) is not None:
        shown["error"] = {key: value for key, value in error_object(error).items() if key != "changes"}
    return shown

"""The output of an export."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from gaia_mcp.cli.screen.output import Form, error_object, print_json, print_line, remark
from gaia_mcp.cli.screen.table import columns
from gaia_mcp.cli.transfer.outcomes import difference, outcome_word
from gaia_mcp.cli.transfer.snippets import snippet
from gaia_mcp.hosts.masking import masked_entry
from gaia_mcp.paths import shown
from gaia_mcp.safetext import one_line

if TYPE_CHECKING:
    from gaia_mcp.cli.transfer.export_plan import ExportStep
    from gaia_mcp.hosts.places import Place


def print_export(place: Place, steps: Sequence[ExportStep], *, dry_run: bool) -> None:
    """Print the outcome for each server; for a `dry_run` the planned outcome, and the changes as a diff."""
    written = [step for step in steps if step.is_written]
    if Form.as_json:
        facts = {"host": place.host.key, "path": str(place.path), "dry_run": dry_run}
        errors = [error_object(step.error) for step in steps if step.error is not None]
        print_json({**facts, "servers": [_as_object(step, place) for step in steps], "errors": errors})
        return
    for step in written:
        for text in step.remarks:
            remark(f"{step.name}: {text}")
    rows = [_row(step, dry_run=dry_run) for step in steps if dry_run or not step.is_written]
    for line in columns(rows, names=2):
        print_line(line)
    if dry_run:
        # If only secrets differ, the masked sides are equal; the line above has reported it.
        if text := _diff(written, place):
            print_line(text)
    elif written:
        listed = ", ".join(repr(step.name) for step in written)
        print_line(f"exported {listed} to {shown(place.path)}")


def _as_object(step: ExportStep, place: Place) -> dict[str, Any]:
    return {
        "name": step.name,
        "outcome": step.outcome,
        "differs": list(step.differs),
        "remarks": list(step.remarks),
        "entry": _masked(step.new, place) if step.new is not None else None,
    }


def _row(step: ExportStep, *, dry_run: bool) -> list[str]:
    differs = one_line(f"differs in {', '.join(step.differs)}") if step.differs else ""
    return [outcome_word(step.outcome, dry_run=dry_run), one_line(step.name, 64), differs]


def _diff(written: Sequence[ExportStep], place: Place) -> str:
    old = {step.name: _masked(step.old, place) for step in written if isinstance(step.old, dict)}
    new = {step.name: _masked(step.new, place) for step in written}
    return difference(snippet(place.host, old), snippet(place.host, new), place.path)


def _masked(entry: Any, place: Place) -> Any:
    return masked_entry(entry, place.host.dialect.notation.pattern)

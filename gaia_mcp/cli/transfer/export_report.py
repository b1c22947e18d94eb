"""The output of an export."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from gaia_mcp.cli.screen.output import Form, error_object, print_json, print_line, remark
from gaia_mcp.cli.screen.terminal import columns
from gaia_mcp.cli.transfer.outcomes import difference, outcome_word
from gaia_mcp.cli.transfer.snippets import snippet
from gaia_mcp.hosts.masking import masked_entry
from gaia_mcp.paths import shown
from gaia_mcp.safetext import one_line

if TYPE_CHECKING:
    from gaia_mcp.cli.transfer.export_plan import ExportStep
    from gaia_mcp.errors import MCPError
    from gaia_mcp.hosts.places import Place


class Export(NamedTuple):
    """The outcome of an export to `place`: for each server, or the `error` that prevented all of it."""

    place: Place
    steps: Sequence[ExportStep]
    error: MCPError | None = None

    @property
    def errors(self) -> list[MCPError]:
        """The errors, in order."""
        found = [self.error, *(step.error for step in self.steps)]
        return [error for error in found if error is not None]


def print_exports(exports: Sequence[Export], *, dry_run: bool) -> None:
    """Print the outcome of each export; for a `dry_run` the planned outcome, and the changes as a diff. The JSON of
    several is a list of what it is for one.
    """
    if Form.as_json:
        objects = [_as_object(each, dry_run=dry_run) for each in exports]
        print_json(objects[0] if len(objects) == 1 else {"exports": objects})
        return
    for each in exports:
        if dry_run and len(exports) > 1:
            print_line(f"{each.place.host.title}: {shown(each.place.path)}")
        _print(each, dry_run=dry_run)


def _print(export: Export, *, dry_run: bool) -> None:
    place, steps = export.place, export.steps
    written = [step for step in steps if step.is_written]
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


def _as_object(export: Export, *, dry_run: bool) -> dict[str, Any]:
    return {
        "host": export.place.host.key,
        "path": str(export.place.path),
        "dry_run": dry_run,
        "servers": [_server_as_object(step, export.place) for step in export.steps],
        "errors": [error_object(error) for error in export.errors],
    }


def _server_as_object(step: ExportStep, place: Place) -> dict[str, Any]:
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

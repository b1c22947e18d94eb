"""An export: converts each entry to the host's format, compares it with the host's file, and writes it."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from gaia_mcp.cli.screen.output import remark
from gaia_mcp.cli.transfer.host_files import entry_for_host
from gaia_mcp.core.errors import ConfigError, MCPError
from gaia_mcp.core.paths import is_there, shown
from gaia_mcp.hosts.conversion import entry_from
from gaia_mcp.hosts.dialects import NotCarriedError
from gaia_mcp.hosts.files import Place, change_servers, servers_of
from gaia_mcp.hosts.masking import plain_secrets
from gaia_mcp.hosts.merging import differences

if TYPE_CHECKING:
    from gaia_mcp.hosts.dialects import Value
    from gaia_mcp.hosts.known import HostProgram


class ExportStep(NamedTuple):
    """The outcome for one server: "new", "same", "replaced", "conflict" or "left".

    `old` is its entry in the host's file, `new` the converted entry; either may be None. `error` is the reason why it
    is not written.
    """

    name: str
    outcome: str
    old: Any
    new: dict[str, Any] | None = None
    differs: Sequence[str] = ()
    remarks: Sequence[str] = ()
    error: MCPError | None = None

    @property
    def is_written(self) -> bool:
        """Whether the export writes this entry."""
        return self.outcome in ("new", "replaced")


def export_entries(
    place: Place, entries: Mapping[str, Mapping[str, Any]], variables: Value, *, dry_run: bool, force: bool
) -> list[ExportStep]:
    """Write `entries` to the file of `place`, unless this is a `dry_run`. Returns the outcome for each.

    Raises `ConfigFileError` for a file that cannot be read or written.
    """
    steps: list[ExportStep] = []

    def change(held: dict[str, Any]) -> dict[str, dict[str, Any]]:
        steps[:] = [_step(name, raw, place.host, held, variables, force=force) for name, raw in entries.items()]
        return {step.name: step.new for step in steps if step.is_written and step.new is not None}

    is_new = not is_there(place.path)
    if dry_run or is_new:
        held = {} if is_new else servers_of(place.path, place.layout, place.host.title)
        if not change(held) or dry_run:
            return steps
    if not is_there(place.path.parent):
        remark(f"{place.host.title} has no folder here yet; {shown(place.path.parent)} is created")
    # Compared again, now that the file is locked.
    change_servers(place.path, place.layout, place.host.title, change)
    return steps


def _step(
    name: str, raw: Mapping[str, Any], host: HostProgram, held: Mapping[str, Any], variables: Value, *, force: bool
) -> ExportStep:
    old = held.get(name)
    try:
        new, remarks = entry_for_host(name, raw, host, old, variables)
    except MCPError as error:
        return ExportStep(name, "left", old, error=error)
    if plain := plain_secrets(new, host.dialect.notation.pattern):
        remarks.append(f"is written with secrets in plain text: {', '.join(plain)}")
    if name not in held:
        return ExportStep(name, "new", old, new, remarks=remarks)
    try:
        # Both are converted to our format, so that members the host does not support are no difference.
        ours = [entry_from(entry, host.dialect)[0] for entry in (old, new)]
        differs = differences(ours[0], ours[1], shutil.which)
    except NotCarriedError:
        differs = ["everything"]
    step = ExportStep(name, "same", old, new, differs, remarks)
    if not differs:
        return step
    if force:
        return step._replace(outcome="replaced")
    problem = f"{host.title} has another {name!r} already: it differs in {', '.join(differs)}"
    return step._replace(outcome="conflict", error=ConfigError(problem, hint="replace it with --force"))

"""The servers that were added from a registry, compared with the newest versions there: `gaia mcp list --outdated`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, NamedTuple

from gaia_mcp.cli.entries.published import REGISTRY, open_registry
from gaia_mcp.cli.lines import to_type
from gaia_mcp.cli.screen.output import error_object, fail_with, print_json, print_line, remark
from gaia_mcp.cli.screen.session_view import SessionView
from gaia_mcp.cli.screen.terminal import columns
from gaia_mcp.deadline import DEFAULT_TIMEOUT_SECONDS, Deadline
from gaia_mcp.errors import EntryError, MCPError
from gaia_mcp.safetext import one_line

if TYPE_CHECKING:
    from gaia_mcp.catalog.documents import Document
    from gaia_mcp.config.entries import ServerEntry

# A registry is one service; more concurrent requests would not be answered sooner.
_AT_ONCE = 8


class Added(NamedTuple):
    """A server that was added from a registry: its name here, its name and version there, and the registry's URL, None
    for the official registry.
    """

    name: str
    published: str
    version: str
    url: str | None


def print_outdated(entries: Mapping[str, ServerEntry | EntryError], deadline: Deadline | None, as_json: bool) -> None:
    """Print each server that has a newer version, or all as JSON. Finally reports the errors of the registries."""
    added = [one for entry in entries.values() if (one := _added(entry)) is not None]
    deadline = deadline or Deadline(DEFAULT_TIMEOUT_SECONDS)
    with SessionView(f"checking {len(added)} servers"), ThreadPoolExecutor(_AT_ONCE) as threads:
        newest = list(threads.map(lambda one: _newest(one, deadline), added))
    if as_json:
        print_json({"servers": [_row(one, found) for one, found in zip(added, newest, strict=True)]})
    else:
        _print(added, newest)
    fail_with(found for found in newest if isinstance(found, MCPError))


def _added(entry: ServerEntry | EntryError) -> Added | None:
    noted = entry.raw.get(REGISTRY) if not isinstance(entry, EntryError) else None
    if isinstance(entry, EntryError) or not isinstance(noted, dict):
        return None
    name, version, url = (noted.get(key) for key in ("name", "version", "url"))
    if not isinstance(name, str) or not isinstance(version, str):
        return None
    return Added(entry.name, name, version, url if isinstance(url, str) else None)


def _newest(one: Added, deadline: Deadline) -> Document | MCPError:
    try:
        with open_registry(one.url, deadline) as registry:
            return registry.document(one.published)
    except MCPError as error:
        return error


def _is_outdated(one: Added, found: Document) -> bool:
    return found.version != one.version or found.status != "active"


def _row(one: Added, found: Document | MCPError) -> dict[str, Any]:
    row: dict[str, Any] = {"name": one.name, "registry": one.published, "version": one.version}
    if isinstance(found, MCPError):
        return {**row, "error": error_object(found)}
    return {**row, "latest": found.version, "status": found.status, "outdated": _is_outdated(one, found)}


def _print(added: Sequence[Added], newest: Sequence[Document | MCPError]) -> None:
    outdated = [
        (one, found)
        for one, found in zip(added, newest, strict=True)
        if not isinstance(found, MCPError) and _is_outdated(one, found)
    ]
    if not added:
        remark("no server was added from a registry")
    elif not outdated and not any(isinstance(found, MCPError) for found in newest):
        remark("all servers from a registry have their newest versions")
    rows = [
        [one.name, one_line(one.version), one_line(found.version), "" if found.status == "active" else found.status]
        for one, found in outdated
    ]
    for line in columns(rows):
        print_line(line.rstrip())
    if outdated:
        first, _ = outdated[0]
        remark(f"add the new version with: {to_type('add', first.name, first.published, more='--force')}")

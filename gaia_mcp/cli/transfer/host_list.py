"""`gaia mcp import` without a host: lists the hosts that have files here, and the number of servers in each file."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from gaia_mcp.cli.lines import to_type
from gaia_mcp.cli.screen.output import Form, counted, error_object, print_json, print_line, remark, report
from gaia_mcp.cli.screen.terminal import columns
from gaia_mcp.cli.transfer.host_files import home_folder, working_folder
from gaia_mcp.errors import MCPError
from gaia_mcp.hosts.files import servers_of
from gaia_mcp.hosts.places import all_places
from gaia_mcp.paths import shown


def show_hosts() -> int:
    """Print the hosts that have files here, and their numbers of servers. Returns the exit code."""
    rows: list[dict[str, Any]] = []
    errors: list[MCPError] = []
    for place in all_places(os.environ, home_folder(), working_folder()):
        row: dict[str, Any] = {"host": place.host.key, "title": place.host.title, "scope": place.scope}
        row |= {"path": str(place.path), "servers": None}
        try:
            row["servers"] = list(servers_of(place.path, place.layout, place.host.title))
        except MCPError as error:
            row["error"] = error_object(error)
            errors.append(error)
        if row["servers"] != [] or place.scope != "local":
            rows.append(row)
    if Form.as_json:
        print_json({"hosts": rows})
    else:
        for line in columns([_cells(row, shown(Path(row["path"]))) for row in rows]):
            print_line(line)
        if not rows:
            remark(f"no file of another host was found here; name one: {to_type('import', more='FILE')}")
        elif any(row["servers"] for row in rows):
            remark(f"import from one by its name, or from all with: {to_type('import', more='--all')}")
    return max([int(report(error)) for error in errors], default=0)


def _cells(row: dict[str, Any], path: str) -> list[str]:
    count = "cannot be read" if row["servers"] is None else counted(len(row["servers"]), "server")
    return [row["host"], count, path if row["scope"] == "user" else f"{path} ({row['scope']})"]

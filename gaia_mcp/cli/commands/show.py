"""`gaia mcp show`: everything about one server."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from gaia_mcp.cli.invocation import Invocation
from gaia_mcp.cli.options import CONFIG, HEADER, JSON, TIMEOUT, OnlyServerArgument
from gaia_mcp.cli.typer_command import ServerCommand

if TYPE_CHECKING:
    from gaia_mcp.config.entries import ServerEntry
    from gaia_mcp.fleet.session import Session

CheckOption = Annotated[
    bool, typer.Option("--check", help="Connect to the server, and show its version, capabilities and instructions.")
]

SETTINGS = {"cls": ServerCommand}

COMMON = (HEADER, CONFIG, JSON, TIMEOUT)


def show(invocation: Invocation, words: OnlyServerArgument, check: CheckOption = False) -> None:
    """Show one server in full.

    Prints its entry, with secrets hidden, and the number of its tools, if known. With --check also its name, protocol
    version, capabilities and instructions.

    Example: gaia mcp show demo --check
    """
    screen = invocation.screen
    entry = invocation.only_server(words)
    shown = entry.masked()
    shown["known_tools"] = _known_tools(entry)
    if check:
        from gaia_mcp.cli.screen.session_view import SessionView
        from gaia_mcp.fleet.session import connected

        with (
            SessionView(screen, f"starting {entry.name}") as view,
            connected(entry, view, deadline=invocation.deadline()) as session,
        ):
            shown["server"] = _presented(session)
            shown["known_tools"] = shown["server"]["tools"]
    if screen.as_json:
        screen.print_json(shown)
        return
    rows = _rows(shown)
    width = max(len(key) for key, _ in rows) + 2
    for key, text in rows:
        # Printed in full, even on several lines of a terminal, because no other command shows it.
        screen.print_line(f"{key:<{width}}{text}")


def _known_tools(entry: ServerEntry) -> int | None:
    """The number of the server's cached tools; None if the server was never asked."""
    from gaia_mcp.core.paths import cache_folder
    from gaia_mcp.storage.server_cache import ServerCache

    tools = ServerCache(cache_folder(), entry).seen()
    return None if tools is None else len(tools)


def _presented(session: Session) -> dict[str, Any]:
    peer = session.peer
    assert peer is not None  # noqa: S101 (connected)
    return {
        "serverInfo": peer.info,
        "protocolVersion": peer.version,
        "era": peer.era,
        "capabilities": peer.capabilities,
        "instructions": peer.instructions,
        "tools": len(session.tools()),
    }


def _rows(shown: dict[str, Any]) -> list[tuple[str, str]]:
    import json

    from gaia_mcp.protocol.revisions import capability_names
    from gaia_mcp.text import one_line

    server = shown.get("server")
    facts = {key: value for key, value in shown.items() if key not in ("server", "known_tools")}
    facts["tools"] = "not known yet" if shown["known_tools"] is None else shown["known_tools"]
    if server is not None:
        info = server["serverInfo"]
        presented = [str(info[key]) for key in ("title", "name", "version") if info.get(key)]
        facts["server"] = " ".join(presented) or "(no name)"
        facts["protocol"] = f"{server['protocolVersion']} ({server['era']})"
        facts["capabilities"] = ", ".join(capability_names(server["capabilities"])) or "none"
        facts["instructions"] = server["instructions"] or None
    rows = []
    for key, value in facts.items():
        if value == [] and key in ("stages", "agents"):
            rows.append((key, "none"))
        if value is None or value in ([], {}):
            continue
        if isinstance(value, dict):
            texts = {name: held if isinstance(held, str) else json.dumps(held) for name, held in value.items()}
            text = ", ".join(f"{name}={held}" for name, held in texts.items())
        elif isinstance(value, list):
            text = " ".join(json.dumps(part) if " " in part or not part else part for part in value)
        elif isinstance(value, bool):
            text = "yes" if value else "no"
        else:
            text = f"{value:g} s" if key == "timeout" else str(value)
        rows.append((key, one_line(text, 2000)))
    return rows

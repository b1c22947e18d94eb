"""`gaia mcp tools`: what servers offer."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gaia_mcp.cli.complete import server_names
from gaia_mcp.cli.options import ConfigOption, DebugOption, JsonOption, TimeoutOption, within
from gaia_mcp.cli.output import error_object, remark, report, say, say_json, speak

if TYPE_CHECKING:
    from gaia_mcp.cli.fleet import Visit
    from gaia_mcp.cli.sessions import Session
    from gaia_mcp.client.tool import MCPTool
    from gaia_mcp.config.store import ConfigStore

Names = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[NAME...]", help="Servers; all that are not disabled by default.", autocompletion=server_names
    ),
]
SchemaOption = Annotated[bool, typer.Option("--schema", help="Print each tool's whole input schema.")]


def tools(
    names: Names = None,
    schema: SchemaOption = False,
    config: ConfigOption = None,
    as_json: JsonOption = False,
    timeout: TimeoutOption = None,
    debug: DebugOption = False,
) -> None:
    """Show the tools of servers, as signatures.

    Required parameters come first. Without a name, all servers are asked at once.

    Example: gaia mcp tools time --schema
    """
    from gaia_mcp.cli.fleet import visit_all
    from gaia_mcp.cli.stores import open_store

    speak(as_json=as_json, debug=debug)
    store = open_store(config)
    chosen = list(dict.fromkeys(names)) if names else _enabled(store)
    if not chosen:
        remark("no servers to ask; add one with: gaia mcp add NAME -- COMMAND")

    visits = visit_all([store.entry(name) for name in chosen], _read, within(timeout))
    if names and len(visits) == 1 and visits[0].error is not None:
        raise visits[0].error
    if as_json:
        say_json({"servers": [_object(visit) for visit in visits]})
    status = 0
    for visit in visits:
        if visit.error is not None:
            failed = report(visit.error)
            status = status or int(failed)
        elif not as_json:
            _show(visit, with_schema=schema)
    if status:
        raise typer.Exit(status)


def _read(session: Session) -> tuple[list[MCPTool], list[str]]:
    found, peer = session.fetch_tools(), session.client.peer
    if not found and peer is not None and "tools" not in peer.capabilities:
        return [], [f"offers no tools, only {', '.join(peer.capabilities) or 'nothing'}"]
    return found, session.client.tool_problems


def _enabled(store: ConfigStore) -> list[str]:
    """The servers worth asking; one whose entry makes no sense is told about and passed over."""
    from gaia_mcp.config.entries import read_entry
    from gaia_mcp.errors import EntryError

    names = []
    for name, raw in store.servers().items():
        try:
            if not read_entry(name, raw).disabled:
                names.append(name)
        except EntryError as error:
            remark(f"passed over: {error.message}")
    return names


def _object(visit: Visit) -> dict[str, Any]:
    shown: dict[str, Any] = {"name": visit.entry.name}
    if visit.error is not None:
        return {**shown, "error": error_object(visit.error)}
    found, problems = visit.value
    peer = visit.peer
    shown["server"] = peer.info if peer else {}
    shown["version"] = peer.version if peer else ""
    shown["tools"] = [tool.definition for tool in found]
    if problems:
        shown["problems"] = problems
    return shown


def _show(visit: Visit, *, with_schema: bool) -> None:
    import json

    from gaia_mcp.cli.output import on_terminal
    from gaia_mcp.safetext import clean, one_line
    from gaia_mcp.schema import signature

    found, problems = visit.value
    info = visit.peer.info if visit.peer else {}
    presented = " ".join(str(info[key]) for key in ("name", "version") if info.get(key))
    say(f"{visit.entry.name}" + (f" ({one_line(presented, 80)})" if presented else ""))
    for tool in found:
        say(f"  {one_line(signature(tool.name, tool.input_schema), 1000)}")
        description = clean(tool.description).strip()
        if description:
            lines = description.splitlines()
            # A person scanning a list wants the first sentence; a pipe gets everything.
            shown = [one_line(lines[0], 160)] if on_terminal(sys.stdout) and not with_schema else lines
            for line in shown:
                say(f"      {line}")
        if with_schema:
            for line in json.dumps(tool.input_schema, indent=2, ensure_ascii=False).splitlines():
                say(f"      {line}")
    if not found and not problems:
        say("  (no tools)")
    for problem in problems:
        remark(f"{visit.entry.name}: {problem}")

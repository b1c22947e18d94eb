"""`gaia mcp test-client`: does a server work? A line for each check, for people and for builds."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gaia_mcp.cli.complete import server_names
from gaia_mcp.cli.options import ConfigOption, DebugOption, JsonOption, TimeoutOption, within
from gaia_mcp.cli.output import columns, report, say, say_json, speak
from gaia_mcp.cli.status import ExitStatus, UsageError

if TYPE_CHECKING:
    from gaia_mcp.cli.examine import Check, Examination
    from gaia_mcp.config.store import ConfigStore

Words = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="NAME... [ARG...]", help="Servers, and key=value for --call.", autocompletion=server_names,
        show_default=False,
    ),
]  # fmt: skip
AllOption = Annotated[bool, typer.Option("--all", help="Every server that is not disabled, all at once.")]
CallToolOption = Annotated[
    str | None, typer.Option("--call", metavar="TOOL", help="Call this tool too.", show_default=False)
]
JUnitOption = Annotated[
    Path | None, typer.Option("--junit", metavar="FILE", help="Write JUnit XML for a build server.", show_default=False)
]


def check(
    words: Words = None,
    every: AllOption = False,
    call_tool: CallToolOption = None,
    junit: JUnitOption = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
    timeout: TimeoutOption = None,
    debug: DebugOption = False,
) -> None:
    """Test servers step by step: start, negotiation, answer, tools and their schemas, prompts, resources, shutdown.

    Ends with an error if any check fails.

    Example: gaia mcp test-client time --call get_current_time timezone=UTC
    """
    from gaia_mcp.arguments import ArgumentSyntaxError, read_assignment
    from gaia_mcp.cli.examine import CallWanted, examine, examine_all
    from gaia_mcp.cli.stores import open_store

    speak(as_json=as_json, debug=debug)
    names = [word for word in words or [] if "=" not in word]
    try:
        arguments = [read_assignment(word) for word in words or [] if "=" in word]
    except ArgumentSyntaxError as problem:
        raise UsageError(str(problem), hint="arguments are key=value or key:=JSON") from None
    if arguments and call_tool is None:
        raise UsageError("arguments without --call TOOL", hint="name the tool to call: --call TOOL key=value")
    store = open_store(config)
    names = _enabled(store) if every else list(dict.fromkeys(names))
    if not names:
        raise UsageError("which server?", hint="name one, or test all of them with --all")
    wanted = CallWanted(call_tool, arguments) if call_tool is not None else None
    entries = [store.entry(name) for name in names]
    if len(entries) == 1:
        if not as_json:
            say(names[0])
        results = [examine(entries[0], wanted, within(timeout), on_check=None if as_json else _show)]
    else:
        results = examine_all(entries, wanted, within(timeout))
    if junit is not None:
        _write_junit(junit, results)
    status = next((result.status for result in results if result.status), ExitStatus.DONE)
    if as_json:
        ok = status == ExitStatus.DONE
        say_json({"ok": ok, "servers": [result.as_object() for result in results], "exit": int(status)})
    elif len(results) > 1:
        for result in results:
            say(result.server)
            for item in result.checks:
                _show(item)
    for result in results:
        if (error := result.error()) is not None:
            report(error)
    if status:
        raise typer.Exit(status)


def _enabled(store: ConfigStore) -> list[str]:
    return [name for name in store.names() if not store.entry(name).disabled]


def _show(item: Check) -> None:
    (line,) = columns([[f"  {item.outcome:<4}", f"{item.name:<14}", f"{item.seconds:7.3f} s", item.detail]])
    say(line)


def _write_junit(path: Path, results: list[Examination]) -> None:
    from gaia_mcp.cli.junit import junit_xml
    from gaia_mcp.errors import MCPError

    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(junit_xml(results))
    except OSError as problem:
        hint = "choose another file with --junit"
        raise MCPError(f"{str(path)!r} cannot be written: {problem.strerror}", hint=hint) from problem

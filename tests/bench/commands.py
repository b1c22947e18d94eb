"""Figures of the command line: how soon it answers, and how much memory it takes."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from gaia_mcp.config.entries import read_entry
from gaia_mcp.core.paths import cache_folder
from gaia_mcp.hosts import with_server
from gaia_mcp.hosts.conversion import entry_for
from gaia_mcp.hosts.files import places
from gaia_mcp.hosts.known import HOSTS
from gaia_mcp.storage.server_cache import ServerCache
from tests.bench.figures import (
    EMPTY_APP,
    GAIA,
    PROGRAMS,
    SERVE_DEMO,
    Effort,
    Ended,
    Figure,
    Pipe,
    environment_with,
    line,
    medians,
    own_peak_bytes,
    run,
    seconds,
)

if TYPE_CHECKING:
    from pathlib import Path

MEGABYTE = 1 << 20


def starts(effort: Effort, folder: Path) -> list[Figure]:
    """`list` with a hundred servers, beside an empty app."""
    servers = {f"server-{number}": {"command": "npx", "args": ["-y", f"package-{number}"]} for number in range(100)}
    environment = environment_with(folder / "starts", servers)
    listing = [GAIA, "mcp", "list"]
    if b"server-99" not in run(listing, environment).stdout:
        raise SystemExit("gaia mcp list does not list what is configured")
    run(EMPTY_APP, environment)

    empty, listed = medians(
        effort.commands, lambda: run(EMPTY_APP, environment).seconds, lambda: run(listing, environment).seconds
    )

    remark = f"empty app {empty * 1000:.0f} ms"
    return [
        Figure("gaia mcp list, 100 servers / empty Typer app", listed / empty, 0.7, remark=remark),
    ]


# What is typed before a TAB, and what one of the candidates is.
TABS = {
    "a command": ("gaia mcp ", b"call"),
    "an option": ("gaia mcp call --", b"--args"),
    "a server": ("gaia mcp call server-1", b"server-199"),
    "a tool": ("gaia mcp call server-199 ", b"tool_199_0"),
    "an argument": ("gaia mcp call server-199 tool_199_0 ", b"owner="),
}


def completing(effort: Effort, folder: Path) -> list[Figure]:
    """A TAB with many servers whose tools have all been seen, as the script of bash asks, beside an empty program."""
    environment, tools = _with_many_tools(effort, folder / "tabs")

    def tab(typed: str) -> Ended:
        return run([GAIA, "complete", "bash", "--", typed, typed.rpartition(" ")[2]], environment)

    for what, (typed, one) in TABS.items():
        if one not in tab(typed).stdout:
            raise SystemExit(f"a TAB does not complete {what}")
    python = [sys.executable, "-c", "pass"]
    empty, *times = medians(
        effort.commands,
        lambda: run(python, environment).seconds,
        *(lambda typed=typed: tab(typed).seconds for typed, _ in TABS.values()),  # type: ignore[misc]
    )
    return [
        Figure(
            f"TAB on {what}, {tools} tools of 200 servers / python -c pass",
            took / empty,
            3,
            remark=f"{took * 1000:.0f} ms, python -c pass {empty * 1000:.0f} ms",
        )
        for what, took in zip(TABS, times, strict=True)
    ]


def searching(effort: Effort, folder: Path) -> list[Figure]:
    """A word among the tools of many servers, all seen before."""
    environment, _ = _with_many_tools(effort, folder / "search")
    command = [GAIA, "mcp", "search", "tool_199_0"]
    if b"server-199" not in run(command, environment).stdout:
        raise SystemExit("gaia mcp search does not find what is there")
    (took,) = medians(min(effort.commands, 7), lambda: run(command, environment).seconds)
    return [Figure(f"gaia mcp search, {effort.tools} tools of 200 servers", took, 0.3, "s")]


def _with_many_tools(effort: Effort, folder: Path) -> tuple[dict[str, str], int]:
    """An environment with 200 servers whose tools have been seen, and how many those are."""
    servers = {f"server-{number}": {"command": "npx", "args": ["-y", f"package-{number}"]} for number in range(200)}
    environment = environment_with(folder, servers)
    schema = {"type": "object", "properties": {name: {"type": "string"} for name in ("path", "owner", "query")}}
    for number, (name, entry) in enumerate(servers.items()):
        tools = [
            {
                "name": f"tool_{number}_{index}",
                "description": "Does one thing, and does it well. " * 5,
                "inputSchema": schema,
            }
            for index in range(effort.tools // len(servers) or 1)
        ]
        ServerCache(cache_folder(environment), read_entry(name, entry)).keep_seen(tools)
    return environment, len(servers) * (effort.tools // len(servers) or 1)


def importing(effort: Effort, folder: Path) -> list[Figure]:
    """The servers of every host that we know and that starts servers."""
    environment = environment_with(folder / "hosts", {})
    hosts = [host for host in HOSTS.values() if host.dialect.command]
    for host in hosts:
        text = ""
        for number in range(10):
            entry = {"command": "npx", "args": ["-y", f"package-{number}"], "env": {"KEY": "value"}}
            theirs, _ = entry_for(f"{host.key}-{number}", entry, host.dialect)
            text = with_server(text, host.layout, f"{host.key}-{number}", theirs)
        path = places(host, environment, folder / "hosts")[0].path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    command = [GAIA, "mcp", "import", "--all", "--dry-run"]
    if b"cursor-9" not in run(command, environment).stdout:
        raise SystemExit("gaia mcp import does not find what is there")
    (took,) = medians(min(effort.commands, 7), lambda: run(command, environment).seconds)
    return [Figure(f"gaia mcp import --all, {len(hosts)} hosts with 10 servers each", took, 0.5, "s")]


def cold_call(effort: Effort, folder: Path) -> list[Figure]:
    """A call from nothing to its answer, less what the interpreter and the server take by themselves."""
    servers = {"demo": {"command": SERVE_DEMO[0], "args": SERVE_DEMO[1:]}}
    environment = environment_with(folder / "cold", servers)
    command = [GAIA, "mcp", "call", "demo", "greet", "name=Ada"]
    if run(command, environment).stdout.strip() != b"Hello, Ada!":
        raise SystemExit("gaia mcp call does not print what the tool returns")

    def first_answer() -> float:
        pipes: list[Pipe] = []

        def start() -> None:
            pipes.append(Pipe(SERVE_DEMO))
            pipes[0].ask(line(1, "server/discover", {}))

        took = seconds(start)
        pipes[0].close()
        return took

    empty, python, server, called = medians(
        effort.commands,
        lambda: run(EMPTY_APP, environment).seconds,
        lambda: run([sys.executable, "-c", "pass"], environment).seconds,
        first_answer,
        lambda: run(command, environment).seconds,
    )

    ours = called - python - server
    remark = (
        f"{ours * 1000:.0f} ms = call {called * 1000:.0f} - python {python * 1000:.0f} - server {server * 1000:.0f}"
    )
    return [
        Figure("cold gaia mcp call less python and server / empty Typer app", ours / empty, 60 / 45, remark=remark),
    ]


def long_result(effort: Effort, folder: Path) -> list[Figure]:
    """The memory that a long text takes on its way through."""
    arguments = [str(PROGRAMS / "bulk_server.py"), str(effort.megabytes), "0", "0"]
    environment = environment_with(folder / "long", {"bulk": {"command": sys.executable, "args": arguments}})
    ended = run([GAIA, "mcp", "call", "bulk", "big"], environment, keep=False)
    return [
        Figure(
            f"memory of gaia for a text of {effort.megabytes} MB / its size",
            ended.peak_bytes / (effort.megabytes * MEGABYTE),
            4,
            remark=f"{ended.peak_bytes / MEGABYTE:.0f} MB in {ended.seconds:.1f} s{_doubt(ended.peak_bytes)}",
        )
    ]


def many_tools(effort: Effort, folder: Path) -> list[Figure]:
    """A server with thousands of tools, on many pages."""
    arguments = [str(PROGRAMS / "bulk_server.py"), "0", str(effort.tools), str(effort.pages)]
    environment = environment_with(folder / "many", {"bulk": {"command": sys.executable, "args": arguments}})
    command = [GAIA, "mcp", "tools", "bulk"]
    if run(command, environment).stdout.count(b"tool_") < effort.tools:
        raise SystemExit("gaia mcp tools does not show all of them")
    peak = 0

    def show() -> float:
        nonlocal peak
        ended = run(command, environment)
        peak = max(peak, ended.peak_bytes)
        return ended.seconds

    (took,) = medians(min(effort.commands, 5), show)
    name = f"gaia mcp tools, {effort.tools} tools on {effort.pages} pages"
    return [
        Figure(f"{name}: time", took, 2, "s"),
        Figure(f"{name}: memory", peak / MEGABYTE, 150, "MB", remark=_doubt(peak).strip()),
    ]


def batch(effort: Effort, folder: Path) -> list[Figure]:
    """Many calls on one connection."""
    environment = environment_with(folder / "batch", {"demo": {"command": SERVE_DEMO[0], "args": SERVE_DEMO[1:]}})
    lines = folder / "batch" / "lines"
    lines.write_text('{"tool": "greet", "arguments": {"name": "Ada"}}\n' * effort.tools)
    command = [GAIA, "mcp", "call", "demo", "--batch", str(lines)]
    if run(command, environment).stdout.count(b"Hello, Ada!") != effort.tools:
        raise SystemExit("gaia mcp call --batch does not print all results")

    (took,) = medians(min(effort.commands, 5), lambda: run(command, environment).seconds)
    return [Figure(f"gaia mcp call --batch, {effort.tools} lines: time", took, 3, "s")]


def _doubt(peak: int) -> str:
    return " (no more than this process: not its own)" if peak <= own_peak_bytes() else ""

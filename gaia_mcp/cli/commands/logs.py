"""`gaia mcp logs`: print a server's stderr from its last runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from gaia_mcp.cli.dashes import ServerCommand
from gaia_mcp.cli.invocation import Invocation
from gaia_mcp.cli.lines import to_type
from gaia_mcp.cli.options import CONFIG, JSON, OnlyServerArgument
from gaia_mcp.cli.screen.output import counted, done, is_read, print_json, remark

if TYPE_CHECKING:
    from gaia_mcp.cli.screen.run_logs import RunPrinter
    from gaia_mcp.storage.run_logs import RunLogs

RunsOption = Annotated[
    int | None,
    typer.Option(
        "--runs",
        metavar="N",
        min=0,
        help="Show only the last N runs. Default: all that are stored.",
        show_default=False,
    ),
]
FollowOption = Annotated[bool, typer.Option("--follow", "-f", help="Keep printing new output.")]
ClearOption = Annotated[bool, typer.Option("--clear", help="Delete the stored logs.")]

# As fast as a person reads a new line, and rarely enough to cost almost no processor time.
POLL_SECONDS = 0.2

SETTINGS = {"cls": ServerCommand}

COMMON = (CONFIG, JSON)


def logs(
    invocation: Invocation,
    words: OnlyServerArgument,
    runs: RunsOption = None,
    follow: FollowOption = False,
    clear: ClearOption = False,
) -> None:
    """Show what a server wrote to stderr.

    Prints its last ten runs that wrote anything, the newest last; of each at most the last megabyte, without the
    server's secrets. --follow ends with Ctrl-C, and with --json prints an object on each line.

    Example: gaia mcp logs time --runs 1
    """
    from gaia_mcp.cli.screen.run_logs import RunPrinter, as_object

    name, kept = _kept(invocation, words)
    if clear:
        count = kept.clear()
        done(f"deleted {counted(count, 'run')} of {name!r}", cleared=count, name=name)
        return
    chosen = kept.runs()
    if not chosen:
        how = to_type("test-client", name)
        remark(f"no logs are stored: {name!r} has not run, or wrote nothing; run it with: {how}")
    chosen = chosen[-runs:] if runs else [] if runs == 0 else chosen
    if invocation.as_json and not follow:
        print_json({"name": name, "runs": [as_object(run) for run in chosen]})
        return
    printer = RunPrinter()
    for run in kept.runs() if follow else ():
        if run not in chosen:
            printer.skip(run)
    for run in chosen:
        printer.show(run)
    if follow:
        _follow(kept, printer)


def _kept(invocation: Invocation, words: list[str]) -> tuple[str, RunLogs]:
    """The name of a server, and its logs. A server that is not configured has logs if `add` could not connect to it.

    Raises as `Invocation.only_server` does.
    """
    from gaia_mcp.paths import log_folder
    from gaia_mcp.storage.run_logs import RunLogs

    store = invocation.open_store_for(invocation.typed(words), may_be_new=True)
    name = words[0]
    if len(words) == 1:
        kept = RunLogs(log_folder(), name, store.source_of(name))
        if name in store.names() or kept.runs():
            return name, kept
    entry = invocation.only_server(words, store)
    return entry.name, RunLogs(log_folder(), entry.key, entry.source)


def _follow(kept: RunLogs, printer: RunPrinter) -> None:
    import time

    while is_read():
        time.sleep(POLL_SECONDS)
        for run in kept.runs():
            printer.show(run)

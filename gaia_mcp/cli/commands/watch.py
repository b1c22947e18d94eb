"""`gaia mcp watch`: print the change notifications and log messages of a server, line by line."""

from __future__ import annotations

from typing import Annotated

import typer

from gaia_mcp.cli.completion.completers import log_levels, resource_uris
from gaia_mcp.cli.invocation import Invocation
from gaia_mcp.cli.options import CONFIG, FRESH, HEADER, JSON, ServerArgument, timeout_option
from gaia_mcp.cli.typer_command import ServerCommand

Uris = Annotated[
    list[str] | None,
    typer.Argument(metavar="[URI...]", help="Resources to watch.", show_default=False, autocompletion=resource_uris),
]
ReadOption = Annotated[bool, typer.Option("--read", help="Also print the new text of a resource that has changed.")]
LevelOption = Annotated[
    str,
    typer.Option(
        "--level",
        metavar="LEVEL",
        help="Print the server's log messages from this level upwards.",
        autocompletion=log_levels,
    ),
]
RestartOption = Annotated[bool, typer.Option("--restart", help="Restart the server when it exits.")]

SETTINGS = {"cls": ServerCommand}

COMMON = (FRESH, HEADER, CONFIG, JSON, timeout_option("Stop after this time, with exit code 0. Default: never."))


def watch(
    invocation: Invocation,
    name: ServerArgument,
    uris: Uris = None,
    read: ReadOption = False,
    level: LevelOption = "info",
    restart: RestartOption = False,
) -> None:
    """Watch a server for changes and log messages.

    Keeps the server open. Each line is a change of its tools, prompts or resources, with the names that were added and
    removed; a change of a resource that is named; or a log message. Ends with Ctrl-C, with the server, or after
    --timeout. With --json each line is an object.

    Example: gaia mcp watch demo --timeout 60
    """
    screen = invocation.screen
    from gaia_mcp.cli.calls import check_utf8
    from gaia_mcp.cli.calls.watching import Notifications, Watcher
    from gaia_mcp.cli.screen.session_view import SessionView
    from gaia_mcp.cli.status import UsageError
    from gaia_mcp.fleet.session import connected
    from gaia_mcp.protocol.envelope import LOG_LEVELS

    if level not in LOG_LEVELS:
        raise UsageError(f"there is no log level {level!r}", hint=f"use one of: {', '.join(LOG_LEVELS)}")
    entry, uris = invocation.server(name, *(uris or []), has_item=False)
    check_utf8(uris)
    name = entry.name
    notifications = Notifications()
    deadline = invocation.deadline()
    with (
        SessionView(screen, f"starting {name}") as view,
        connected(entry, view, deadline=deadline, on_log=notifications.logged) as session,
    ):
        watcher = Watcher(invocation.screen, session, notifications, shows_text=read, restarts=restart)
        watched = watcher.begin(uris, level)
        view.hide()
        screen.remark(f"watching {', '.join(watched)} of {name!r}")
        watcher.run(deadline)
    if notifications.dropped:
        screen.remark(f"{notifications.dropped} log messages were dropped: they arrived too fast")

"""What `up`, `down` and `ps` ask of the keeper, and the keeper's own process."""

from __future__ import annotations

import gc
import os
import sys
import threading
from datetime import datetime
from typing import TYPE_CHECKING, Any

from gaia_mcp.cli.keeping import HOLD_SECONDS, address_of, entry_at, is_supported
from gaia_mcp.cli.keeping import hold as hold_server
from gaia_mcp.core.errors import ConnectError, DeadlineError, EntryError, MCPError
from gaia_mcp.fleet.keeper.requests import Keeper

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from gaia_mcp.cli.screen.output import Screen
    from gaia_mcp.config.entries import ServerEntry
    from gaia_mcp.core.deadline import Deadline

# A call leaves a few hundred objects that refer to one another. Looking for them takes a fiftieth of its time.
GARBAGE_OBJECTS = 3000

Outcome = tuple[dict[str, Any], MCPError | None]


def keeper_of_user() -> Keeper | None:
    """The keeper of this user; None on a system without Unix sockets."""
    return Keeper.of_user() if is_supported() else None


def place_of(word: str, config: Path | None) -> tuple[str, str]:
    """The name that the keeper has for the server that is typed as `word`, where the path of an agent is absolute; and
    the file that it is saved in, or the working folder, empty if unknown.
    """
    from gaia_mcp.cli.entries.targets import find_entry
    from gaia_mcp.config.store import ConfigStore

    try:
        entry = find_entry(ConfigStore.locate(config), word)
    except MCPError:
        return word, ""
    address = address_of(entry, config)
    if address is None:
        return word, ""
    return address.shown, str(entry.source) if entry.source is not None else address.folder


def hold_servers(screen: Screen, entries: Sequence[ServerEntry], deadline: Deadline | None) -> list[Outcome]:
    """Hold these servers, all at once. Returns for each its description, or the error. Raises `ConnectError` if no
    keeper can be started.
    """
    from gaia_mcp.core.deadline import Deadline

    keeper = keeper_of_user()
    if keeper is None:
        how = screen.line.to_type("serve", more="--help")
        raise ConnectError("servers cannot be held on this system", hint=f"serve them to many clients: {how}")
    deadline = deadline or Deadline(HOLD_SECONDS)
    outcomes: list[Outcome] = [({}, None) for _ in entries]
    # The names of those that are being started.
    starting: dict[int, str] = {}

    def hold(number: int, entry: ServerEntry) -> None:
        address = address_of(entry, screen.line.config)
        try:
            if address is None:
                raise EntryError(entry.name, "has options of its own, by which the keeper cannot find it")
            starting[number] = address.shown
            facts = hold_server(keeper, address, None, deadline)
            if remark := facts.pop("remark", ""):
                screen.remark(remark)
            outcomes[number] = facts, None
        except MCPError as error:
            outcomes[number] = {}, error
            if isinstance(error, DeadlineError) and address is not None:
                # Nothing is held that was not reported.
                keeper.release([address.shown], only_starting=True)
        starting.pop(number, None)

    threads = [
        threading.Thread(target=hold, args=each, name=f"hold {each[1].name}", daemon=True)
        for each in enumerate(entries)
    ]
    for thread in threads:
        thread.start()
    try:
        for thread in threads:
            thread.join()
    except BaseException:
        # A signal, such as that of Ctrl-C: what is being started is not wanted any more.
        if names := list(starting.values()):
            keeper.release(names, only_starting=True)
        raise
    return outcomes


def serve(screen: Screen) -> None:
    """The keeper's process: reports on stdout that it listens, and serves until it has to end.

    Raises `ConnectError` if it cannot listen.
    """
    from gaia_mcp.cli.keeping.command_lines import run_command_line
    from gaia_mcp.fleet.keeper import socket_path
    from gaia_mcp.fleet.keeper.process import Keeper as Process

    def report(text: str) -> None:
        screen.to_stderr(f"{datetime.now().astimezone():%Y-%m-%d %H:%M:%S} {text}")

    try:
        process = Process(socket_path().parent, entry_at, report, run_command_line)
    except MCPError as error:
        _say(error.message)
        raise
    # A command keeps its garbage until it ends; this process lives long. What is loaded is not garbage.
    gc.freeze()
    gc.set_threshold(GARBAGE_OBJECTS)
    report(f"process {os.getpid()} begins")
    _say("")
    try:
        process.serve()
    finally:
        process.close()
        report(f"process {os.getpid()} ends")


def _say(text: str) -> None:
    """Print a line to the command that waits for it, and close stdout for good."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()
    nothing = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, sys.stdout.fileno())
    os.close(nothing)

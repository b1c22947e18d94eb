"""How a command uses the keeper: which server of it an entry is, what it says when it is of another version, and how it
is started. A `call` loads it also where no server is held, so it loads little.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gaia_mcp.core.errors import ConfigFileError, ConnectError, DeadlineError
from gaia_mcp.fleet.keeper import SWITCH, Address, is_switched_off, socket_path

if TYPE_CHECKING:
    from gaia_mcp.cli.screen.output import Screen
    from gaia_mcp.config.entries import ServerEntry
    from gaia_mcp.core.deadline import Deadline
    from gaia_mcp.fleet.keeper.requests import Keeper

# The commands that use a held server. Others are about the entry, or record what a server of their own does.
COMMANDS = frozenset(
    ("call", "guide", "prompt", "prompts", "read", "resources", "search", "test-client", "tools", "watch")
)
# Each attempt to reach a keeper, which answers at once.
REACH_SECONDS = 10.0
# How long a server has for its start, unless `--timeout` says otherwise.
HOLD_SECONDS = 60.0
# A keeper that ends stops its servers first.
END_SECONDS = 10.0
# The keeper's log is cut to its end at this size, when a keeper is started.
LOG_BYTES = 1_000_000
LOG_FILE = "keeper.log"


def entry_at(address: Address) -> ServerEntry:
    """The entry at an address, read as by the command that has sent the address. Raises `MCPError` as that would."""
    from gaia_mcp.cli.entries.targets import command_entry, find_entry
    from gaia_mcp.config.served import Served
    from gaia_mcp.config.store import ConfigStore

    config = Path(address.config) if address.config is not None else None
    store = ConfigStore.locate(config, environ=address.environ, cwd=Path(address.folder), reads_once=True)
    if address.name:
        entry = store.entry(address.name)
    elif len(address.words) == 1:
        entry = find_entry(store, address.words[0])
    else:
        entry = store.in_use(command_entry(address.words))
    if isinstance(entry.target, Served) and entry.source is None and entry.target.cwd is not None:
        entry = entry._replace(target=entry.target._replace(cwd=address.folder))
    if not address.instance:
        return entry
    return entry._replace(name=f"{entry.name}@{address.instance}", instance=address.instance)


def is_supported() -> bool:
    """Whether this system has what a keeper needs."""
    return os.name == "posix"


def address_of(entry: ServerEntry, config: Path | None) -> Address | None:
    """The address of the server of an entry, in this process; otherwise as `address_in`. None also in a working folder
    that has been removed.
    """
    from gaia_mcp.fleet.keeper.client import address_in

    try:
        folder = os.getcwd()  # noqa: PTH109
    except OSError:
        return None
    return address_in(entry, config, folder, os.environ)


def keeper_in_use() -> Keeper | None:
    """The keeper, if one runs that commands may use."""
    try:
        path = socket_path() if is_supported() and not is_switched_off() else None
    except ConfigFileError:
        path = None
    if path is None or not os.path.lexists(path):
        return None
    from gaia_mcp.fleet.keeper.requests import Keeper

    return Keeper(path)


def held(screen: Screen, entry: ServerEntry) -> ServerEntry:
    """`entry` with a connection to the keeper, if that holds its server; started there first, if the entry asks for it.

    Raises `ConnectError` for an instance that is not held, unless one is to be started, and `MCPError` for a server
    that has ended and cannot be started again.
    """
    line = screen.line
    if entry.held is not None or line.command not in COMMANDS:
        return entry
    return held_where_it_is(screen, entry)


def held_where_it_is(screen: Screen, entry: ServerEntry) -> ServerEntry:
    """As `held`, in a command that uses held servers only if it is told to."""
    line = screen.line
    found = entry if line.is_fresh or not is_supported() or is_switched_off() else _used(screen, entry)
    if entry.instance and found.held is None and not line.is_fresh:
        if is_switched_off():
            problem = f"instance {entry.instance!r} of server {entry.saved_name!r} cannot be used: {SWITCH} is 0"
            raise ConnectError(problem, server=entry.name, hint=f"unset it, or use {entry.saved_name!r}")
        problem = f"instance {entry.instance!r} of server {entry.saved_name!r} is not held"
        raise ConnectError(problem, server=entry.name, case="not-held")
    return found


def _used(screen: Screen, entry: ServerEntry) -> ServerEntry:
    keep_alive = None if os.environ.get("CI") == "true" else entry.keep_alive
    try:
        path = socket_path()
    except ConfigFileError:
        return entry
    if keep_alive is None and not os.path.lexists(path):
        return entry
    from gaia_mcp.core.deadline import Deadline
    from gaia_mcp.fleet.keeper.requests import Keeper, KeeperUnreachableError, OtherVersionError

    address = address_of(entry, screen.line.config)
    if address is None:
        return entry
    keeper = Keeper(path)
    try:
        used = keeper.use(address, Deadline(REACH_SECONDS))
    except OtherVersionError as other:
        _end_other(screen, keeper, entry, other)
        used = None
    except KeeperUnreachableError as problem:
        screen.remark(f"{problem.message}; {entry.name!r} is started for this command alone")
        return entry
    if used is None and keep_alive is not None:
        try:
            hold(keeper, address, keep_alive, Deadline(HOLD_SECONDS))
            used = keeper.use(address, Deadline(REACH_SECONDS))
        except KeeperUnusableError as problem:
            screen.remark(f"{problem.message}; {entry.name!r} is started for this command alone")
    if used is None:
        return entry
    if used.remark:
        screen.remark(used.remark)
    if screen.line.command == "test-client":
        how = screen.line.again("test them too", "--fresh")
        screen.remark(f"server {entry.name!r} is held: its start and its end are not tested; {how}")
    return entry._replace(held=used)


class KeeperUnusableError(ConnectError):
    """A keeper cannot be started."""


def _end_other(screen: Screen, keeper: Keeper, entry: ServerEntry, other: ConnectError) -> None:
    """End a keeper of another version, if no call is running."""
    from gaia_mcp.core.deadline import Deadline
    from gaia_mcp.fleet.keeper.requests import wait_until_gone

    if keeper.end():
        wait_until_gone(keeper.path, Deadline(END_SECONDS))
        again = screen.line.to_type("up", entry.name)
        screen.remark(
            f"{other.message}: it was ended, with the servers that it held; hold this one again with: {again}"
        )
    else:
        screen.remark(f"{other.message}, and is busy: {entry.name!r} is started for this command alone")


def hold(keeper: Keeper, address: Address, keep_alive_seconds: float | None, deadline: Deadline) -> dict[str, Any]:
    """Hold a server, for which the keeper is started if it does not run. Returns the server's description.

    Raises `KeeperUnusableError`, `OtherVersionError` for a keeper of another version that is answering a call, and as
    the server's start does.
    """
    from gaia_mcp.core.deadline import Deadline
    from gaia_mcp.fleet.keeper.requests import KeeperEndedError, OtherVersionError, wait_until_gone

    while True:
        start(keeper, deadline)
        try:
            return keeper.hold(address, keep_alive_seconds, deadline)
        except OtherVersionError:
            if not keeper.end():
                raise
            wait_until_gone(keeper.path, Deadline(END_SECONDS))
        except KeeperEndedError:
            # It was about to end when it was found; then another one is started.
            if deadline.expired:
                raise


def start(keeper: Keeper, deadline: Deadline) -> None:
    """Start the keeper, unless it runs. Raises `KeeperUnusableError` with the reason."""
    from gaia_mcp.config.served import own_module

    try:
        keeper.ensure([*own_module(), "keeper"], open_log, deadline)
    except (ConnectError, DeadlineError) as error:
        raise KeeperUnusableError(error.message, hint=error.hint) from error


def log_path() -> Path:
    """The file of the keeper's log."""
    from gaia_mcp.core.paths import log_folder

    return log_folder() / LOG_FILE


def open_log() -> int:
    """A descriptor that adds to the keeper's log; one of the null device if the file cannot be written."""
    path = log_path()
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    except OSError:
        return os.open(os.devnull, os.O_WRONLY)
    size = os.fstat(file).st_size
    if size > LOG_BYTES:
        kept = os.pread(file, LOG_BYTES // 2, size - LOG_BYTES // 2)
        os.ftruncate(file, 0)
        os.write(file, kept.partition(b"\n")[2])
    return file

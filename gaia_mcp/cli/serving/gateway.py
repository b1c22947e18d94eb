"""Configured servers as the target of `gaia mcp serve --all` and `--server`."""

from __future__ import annotations

import hashlib
import os
import threading
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, Protocol

import typer

from gaia_mcp.cli.completion.completers import server_names
from gaia_mcp.cli.serving import SERVED
from gaia_mcp.cli.status import UsageError
from gaia_mcp.config.command import NOTHING
from gaia_mcp.core.errors import ConfigError, MCPError
from gaia_mcp.fleet.gateway.naming import Prefix
from gaia_mcp.text import clean

if TYPE_CHECKING:
    from gaia_mcp.cli.invocation import Invocation
    from gaia_mcp.cli.screen.output import Screen
    from gaia_mcp.cli.serving import Loaded
    from gaia_mcp.cli.serving.gate import Gate
    from gaia_mcp.config.entries import ServerEntry
    from gaia_mcp.config.store import ConfigStore
    from gaia_mcp.fleet.gateway.provider import GatewayProvider
    from gaia_mcp.server.http.app import Front
    from gaia_mcp.server.provider import Provider

AllOption = Annotated[bool, typer.Option("--all", rich_help_panel=SERVED, help="Serve all enabled servers as one.")]
ServerOption = Annotated[
    list[str] | None,
    typer.Option(
        "--server", rich_help_panel=SERVED, metavar="NAME", show_default=False, autocompletion=server_names,
        help="Serve this server, and those in further arguments, as one.",
    ),
]  # fmt: skip
HeldOption = Annotated[
    bool,
    typer.Option("--held", rich_help_panel=SERVED, help="Use the servers that `up` holds open, where it holds them."),
]
PrefixOption = Annotated[
    Prefix | None,
    typer.Option(
        "--prefix", rich_help_panel=SERVED, show_default=False,
        help="Prefix names with their server's. Default: conflict, if two servers use the same name.",
    ),
]  # fmt: skip

# Set for the servers behind a gateway, to a digest of the file whose servers it serves, so that none of them starts the
# same gateway again.
BEHIND_VARIABLE = "GAIA_MCP_GATEWAY"
# The name of the gateway's entry in a host's file.
ENTRY_NAME = "gaia"


# How often the files are looked at.
POLL_SECONDS = 1.0


class GatewayFront(Protocol):
    """Serves the tools of a gateway at a further `path`. It adds `servers` to the gateway; a call to a server without a
    timeout of its own takes at most `call_seconds`.
    """

    path: str
    servers: Mapping[str, ServerEntry]
    call_seconds: float

    def front(self, called: Provider, names: Collection[str], gateway: GatewayProvider) -> Front:
        """The front that calls the tools of the servers with these `names` through `called`, the restricted gateway."""

    def announcement(self, url: str) -> str:
        """What is printed when it serves."""


class Gateway(NamedTuple):
    """The servers of a gateway by name; for an invalid entry the value is its error. `words` select the servers on a
    command line, `title` is for people. `fronts` call the tools as well. `read_again` returns the servers as they are
    in the `files` later; None if they stay as they are. With `uses_held`, those that a keeper holds are used.
    """

    screen: Screen
    entries: Mapping[str, ServerEntry | MCPError]
    words: list[str]
    title: str
    prefix: Prefix
    file: Path
    fronts: Sequence[GatewayFront] = ()
    files: Sequence[Path] = ()
    read_again: Callable[[], Mapping[str, ServerEntry | MCPError]] | None = None
    uses_held: bool = False

    @classmethod
    def of(
        cls,
        invocation: Invocation,
        names: Sequence[str],
        prefix: Prefix | None,
        *,
        is_all: bool,
        uses_held: bool = False,
        mapped: Mapping[str, ServerEntry] = NOTHING,
    ) -> Gateway:
        """The named servers, or all that are enabled and unrestricted, and those in `mapped`.

        Raises `UsageError`, `ConfigError` if there are none, and as `Invocation.servers` does.
        """
        screen = invocation.screen
        if is_all and names:
            raise UsageError("--all and names cannot be used together", hint="leave out --all, or the names")
        store = invocation.open_store()
        # The absolute path makes the entry valid in every folder.
        words = ["--prefix", prefix.value] if prefix is not None else []
        words += ["--held"] if uses_held else []
        words += ["--config", str(store.path.absolute())] if invocation.config is not None else []
        prefix = prefix or Prefix.CONFLICT
        if not is_all:
            found = invocation.servers(store, invocation.typed(names))
            if not uses_held and (entry := next((each for each in found if each.instance), None)) is not None:
                raise UsageError(f"{entry.name!r} is an instance, which only `up` starts", hint="add --held")
            named = [word for name in names for word in ("--server", name)]
            given = (("--header", invocation.header or ()), ("--env", invocation.env or ()))
            words += [word for option, values in given for value in values for word in (option, value)]
            words += ["--token-env", invocation.token_env] if invocation.token_env is not None else []
            return cls(
                screen,
                {**{entry.name: entry for entry in found}, **mapped},
                [*named, *words],
                ", ".join(names),
                prefix,
                store.path,
                uses_held=uses_held,
            )
        invocation.check_saved()
        if os.environ.get(BEHIND_VARIABLE) == _digest(store.path):
            raise ConfigError(
                f"one of the servers in {store.path} serves all of them, itself included",
                hint=f"let it serve the others by name: {screen.line.to_type('serve', more='--server NAME...')}",
            )

        def read(store: ConfigStore) -> dict[str, ServerEntry | MCPError]:
            found = {
                name: entry
                for name, entry in store.entries().items()
                if isinstance(entry, MCPError)
                or not (entry.disabled or _is_restricted(entry) or _is_gateway(screen, entry))
            }
            return {**found, **mapped}

        if not (entries := read(store)):
            raise ConfigError(
                f"{store.path} has no server that is enabled",
                hint=f"save one with: {screen.line.to_type('add', more='NAME -- COMMAND [ARG...]')}",
            )
        files = [store.path, *([store.project.path] if store.project is not None else [])]
        return cls(
            screen, entries, ["--all", *words], "all servers", prefix, store.path,
            files=files, read_again=lambda: read(invocation.open_store()), uses_held=uses_held,
        )  # fmt: skip

    def with_fronts(self, fronts: Sequence[GatewayFront]) -> Gateway:
        """The gateway with these fronts, and with their limits for calls."""
        if not fronts:
            return self
        seconds = min(front.call_seconds for front in fronts)
        entries = {
            name: entry if isinstance(entry, MCPError) or entry.timeout is not None else entry._replace(timeout=seconds)
            for name, entry in self.entries.items()
        }
        # The clients of a front have been told of these servers, when they were read.
        return self._replace(entries=entries, fronts=fronts, read_again=None)

    def own_entry(self, words: Sequence[str]) -> tuple[str, dict[str, Any]]:
        """A name, and the entry that serves these servers with this program. `words` are additional options."""
        from gaia_mcp.config.served import own_program

        command, *start = own_program()
        return ENTRY_NAME, {"command": command, "args": [*start, "serve", *self.words, *words]}

    def load(self, max_calls: int | None, gate: Gate, *, has_several_clients: bool) -> Loaded:
        """The restricted provider of the servers, none of which is connected yet."""
        from gaia_mcp.cli.keeping import held_where_it_is
        from gaia_mcp.cli.serving import Loaded
        from gaia_mcp.fleet.gateway.instances import MAX_INSTANCES
        from gaia_mcp.fleet.gateway.provider import GatewayProvider
        from gaia_mcp.server.http.gateway_marks import GatewayMarks

        marks = GatewayMarks()
        provider = GatewayProvider(
            self.entries,
            prefix=self.prefix,
            environment={BEHIND_VARIABLE: _digest(self.file)},
            marks=marks,
            use=partial(held_where_it_is, self.screen) if self.uses_held else None,
            max_instances=MAX_INSTANCES if has_several_clients else 0,
            report=self.screen.remark,
            show=partial(_show, self.screen) if self.screen.debug else None,
            debug=self.screen.debug,
        )
        if self.read_again is not None:
            _follow(self.screen, self.files, self.read_again, provider)
        called = gate.before(provider, provider.tool_owner, by_name=True)
        fronts = [front.front(called, self.entries, provider) for front in self.fronts]
        return Loaded(gate.before(provider, provider.tool_owner), max_calls, marks, fronts)


_SEVERAL = "several targets need --http, and have no --check, --print-config or --kwarg"


def single_target(targets: Sequence[str], prefix: Prefix | None, invocation: Invocation) -> str:
    """The single target of a command without servers. Raises `UsageError`."""
    if prefix is not None or invocation.config is not None:
        option = "--prefix" if prefix is not None else "--config"
        raise UsageError(f"{option} is for --all and --server", hint="add --all, or --server NAME")
    if len(targets) != 1:
        problem = "no target given" if not targets else _SEVERAL
        raise UsageError(problem, hint="name one target, such as demo; or servers: --server NAME..., or --all")
    return targets[0]


def _follow(
    screen: Screen,
    files: Sequence[Path],
    read: Callable[[], Mapping[str, ServerEntry | MCPError]],
    provider: GatewayProvider,
) -> None:
    """Serve what is in the files, whenever they change. What cannot be read is reported, and changes nothing."""
    seen = _states(files)

    def follow() -> None:
        nonlocal seen
        while True:
            time.sleep(POLL_SECONDS)
            if (now := _states(files)) == seen:
                continue
            seen = now
            try:
                entries = read()
            except MCPError as error:
                screen.report(error)
                continue
            provider.replace(entries)
            screen.remark(f"{files[0]} has changed; serving {', '.join(entries) or 'no server'}")

    threading.Thread(target=follow, name="servers", daemon=True).start()


def _states(files: Sequence[Path]) -> list[tuple[int, int, int] | None]:
    """What changes with every change of these files."""
    found: list[tuple[int, int, int] | None] = []
    for file in files:
        try:
            status = file.stat()
        except OSError:
            found.append(None)
        else:
            found.append((status.st_mtime_ns, status.st_size, status.st_ino))
    return found


def _digest(file: Path) -> str:
    """Identifies a file. A digest rather than the path, because the values of a server's variables are masked in its
    messages.
    """
    return hashlib.sha256(os.fsencode(file.absolute())).hexdigest()[:32]


def _is_restricted(entry: ServerEntry) -> bool:
    """Whether the entry is restricted to stages or agents, which a gateway cannot distinguish."""
    return not entry.is_available(None, None)


def _is_gateway(screen: Screen, entry: ServerEntry) -> bool:
    """Whether the entry is itself a gateway to all servers."""
    from gaia_mcp.config.command import Command

    target = entry.target
    if not isinstance(target, Command):
        return False
    words = [target.command, *(target.args or ())]
    is_gateway = "serve" in words and "--all" in words and any(word in _OWN_WORDS for word in words)
    if is_gateway:
        screen.remark(f"{entry.name!r} is left out: it serves all servers itself")
    return is_gateway


_OWN_WORDS = frozenset({"mcp", "gmcp", "gaia_mcp"})


def _show(screen: Screen, server: str, lines: bytes) -> None:
    for line in clean(lines.decode("utf-8", "replace")).removesuffix("\n").split("\n"):
        screen.to_stderr(f"[{server}] {line.rstrip()}")

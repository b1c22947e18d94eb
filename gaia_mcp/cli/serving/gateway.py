"""Configured servers as what `gaia mcp serve --all` and `--server` show."""

from __future__ import annotations

import hashlib
import os
import secrets
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from gaia_mcp.cli.completion.completers import server_names
from gaia_mcp.cli.lines import to_type
from gaia_mcp.cli.screen.output import Form, remark, to_stderr
from gaia_mcp.cli.status import UsageError
from gaia_mcp.config.command import NOTHING
from gaia_mcp.errors import ConfigError, MCPError
from gaia_mcp.gateway.naming import Prefix
from gaia_mcp.safetext import clean

if TYPE_CHECKING:
    from gaia_mcp.cli.invocation import Invocation
    from gaia_mcp.cli.serving.gate import Gate
    from gaia_mcp.cli.serving.loading import Loaded
    from gaia_mcp.config.entries import ServerEntry

AllOption = Annotated[bool, typer.Option("--all", help="Serve all enabled servers as one.")]
ServerOption = Annotated[
    list[str] | None,
    typer.Option(
        "--server", metavar="NAME", show_default=False, autocompletion=server_names,
        help="Serve this server, and those in further arguments, as one.",
    ),
]  # fmt: skip
PrefixOption = Annotated[
    Prefix | None,
    typer.Option(
        "--prefix", show_default=False,
        help="Prefix names with their server's. Default: conflict, if two servers use the same name.",
    ),
]  # fmt: skip

# Tells the servers behind a gateway which file it serves all servers of, so that none of them is that gateway again.
BEHIND_VARIABLE = "GAIA_MCP_GATEWAY"
# The name of its entry in a host's file.
ENTRY_NAME = "gaia"
# No two gateways have the same.
MARK_BYTES = 16


class Gateway(NamedTuple):
    """The servers of a gateway by their names, of which an invalid one is the error about it. `words` are those of the
    command line that name them, `title` is for people. `has_a2a`: clients of A2A call their tools too.
    """

    entries: Mapping[str, ServerEntry | MCPError]
    words: list[str]
    title: str
    prefix: Prefix
    file: Path
    has_a2a: bool = False

    @classmethod
    def of(
        cls,
        invocation: Invocation,
        names: Sequence[str],
        prefix: Prefix | None,
        *,
        is_all: bool,
        mapped: Mapping[str, ServerEntry] = NOTHING,
    ) -> Gateway:
        """The servers that are named, or all that are enabled and offered to everyone, and those that are `mapped`.

        Raises `UsageError`, `ConfigError` where there are none, and as `Invocation.servers` does.
        """
        if is_all and names:
            raise UsageError("--all and names cannot be used together", hint="leave out --all, or the names")
        store = invocation.open_store()
        # Also for a server that other folders start: this file, and no other one.
        words = ["--prefix", prefix.value] if prefix is not None else []
        words += ["--config", str(store.path.absolute())] if invocation.config is not None else []
        prefix = prefix or Prefix.CONFLICT
        if not is_all:
            found = invocation.servers(store, invocation.typed(names))
            named = [word for name in names for word in ("--server", name)]
            return cls(
                {**{entry.name: entry for entry in found}, **mapped},
                [*named, *words],
                ", ".join(names),
                prefix,
                store.path,
            )
        if os.environ.get(BEHIND_VARIABLE) == _digest(store.path):
            raise ConfigError(
                f"one of the servers in {store.path} serves all of them, itself included",
                hint=f"let it serve the others by name: {to_type('serve', more='--server NAME...')}",
            )
        entries = {
            name: entry
            for name, entry in store.entries().items()
            if isinstance(entry, MCPError) or not (entry.disabled or _is_restricted(entry) or _is_gateway(entry))
        }
        entries.update(mapped)
        if not entries:
            raise ConfigError(
                f"{store.path} has no server that is enabled",
                hint=f"save one with: {to_type('add', more='NAME -- COMMAND [ARG...]')}",
            )
        return cls(entries, ["--all", *words], "all servers", prefix, store.path)

    def with_a2a(self, seconds: float) -> Gateway:
        """The same for clients of A2A too: a call takes no longer than this, unless its server's entry tells."""
        entries = {
            name: entry if isinstance(entry, MCPError) or entry.timeout is not None else entry._replace(timeout=seconds)
            for name, entry in self.entries.items()
        }
        return self._replace(entries=entries, has_a2a=True)

    def own_entry(self, words: Sequence[str]) -> tuple[str, dict[str, Any]]:
        """A name, and the entry that serves these servers with this program. `words` are further options."""
        from gaia_mcp.config.served import own_program

        command, *start = own_program()
        return ENTRY_NAME, {"command": command, "args": [*start, "serve", *self.words, *words]}

    def load(self, max_calls: int | None, gate: Gate, *, has_several_clients: bool) -> Loaded:
        """The provider of what `gate` lets through of the servers, none of which is connected yet."""
        from gaia_mcp.cli.serving.loading import Loaded
        from gaia_mcp.gateway.provider import GatewayProvider

        mark = secrets.token_hex(MARK_BYTES)
        provider = GatewayProvider(
            self.entries,
            prefix=self.prefix,
            environment={BEHIND_VARIABLE: _digest(self.file)},
            mark=mark,
            # Of one client the servers may know what it can be asked; of several, what any of them can.
            declares_all=has_several_clients,
            report=remark,
            show=_show if Form.debug else None,
            debug=Form.debug,
        )
        executing = None
        if self.has_a2a:
            from gaia_mcp.gateway.execution import ExecutingProvider

            called = gate.before(provider, provider.tool_owner, by_name=True)
            executing = ExecutingProvider(called, self.entries, provider.has_tool, provider.name_of)
        return Loaded(gate.before(provider, provider.tool_owner), max_calls, executing, mark)


_SEVERAL = "several targets need --http, and have no --check, --print-config or --kwarg"


def single_target(targets: Sequence[str], prefix: Prefix | None, invocation: Invocation) -> str:
    """The one target of a command without servers. Raises `UsageError`."""
    if prefix is not None or invocation.config is not None:
        option = "--prefix" if prefix is not None else "--config"
        raise UsageError(f"{option} is for --all and --server", hint="add --all, or --server NAME")
    if len(targets) != 1:
        problem = "no target given" if not targets else _SEVERAL
        raise UsageError(problem, hint="name one target, such as demo; or servers: --server NAME..., or --all")
    return targets[0]


def _digest(file: Path) -> str:
    """What tells a file from others. What a server is given is masked in its messages, so it is not the path."""
    return hashlib.sha256(os.fsencode(file.absolute())).hexdigest()[:32]


def _is_restricted(entry: ServerEntry) -> bool:
    """Whether it is for some stages or agents alone, which a gateway cannot tell apart."""
    return not entry.is_offered(None, None)


def _is_gateway(entry: ServerEntry) -> bool:
    """Whether it is a gateway to all servers itself."""
    from gaia_mcp.config.command import Command

    target = entry.target
    if not isinstance(target, Command):
        return False
    words = [target.command, *(target.args or ())]
    is_gateway = "serve" in words and "--all" in words and any(word in _OWN_WORDS for word in words)
    if is_gateway:
        remark(f"{entry.name!r} is left out: it serves all servers itself")
    return is_gateway


_OWN_WORDS = frozenset({"mcp", "gmcp", "gaia_mcp"})


def _show(server: str, lines: bytes) -> None:
    for line in clean(lines.decode("utf-8", "replace")).removesuffix("\n").split("\n"):
        to_stderr(f"[{server}] {line.rstrip()}")

"""The tools that `gaia mcp serve` allows, how they are offered, and where their calls are recorded."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from gaia_mcp.cli.completion.completers import tool_patterns
from gaia_mcp.cli.serving import LIMITS, SERVED
from gaia_mcp.cli.status import UsageError
from gaia_mcp.core.names import typeable

if TYPE_CHECKING:
    from gaia_mcp.cli.checks.locked import LockedTools
    from gaia_mcp.cli.screen.output import Screen
    from gaia_mcp.fleet.gateway.gate import NamePatterns, Owners, Restriction
    from gaia_mcp.fleet.gateway.naming import Owner
    from gaia_mcp.server.provider import Provider
    from gaia_mcp.storage.output_files import AuditFile
    from gaia_mcp.toolspec.contract import ToolChange

AllowOption = Annotated[
    list[str] | None,
    typer.Option(
        "--allow", rich_help_panel=SERVED, metavar="PATTERN", show_default=False, autocompletion=tool_patterns,
        help="Serve only tools that match this pattern, such as read_* or SERVER/*.",
    ),
]  # fmt: skip
DenyOption = Annotated[
    list[str] | None,
    typer.Option(
        "--deny", rich_help_panel=SERVED, metavar="PATTERN", show_default=False, autocompletion=tool_patterns,
        help="Do not serve tools that match this pattern, even with --allow.",
    ),
]  # fmt: skip
ReadOnlyOption = Annotated[
    bool, typer.Option("--read-only", rich_help_panel=SERVED, help="Serve only tools that are marked read-only.")
]
LockedOption = Annotated[
    bool, typer.Option("--locked", rich_help_panel=SERVED, help="Serve only tools that match the lock file.")
]
SearchOption = Annotated[
    bool,
    typer.Option(
        "--search", rich_help_panel=SERVED, help="Serve three tools in place of all others: find, describe and call."
    ),
]
AuditOption = Annotated[
    Path | None,
    typer.Option(
        "--audit", rich_help_panel=LIMITS, metavar="FILE", show_default=False,
        help="Append a line of JSON to this file for each tool call.",
    ),
]  # fmt: skip


class ToolOptions(NamedTuple):
    """The options of `serve` for tools."""

    allow: Sequence[str] = ()
    deny: Sequence[str] = ()
    read_only: bool = False
    locked: bool = False
    lock_file: Path | None = None
    search: bool = False
    audit: Path | None = None

    def words(self) -> list[str]:
        """The options as words of a command line that can be run in any folder."""
        from gaia_mcp.cli.checks.locked import lock_path

        found = [word for pattern in self.allow for word in ("--allow", pattern)]
        found += [word for pattern in self.deny for word in ("--deny", pattern)]
        found += ["--read-only"] if self.read_only else []
        found += ["--lock-file", str(lock_path(self.lock_file).absolute())] if self.locked or self.lock_file else []
        found += ["--search"] if self.search else []
        return [*found, *(["--audit", str(self.audit.absolute())] if self.audit else [])]


def scope_rules(scopes: Sequence[str]) -> list[tuple[str, str]]:
    """The values of `--scope` that have a `=`: a pattern of tools and a scope each."""
    return [(tool, scope) for text in scopes for tool, is_rule, scope in [text.partition("=")] if is_rule]


class Gate:
    """Restricts a provider as the options demand. `scopes` are patterns of tools, each with a scope that their calls
    need.

    Raises `UsageError` for an empty pattern, `ConfigFileError` for a lock file that does not exist or is invalid, and
    for an audit file that cannot be written.
    """

    def __init__(self, screen: Screen, options: ToolOptions, scopes: Sequence[tuple[str, str]] = ()) -> None:
        for option, patterns in (("--allow", options.allow), ("--deny", options.deny)):
            if not all(pattern.strip() for pattern in patterns):
                raise UsageError(f"{option} needs a pattern, not an empty word", hint="give it one, such as 'read_*'")
        self._screen = screen
        self._options = options
        self._scopes = scopes
        self._locked = _locked_tools(screen, options) if options.locked or options.lock_file is not None else None
        self._audit = _audit_file(options.audit) if options.audit is not None else None

    def check_locked(self, target: str) -> None:
        """Raises `ContractError` if the options demand locked tools, and those of this target were never locked."""
        if self._locked is not None:
            self._locked.contract(target)

    def of_one(self, target: str, provider: Provider) -> Provider:
        """The restricted provider of this target."""
        from gaia_mcp.fleet.gateway.gate import of_one

        return self._before(provider, of_one(target), f"no tool of {target!r}")

    def before(self, provider: Provider, owners: Owners, *, by_name: bool = False) -> Provider:
        """The restricted `provider`, whose tools have these owners. `by_name` is for clients that call tools without
        searching for them.
        """
        return self._before(provider, owners, "no tool", by_name=by_name)

    def _before(self, provider: Provider, owners: Owners, no_tool: str, *, by_name: bool = False) -> Provider:
        patterns, restrictions = self._patterns(no_tool), self._restrictions()
        if patterns is not None or restrictions:
            from gaia_mcp.fleet.gateway.gate import RestrictedProvider

            provider = RestrictedProvider(provider, owners, patterns, restrictions)
        if self._scopes:
            from gaia_mcp.fleet.gateway.gate import ScopedProvider, ScopeRule

            provider = ScopedProvider(provider, owners, [ScopeRule(*each) for each in self._scopes])
        if self._audit is not None:
            from gaia_mcp.fleet.gateway.gate import AuditedProvider

            provider = AuditedProvider(provider, self._audit, owners, self._screen.remark)
        if self._options.search and not by_name:
            from gaia_mcp.fleet.gateway.search import SearchProvider

            provider = SearchProvider(provider, owners, read_only=self._options.read_only)
        return provider

    def _patterns(self, no_tool: str) -> NamePatterns | None:
        if not self._options.allow and not self._options.deny:
            return None
        from gaia_mcp.fleet.gateway.gate import NamePatterns

        return NamePatterns(self._options.allow, self._options.deny, partial(_report_pattern, self._screen, no_tool))

    def _restrictions(self) -> list[Restriction]:
        found: list[Restriction] = []
        if self._options.read_only:
            from gaia_mcp.fleet.gateway.gate import ReadOnly

            found.append(ReadOnly(partial(_report_contradiction, self._screen)))
        if self._locked is not None:
            from gaia_mcp.fleet.gateway.gate import Locked

            found.append(Locked(self._locked.contracts, _reporting_changes(self._screen, self._locked)))
        return found


def _locked_tools(screen: Screen, options: ToolOptions) -> LockedTools | None:
    from gaia_mcp.cli.checks.locked import LockedTools, Locking

    return LockedTools.wanted(screen, Locking(options.locked, options.lock_file))


def _audit_file(path: Path) -> AuditFile:
    from gaia_mcp.core.errors import ConfigFileError
    from gaia_mcp.storage.output_files import AuditFile

    file = AuditFile(path)
    try:
        file.check()
    except OSError as problem:
        hint = "name a file in a folder that exists, such as ./audit.jsonl"
        raise ConfigFileError(path, f"cannot be written: {problem.strerror}", hint=hint) from problem
    return file


def _report_pattern(screen: Screen, no_tool: str, option: str, pattern: str) -> None:
    advice = ": repeat the option for each pattern" if "," in pattern else ""
    screen.remark(f"--{option} {pattern!r} matches {no_tool}{advice}")


def _report_contradiction(screen: Screen, owner: Owner) -> None:
    name = "/".join(owner)
    screen.remark(
        f"{name!r} is marked read-only, but its name suggests otherwise; leave it out with: --deny {typeable(name)}"
    )


def _reporting_changes(screen: Screen, locked: LockedTools) -> Callable[[str, Sequence[ToolChange] | None], None]:
    from gaia_mcp.cli.checks.locked import changed

    def report(server: str, changes: Sequence[ToolChange] | None) -> None:
        error = locked.unlocked(server) if changes is None else changed(screen.line, server, changes, locked.path)
        screen.remark(f"{error.message}; only tools that match the lock file are served. To {error.hint}")

    return report

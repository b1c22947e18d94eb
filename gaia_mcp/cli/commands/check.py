"""`gaia mcp test-client`: test servers, with a line for each check, for people and for build servers."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gaia_mcp.cli.completion.completers import budgets, check_tools, check_words, revisions_or_all
from gaia_mcp.cli.completion.file_names import files, object_files
from gaia_mcp.cli.grammar import ServerWords
from gaia_mcp.cli.invocation import Invocation
from gaia_mcp.cli.options import ANSWER, CONFIG, FRESH, HEADER, JSON, TIMEOUT, CompatibleOption, LockFileOption
from gaia_mcp.cli.status import UsageError, status_of
from gaia_mcp.cli.typer_command import ServerCommand

if TYPE_CHECKING:
    from gaia_mcp.cli.checks.report import Report
    from gaia_mcp.cli.checks.steps import CallWanted
    from gaia_mcp.config.entries import ServerEntry
    from gaia_mcp.config.store import ConfigStore
    from gaia_mcp.core.deadline import Deadline

Words = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="NAME... [ARG...]", help="Servers, and key=value for --call.", autocompletion=check_words,
        show_default=False,
    ),
]  # fmt: skip
AllOption = Annotated[bool, typer.Option("--all", help="Test every enabled server, all at once.")]
CallToolOption = Annotated[
    list[str] | None,
    typer.Option(
        "--call", metavar="TOOL", help="Call this tool too; of several, each takes the arguments behind it.",
        show_default=False, autocompletion=check_tools,
    ),
]  # fmt: skip
ArgsOption = Annotated[
    str | None,
    typer.Option(
        "--args",
        metavar="JSON",
        help="Take the arguments of --call from JSON, @FILE, or - for stdin.",
        autocompletion=object_files,
    ),
]
LockedOption = Annotated[bool, typer.Option("--locked", help="Fail unless all tools match the lock file.")]
SpecOption = Annotated[
    str | None,
    typer.Option(
        "--spec", metavar="FILE", help="Run the cases in this file: YAML, JSON or TOML.", show_default=False,
        autocompletion=files,
    ),
]  # fmt: skip
SpecSchemaOption = Annotated[
    bool, typer.Option("--spec-schema", help="Print the JSON Schema of such a file, and test nothing.")
]
JUnitOption = Annotated[
    Path | None, typer.Option("--junit", metavar="FILE", help="Write JUnit XML for a build server.", show_default=False)
]
CodeQualityOption = Annotated[
    Path | None,
    typer.Option(
        "--code-quality", metavar="FILE", help="Write the failures for GitLab's code quality.", show_default=False
    ),
]
SarifOption = Annotated[
    Path | None,
    typer.Option("--sarif", metavar="FILE", help="Write failures, warnings and advice as SARIF.", show_default=False),
]
StrictOption = Annotated[
    bool, typer.Option("--strict", help="Test every requirement of MCP, and what language models need.")
]
TapOption = Annotated[bool, typer.Option("--tap", help="Print the checks in the Test Anything Protocol.")]
JobsOption = Annotated[
    int | None,
    typer.Option(
        "--jobs", metavar="N", help="Test up to N servers at once. Default: 16.", min=1, max=64, show_default=False
    ),
]
RetriesOption = Annotated[
    int,
    typer.Option(
        "--retries",
        metavar="N",
        min=0,
        max=100,
        help="Run a case that fails again, up to N times. Default: 0.",
        show_default=False,
    ),
]
ProtocolOption = Annotated[
    list[str] | None,
    typer.Option(
        "--protocol", metavar="REVISION", help="Test with this revision of MCP, or with all; may be repeated.",
        show_default=False, autocompletion=revisions_or_all,
    ),
]  # fmt: skip
FuzzOption = Annotated[
    int | None,
    typer.Option(
        "--fuzz",
        metavar="N",
        min=1,
        max=1_000_000,
        help="Call each read-only tool N times with generated arguments.",
        show_default=False,
    ),
]
SeedOption = Annotated[
    int | None,
    typer.Option("--seed", metavar="S", help="Generate the same arguments as the run with this seed.", min=0,
                 show_default=False),
]  # fmt: skip
ToolOption = Annotated[
    list[str] | None,
    typer.Option(
        "--tool", metavar="PATTERN", help="Fuzz the tools with such names, also those that change something.",
        show_default=False, autocompletion=check_tools,
    ),
]  # fmt: skip
UnsafeOption = Annotated[bool, typer.Option("--unsafe", help="Fuzz all tools, also those that change something.")]

LoadOption = Annotated[
    int | None,
    typer.Option(
        "--load", metavar="N", min=1, max=10_000_000, help="Then call the tool of --call N times, and measure it.",
        show_default=False,
    ),
]  # fmt: skip
DurationOption = Annotated[
    str | None,
    typer.Option(
        "--duration", metavar="TIME", help="Call it for so long, such as 30s; with --load, whichever ends first.",
        show_default=False,
    ),
]  # fmt: skip
ConcurrencyOption = Annotated[
    int | None,
    typer.Option(
        "--concurrency", metavar="N", min=1, max=256, help="Make so many of these calls at once. Default: 1.",
        show_default=False,
    ),
]  # fmt: skip
BudgetOption = Annotated[
    list[str] | None,
    typer.Option(
        "--budget", metavar="WHAT=LIMIT", help="Fail if they exceed it: p50, p90, p99, max, errors, rate or memory.",
        show_default=False, autocompletion=budgets,
    ),
]  # fmt: skip
YesOption = Annotated[bool, typer.Option("--yes", help="Load or fuzz a server that is not on this machine, too.")]

# The key in the context for the number of `--call` before each of the words.
_CALLS_BEFORE = "gaia_mcp.calls_before"


class CheckCommand(ServerCommand):
    """A command whose option `--call` takes the arguments that follow it. Typer keeps no order of options and words."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        from gaia_mcp.cli.grammar.parsing import parse_line

        line = parse_line(["mcp", self.name or ""])
        calls_before: list[int] = []
        for word in args:
            line.take(word)
            if len(line.values.get("words", ())) > len(calls_before):
                calls_before.append(len(line.values.get("call_tool", ())))
        ctx.meta[_CALLS_BEFORE] = calls_before
        return super().parse_args(ctx, args)


SETTINGS = {"cls": CheckCommand}

COMMON = (ANSWER, FRESH, HEADER, CONFIG, JSON, TIMEOUT)


def check(
    invocation: Invocation,
    words: Words = None,
    every: AllOption = False,
    call_tool: CallToolOption = None,
    args: ArgsOption = None,
    locked: LockedOption = False,
    lock_file: LockFileOption = None,
    compatible: CompatibleOption = False,
    spec: SpecOption = None,
    spec_schema: SpecSchemaOption = False,
    retries: RetriesOption = 0,
    strict: StrictOption = False,
    protocol: ProtocolOption = None,
    jobs: JobsOption = None,
    fuzz: FuzzOption = None,
    seed: SeedOption = None,
    tool: ToolOption = None,
    unsafe: UnsafeOption = False,
    junit: JUnitOption = None,
    code_quality: CodeQualityOption = None,
    sarif: SarifOption = None,
    as_tap: TapOption = False,
    load: LoadOption = None,
    duration: DurationOption = None,
    concurrency: ConcurrencyOption = None,
    budget: BudgetOption = None,
    is_sure: YesOption = False,
    *,
    context: typer.Context,
) -> None:
    """Test servers, step by step.

    Checks start, negotiation, answer, tools and their schemas, prompts, resources and shutdown, and fails if one of
    these does. Warns about names that resemble another server's, and about texts that instruct a model or hide
    something. With --locked, fails if the tools do not match the lock file; with --compatible, if they
    have changed in a way that may break a caller. With --spec, runs the cases in a file, each
    with what is expected of the answer; `init --spec NAME` writes one. With --protocol, tests with each revision of MCP
    that is named; of all of them, those that a server does not support are left out. With --strict, tests each
    requirement of the specification that can be seen from outside, in all revisions that the server supports, and
    advises on what language models read. With --fuzz, calls each tool that is marked as read-only N times with
    generated arguments, valid and invalid ones, and fails if the server ends or blocks, reports an internal error,
    breaks its output schema, or grows without end. With --load or --duration, calls the tool of --call many times once
    everything has passed, and fails if a --budget is not kept.

    The last line counts the servers that passed; with --quiet only failures are printed. In a GitHub workflow the step
    summary gets a table, and each failure becomes an annotation.

    Example: gaia mcp test-client time --call get_current_time timezone=UTC
    """
    screen = invocation.screen
    if spec_schema:
        from gaia_mcp.cli.checks.cases import SCHEMA

        screen.print_json(SCHEMA)
        return
    from gaia_mcp.cli.calls.answering import Answering
    from gaia_mcp.cli.checks.build_reports import tap, write_all
    from gaia_mcp.cli.checks.fuzzing import fuzz_wanted
    from gaia_mcp.cli.checks.load import check_local, read_load
    from gaia_mcp.cli.checks.locked import LockedTools, Locking
    from gaia_mcp.cli.checks.report import print_check, print_report, print_skipped, summary_line
    from gaia_mcp.cli.checks.steps import Wanted, check_all, check_revisions, known_tools
    from gaia_mcp.cli.entries.remarks import remark_on_oauth, remark_on_retries
    from gaia_mcp.core.errors import ConfigError
    from gaia_mcp.fleet.parallel import AT_ONCE

    if as_tap and screen.as_json:
        raise UsageError("--tap and --json cannot be used together", hint="leave out one of the two")
    if retries and spec is None:
        raise UsageError("--retries is for the cases of --spec", hint="leave --retries out")
    fuzzed = fuzz_wanted(fuzz, seed, tool or [], is_unsafe=unsafe)
    answering, deadline = Answering.of(invocation), invocation.deadline()
    store = invocation.open_store_for(invocation.typed(words or []))
    typed = _typed(invocation, words or [], store)
    names = [word for word in typed.before if not _is_argument(word)]
    calls = _calls(call_tool or [], list(zip(typed.before, context.meta[_CALLS_BEFORE], strict=False)), args, deadline)
    if not names and not typed.after and not every:
        raise UsageError("no server given", hint=f"name one, or {screen.line.again('test all of them', '--all')}")
    wanted_load = read_load(
        screen.line, len(calls), load, duration, concurrency, budget or (), is_sure=is_sure and fuzz is None
    )
    cases = None
    if spec is not None:
        from gaia_mcp.cli.checks.cases import read_cases

        cases = read_cases(screen.line, spec, os.environ)
    wanted = Wanted(
        calls,
        LockedTools.wanted(screen, Locking(locked, lock_file, compatible)),
        known_tools(store),
        cases,
        retries,
        strict,
        wanted_load,
        fuzzed,
    )
    entries, unusable = _enabled(store) if every else _named(store, names, typed.after)
    protocol = protocol or (["all"] if strict else [])
    revisions = _revisions(protocol)
    # A held server has been connected with a revision already, its keeper would be measured too, and others use it.
    screen.line.is_fresh |= bool(revisions) or wanted_load is not None or fuzzed is not None
    entries = [invocation.using(entry) for entry in entries]
    if (wanted_load is not None or fuzzed is not None) and not is_sure:
        check_local(screen.line, entries)
    remark_on_retries(screen, entries)
    remark_on_oauth(screen, entries)
    if not entries and not unusable:
        raise ConfigError(f"no server to test in {store.path}", hint=screen.line.how_to_add())

    began = time.monotonic()
    is_watched = len(entries) == 1 and not (unusable or screen.as_json or screen.quiet or as_tap or revisions)
    if is_watched:
        screen.print_line(entries[0].name)
    with answering:
        on_check = partial(print_check, screen) if is_watched else None

        def check_each(entries: Sequence[ServerEntry]) -> list[Report]:
            # Their loads at once would slow each other down.
            at_once = 1 if wanted_load is not None else jobs or AT_ONCE
            return check_all(screen, entries, wanted, answering, deadline, on_check, at_once)

        if revisions:
            tested = check_revisions(revisions, entries, check_each, offered="all" in protocol)
        else:
            tested = check_each(entries)
        results = [*unusable, *tested]
    seconds = time.monotonic() - began
    problem = write_all(screen, results, seconds, junit=junit, quality=code_quality, sarif=sarif)
    status = next((result.status for result in results if result.status), problem and status_of(problem))
    if screen.as_json:
        servers = [result.as_object(screen) for result in results]
        answer = {"ok": not status, "servers": servers, "seconds": round(seconds, 4), "exit": int(status or 0)}
        screen.print_json({**answer, "error": screen.error_object(problem)} if problem is not None else answer)
    elif as_tap:
        for each in tap(results):
            screen.print_line(each)
    elif is_watched:
        print_skipped(screen, results[0])
    else:
        for result in results:
            print_report(screen, result, only_failures=screen.quiet)
    if not (screen.as_json or screen.quiet or as_tap):
        screen.print_line(
            summary_line(results, seconds), "red" if any(result.failures for result in results) else "green"
        )
    for failure in (*(result.error(screen.line) for result in results), problem):
        if failure is not None:
            screen.report(failure)
    if status:
        raise typer.Exit(status)


def _revisions(typed: Sequence[str]) -> list[str]:
    """The revisions to test with, the newest first. Raises `UsageError` for an unknown one."""
    from gaia_mcp.protocol import ALL_VERSIONS

    for each in typed:
        if each not in (*ALL_VERSIONS, "all"):
            hint = f"use all, or one of: {', '.join(ALL_VERSIONS)}"
            raise UsageError(f"there is no revision {each!r} of MCP", hint=hint)
    return [revision for revision in ALL_VERSIONS if revision in typed or "all" in typed]


def _calls(
    tools: Sequence[str], placed: Sequence[tuple[str, int]], args: str | None, deadline: Deadline | None
) -> list[CallWanted]:
    """The calls of these `tools`. A single one has all the arguments; otherwise each has those behind it. `placed` has
    each word with the number of `--call` before it. Raises `UsageError`.
    """
    from gaia_mcp.cli.calls import base_arguments, check_utf8, read_given
    from gaia_mcp.cli.checks.steps import CallWanted

    arguments = [(word, calls) for word, calls in placed if _is_argument(word)]
    check_utf8((*tools, *(word for word, _ in arguments)))
    if not tools and (arguments or args is not None):
        raise UsageError("arguments without --call TOOL", hint="name the tool to call: --call TOOL")
    if len(tools) > 1 and args is not None:
        raise UsageError("--args is for a single --call", hint="write the arguments of each tool behind its --call")
    wanted = []
    for number, tool in enumerate(tools, 1):
        given = read_given([word for word, calls in arguments if calls == number or len(tools) == 1])
        wanted.append(CallWanted(tool, given.assignments, {**base_arguments(args, deadline), **(given.base or {})}))
    if len(tools) > 1 and (early := next((word for word, calls in arguments if not calls), None)) is not None:
        raise UsageError(
            f"{early!r} is before the first --call", hint="write the arguments of each tool behind its --call"
        )
    return wanted


def _typed(invocation: Invocation, words: list[str], store: ConfigStore) -> ServerWords:
    """The servers and arguments before two dashes, and the command after them. Words after the dashes that are not a
    command count as before them.
    """
    typed = invocation.typed(words)
    known = store.names() if typed.after else []
    if "=" in "".join(typed.after[:1]) or all(word in known or _is_argument(word) for word in typed.after):
        return ServerWords(typed.words)
    return typed


def _is_argument(word: str) -> bool:
    """Whether `word` is a JSON object, or `key=value` and not part of a command line or a URL."""
    if word.startswith("{"):
        return True
    key, equals, _ = word.partition("=")
    return bool(equals) and not any(map(str.isspace, key)) and "://" not in key


def _named(
    store: ConfigStore, names: Sequence[str], command: Sequence[str] = ()
) -> tuple[list[ServerEntry], list[Report]]:
    """The entries of these names and of this command, and a report for each invalid entry."""
    from gaia_mcp.cli.checks.report import Report, untried
    from gaia_mcp.cli.entries.targets import command_entry, find_entry, with_own_names
    from gaia_mcp.core.errors import EntryError

    entries: list[ServerEntry] = []
    unusable: list[Report] = []
    for name in dict.fromkeys(names):
        try:
            entries.append(find_entry(store, name))
        except EntryError as error:
            unusable.append(Report(error.server, [untried(error)]))
    if command:
        entries.append(store.in_use(command_entry(command)))
    return with_own_names(entries), unusable


def _enabled(store: ConfigStore) -> tuple[list[ServerEntry], list[Report]]:
    entries, unusable = _named(store, store.names())
    return [entry for entry in entries if not entry.disabled], unusable

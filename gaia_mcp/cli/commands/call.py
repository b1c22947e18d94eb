"""`gaia mcp call`: call a tool."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from gaia_mcp.cli.completion.completers import call_targets, call_words
from gaia_mcp.cli.completion.file_names import object_files
from gaia_mcp.cli.invocation import Invocation
from gaia_mcp.cli.options import (
    AGENT,
    ANSWER,
    CONFIG,
    FRESH,
    HEADER,
    JSON,
    OUTPUT,
    STAGE,
    TIMEOUT,
    CompatibleOption,
    LockFileOption,
)
from gaia_mcp.cli.screen.output import Screen
from gaia_mcp.cli.status import UsageError
from gaia_mcp.cli.typer_command import ArgumentsCommand, line_of
from gaia_mcp.core.errors import MCPError

Target = Annotated[
    str,
    typer.Argument(
        metavar="NAME",
        help="Server: a name, command line, URL or agent, or SERVER.TOOL; or -- COMMAND at the end.",
        autocompletion=call_targets,
    ),
]
Words = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="TOOL [ARG...]",
        help="Tool, then key=value, key:=JSON or key=@FILE.",
        show_default=False,
        autocompletion=call_words,
    ),
]
ArgsOption = Annotated[
    str | None,
    typer.Option(
        "--args",
        metavar="JSON",
        help="Take all arguments from a JSON object, @FILE, or - for stdin.",
        autocompletion=object_files,
    ),
]
InteractiveOption = Annotated[
    bool, typer.Option("--interactive", "-i", help="Ask for missing arguments on the terminal.")
]
LockedOption = Annotated[bool, typer.Option("--locked", help="Refuse unless this tool matches the lock file.")]
ReadOnlyOption = Annotated[
    bool, typer.Option("--read-only", help="Refuse unless the tool is marked read-only and trusted.")
]
UncheckedOption = Annotated[
    bool, typer.Option("--unchecked", help="Send the arguments also if they do not match the schema.")
]
BatchOption = Annotated[
    str | None,
    typer.Option(
        "--batch",
        metavar="FILE",
        help="Make the calls in a file of JSON lines, or - for stdin.",
        show_default=False,
    ),
]
JobsOption = Annotated[
    int | None,
    typer.Option(
        "--jobs", metavar="N", help="Make up to N calls of a batch at once.", min=1, max=64, show_default=False
    ),
]
KeepGoingOption = Annotated[bool, typer.Option("--keep-going", help="Continue a batch after a failure.")]


class CallCommand(ArgumentsCommand):
    """`call SERVER TOOL --help` prints the help page of that tool, if its definition is cached."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        # A help page is written before Typer has parsed these arguments.
        ctx.meta["gaia_mcp.words"] = list(args)
        return super().parse_args(ctx, args)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        from gaia_mcp.cli.completion.tool_help import called_line, check_known, write_tool

        called = called_line(ctx.meta.get("gaia_mcp.words", ()))
        line = line_of(ctx).for_command("", called.config)
        try:
            check_known(line, called)
        except MCPError as error:
            raise typer.Exit(Screen(line, as_json=called.params.get("as_json", False)).fail(error)) from None
        if not write_tool(line, called, self, ctx, formatter):
            super().format_help(ctx, formatter)


SETTINGS = {"cls": CallCommand}

COMMON = (OUTPUT, ANSWER, STAGE, AGENT, FRESH, HEADER, CONFIG, JSON, TIMEOUT)


def call(
    invocation: Invocation,
    target: Target,
    words: Words = None,
    args: ArgsOption = None,
    interactive: InteractiveOption = False,
    locked: LockedOption = False,
    lock_file: LockFileOption = None,
    compatible: CompatibleOption = False,
    read_only: ReadOnlyOption = False,
    unchecked: UncheckedOption = False,
    batch: BatchOption = None,
    jobs: JobsOption = None,
    keep_going: KeepGoingOption = False,
) -> int:
    """Call a tool and print what it returns.

    Values are converted to the types of the tool's schema: numbers, booleans, lists, or text. Text is printed. Images,
    sound and other files are saved where -o says, and their paths printed; without -o a terminal shows or describes
    them. If there are none, -o FILE and -o - take the text.

    With --locked the tool has to match the lock file of `gaia mcp lock`; other tools of the server may differ. With
    --compatible it may have changed in ways that break no caller, such as a new optional parameter. With
    --read-only the server has to set its readOnlyHint, which you have to trust (`edit NAME --trust-hints`), and the
    name may have no verb such as `delete`. Only --locked makes sure that the hint stays.

    With --batch each line of the file is a call, as {"tool": "greet", "arguments": {"name": "Ada"}}, perhaps with an
    "id", and each line of the output its result, in the same order: {"id": 1, "result": …}, or "error" in place of it.
    The server is started once for all of them.

    Example: gaia mcp call time get_current_time timezone=Europe/Oslo
    """
    locking = None
    if locked or lock_file is not None or compatible:
        from gaia_mcp.cli.checks.locked import Locking

        locking = Locking(locked, lock_file, compatible)
    if batch is not None:
        from gaia_mcp.cli.calls.batch import call_all

        given: dict[str, object] = {
            "--args": args,
            "--interactive": interactive,
            "--unchecked": unchecked,
            "-o": invocation.output or invocation.output_dir,
        }
        given |= {"--raw": invocation.screen.raw, "--max-chars": invocation.screen.max_chars}
        if unfit := [option for option, value in given.items() if value]:
            raise UsageError(f"{unfit[0]} and --batch cannot be used together", hint=f"leave {unfit[0]} out")
        return call_all(
            invocation,
            [target, *(words or [])],
            batch,
            jobs=jobs or 1,
            keeps_going=keep_going,
            locking=locking,
            read_only=read_only,
        )
    if jobs is not None or keep_going:
        option = "--keep-going" if keep_going else "--jobs"
        raise UsageError(f"{option} needs --batch", hint=f"leave {option} out, or name the file of calls: --batch FILE")
    from gaia_mcp.cli.calls.calling import make_call

    return make_call(
        invocation,
        [target, *(words or [])],
        args,
        interactive=interactive,
        locking=locking,
        read_only=read_only,
        unchecked=unchecked,
    )

"""`gaia mcp call`: call a tool."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand

from gaia_mcp.cli.checks.locked import LockedTools, LockFileOption
from gaia_mcp.cli.completion.file_names import object_files
from gaia_mcp.cli.completion.sources import call_targets, call_words
from gaia_mcp.cli.options import CONFIG, JSON, TIMEOUT, Invocation, OutputOption
from gaia_mcp.cli.screen.output import remark
from gaia_mcp.cli.status import ExitStatus

if TYPE_CHECKING:
    from gaia_mcp.cli.calls.plan import Plan
    from gaia_mcp.client.tool import MCPTool
    from gaia_mcp.session.session import Session

Target = Annotated[str, typer.Argument(metavar="NAME", help="Server, or SERVER.TOOL.", autocompletion=call_targets)]
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
        help="All arguments as a JSON object, @FILE, or - for standard input.",
        autocompletion=object_files,
    ),
]
LockedOption = Annotated[bool, typer.Option("--locked", help="Refuse unless this tool is as it was locked.")]
ReadOnlyOption = Annotated[bool, typer.Option("--read-only", help="Refuse unless the tool says that it only reads.")]


class CallCommand(TyperCommand):
    """`call SERVER TOOL --help` is about that tool, as far as it is known."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        # A help page is written before Typer has understood any of them.
        ctx.meta["gaia_mcp.words"] = list(args)
        return super().parse_args(ctx, args)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        from gaia_mcp.cli.completion.tool_help import write_note, write_tool

        known = write_tool(self, ctx, formatter)
        if not known:
            super().format_help(ctx, formatter)
            write_note(ctx, formatter)


SETTINGS = {"cls": CallCommand}

COMMON = (CONFIG, JSON, TIMEOUT)


def call(
    invocation: Invocation,
    context: typer.Context,
    target: Target,
    words: Words = None,
    args: ArgsOption = None,
    output_dir: OutputOption = None,
    locked: LockedOption = False,
    lock_file: LockFileOption = None,
    read_only: ReadOnlyOption = False,
) -> None:
    """Call a tool and print what it returns.

    Values become what the tool's schema says they are: numbers, booleans, lists, or text. Text goes to stdout as it is;
    images, sound and other files are saved, and their paths printed.

    With --locked the tool has to be what `gaia mcp lock` found; other tools of the server may have changed. With
    --read-only its server has to mark it with readOnlyHint, which is a hint: only --locked makes sure that it stays.

    Example: gaia mcp call time get_current_time timezone=Europe/Oslo
    """
    from gaia_mcp.cli.calls.elicitation import asker
    from gaia_mcp.cli.calls.plan import planned
    from gaia_mcp.cli.screen.render import show_result
    from gaia_mcp.cli.screen.session_view import SessionView
    from gaia_mcp.session.prestart import Prestarted
    from gaia_mcp.session.session import connected
    from gaia_mcp.toolspec.schema import load_validator

    deadline = invocation.deadline()
    plan = planned(invocation.open_store(), target, words or [], args)
    server, tool_name = plan.entry.name, plan.tool
    locked_tools = LockedTools.wanted(locked, lock_file)
    if locked_tools is not None:
        locked_tools.contract(server)

    # Everything above needs nothing but files: a mistake there must not cost a start.
    if plan.assignments or plan.base:
        load_validator()
    with (
        SessionView(f"starting {server}") as view,
        connected(
            plan.entry,
            view,
            deadline=deadline,
            elicit=asker(server, view),
            prestarted=context.find_object(Prestarted),
        ) as session,
    ):
        tool = _find(session, tool_name)
        _check_allowed(server, tool, locked_tools, read_only=read_only)
        arguments = _typed(session, tool, plan)
        if invocation.debug:
            session.set_log_level("debug")
        view.rename(f"calling {server} {tool_name}")
        result = session.call(tool_name, arguments, on_progress=view.progressed)
        view.hide()
        _check_structure(tool, result)
        # Before the server is stopped: the answer need not wait for that.
        show_result(server, tool_name, result, output_dir, session.secrets())
    if result.get("isError"):
        raise typer.Exit(ExitStatus.TOOL_FAILED)


def _find(session: Session, name: str) -> MCPTool:
    from gaia_mcp.errors import ToolUnknownError
    from gaia_mcp.names import did_you_mean

    tool = session.find_tool(name)
    if tool is None:
        known = [tool.name for tool in session.tools()]
        raise ToolUnknownError(session.entry.name, name, suggestion=did_you_mean(name, known))
    return tool


def _check_allowed(server: str, tool: MCPTool, locked_tools: LockedTools | None, *, read_only: bool) -> None:
    from gaia_mcp.errors import ReadOnlyError

    if locked_tools is not None:
        locked_tools.check_tool(server, tool)
    if read_only and tool.annotations.get("readOnlyHint") is not True:
        raise ReadOnlyError(server, tool.name)


def _typed(session: Session, tool: MCPTool, plan: Plan) -> dict[str, Any]:
    """The arguments as the tool's schema wants them, checked against it."""
    from gaia_mcp.cli.calls.plan import typed
    from gaia_mcp.cli.calls.validation import checked, near_misses
    from gaia_mcp.errors import ArgumentsError
    from gaia_mcp.toolspec.schema import SchemaError

    schema = tool.input_schema
    arguments = typed(plan.assignments, schema, plan.base)
    try:
        checked(session.entry.name, tool.name, schema, arguments)
    except SchemaError as problem:
        remark(f"the schema of {tool.name!r} cannot be used, so the arguments go unchecked: {problem}")
        return arguments
    except ArgumentsError:
        # Its hint says to look at what is known.
        session.settle()
        raise
    for near_miss in near_misses(schema, arguments):
        remark(f"{tool.name!r} does not mention {near_miss}")
    return arguments


def _check_structure(tool: MCPTool, result: dict[str, Any]) -> None:
    """A result that breaks the tool's own promise is shown all the same, with a word about it."""
    from gaia_mcp.toolspec.schema import SchemaError, validation_errors

    if tool.output_schema is None or result.get("isError"):
        return
    if "structuredContent" not in result:
        remark(f"{tool.name!r} promises structured content and sent none")
        return
    try:
        found = validation_errors(tool.output_schema, result["structuredContent"])
    except SchemaError as problem:
        remark(f"the output schema of {tool.name!r} cannot be used: {problem}")
        return
    if found:
        remark(f"the result of {tool.name!r} does not fit its own schema: {found[0]}")

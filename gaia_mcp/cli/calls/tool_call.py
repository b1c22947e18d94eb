"""The steps before and after a tool call: find the tool, check that it is allowed, validate its arguments and its
result.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gaia_mcp.checking.structure import structure_problem
from gaia_mcp.cli.calls.plan import Plan, read_words, typed
from gaia_mcp.cli.calls.validation import checked_arguments
from gaia_mcp.cli.screen.output import remark
from gaia_mcp.cli.status import UsageError
from gaia_mcp.errors import ArgumentsError, PeerError, ReadOnlyError
from gaia_mcp.protocol.jsonrpc import INVALID_PARAMS, METHOD_NOT_FOUND
from gaia_mcp.toolspec.tool_filter import claims_to_only_read, only_reads
from gaia_mcp.toolspec.validation import SchemaError, unknown_names

if TYPE_CHECKING:
    from collections.abc import Callable

    from gaia_mcp.cli.checks.locked import LockedTools
    from gaia_mcp.client.tool import MCPTool
    from gaia_mcp.deadline import Deadline
    from gaia_mcp.protocol.events import Progressed
    from gaia_mcp.session.session import Session


def find_tool(session: Session, name: str) -> MCPTool:
    """The tool of this name. Raises `ToolUnknownError` with a suggestion, and `ToolExcludedError`."""
    tool = session.find_tool(name)
    if tool is None:
        from dataclasses import replace

        from gaia_mcp.cli.entries.code_files import listed_name

        known = {tool.name: tool for tool in session.tools()}
        if (listed := listed_name(session.entry, name, known)) is not None:
            # Only the server knows whether that handler has the tool.
            return replace(known[listed], name=name)
        from gaia_mcp.session.unknown import unknown_tool

        raise unknown_tool(session, name, known)
    return tool


def check_allowed(session: Session, tool: MCPTool, locked_tools: LockedTools | None, *, read_only: bool) -> None:
    """Refuse a tool that differs from its locked definition and, with `read_only`, one that may do more than read.

    Raises `ContractError`, `ReadOnlyError`.
    """
    if locked_tools is not None:
        locked_tools.check_tool(session.entry.name, session.masked_tool(tool))
    if read_only and not tool.only_reads:
        raise ReadOnlyError(
            session.entry.name,
            tool.name,
            is_marked=claims_to_only_read(tool.annotations),
            is_distrusted=only_reads(tool.name, tool.annotations),
        )


def typed_arguments(session: Session, tool: MCPTool, plan: Plan, deadline: Deadline | None) -> dict[str, Any]:
    """The arguments in the types of the tool's schema, validated against it. Raises `ArgumentsError`, `UsageError`."""
    schema, server = tool.input_schema, session.entry.name
    try:
        given = read_words(server, tool.name, plan.words, schema)
        arguments = typed(given.assignments, schema, {**plan.base, **(given.base or {})}, deadline)
        arguments = checked_arguments(server, tool.name, schema, arguments, deadline, shows_given=plan.is_base_read)
    except SchemaError as problem:
        which = f"the input schema of {tool.name!r} of server {server!r}"
        remark(f"{which} cannot be used, so the arguments are not validated: {problem}")
        return arguments
    except (ArgumentsError, UsageError):
        # The hint refers to the tool's help page, which reads the cache.
        session.settle()
        raise
    if unknown := unknown_names(schema, arguments):
        # They are sent: some tools accept arguments that their schema does not mention.
        remark(f"{tool.name!r} does not mention {'; '.join(unknown)}")
    return arguments


def called(
    session: Session, tool: MCPTool, arguments: dict[str, Any], on_progress: Callable[[Progressed], None] | None = None
) -> dict[str, Any]:
    """The tool's result. Raises as the session's requests do."""
    try:
        return session.call(tool.name, arguments, on_progress=on_progress)
    except PeerError as error:
        from gaia_mcp.cli.refusals import about_tasks, after_failure

        if error.code == METHOD_NOT_FOUND:
            error.hint = about_tasks(tool.definition)
        elif error.code == INVALID_PARAMS:
            error.hint = after_failure(error.server, tool.name, error.text, tool.input_schema)
        raise


def check_structure(server: str, tool: MCPTool, result: dict[str, Any], deadline: Deadline | None) -> None:
    """Print a remark if a result does not match the tool's output schema. The result is printed in any case."""
    if problem := structure_problem(server, tool.name, tool.output_schema, result, deadline):
        remark(problem)

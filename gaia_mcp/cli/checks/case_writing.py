"""The first file of cases for a server, from what it offers: nothing of it is called."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from gaia_mcp.cli.calls import typed
from gaia_mcp.cli.calls.tool_call import arguments_of
from gaia_mcp.core.errors import MCPError, NotSupportedError, PeerError
from gaia_mcp.text.yaml import lines_of
from gaia_mcp.toolspec.arguments import Assignment
from gaia_mcp.toolspec.describe import ANY_TEXT, example_of
from gaia_mcp.toolspec.schema import needed_of, properties_of
from gaia_mcp.toolspec.tool_filter import only_reads

if TYPE_CHECKING:
    from gaia_mcp.client.tools import MCPTool
    from gaia_mcp.fleet.session import Session

# A server may have thousands of resources, and the file has a limit.
MAX_OF_KIND = 100
_COMMENT = """\
# What to call of {server!r}, and what is expected of each answer. Run it with: {run}
# The format: {schema}
"""


def first_cases(session: Session, run: str, schema: str) -> bytes:
    """The file for a connected server, as YAML, with the command lines that run it and print its schema.

    A tool that may change something, and one whose arguments are not known, is skipped with the reason.
    """
    cases = [_case(tool) for tool in session.tools()]
    cases += _of_kind(session, "prompt")
    cases += _of_kind(session, "resource")
    value = {"checks": cases or [{"tool": "NAME", "skip": "the server has no tools yet"}]}
    lines = list(lines_of(value, ""))
    # A blank line before each case.
    spaced = [f"\n{line}" if line.startswith("  - ") and number > 1 else line for number, line in enumerate(lines)]
    return (_COMMENT.format(server=session.entry.name, run=run, schema=schema) + "\n".join(spaced) + "\n").encode()


def _case(tool: MCPTool) -> dict[str, Any]:
    schema = tool.input_schema
    examples = {key: example_of(properties_of(schema).get(key), schema) for key in needed_of(schema)}
    try:
        arguments = typed([Assignment(key, value, False) for key, value in examples.items()], schema)
    except MCPError:
        # A value for it cannot be made up.
        arguments = dict(examples)
    case: dict[str, Any] = {"tool": tool.name}
    if arguments:
        case["arguments"] = arguments
    # Its author knows whether that is true, and reads the file before it is run.
    if not only_reads(tool.name, tool.annotations):
        case["skip"] = "it may change something: remove this line to call it"
    elif ANY_TEXT in examples.values():
        case["skip"] = "its arguments are to be filled in"
    return {**case, "expect": {"isError": False}}


def _of_kind(session: Session, kind: str) -> Iterator[dict[str, Any]]:
    try:
        items = session.prompts() if kind == "prompt" else session.resources()
    except (NotSupportedError, PeerError):
        return
    for item in items[:MAX_OF_KIND]:
        case: dict[str, Any] = {kind: item["name" if kind == "prompt" else "uri"]}
        if names := [name for name, is_required in arguments_of(item) if is_required]:
            case["arguments"] = dict.fromkeys(names, ANY_TEXT)
            case["skip"] = "its arguments are to be filled in"
        yield case
    if len(items) > MAX_OF_KIND:
        yield {kind: "NAME", "skip": f"{len(items) - MAX_OF_KIND} more were left out"}

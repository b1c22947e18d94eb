"""Whether a tool's result conforms to the tool's output schema."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gaia_mcp.checking.checker import validation_errors
from gaia_mcp.toolspec.validation import SchemaError

if TYPE_CHECKING:
    from gaia_mcp.deadline import Deadline


def structure_problem(
    server: str, tool: str, output_schema: Any, result: dict[str, Any], deadline: Deadline | None
) -> str:
    """The problem of the structured content of a result of `tool`; empty if it is valid. Not required without an
    `output_schema`, nor for a failed tool.
    """
    if output_schema is None or result.get("isError"):
        return ""
    if "structuredContent" not in result:
        return f"{tool!r} declares an output schema and sent no structured content"
    try:
        found = validation_errors(output_schema, result["structuredContent"], deadline)
    except SchemaError as problem:
        return f"the output schema of {tool!r} of server {server!r} cannot be used: {problem}"
    return f"the result of {tool!r} does not match its output schema: {found[0]}" if found else ""

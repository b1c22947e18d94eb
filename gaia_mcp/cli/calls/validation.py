"""Arguments that do not fit a tool's schema: one error with everything in it, before anything is sent."""

from __future__ import annotations

import json
from typing import Any

from gaia_mcp.cli.hints import to_type
from gaia_mcp.errors import ArgumentsError
from gaia_mcp.toolspec.invalid_arguments import EXPECTED_SCHEMA, YOUR_ARGUMENTS, problems_in
from gaia_mcp.toolspec.schema import signature

# A schema longer than this would bury the rest; its signature says the same.
SCHEMA_CHARS = 700
GIVEN_CHARS = 300


def check_arguments(server: str, tool: str, schema: Any, arguments: dict[str, Any]) -> None:
    """Raises `ArgumentsError` with every problem, the arguments and the schema; `SchemaError` if that is unusable."""
    problems = problems_in(schema, arguments)
    if not problems:
        return
    given = json.dumps(arguments, ensure_ascii=False)
    shown = given if len(given) <= GIVEN_CHARS else given[: GIVEN_CHARS - 1] + "…"
    expected = json.dumps(schema, ensure_ascii=False)
    hint = f"it takes {signature(tool, schema)}; "
    if len(expected) <= SCHEMA_CHARS:
        hint += f"{EXPECTED_SCHEMA} {expected}"
    else:
        hint += f"all of it: {to_type('call', server, tool, more='--help')}"
    error = ArgumentsError(server, tool, [*problems, f"{YOUR_ARGUMENTS} {shown}"], hint=hint)
    error.facts = {"tool": tool, "problems": problems, "schema": schema, "arguments": arguments}
    raise error

"""Arguments that do not fit: one error that says all of it, before anything is sent."""

from __future__ import annotations

import json
from typing import Any

from gaia_mcp.errors import ArgumentsError
from gaia_mcp.names import did_you_mean, typeable
from gaia_mcp.toolspec.schema import properties_of, signature
from gaia_mcp.toolspec.validation import ValidationError, validation_errors

# A schema longer than this would bury the rest; its signature says the same.
SCHEMA_CHARS = 700
GIVEN_CHARS = 300


def checked(server: str, tool: str, schema: Any, arguments: dict[str, Any]) -> None:
    """Raises `ArgumentsError` with every problem, the arguments and the schema; `SchemaError` if that is unusable."""
    found = validation_errors(schema, arguments)
    if not found:
        return
    known = properties_of(schema)
    problems = [_worded(problem, known) for problem in found]
    if not any(problem.keyword == "additionalProperties" and not problem.where for problem in found):
        # It would have passed them over, but they may be why something is missing.
        problems += [f"it does not mention {near_miss}" for near_miss in near_misses(schema, arguments)]
    given = json.dumps(arguments, ensure_ascii=False)
    shown = given if len(given) <= GIVEN_CHARS else given[: GIVEN_CHARS - 1] + "…"
    whole = json.dumps(schema, ensure_ascii=False)
    hint = f"it takes {signature(tool, schema)}"
    if len(whole) <= SCHEMA_CHARS:
        hint += f"; Expected tool schema: {whole}"
    else:
        hint += f"; all of it: gaia mcp call {typeable(server)} {typeable(tool)} --help"
    error = ArgumentsError(server, tool, [*problems, f"Your arguments: {shown}"], hint=hint)
    error.facts = {"tool": tool, "problems": problems, "schema": schema, "arguments": arguments}
    raise error


def near_misses(schema: Any, arguments: dict[str, Any]) -> list[str]:
    """The arguments that the schema does not mention but something like them, each with what may have been meant."""
    known = properties_of(schema)
    return [f"{key!r}, {meant}" for key in arguments if key not in known and (meant := did_you_mean(key, known))]


def _worded(problem: ValidationError, known: dict[str, Any]) -> str:
    if problem.keyword == "additionalProperties" and not problem.where:
        name = problem.what.removeprefix("there is no ").strip("'")
        meant = did_you_mean(name, known)
        return f"{problem}, {meant}" if meant else str(problem)
    return str(problem)

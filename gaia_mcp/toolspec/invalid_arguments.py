"""The error report for arguments that do not match the input schema of a tool, for a user, a model or a program.

AMD GAIA's documents promise the text before the schema and before the arguments; programs search for it.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from gaia_mcp.names import did_you_mean
from gaia_mcp.toolspec.schema import BRANCHES, parts_of, properties_of

if TYPE_CHECKING:
    from gaia_mcp.toolspec.validation import ValidationError

DETAILS = "Error details:"
EXPECTED_SCHEMA = "Expected tool schema:"
YOUR_ARGUMENTS = "Your arguments:"


class InvalidArgumentsError(ValueError):
    """Arguments that match the schema of a tool but are still invalid: not a date, for example.

    `problems` are messages, each with its path.
    """

    def __init__(self, problems: Sequence[str]) -> None:
        super().__init__("; ".join(problems))
        self.problems = tuple(problems)


def report(tool: str, details: Sequence[str], schema: Any, arguments: Any) -> str:
    """The whole report, in several lines. A value that is not JSON is shown as text."""
    lines = [f"MCP tool {tool!r} input validation failed.", "", DETAILS, *details]
    lines += ["", EXPECTED_SCHEMA, _shown(schema), "", YOUR_ARGUMENTS, _shown(arguments)]
    return "\n".join(lines)


def details_of(text: str) -> list[str]:
    """The problems that a `report` contains, in words, without its schema and arguments; empty if it is not one."""
    _, begun, after = text.partition(f"\n\n{DETAILS}\n")
    details, ended, _ = after.partition(f"\n\n{EXPECTED_SCHEMA}\n")
    return [line.removeprefix("- ") for line in details.splitlines()] if begun and ended else []


def problems_in(found: Sequence[ValidationError], schema: Any, arguments: dict[str, Any]) -> list[str]:
    """Every problem as a message, with suggestions for mistyped names; empty if the arguments are valid.

    `found` are the validation errors of the arguments.
    """
    if not found:
        return []
    problems = [_with_suggestion(problem, schema) for problem in found]
    if not any(_is_unknown_name(problem) for problem in found):
        # The schema allows unknown names, but they may be why another one is missing.
        problems += [f"it does not mention {near_miss}" for near_miss in near_misses(schema, arguments)]
    return problems


def near_misses(schema: Any, arguments: dict[str, Any]) -> list[str]:
    """The names that the schema does not mention, but similar ones, each with the suggestion."""
    known = properties_of(schema)
    return [f"{key!r}, {meant}" for key in arguments if key not in known and (meant := did_you_mean(key, known))]


def unknown_names(schema: Any, arguments: dict[str, Any]) -> list[str]:
    """The names that the schema does not mention, each with a suggestion if there is a similar one. Empty if the schema
    lists no names, or allows additional ones.
    """
    parts = parts_of(schema, schema, BRANCHES)
    listed = [members for part in parts if isinstance(members := part.get("properties"), dict)]
    if not any(listed) or any(part.get("additionalProperties") or part.get("patternProperties") for part in parts):
        return near_misses(schema, arguments)
    known = {name for members in listed for name in members}
    unknown = {key: did_you_mean(key, known) for key in arguments if key not in known}
    return [f"{key!r}, {meant}" if meant else repr(key) for key, meant in unknown.items()]


def _with_suggestion(problem: ValidationError, schema: Any) -> str:
    if _is_unknown_name(problem):
        name = problem.what.removeprefix("there is no ").strip("'")
        if meant := did_you_mean(name, properties_of(schema)):
            return f"{problem}, {meant}"
    return str(problem)


def _is_unknown_name(problem: ValidationError) -> bool:
    return problem.keyword == "additionalProperties" and not problem.where


def _shown(value: Any) -> str:
    try:
        return json.dumps(value, indent=2, default=str)
    except (TypeError, ValueError, RecursionError):
        return "(it cannot be shown as JSON)"

"""Arguments that do not fit a tool's schema: one error with what is wrong and what the tool takes, before anything is
sent. It fits three lines of a terminal; `--json` has all of it, with the schema.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from gaia_mcp.checking.checker import validation_errors
from gaia_mcp.cli.lines import to_type
from gaia_mcp.errors import ArgumentsError
from gaia_mcp.safetext import cut, cut_middle
from gaia_mcp.toolspec.invalid_arguments import YOUR_ARGUMENTS, problems_in
from gaia_mcp.toolspec.schema import properties_of
from gaia_mcp.toolspec.validation import ExternalReferenceError

if TYPE_CHECKING:
    from gaia_mcp.deadline import Deadline
    from gaia_mcp.toolspec.validation import ValidationError

# The error and its hint together, as a usual terminal breaks them.
LINES, LINE_CHARS = 3, 100
# A single problem, which may quote a value, and arguments that were not typed.
PROBLEM_CHARS, GIVEN_CHARS = 80, 60


def checked_arguments(
    server: str,
    tool: str,
    schema: Any,
    arguments: dict[str, Any],
    deadline: Deadline | None = None,
    *,
    shows_given: bool,
) -> dict[str, Any]:
    """`arguments`, with the defaults of those that are required and missing, once they are valid.

    The error shows them with `shows_given`: where the person has not typed them. Raises `ArgumentsError` with the
    problems, also where the schema is in another document; `SchemaError` if it cannot be used for another reason, or
    takes too long.
    """
    try:
        arguments, found = _completed(schema, arguments, deadline)
    except ExternalReferenceError as elsewhere:
        problem = f"cannot be checked against its input schema: {elsewhere}"
        raise ArgumentsError(server, tool, [problem], hint=_schema_hint(server)) from elsewhere
    problems = problems_in(found, schema, arguments)
    if not problems:
        return arguments
    given = [f"{YOUR_ARGUMENTS} {cut(json.dumps(arguments, ensure_ascii=False), GIVEN_CHARS)}"] if shows_given else []
    problems_shown = [cut_middle(problem, PROBLEM_CHARS) for problem in problems]
    whole = f"error: {ArgumentsError(server, tool, [*problems_shown, *given]).message}"
    # The signature has as many lines as the problems leave.
    lines = 1 if len(whole) > LINE_CHARS else LINES - 1
    hint = _members_hint(found, schema, lines) or _signature_hint(server, tool, schema, lines)
    left = LINES - max(1, -(-len(f"hint: {hint}") // LINE_CHARS))
    excess = len(whole) - max(1, left) * LINE_CHARS
    shown = _without(problems_shown, excess)
    error = ArgumentsError(server, tool, [*shown, *given], hint=hint)
    error.facts = {"tool": tool, "problems": problems, "schema": schema, "arguments": arguments}
    raise error


def _completed(
    schema: Any, arguments: dict[str, Any], deadline: Deadline | None
) -> tuple[dict[str, Any], list[ValidationError]]:
    """The arguments with the defaults that they lack, and what is wrong with them."""
    found = validation_errors(schema, arguments, deadline)
    if not found:
        return arguments, found
    # Only now: few schemas require what has a default.
    from gaia_mcp.toolspec.defaults import with_defaults

    completed = with_defaults(arguments, schema)
    left = validation_errors(schema, completed, deadline)
    # A default that is invalid itself is no help.
    return (completed, left) if len(left) < len(found) else (arguments, found)


def _schema_hint(server: str) -> str:
    return f"see the schema with: {to_type('tools', server, more='--schema')}"


def _members_hint(found: Sequence[ValidationError], schema: Any, lines: int) -> str:
    """What the argument takes that the problems are inside of, in so many lines; empty if they are not in one, or it
    does not fit.
    """
    from gaia_mcp.toolspec.in_words import members_in_words

    keys = {re.split(r"[.\[]", problem.where)[0] for problem in found if re.search(r"[.\[]", problem.where)}
    if len(keys) != 1 or (described := properties_of(schema).get(key := keys.pop())) is None:
        return ""
    hint = f"the type of {key}: {members_in_words(described, schema)}"
    return hint if hint.endswith("}") and len(hint) <= lines * LINE_CHARS - len("hint: ") else ""


def _signature_hint(server: str, tool: str, schema: Any, lines: int) -> str:
    """What the tool takes, in so many lines; what does not fit is on the tool's help page."""
    from gaia_mcp.toolspec.in_words import signature

    begun = "its signature: "
    room = lines * LINE_CHARS - len("hint: ") - len(begun)
    if len(whole := signature(tool, schema)) <= room:
        return begun + whole
    see = f"; see: {to_type('call', server, tool, more='--help')}"
    return begun + signature(tool, schema, room - len(see)) + see


def _without(problems: Sequence[str], excess: int) -> list[str]:
    """`problems` without the last ones, which are counted, so that `excess` characters go; the first one stays."""
    kept = list(problems)
    while excess > 0 and len(kept) > 1:
        # What takes its place counts.
        excess -= len(f"; {kept.pop()}") - (len("; 10 more") if len(kept) == len(problems) - 1 else 0)
    return [*kept, f"{len(problems) - len(kept)} more"] if len(kept) < len(problems) else kept

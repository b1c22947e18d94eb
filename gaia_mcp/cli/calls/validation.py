"""Arguments that do not match a tool's schema: one error with the problems and the tool's signature, before anything is
sent. It fits three lines of a terminal; `--json` prints all of it, with the schema.
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
from gaia_mcp.toolspec.schema import properties_of
from gaia_mcp.toolspec.validation import YOUR_ARGUMENTS, ExternalReferenceError, problems_in

if TYPE_CHECKING:
    from gaia_mcp.deadline import Deadline
    from gaia_mcp.toolspec.validation import ValidationError

# The limit for the error and its hint together, with the lines broken as on a usual terminal.
LINES, LINE_CHARS = 3, 100
# The limits for one problem, which may quote a value, and for arguments that the person did not type.
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
    """`arguments`, completed with the defaults of missing required ones, once they are valid.

    With `shows_given` the error shows the arguments, for a person who has not typed them. Raises `ArgumentsError` with
    the problems, also if the schema refers to another document; `SchemaError` if it cannot be used for another reason,
    or if validation takes too long.
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
    # The signature gets the lines that the problems leave.
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
    """The arguments with missing defaults added, and the remaining validation errors."""
    found = validation_errors(schema, arguments, deadline)
    if not found:
        return arguments, found
    # Imported late: few schemas require a property that has a default.
    from gaia_mcp.toolspec.defaults import with_defaults

    completed = with_defaults(arguments, schema)
    left = validation_errors(schema, completed, deadline)
    # A default that is itself invalid does not help.
    return (completed, left) if len(left) < len(found) else (arguments, found)


def _schema_hint(server: str) -> str:
    return f"see the schema with: {to_type('tools', server, more='--schema')}"


def _members_hint(found: Sequence[ValidationError], schema: Any, lines: int) -> str:
    """The members of the one argument that contains the problems, in at most `lines` lines; empty if the problems are
    not within one argument, or if the text is too long.
    """
    from gaia_mcp.toolspec.in_words import members_in_words

    keys = {re.split(r"[.\[]", problem.where)[0] for problem in found if re.search(r"[.\[]", problem.where)}
    if len(keys) != 1 or (described := properties_of(schema).get(key := keys.pop())) is None:
        return ""
    hint = f"the type of {key}: {members_in_words(described, schema)}"
    return hint if hint.endswith("}") and len(hint) <= lines * LINE_CHARS - len("hint: ") else ""


def _signature_hint(server: str, tool: str, schema: Any, lines: int) -> str:
    """The tool's signature in at most `lines` lines; if it is cut, followed by the command for the tool's help page."""
    from gaia_mcp.toolspec.in_words import signature

    begun = "its signature: "
    room = lines * LINE_CHARS - len("hint: ") - len(begun)
    if len(whole := signature(tool, schema)) <= room:
        return begun + whole
    see = f"; see: {to_type('call', server, tool, more='--help')}"
    return begun + signature(tool, schema, room - len(see)) + see


def _without(problems: Sequence[str], excess: int) -> list[str]:
    """`problems` shortened by `excess` characters: the last ones are replaced by their number. The first one stays."""
    kept = list(problems)
    while excess > 0 and len(kept) > 1:
        # The replacement takes space, too.
        excess -= len(f"; {kept.pop()}") - (len("; 10 more") if len(kept) == len(problems) - 1 else 0)
    return [*kept, f"{len(problems) - len(kept)} more"] if len(kept) < len(problems) else kept

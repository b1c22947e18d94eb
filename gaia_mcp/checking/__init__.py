"""Validating values against untrusted schemas, and searching texts by expressions, in bounded time.

The validator is native code: while it runs, no other thread of the process runs, and no signal is handled. So it runs
in this process only if `toolspec.cost` guarantees that it finishes in a moment; that is the usual case. Otherwise it
runs in a separate process, which is stopped when the time is up, or with the caller.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from gaia_mcp.toolspec.validation import (
    Schema,
    SchemaError,
    ValidationError,
    as_text,
    is_plainly_valid,
    is_trivial,
    plain_members,
    schema_of,
)

if TYPE_CHECKING:
    from gaia_mcp.core.deadline import Deadline

# The limits for validation in this process, in units of `toolspec.cost`: a fifth of a second. Collecting errors takes
# some hundred times as long.
MISTAKES_UNITS, FITTING_UNITS = 4_000, 2_000_000
# The default time limit; also at most half of the remaining time, since the call itself needs some too.
CHECK_SECONDS = 3.0
# A text in which this process searches by itself.
SEARCHED_CHARS = 10_000
_REPEATING = "*+{"


class Checker:
    """A schema that many values are validated against."""

    def __init__(self, schema: Any) -> None:
        self._schema = schema
        self._members = plain_members(schema)
        self._ready: Schema | None = None

    def validation_errors(
        self, value: Any, deadline: Deadline | None = None, *, seconds: float = CHECK_SECONDS
    ) -> list[ValidationError]:
        """The validation errors of `value`, missing and unknown members first.

        Raises `SchemaError` if the schema cannot be used; `SchemaCostError` if checking takes more than `seconds`, or
        than half of the time to `deadline`.
        """
        if self._members is not None and is_plainly_valid(self._schema, self._members, value):
            return []
        if self._ready is None:
            if is_trivial(self._schema, value):
                return []
            self._ready = schema_of(as_text(self._schema))
        schema = self._ready
        units = schema.cost.units(value, FITTING_UNITS)
        if units <= MISTAKES_UNITS:
            return schema.errors(value)
        if units <= FITTING_UNITS and schema.is_valid(value):
            return []
        from gaia_mcp.checking.process import errors_apart

        return errors_apart(schema.text, value, deadline, seconds=seconds)

    def checked_arguments(self, arguments: dict[str, Any]) -> tuple[dict[str, Any], list[ValidationError]]:
        """The arguments of a call, and their validation errors. If they are valid once texts are read as JSON values
        where the schema allows no text, these are the arguments. Raises as `validation_errors`.
        """
        errors = self.validation_errors(arguments)
        if errors:
            # Imported late: most hosts send what the schema asks for.
            from gaia_mcp.toolspec.arguments import without_texts

            read = without_texts(arguments, self._schema)
            if read is not arguments and not self.validation_errors(read):
                return read, []
        return arguments, errors


def validation_errors(
    schema: Any, value: Any, deadline: Deadline | None = None, *, seconds: float = CHECK_SECONDS
) -> list[ValidationError]:
    """As the method of that name."""
    return Checker(schema).validation_errors(value, deadline, seconds=seconds)


def check_schema(schema: Any, deadline: Deadline | None = None, *, seconds: float = CHECK_SECONDS) -> None:
    """Raises `SchemaError` with the reason why `schema` cannot be used, `SchemaCostError` as a `Checker` does."""
    ready = schema_of(as_text(schema))
    if ready.cost.is_bounded:
        ready.compile()
        return
    from gaia_mcp.checking.process import check_apart

    check_apart(ready.text, deadline, seconds=seconds)


def matches(expression: str, text: str, deadline: Deadline | None = None, *, seconds: float = CHECK_SECONDS) -> bool:
    """Whether a regular expression matches somewhere in `text`. Raises `re.error`, `SchemaCostError` as a `Checker`."""
    compiled = re.compile(expression)
    # With one repetition it takes quadratic time at most; with several it may take years.
    if len(text) <= SEARCHED_CHARS and sum(map(expression.count, _REPEATING)) <= 1:
        return compiled.search(text) is not None
    from gaia_mcp.checking.process import matches_apart

    return matches_apart(expression, text, deadline, seconds=seconds)


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

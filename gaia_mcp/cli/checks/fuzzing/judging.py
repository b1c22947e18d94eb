"""One call of a tool with generated arguments, and what is wrong with what came of it; and whether a server has grown
over many.

A program that runs takes more memory for a while: caches fill, a collector of garbage waits. So only growth counts that
goes on in each part of a run, is large, and is a good part of what the server occupied after the first part.
"""

from __future__ import annotations

import json
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

from gaia_mcp.checking import structure_problem
from gaia_mcp.core.deadline import Deadline
from gaia_mcp.core.errors import (
    ConnectionLostError,
    DeadlineError,
    MCPError,
    NotConnectedError,
    OutcomeUnknownError,
    PeerError,
    RefusedError,
    RemoteProtocolError,
    StatusError,
)
from gaia_mcp.protocol.jsonrpc import INTERNAL_ERROR, INVALID_PARAMS, MISSING_CAPABILITY, URL_REQUIRED
from gaia_mcp.text import one_line
from gaia_mcp.toolspec.validation import Schema, SchemaError, as_text, schema_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gaia_mcp.client.tools import MCPTool
    from gaia_mcp.fleet.session import Session

# The kinds of problems, of which each is reported once for a tool. The server ends, or does not answer.
EXITS, HANGS = "exits", "hangs"
# It answers with an internal error, with another error to valid arguments, or with what is no response.
INTERNAL, ERROR, GARBLED = "internal error", "error", "garbled"
# Its result does not match the output schema; it writes something else to its output; it grows.
STRUCTURE, NOISE, GROWS = "structure", "noise", "grows"
# Only warnings: a server may know rules that its schema does not, and what it does with superfluous arguments is its
# own matter.
REFUSES_VALID, ACCEPTS_INVALID, ODD_REFUSAL = "refuses valid", "accepts invalid", "odd refusal"
WARNINGS = frozenset((REFUSES_VALID, ACCEPTS_INVALID, ODD_REFUSAL))
# After these, the connection is not used again.
FATAL = frozenset((EXITS, HANGS))
# Units of `toolspec.cost` for one value: some milliseconds. A value that takes more is not sent.
MAX_UNITS = 50_000
PROBLEM_CHARS = 300
# Growth is measured from the end of the first of these parts of the calls of a tool. Fewer calls prove nothing.
PARTS, MEASURED_CALLS = 4, 100
# A collector may leave tens of megabytes for later.
LEAST_BYTES, LEAST_SHARE = 64 << 20, 0.25
# Each part has to have at least this share of the growth, where an even one would be a third.
LEAST_PART = 0.2


class Case(NamedTuple):
    """Arguments of a call, and why the input schema refuses them; empty if they are valid."""

    arguments: dict[str, Any]
    refusal: str = ""

    @property
    def is_valid(self) -> bool:
        """Whether the schema accepts them."""
        return not self.refusal

    @property
    def text(self) -> str:
        """The arguments as JSON, in ASCII."""
        return json.dumps(self.arguments)


class Problem(NamedTuple):
    """What is wrong, of one of the kinds above: in words, and as an error if it is one."""

    kind: str
    text: str
    error: MCPError | None = None

    @property
    def is_warning(self) -> bool:
        """Whether the tool passes in spite of it."""
        return self.kind in WARNINGS


class Judge:
    """Sorts arguments of `tool` into valid and invalid ones, and judges calls with them.

    Raises `SchemaError` for an input schema that cannot be used, or takes too long to check.
    """

    def __init__(self, session: Session, tool: MCPTool) -> None:
        self.session = session
        self.tool = tool
        self._schema: Schema = schema_of(as_text(tool.input_schema))
        if not self._schema.cost.is_bounded:
            raise SchemaError("checking arguments against it takes too long")
        self._schema.compile()
        self._output = _usable(tool.output_schema)
        # The calls in which the server asked for input that is not given.
        self.unanswered = 0

    def case(self, arguments: dict[str, Any]) -> Case | None:
        """The arguments as a case; None if they take too long to check."""
        if self._schema.cost.units(arguments, MAX_UNITS) > MAX_UNITS:
            return None
        if self._schema.is_valid(arguments):
            return Case(arguments)
        return Case(arguments, one_line(str(self._schema.errors(arguments)[0]), PROBLEM_CHARS))

    def problem(self, case: Case, seconds: float) -> Problem | None:
        """Call the tool, for `seconds` at most; what is wrong with the outcome.

        Raises `NotConnectedError` once the session is closed, and other errors of starting the server again.
        """
        name, server = self.tool.name, self.session.entry.name
        try:
            result = self.session.call(name, case.arguments, deadline=Deadline(seconds))
        except PeerError as error:
            return self._of_error(case, error)
        except NotConnectedError:
            # Another thread has replaced the connection, which was lost. After the end of the session this raises it.
            self.session.open(Deadline(seconds))
            lost = ConnectionLostError(
                f"server {server!r} closed the connection during tools/call {name!r}", server=server
            )
            return Problem(EXITS, lost.message, lost)
        except ConnectionLostError as error:
            return Problem(EXITS, error.message, error)
        except DeadlineError as error:
            return Problem(HANGS, error.message, error)
        except RefusedError:
            self.unanswered += 1
            return None
        except (RemoteProtocolError, StatusError) as error:
            is_garbled = isinstance(error, (OutcomeUnknownError, RemoteProtocolError))
            return Problem(GARBLED if is_garbled else ERROR, error.message, error)
        if result.get("isError"):
            return None
        if wrong := structure_problem(server, name, self._output, result, None):
            return Problem(STRUCTURE, wrong, RemoteProtocolError(server, f"broke its output schema: {wrong}"))
        return None if case.is_valid else Problem(ACCEPTS_INVALID, f"accepted invalid arguments: {case.refusal}")

    def _of_error(self, case: Case, error: PeerError) -> Problem | None:
        if error.code == INTERNAL_ERROR:
            return Problem(INTERNAL, error.message, error)
        if error.code in (MISSING_CAPABILITY, URL_REQUIRED):
            self.unanswered += 1
            return None
        said = one_line(error.text, PROBLEM_CHARS)
        if error.code == INVALID_PARAMS:
            return Problem(REFUSES_VALID, f"refused arguments that match its schema: {said}") if case.is_valid else None
        if case.is_valid:
            return Problem(ERROR, error.message, error)
        return Problem(ODD_REFUSAL, f"refused invalid arguments with error {error.code}, not {INVALID_PARAMS}: {said}")


def growth(measured: Sequence[int]) -> int:
    """The bytes by which a server has grown, of measurements at the ends of the `PARTS`; 0 if that is no leak."""
    if len(measured) != PARTS:
        return 0
    whole = measured[-1] - measured[0]
    if whole < max(LEAST_BYTES, measured[0] * LEAST_SHARE):
        return 0
    return whole if all(after - before >= whole * LEAST_PART for before, after in pairwise(measured)) else 0


def as_seen(error: MCPError) -> MCPError:
    """The error without the advice that the outcome of the call is unknown: here it is what was looked for."""
    if not isinstance(error, OutcomeUnknownError):
        return error
    parents = (each for each in type(error).__mro__ if not issubclass(each, OutcomeUnknownError))
    kind = next(each for each in parents if issubclass(each, MCPError))
    seen = kind.__new__(kind)
    MCPError.__init__(seen, error.message)
    vars(seen).update(vars(error), facts={key: fact for key, fact in error.facts.items() if key != "may_have_run"})
    return seen


def _usable(schema: Any) -> Any:
    """The output schema; None for one that cannot be used, which is another check's finding."""
    try:
        if schema is not None:
            schema_of(as_text(schema)).compile()
    except SchemaError:
        return None
    return schema

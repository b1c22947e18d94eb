"""The outcome of a request: a result, or the JSON-RPC error for an exception."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from gaia_mcp.asking import CallCancelledError
from gaia_mcp.protocol.jsonrpc import INTERNAL_ERROR, INVALID_REQUEST, MISSING_CAPABILITY, Message, encode, error
from gaia_mcp.protocol.questions import MissingCapabilityError, QuestionError
from gaia_mcp.safetext import one_line
from gaia_mcp.server.provider import RequestError, ResultError
from gaia_mcp.server.running_call import InputRequired
from gaia_mcp.tracing import carrying, has_spans, trace_in

if TYPE_CHECKING:
    from gaia_mcp.protocol.events import RequestReceived
    from gaia_mcp.server.running_call import RunningCall
    from gaia_mcp.server.served_call import ServedCall

Wire = dict[str, Any]
# A JSON-RPC error: code, message, data.
Error = tuple[int, str, Any]


class Job(NamedTuple):
    """A request to answer with `Calls.run`."""

    request: RequestReceived
    call: ServedCall


# The response if the code raises `CallCancelledError` although its client did not cancel the request.
CANCELLED: Error = (INTERNAL_ERROR, "cancelled", None)


# The result (None if the error counts), the error, the exception for the server's log, and the missing capability. A
# plain tuple, because one is made for each call.
Outcome: TypeAlias = "tuple[Wire | None, Error, BaseException | None, MissingCapabilityError | None]"


def outcome_of(answer: Callable[[Job], Wire | None], job: Job) -> Outcome:
    """Call `answer`, which may raise anything, and return the outcome."""
    try:
        return answer(job), CANCELLED, None, None
    except (CallCancelledError, InputRequired):
        return None, CANCELLED, None, None
    except MissingCapabilityError as problem:
        error = (MISSING_CAPABILITY, str(problem), {"requiredCapabilities": problem.required})
        return None, error, None, problem
    except QuestionError as problem:
        return None, (INVALID_REQUEST, str(problem), None), problem, None
    except RequestError as problem:
        return None, (problem.code, str(problem), problem.data), None, None
    except ResultError as problem:
        return None, invalid(job.request.method, problem), problem, None
    except BaseException as problem:  # noqa: BLE001 (an agent's own code, which may even try to exit)
        return None, (INTERNAL_ERROR, f"{job.request.method} raised {raised(problem)}", None), problem, None


def invalid(method: str, problem: ResultError) -> Error:
    """The error for a result that is invalid."""
    return INTERNAL_ERROR, f"{method} returned {problem}", None


# Called with a description of the failure, and the exception.
OnFailure: TypeAlias = Callable[[str, BaseException], None]
# Some libraries raise exceptions with a page of text.
LINE_CHARS = 2000


def note_failure(what: str, error: BaseException) -> None:
    """Write one line to stderr."""
    print(f"error: {placed(what, error)}", file=sys.stderr)  # noqa: T201


def placed(what: str, error: BaseException) -> str:
    """`what` on one line, with the file and the line of the user's code that raised the exception, if any did."""
    from gaia_mcp.importing import place_of

    text, place = one_line(what, LINE_CHARS), place_of(error)
    return f"{text}, at {place}" if place else text


def raised(error: BaseException) -> str:
    """The exception as `ValueError: no such file`, or `ValueError` if it has no message."""
    text = str(error)
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def encode_outgoing(message: Message | list[Message]) -> bytes:
    """The message as one line. A response that is not JSON becomes an error response: its client waits for one."""
    try:
        return encode(message)
    except (TypeError, ValueError) as problem:
        if isinstance(message, list):
            return b"[" + b",".join(encode_outgoing(part).rstrip() for part in message) + b"]\n"
        return encode(error(message.get("id"), INTERNAL_ERROR, f"the result is not JSON: {problem}"))


def as_json(data: Any) -> Any:
    """`data`, or its text if it cannot be written as JSON."""
    try:
        encode(data)
    except (TypeError, ValueError):
        return str(data)
    return data


def outcome_in_trace(answer: Callable[[Job], dict[str, Any] | None], job: Job) -> Outcome:
    """As `outcome_of`. Messages that `answer` sends belong to the same trace."""
    received, ambient = _traces_of(job.call)
    if not has_spans():
        with carrying(received):
            return outcome_of(answer, job)
    from gaia_mcp.spans import are_recorded, has_context, server_span

    if not (received or has_context() or are_recorded()):
        return outcome_of(answer, job)
    request = job.request
    attributes = {**job.call.transport.attributes, "mcp.protocol.version": request.context.version}
    with server_span(request.method, request.params, attributes, received, ambient) as span:
        span.identify(request.id)
        outcome = outcome_of(answer, job)
        result, error, _, _ = outcome
        if result is not None:
            span.returned(result)
        elif error is not CANCELLED:
            span.refused(error[0], error[1])
    return outcome


def _traces_of(call: RunningCall) -> tuple[Mapping[str, str], Mapping[str, str]]:
    """The trace of a request, and that of its transport if both have one."""
    received, of_transport = trace_in(call.meta), trace_in(call.transport.trace)
    return (received, of_transport) if received else (of_transport, {})

"""The outcomes of running a request."""

from __future__ import annotations

from typing import Any

from gaia_mcp.asking import CallCancelledError
from gaia_mcp.protocol.events import RequestContext, RequestReceived
from gaia_mcp.protocol.jsonrpc import INTERNAL_ERROR, INVALID_REQUEST, MISSING_CAPABILITY
from gaia_mcp.protocol.questions import MissingCapabilityError, QuestionError
from gaia_mcp.server.outcomes import Job, Outcome, invalid, outcome_of
from gaia_mcp.server.provider import RequestError, ResultError
from gaia_mcp.server.running_call import InputRequired

JOB = Job(RequestReceived(1, "tools/call", {}, RequestContext("", {}, {}, None, None)), None)  # type: ignore[arg-type]


def raising(error: BaseException) -> Outcome:
    def answer(_job: Job) -> dict[str, Any]:
        raise error

    return outcome_of(answer, JOB)


def test_a_result_is_the_outcome() -> None:
    """Ours: it is validated later, by the connection."""
    result, _, failure, missing = outcome_of(lambda job: {"asked": job.request.method}, JOB)

    assert (result, failure, missing) == ({"asked": "tools/call"}, None, None)


def test_an_exception_becomes_an_error() -> None:
    """Ours: those that the author of the agent has to know of are failures, which the server logs."""
    errors: list[tuple[BaseException, int, str, bool]] = [
        (CallCancelledError(), INTERNAL_ERROR, "cancelled", False),
        (InputRequired(), INTERNAL_ERROR, "cancelled", False),
        (RequestError("no such tool", -32602, {"a": 1}), -32602, "no such tool", False),
        (QuestionError("too often"), INVALID_REQUEST, "too often", True),
        (ResultError("nothing"), INTERNAL_ERROR, "tools/call returned nothing", True),
        (SystemExit(3), INTERNAL_ERROR, "tools/call raised SystemExit: 3", True),
    ]
    outcomes = [raising(error) for error, *_ in errors]

    assert [result for result, *_ in outcomes] == [None] * len(errors)
    assert [found[:2] for _, found, *_ in outcomes] == [(code, text) for _, code, text, _ in errors]
    assert [failure for _, _, failure, _ in outcomes] == [error if fails else None for error, _, _, fails in errors]


def test_a_missing_capability_is_named() -> None:
    """MS-4."""
    missing = MissingCapabilityError({"roots": {}})

    _, found, failure, named = raising(missing)

    assert (failure, named) == (None, missing)
    assert found == (MISSING_CAPABILITY, str(missing), {"requiredCapabilities": {"roots": {}}})


def test_an_invalid_result_is_an_internal_error() -> None:
    """JSON-RPC."""
    assert invalid("prompts/get", ResultError("nothing")) == (INTERNAL_ERROR, "prompts/get returned nothing", None)

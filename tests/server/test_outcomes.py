"""What comes of running a request."""

from __future__ import annotations

from typing import Any

import pytest

from gaia_mcp.protocol.events import RequestContext, RequestReceived
from gaia_mcp.protocol.jsonrpc import INTERNAL_ERROR, INVALID_REQUEST, MISSING_CAPABILITY
from gaia_mcp.protocol.questions import MissingCapabilityError, QuestionError
from gaia_mcp.server.outcomes import Job, Outcome, invalid, outcome_of
from gaia_mcp.server.provider import RequestError, ResultError
from gaia_mcp.server.running_call import InputRequired
from gaia_mcp.toolcall import CallCancelledError

JOB = Job(RequestReceived(1, "tools/call", {}, RequestContext("", {}, {}, None, None)), None)  # type: ignore[arg-type]


def raising(error: BaseException) -> Outcome:
    def answer(_job: Job) -> dict[str, Any]:
        raise error

    return outcome_of(answer, JOB)


def test_a_result_is_the_outcome() -> None:
    """Ours."""
    result, _, failure, missing = outcome_of(lambda job: {"asked": job.request.method}, JOB)

    assert (result, failure, missing) == ({"asked": "tools/call"}, None, None)


@pytest.mark.parametrize(
    ("error", "code", "text"),
    [
        (CallCancelledError(), INTERNAL_ERROR, "cancelled"),
        (InputRequired(), INTERNAL_ERROR, "cancelled"),
        (RequestError("no such tool", -32602, {"a": 1}), -32602, "no such tool"),
        (QuestionError("too often"), INVALID_REQUEST, "too often"),
        (ResultError("nothing"), INTERNAL_ERROR, "tools/call returned nothing"),
        (SystemExit(3), INTERNAL_ERROR, "tools/call raised SystemExit: 3"),
    ],
)
def test_what_is_raised_is_an_error(error: BaseException, code: int, text: str) -> None:
    """Ours: what is a fault of the code is for the server's log too."""
    result, found, failure, _ = raising(error)

    assert (result, found[:2]) == (None, (code, text))
    assert failure is (error if isinstance(error, (QuestionError, ResultError, SystemExit)) else None)


def test_a_missing_capability_is_named() -> None:
    """MS-4."""
    missing = MissingCapabilityError({"roots": {}})

    _, found, failure, named = raising(missing)

    assert (failure, named) == (None, missing)
    assert found == (MISSING_CAPABILITY, str(missing), {"requiredCapabilities": {"roots": {}}})


def test_an_invalid_result_is_an_internal_error() -> None:
    """JSON-RPC."""
    assert invalid("prompts/get", ResultError("nothing")) == (INTERNAL_ERROR, "prompts/get returned nothing", None)

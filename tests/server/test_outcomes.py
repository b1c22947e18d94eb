"""The outcomes of running a request."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gaia_mcp.asking import CallCancelledError
from gaia_mcp.names import split_tool_name
from gaia_mcp.paths import shown
from gaia_mcp.protocol.events import RequestContext, RequestReceived
from gaia_mcp.protocol.jsonrpc import INTERNAL_ERROR, INVALID_REQUEST, MISSING_CAPABILITY
from gaia_mcp.protocol.questions import MissingCapabilityError, QuestionError
from gaia_mcp.server.outcomes import LINE_CHARS, Job, Outcome, invalid, note_failure, outcome_of, raised
from gaia_mcp.server.provider import RequestError, ResultError
from gaia_mcp.server.running_call import InputRequired

if TYPE_CHECKING:
    import pytest

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


def test_a_failure_is_one_line_on_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    """Ours: whatever the exception's text holds, and however long it is."""
    note_failure("tool 'a' raised ValueError: two\nlines \x1b[31m" + "x" * LINE_CHARS * 2, ValueError())

    printed = capsys.readouterr().err
    assert printed.startswith("error: tool 'a' raised ValueError: two lines")
    assert printed.count("\n") == 1
    assert "\x1b" not in printed
    assert len(printed) < LINE_CHARS + 20


def test_a_failure_has_the_line_of_the_code_outside_of_this_package(capsys: pytest.CaptureFixture[str]) -> None:
    """Ours: that of the agent, also if it called a library; without a traceback there is none."""
    raisers = [lambda: json.loads("{"), lambda: split_tool_name(5, ()), lambda: {}["a"]]
    for work in raisers:
        try:
            work()
        except Exception as error:
            note_failure("it raised", error)
    note_failure("it raised", ValueError())

    *found, last = capsys.readouterr().err.splitlines()
    line = raisers[0].__code__.co_firstlineno
    assert found == [f"error: it raised, at {shown(Path(__file__))}:{line}"] * 3
    assert last == "error: it raised"


def test_an_exception_is_named_with_its_class() -> None:
    """Ours: the message alone may be empty, or only a key."""
    assert raised(ValueError("no file")) == "ValueError: no file"
    assert raised(ValueError()) == "ValueError"
    assert raised(KeyError("a")) == "KeyError: 'a'"

"""The outcomes of running a request."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from opentelemetry import context, propagate

from gaia_mcp.asking import CallCancelledError
from gaia_mcp.core.names import split_tool_name
from gaia_mcp.core.paths import shown
from gaia_mcp.core.tracing import with_trace
from gaia_mcp.protocol.events import RequestContext, RequestReceived
from gaia_mcp.protocol.input_required import MissingCapabilityError, QuestionError
from gaia_mcp.protocol.jsonrpc import INTERNAL_ERROR, INVALID_REQUEST, MISSING_CAPABILITY
from gaia_mcp.server.agent import AgentProvider
from gaia_mcp.server.calls import Calls
from gaia_mcp.server.outcomes import LINE_CHARS, Job, Outcome, invalid, note_failure, outcome_of, raised
from gaia_mcp.server.provider import RequestError, ResultError
from gaia_mcp.server.running_call import PIPE, InputRequired, Transport
from tests.server.http.asgi import Tools
from tests.server.talk import call, stateless
from tests.tracing_support import (
    PARENT,
    SPAN_ID,
    TRACE,
    TRACE_ID,
    Spans,
    parent_id,
    spans,
    trace_id,
    without_spans,
    without_tracer,
)

if TYPE_CHECKING:
    from gaia_mcp.protocol.connection import Outgoing

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


__all__ = ["spans", "without_spans", "without_tracer"]

Wire = dict[str, Any]


def fail(_: Any) -> None:
    raise OSError("odd")


class Served:
    """A server in this thread, and what its tools would have sent meanwhile."""

    def __init__(self) -> None:
        from gaia_mcp.protocol.server import ServerConnection

        self.passed_on: list[Wire] = []
        self.sent: list[Any] = []
        agent = Tools(pass_on=self._pass_on, fail=fail, ask=lambda running: running.roots())
        provider = AgentProvider(agent, on_failure=lambda *_: None)
        self.calls = Calls(ServerConnection(provider.describe()), provider, self._send)

    def answer(self, message: Wire, transport: Transport = PIPE, *, cancel: bool = False) -> None:
        for job in self.calls.receive_message(message):
            job.call.transport = transport
            if cancel:
                job.call.cancel()
            self.calls.run(job)

    def _pass_on(self, _: Any) -> None:
        self.passed_on.append(with_trace({}).get("_meta", {}))

    def _send(self, outgoing: Outgoing) -> None:
        self.sent.append(outgoing.message)


@pytest.fixture
def served() -> Served:
    return Served()


def test_a_trace_is_propagated_without_opentelemetry(served: Served, without_spans: None) -> None:
    """Ours: by `_meta`, or by the headers of HTTP where that tells nothing; and never to another request."""
    served.answer(call(1, "pass_on", **TRACE))
    served.answer(call(2, "pass_on"))
    served.answer(call(3, "pass_on"), Transport({"traceparent": PARENT}))
    served.answer(call(4, "pass_on", **TRACE), Transport({"traceparent": PARENT.replace("4bf9", "aaaa")}))
    served.answer(call(5, "pass_on", traceparent="rubbish"))

    assert served.passed_on == [TRACE, {}, {"traceparent": PARENT}, TRACE, {}]


def test_a_trace_is_propagated_without_a_tracer(served: Served, without_tracer: None) -> None:
    """Ours: and what this thread runs in belongs to no request."""
    served.answer(call(1, "pass_on", **TRACE))
    served.answer(call(2, "pass_on"))
    token = context.attach(propagate.extract(TRACE))
    try:
        served.answer(call(3, "pass_on"))
    finally:
        context.detach(token)

    assert served.passed_on == [TRACE, {}, {}]


def test_a_request_is_a_server_span_of_its_trace(served: Served, spans: Spans) -> None:
    """OpenTelemetry, semantic conventions for MCP: and what is sent meanwhile belongs to that span."""
    served.answer(call(1, "pass_on", **TRACE))

    (span,) = spans.of("SERVER")
    assert (trace_id(span), parent_id(span), span.name) == (TRACE_ID, SPAN_ID, "tools/call pass_on")
    assert span.attributes == {
        "mcp.method.name": "tools/call", "gen_ai.tool.name": "pass_on", "gen_ai.operation.name": "execute_tool",
        "jsonrpc.request.id": "1", "mcp.protocol.version": "2026-07-28", "network.transport": "pipe",
    }  # fmt: skip
    (meta,) = served.passed_on
    assert meta["traceparent"].split("-")[1:3] == [TRACE_ID, f"{span.context.span_id:016x}" if span.context else ""]
    assert meta["baggage"] == "user=ada"


def test_the_context_of_the_transport_is_the_parent_or_a_link(served: Served, spans: Spans) -> None:
    """OpenTelemetry: one HTTP request may carry several of MCP, which have parents of their own."""
    other = Transport({"traceparent": PARENT.replace(SPAN_ID, "1" * 16)})
    served.answer(call(1, "pass_on"), other)
    served.answer(call(2, "pass_on", traceparent=PARENT), other)

    first, second = spans.of("SERVER")
    assert (parent_id(first), list(first.links)) == ("1" * 16, [])
    assert (parent_id(second), [f"{link.context.span_id:016x}" for link in second.links]) == (SPAN_ID, ["1" * 16])


def test_the_outcome_of_a_request_is_recorded_in_its_span(served: Served, spans: Spans) -> None:
    """OpenTelemetry: a question and a cancellation are no errors."""
    able = {"io.modelcontextprotocol/clientCapabilities": {"roots": {}}}
    served.answer(call(1, "fail"))
    served.answer(call(2, "nope"))
    served.answer(call(3, "ask", **able))
    served.answer(stateless(4, "tools/list"), cancel=True)

    kinds = [(span.attributes or {}).get("error.type") for span in spans.of("SERVER")]
    assert kinds == ["tool_error", "-32602", None, None]
    assert [span.status.description for span in spans.of("SERVER")] == [None, "Unknown tool: nope", None, None]

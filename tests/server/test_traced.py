"""A server answers in the trace of a request, with OpenTelemetry and without."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from opentelemetry import context, propagate

from gaia_mcp.server import traced  # noqa: F401 (here, and not in whichever test needs it first)
from gaia_mcp.server.agent import AgentProvider
from gaia_mcp.server.calls import Calls
from gaia_mcp.server.running_call import PIPE, Transport
from gaia_mcp.tracing import with_trace
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

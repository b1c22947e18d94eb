"""Requests as spans of the real OpenTelemetry."""

from __future__ import annotations

from typing import Any

import pytest
from opentelemetry import baggage, context, trace

from gaia_mcp.spans import are_recorded, client_span, current_trace, has_context, server_span
from tests.tracing_support import (
    PARENT,
    SPAN_ID,
    TRACE,
    TRACE_ID,
    Spans,
    parent_id,
    span_id,
    spans,
    trace_id,
    without_tracer,
)

__all__ = ["spans", "without_tracer"]


@pytest.mark.parametrize(
    ("method", "params", "name", "attributes"),
    [
        ("tools/call", {"name": "add"}, "tools/call add",
         {"gen_ai.tool.name": "add", "gen_ai.operation.name": "execute_tool"}),
        ("prompts/get", {"name": "greet"}, "prompts/get greet", {"gen_ai.prompt.name": "greet"}),
        ("resources/read", {"uri": "a:b"}, "resources/read", {"mcp.resource.uri": "a:b"}),
        ("resources/subscribe", {"uri": "a:b"}, "resources/subscribe", {"mcp.resource.uri": "a:b"}),
        ("tools/list", {"cursor": "2"}, "tools/list", {}),
    ],
)  # fmt: skip
def test_a_request_is_a_span_of_its_own(
    spans: Spans, method: str, params: dict[str, Any], name: str, attributes: dict[str, Any]
) -> None:
    """OpenTelemetry, semantic conventions for MCP: names and attributes; URIs are too many to be in a name."""
    with client_span(method, params, {"network.transport": "pipe"}) as span:
        span.identify(7)
        span.returned({"isError": False})

    (found,) = spans.of("CLIENT")
    assert found.name == name
    assert found.attributes == {
        "mcp.method.name": method, "network.transport": "pipe", "jsonrpc.request.id": "7", **attributes,
    }  # fmt: skip
    assert found.status.status_code.name == "UNSET"


def test_failures_are_told_apart(spans: Spans) -> None:
    """OpenTelemetry: by a code, as an error of the tool, or by the kind of what was raised."""
    with client_span("tools/call", {"name": "a"}, {}) as span:
        span.refused(-32602, "Unknown tool: a")
    with client_span("tools/call", {"name": "a"}, {}) as span:
        span.returned({"isError": True})
    with client_span("tools/call", {"name": "a"}, {}) as span:
        span.returned("not even an object")
    with pytest.raises(TimeoutError), client_span("tools/call", {"name": "a"}, {}):
        raise TimeoutError("too slow")

    refused, failed, _, raised = spans.of("CLIENT")
    assert {each.status.status_code.name for each in spans.all} == {"ERROR"}
    assert [each.attributes["error.type"] for each in spans.all if each.attributes] == [
        "-32602", "tool_error", "tool_error", "TimeoutError",
    ]  # fmt: skip
    assert refused.attributes is not None
    assert refused.attributes["rpc.response.status_code"] == "-32602"
    assert [each.status.description for each in (refused, failed, raised)] == ["Unknown tool: a", None, "too slow"]
    assert not raised.events


def test_what_is_sent_within_a_span_carries_it_and_the_baggage(spans: Spans) -> None:
    """OpenTelemetry: by the propagators that are configured."""
    token = context.attach(baggage.set_baggage("user", "ada"))
    try:
        with client_span("tools/list", {}, {}):
            sent = current_trace()
    finally:
        context.detach(token)

    (found,) = spans.all
    assert sent["traceparent"].split("-")[1:3] == [trace_id(found), span_id(found)]
    assert sent["baggage"] == "user=ada"


def test_an_answer_belongs_to_the_trace_of_its_request(spans: Spans) -> None:
    """OpenTelemetry: the parent is that of the message; what its transport tells is a link."""
    of_transport = PARENT.replace(SPAN_ID, "1" * 16)
    with (
        server_span("tools/call", {"name": "a"}, {}, TRACE, {"traceparent": of_transport}),
        trace.get_tracer("own").start_as_current_span("inner"),
    ):
        pass
    with server_span("tools/list", {}, {}, {}, {}):
        pass

    inner, first, second = spans.all
    assert (trace_id(first), parent_id(first)) == (TRACE_ID, SPAN_ID)
    assert [f"{link.context.span_id:016x}" for link in first.links] == ["1" * 16]
    assert (trace_id(inner), parent_id(inner)) == (TRACE_ID, span_id(first))
    assert (parent_id(second), list(second.links)) == ("", [])


def test_spans_are_recorded_where_a_tracer_is_configured(spans: Spans) -> None:
    """OpenTelemetry: its API alone records nothing."""
    assert are_recorded()


def test_without_a_tracer_a_trace_is_passed_on_all_the_same(without_tracer: None) -> None:
    """OpenTelemetry: what has no tracer of its own passes on the context that it runs in."""
    assert not are_recorded()
    assert (has_context(), current_trace()) == (False, {})
    with server_span("tools/call", {"name": "a"}, {}, TRACE, {}):
        assert (has_context(), current_trace()) == (True, TRACE)
    assert (has_context(), current_trace()) == (False, {})

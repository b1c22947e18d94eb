"""Requests as spans of the real OpenTelemetry."""

from __future__ import annotations

from typing import Any

import pytest
from opentelemetry import baggage, context, trace

from gaia_mcp.core.spans import are_recorded, client_span, current_trace, has_context, server_span
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


def test_a_request_is_a_span_of_its_own(spans: Spans) -> None:
    """OpenTelemetry, semantic conventions for MCP: names and attributes; URIs are too many to be in a name."""
    tool = {"gen_ai.tool.name": "add", "gen_ai.operation.name": "execute_tool"}
    cases: list[tuple[str, dict[str, Any], str, dict[str, str]]] = [
        ("tools/call", {"name": "add"}, "tools/call add", tool),
        ("prompts/get", {"name": "greet"}, "prompts/get greet", {"gen_ai.prompt.name": "greet"}),
        ("resources/read", {"uri": "a:b"}, "resources/read", {"mcp.resource.uri": "a:b"}),
        ("resources/subscribe", {"uri": "a:b"}, "resources/subscribe", {"mcp.resource.uri": "a:b"}),
        ("tools/list", {"cursor": "2"}, "tools/list", {}),
    ]
    for method, params, _, _ in cases:
        with client_span(method, params, {"network.transport": "pipe"}) as span:
            span.identify(7)
            span.returned({"isError": False})

    common = {"network.transport": "pipe", "jsonrpc.request.id": "7"}
    assert [(span.name, span.attributes) for span in spans.of("CLIENT")] == [
        (name, {"mcp.method.name": method, **common, **attributes}) for method, _, name, attributes in cases
    ]
    assert {span.status.status_code.name for span in spans.all} == {"UNSET"}


def test_the_error_type_of_a_span_names_the_failure(spans: Spans) -> None:
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


def test_a_message_sent_within_a_span_carries_its_context_and_baggage(spans: Spans) -> None:
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


def test_a_server_span_has_the_span_of_the_request_as_its_parent(spans: Spans) -> None:
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


def test_a_trace_is_passed_on_without_a_tracer(without_tracer: None) -> None:
    """OpenTelemetry: what has no tracer of its own passes on the context that it runs in."""
    assert not are_recorded()
    assert (has_context(), current_trace()) == (False, {})
    with server_span("tools/call", {"name": "a"}, {}, TRACE, {}):
        assert (has_context(), current_trace()) == (True, TRACE)
    assert (has_context(), current_trace()) == (False, {})

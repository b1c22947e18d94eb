"""Trace context: what is read of it, and what is passed on."""

from __future__ import annotations

import threading
from typing import Any

from gaia_mcp.core.spans import client_span
from gaia_mcp.core.tracing import MAX_CHARS, carrying, has_spans, trace_in, with_trace
from tests.tracing_support import PARENT, TRACE, Spans, span_id, spans, trace_id, without_spans

__all__ = ["spans", "without_spans"]


def test_only_the_members_of_a_trace_context_are_read() -> None:
    """Spec 2026-07-28, `_meta`: three names without a prefix."""
    assert trace_in({**TRACE, "progressToken": 1, "authorization": "Bearer x"}) == TRACE
    assert trace_in({"traceparent": PARENT}) == {"traceparent": PARENT}
    assert trace_in({"progressToken": 1}) == {}


def test_an_invalid_trace_context_is_not_passed_on() -> None:
    """W3C Trace Context: an invalid parent is ignored, and so is a state without one."""
    cases = [
        "",
        7,
        None,
        ["x"],
        PARENT.upper(),
        f"ff{PARENT[2:]}",
        f"{PARENT}-x",
        PARENT[:-1],
        f"{PARENT}\n",
        f"00-{'0' * 32}-{'1' * 16}-01",
        f"00-{'1' * 32}-{'0' * 16}-01",
    ]

    wrong = [parent for parent in cases if trace_in({**TRACE, "traceparent": parent}) != {"baggage": "user=ada"}]

    assert not wrong
    too_long = {"traceparent": PARENT, "tracestate": "x" * (MAX_CHARS + 1), "baggage": 7}
    assert trace_in(too_long) == {"traceparent": PARENT}


def test_requests_carry_the_trace_that_they_are_sent_for(without_spans: None) -> None:
    """Ours: beside what their `_meta` has, unless that names a trace itself."""
    own = {"_meta": {"baggage": "mine=1"}}
    assert not has_spans()
    assert with_trace({"name": "a"}) == {"name": "a"}
    with carrying(TRACE):
        assert with_trace({}) == {"_meta": TRACE}
        assert with_trace({"a": 1, "_meta": {"progressToken": 2}}) == {"a": 1, "_meta": {"progressToken": 2, **TRACE}}
        assert with_trace(own) is own
        assert with_trace({"_meta": 7}) == {"_meta": 7}
        seen: list[dict[str, Any]] = []
        thread = threading.Thread(target=lambda: seen.append(with_trace({})))
        thread.start()
        thread.join()
        assert seen == [{}]
    assert with_trace({}) == {}


def test_without_a_current_span_a_trace_is_passed_on_as_it_came(spans: Spans) -> None:
    """OpenTelemetry: a program that has a tracer, but no span for this request, is a proxy for the trace."""
    with carrying(TRACE):
        assert with_trace({}) == {"_meta": TRACE}


def test_a_client_span_replaces_the_trace_context_of_a_request(spans: Spans) -> None:
    """OpenTelemetry: the span of a client is the parent of what its server does."""
    with client_span("tools/list", {}, {}):
        meta = with_trace({"_meta": {**TRACE, "progressToken": 1}})["_meta"]

    (span,) = spans.all
    assert meta["traceparent"].split("-")[1:3] == [trace_id(span), span_id(span)]
    assert meta["progressToken"] == 1

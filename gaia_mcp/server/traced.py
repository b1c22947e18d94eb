"""Answers a request within the trace of its `_meta` or its transport.

Imported only for a request with a trace context, or where spans may be recorded.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from gaia_mcp.server.outcomes import CANCELLED, Job, Outcome, outcome_of
from gaia_mcp.tracing import carrying, has_spans, trace_in

if TYPE_CHECKING:
    from gaia_mcp.server.running_call import RunningCall


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

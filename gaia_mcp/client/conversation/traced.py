"""Trace context and spans for requests. Imported only if there may be a trace."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

from gaia_mcp.protocol.jsonrpc import Result
from gaia_mcp.tracing import has_spans, with_trace

if TYPE_CHECKING:
    from gaia_mcp.protocol.events import ErrorResponse

Params: TypeAlias = "dict[str, Any] | None"


def traced_call(
    call: Callable[[Params], Result | ErrorResponse],
    method: str,
    params: Params,
    attributes: Callable[[], Mapping[str, str | int]],
    mask: Callable[[str], str],
) -> Result | ErrorResponse:
    """Call `call` with `params` that carry the trace context, and return its result. If spans are recorded, the call is
    one with these attributes; `mask` is applied to text from the server. Raises what `call` raises.
    """
    if not has_spans():
        return call(with_trace(params or {}) or params)
    from gaia_mcp.spans import are_recorded, client_span

    if not are_recorded():
        return call(with_trace(params or {}) or params)
    with client_span(method, params or {}, attributes()) as span:
        outcome = call(with_trace(params or {}) or params)
        span.identify(outcome.id)
        if isinstance(outcome, Result):
            span.returned(outcome.result)
        else:
            span.refused(outcome.code, mask(outcome.text))
        return outcome

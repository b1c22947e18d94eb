"""W3C trace context: the distributed trace of a request, in its `_meta`.

Requests that are sent while another is answered carry its trace context. If a program has loaded the OpenTelemetry API,
requests are also spans: see `spans`. Nothing here loads it.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from types import MappingProxyType
from typing import Any

PARENT = "traceparent"
# In a `_meta` and as HTTP headers alike. The second belongs to the first, and the third to the application.
KEYS = (PARENT, "tracestate", "baggage")
# Longer than the W3C recommendations allow for any of them.
MAX_CHARS = 8192
_PARENT = re.compile(r"(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}")
# No tracer is configured without it.
_API = "opentelemetry.trace"

NONE: Mapping[str, str] = MappingProxyType({})
_CARRIED: ContextVar[Mapping[str, str]] = ContextVar("gaia_mcp_trace", default=NONE)


def trace_in(members: Mapping[str, Any]) -> Mapping[str, str]:
    """The trace context in a `_meta`, or in the headers of a request. Invalid values are left out."""
    if members.keys().isdisjoint(KEYS):
        return NONE
    found = {key: members[key] for key in KEYS if isinstance(members.get(key), str) and len(members[key]) <= MAX_CHARS}
    if _PARENT.fullmatch(found.get(PARENT, "")) is None:
        return {key: value for key, value in found.items() if key == "baggage"}
    return found


@contextmanager
def carrying(trace: Mapping[str, str]) -> Iterator[None]:
    """Run the code of the `with` block with this trace context."""
    token = _CARRIED.set(trace)
    try:
        yield
    finally:
        _CARRIED.reset(token)


def has_spans() -> bool:
    """Whether this process may record spans, or have a current span."""
    return _API in sys.modules


def with_trace(params: dict[str, Any]) -> dict[str, Any]:
    """The parameters of a request to send, with the current trace context in their `_meta`. A trace context that they
    already have is kept, unless the request is a span.
    """
    meta = params.get("_meta") or {}
    if not isinstance(meta, Mapping):
        return params
    trace = _current_trace() if has_spans() else NONE
    if not trace and meta.keys().isdisjoint(KEYS):
        trace = _CARRIED.get()
    return {**params, "_meta": {**meta, **trace}} if trace else params


def _current_trace() -> Mapping[str, str]:
    from gaia_mcp.core.spans import current_trace

    return current_trace()

"""Trace context: which distributed trace a request belongs to, in its `_meta`, as W3C defines it.

The requests that are sent while one is answered carry what that one carries. Where a program has loaded the API of
OpenTelemetry, requests are also its spans: see `spans`. Nothing here loads it.
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
# Longer than the recommendations of W3C let any of them be.
MAX_CHARS = 8192
_PARENT = re.compile(r"(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}")
# Nobody configures a tracer without it.
_API = "opentelemetry.trace"

NONE: Mapping[str, str] = MappingProxyType({})
_CARRIED: ContextVar[Mapping[str, str]] = ContextVar("gaia_mcp_trace", default=NONE)


def trace_in(members: Mapping[str, Any]) -> Mapping[str, str]:
    """What a `_meta`, or the headers of a request, tell about its trace. What is invalid is left out."""
    if members.keys().isdisjoint(KEYS):
        return NONE
    found = {key: members[key] for key in KEYS if isinstance(members.get(key), str) and len(members[key]) <= MAX_CHARS}
    if _PARENT.fullmatch(found.get(PARENT, "")) is None:
        return {key: value for key, value in found.items() if key == "baggage"}
    return found


@contextmanager
def carrying(trace: Mapping[str, str]) -> Iterator[None]:
    """Meanwhile, this code runs for `trace`."""
    token = _CARRIED.set(trace)
    try:
        yield
    finally:
        _CARRIED.reset(token)


def has_spans() -> bool:
    """Whether something in this process may record spans, or have made one the current one."""
    return _API in sys.modules


def with_trace(params: dict[str, Any]) -> dict[str, Any]:
    """The parameters of a request that is sent now, with the trace that it belongs to in their `_meta`. One that they
    name themselves stays, unless the request is a span.
    """
    meta = params.get("_meta") or {}
    if not isinstance(meta, Mapping):
        return params
    trace = _current_trace() if has_spans() else NONE
    if not trace and meta.keys().isdisjoint(KEYS):
        trace = _CARRIED.get()
    return {**params, "_meta": {**meta, **trace}} if trace else params


def _current_trace() -> Mapping[str, str]:
    from gaia_mcp.spans import current_trace

    return current_trace()

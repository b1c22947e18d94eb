"""A program with the real OpenTelemetry, whose spans are kept in memory, and one without."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import ReadableSpan

TRACE_ID, SPAN_ID = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
PARENT = f"00-{TRACE_ID}-{SPAN_ID}-01"
TRACE = {"traceparent": PARENT, "tracestate": "rojo=00f067aa0ba902b7", "baggage": "user=ada"}
_API = "opentelemetry.trace"

_loaded = sys.modules[_API]
_exporter = InMemorySpanExporter()
_provider = TracerProvider()
_provider.add_span_processor(SimpleSpanProcessor(_exporter))


class Spans:
    """What has been recorded."""

    @property
    def all(self) -> list[ReadableSpan]:
        return list(_exporter.get_finished_spans())

    def of(self, kind: str) -> list[ReadableSpan]:
        """Those of clients or servers."""
        return [span for span in self.all if span.kind.name == kind]


@pytest.fixture
def spans(monkeypatch: pytest.MonkeyPatch) -> Spans:
    """The spans of this test."""
    monkeypatch.setitem(sys.modules, _API, _loaded)
    # For this test alone: `set_tracer_provider` is for the whole process, whose other tests trace nothing.
    monkeypatch.setattr(trace, "_TRACER_PROVIDER", _provider)
    _exporter.clear()
    return Spans()


@pytest.fixture
def without_tracer(monkeypatch: pytest.MonkeyPatch) -> None:
    """As a program that has loaded OpenTelemetry, and configured nothing."""
    monkeypatch.setitem(sys.modules, _API, _loaded)
    monkeypatch.setattr(trace, "_TRACER_PROVIDER", None)


@pytest.fixture
def without_spans(monkeypatch: pytest.MonkeyPatch) -> None:
    """As a program that has not loaded OpenTelemetry."""
    monkeypatch.delitem(sys.modules, _API, raising=False)


def trace_id(span: ReadableSpan) -> str:
    assert span.context is not None
    return f"{span.context.trace_id:032x}"


def span_id(span: ReadableSpan) -> str:
    assert span.context is not None
    return f"{span.context.span_id:016x}"


def parent_id(span: ReadableSpan) -> str:
    """The id of the span above, empty if there is none."""
    return f"{span.parent.span_id:016x}" if span.parent is not None else ""

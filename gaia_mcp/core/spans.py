"""Requests as OpenTelemetry spans, following its semantic conventions for the Model Context Protocol.

To be imported only if `tracing.has_spans` is true: it loads the OpenTelemetry API. Without a tracer configured by the
program, nothing is recorded, but traces are still propagated.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from opentelemetry import context, propagate, trace
from opentelemetry.trace import Link, Span, SpanKind, Status, StatusCode

from gaia_mcp._version import __version__

# The member of `params` that names the target of a method, and its attribute. Names of low cardinality are part of the
# span's name.
_TARGETS = {
    "tools/call": ("name", "gen_ai.tool.name"),
    "prompts/get": ("name", "gen_ai.prompt.name"),
    "resources/read": ("uri", "mcp.resource.uri"),
    "resources/subscribe": ("uri", "mcp.resource.uri"),
    "resources/unsubscribe": ("uri", "mcp.resource.uri"),
}
_URI = "mcp.resource.uri"
_ERROR_TYPE = "error.type"


class RequestSpan:
    """The span of one request."""

    def __init__(self, span: Span) -> None:
        self._span = span

    def identify(self, request_id: object) -> None:
        """Note the id of the request."""
        self._span.set_attribute("jsonrpc.request.id", str(request_id))

    def returned(self, result: Any) -> None:
        """The request has a result, which may report a failed tool, or be invalid."""
        if not isinstance(result, Mapping) or result.get("isError") is True:
            self._failed("tool_error", "")

    def refused(self, code: int, text: str) -> None:
        """The response is an error."""
        self._span.set_attribute("rpc.response.status_code", str(code))
        self._failed(str(code), text)

    def raised(self, error: BaseException) -> None:
        """The request has no response."""
        self._failed(type(error).__qualname__, str(error))

    def _failed(self, kind: str, text: str) -> None:
        self._span.set_attribute(_ERROR_TYPE, kind)
        self._span.set_status(Status(StatusCode.ERROR, text or None))


@contextmanager
def client_span(method: str, params: Mapping[str, Any], attributes: Mapping[str, str | int]) -> Iterator[RequestSpan]:
    """The span of a request that is sent."""
    with _span(SpanKind.CLIENT, method, params, attributes) as span:
        request = RequestSpan(span)
        try:
            yield request
        except BaseException as error:
            request.raised(error)
            raise


@contextmanager
def server_span(
    method: str,
    params: Mapping[str, Any],
    attributes: Mapping[str, str | int],
    received: Mapping[str, str],
    ambient: Mapping[str, str],
) -> Iterator[RequestSpan]:
    """The span of a request that is answered, in the `received` trace. The span of its transport is linked."""
    of_transport = trace.get_current_span(propagate.extract(ambient)).get_span_context()
    links = (Link(of_transport),) if ambient and of_transport.is_valid else ()
    # With its baggage, which the code that answers may read and propagates.
    token = context.attach(propagate.extract(received))
    try:
        with _span(SpanKind.SERVER, method, params, attributes, links) as span:
            yield RequestSpan(span)
    finally:
        context.detach(token)


def are_recorded() -> bool:
    """Whether the program has configured a tracer. Without one, the span of a request is the current one again."""
    return not isinstance(trace.get_tracer_provider(), trace.ProxyTracerProvider)


def has_context() -> bool:
    """Whether this code runs in a trace, or with baggage. Most programs without a tracer have neither."""
    return bool(context.get_current())


def current_trace() -> Mapping[str, str]:
    """The trace of the current span, and the baggage; empty if there is neither."""
    found: dict[str, str] = {}
    # Calling the propagators takes longer.
    if has_context():
        propagate.inject(found)
    return found


@contextmanager
def _span(
    kind: SpanKind,
    method: str,
    params: Mapping[str, Any],
    attributes: Mapping[str, str | int],
    links: tuple[Link, ...] = (),
) -> Iterator[Span]:
    described: dict[str, str | int] = {"mcp.method.name": method, **attributes}
    name = method
    if method in _TARGETS:
        member, attribute = _TARGETS[method]
        described[attribute] = target = str(params.get(member))
        name = method if attribute == _URI else f"{method} {target}"
    if method == "tools/call":
        described["gen_ai.operation.name"] = "execute_tool"
    # Looked up each time, since OpenTelemetry may be configured after this module is loaded.
    tracer = trace.get_tracer("gaia_mcp", __version__)
    with tracer.start_as_current_span(
        name, None, kind, described, links, record_exception=False, set_status_on_exception=False
    ) as span:
        yield span

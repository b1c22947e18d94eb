"""The metrics of an app for Prometheus, with the official client library.

No label contains text that a client has invented: methods are those of MCP, tools those that have run. If several
processes serve one address, `PROMETHEUS_MULTIPROC_DIR` names a directory through which each reports the metrics of all.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Container
from typing import TYPE_CHECKING, Any, NamedTuple

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector, generate_latest
from prometheus_client import multiprocess as untyped_multiprocess
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from gaia_mcp.asking import Call, CallCancelledError
from gaia_mcp.protocol.revisions import FEATURES
from gaia_mcp.server.http.received import Received, RefusalError, send_refusal
from gaia_mcp.server.http.security import Authorizer, Hosts, admit
from gaia_mcp.server.provider import Listener, Provider, RequestError
from gaia_mcp.server.running_call import InputRequired

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from gaia_mcp.protocol.server import Description
    from gaia_mcp.server.http.workers import Limits

# This module has no type hints.
multiprocess: Any = untyped_multiprocess
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
MULTIPROCESS_VARIABLE = "PROMETHEUS_MULTIPROC_DIR"
# A changing list of tools could create labels without end. Tools beyond this number share the label "other".
MAX_TOOLS = 1000
# In seconds: from a lookup in memory to the longest that a person waits.
BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
_OTHER = "other"
_HTTP_METHODS = frozenset({"GET", "POST", "DELETE", "OPTIONS", "HEAD", "PUT", "PATCH"})
_REASONS = {
    400: "invalid", 401: "unauthorized", 403: "forbidden", 404: "session", 405: "method", 406: "accept",
    408: "timeout", 413: "too_large", 415: "type", 431: "headers", 503: "overloaded",
}  # fmt: skip


class Live(NamedTuple):
    """The current values of the gauges, for this process."""

    running_calls: int
    waiting_calls: int
    sessions: int
    streams: int


class Metrics:
    """The metrics of one app in this process. Safe to use from several threads."""

    def __init__(self, max_tools: int = MAX_TOOLS) -> None:
        self._max_tools = max_tools
        self._registry = CollectorRegistry()
        self._tools: set[str] = set()
        self._shares = MULTIPROCESS_VARIABLE in os.environ
        ProcessCollector(registry=self._registry)
        self._http = self._counter("http_requests", "HTTP requests that were answered.", "endpoint", "method", "status")
        self._refused = self._counter("http_refused", "HTTP requests that were refused.", "endpoint", "reason")
        self._requests = self._counter(
            "requests", "MCP requests that a provider answered.", "endpoint", "method", "tool", "outcome"
        )
        self._durations = Histogram(
            "gaia_mcp_request_duration_seconds", "How long providers took for MCP requests.",
            ("endpoint", "method", "tool"), buckets=BUCKETS, registry=self._registry,
        )  # fmt: skip
        described = ("Calls that have a thread.", "Calls that wait for one.", "Sessions.", "Open event streams.")
        self._gauges = [
            Gauge(f"gaia_mcp_{name}", help_text, registry=self._registry, multiprocess_mode="livesum")
            for name, help_text in zip(Live._fields, described, strict=True)
        ]

    def answered(self, endpoint: str, method: str, status: int) -> None:
        """Count an answered HTTP request."""
        self._http.labels(endpoint, method if method in _HTTP_METHODS else _OTHER, str(status)).inc()

    def refused(self, endpoint: str, refusal: RefusalError) -> None:
        """Count a refused HTTP request."""
        self._refused.labels(endpoint, _REASONS.get(refusal.status, "internal")).inc()

    def ran(self, endpoint: str, method: str, tool: str, outcome: str, seconds: float) -> None:
        """Count an MCP request that a provider has answered. `tool` is empty except for a call of an existing tool."""
        # The method may be any string that a client sends.
        known = method if method in FEATURES else _OTHER
        name = self._bounded(tool)
        self._requests.labels(endpoint, known, name, outcome).inc()
        self._durations.labels(endpoint, known, name).observe(seconds)

    def sample(self, live: Live) -> None:
        """Set the gauges."""
        for gauge, value in zip(self._gauges, live, strict=True):
            gauge.set(value)

    @property
    def shares(self) -> bool:
        """Whether other processes report the metrics of this one too, so that its gauges must be current."""
        return self._shares

    def text(self) -> bytes:
        """All metrics, in the text format."""
        if not self._shares:
            return generate_latest(self._registry)
        of_all = CollectorRegistry()
        multiprocess.MultiProcessCollector(of_all)
        return generate_latest(of_all)

    def close(self) -> None:
        """Remove the gauges of this process from the shared metrics; its counters stay."""
        if self._shares:
            multiprocess.mark_process_dead(os.getpid())

    def _counter(self, name: str, help_text: str, *labels: str) -> Counter:
        return Counter(f"gaia_mcp_{name}", help_text, labels, registry=self._registry)

    def _bounded(self, tool: str) -> str:
        if tool and tool not in self._tools:
            if len(self._tools) >= self._max_tools:
                return _OTHER
            self._tools.add(tool)
        return tool


class MeasuredProvider:
    """Wraps `provider`, and measures its requests."""

    def __init__(self, provider: Provider, endpoint: str, metrics: Metrics) -> None:
        self._provider = provider
        self._endpoint = endpoint
        self._metrics = metrics

    def describe(self) -> Description:
        """As the provider does."""
        return self._provider.describe()

    def answer(self, method: str, params: dict[str, Any], call: Call) -> dict[str, Any]:
        """As the provider does, and raises the same."""
        outcome, tool = "error", ""
        began = time.perf_counter()
        try:
            result = self._provider.answer(method, params, call)
            outcome = "tool_error" if result.get("isError") else "ok"
            # After any other outcome it is unknown whether the tool exists.
            tool = str(params.get("name")) if method == "tools/call" else ""
        except InputRequired:
            outcome = "input_required"
            raise
        except CallCancelledError:
            outcome = "cancelled"
            raise
        except RequestError:
            outcome = "refused"
            raise
        finally:
            self._metrics.ran(self._endpoint, method, tool, outcome, time.perf_counter() - began)
        return result

    def on_change(self, listener: Listener, wanted: Container[str] = ()) -> Callable[[], None]:
        """As the provider does."""
        return self._provider.on_change(listener, wanted)

    def close(self) -> None:
        """Close the provider."""
        self._provider.close()


class MetricsEndpoint:
    """An ASGI app that publishes the metrics to authorized clients."""

    def __init__(
        self,
        metrics: Metrics,
        live: Callable[[], Live],
        limits: Limits,
        hosts: Hosts,
        authorizer: Authorizer | None,
    ) -> None:
        self._metrics = metrics
        self._live = live
        self._limits = limits
        self._hosts = hosts
        self._authorizer = authorizer

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        try:
            await admit(Received(scope, receive), self._limits, self._hosts, self._authorizer)
        except RefusalError as refusal:
            await send_refusal(send, refusal)
            return
        self._metrics.sample(self._live())
        # Not in the event loop: it may take long, and read files.
        text = await run_in_threadpool(self._metrics.text)
        await Response(text, media_type=CONTENT_TYPE)(scope, receive, send)


class CountedApp:
    """Wraps the ASGI app of an endpoint, and counts its responses."""

    def __init__(self, app: ASGIApp, endpoint: str, metrics: Metrics, live: Callable[[], Live]) -> None:
        self._app = app
        self._endpoint = endpoint
        self._metrics = metrics
        self._live = live

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""

        async def noting(message: Message) -> None:
            if message["type"] == "http.response.start":
                self._metrics.answered(self._endpoint, scope["method"], message["status"])
            await send(message)

        try:
            await self._app(scope, receive, noting)
        finally:
            if self._metrics.shares:
                self._metrics.sample(self._live())

"""The metrics of a server, in the format of Prometheus."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from gaia_mcp.asking import Call, CallCancelledError
from gaia_mcp.protocol.server import Description
from gaia_mcp.server.http import app_for
from gaia_mcp.server.http.metrics import MeasuredProvider, Metrics
from gaia_mcp.server.http.workers import Limits
from gaia_mcp.server.provider import Change, RequestError
from tests.server.http.asgi import Gate, Tools, app_of
from tests.server.talk import DISCOVER, call, plain, stateless
from tests.waiting import wait_until

if TYPE_CHECKING:
    from pathlib import Path

    from tests.server.http.asgi import Server

Serve = Callable[..., "Server"]
Sample = tuple[str, tuple[tuple[str, str], ...]]


def read(text: str) -> dict[Sample, float]:
    """The value of each sample by its name and labels."""
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def scrape(server: Server, **headers: str) -> dict[Sample, float]:
    reply = server.ask("GET", "/metrics", **headers).reply()
    assert (reply.status, reply.headers["content-type"]) == (200, "text/plain; version=0.0.4; charset=utf-8")
    return read(reply.body.decode())


def sample(name: str, **labels: str) -> Sample:
    return f"gaia_mcp_{name}", tuple(sorted({"endpoint": "/mcp", **labels}.items()))


def total(name: str) -> Sample:
    return f"gaia_mcp_{name}", ()


def fail(_: Call) -> None:
    raise OSError("odd")


def test_requests_are_counted_by_method_and_outcome(serve: Serve) -> None:
    """Ours: MCP requests by their outcome, and all HTTP requests by their status."""
    app = app_of(Tools(hi=lambda _: "hello", fail=fail, ask=lambda running: running.roots()), metrics=Metrics())
    server = serve(app)
    able = {"io.modelcontextprotocol/clientCapabilities": {"roots": {}}}
    for message in (
        call(1, "hi"), call(2, "hi"), call(3, "fail"), call(4, "nope"), call(5, "ask", **able),
        stateless(6, "tools/list"), stateless(7, "no/such"), DISCOVER,
    ):  # fmt: skip
        server.stateless(message).reply()
    server.send(b"{").reply()
    server.ask("BREW").reply()

    found = scrape(server)

    def ran(method: str, outcome: str, tool: str = "") -> float:
        return found[sample("requests_total", method=method, tool=tool, outcome=outcome)]

    assert [ran("tools/call", "ok", "hi"), ran("tools/call", "tool_error", "fail")] == [2, 1]
    assert [ran("tools/call", "refused"), ran("tools/call", "input_required")] == [1, 1]
    assert ran("tools/list", "ok") == 1
    assert found[sample("request_duration_seconds_count", method="tools/call", tool="hi")] == 2
    assert found[sample("request_duration_seconds_bucket", method="tools/call", tool="hi", le="+Inf")] == 2
    assert found[sample("http_requests_total", method="POST", status="200")] == 7
    assert found[sample("http_requests_total", method="POST", status="404")] == 1
    assert found[sample("http_requests_total", method="other", status="405")] == 1
    assert found[sample("http_refused_total", reason="invalid")] == 1
    assert found[sample("http_refused_total", reason="method")] == 1
    assert "nope" not in str(found)
    assert ("process_start_time_seconds", ()) in found


def test_calls_sessions_and_streams_are_counted(serve: Serve) -> None:
    """Ours: calls, sessions and streams of all endpoints."""
    gate = Gate()
    app = app_for({"one": Tools(gate=gate), "two": "demo"}, metrics=True, limits=Limits(calls=1), environ={})
    server = serve(app)
    opened = server.send(plain(1, "initialize", {**INITIALIZE}), "/two/mcp").reply()
    following = server.ask(
        "GET", "/two/mcp", accept="text/event-stream", mcp_session_id=opened.headers["mcp-session-id"]
    )
    assert following.feed(b"").head()["status"] == 200
    listening = server.stateless(stateless(1, "subscriptions/listen", {"notifications": {}}), "/two/mcp")
    assert listening.head()["status"] == 200
    running = server.stateless(call(2, "gate"), "/one/mcp")
    gate.await_entered()
    waiting = server.stateless(call(3, "gate"), "/one/mcp")
    wait_until(lambda: app.workers.waiting == 1)

    found = scrape(server)

    assert [found[total(name)] for name in ("running_calls", "waiting_calls", "sessions", "streams")] == [1, 1, 1, 2]
    gate.open()
    for each in (running, waiting):
        each.reply()
    for stream in (following, listening):
        stream.leave()


INITIALIZE = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}


def test_metrics_need_the_same_authorization_as_the_server(serve: Serve) -> None:
    """Ours: they name the tools; and no page of another site, by no name that was made to point here."""
    server = serve(app_for("demo", metrics=True, token="s3cret", environ={}))

    assert server.ask("GET", "/metrics").reply().status == 401
    assert server.ask("GET", "/metrics", authorization="Bearer s3cret", host="evil.example").reply().status == 403
    assert server.stateless(DISCOVER).reply().status == 401
    found = scrape(server, authorization="Bearer s3cret")
    assert found[sample("http_refused_total", reason="unauthorized")] == 1
    assert server.ask("POST", "/metrics", authorization="Bearer s3cret").reply().status == 405


def test_metrics_are_not_served_without_the_option(serve: Serve) -> None:
    """Ours: they name the tools, which an owner may not want to publish."""
    assert serve(app_for("demo", environ={})).ask("GET", "/metrics").reply().status == 404


class Odd:
    """A provider that raises what it is given."""

    def __init__(self, error: BaseException | None = None) -> None:
        self.error = error
        self.is_closed = False

    def describe(self) -> Description:
        return Description({"name": "odd", "version": ""}, {})

    def answer(self, *_: Any) -> dict[str, Any]:
        if self.error is not None:
            raise self.error
        return {"content": []}

    def on_change(self, listener: Any, wanted: Any = ()) -> Callable[[], None]:
        listener(Change())
        return lambda: None

    def close(self) -> None:
        self.is_closed = True


def test_an_exception_is_counted_and_raised() -> None:
    """Ours: by its outcome. Names that a client has made up are no labels, of which Prometheus keeps each."""
    outcomes: list[tuple[BaseException, str]] = [
        (CallCancelledError(), "cancelled"),
        (RequestError("x"), "refused"),
        (OSError(), "error"),
        (SystemExit(), "error"),
    ]

    for error, outcome in outcomes:
        metrics = Metrics()
        provider = MeasuredProvider(Odd(error), "/mcp", metrics)
        for method in ("tools/call", "skills/get", "made/up"):
            with pytest.raises(type(error)):
                provider.answer(method, {"name": "made-up"}, Call())
        found = read(metrics.text().decode())
        counts = [
            found[sample("requests_total", method=method, tool="", outcome=outcome)]
            for method in ("tools/call", "skills/get", "other")
        ]
        assert (counts, "made" in str(found)) == ([1, 1, 1], False), error


def test_the_number_of_tool_names_in_the_metrics_is_limited() -> None:
    """Ours: Prometheus keeps a series for each name."""
    metrics = Metrics(max_tools=3)
    inner = Odd()
    provider = MeasuredProvider(inner, "/mcp", metrics)
    for number in range(8):
        provider.answer("tools/call", {"name": f"t{number}"}, Call())
    provider.answer("tools/call", {"name": "t0"}, Call())

    found = read(metrics.text().decode())

    assert found[sample("requests_total", method="tools/call", tool="other", outcome="ok")] == 5
    assert found[sample("requests_total", method="tools/call", tool="t0", outcome="ok")] == 2
    heard: list[Change] = []
    provider.on_change(heard.append)()
    provider.close()
    assert (heard, inner.is_closed, provider.describe().info["name"]) == ([Change()], True, "odd")


WORKER = """
import asyncio, sys
from gaia_mcp.server.http.metrics import CountedApp, Live, Metrics

async def app(scope, receive, send):
    await send({"type": "http.response.start", "status": 200})
    await send({"type": "http.response.body"})

async def send(message):
    pass

metrics = Metrics()
counted = CountedApp(app, "/mcp", metrics, lambda: Live(2, 0, 0, 0))
asyncio.run(counted({"method": "POST"}, None, send))
if sys.argv[1] == "read":
    sys.stdout.buffer.write(metrics.text())
if sys.argv[1] == "end":
    metrics.close()
"""


@pytest.mark.story
def test_metrics_of_several_processes_are_combined(tmp_path: Path) -> None:
    """Ours: the counters of a process that has ended stay, and its gauges do not."""
    environ = {**os.environ, "PROMETHEUS_MULTIPROC_DIR": str(tmp_path)}

    def run(how: str) -> str:
        done = subprocess.run(
            [sys.executable, "-c", WORKER, how], env=environ, capture_output=True, text=True, check=True
        )
        return done.stdout

    run("end")
    found = read(run("read"))

    assert found[sample("http_requests_total", method="POST", status="200")] == 2
    assert found[total("running_calls")] == 2

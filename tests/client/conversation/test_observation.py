"""Requests of a client in a trace, with OpenTelemetry and without."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

import pytest
from opentelemetry import context, propagate, trace

from gaia_mcp.client.conversation.observation import MAX_LOGGED_CHARS, MessageLog, traced_call
from gaia_mcp.client.transports.in_process import MemoryChannel
from gaia_mcp.core.deadline import Deadline
from gaia_mcp.core.errors import DeadlineError, PeerError
from gaia_mcp.core.tracing import carrying
from gaia_mcp.protocol.jsonrpc import Result
from gaia_mcp.text.redaction.masker import Masker
from tests.client.transports.talk import Message, error, opened, result, with_answers
from tests.tracing_support import TRACE, Spans, parent_id, span_id, spans, trace_id, without_spans, without_tracer

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.client.transports.talk import Talk

__all__ = ["spans", "without_spans", "without_tracer"]


def answers(message: Message) -> list[Message]:
    """`refused` is refused with a secret of its client, `silent` gets no response, and anything else a result."""
    tool = message.get("params", {}).get("name")
    if tool == "silent":
        return []
    if tool == "refused":
        return [error(message, -32602, "not with hunter22")]
    return [result(message, {"content": [], "isError": tool == "failed"})]


@pytest.fixture
def talk() -> Talk:
    return opened(with_answers(answers))


def call(talk: Talk, tool: str, **params: Any) -> Any:
    return talk.request("tools/call", {"name": tool, **params}, Deadline(0.2 if tool == "silent" else 5))


def test_a_request_carries_the_given_trace_context(talk: Talk, without_spans: None) -> None:
    """Spec 2026-07-28, `_meta`. In the older revisions too, which allow any member there."""
    with carrying(TRACE):
        call(talk, "add")
        talk.request("tools/list", None, Deadline(5))
    talk.request("tools/list", None, Deadline(5))

    assert [each.get("params", {}).get("_meta") for each in talk.sent] == [TRACE, TRACE, None]
    assert "params" not in talk.sent[2]


def test_a_request_carries_the_current_trace_of_a_program_without_a_tracer(talk: Talk, without_tracer: None) -> None:
    """OpenTelemetry: without a tracer provider nothing is recorded, and trace contexts are propagated."""
    token = context.attach(propagate.extract(TRACE))
    try:
        call(talk, "add")
    finally:
        context.detach(token)
    with carrying(TRACE):
        call(talk, "add")
    call(talk, "add")

    assert [each["params"].get("_meta") for each in talk.sent] == [TRACE, TRACE, None]


def test_no_attributes_are_computed_for_a_span_that_is_not_recorded(without_tracer: None) -> None:
    """Ours: many programs load OpenTelemetry by way of another package, and never configure it."""
    asked: list[str] = []

    def attributes() -> dict[str, str | int]:
        asked.append("attributes")
        return {}

    outcome = traced_call(lambda params: Result(1, {"sent": params}), "tools/list", None, attributes, str)

    assert outcome == Result(1, {"sent": None})
    assert asked == []


def test_a_request_is_a_span_in_the_current_one(talk: Talk, spans: Spans) -> None:
    """OpenTelemetry, semantic conventions for MCP."""
    with trace.get_tracer("own").start_as_current_span("outer") as outer:
        call(talk, "add", _meta={"mine": 1})

    (span,) = spans.of("CLIENT")
    assert f"{outer.get_span_context().span_id:016x}" == parent_id(span)
    assert span.attributes == {
        "mcp.method.name": "tools/call", "gen_ai.tool.name": "add", "gen_ai.operation.name": "execute_tool",
        "jsonrpc.request.id": str(talk.sent[0]["id"]), "mcp.protocol.version": "2025-11-25",
    }  # fmt: skip
    meta = talk.sent[0]["params"]["_meta"]
    assert meta["traceparent"].split("-")[1:3] == [trace_id(span), span_id(span)]
    assert meta["mine"] == 1


def test_the_outcome_of_a_request_is_recorded_in_its_span(talk: Talk, spans: Spans) -> None:
    """Ours: with the secrets of the entry masked, since spans are exported to other systems."""
    call(talk, "failed")
    with pytest.raises(PeerError):
        call(talk, "refused")
    with pytest.raises(DeadlineError):
        call(talk, "silent")

    failed, refused, silent = spans.of("CLIENT")
    kinds = [(span.attributes or {}).get("error.type") for span in (failed, refused, silent)]
    assert kinds == ["tool_error", "-32602", "CallLateError"]
    assert "hunter22" not in str([span.to_json() for span in spans.all])
    assert (refused.status.description or "").startswith("not with ")


@pytest.fixture
def log() -> Iterator[MessageLog]:
    """A log of a server that was given a secret; the level of the package's logger is put back."""
    logger = logging.getLogger("gaia_mcp")
    level = logger.level
    yield MessageLog(MemoryChannel("files", lambda _: None, Masker(["hunter-2-hunter"])))
    logger.setLevel(level)


def test_messages_are_logged_at_debug_level(log: MessageLog, caplog: pytest.LogCaptureFixture) -> None:
    """GAIA's documents, Debug Mode: requests and responses, as they are sent."""
    log.sent({"jsonrpc": "2.0", "id": 1, "method": "ping"})
    log.received(b'{"jsonrpc": "2.0", "id": 1, "result": {}}\n')
    log.received({"jsonrpc": "2.0", "id": 2, "result": {}})

    assert [(record.levelno, record.getMessage()) for record in caplog.records] == [
        (logging.DEBUG, 'MCP server \'files\' -> {"jsonrpc": "2.0", "id": 1, "method": "ping"}'),
        (logging.DEBUG, 'MCP server \'files\' <- {"jsonrpc": "2.0", "id": 1, "result": {}}'),
        (logging.DEBUG, 'MCP server \'files\' <- {"jsonrpc": "2.0", "id": 2, "result": {}}'),
    ]


def test_no_secret_is_logged(log: MessageLog, caplog: pytest.LogCaptureFixture) -> None:
    """Ours: the secrets of the entry are masked, also in what the server sends."""
    log.sent({"params": {"key": "hunter-2-hunter"}})
    log.received(b'{"result": "your key is hunter-2-hunter"}')

    assert len(caplog.records) == 2
    assert "hunter" not in caplog.text


def test_a_message_of_any_size_and_kind_is_logged(log: MessageLog, caplog: pytest.LogCaptureFixture) -> None:
    """Ours: the log must not fail where the message does, nor hold megabytes."""
    endless: list[object] = []
    endless.append(endless)
    log.sent({"params": set})
    log.sent(endless)
    log.received(b"\xff" * (MAX_LOGGED_CHARS + 1))

    assert "class 'set'" in caplog.messages[0]
    assert "cannot be written as JSON" in caplog.messages[1]
    assert caplog.messages[2].endswith(f"… ({MAX_LOGGED_CHARS + 1} characters)")

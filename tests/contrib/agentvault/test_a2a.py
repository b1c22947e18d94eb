"""A2A in AgentVault's form: requests are read, and tasks of ours are described in it."""

from __future__ import annotations

from typing import Any

import pytest

from gaia_mcp.contrib.agentvault import a2a
from gaia_mcp.contrib.agentvault.a2a import (
    InvalidRequestError,
    Sent,
    described,
    events,
    failed,
    read_request,
    read_sent,
)
from gaia_mcp.protocol.jsonrpc import INVALID_REQUEST
from gaia_mcp.protocol.tasks import TaskState
from tests.protocol_support import check_each, check_rows

Wire = dict[str, Any]
BEGUN = TaskState.begun("t1", "", 1_700_000_000.0)
DATA = {"type": "data", "content": {"tool_name": "x"}}
TEXT = {"type": "text", "content": "hello"}


def completed(outcome: Wire) -> TaskState:
    """The task with this result, an outcome or another one."""
    return BEGUN.completed(outcome, 1_700_000_001.0)


def ended(outcome: Wire) -> TaskState:
    return completed({"content": [], "structuredContent": outcome})


def test_a_request_has_any_id_that_can_be_returned() -> None:
    """Seed systems, C6: AgentVault's own servers return what they get."""

    def check(request_id: Any) -> None:
        read = read_request({"jsonrpc": "2.0", "id": request_id, "method": "tasks/get", "params": [1]})

        assert read == (request_id, "tasks/get", [1])

    check_each(check, ["req-1", 1, 0, 1.5, None])


def test_a_request_may_omit_id_and_params() -> None:
    """Seed systems, C6: as AgentVault's own servers have it."""
    assert read_request({"jsonrpc": "2.0", "method": "tasks/get"}) == (None, "tasks/get", None)


def test_an_invalid_request_is_rejected_with_its_id() -> None:
    """Seed systems, C6: -32600, with the id where there is one."""
    cases = [
        ([], None),
        ("x", None),
        ({"jsonrpc": "2.0", "id": [1], "method": "x"}, None),
        ({"jsonrpc": "2.0", "id": {}, "method": "x"}, None),
        ({"jsonrpc": "2.0", "id": True, "method": "x"}, None),
        ({"jsonrpc": "2.0", "id": 1}, 1),
        ({"jsonrpc": "2.0", "id": 1, "method": ""}, 1),
        ({"jsonrpc": "2.0", "id": 1, "method": 5}, 1),
        ({"id": "a", "method": "x"}, "a"),
        ({"jsonrpc": "1.0", "id": "a", "method": "x"}, "a"),
    ]

    def check(value: Any, request_id: Any) -> None:
        with pytest.raises(InvalidRequestError) as refused:
            read_request(value)

        assert (refused.value.code, refused.value.id) == (INVALID_REQUEST, request_id)

    check_rows(check, cases)


def test_the_first_data_part_of_a_message_is_used() -> None:
    """Seed systems, C7: later data parts and texts are ignored."""
    cases = [
        ([DATA], {"tool_name": "x"}),
        ([TEXT, DATA, {"type": "data", "content": {"tool_name": "second"}}], {"tool_name": "x"}),
        ([{"content": {"tool_name": "x"}}], {"tool_name": "x"}),
        ([{"content": "hello"}, {"url": "http://example.com/x"}], None),
        ([TEXT] * 10, None),
        ([{"type": "file", "url": "http://example.com/x", "mediaType": "text/plain"}], None),
    ]

    wrong = [
        (parts, content, found)
        for parts, content in cases
        if (found := read_sent({"message": {"role": "user", "parts": parts}})) != Sent(None, content, None)
    ]

    assert not wrong


def test_the_mcp_context_of_a_message_is_read_and_other_metadata_ignored() -> None:
    """Seed systems, C9."""
    message = {"role": "system", "parts": [DATA], "metadata": {"mcp_context": {"user": 7}, "other": 1}}

    assert read_sent({"id": "t1", "message": message, "webhookUrl": 5}) == Sent("t1", {"tool_name": "x"}, {"user": 7})


def test_invalid_parameters_are_named() -> None:
    """Seed systems, C6: -32602 says which."""
    cases = [
        (None, "params"),
        ([], "params"),
        ({}, "message"),
        ({"message": "hello"}, "message"),
        ({"id": 5, "message": {"role": "user", "parts": [DATA]}}, "id"),
        ({"message": {"role": "boss", "parts": [DATA]}}, "message.role"),
        ({"message": {"parts": [DATA]}}, "message.role"),
        ({"message": {"role": "user"}}, "message.parts"),
        ({"message": {"role": "user", "parts": []}}, "message.parts"),
        ({"message": {"role": "user", "parts": {}}}, "message.parts"),
        ({"message": {"role": "user", "parts": ["x"]}}, "message.parts[0]"),
        ({"message": {"role": "user", "parts": [TEXT, {"type": "data", "content": "x"}]}}, "message.parts[1]"),
        ({"message": {"role": "user", "parts": [{"type": "text", "content": {}}]}}, "message.parts[0]"),
        ({"message": {"role": "user", "parts": [{"type": "file", "url": 5}]}}, "message.parts[0]"),
        ({"message": {"role": "user", "parts": [{"type": "video", "content": "x"}]}}, "message.parts[0]"),
        ({"message": {"role": "user", "parts": [DATA], "metadata": []}}, "message.metadata"),
    ]

    def check(params: Any, name: str) -> None:
        with pytest.raises(ValueError, match=f"^'{name}'".replace("[", "\\[")):
            read_sent(params)

    check_rows(check, cases)


def test_a_task_request_requires_a_task_id() -> None:
    """Seed systems, C6."""

    def check(params: Any) -> None:
        assert a2a.read_task_id({"id": "t1"}) == "t1"
        with pytest.raises(ValueError, match=r"^'(id|params)'"):
            a2a.read_task_id(params)

    check_each(check, [None, {}, {"id": ""}, {"id": 5}])


def test_a_running_task_has_no_message() -> None:
    """Seed systems, C6."""
    assert described(BEGUN) == {
        "id": "t1",
        "state": "WORKING",
        "createdAt": "2023-11-14T22:13:20.000Z",
        "updatedAt": "2023-11-14T22:13:20.000Z",
        "messages": [],
        "artifacts": [],
        "metadata": None,
    }


def test_a_finished_task_has_one_message_and_one_final_state() -> None:
    """Seed systems, C7 and C8."""
    cases = [
        (ended(a2a.succeeded({"content": []})), "COMPLETED", a2a.succeeded({"content": []})),
        (ended(failed("A2A_PROXY", "MCP_TIMEOUT", "late")), "FAILED", failed("A2A_PROXY", "MCP_TIMEOUT", "late")),
        (
            BEGUN.failed(-32603, "the server has ended", None, 2.0),
            "FAILED",
            failed("A2A_PROXY", "PROXY_INTERNAL_ERROR", "the server has ended"),
        ),
        (
            BEGUN.cancelled("cancelled by the client", 2.0),
            "CANCELED",
            failed("A2A_PROXY", "TASK_CANCELED", "cancelled by the client"),
        ),
        # These are tasks that were begun by MCP.
        (completed({"content": [], "isError": False}), "COMPLETED", a2a.succeeded({"content": [], "isError": False})),
        (
            completed({"content": [1], "structuredContent": {"success": True}, "isError": True}),
            "FAILED",
            failed("MCP_TOOL", "TOOL_EXECUTION_FAILED", "the tool has failed", {"mcp_tool_error_content": [1]}),
        ),
    ]

    def check(state: TaskState, name: str, outcome: Wire) -> None:
        task = described(state)
        (message_name, message), (status_name, status) = events(state)

        assert task["state"] == status["state"] == name
        assert task["messages"] == [message["message"]]
        assert message["message"]["role"] == "assistant"
        assert message["message"]["parts"] == [{"type": "data", "content": outcome, "mediaType": "application/json"}]
        assert (message_name, status_name) == ("task_message", "task_status")
        assert message["taskId"] == status["taskId"] == "t1"
        assert message["timestamp"] == status["timestamp"] == task["updatedAt"]

    check_rows(check, cases)


def test_the_final_status_of_a_failed_task_has_the_error_message() -> None:
    """Seed systems, C8: as AgentVault's own proxy writes it."""
    state = ended(a2a.tool_failed("files.read", {"content": [], "isError": True}))

    status = events(state)[-1][1]
    assert status["message"] == "[MCP_TOOL/TOOL_EXECUTION_FAILED] the tool 'files.read' has failed"
    assert events(ended(a2a.succeeded({})))[-1][1]["message"] is None


def test_a_subscriber_is_sent_each_change_once() -> None:
    """Ours: progress is the message of a status, and nothing is sent twice."""
    reported = BEGUN.reported("half", 1_700_000_000.5)

    assert [data["message"] for _, data in events(BEGUN)] == [None]
    assert [(name, data["state"], data["message"]) for name, data in events(reported, BEGUN)] == [
        ("task_status", "WORKING", "half")
    ]
    assert events(reported, reported) == []
    assert [data["state"] for _, data in events(BEGUN.asked({"q": {}}, 2.0), BEGUN)] == ["INPUT_REQUIRED"]

"""Why a request has no result: what each error says, and which other one it becomes."""

from __future__ import annotations

import pytest

from gaia_mcp.core.errors import (
    CallCancelledError,
    CallGarbledError,
    CallLateError,
    CallLostError,
    CancelledError,
    DeadlineError,
    MCPError,
    NotConnectedError,
    OutcomeUnknownError,
    PeerError,
    ReadOnlyError,
    RemoteProtocolError,
    ResourceUnknownError,
    ServerExitedError,
    ToolError,
    outcome_unknown,
    resource_unknown,
)


def test_an_exit_status_or_a_signal_is_named_in_the_message() -> None:
    """Ours: a signal is known by its name, not by -9."""
    cases = [
        (0, "exited with status 0"),
        (3, "exited with status 3"),
        (None, "closed its output"),
        (-9, "was ended by SIGKILL"),
        (-250, "was ended by signal 250"),
    ]
    stage = "before it answered tools/list"

    wrong = []
    for returncode, words in cases:
        error = ServerExitedError("fs", stage, returncode, "a\nb", last_words="b")
        message = f"server 'fs' {words} {stage}; the last line of its stderr: b"
        if (error.message, error.returncode, error.stderr_tail, error.stage) != (message, returncode, "a\nb", stage):
            wrong.append((returncode, error))

    assert not wrong


def test_a_closed_stream_is_named_while_the_server_runs() -> None:
    """Ours: an end says more than what led to it."""
    running = ServerExitedError("fs", "at its start", None, closed="no longer reads its input", last_words="b")
    ended = ServerExitedError("fs", "at its start", 3, closed="no longer reads its input")

    assert running.message == "server 'fs' no longer reads its input at its start; the last line of its stderr: b"
    assert (running.closed, running.last_words) == ("no longer reads its input", "b")
    assert "exited with status 3" in ended.message
    assert ServerExitedError("fs", "x", None).closed == "closed its output"


def test_an_empty_stderr_is_reported() -> None:
    """Ours: otherwise one would go looking for them."""
    assert "nothing to stderr" in ServerExitedError("fs", "x", 1).message


def test_output_on_stdout_is_reported_where_stderr_is_empty() -> None:
    """Ours: where it wrote to stderr, that says more."""
    assert ServerExitedError("fs", "x", 1, noise="it wrote 1 line").message.endswith("status 1 x; it wrote 1 line")
    assert ServerExitedError("fs", "x", 1, noise="it wrote 1 line", last_words="b").message.endswith(
        "last line of its stderr: b"
    )


def test_an_error_during_a_tool_call_becomes_one_of_unknown_outcome() -> None:
    """Ours: a call that may have run is never sent again; a program catches one class for all of them."""
    cases: list[tuple[MCPError, type[MCPError], type[Exception]]] = [
        (ServerExitedError("fs", "while answering", -9, "a\nb", last_words="b"), CallLostError, RuntimeError),
        (DeadlineError("fs", "tools/call 'pay'", 2.5), CallLateError, TimeoutError),
        (CancelledError("fs", "tools/call 'pay'"), CallCancelledError, MCPError),
        (RemoteProtocolError("fs", "answered with a line that is not valid JSON"), CallGarbledError, MCPError),
    ]

    wrong = []
    for error, kind, builtin in cases:
        ended = outcome_unknown(error, "pay")
        hint, facts = "'pay' may have run, and was not called again", {"may_have_run": "pay"}
        if (
            type(ended) is not kind
            or not isinstance(ended, (type(error), OutcomeUnknownError))
            or not isinstance(ended, builtin)
            or (str(ended), ended.hint, ended.facts) != (error.message, hint, facts)
            or {**vars(error), "tool": "pay", "hint": hint, "facts": facts} != vars(ended)
            or (error.hint, error.facts) != ("", {})
        ):
            wrong.append((error, ended))

    assert not wrong


@pytest.mark.parametrize("error", [NotConnectedError("fs"), PeerError("fs", "tools/call", 1, "x"), ToolError("x")])
def test_an_error_whose_outcome_is_known_stays_as_it_is(error: MCPError) -> None:
    """Ours: the outcome of a call that was refused or never sent is known."""
    assert outcome_unknown(error, "pay") is error


def test_an_error_s_code_is_printed_once() -> None:
    """Ours: the TypeScript SDK puts it into the text too, and so does each server behind which there is another."""
    cases = [
        ("MCP error -32603: no such file", "no such file"),
        ("MCP error -32603: MCP error -32603: no such file", "no such file"),
        ("MCP error -32602: no such file", "MCP error -32602: no such file"),
        ("no such file", "no such file"),
    ]

    wrong = []
    for text, printed in cases:
        error = PeerError("fs", "tools/call", -32603, text)
        message = f"server 'fs' answered tools/call with error -32603: {printed}"
        if (str(error), error.text) != (message, text):
            wrong.append((text, error))

    assert not wrong


def test_the_error_about_a_tool_that_is_not_read_only_names_the_reason() -> None:
    """Ours: each has another remedy."""
    cases = [
        (ReadOnlyError("fs", "write"), "is not marked as read-only by its server", ""),
        (
            ReadOnlyError("fs", "write", is_marked=True),
            "is marked as read-only, but its name suggests that it changes something",
            "",
        ),
        (
            ReadOnlyError("fs", "write", is_marked=True, is_distrusted=True),
            "is marked as read-only, but the hints of its server are not trusted",
            "hints-distrusted",
        ),
    ]

    wrong = [
        (error, problem)
        for error, problem, case in cases
        if (error.message, error.case) != (f"tool 'write' of 'fs' {problem}", case)
    ]

    assert not wrong


def test_a_missing_resource_is_recognised_by_its_code_or_its_message() -> None:
    """MC-13: whichever code the server uses. Ours: a message that says more than that is a part of the error's."""
    unknown, uri = "server 'fs' has no resource 'file:///a'", "file:///a"
    cases = [
        (-32002, "Resource not found", unknown),
        (-32602, "Resource not found", unknown),
        (-32602, "no scheme like that", f"{unknown}: no scheme like that"),
        (0, "Unknown resource: x://y", unknown),
        (-32601, "no such resource", unknown),
        (-32601, "Method not found", None),
        (-32601, "resources/read: unknown method, not found", None),
        (-32603, "out of order", None),
    ]

    wrong = []
    for code, text, message in cases:
        error = PeerError("fs", "resources/read", code, text, {"why": 1})
        found = resource_unknown(error, uri)
        if message is None:
            is_right = found is error
        else:
            is_right = isinstance(found, ResourceUnknownError) and (
                (found.message, found.server, found.name, found.code, found.text, found.facts)
                == (message, "fs", uri, code, text, error.facts)
            )
        if not is_right:
            wrong.append((code, text, found))

    assert not wrong

"""The running call, as a tool sees it."""

from __future__ import annotations

import threading

import pytest

from gaia_mcp.toolcall import CallCancelledError, ToolCall, current_call, enter_call


def test_outside_of_a_call_everything_does_nothing() -> None:
    """Ours: the same tool runs in a test or a script."""
    call = current_call()
    call.progress(1, 2, "half")
    call.log("info", "x")
    call.wait(0)
    call.raise_if_cancelled()
    assert not call.is_cancelled


def test_progress_and_logs_reach_whoever_asked_for_them() -> None:
    """Ours: in the order in which the tool says them."""
    said: list[object] = []
    call = ToolCall(lambda *progress: said.append(progress), lambda *log: said.append(log))

    call.progress(1)
    call.progress(2.5, 10, "reading")
    call.log("warning", {"path": "x"})

    assert said == [(1, None, ""), (2.5, 10, "reading"), ("warning", {"path": "x"})]


def test_a_tool_that_nobody_waits_for_is_told_at_its_next_step() -> None:
    """Ours: cancellation is a request; the tool stops where it looks."""
    said: list[object] = []
    call = ToolCall(lambda *progress: said.append(progress))
    call.cancel()
    call.cancel()

    assert call.is_cancelled
    for step in (call.raise_if_cancelled, lambda: call.progress(1), lambda: call.wait(60)):
        with pytest.raises(CallCancelledError):
            step()
    assert said == []


def test_a_pause_ends_with_the_call() -> None:
    """Ours: a tool that polls does not outlive its caller."""
    call = ToolCall()
    ended = threading.Event()

    def poll() -> None:
        with pytest.raises(CallCancelledError):
            call.wait(60)
        ended.set()

    thread = threading.Thread(target=poll)
    thread.start()
    call.cancel()
    assert ended.wait(5)
    thread.join()


def test_a_call_belongs_to_the_thread_that_entered_it() -> None:
    """Ours: two calls at once do not hear of each other."""
    call = ToolCall()
    seen: list[ToolCall] = []

    def run() -> None:
        enter_call(call)
        seen.append(current_call())
        enter_call(None)
        seen.append(current_call())

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()

    assert seen[0] is call
    assert seen[1] is not call
    assert current_call() is not call

"""The running call, as a tool sees it."""

from __future__ import annotations

import threading

import pytest

from gaia_mcp.asking import Call, CallCancelledError, current_call, enter_call
from gaia_mcp.asking.questions import ListRoots


def test_the_methods_of_a_call_do_nothing_outside_of_one() -> None:
    """Ours: the same tool runs in a test or a script."""
    call = current_call()
    call.progress(1, 2, "half")
    call.log("info", "x")
    call.wait(0)
    call.raise_if_cancelled()
    call.close_stream()
    assert not call.is_cancelled
    assert not call.can_ask(ListRoots())


def test_outside_of_a_server_no_call_becomes_a_task() -> None:
    """Ours: the same code runs in a test or a script."""
    assert Call().continue_as_task() is False
    assert Call().continue_as_task(required=True) is False


def test_progress_and_logs_are_passed_on_in_order() -> None:
    """Ours: the order is the tool's."""
    sent: list[object] = []
    call = Call(lambda *progress: sent.append(progress), lambda *log: sent.append(log))

    call.progress(1)
    call.progress(2.5, 10, "reading")
    call.log("warning", {"path": "x"})

    assert sent == [(1, None, ""), (2.5, 10, "reading"), ("warning", {"path": "x"})]


def test_a_cancelled_tool_stops_at_its_next_step() -> None:
    """Ours: a thread cannot be stopped from outside; the tool stops where it uses its call."""
    sent: list[object] = []
    call = Call(lambda *progress: sent.append(progress))
    call.cancel()
    call.cancel()

    assert call.is_cancelled
    for step in (call.raise_if_cancelled, lambda: call.progress(1), lambda: call.wait(60)):
        with pytest.raises(CallCancelledError):
            step()
    assert sent == []


def test_a_wait_ends_when_the_call_is_cancelled() -> None:
    """Ours: a tool that polls does not outlive its caller."""
    call = Call()
    ended = threading.Event()

    def poll() -> None:
        with pytest.raises(CallCancelledError):
            call.wait(60)
        ended.set()

    thread = threading.Thread(target=poll)
    thread.start()
    call.cancel()
    thread.join()

    assert ended.is_set()


def test_a_cancellation_callback_is_called_once() -> None:
    """Ours: a server stops what the call waits for; also if the cancellation came first."""
    called: list[str] = []
    call = Call()

    call.on_cancel(lambda: called.append("then"))
    call.cancel()
    call.cancel()
    call.on_cancel(lambda: called.append("at once"))

    assert called == ["then", "at once"]


def test_a_removed_cancellation_callback_is_not_called() -> None:
    """Ours: a tool that runs on an event loop may call a tool of another server, and both can be cancelled."""
    called: list[str] = []
    call = Call()

    call.on_cancel(lambda: called.append("the loop"))
    forget = call.on_cancel(lambda: called.append("the other server"))
    forget()
    forget()
    call.on_cancel(lambda: called.append("the next server"))
    call.cancel()

    assert called == ["the loop", "the next server"]


def test_a_call_belongs_to_the_thread_that_entered_it() -> None:
    """Ours: two calls at once do not meet."""
    call = Call()
    seen: list[Call] = []

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

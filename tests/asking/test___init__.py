"""The running call, as a tool sees it."""

from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING, Any

import pytest

from gaia_mcp.asking import Call, CallCancelledError, current_call, enter_call, entered_call
from gaia_mcp.asking.questions import (
    Accepted,
    Asked,
    Declined,
    Elicit,
    ElicitURL,
    ListRoots,
    Root,
    Sample,
)
from gaia_mcp.protocol.input_required import QuestionError

if TYPE_CHECKING:
    from collections.abc import Sequence

FORM = {"type": "object", "properties": {"name": {"type": "string"}}}
ADA, DECLINED = {"action": "accept", "content": {"name": "Ada"}}, {"action": "decline"}
HAIKU = {"role": "assistant", "content": {"type": "text", "text": "a haiku"}, "model": "m"}
ROOTS = {"roots": [{"uri": "file:///a", "name": "a"}]}


class Answered(Call):
    """A call whose client has these results for its requests, one after the other."""

    def __init__(self, *results: dict[str, Any]) -> None:
        super().__init__()
        self.asked: list[Asked[Any]] = []
        self._results = iter(results)

    def _ask(self, questions: Sequence[Asked[Any]]) -> list[Any]:
        self.asked += questions
        return [question.read(next(self._results)) for question in questions]


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
    assert call.once("name", lambda: "result") == "result"
    assert call.kept("name") is None
    with pytest.raises(QuestionError, match="there is no client to ask"):
        call.roots()


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

    assert entered_call() is None
    assert seen[0] is call
    assert seen[1] is not call
    assert current_call() is not call


def test_a_call_asks_its_client_and_returns_the_typed_answer() -> None:
    """MS-10: each method sends one question; several may be asked at once."""
    call = Answered(ADA, DECLINED, HAIKU, ROOTS, ADA, ROOTS)

    assert call.elicit("Who?", FORM, name="who") == Accepted({"name": "Ada"})
    assert call.elicit_url("Log in", "https://example.com/x") == Declined()
    assert call.sample("Write", max_tokens=9, system_prompt="You write", temperature=0.5).text == "a haiku"
    assert call.roots() == [Root("file:///a", "a")]
    assert call.ask_all(Elicit("Who?", FORM), ListRoots()) == [Accepted({"name": "Ada"}), [Root("file:///a", "a")]]
    assert call.asked == [
        Elicit("Who?", FORM, name="who"),
        ElicitURL("Log in", "https://example.com/x"),
        Sample("Write", 9, "You write", {"temperature": 0.5}),
        ListRoots(),
        Elicit("Who?", FORM),
        ListRoots(),
    ]


def test_an_async_tool_awaits_the_answers() -> None:
    """Ours: the event loop goes on while another thread waits for the client."""

    async def ask() -> tuple[Any, Any]:
        call = Answered(ROOTS, ADA, ROOTS)
        return await call.roots(), await call.ask_all(Elicit("Who?", FORM), ListRoots())

    assert asyncio.run(ask()) == ([Root("file:///a", "a")], [Accepted({"name": "Ada"}), [Root("file:///a", "a")]])

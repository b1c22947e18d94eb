"""The questions of a running call, with clients of both eras: asked, answered, asked again."""

from __future__ import annotations

import asyncio
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from gaia_mcp.asking import CallCancelledError, current_call
from gaia_mcp.asking.questions import Declined, Elicit, ListRoots
from gaia_mcp.protocol.input_required import MAX_ROUND_TRIPS, QuestionError
from gaia_mcp.protocol.jsonrpc import INVALID_PARAMS, INVALID_REQUEST
from gaia_mcp.server.http.workers import Workers
from gaia_mcp.server.outcomes import InputRequired
from tests.server.asking import ADA, BOTH, NAME, Person, Tools, Wire, text_of
from tests.server.talk import cancel
from tests.tracing_support import TRACE
from tests.waiting import PATIENCE_SECONDS, wait_until

if TYPE_CHECKING:
    from gaia_mcp.asking import Call
    from gaia_mcp.protocol.connection import Outgoing
    from gaia_mcp.server.outcomes import Job


@dataclass
class Name:
    """A form."""

    name: str


@BOTH
def test_urls_sampling_and_roots_can_be_requested(era: str) -> None:
    """Spec, client features: URLs, sampling, roots."""

    def work(call: Call) -> str:
        opened = call.elicit_url("Log in", "https://example.com")
        return f"{opened.action} {call.sample('Think.', temperature=0).text} {call.roots()[0].name}"

    person = Person(era, Tools(work=work), **{"Log in": {"action": "accept"}})

    assert text_of(person.call("work")) == "accept hm A"
    assert person.asked == ["Log in", "sampling/createMessage", "roots/list"]


@BOTH
def test_several_input_requests_are_sent_at_once(era: str) -> None:
    """Ours: one round for all of them."""
    both = Tools(ask=lambda call: str(call.ask_all(Elicit("Who?", NAME), ListRoots(name="where"))))
    person = Person(era, both)

    assert text_of(person.call("ask")) == "[Accepted(value={'name': 'Ada'}), [Root(uri='file:///a', name='A')]]"
    assert person.requests == (1 if era == "handshake" else 2)


@BOTH
def test_only_invalid_answers_are_requested_again(era: str) -> None:
    """Ours: a person answers each question once."""
    both = Tools(ask=lambda call: str(call.ask_all(Elicit("Who?", NAME), ListRoots())))
    person = Person(era, both, **{"Who?": [{"action": "accept", "content": {}}, ADA]})

    assert "Ada" in text_of(person.call("ask"))
    assert person.asked == ["Who?", "roots/list", "Who?"]


@BOTH
def test_a_coroutine_awaits_the_answer(era: str) -> None:
    """Ours: the loop goes on with other calls meanwhile."""

    async def ask() -> str:
        call = current_call()
        first, second = await asyncio.gather(
            _awaited(call.elicit("Who?", NAME, name="a")), _awaited(call.roots(name="b"))
        )
        return f"{first} {second}"

    async def _awaited(value: Any) -> Any:
        return await value

    person = Person(era, Tools(ask=lambda _: ask()))

    assert text_of(person.call("ask")) == "Accepted(value={'name': 'Ada'}) [Root(uri='file:///a', name='A')]"
    person.provider.close()


def test_no_wait_begins_once_the_client_is_lost() -> None:
    """Ours: the call may have lost its place among those that wait before it has sent its question."""

    def work(call: Call) -> str:
        call.lose_client()  # type: ignore[attr-defined]
        with pytest.raises(QuestionError, match="the client has disconnected"):
            call.elicit("Who?", NAME)
        return "done"

    assert text_of(Person("handshake", Tools(work=work), **{"Who?": None}).call("work")) == "done"


@BOTH
def test_an_exception_of_once_is_not_saved(era: str) -> None:
    """Ours: it is tried again when the tool tries again. A value that is not JSON cannot be saved in the state."""
    tries: list[int] = []

    def fail() -> int:
        tries.append(1)
        raise OSError(f"try {len(tries)}")

    def work(call: Call) -> str:
        with pytest.raises(OSError, match="try 1"):
            call.once("a", fail)
        with pytest.raises(OSError, match="try 2"):
            call.once("a", fail)
        call.once("b", lambda: {1, 2})
        return "done"

    assert Person(era, Tools(work=work)).call("work")["result"]["isError"] is False
    made = Tools(work=lambda call: str(call.once("a", object)))
    assert "once 'a': the value is not JSON" in text_of(Person(era, made).call("work"))


@BOTH
def test_an_invalid_answer_is_requested_again(era: str) -> None:
    """MS-10: validated, and asked again rather than failed."""
    wrong: list[Any] = [12345, {"action": "accept", "content": {"name": 7}}, ADA]
    if era == "handshake":
        wrong[0] = {"action": "yes"}
    person = Person(era, Tools(ask=lambda call: str(call.elicit("Who?", NAME))), **{"Who?": wrong})

    assert text_of(person.call("ask")) == "Accepted(value={'name': 'Ada'})"
    assert person.asked == ["Who?"] * 3


@BOTH
def test_too_many_invalid_answers_fail_the_tool(era: str) -> None:
    """Ours: before the client gives up, with the question and the reason."""
    wrong = {"action": "accept", "content": {}}
    person = Person(era, Tools(ask=lambda call: str(call.elicit("Who?", NAME))), **{"Who?": wrong})

    response = person.call("ask")

    assert response["result"]["isError"] is True
    assert text_of(response) == "question '1' (Who?) is not settled after 9 rounds: 'name' is missing"


@BOTH
def test_a_declined_elicitation_of_a_prompt_is_reported(era: str) -> None:
    """Ours: the client learns that its person has declined; it is not an internal error."""
    person = Person(era, Tools(), **{"Who?": {"action": "decline"}})

    response = person.ask("prompts/get", {"name": "known"})

    assert response["error"] == {"code": INVALID_REQUEST, "message": "the person declined to answer"}


@BOTH
def test_a_prompt_may_elicit_input(era: str) -> None:
    """MS-7: prompts/get may require input."""
    response = Person(era, Tools()).ask("prompts/get", {"name": "who"})

    assert "Ada" in response["result"]["messages"][0]["content"]["text"]


@BOTH
def test_duplicate_names_of_input_requests_are_an_error(era: str) -> None:
    """MS-8: keys are unique."""
    twice = Tools(ask=lambda call: call.ask_all(ListRoots(name="a"), ListRoots(name="a")))

    assert "has the same name 'a'" in text_of(Person(era, twice).call("ask"))


@BOTH
def test_a_name_may_be_used_once_per_run(era: str) -> None:
    """Ours: a tool that asks in a loop would get the same answer for ever, and another question would never settle."""

    def work(call: Call) -> None:
        while True:
            call.elicit("Who?", NAME, name="who")

    person = Person(era, Tools(work=work))

    assert "has the same name 'who'" in text_of(person.call("work"))
    assert person.asked == ["Who?"]


@BOTH
def test_a_tool_that_exceeds_the_limit_of_rounds_fails(era: str) -> None:
    """Ours: the client has answered all that it was asked."""

    def work(call: Call) -> None:
        while True:
            call.elicit("Who?", NAME)

    person = Person(era, Tools(work=work))

    assert (
        text_of(person.call("work")) == "question '10' (Who?) is one too many: a call has 9 rounds of questions at most"
    )
    assert len(person.asked) == 9


@BOTH
def test_a_nested_form_is_an_error(era: str) -> None:
    """Spec, elicitation: forms are flat."""
    nested = {"type": "object", "properties": {"a": {"type": "object"}}}
    person = Person(era, Tools(ask=lambda call: call.elicit("Who?", nested)))

    assert "field 'a' of the form" in text_of(person.call("ask"))
    assert person.asked == []


@BOTH
def test_a_tool_that_catches_base_exception_still_elicits_input(era: str) -> None:
    """Ours: the exception that ends a run is not an error, and the result of a tool that catches it is not sent."""

    def work(call: Call) -> str:
        try:
            return str(call.elicit("Who?", NAME))
        except BaseException:
            return "caught"

    assert text_of(Person(era, Tools(work=work)).call("work")) == "Accepted(value={'name': 'Ada'})"


@BOTH
def test_a_thread_of_the_tool_requests_input_through_its_call(era: str) -> None:
    """Ours: a thread has no current call of its own; it uses the call that it was given."""
    found: list[Any] = []

    def work(call: Call) -> str:
        def ask() -> None:
            with pytest.raises(QuestionError, match="outside of a call"):
                current_call().roots()
            try:
                found.append(call.roots())
            except InputRequired:
                found.append("later")

        thread = threading.Thread(target=ask)
        thread.start()
        thread.join()
        return str(found[-1])

    assert text_of(Person(era, Tools(work=work)).call("work")) == "[Root(uri='file:///a', name='A')]"


@BOTH
def test_threads_of_a_tool_may_request_input_concurrently(era: str) -> None:
    """Ours: neither answer is lost, and nothing is asked twice."""

    class Late(Person):
        """Answers only when all has been asked."""

        def give(self, message: Wire) -> list[Job]:
            if "result" in message:
                wait_until(lambda: len(self.asked) >= 2)
            return super().give(message)

    def work(call: Call) -> str:
        with ThreadPoolExecutor() as pool:
            asked = [pool.submit(call.elicit, "Who?", NAME, name="who"), pool.submit(call.roots, name="where")]
        return " ".join(str(each.result()) for each in asked)

    person = Late(era, Tools(work=work))

    assert text_of(person.call("work")) == "Accepted(value={'name': 'Ada'}) [Root(uri='file:///a', name='A')]"
    assert sorted(person.asked) == ["Who?", "roots/list"]
    assert person.requests == (1 if era == "handshake" else 2)


def test_concurrent_input_requests_are_one_round() -> None:
    """Ours: the result of a run asks them together, so that the client counts them once."""

    def work(call: Call) -> str:
        def ask(thread: str) -> list[str]:
            return [call.roots(name=f"{thread}{number}")[0].name for number in range(MAX_ROUND_TRIPS - 1)]

        with ThreadPoolExecutor() as pool:
            asked = [pool.submit(ask, thread) for thread in "ab"]
        return str(len([name for each in asked for name in each.result()]))

    person = Person("stateless", Tools(work=work))

    assert text_of(person.call("work")) == str(2 * (MAX_ROUND_TRIPS - 1))
    assert person.requests == MAX_ROUND_TRIPS


def test_a_server_request_is_cancelled_when_its_call_ends() -> None:
    """Ours: a person is not asked to answer a question that no longer matters."""
    ends: list[str] = []
    threads: list[threading.Thread] = []

    def work(call: Call) -> str:
        def ask() -> None:
            with pytest.raises(QuestionError) as caught:
                call.elicit("Who?", NAME)
            ends.append(str(caught.value))

        threads.append(threading.Thread(target=ask))
        threads[0].start()
        wait_until(lambda: person.asked == ["Who?"])
        return "done"

    person = Person("handshake", Tools(work=work), **{"Who?": None})

    assert text_of(person.call("work")) == "done"
    threads[0].join(PATIENCE_SECONDS)
    assert ends == ["the call has ended; its client can no longer be asked"]
    assert person.logged == ["notifications/cancelled"]


@BOTH
def test_once_may_request_input_in_a_thread(era: str) -> None:
    """Ours: a thread that is waited for is not kept from asking."""

    def work(call: Call) -> str:
        with ThreadPoolExecutor(1) as pool:
            who = call.once("who", lambda: str(pool.submit(call.elicit, "Who?", NAME).result(PATIENCE_SECONDS)))
        assert call.once("who", lambda: "another") == who
        return who

    assert "Ada" in text_of(Person(era, Tools(work=work)).call("work"))


@BOTH
def test_a_tool_may_hold_a_lock_while_it_requests_input(era: str) -> None:
    """Ours: in the stateless era it is released on the way out, for the run ends."""
    lock = threading.Lock()

    def work(call: Call) -> str:
        with lock:
            return str(call.elicit("Who?", NAME))

    assert "Ada" in text_of(Person(era, Tools(work=work)).call("work"))
    assert not lock.locked()


# The handshake era: a question is a request, and the thread waits.


def test_a_refused_server_request_is_an_error_of_the_tool() -> None:
    """Spec 2025-11-25, sampling: -1 where the person refuses."""
    person = Person("handshake", Tools(ask=lambda call: call.roots()), **{"roots/list": ValueError("not today")})

    assert text_of(person.call("ask")) == "the client refused question '1': not today"


def test_an_invalid_response_is_an_error_of_the_tool() -> None:
    """B-2: the tool does not wait for what has come."""
    person = Person("handshake", Tools(ask=lambda call: call.roots()), **{"roots/list": "x"})

    assert text_of(person.call("ask")).startswith("the client refused question '1': ")


def waiting_call(person: Person, cancelled: list[str]) -> threading.Thread:
    """A call that waits for an answer, in a thread of its own."""
    (job,) = person.start("tools/call", {"name": "ask", "arguments": {}})
    thread = threading.Thread(target=person.calls.run, args=(job,))
    thread.start()
    wait_until(lambda: person.asked)
    return thread


def cancelling(cancelled: list[str]) -> Tools:
    """A tool that notes how its question ended."""

    def ask(call: Call) -> None:
        try:
            call.elicit("Who?", NAME)
        except CallCancelledError:
            cancelled.append("cancelled")
            raise

    return Tools(ask=ask)


def test_a_cancelled_call_cancels_its_server_request() -> None:
    """MS-18, and spec 2025-11-25, cancellation: each side may cancel its own requests."""
    cancelled: list[str] = []
    person = Person("handshake", cancelling(cancelled), **{"Who?": None})
    thread = waiting_call(person, cancelled)

    person.give(cancel(1))
    thread.join(PATIENCE_SECONDS)

    assert cancelled == ["cancelled"]
    assert person.logged == ["notifications/cancelled"]
    assert len(person.calls) == 0
    # A late response is ignored.
    assert person.give({"jsonrpc": "2.0", "id": 1, "result": ADA}) == []


def test_closing_the_connection_ends_every_server_request() -> None:
    """Ours: closing the connection ends every question."""
    cancelled: list[str] = []
    person = Person("handshake", cancelling(cancelled), **{"Who?": None})
    thread = waiting_call(person, cancelled)

    person.calls.close()
    thread.join(PATIENCE_SECONDS)

    assert not thread.is_alive()
    assert cancelled == ["cancelled"]


def test_an_unanswered_server_request_times_out() -> None:
    """B-8: every request has a timeout."""

    def ask(call: Any) -> Any:
        call.answer_seconds = 0.01
        return call.roots()

    person = Person("handshake", Tools(ask=ask), **{"roots/list": None})

    assert "was not answered within" in text_of(person.call("ask"))
    assert person.logged == ["notifications/cancelled"]


# The stateless era: what comes back is the client's to choose.


def refusal_of(person: Person, **more: Any) -> Wire:
    """The error of a call that brings this."""
    error: Wire = person.send("tools/call", {"name": "ask", "arguments": {}, **more})["error"]
    assert error["code"] == INVALID_PARAMS
    return error


def test_a_request_state_is_valid_for_its_own_request_only(capsys: pytest.CaptureFixture[str]) -> None:
    """MS-9: one answer for every failure; the reason is in the log."""
    tools = Tools(ask=lambda call: str(call.elicit("Who?", NAME)), other=lambda call: str(call.elicit("Who?", NAME)))
    person = Person("stateless", tools)
    state = person.send("tools/call", {"name": "ask", "arguments": {}})["result"]["requestState"]
    changed = state[:30] + ("A" if state[30] != "A" else "B") + state[31:]

    errors = [
        refusal_of(person, requestState=changed),
        refusal_of(person, requestState=state[:-8]),
        refusal_of(person, requestState="x"),
        refusal_of(person, requestState=state, name="other"),
        refusal_of(person, requestState=state, arguments={"x": 1}),
        refusal_of(person, requestState=state, name="x" * 10_000),
        refusal_of(Person("stateless", tools), requestState=state),
    ]

    assert {error["message"] for error in errors} == {"invalid requestState"}
    logged = capsys.readouterr().err.splitlines()
    assert len(logged) == len(errors)
    assert max(map(len, logged)) < 400
    assert "belongs to another request" in logged[-2]
    assert "another key" in logged[-1]


def test_a_request_state_that_is_not_a_string_is_refused() -> None:
    """Spec 2026-07-28, input required."""
    person = Person("stateless", Tools(ask=lambda call: str(call.elicit("Who?", NAME))))

    assert refusal_of(person, requestState=7)["message"] == "requestState must be a string"


def test_a_missing_answer_is_requested_again_and_others_are_ignored() -> None:
    """MS-10."""
    person = Person("stateless", Tools(ask=lambda call: str(call.elicit("Who?", NAME, name="who"))))
    first = person.send("tools/call", {"name": "ask", "arguments": {}})["result"]

    again = {"requestState": first["requestState"], "inputResponses": {"other": ADA}}
    second = person.send("tools/call", {"name": "ask", "arguments": {}, **again})["result"]

    assert list(second["inputRequests"]) == ["who"]
    assert second["resultType"] == "input_required"


def test_a_changed_question_is_asked_again() -> None:
    """Ours: an answer belongs to the question that was shown."""
    asked = iter(["Who?", "Whom?", "Whom?"])

    def ask(call: Call) -> str:
        return str(call.elicit(next(asked), NAME))

    person = Person("stateless", Tools(ask=ask), **{"Whom?": {"action": "decline"}})

    assert text_of(person.call("ask")) == str(Declined())
    assert person.asked == ["Who?", "Whom?"]


def test_a_call_without_a_waiting_place_sends_no_server_request() -> None:
    """Ours: too many wait already. A stateless client is asked by the result, and nothing waits."""
    texts = {}
    for era in ("handshake", "stateless"):
        person = Person(era, Tools(ask=lambda call: str(call.elicit("Who?", NAME))))
        person.calls.waiting = Workers(0, 0, 0).asking
        texts[era] = str(person.call("ask")["result"]["content"])
        assert person.asked == ["Who?"] * (era == "stateless")

    assert "too many calls wait for their clients already" in texts["handshake"]
    assert "Ada" in texts["stateless"]


@BOTH
def test_a_server_request_carries_the_trace_of_its_call(era: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ours: where it is a request; else the client knows the trace of its own request."""
    monkeypatch.delitem(sys.modules, "opentelemetry.trace", raising=False)
    person = Person(era, Tools(ask=lambda call: str(call.elicit("Who?", Name)) and str(call.roots())))
    sent: list[Any] = []
    take = person._take

    def keep(outgoing: Outgoing) -> None:
        sent.append(outgoing.message)
        take(outgoing)

    person.calls._send = keep
    assert "error" not in person.call("ask", _meta=dict(TRACE))

    asked = [each["params"]["_meta"] for each in sent if "method" in each and "id" in each]
    assert asked == ([TRACE, TRACE] if era == "handshake" else [])
    sent.clear()
    person.call("ask")
    assert not any("traceparent" in str(each) for each in sent)


def test_a_request_state_is_ignored_in_older_revisions() -> None:
    """Ours: it is a parameter as any other there."""
    person = Person("handshake", Tools(ask=lambda _: "done"))

    assert text_of(person.call("ask", requestState="x")) == "done"


def test_a_client_may_send_input_responses_in_advance() -> None:
    """MS-10: without a state, an answer belongs to the question of its name; it is checked, and others are ignored."""

    def ask(call: Call) -> str:
        return f"{call.elicit('Who?', NAME, name='who')} {call.elicit('Who else?', NAME)}"

    person = Person("stateless", Tools(ask=ask), **{"Who else?": {"action": "cancel"}})

    assert text_of(person.call("ask", inputResponses={"who": ADA, "x": 7})) == (
        "Accepted(value={'name': 'Ada'}) Cancelled()"
    )
    assert person.asked == ["Who else?"]
    person.asked.clear()
    assert "Ada" in text_of(person.call("ask", inputResponses={"who": 12345}))
    assert person.asked == ["Who?", "Who else?"]
    refused = person.call("ask", inputResponses=None)
    assert refused["error"] == {"code": INVALID_PARAMS, "message": "inputResponses must be an object"}

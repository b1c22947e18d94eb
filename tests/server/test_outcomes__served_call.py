"""The notifications and requests of a running call, with clients of both eras: the same tools, the same answers."""

from __future__ import annotations

import threading
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from gaia_mcp.asking import CallCancelledError
from gaia_mcp.protocol.input_required import QuestionError
from gaia_mcp.protocol.server import ServerConnection
from gaia_mcp.server.agent import AgentProvider
from gaia_mcp.server.calls import Calls
from gaia_mcp.server.outcomes import InputRequired
from tests.server.asking import ADA, BOTH, CAPABILITIES, NAME, Person, Tools, Wire, text_of
from tests.waiting import PATIENCE_SECONDS, wait_until

if TYPE_CHECKING:
    from gaia_mcp.asking import Call


@dataclass
class Name:
    """A form."""

    name: str


@BOTH
@pytest.mark.parametrize(
    ("answer", "outcome"),
    [
        (ADA, "Accepted(value=Name(name='Ada'))"),
        ({"action": "decline"}, "Declined()"),
        ({"action": "cancel"}, "Cancelled()"),
    ],
)
def test_elicitation_has_the_same_outcomes_in_both_eras(era: str, answer: Wire, outcome: str) -> None:
    """Spec, elicitation: accept, decline and cancel, of a form that is a dataclass."""
    person = Person(era, Tools(ask=lambda call: str(call.elicit("Who?", Name))), **{"Who?": answer})

    assert text_of(person.call("ask")) == outcome
    assert person.asked == ["Who?"]


@BOTH
def test_once_log_messages_and_progress_happen_once_in_repeated_runs(era: str) -> None:
    """Ours: `once`, log messages and progress, although a stateless client has the tool run three times."""
    orders: list[int] = []

    def work(call: Call) -> str:
        call.log("info", "begin")
        call.progress(1, 3)
        number = call.once("order", lambda: orders.append(1) or len(orders))
        call.elicit("Who?", NAME)
        call.log("info", "half")
        call.progress(2, 3)
        call.roots()
        call.log("info", "end")
        call.progress(3, 3)
        return f"{number} {call.once('order', lambda: 99)}"

    person = Person(era, Tools(work=work))

    assert text_of(person.call("work")) == "1 1"
    assert orders == [1]
    heard = [one for one in person.logged if isinstance(one, str)]
    assert heard == ["begin", "half", "end"]
    if era == "stateless":
        assert person.logged == ["begin", 1, "half", 2, "end", 3]


@BOTH
def test_values_of_once_are_available_in_the_next_run(era: str) -> None:
    """Ours: a provider can check them before it does something that it saves only in part."""

    def work(call: Call) -> str:
        before = call.kept("order")
        call.once("order", lambda: 7)
        call.elicit("Who?", NAME)
        return f"{before} {call.kept('order')} {call.kept('other')}"

    person = Person(era, Tools(work=work))

    assert text_of(person.call("work")) == ("7 7 None" if era == "stateless" else "None 7 None")


@BOTH
def test_an_input_request_of_a_thread_is_not_a_failure_of_the_tool(
    era: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Ours: the answer that the tool lacks in this run is there in the next one."""

    def work(call: Call) -> str:
        found: list[str] = []

        def ask() -> None:
            with suppress(InputRequired):
                found.append(str(call.elicit("Who?", NAME)))

        thread = threading.Thread(target=ask)
        thread.start()
        thread.join()
        return found[0]

    assert "Ada" in text_of(Person(era, Tools(work=work)).call("work"))
    assert capsys.readouterr().err == ""


@BOTH
def test_a_thread_that_outlives_its_call_sends_nothing(era: str) -> None:
    """Ours: the client may have given the id of the request to another one by then."""
    returned = threading.Event()
    ends: list[str] = []
    threads: list[threading.Thread] = []

    def work(call: Call) -> str:
        def ask() -> None:
            returned.wait(PATIENCE_SECONDS)
            call.progress(1)
            call.log("info", "late")
            call.close_stream()
            for _ in range(2):
                with pytest.raises(QuestionError) as caught:
                    call.roots()
                ends.append(str(caught.value))

        threads.append(threading.Thread(target=ask))
        threads[0].start()
        return "done"

    person = Person(era, Tools(work=work, ask=lambda call: str(call.elicit("Who?", NAME))), **{"Who?": None})
    assert text_of(person.call("work")) == "done"
    # The same id again.
    person.requests -= 1
    (job,) = person.start("tools/call", {"name": "ask", "arguments": {}})
    returned.set()
    threads[0].join(PATIENCE_SECONDS)

    assert ends == ["the call has ended; its client can no longer be asked"] * 2
    assert (person.asked, person.logged, person.closed) == ([], [], [])
    job.call.cancel()


def test_a_call_that_has_lost_its_client_waits_for_no_answer() -> None:
    """Ours: neither for the one that it waits for, nor for later ones."""
    ends: list[str] = []

    def work(call: Call) -> str:
        losing = threading.Thread(target=lambda: wait_until(lambda: person.asked) or call.lose_client())  # type: ignore[attr-defined]
        losing.start()
        for _ in range(2):
            with pytest.raises(QuestionError) as caught:
                call.elicit("Who?", NAME)
            ends.append(str(caught.value))
        losing.join()
        return "done"

    person = Person("handshake", Tools(work=work), **{"Who?": None})
    assert text_of(person.call("work")) == "done"
    assert ends == ["the client has disconnected, and other calls wait for their clients"] * 2


@BOTH
def test_a_call_closes_its_stream_where_there_is_one(era: str) -> None:
    """Ours: over HTTP, its callback is called; elsewhere the tool just continues."""

    def work(call: Call) -> str:
        call.close_stream()
        return "done"

    person = Person(era, Tools(work=work))
    assert text_of(person.call("work")) == "done"
    assert [call.request.id for call in person.closed] == [person.requests]

    provider = AgentProvider(person.agent)
    person.calls = Calls(ServerConnection(provider.describe()), provider, person._take)
    person.era = "stateless"
    assert text_of(person.call("work")) == "done"


def test_a_call_without_input_requests_has_no_record() -> None:
    """Ours: it costs nothing."""
    person = Person("stateless", Tools(ask=lambda _: "done"))
    (job,) = person.start("tools/call", {"name": "ask", "arguments": {}})

    person.calls.run(job)

    assert job.call._questions is None
    assert job.call.meta["progressToken"] == 1


def test_a_run_that_requires_input_does_not_become_a_task() -> None:
    """Extension: questions before a task are settled by the request itself, also where the tool has caught its end."""
    ends: list[str] = []

    def ask(call: Call) -> str:
        try:
            call.elicit("Who?", NAME)
        except BaseException as end:
            ends.append(type(end).__name__)
        return str(call.continue_as_task())

    capabilities = {**CAPABILITIES, "extensions": {"io.modelcontextprotocol/tasks": {}}}
    person = Person("stateless", Tools(ask=ask), capabilities)

    assert person.call("ask")["result"]["resultType"] == "task"
    assert (ends, person.requests) == (["InputRequired"], 2)


def test_a_call_becomes_a_task_once() -> None:
    """Ours: a second call of `continue_as_task` returns True as well."""
    capabilities = {"extensions": {"io.modelcontextprotocol/tasks": {}}}
    work = Tools(work=lambda call: str([call.continue_as_task() for _ in range(3)]))
    person = Person("stateless", work, capabilities)

    task = person.call("work")["result"]["taskId"]

    assert "[True, True, True]" in str(person.ask("tasks/get", {"taskId": task}))
    assert text_of(Person("stateless", work).call("work")) == "[False, False, False]"


@BOTH
def test_a_cancelled_call_does_not_become_a_task(era: str) -> None:
    """Ours: its client does not get an id, and could not cancel the task."""
    ends: list[str] = []

    def work(call: Call) -> None:
        call.cancel()
        try:
            call.continue_as_task()
        except CallCancelledError:
            ends.append(era)

    Person(era, Tools(work=work)).start("tools/call", {"name": "work", "arguments": {}})[0].call.cancel()
    person = Person(era, Tools(work=work))
    (job,) = person.start("tools/call", {"name": "work", "arguments": {}})
    person.calls.run(job)

    assert ends == [era]

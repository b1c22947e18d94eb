"""`Calls`, driven directly: no pipe, no thread but the test's own."""

from __future__ import annotations

import asyncio
import json
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

import pytest

from gaia_mcp.protocol.jsonrpc import INVALID_PARAMS, RESOURCE_NOT_FOUND
from gaia_mcp.protocol.questions import QuestionError
from gaia_mcp.protocol.server import Description, ServerConnection
from gaia_mcp.server import served_call
from gaia_mcp.server.calls import Calls, Job
from gaia_mcp.server.provider import Listener, Listeners, RequestError, ResultError
from gaia_mcp.toolcall import Call, CallCancelledError
from tests.server.talk import Wire, call, cancel, initialize, plain, stateless
from tests.waiting import PATIENCE_SECONDS

if TYPE_CHECKING:
    from collections.abc import Callable

    from gaia_mcp.protocol.connection import Outgoing

LOGS = {"io.modelcontextprotocol/logLevel": "info"}


class Functions:
    """A provider whose tools are functions of the running call."""

    def __init__(self, **tools: Callable[[Call], Any]) -> None:
        self.tools = tools
        self.listeners = Listeners()

    def describe(self) -> Description:
        """Its name tells how many tools there are."""
        features = {"listChanged": True}
        return Description(
            {"name": f"{len(self.tools)} tools", "version": "1"},
            {"tools": features, "prompts": features, "logging": {}},
        )

    def answer(self, method: str, params: Wire, call: Call) -> Wire:
        """Of any method, that of the tool."""
        found: Wire = self.tools[params["name"]](call)
        return found

    def on_change(self, listener: Listener) -> Callable[[], None]:
        """As every provider."""
        return self.listeners.add(listener)

    def replace(self, **tools: Callable[[Call], Any]) -> None:
        """Have other tools from now on."""
        self.tools = tools
        self.listeners.announce("tools", "resources")


class Client:
    """The other end: hands in messages and keeps what comes back."""

    def __init__(self, provider: Functions, **options: Any) -> None:
        self.sent: list[Outgoing] = []
        self.calls = Calls(ServerConnection(provider.describe()), provider, self.sent.append, **options)

    def ask(self, message: Any, about: int | str | None = None) -> list[Job]:
        """Hand in a message; the jobs that it makes."""
        return self.calls.receive(json.dumps(message).encode(), about)

    def run(self, message: Any) -> Any:
        """Hand in a message and run its jobs; the last message that was sent."""
        for job in self.ask(message):
            self.calls.run(job)
        return self.sent[-1].message

    def about(self, request_id: int | str | None) -> list[Any]:
        """What was sent that belongs to a request: methods of notifications, and the response's `id`."""
        messages: list[Any] = [outgoing.message for outgoing in self.sent if outgoing.about == request_id]
        return [message.get("method", message.get("id")) for message in messages]


def done(text: str = "done") -> Wire:
    """A tool's result."""
    return {"content": [{"type": "text", "text": text}], "isError": False}


# Running.


def test_two_calls_at_once_are_told_apart_by_what_their_messages_are_about() -> None:
    """Ours: a channel with a stream for each request knows which stream a log, progress and a response belong to."""
    both = threading.Barrier(2)

    def work(call: Call) -> Wire:
        both.wait(PATIENCE_SECONDS)
        call.progress(1, 2, "half")
        both.wait(PATIENCE_SECONDS)
        call.log("info", "careful")
        both.wait(PATIENCE_SECONDS)
        return done()

    client = Client(Functions(work=work))
    jobs = [
        *client.ask(call(1, "work", progressToken="a", **LOGS)),
        *client.ask(call("b", "work", progressToken=7, **LOGS)),
    ]
    assert len(client.calls) == 2

    with ThreadPoolExecutor() as threads:
        list(threads.map(client.calls.run, jobs))

    for request_id, token in ((1, "a"), ("b", 7)):
        assert client.about(request_id) == ["notifications/progress", "notifications/message", request_id]
        (progress, *_) = [one.message for one in client.sent if one.about == request_id]
        assert isinstance(progress, dict)
        assert progress["params"]["progressToken"] == token
    assert len(client.sent) == 6
    assert len(client.calls) == 0


def test_coroutines_can_use_it() -> None:
    """Ours: an ASGI app receives in its loop, runs calls in other threads, and is handed what to send by its loop."""

    async def serve() -> list[Any]:
        loop = asyncio.get_running_loop()
        queue: asyncio.Queue[Outgoing] = asyncio.Queue()
        provider = Functions(quick=lambda _: done(), slow=lambda call: call.wait(PATIENCE_SECONDS))
        calls = Calls(
            ServerConnection(provider.describe()),
            provider,
            lambda outgoing: loop.call_soon_threadsafe(queue.put_nowait, outgoing) and None,
        )
        jobs = [job for name in ("slow", "quick") for job in calls.receive(json.dumps(call(name, name)).encode())]
        running = [loop.run_in_executor(None, calls.run, job) for job in jobs]
        first = await asyncio.wait_for(queue.get(), PATIENCE_SECONDS)
        calls.cancel("slow")
        await asyncio.wait_for(asyncio.gather(*running), PATIENCE_SECONDS)
        return [first.about, queue.qsize(), len(calls)]

    assert asyncio.run(serve()) == ["quick", 0, 0]


def test_a_request_that_the_connection_answers_by_itself_makes_no_job() -> None:
    """Ours: its response is sent before `receive` returns."""
    client = Client(Functions())

    assert client.ask(plain(1, "ping")) == []
    assert client.about(1) == [1]


def test_a_record_that_is_no_message_makes_no_job() -> None:
    """Spec: a parse error is -32700; other lines are passed over."""
    client = Client(Functions())

    assert client.calls.receive(b"{nonsense") == []
    assert client.calls.receive(b"a line of a log") == []

    (parse_error,) = [outgoing.message for outgoing in client.sent]
    assert isinstance(parse_error, dict)
    assert parse_error["error"]["code"] == -32700


def test_messages_are_sent_one_at_a_time_and_in_order() -> None:
    """Ours: two at once could be mixed, and nothing about a call may follow its response."""
    go = threading.Event()
    sent: list[Outgoing] = []
    at_once: list[int] = []

    def send(outgoing: Outgoing) -> None:
        at_once.append(1)
        assert len(at_once) == 1
        assert go.wait(PATIENCE_SECONDS)
        sent.append(outgoing)
        at_once.pop()

    def work(call: Call) -> Wire:
        call.log("info", "careful")
        return done()

    provider = Functions(work=work)
    calls = Calls(ServerConnection(provider.describe()), provider, send)
    jobs = [job for number in range(4) for job in calls.receive(json.dumps(call(number, "work", **LOGS)).encode())]
    with ThreadPoolExecutor() as threads:
        running = [threads.submit(calls.run, job) for job in jobs]
        go.set()
        for one in running:
            one.result(PATIENCE_SECONDS)

    assert len(sent) == 8
    for number in range(4):
        log, response = [one.message for one in sent if one.about == number]
        assert "params" in log
        assert "result" in response


# Cancelling.


def by_notification(client: Client, request_id: int) -> None:
    """As on a pipe."""
    assert client.ask(cancel(request_id)) == []


def by_the_channel(client: Client, request_id: int) -> None:
    """As when the stream of a request is closed."""
    client.calls.cancel(request_id)


@pytest.mark.parametrize("cancelled", [by_notification, by_the_channel])
def test_a_cancelled_call_stops_and_nothing_more_is_sent_about_it(cancelled: Callable[[Client, int], None]) -> None:
    """Spec, MS-18. Also what it still reports and logs."""

    def work(call: Call) -> Wire:
        cancelled(client, 1)
        call.log("error", "still here")
        with pytest.raises(CallCancelledError):
            call.progress(1)
        return done()

    client = Client(Functions(work=work))
    (job,) = client.ask(call(1, "work", progressToken=1, **LOGS))
    client.calls.run(job)

    assert client.sent == []
    assert len(client.calls) == 0
    assert client.calls.wait_until_idle(0)


@pytest.mark.parametrize("cancelled", [by_notification, by_the_channel])
def test_a_call_that_is_cancelled_before_it_runs_never_reaches_the_provider(
    cancelled: Callable[[Client, int], None],
) -> None:
    """Ours: it may have waited for a thread."""
    ran: list[Call] = []
    client = Client(Functions(work=lambda call: ran.append(call) or done()))
    (job,) = client.ask(call(1, "work"))
    cancelled(client, 1)

    client.calls.run(job)

    assert ran == []
    assert client.sent == []


def test_cancelling_an_unknown_request_does_nothing() -> None:
    """Spec, B-9: it may have been answered already."""
    client = Client(Functions(work=lambda _: done()))
    client.run(call(1, "work"))

    client.calls.cancel(1)
    client.calls.cancel(99)

    assert client.about(1) == [1]


def test_a_late_call_does_not_answer_under_an_id_that_is_used_again() -> None:
    """Spec, B-1: ids are unique among the open requests only."""
    client = Client(Functions(old=lambda _: done("old"), new=lambda _: done("new")))
    (old,) = client.ask(call(1, "old"))
    client.ask(cancel(1))
    (new,) = client.ask(call(1, "new"))

    client.calls.run(old)
    assert client.sent == []
    client.calls.run(new)

    assert client.about(1) == [1]


# A provider that fails.


@pytest.mark.parametrize("problem", [RuntimeError("no luck"), SystemExit("no luck"), KeyboardInterrupt("no luck")])
def test_a_provider_that_raises_is_an_internal_error(
    problem: BaseException, capsys: pytest.CaptureFixture[str]
) -> None:
    """Spec, MS-15: -32603. One line goes to stderr, and the thread lives on."""

    def work(_: Call) -> Wire:
        raise problem

    error = Client(Functions(work=work)).run(call(1, "work"))["error"]

    assert error == {"code": -32603, "message": f"tools/call raised {type(problem).__name__}: no luck"}
    assert capsys.readouterr().err == f"error: {error['message']}\n"


def test_the_front_learns_of_every_internal_error() -> None:
    """Ours: with the exception, outside of the lock; not of what a client did wrong."""
    failures: list[str] = []

    def fail(problem: BaseException) -> Callable[[Call], Wire]:
        def work(_: Call) -> Wire:
            raise problem

        return work

    provider = Functions(
        bug=fail(KeyError("x")),
        wrong=fail(ResultError("an invalid result: 5")),
        odd=lambda _: {"resultType": "odd"},
        refused=fail(RequestError("no")),
        cancelled=fail(CallCancelledError()),
    )
    client = Client(provider, on_failure=lambda what, _: failures.append(f"{what} {len(client.calls)}"))
    for number, name in enumerate(provider.tools):
        client.run(call(number, name))

    assert failures == [
        "tools/call raised KeyError: 'x' 0",
        "tools/call returned an invalid result: 5 0",
        "tools/call returned an invalid result: answered with a result of the unknown type 'odd' 0",
    ]


def test_a_job_that_is_refused_is_an_error_and_does_not_run() -> None:
    """Spec, B-11: the server limits what it takes. One that was cancelled gets no response."""
    ran: list[Call] = []
    client = Client(Functions(work=lambda call: ran.append(call) or done()))
    (job,) = client.ask(call(1, "work"))
    (cancelled,) = client.ask(call(2, "work"))
    client.ask(cancel(2))

    client.calls.refuse(job, "too many")
    client.calls.refuse(cancelled, "too many")

    (response,) = [one.message for one in client.sent]
    assert (response["id"], response["error"]) == (1, {"code": -32603, "message": "too many"})
    assert ran == []
    assert len(client.calls) == 0
    assert client.calls.wait_until_idle(0)
    assert "result" in client.run(call(1, "work"))


def test_a_request_that_the_provider_refuses_is_answered_with_its_error() -> None:
    """Ours: code, text and data are the provider's."""

    def work(_: Call) -> Wire:
        raise RequestError("not there", RESOURCE_NOT_FOUND, {"uri": "x"})

    client = Client(Functions(work=work))
    client.run(initialize())

    response = client.run(plain(1, "tools/call", {"name": "work"}))

    assert response["error"] == {"code": RESOURCE_NOT_FOUND, "message": "not there", "data": {"uri": "x"}}


def test_a_provider_that_stops_a_call_that_was_not_cancelled_is_answered_with_an_error() -> None:
    """Ours: its client still waits."""

    def work(_: Call) -> Wire:
        raise CallCancelledError

    assert Client(Functions(work=work)).run(call(1, "work"))["error"]["code"] == -32603


def test_a_result_that_the_specification_does_not_allow_is_answered_with_what_is_wrong() -> None:
    """Spec, MS-5 and MS-15: an internal error; no client is left with something that it cannot read."""

    def work(_: Call) -> Wire:
        raise ResultError("an invalid result: content[0] is not a content block, which has a type")

    client = Client(Functions(work=work, odd=lambda _: {"content": [], "resultType": "odd"}))

    assert client.run(call(1, "work"))["error"] == {
        "code": -32603,
        "message": "tools/call returned an invalid result: content[0] is not a content block, which has a type",
    }
    assert client.run(call(2, "odd"))["error"] == {
        "code": -32603,
        "message": "tools/call returned an invalid result: answered with a result of the unknown type 'odd'",
    }


@pytest.mark.parametrize("result", ["text", [], {"_meta": "no object"}])
def test_an_invalid_result_is_answered_with_an_error(result: Any) -> None:
    """Ours: its client still waits, and the messages of others are none the worse."""
    client = Client(Functions(work=lambda _: result, good=lambda _: done()))

    response = client.run(call(1, "work"))

    assert response["error"]["code"] == -32603
    assert response["error"]["message"].startswith("tools/call returned an invalid result: ")
    assert client.about(1) == [1]
    assert "result" in client.run(call(2, "good"))


def test_a_batch_with_an_invalid_result_is_answered_completely() -> None:
    """Spec 2025-03-26: one array, in which the one response is an error."""
    client = Client(Functions(work=lambda _: "text", good=lambda _: done()))
    client.run(initialize("2025-03-26"))

    responses = client.run([plain(1, "tools/call", {"name": "work"}), plain(2, "tools/call", {"name": "good"})])

    assert [sorted(response) for response in responses] == [["error", "id", "jsonrpc"], ["id", "jsonrpc", "result"]]


def test_a_log_message_that_is_not_json_is_sent_as_its_text() -> None:
    """Ours: a tool may log anything."""

    def work(call: Call) -> Wire:
        call.log("error", {"what": object})
        return done()

    client = Client(Functions(work=work))
    client.run(call(1, "work", **LOGS))

    (log, _) = [one.message for one in client.sent]
    assert isinstance(log, dict)
    assert log["params"] == {"level": "error", "logger": "work", "data": "{'what': <class 'object'>}"}


# Changes.


def test_a_change_is_described_and_announced_while_a_call_runs() -> None:
    """Spec: list_changed for what is declared. Ours: the call that runs ends as it began."""
    provider = Functions()
    client = Client(provider)

    def work(_: Call) -> Wire:
        provider.replace(one=lambda _: done("one"), two=lambda _: done("two"))
        return done("before")

    provider.tools["work"] = work
    client.run(initialize())

    response = client.run(plain(1, "tools/call", {"name": "work"}))

    assert response["result"]["content"][0]["text"] == "before"
    # It has no resources: nothing is announced of them.
    assert client.about(None) == ["notifications/tools/list_changed"]
    assert client.run({**initialize(), "id": 2})["result"]["serverInfo"]["name"] == "2 tools"
    assert client.run(plain(3, "tools/call", {"name": "two"}))["result"]["content"][0]["text"] == "two"


def test_a_subscription_hears_of_a_change_on_its_own_stream() -> None:
    """Spec, MS-13."""
    provider = Functions()
    client = Client(provider)
    client.ask(stateless("s", "subscriptions/listen", {"notifications": {"toolsListChanged": True}}))

    provider.replace()
    client.calls.close()

    assert client.about("s") == ["notifications/subscriptions/acknowledged", "notifications/tools/list_changed", "s"]


# Asking.

FOLDERS = {"roots": [{"uri": "file:///a", "name": ""}]}
ABLE = {"io.modelcontextprotocol/clientCapabilities": {"roots": {}}}


def able() -> list[Wire]:
    """The opening of a handshake client that has folders."""
    opening = initialize()
    opening["params"]["capabilities"] = {"roots": {}}
    return [opening, {"jsonrpc": "2.0", "method": "notifications/initialized"}]


def answer_of(request_id: object, **members: Any) -> Wire:
    """A response of the client."""
    return {"jsonrpc": "2.0", "id": request_id, **members}


def where(call: Call) -> Wire:
    """A tool that asks for the folders."""
    return done(call.roots()[0].uri)


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        ({"result": FOLDERS}, "file:///a"),
        ({"error": {"code": -1, "message": "no"}}, "refused question '1': no"),
        ({"result": 7}, "refused question '1': "),
    ],
)
def test_a_handshake_client_is_asked_about_the_call_and_answers(answer: Wire, text: str) -> None:
    """Spec 2025-11-25, roots: a request on the call's own stream, while the call waits."""
    entered: list[str] = []

    def work(call: Call) -> Wire:
        try:
            return where(call)
        except QuestionError as problem:
            return done(str(problem))

    provider, sent = Functions(work=work), []

    class Waits(AbstractContextManager[None]):
        def __enter__(self) -> None:
            entered.append("waits")
            # Only now: as when the question has left and another thread reads.
            calls.receive(json.dumps(answer_of(1, **answer)).encode())

        def __exit__(self, *_: object) -> None:
            entered.append("goes on")

    calls = Calls(ServerConnection(provider.describe()), provider, sent.append, waiting=lambda _: Waits())
    for opening in able():
        calls.receive(json.dumps(opening).encode())
    (job,) = calls.receive(json.dumps(plain("c", "tools/call", {"name": "work"})).encode())

    calls.run(job)

    asked, answered = sent[-2:]
    assert (asked.about, asked.message["method"]) == ("c", "roots/list")
    assert text in answered.message["result"]["content"][0]["text"]
    assert entered == ["waits", "goes on"]


def test_a_question_without_an_answer_is_withdrawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """B-8: and cancelled, so that nobody answers what is not needed any more."""
    monkeypatch.setattr(served_call, "ANSWER_SECONDS", 0.01)
    client = Client(Functions(work=where))
    for opening in able():
        client.ask(opening)

    client.run(plain("c", "tools/call", {"name": "work"}))

    assert client.about(1) == ["notifications/cancelled"]
    # One that comes after all is nothing to anybody.
    assert client.ask(answer_of(1, result=FOLDERS)) == []


def test_a_stateless_client_is_asked_by_the_result() -> None:
    """MS-7: the run ends, and the next one has the answer."""
    client = Client(Functions(work=where))
    result: Any = client.run(call(1, "work", **ABLE))["result"]
    assert result["resultType"] == "input_required"

    retry = call(2, "work", **ABLE)
    retry["params"] |= {"requestState": result["requestState"], "inputResponses": {"1": FOLDERS}}

    assert client.run(retry)["result"]["content"][0]["text"] == "file:///a"


def test_a_client_without_the_capability_learns_of_it() -> None:
    """MS-4."""
    client = Client(Functions(work=where))

    assert client.run(call(1, "work"))["error"]["data"] == {"requiredCapabilities": {"roots": {}}}


def test_a_state_that_is_not_ours_is_refused() -> None:
    """MS-9."""
    client = Client(Functions(work=where))
    forged = call(1, "work", **ABLE)
    forged["params"]["requestState"] = "forged"

    assert client.run(forged)["error"] == {"code": INVALID_PARAMS, "message": "invalid requestState"}


# The end.


def test_closing_cancels_what_runs_and_announces_no_more_changes() -> None:
    """Ours: nothing is sent about it, and later changes are not announced."""
    provider = Functions(work=lambda call: call.wait(PATIENCE_SECONDS))
    client = Client(provider)
    client.run(initialize())
    client.sent.clear()
    (job,) = client.ask(plain(1, "tools/call", {"name": "work"}))
    assert not client.calls.wait_until_idle(0)

    client.calls.close()
    client.calls.run(job)
    provider.replace()

    assert client.calls.wait_until_idle(0)
    assert client.sent == []
    client.calls.close()


def test_the_last_response_ends_the_wait_for_it() -> None:
    """Ours: without polling."""
    go = threading.Event()

    def work(_: Call) -> Wire:
        assert go.wait(PATIENCE_SECONDS)
        return done()

    client = Client(Functions(work=work))
    jobs = [*client.ask(call(1, "work")), *client.ask(call(2, "work"))]
    with ThreadPoolExecutor() as threads:
        waiting = threads.submit(client.calls.wait_until_idle, PATIENCE_SECONDS)
        running = [threads.submit(client.calls.run, job) for job in jobs]
        go.set()
        assert waiting.result(PATIENCE_SECONDS)
        for one in running:
            one.result(PATIENCE_SECONDS)


def test_cancelling_the_last_call_ends_the_wait_too() -> None:
    """Ours: nothing is left to wait for."""
    client = Client(Functions())
    client.ask(call(1, "work"))
    client.ask(call(2, "work"))
    with ThreadPoolExecutor() as threads:
        waiting = threads.submit(client.calls.wait_until_idle, PATIENCE_SECONDS)
        client.calls.cancel(1)
        assert not waiting.done()
        client.calls.cancel(2)
        assert waiting.result(PATIENCE_SECONDS)

"""`Calls`, driven directly: no pipe, no thread but the test's own."""

from __future__ import annotations

import asyncio
import json
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

import pytest

from gaia_mcp.asking import Call, CallCancelledError
from gaia_mcp.asking.questions import ListRoots
from gaia_mcp.core.tracing import with_trace
from gaia_mcp.protocol.envelope import read_context
from gaia_mcp.protocol.input_required import QuestionError
from gaia_mcp.protocol.jsonrpc import (
    INVALID_PARAMS,
    INVALID_REQUEST,
    MISSING_CAPABILITY,
    RESOURCE_NOT_FOUND,
    Request,
    classify,
)
from gaia_mcp.protocol.server import Description, ServerConnection
from gaia_mcp.server.calls import Calls
from gaia_mcp.server.provider import Change, Listener, Listeners, RequestError, ResultError
from gaia_mcp.server.tasks import Tasks
from gaia_mcp.store import MemoryStore
from tests.server.talk import Wire, call, cancel, initialize, plain, stateless
from tests.tracing_support import TRACE
from tests.waiting import PATIENCE_SECONDS, wait_until

if TYPE_CHECKING:
    from collections.abc import Callable, Container

    from gaia_mcp.protocol.connection import Outgoing
    from gaia_mcp.server.outcomes import Job

SERVER_INFO = "io.modelcontextprotocol/serverInfo"
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
            {"tools": features, "prompts": features, "resources": {"subscribe": True}, "logging": {}},
        )

    def answer(self, method: str, params: Wire, call: Call) -> Wire:
        """Of any method, that of the tool."""
        found: Wire = self.tools[params["name"]](call)
        return found

    def on_change(self, listener: Listener, wanted: Container[str] = ()) -> Callable[[], None]:
        """As every provider."""
        return self.listeners.add(listener, wanted)

    def replace(self, **tools: Callable[[Call], Any]) -> None:
        """Have other tools from now on."""
        self.tools = tools
        self.listeners.announce(Change(("tools", "resources")))


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


def test_a_request_whose_envelope_has_been_read_is_answered_with_the_present_description() -> None:
    """Ours: over HTTP one `Calls` serves a request after the other, and is not told of changes meanwhile."""
    provider = Functions(work=lambda _: done())
    client = Client(provider, follows=False)
    names = []
    for _ in range(2):
        message = classify(call(1, "work"))
        assert isinstance(message, Request)
        context = read_context(message.params)
        assert not isinstance(context, str)
        for job in client.calls.receive_stateless(message, context, provider.describe()):
            client.calls.run(job)
        sent: Any = client.sent[-1].message
        names.append(sent["result"]["_meta"][SERVER_INFO]["name"])
        provider.replace(work=lambda _: done(), more=lambda _: done())

    assert names == ["1 tools", "2 tools"]


def test_messages_of_concurrent_calls_name_their_request() -> None:
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


def test_calls_can_be_used_from_coroutines() -> None:
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


def test_an_invalid_message_makes_no_job() -> None:
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
def test_a_cancelled_call_stops_and_sends_nothing_more(cancelled: Callable[[Client, int], None]) -> None:
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


def test_a_cancelled_call_does_not_answer_a_later_request_with_its_id() -> None:
    """Spec, B-1: ids are unique among the open requests only."""
    client = Client(Functions(old=lambda _: done("old"), new=lambda _: done("new")))
    (old,) = client.ask(call(1, "old"))
    client.ask(cancel(1))
    (new,) = client.ask(call(1, "new"))

    client.calls.run(old)
    assert client.sent == []
    client.calls.run(new)

    assert client.about(1) == [1]


def test_a_finished_call_sends_nothing_for_a_later_request_with_its_id() -> None:
    """Ours: a tool may have left a thread behind, which reports, logs and asks."""
    client = Client(Functions(old=lambda _: done("old"), new=lambda _: done("new")))
    (old,) = client.ask(call(1, "old", progressToken=1, **LOGS))
    client.calls.run(old)
    client.ask(call(1, "new", progressToken=1, **LOGS))
    client.sent.clear()

    client.calls.report_progress(old.call, 1, None, "")
    client.calls.log(old.call, "error", "late")
    with pytest.raises(QuestionError, match="the call has ended"):
        client.calls.ask(old.call, {"where": ListRoots().question})

    assert client.sent == []


# A provider that fails.


@pytest.mark.parametrize("problem", [RuntimeError("no luck"), SystemExit("no luck"), KeyboardInterrupt("no luck")])
def test_an_exception_of_the_provider_is_an_internal_error(
    problem: BaseException, capsys: pytest.CaptureFixture[str]
) -> None:
    """Spec, MS-15: -32603. One line goes to stderr, and the thread lives on."""

    def work(_: Call) -> Wire:
        raise problem

    error = Client(Functions(work=work)).run(call(1, "work"))["error"]

    assert error == {"code": -32603, "message": f"tools/call raised {type(problem).__name__}: no luck"}
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"error: {error['message']}, at ")


def test_every_internal_error_is_given_to_on_failure() -> None:
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


def test_a_refused_job_is_answered_with_an_error_and_does_not_run() -> None:
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


def test_a_declined_elicitation_is_answered_with_its_message() -> None:
    """Ours: it is not an internal error; the author of the agent finds it in the log."""
    failures = []

    def work(_: Call) -> Wire:
        raise QuestionError("the person declined to answer")

    client = Client(Functions(work=work), on_failure=lambda what, _: failures.append(what))

    response = client.run(call(1, "work"))

    assert response["error"] == {"code": INVALID_REQUEST, "message": "the person declined to answer"}
    assert failures == ["the person declined to answer"]


def test_a_cancellation_error_of_a_call_that_was_not_cancelled_is_an_internal_error() -> None:
    """Ours: its client still waits."""

    def work(_: Call) -> Wire:
        raise CallCancelledError

    assert Client(Functions(work=work)).run(call(1, "work"))["error"]["code"] == -32603


def test_an_invalid_result_is_answered_with_its_validation_error() -> None:
    """Spec, MS-5 and MS-15: an internal error; no client gets a result that it cannot parse."""

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
    """Ours: its client still waits. Other calls are answered."""
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


def test_log_data_that_is_not_json_is_sent_as_a_string() -> None:
    """Ours: a tool may log anything."""

    def work(call: Call) -> Wire:
        call.log("error", {"what": object})
        return done()

    client = Client(Functions(work=work))
    client.run(call(1, "work", **LOGS))

    (log, _) = [one.message for one in client.sent]
    assert isinstance(log, dict)
    assert log["params"] == {"level": "error", "logger": "work", "data": "{'what': <class 'object'>}"}


def test_a_log_message_has_the_name_of_its_logger() -> None:
    """Ours: a tool that passes on what another server logs."""

    def work(call: Call) -> Wire:
        call.log("error", "lost", "database")
        return done()

    client = Client(Functions(work=work))
    client.run(call(1, "work", **LOGS))

    (log, _) = [one.message for one in client.sent]
    assert isinstance(log, dict)
    assert log["params"] == {"level": "error", "logger": "database", "data": "lost"}


# Changes.


def test_a_changed_list_of_tools_is_announced_while_a_call_runs() -> None:
    """Spec: list_changed for what is declared. Ours: the call that runs ends as it began."""
    provider = Functions()
    client = Client(provider)

    def work(_: Call) -> Wire:
        provider.replace(one=lambda _: done("one"), two=lambda _: done("two"))
        return done("before")

    provider.tools["work"] = work
    client.run(initialize())
    client.ask({"jsonrpc": "2.0", "method": "notifications/initialized"})

    response = client.run(plain(1, "tools/call", {"name": "work"}))

    assert response["result"]["content"][0]["text"] == "before"
    # It does not declare that the list of resources may change: nothing is announced of it.
    assert client.about(None) == ["notifications/tools/list_changed"]
    assert client.run({**initialize(), "id": 2})["result"]["serverInfo"]["name"] == "2 tools"
    assert client.run(plain(3, "tools/call", {"name": "two"}))["result"]["content"][0]["text"] == "two"


def test_a_subscription_gets_list_changed_on_its_own_stream() -> None:
    """Spec, MS-13."""
    provider = Functions()
    client = Client(provider)
    client.ask(stateless("s", "subscriptions/listen", {"notifications": {"toolsListChanged": True}}))

    provider.replace()
    client.calls.close()

    assert client.about("s") == ["notifications/subscriptions/acknowledged", "notifications/tools/list_changed", "s"]


def test_an_updated_resource_is_announced_to_its_subscribers_only() -> None:
    """Spec, MS-13: only what was opted into. Ours: the server is not described anew for a resource."""
    provider = Functions()
    client = Client(provider)
    client.ask(stateless("s", "subscriptions/listen", {"notifications": {"resourceSubscriptions": ["a://a"]}}))
    assert "a://a" in provider.listeners
    assert "b://b" not in provider.listeners
    provider.tools["new"] = lambda _: done()

    provider.listeners.announce(Change(uris=("b://b", "a://a")))

    assert client.about("s") == ["notifications/subscriptions/acknowledged", "notifications/resources/updated"]
    assert client.run(stateless(1, "server/discover"))["result"]["_meta"][SERVER_INFO]["name"] == "0 tools"
    provider.listeners.announce(Change(description=True))
    assert client.run(stateless(2, "server/discover"))["result"]["_meta"][SERVER_INFO]["name"] == "1 tools"


def test_a_failing_description_after_a_change_leaves_the_previous_one() -> None:
    """Ours: the description runs an agent's code. Clients are notified of the change, its author of the failure."""
    failures: list[tuple[str, BaseException]] = []

    class Failing(Functions):
        fails = False

        def describe(self) -> Description:
            if self.fails:
                raise RuntimeError("no luck")
            return super().describe()

    provider = Failing()
    client = Client(provider, on_failure=lambda *failure: failures.append(failure))
    client.ask(stateless("s", "subscriptions/listen", {"notifications": {"toolsListChanged": True}}))
    provider.fails = True

    provider.replace(one=lambda _: done())

    assert client.about("s") == ["notifications/subscriptions/acknowledged", "notifications/tools/list_changed"]
    ((text, _),) = failures
    assert text == "describing the server after a change raised RuntimeError: no luck"
    assert client.run(stateless(1, "server/discover"))["result"]["_meta"][SERVER_INFO]["name"] == "0 tools"


def test_1000_closed_connections_leave_no_listener_at_the_provider() -> None:
    """Ours: they share it, for instance over HTTP."""
    provider = Functions()
    clients = [Client(provider) for _ in range(1000)]
    for client in clients:
        client.ask(stateless("s", "subscriptions/listen", {"notifications": {"resourceSubscriptions": ["a://a"]}}))
    provider.listeners.announce(Change(uris=("a://a",)))
    assert all(client.about("s")[1:] == ["notifications/resources/updated"] for client in clients)

    for client in clients:
        client.calls.close()

    assert "a://a" not in provider.listeners
    assert provider.listeners._listeners == {}


def test_a_change_that_arrives_after_closing_is_not_announced() -> None:
    """Ours: it comes from another thread, which may have begun before the end."""
    provider = Functions()
    client = Client(provider)
    client.run(initialize())
    client.ask({"jsonrpc": "2.0", "method": "notifications/initialized"})
    client.sent.clear()
    ((listener, _),) = provider.listeners._listeners.values()

    client.calls.close()
    listener(Change(("tools",)))

    assert client.sent == []


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
def test_a_server_request_is_sent_on_the_stream_of_its_call(answer: Wire, text: str) -> None:
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

        def __exit__(self, *_: object) -> None:
            entered.append("goes on")

    def send(outgoing: Any) -> None:
        sent.append(outgoing)
        if outgoing.message.get("method") == "roots/list":
            entered.append("asked")
            threading.Timer(0, lambda: calls.receive(json.dumps(answer_of(1, **answer)).encode())).start()

    calls = Calls(ServerConnection(provider.describe()), provider, send, waiting=lambda _: Waits())
    for opening in able():
        calls.receive(json.dumps(opening).encode())
    (job,) = calls.receive(json.dumps(plain("c", "tools/call", {"name": "work"})).encode())

    calls.run(job)

    asked, answered = sent[-2:]
    assert (asked.about, asked.message["method"]) == ("c", "roots/list")
    assert text in answered.message["result"]["content"][0]["text"]
    # A call that may not wait does not ask either.
    assert entered == ["waits", "asked", "goes on"]


def test_a_client_may_respond_while_the_request_is_being_sent() -> None:
    """Ours: one in this process does. What has to be sent meanwhile is, after that."""
    sent: list[Any] = []

    def send(outgoing: Outgoing) -> None:
        sent.append(outgoing.message)
        if sent[-1].get("method") == "roots/list":
            calls.receive(json.dumps(plain("meanwhile", "ping")).encode())
            calls.receive(json.dumps(answer_of(1, result=FOLDERS)).encode())
            sent.append("is asked")

    provider = Functions(work=where)
    calls = Calls(ServerConnection(provider.describe()), provider, send)
    for opening in able():
        calls.receive(json.dumps(opening).encode())
    (job,) = calls.receive(json.dumps(plain("c", "tools/call", {"name": "work"})).encode())
    sent.clear()

    calls.run(job)

    assert [one["id"] if one != "is asked" else one for one in sent] == [1, "is asked", "meanwhile", "c"]
    assert sent[-1]["result"]["content"][0]["text"] == "file:///a"


def test_an_unanswered_server_request_is_cancelled() -> None:
    """B-8: so that no person answers a request that is no longer needed."""

    def work(call: Any) -> Wire:
        call.answer_seconds = 0.01
        return where(call)

    client = Client(Functions(work=work))
    for opening in able():
        client.ask(opening)

    client.run(plain("c", "tools/call", {"name": "work"}))

    assert client.about(1) == ["notifications/cancelled"]
    # A late response is ignored.
    assert client.ask(answer_of(1, result=FOLDERS)) == []


def test_a_stateless_call_returns_an_input_required_result() -> None:
    """MS-7: the run ends, and the next one has the answer."""
    client = Client(Functions(work=where))
    result: Any = client.run(call(1, "work", **ABLE))["result"]
    assert result["resultType"] == "input_required"

    retry = call(2, "work", **ABLE)
    retry["params"] |= {"requestState": result["requestState"], "inputResponses": {"1": FOLDERS}}

    assert client.run(retry)["result"]["content"][0]["text"] == "file:///a"


def test_a_missing_client_capability_is_named_in_the_error() -> None:
    """MS-4."""
    client = Client(Functions(work=where))

    assert client.run(call(1, "work"))["error"]["data"] == {"requiredCapabilities": {"roots": {}}}


def test_a_forged_request_state_is_refused() -> None:
    """MS-9."""
    client = Client(Functions(work=where))
    forged = call(1, "work", **ABLE)
    forged["params"]["requestState"] = "forged"

    assert client.run(forged)["error"] == {"code": INVALID_PARAMS, "message": "invalid requestState"}


# The end.


def test_closing_cancels_running_calls_and_ends_announcements() -> None:
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


def test_waiting_for_idle_ends_with_the_last_response() -> None:
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


def test_a_call_that_is_cancelled_on_close_may_clean_up() -> None:
    """Ours: its thread is waited for, which no longer has anything to send."""
    started, go = threading.Event(), threading.Event()

    def work(one: Call) -> Wire:
        started.set()
        try:
            one.wait(PATIENCE_SECONDS)
        finally:
            assert go.wait(PATIENCE_SECONDS)
        return done()

    client = Client(Functions(work=work))
    (job,) = client.ask(call(1, "work"))
    with ThreadPoolExecutor() as threads:
        running = threads.submit(client.calls.run, job)
        assert started.wait(PATIENCE_SECONDS)
        client.calls.close()
        assert not client.calls.wait_until_over(0)
        waiting = threads.submit(client.calls.wait_until_over, PATIENCE_SECONDS)
        go.set()
        assert waiting.result(PATIENCE_SECONDS)
        running.result(PATIENCE_SECONDS)
    assert client.sent == []


def test_waiting_for_idle_ends_when_the_last_call_is_cancelled() -> None:
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


def test_a_parsed_message_is_accepted() -> None:
    """Ours: an HTTP server has read it already, for its headers."""
    client = Client(Functions(t=lambda _: {"content": []}))

    (job,) = client.calls.receive_message(call(1, "t"))
    assert client.calls.is_running(1)
    client.calls.run(job)

    assert not client.calls.is_running(1)
    assert client.calls.receive_message(stateless(2, "server/discover")) == []
    assert client.calls.receive_request(Request(3, "server/discover", stateless(3, "server/discover")["params"])) == []
    assert [outgoing.about for outgoing in client.sent] == [1, 2, 3]


def test_a_job_can_be_refused_with_another_error_code() -> None:
    """Ours: as one whose headers do not agree with it."""
    client = Client(Functions())
    (job,) = client.ask(call(1, "t"))

    client.calls.refuse(job, "no", -32020)

    assert client.sent[-1].message["error"] == {"code": -32020, "message": "no"}


def test_a_call_is_paced_after_each_notification() -> None:
    """Ours: in its own thread, after each message, so that it can wait for a slow client."""
    paced: list[str] = []

    def report(running: Call) -> Any:
        running.progress(1)
        running.log("info", "x")
        return {"content": []}

    client = Client(Functions(t=report), pace=lambda paced_call: paced.append(str(paced_call.request.id)))
    client.run(call(1, "t", progressToken=1, **LOGS))

    assert paced == ["1", "1"]


# Tasks.


class _Working(Functions):
    """Declares the tasks extension."""

    def describe(self) -> Description:
        """Nothing more."""
        return Description({"name": "w", "version": "1"}, {"tools": {}, "prompts": {}, "extensions": _TASKS})


_TASKS = {"io.modelcontextprotocol/tasks": {}}
_ACCEPTS = {"io.modelcontextprotocol/clientCapabilities": {"extensions": _TASKS}}


def _as_task(call: Call) -> Wire:
    assert call.continue_as_task()
    return done()


def test_a_call_is_answered_with_a_task_whose_state_can_be_read() -> None:
    """Extension: the request is answered before the tool has ended, and only once."""
    client = Client(_Working(work=_as_task))

    created = client.run(call(1, "work", **_ACCEPTS))["result"]
    state = client.run(stateless(2, "tasks/get", {"taskId": created["taskId"]}, **_ACCEPTS))["result"]

    assert (created["resultType"], created["status"]) == ("task", "working")
    assert (state["status"], state["result"]["content"]) == ("completed", done()["content"])
    assert (len(client.sent), len(client.calls)) == (2, 0)


def test_cancelling_a_request_that_became_a_task_does_nothing() -> None:
    """Extension: notifications/cancelled must not be used for a task."""
    client = Client(_Working())

    def work(call: Call) -> Wire:
        call.continue_as_task()
        client.ask(cancel(1))
        call.raise_if_cancelled()
        return done()

    client.calls._provider.tools["work"] = work  # type: ignore[attr-defined]
    created = client.run(call(1, "work", **_ACCEPTS))["result"]

    state = client.run(stateless(2, "tasks/get", {"taskId": created["taskId"]}, **_ACCEPTS))["result"]
    assert state["status"] == "completed"


def test_a_task_leaves_its_place_among_the_running_calls() -> None:
    """Ours: while it runs, its thread is beside those that serve."""
    places: list[str] = []

    class Place(AbstractContextManager[None]):
        def __enter__(self) -> None:
            places.append("taken")

        def __exit__(self, *_: object) -> None:
            places.append("left")

    def work(call: Call) -> Wire:
        assert places == []
        call.continue_as_task()
        assert places == ["taken"]
        return done()

    client = Client(_Working(work=work), waiting=lambda _: Place())
    client.run(call(1, "work", **_ACCEPTS))

    assert places == ["taken", "left"]


def test_a_finished_call_cannot_become_a_task() -> None:
    """Ours: the request has its result already."""
    ended, outcomes = threading.Event(), []

    def work(call: Call) -> Wire:
        def later() -> None:
            ended.wait(PATIENCE_SECONDS)
            try:
                call.continue_as_task()
            except CallCancelledError:
                outcomes.append("too late")

        nonlocal thread
        thread = threading.Thread(target=later)
        thread.start()
        return done()

    thread = threading.Thread()
    client = Client(_Working(work=work))
    client.run(call(1, "work", **_ACCEPTS))
    ended.set()
    thread.join(PATIENCE_SECONDS)

    assert outcomes == ["too late"]
    assert len(client.sent) == 1


def test_continue_as_task_returns_false_where_a_task_is_impossible() -> None:
    """Extension: another method, a client that does not accept one, an older revision, and too many of them."""
    returned: list[bool] = []

    def work(call: Call) -> Wire:
        returned.append(call.continue_as_task())
        return {**done(), "messages": []}

    def must(call: Call) -> Wire:
        call.continue_as_task(required=True)
        return done()

    tasks = Tasks(MemoryStore(), max_running=0)
    plain_client = Client(_Working(work=work, must=must))
    plain_client.run(call(1, "work"))
    plain_client.run(stateless(2, "prompts/get", {"name": "work"}, **_ACCEPTS))
    assert plain_client.run(call(3, "must"))["error"]["code"] == MISSING_CAPABILITY
    plain_client.run(initialize())
    assert plain_client.run(plain(4, "tools/call", {"name": "must"}))["result"]["isError"] is False
    full = Client(_Working(work=work, must=must), tasks=tasks)
    full.run(call(1, "work", **_ACCEPTS))
    assert full.run(call(2, "must", **_ACCEPTS))["error"]["message"].startswith("too many tasks")

    assert returned == [False, False, False]


def test_an_invalid_result_of_a_task_is_reported() -> None:
    """Ours: as one that cannot be sent."""
    failures: list[str] = []
    client = Client(
        _Working(work=lambda call: {"content": 5} if call.continue_as_task() else done()),
        on_failure=lambda what, _: failures.append(what),
    )
    client.run(call(1, "work", **_ACCEPTS))

    (failure,) = failures
    assert failure.startswith("tools/call returned an invalid result: ")


def test_closing_cancels_only_the_tasks_of_its_own_connection() -> None:
    """Ours: tasks that were given belong to the server."""
    running: list[Call] = []

    def work(call: Call) -> Wire:
        call.continue_as_task()
        running.append(call)
        call.wait(3600)
        return done()

    shared = Tasks(MemoryStore())
    for count, options in enumerate(({}, {"tasks": shared}), 1):
        client = Client(_Working(work=work), **options)
        (job,) = client.ask(call(1, "work", **_ACCEPTS))
        threading.Thread(target=client.calls.run, args=(job,), daemon=True).start()
        wait_until(lambda count=count: len(running) == count)
        client.calls.close()

    assert [call.is_cancelled for call in running] == [True, False]
    shared.close()
    assert running[1].is_cancelled


def test_the_sealing_key_and_the_tasks_are_created_once_for_all_threads() -> None:
    """Ours: a state that one thread has sealed, and a task that it has started, are known to the others."""
    client = Client(_Working())
    with ThreadPoolExecutor(8) as threads:
        found = list(threads.map(lambda _: (client.calls._sealer, client.calls._tasks), range(8)))

    assert len(set(found)) == 1


def test_a_subscription_to_a_task_is_started_by_a_job() -> None:
    """Extension, notifications/tasks: the store is asked first, in a thread that may block."""
    client = Client(_Working(work=_as_task))
    task = client.run(call(1, "work", **_ACCEPTS))["result"]["taskId"]
    wanted = {"notifications": {"taskIds": [task]}}

    for number in (2, 3):
        (job,) = client.ask(stateless(number, "subscriptions/listen", wanted, **_ACCEPTS))
        if number == 3:
            client.ask(cancel(number))
        client.calls.run(job)

    wait_until(lambda: "notifications/tasks" in client.about(2))
    assert client.about(2) == ["notifications/subscriptions/acknowledged", "notifications/tasks"]
    assert client.about(3) == []
    assert len(client.calls) == 0
    client.calls.close()
    assert client.about(2)[-1] == 2


def test_a_subscription_cancelled_while_the_store_is_read_is_not_started() -> None:
    """Ours: its client expects nothing more about it."""

    class Cancelling(MemoryStore):
        def get(self, name: str) -> bytes | None:
            client.calls.cancel(1)
            return super().get(name)

    client = Client(_Working(), tasks=Tasks(Cancelling()))

    for job in client.ask(stateless(1, "subscriptions/listen", {"notifications": {"taskIds": ["t"]}}, **_ACCEPTS)):
        client.calls.run(job)

    assert client.sent == []
    assert len(client.calls) == 0


def test_a_request_is_answered_in_its_trace(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ours: requests that are sent meanwhile belong to the trace, and those for another request do not."""
    monkeypatch.delitem(sys.modules, "opentelemetry.trace", raising=False)
    seen: list[Any] = []
    client = Client(Functions(look=lambda _: seen.append(with_trace({})) or done()))

    client.run(call(1, "look", **TRACE))
    client.run(call(2, "look"))

    assert seen == [{"_meta": TRACE}, {}]

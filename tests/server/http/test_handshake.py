"""Sessions over HTTP: initialize, POST, GET, DELETE, and streams that are resumed."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

from gaia_mcp.server.agent import AgentProvider
from gaia_mcp.server.http import handshake
from gaia_mcp.server.http.exchange import QUICK_SECONDS
from gaia_mcp.server.http.received import Caller
from gaia_mcp.server.http.workers import Limits
from gaia_mcp.store import MemoryStore
from tests.server.http.asgi import Gate, Tools, app_of, text_of
from tests.server.stores import FailingStore
from tests.server.talk import call, cancel, initialize, plain
from tests.waiting import PATIENCE_SECONDS, Clock, wait_until

if TYPE_CHECKING:
    from tests.server.http.asgi import Server

Serve = Callable[..., "Server"]
THOUGHT = {"role": "assistant", "content": {"type": "text", "text": "aha"}, "model": "m"}


def use(request_id: int | str, tool: str, **meta: Any) -> Any:
    """A `tools/call` of a session."""
    return plain(request_id, "tools/call", {"name": tool, "arguments": {}, "_meta": meta})


def answer(request_id: Any, result: Any) -> Any:
    """The response to a request of the server."""
    return {"jsonrpc": "2.0", "id": request_id, "result": result}


def think(running: Any) -> str:
    thought: str = running.sample("hm").text
    return thought


class Granted:
    """Authorizes every request, with these scopes."""

    def __init__(self, *scopes: str) -> None:
        self.scopes = frozenset(scopes)

    async def authorize(self, _: Any) -> Caller:
        return Caller("ada", self.scopes)


def test_a_queued_call_may_still_be_refused_for_its_scopes(serve: Serve) -> None:
    """Spec, AS-3: with the status 403, so that no stream begins while the call is queued."""
    gate = Gate()
    agent = Tools(gate=gate, secret=lambda _: "never")
    agent.get_mcp_tool_scopes = lambda: {"secret": ["admin"]}  # type: ignore[attr-defined]
    server = serve(app_of(agent, Limits(calls=1, json_seconds=0.0), authorizer=Granted("other")))
    session = server.open_session()
    running = server.send(use(1, "gate"), **session)
    gate.await_entered()

    waiting = server.send(use(2, "secret"), **session)
    assert running.head()["status"] == 200
    wait_until(lambda: server.app.workers.waiting == 1)
    gate.open()

    refused = waiting.reply()
    assert (refused.status, refused.error) == (403, 403)
    assert refused.headers["www-authenticate"] == 'Bearer error="insufficient_scope", scope="admin"'
    assert text_of(running.message()) == "through"


def test_initialize_starts_a_session(serve: Serve) -> None:
    """Spec, DE-1, LS-1."""
    server = serve(Tools(hi=lambda _: "hello"))

    reply = server.send(initialize("2025-06-18")).reply()

    assert (reply.status, reply.json["result"]["protocolVersion"]) == (200, "2025-06-18")
    session = reply.headers["mcp-session-id"]
    assert session.isascii()
    assert session.isprintable()
    answered = server.send(use(1, "hi"), mcp_session_id=session, mcp_protocol_version="2025-06-18").reply()
    assert text_of(answered.json) == "hello"
    assert "mcp-session-id" not in answered.headers


def test_an_invalid_initialize_starts_no_session(serve: Serve) -> None:
    """Spec, LS-1: 400."""
    server = serve(Tools())
    invalid = (
        plain(1, "initialize"),
        {"jsonrpc": "2.0", "method": "initialize"},
        {"jsonrpc": "2.0", "method": "initialize", "id": None},
    )

    for message in invalid:
        reply = server.send(message).reply()
        assert (reply.status, "mcp-session-id" in reply.headers) == (400, False), message
    assert len(server.app.endpoints["/mcp"].sessions) == 0


def test_an_initialize_of_a_client_that_describes_itself_at_length_is_refused(serve: Serve) -> None:
    """Ours: 413, since a session is kept for an hour. What no revision defines is not kept, and may have any size."""
    server = serve(Tools())
    message = initialize()
    message["params"] |= {"more": "x" * 20_000}
    assert server.send(message).reply().status == 200

    message["params"]["capabilities"] = {"experimental": {"x": "y" * 17_000}}
    refused = server.send(message).reply()

    assert (refused.status, refused.json["id"]) == (413, "initialize")
    assert len(server.app.endpoints["/mcp"].sessions) == 1


def test_an_initialize_with_an_unknown_revision_starts_a_session(serve: Serve) -> None:
    """Spec, LS-1: it is answered with a revision of ours."""
    server = serve(Tools())
    reply = server.send(initialize("1999-01-01")).reply()

    assert (reply.status, "mcp-session-id" in reply.headers) == (200, True)
    assert len(server.app.endpoints["/mcp"].sessions) == 1


def test_a_missing_session_is_400_and_an_unknown_one_404(serve: Serve) -> None:
    """Spec 2025-11-25, LS-3: 400 without, 404 for one that is not there."""
    server = serve(Tools())
    session = server.open_session()
    other = server.open_session()
    assert server.ask("DELETE", **session).reply().status == 204

    assert server.send(use(1, "x")).reply().status == 400
    for headers in (session, {"mcp_session_id": "forged"}, {"mcp_session_id": " "}, {"mcp_session_id": "x" * 5000}):
        assert server.send(use(1, "x"), **headers).reply().status == 404
        assert server.ask("GET", accept="*/*", **headers).reply().status == 404
        assert server.ask("DELETE", **headers).reply().status == 404
    assert server.send(plain(1, "ping"), **other).reply().json["result"] == {}


def test_an_unknown_protocol_version_header_is_refused(serve: Serve) -> None:
    """Spec 2025-06-18, LS-4: unknown is 400, absent is fine."""
    server = serve(Tools())
    session = server.open_session()

    assert server.send(plain(1, "ping"), mcp_protocol_version="2031-01-01", **session).reply().status == 400
    assert server.send(plain(1, "ping"), mcp_protocol_version="2025-11-25", **session).reply().status == 200
    assert server.send(plain(1, "ping"), **session).reply().status == 200


def test_notifications_and_responses_are_accepted(serve: Serve) -> None:
    """Spec, LS-3: 202, whatever they are about."""
    server = serve(Tools())
    session = server.open_session()

    for message in (
        {"jsonrpc": "2.0", "method": "notifications/roots/list_changed"},
        {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "unknown"}},
        {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": []}},
        answer(77, {}),
        {"jsonrpc": "2.0", "id": 78, "error": {"code": 1, "message": "no"}},
    ):
        reply = server.send(message, **session).reply()
        assert (reply.status, reply.body) == (202, b"")


def test_an_unknown_method_is_an_error_with_status_200(serve: Serve) -> None:
    """Wire §2.2: only the stateless era has a status for it."""
    server = serve(Tools())

    reply = server.send(plain(1, "no/such"), **server.open_session()).reply()

    assert (reply.status, reply.error) == (200, -32601)


def test_an_invalid_message_is_refused(serve: Serve) -> None:
    """JSON-RPC 2.0: as an invalid request. A batch is valid in one revision only."""
    server = serve(Tools())
    session = server.open_session()
    invalid = ([], 7, {"jsonrpc": "2.0", "id": [], "method": "ping"}, {"id": 3, "method": "m"})
    replies = [(message, server.send(message, **session).reply()) for message in invalid]

    assert [(message, reply) for message, reply in replies if (reply.status, reply.error) != (400, -32600)] == []


def test_a_batch_is_answered_by_one_array(serve: Serve) -> None:
    """Spec 2025-03-26, LC-9: and only there."""
    server = serve(Tools(hi=lambda _: "hello"))
    old, new = server.open_session("2025-03-26"), server.open_session("2025-06-18")
    batch = [plain(1, "ping"), use("b", "hi"), {"jsonrpc": "2.0", "method": "notifications/x"}]

    reply = server.send(batch, **old).reply()

    assert {each["id"] for each in reply.json} == {1, "b"}
    assert server.send(batch, **new).reply().status == 400
    assert server.send([{"jsonrpc": "2.0", "method": "notifications/x"}], **old).reply().status == 202
    assert server.send([plain(1, "ping"), plain(1, "ping")], **old).reply().status == 400
    assert server.send([plain(1, "ping"), 7], **old).reply().status == 400


def test_progress_is_sent_on_the_stream_of_its_call(serve: Serve) -> None:
    """Spec 2025-11-25: with ids to resume after, and an event without data first."""

    def report(running: Any) -> str:
        running.progress(1)
        return "done"

    server = serve(Tools(report=report))
    new, old = server.open_session(), server.open_session("2025-06-18")

    reply = server.send(use(1, "report", progressToken=1), **new).reply()
    earlier = server.send(use(1, "report", progressToken=1), **old).reply()

    assert reply.body.startswith(b"id: ")
    assert b"\nretry: 1000\ndata: \n\n" in reply.body
    assert [each.get("method", "answer") for each in reply.messages] == ["notifications/progress", "answer"]
    assert all(event.id for event in reply.events)
    # Older clients take an event without data for a message.
    assert earlier.body.startswith(b"event: message\n")
    assert len(earlier.messages) == 2


def test_a_server_request_is_sent_on_the_stream_of_its_call(serve: Serve) -> None:
    """Spec, server requests: the answer comes with a POST of its own."""
    server = serve(Tools(think=think))
    session = server.open_session(capabilities={"sampling": {}})
    asked = server.send(use(1, "think"), **session)
    question = asked.message()

    assert question["method"] == "sampling/createMessage"
    assert server.send(answer(question["id"], THOUGHT), **session).reply().status == 202
    assert text_of(asked.message()) == "aha"
    assert asked.ends()


def test_a_withdrawn_server_request_is_cancelled_on_its_stream(serve: Serve) -> None:
    """Spec, B-9."""

    def both(running: Any) -> str:
        from gaia_mcp.asking.questions import ListRoots, Sample

        try:
            running.ask_all(Sample("hm"), ListRoots())
        except Exception:
            return "refused"
        return "answered"

    server = serve(Tools(both=both))
    session = server.open_session(capabilities={"sampling": {}, "roots": {}})
    asked = server.send(use(1, "both"), **session)
    first, second = asked.message(), asked.message()

    refusal = {"jsonrpc": "2.0", "id": first["id"], "error": {"code": -1, "message": "no"}}
    server.send(refusal, **session).reply()

    withdrawn = asked.message()
    assert (withdrawn["method"], withdrawn["params"]["requestId"]) == ("notifications/cancelled", second["id"])
    assert text_of(asked.message()) == "refused"


def test_a_cancelled_call_ends_its_stream_without_a_response(serve: Serve) -> None:
    """Spec, cancellation: by notification, on any POST."""
    began, cancelled = threading.Event(), threading.Event()

    def wait(running: Any) -> None:
        running.on_cancel(cancelled.set)
        running.progress(1)
        began.set()
        running.wait(PATIENCE_SECONDS * 4)

    server = serve(Tools(wait=wait))
    session = server.open_session()
    loud, silent = server.send(use(1, "wait", progressToken=1), **session), server.send(use(2, "wait"), **session)
    loud.message()

    assert server.send(cancel(1), **session).reply().status == 202
    assert loud.ends()
    assert cancelled.wait(PATIENCE_SECONDS)
    assert began.wait(PATIENCE_SECONDS)
    assert server.send(cancel(2), **session).reply().status == 202
    # What was not a stream yet becomes one, with nothing in it.
    assert silent.reply().messages == []


def test_a_disconnect_cancels_nothing_and_the_stream_can_be_resumed(serve: Serve) -> None:
    """Spec 2025-11-25, LS-7, resumability: by GET with the id of the last event that was seen."""
    gate = Gate()

    def work(running: Any) -> str:
        running.progress(1)
        gate()
        running.progress(2)
        return "done"

    server = serve(Tools(work=work))
    session = server.open_session()
    asked = server.send(use(1, "work", progressToken=1), **session)
    seen = asked.event()
    gate.await_entered()
    asked.leave()
    asked.end()

    resumed = server.ask("GET", accept="text/event-stream", last_event_id=seen.id, **session)
    gate.open()

    assert resumed.message()["params"]["progress"] == 2
    last = resumed.event()
    assert b"done" in last.data
    assert resumed.ends()
    again = server.ask("GET", accept="text/event-stream", last_event_id=seen.id, **session).reply()
    assert [each.get("id") for each in again.messages] == [None, 1]


def test_a_client_resumes_a_stream_that_its_call_has_closed(serve: Serve) -> None:
    """Spec 2025-11-25, resumability: the connection ends after an event with an id, and the stream does not."""
    gate = Gate()

    def work(running: Any) -> str:
        running.close_stream()
        gate()
        running.progress(1)
        return "done"

    server = serve(Tools(work=work), Limits(json_seconds=0.0))
    session = server.open_session()
    event_id, retry, *others = server.send(use(1, "work", progressToken=1), **session).reply().body.splitlines()
    assert (retry, others) == (b"retry: %d" % handshake.RETRY_MS, [b"data: ", b""])

    last_event_id = event_id.removeprefix(b"id: ").decode()
    resumed = server.ask("GET", accept="text/event-stream", last_event_id=last_event_id, **session)
    gate.open()

    assert resumed.message()["params"]["progress"] == 1
    assert text_of(resumed.message()) == "done"
    assert resumed.ends()


def test_a_stream_closed_after_an_event_is_resumed_from_that_event(serve: Serve) -> None:
    """Spec 2025-11-25, resumability: what was sent before is there; what comes after is for the next connection."""
    gate = Gate()

    def work(running: Any) -> str:
        running.progress(1)
        gate()
        running.close_stream()
        running.wait(0.05)
        return "done"

    server = serve(Tools(work=work))
    session = server.open_session()
    asked = server.send(use(1, "work", progressToken=1), **session)
    seen = asked.event()
    gate.open()

    resumed = server.ask("GET", accept="text/event-stream", last_event_id=seen.id, **session)
    assert text_of(resumed.message()) == "done"


@pytest.mark.parametrize("version", ["2025-06-18", "2025-11-25"])
def test_a_stream_that_cannot_be_resumed_is_not_closed(serve: Serve, version: str) -> None:
    """Ours: one of an older revision gets no event to resume from, nor does any where the store keeps none."""

    def work(running: Any) -> str:
        running.progress(1)
        running.close_stream()
        running.wait(0.2)  # Time for the connection to end, if it were closed.
        return "done"

    store = FailingStore()
    server = serve(app_of(Tools(work=work), store=store))
    session = server.open_session(version)
    if version == "2025-11-25":
        store.failing.add("append")
    assert text_of(server.send(use(1, "work", progressToken=1), **session).reply().messages[-1]) == "done"


def test_a_stream_without_messages_can_be_resumed(serve: Serve) -> None:
    """Spec 2025-11-25: by the id of the event without data."""
    gate = Gate()
    server = serve(Tools(gate=gate), Limits(json_seconds=0.0))
    session = server.open_session()
    asked = server.send(use(1, "gate"), **session)
    event_id = asked.raw().split(b"\n")[0].removeprefix(b"id: ").decode()
    asked.leave()
    asked.end()

    resumed = server.ask("GET", accept="text/event-stream", last_event_id=event_id, **session)
    gate.open()

    assert text_of(resumed.message()) == "through"
    assert resumed.ends()


def test_an_unknown_event_id_is_refused(serve: Serve) -> None:
    """Ours: 400, for 404 would mean that the session is unknown."""
    server = serve(Tools())
    session = server.open_session()
    ids = ("", "x", "0-99", "deadbeef-1", "0-1\n")

    statuses = {each: server.ask("GET", accept="*/*", last_event_id=each, **session).reply().status for each in ids}

    assert statuses == dict.fromkeys(ids, 400)


def test_the_listening_stream_carries_notifications_without_a_request(serve: Serve) -> None:
    """Spec, LS-3, LS-6: on one stream alone; what came while it was broken comes with its resumption."""
    provider = AgentProvider(Tools(), list_changes=True)
    server = serve(app_of(provider))
    session = server.open_session()
    listening = server.ask("GET", accept="text/event-stream", **session)
    listening.head()
    assert b"retry: " in listening.raw()

    provider.replace_agent(Tools())
    seen = listening.event()
    assert b"notifications/tools/list_changed" in seen.data
    listening.leave()
    listening.end()
    provider.replace_agent(Tools())
    resumed = server.ask("GET", accept="text/event-stream", last_event_id=seen.id, **session)

    assert resumed.message()["method"] == "notifications/tools/list_changed"
    newer = server.ask("GET", accept="text/event-stream", last_event_id=seen.id, **session)
    newer.head()
    while resumed._next() != {"type": "http.response.body", "body": b""}:
        pass
    server.loop.call_soon_threadsafe(server.app.end_streams)
    newer.reply()


def test_deleting_a_session_ends_its_calls_and_its_streams(serve: Serve) -> None:
    """Spec, sessions: DELETE."""
    cancelled = threading.Event()

    def wait(running: Any) -> None:
        running.on_cancel(cancelled.set)
        running.progress(1)
        running.wait(PATIENCE_SECONDS * 4)

    server = serve(Tools(wait=wait))
    session = server.open_session()
    listening = server.ask("GET", accept="text/event-stream", **session)
    listening.raw()
    asked = server.send(use(1, "wait", progressToken=1), **session)
    asked.message()

    assert server.ask("DELETE", **session).reply().status == 204

    assert cancelled.wait(PATIENCE_SECONDS)
    assert asked.ends()
    assert listening.ends()


def test_a_get_must_accept_an_event_stream(serve: Serve) -> None:
    """Spec, Streamable HTTP."""
    server = serve(Tools())

    assert server.ask("GET", accept="application/json", **server.open_session()).reply().status == 406


def test_a_duplicate_request_id_is_refused(serve: Serve) -> None:
    """Spec, B-1: on the POST that used it again."""
    gate = Gate()
    server = serve(Tools(gate=gate))
    session = server.open_session()
    first = server.send(use(1, "gate"), **session)
    gate.await_entered()

    again = server.send(use(1, "gate"), **session).reply()

    assert (again.status, again.error, again.json["id"]) == (400, -32600, 1)
    gate.open()
    # By now it may be a stream.
    assert b"through" in first.reply().body


def test_requests_of_a_session_beyond_the_limits_are_refused(serve: Serve) -> None:
    """Ours: 503, and when to come again."""
    gate = Gate()
    server = serve(Tools(gate=gate), Limits(calls=1, waiting_calls=0, streams=1, sessions=1))
    session = server.open_session()
    running = server.send(use(1, "gate"), **session)
    gate.await_entered()
    listening = server.ask("GET", accept="*/*", **session)
    listening.raw()

    # No session is idle, which could be closed for another one.
    for refused in (
        server.send(use(2, "gate"), **session),
        server.ask("GET", accept="*/*", **session),
        server.send(initialize()),
    ):
        reply = refused.reply()
        assert (reply.status, reply.headers["retry-after"]) == (503, "2")
    gate.open()
    assert b"through" in running.reply().body


def test_a_session_whose_calls_ask_and_are_never_answered_does_not_keep_others_from_asking(serve: Serve) -> None:
    """Ours: a session has a part of the places of such calls, and the others the rest."""
    server = serve(Tools(think=think), Limits(asking_calls=4, json_seconds=0.0))
    hostile, victim = (server.open_session(capabilities={"sampling": {}}) for _ in range(2))
    held = server.send(use(1, "think"), **hostile)
    assert held.message()["method"] == "sampling/createMessage"
    assert b"too many calls wait for their clients" in server.send(use(2, "think"), **hostile).reply().body

    asked = server.send(use(1, "think"), **victim)
    server.send(answer(asked.message()["id"], THOUGHT), **victim).reply()

    assert text_of(asked.message()) == "aha"


def ask_to_think(server: Server, session: dict[str, str]) -> tuple[Any, Any]:
    """A call that asks its client, and the event of its question."""
    asked = server.send(use(1, "think"), **session)
    question = asked.event()
    assert b"sampling/createMessage" in question.data
    return asked, question


def test_a_client_that_asks_and_disconnects_gives_its_place_to_one_that_is_there(serve: Serve) -> None:
    """Ours: it may resume the stream, and gets an error then."""
    server = serve(Tools(think=think), Limits(asking_calls=1, json_seconds=0.0))
    gone, there, late = (server.open_session(capabilities={"sampling": {}}) for _ in range(3))
    left, seen = ask_to_think(server, gone)
    assert b"too many calls wait" in server.send(use(1, "think"), **late).reply().body
    left.leave()

    asked, question = ask_to_think(server, there)

    resumed = server.ask("GET", accept="text/event-stream", last_event_id=seen.id, **gone)
    assert resumed.message()["method"] == "notifications/cancelled"
    told = resumed.message()["result"]
    assert (told["isError"], "the client has disconnected" in told["content"][0]["text"]) == (True, True)
    assert b"too many calls wait" in server.send(use(1, "think"), **late).reply().body
    server.send(answer(json.loads(question.data)["id"], THOUGHT), **there).reply()
    assert text_of(asked.message()) == "aha"
    wait_until(lambda: server.app.workers.unfinished == 0)


def test_a_client_that_has_resumed_a_stream_keeps_its_place(serve: Serve) -> None:
    """Spec, RS-2: a disconnect does not end the request."""
    server = serve(Tools(think=think), Limits(asking_calls=1, json_seconds=0.0))
    one, late = (server.open_session(capabilities={"sampling": {}}) for _ in range(2))
    left, question = ask_to_think(server, one)
    left.leave()
    resumed = server.ask("GET", accept="text/event-stream", last_event_id=question.id, **one)
    resumed.head()

    assert b"too many calls wait" in server.send(use(1, "think"), **late).reply().body
    server.send(answer(json.loads(question.data)["id"], THOUGHT), **one).reply()
    assert text_of(resumed.message()) == "aha"


def test_a_client_whose_stream_the_tool_has_closed_keeps_its_place(serve: Serve) -> None:
    """Spec, SEP-1699: the client comes back after the time that it was told."""

    def think_later(running: Any) -> str:
        running.close_stream()
        return think(running)

    server = serve(Tools(think=think_later), Limits(asking_calls=1, json_seconds=0.0))
    one, late = (server.open_session(capabilities={"sampling": {}}) for _ in range(2))
    event_id = server.send(use(1, "think"), **one).reply().body.splitlines()[0].removeprefix(b"id: ").decode()

    assert b"too many calls wait" in server.send(use(1, "think"), **late).reply().body
    resumed = server.ask("GET", accept="text/event-stream", last_event_id=event_id, **one)
    server.send(answer(resumed.message()["id"], THOUGHT), **one).reply()
    assert text_of(resumed.message()) == "aha"


def test_a_call_that_is_cancelled_while_it_waits_for_a_thread_never_runs(serve: Serve) -> None:
    """Ours: its request would stay in memory until its turn."""
    gate, ran = Gate(), threading.Event()
    server = serve(Tools(gate=gate, run=lambda _: ran.set()), Limits(calls=1))
    session = server.open_session()
    running = server.send(use(1, "gate"), **session)
    gate.await_entered()
    server.send(use(2, "run"), **session)
    wait_until(lambda: server.app.workers.waiting == 1)

    server.send(cancel(2), **session).reply()

    assert server.app.workers.waiting == 0
    gate.open()
    assert b"through" in running.reply().body
    assert not ran.is_set()


def test_the_end_of_the_server_ends_the_listening_streams(serve: Serve) -> None:
    """Ours: they would not end by themselves."""
    server = serve(Tools())
    listening = server.ask("GET", accept="*/*", **server.open_session("2025-06-18"))
    assert listening.raw() == b":\n\n"

    server.loop.call_soon_threadsafe(server.app.end_streams)

    assert listening.ends()


def test_a_session_that_cannot_be_saved_does_not_start(serve: Serve) -> None:
    """Ours: 503, and nothing of it is left."""
    server = serve(app_of(Tools(), store=MemoryStore(max_bytes=10)))

    assert server.send(initialize()).reply().status == 503
    assert len(server.app.endpoints["/mcp"].sessions) == 0


# With a store that is shared.


def test_resuming_a_stream_ends_its_first_connection(serve: Serve) -> None:
    """Ours: a message is never sent on two streams, also where another worker resumes it."""
    gate = Gate()

    def work(running: Any) -> str:
        running.progress(1)
        gate()
        running.progress(2)
        return "done"

    store = FailingStore()
    one, two = (serve(app_of(Tools(work=work), store=store)) for _ in range(2))
    session = one.open_session()
    asked = one.send(use(1, "work", progressToken=1), **session)
    seen = asked.event()
    gate.await_entered()

    resumed = two.ask("GET", accept="text/event-stream", last_event_id=seen.id, **session)

    resumed.head()
    assert asked.ends()
    gate.open()
    assert resumed.message()["params"]["progress"] == 2
    assert b"done" in resumed.event().data
    assert resumed.ends()


@pytest.mark.parametrize("version", ["2025-06-18", "2025-11-25"])
def test_resuming_a_request_of_an_ended_worker_gets_an_error(serve: Serve, version: str) -> None:
    """Ours: it would wait for ever otherwise. While the worker lives, it renews its lease."""
    gate = Gate()

    def work(running: Any) -> str:
        running.progress(1)
        gate()
        return "done"

    # A lease expires when this clock moves, and not while the machine is busy.
    clock = Clock()
    store, limits = FailingStore(clock=clock), Limits(beat_seconds=0.02)
    one, two = (serve(app_of(Tools(work=work), limits, store=store)) for _ in range(2))
    session = one.open_session(version)
    asked = one.send(use("a", "work", progressToken=1), **session)
    seen = asked.event()
    gate.await_entered()
    lease = f"worker/{seen.id[:16]}"
    for _ in range(2):
        assert store.remove(lease)
        wait_until(lambda: store.get(lease) is not None)

    one.app.endpoints["/mcp"]._handshake.close()
    wait_until(lambda: all(thread.name != "leases" for thread in threading.enumerate()))
    clock.now += 60
    resumed = two.ask("GET", accept="text/event-stream", last_event_id=seen.id, **session)

    assert resumed.message() == {
        "jsonrpc": "2.0",
        "id": "a",
        "error": {"code": -32603, "message": handshake.HAS_ENDED},
    }
    assert resumed.ends()
    wait_until(lambda: not two.app.endpoints["/mcp"]._handshake._leases._followed)
    gate.open()


@pytest.mark.parametrize("operation", ["renew", "subscribe"])
def test_a_stream_that_cannot_be_saved_still_gets_its_response(serve: Serve, operation: str) -> None:
    """Ours: the call has its response, whatever becomes of the store."""

    def report(running: Any) -> str:
        store.failing.add(operation)
        running.progress(1)
        running.wait(0.1)
        return "done"

    store = FailingStore()
    server = serve(app_of(Tools(report=report), store=store))

    reply = server.send(use(1, "report", progressToken=1), **server.open_session()).reply()

    assert [text_of(each) for each in reply.messages if "result" in each] == ["done"]


def test_a_request_that_needs_a_failing_store_is_503(serve: Serve) -> None:
    """Ours: and the same request is served once it works again."""
    store = FailingStore()
    provider = AgentProvider(Tools(hi=lambda _: "hello"), list_changes=True)
    server = serve(app_of(provider, store=store))
    session = server.open_session()

    def status(operation: str, *requests: Callable[[], Any]) -> list[int]:
        store.failing = {operation}
        found = [each().reply().status for each in requests]
        store.failing = set()
        return found

    def set_level() -> Any:
        return server.send(plain(1, "logging/setLevel", {"level": "error"}), **session)

    def listen() -> Any:
        return server.ask("GET", accept="*/*", **session)

    assert status("replace", lambda: server.send(initialize()), set_level) == [503, 503]
    assert status("get", set_level, listen) == [503, 503]
    assert status("append", listen) == [503]
    assert status("subscribe", listen) == [503]
    assert status("remove", lambda: server.ask("DELETE", **session)) == [503]
    assert set_level().reply().status == 200


def test_the_requests_of_a_session_are_served_by_every_worker(serve: Serve) -> None:
    """Ours: whichever of them the handshake was made with."""
    store = FailingStore()
    one, two = (serve(app_of(Tools(hi=lambda _: "hello"), store=store)) for _ in range(2))
    session = one.open_session()

    for server in (one, two, one, two):
        assert b"hello" in server.send(use(1, "hi"), **session).reply().body
    assert one.ask("DELETE", **session).reply().status == 204
    for server in (one, two):
        assert server.send(use(2, "hi"), **session).reply().status == 404
        assert server.send(use(2, "hi")).reply().status == 400


class Held(FailingStore):
    """Holds each read until its gate is opened, if it has one."""

    gate: Gate | None = None

    def get(self, *given: Any) -> Any:
        if self.gate is not None:
            self.gate()
        return super().get(*given)


def test_no_response_begins_before_the_store_has_answered(serve: Serve) -> None:
    """Ours: its status is not known before, so that no stream begins; other clients are served meanwhile."""
    store = Held()
    # The other call outlasts the time in which a stream would begin.
    tools = Tools(hi=lambda _: "hello", slow=lambda running: running.wait(2 * QUICK_SECONDS) or "slow")
    server = serve(app_of(tools, Limits(json_seconds=0.0), store=store))
    session = server.open_session()
    store.gate = Gate()
    waiting = server.send(use(1, "hi"), **session)
    store.gate.await_entered()

    assert b"slow" in server.stateless(call(1, "slow")).reply().body
    assert not waiting.has_begun
    store.gate.open()

    assert waiting.head()["status"] == 200
    assert b"hello" in waiting.reply().body


def test_a_request_that_waits_for_the_store_on_shutdown_is_refused(serve: Serve) -> None:
    """Ours: 503, as one that comes later."""
    store = Held()
    server = serve(app_of(Tools(hi=lambda _: "hello"), store=store))
    session = server.open_session()
    store.gate = Gate()
    waiting = server.send(use(1, "hi"), **session)
    store.gate.await_entered()
    server.app.close()

    assert server.send(use(2, "hi"), **session).reply().status == 503
    store.gate.open()

    assert waiting.reply().status == 503


def test_a_listening_stream_survives_a_failing_store(serve: Serve) -> None:
    """Ours: it is silent meanwhile."""
    store = FailingStore()
    provider = AgentProvider(Tools(), list_changes=True)
    server = serve(app_of(provider, Limits(keep_alive_seconds=0.01), store=store))
    listening = server.ask("GET", accept="*/*", **server.open_session())
    assert [listening.raw() for _ in range(3)][1:] == [b":\n\n"] * 2
    store.failing = {"read", "renew"}
    assert [listening.raw() for _ in range(3)] == [b":\n\n"] * 3
    store.failing = set()

    provider.replace_agent(Tools())

    assert listening.message()["method"] == "notifications/tools/list_changed"
    listening.leave()
    listening.end()


def test_a_batch_is_limited_and_begins_no_session(serve: Serve) -> None:
    """Ours: 60,000 requests in one body held up all others for half a minute. Spec 2025-03-26: no initialize in it."""
    server = serve(Tools(), Limits(batch=2))
    session = server.open_session("2025-03-26")
    pings = [plain(number, "ping") for number in range(3)]

    replies = [server.send(batch, **session).reply() for batch in (pings, pings[:2], [pings[0], initialize()])]

    assert [reply.status for reply in replies] == [413, 200, 400]


def test_the_id_of_a_request_is_limited(serve: Serve) -> None:
    """Ours: it is stored with the stream of the request."""
    server = serve(Tools())
    session = server.open_session()

    assert server.send(plain("x" * 1000, "ping"), **session).reply().status == 200
    refused = server.send(plain("x" * 1001, "ping"), **session).reply()
    assert (refused.status, b"xxx" in refused.body) == (400, False)


def test_duplicate_ids_in_a_batch_are_refused(serve: Serve) -> None:
    """Spec, B-1: 400. The other messages of a batch reach every worker."""
    server = serve(app_of(Tools(), store=FailingStore()))
    session = server.open_session("2025-03-26")

    reply = server.send([plain(1, "ping"), plain(1, "ping")], **session).reply()

    assert (reply.status, reply.error) == (400, -32600)
    assert server.send([], **session).reply().status == 400
    batch = [plain(1, "ping"), cancel(7), plain(2, "ping")]
    assert [each["id"] for each in server.send(batch, **session).reply().json] == [1, 2]

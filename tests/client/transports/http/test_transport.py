"""A client of a server behind a URL, in both eras and by both transports."""

from __future__ import annotations

import gc
import inspect
import itertools
import json
import linecache
import random
import signal
import sys
import threading
import time
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any

import pytest

from gaia_mcp.client.mcp_client import MCPClient
from gaia_mcp.client.transports.http import channel as channel_module
from gaia_mcp.client.transports.http import worker_connections
from gaia_mcp.client.transports.http.auth import NoAuthorizer, Settings
from gaia_mcp.client.transports.http.auth.grants import Grant, Grants
from gaia_mcp.client.transports.http.auth.oauth import OAuth
from gaia_mcp.client.transports.http.auth.tokens import Identity, Tokens
from gaia_mcp.client.transports.http.transport import HttpTransport
from gaia_mcp.config.entries import read_entry
from gaia_mcp.core.deadline import Deadline
from gaia_mcp.core.errors import (
    AuthorizationError,
    CallCutError,
    CallLateError,
    ConnectError,
    ConnectionLostError,
    SessionExpiredError,
    StatusError,
)
from gaia_mcp.storage.server_cache import ServerCache
from tests.client.transports.http.certificates import Authority, server_context
from tests.client.transports.http.web import (
    EVENT_STREAM,
    Answer,
    Asked,
    Cut,
    Web,
    accepted,
    as_events,
    as_json,
    error,
    event,
    handshake,
    initialized,
    result,
    serving,
)
from tests.client.transports.talk import opened_by
from tests.waiting import ENOUGH_SECONDS, deadline_until, wait_until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path
    from types import FrameType

BAD = {"name": "bad", "inputSchema": {"type": "object", "properties": {"a": {"type": "number", "x-mcp-header": "A"}}}}
INTERRUPTIONS = 100
TOOL = {"name": "t", "inputSchema": {"type": "object", "properties": {"a": {"type": "string", "x-mcp-header": "A"}}}}


def features(asked: Asked) -> Answer:
    """A server that has tools, in either era."""
    method = asked.message.get("method")
    if method == "tools/list":
        return result(asked, tools=[TOOL, BAD])
    if method == "tools/call":
        return result(asked, content=[{"type": "text", "text": asked.message["params"]["name"]}])
    return result(asked)


def stateless(asked: Asked) -> Answer:
    if asked.message.get("method") == "server/discover":
        return result(asked, supportedVersions=["2026-07-28"], capabilities={"tools": {}})
    return features(asked)


def client_of(url: str, **options: Any) -> MCPClient:
    return MCPClient("web", HttpTransport(url, timeout=ENOUGH_SECONDS, **options), timeout=ENOUGH_SECONDS)


def text_of(answer: dict[str, Any]) -> str:
    return str(answer["content"][0]["text"])


def test_a_client_uses_a_stateless_server() -> None:
    """Spec, DE-2 and HC-4: without a handshake; a tool with a malformed annotation is not among its tools."""
    with serving(stateless) as web, client_of(web.url) as client:
        assert client.peer is not None
        assert client.peer.era == "stateless"
        assert [tool.name for tool in client.fetch_tools()] == ["t"]
        (problem,) = client.tool_problems
        assert problem.startswith("tool 'bad' is left out: x-mcp-header 'A' ")
        assert text_of(client.call("t", {"a": "x"})) == "t"
        assert web.asked[-1].headers["mcp-param-a"] == "x"
    assert web.methods() == ["server/discover", "tools/list", "tools/call"]


def test_a_client_uses_a_server_of_the_handshake_era() -> None:
    """Spec, LC-1 and HC-7: there annotations mean nothing."""
    with serving(handshake(features)) as web, client_of(web.url) as client:
        assert client.peer is not None
        assert client.peer.version == "2025-11-25"
        assert [tool.name for tool in client.fetch_tools()] == ["t", "bad"]
        assert text_of(client.call("t", {"a": "x"})) == "t"
        assert "mcp-param-a" not in web.asked[-1].headers
    assert web.methods()[:3] == ["server/discover", "initialize", "notifications/initialized"]


class OldServer:
    """A server of HTTP+SSE at any path. One that is `updated` has no such stream any more, and is stateless."""

    def __init__(self) -> None:
        self.updated: Answer | None = None
        self.streams: list[SimpleQueue[bytes]] = []

    def __call__(self, asked: Asked) -> Answer:
        if asked.method == "GET":
            if self.updated is not None:
                return self.updated
            self.streams.append(SimpleQueue())
            return Answer(200, EVENT_STREAM, self._pieces(self.streams[-1]))  # type: ignore[arg-type]
        if self.updated is not None:
            return stateless(asked)
        if asked.path != "/messages":
            return Answer(405)
        if "id" in asked.message:
            made = initialized(asked) if asked.message["method"] == "initialize" else features(asked)
            self.streams[-1].put(event(json.loads(made.body)))  # type: ignore[arg-type]
        return accepted()

    @staticmethod
    def _pieces(replies: SimpleQueue[bytes]) -> Iterator[bytes]:
        yield b"event: endpoint\ndata: /messages\n\n"
        while piece := replies.get(timeout=ENOUGH_SECONDS):
            yield piece

    def end(self) -> None:
        for replies in self.streams:
            replies.put(b"")


@pytest.fixture
def old() -> Iterator[OldServer]:
    server = OldServer()
    yield server
    server.end()


def test_a_client_falls_back_to_http_and_sse(old: OldServer) -> None:
    """Spec, HC-7: after both eras of Streamable HTTP."""
    with serving(old) as web:
        with client_of(f"{web.origin}/sse") as client:
            assert text_of(client.call("t", {})) == "t"
        assert web.methods()[:3] == ["server/discover", "initialize", "GET"]
        old.end()


def remembering(web: Web, folder: Path, **options: Any) -> MCPClient:
    cache = ServerCache(folder, read_entry("web", {"url": web.url}))
    return MCPClient("web", HttpTransport(web.url, timeout=ENOUGH_SECONDS, **options), era_cache=cache)


def test_the_http_and_sse_transport_is_cached(old: OldServer, tmp_path: Path) -> None:
    """Spec, DE-2: it is asked for its stream at once the next time, and by nothing that it refuses."""
    with serving(old) as web:
        for _ in range(2):
            with remembering(web, tmp_path) as client:
                assert text_of(client.call("t", {})) == "t"
        second = web.methods()[web.methods().index("tools/call") + 1 :]
        assert second == ["GET", "initialize", "notifications/initialized", "tools/call"]
        # What the entry says counts more than what was found out.
        with pytest.raises(StatusError), remembering(web, tmp_path, way="http"):
            pass
        old.end()


@pytest.mark.parametrize(
    "updated",
    [Answer(405), Answer(200, {"Content-Type": "application/json"}, b"{}"), as_events(threading.Event())],
    ids=["refuses", "answers", "is silent"],
)
def test_a_cached_transport_that_no_longer_works_is_replaced(old: OldServer, tmp_path: Path, updated: Answer) -> None:
    """Spec, DE-2: an updated server must not be unreachable until the cache expires."""
    with serving(old) as web:
        with remembering(web, tmp_path) as client:
            client.call("t", {})
        old.updated = updated
        for _ in range(2):
            with remembering(web, tmp_path) as client:
                assert client.peer is not None
                assert client.peer.era == "stateless"
                client.call("t", {})
        # The first time it was found out, the second time known to be wrong, the third time no more believed.
        assert web.methods().count("GET") == 2
        old.end()


def test_a_lost_session_is_renewed_once_for_a_request() -> None:
    """Spec, LC-6: with another `initialize`, and the request sent again: it was not run."""
    sessions: list[str] = []

    def answers(asked: Asked) -> Answer:
        return features(asked) if asked.headers["mcp-session-id"] == sessions[-1] else Answer(404)

    def answer(asked: Asked) -> Answer:
        if asked.message.get("method") == "initialize":
            sessions.append(f"s-{len(sessions)}")
            return initialized(asked, session=sessions[-1])
        return handshake(answers)(asked)

    with serving(answer) as web, client_of(web.url) as client:
        assert text_of(client.call("t", {})) == "t"
        sessions.append("restarted")
        assert text_of(client.call("t", {})) == "t"
        assert web.methods().count("tools/call") == 3

        web.answer = handshake(lambda _: Answer(404))
        with pytest.raises(SessionExpiredError):
            client.call("t", {})
        assert web.methods().count("tools/call") == 5


@pytest.mark.parametrize(
    ("ask", "method"),
    [
        (lambda client: client.check_alive(), "ping"),
        (lambda client: client.set_log_level("info"), "logging/setLevel"),
        (lambda client: client.subscribe_resource("a:b"), "resources/subscribe"),
        (lambda client: client.unsubscribe_resource("a:b"), "resources/unsubscribe"),
    ],
)
def test_a_lost_session_is_renewed_for_every_kind_of_request(ask: Callable[[MCPClient], None], method: str) -> None:
    """Spec, LC-6: as for a request."""
    sessions: list[str] = []

    def answers(asked: Asked) -> Answer:
        return result(asked) if asked.headers["mcp-session-id"] == sessions[-1] else Answer(404)

    def answer(asked: Asked) -> Answer:
        if asked.message.get("method") == "initialize":
            sessions.append(f"s-{len(sessions)}")
            return initialized(asked, "2025-11-25", sessions[-1], "logging", "resources")
        return handshake(answers)(asked)

    with serving(answer) as web, client_of(web.url) as client:
        if method == "resources/unsubscribe":
            client.subscribe_resource("a:b")
        sessions.append("restarted")
        ask(client)
        assert web.methods().count("initialize") == 2
        accepted = [each for each in web.asked if each.message.get("method") == method]
        assert accepted[-1].headers["mcp-session-id"] == sessions[-1]


@pytest.mark.parametrize("answer", [as_events(Cut()), Answer(502), as_events(b": x\n\n")])
def test_a_call_that_may_have_run_is_not_sent_again(answer: Answer) -> None:
    """Ours: the error names the tool, and that it may have run."""
    with serving(lambda asked: answer if asked.message.get("method") == "tools/call" else stateless(asked)) as web:
        with client_of(web.url) as client, pytest.raises(CallCutError) as caught:
            client.call("t", {})
        assert caught.value.tool == "t"
        assert web.methods().count("tools/call") == 1


def test_a_request_of_a_stateless_server_is_not_answered() -> None:
    """Spec, HC-2: one that sends requests all the same breaks the protocol; each POST is one request."""
    sent = {"jsonrpc": "2.0", "id": 9, "method": "ping"}

    def answer(asked: Asked) -> Answer:
        if asked.message.get("method") != "tools/call":
            return stateless(asked)
        return as_events(event(sent), event(json.loads(features(asked).body)))  # type: ignore[arg-type]

    with serving(answer) as web, client_of(web.url) as client:
        assert text_of(client.call("t", {})) == "t"
        client.fetch_tools()
    assert web.methods() == ["server/discover", "tools/call", "tools/list"]
    assert all("id" in asked.message for asked in web.asked)


def test_a_list_whose_response_was_lost_is_requested_again() -> None:
    """Spec, HC-6: under another id, for there is no resumption. A server that fails is not asked again."""
    answers = [as_events(b": x\n\n"), as_events(Cut()), Answer(502)]
    lost: list[Answer] = []

    def answer(asked: Asked) -> Answer:
        return lost.pop() if lost and asked.message.get("method") == "tools/list" else stateless(asked)

    with serving(answer) as web, client_of(web.url) as client:
        for each in answers[:2]:
            lost.append(each)
            assert [tool.name for tool in client.fetch_tools(refresh=True)] == ["t"]
        lost.append(answers[2])
        with pytest.raises(ConnectionLostError):
            client.fetch_tools(refresh=True)
        ids = [asked.message["id"] for asked in web.asked if asked.message["method"] == "tools/list"]
    assert len(ids) == len(set(ids)) == 5


def test_a_refused_call_has_no_hint_that_it_may_have_run() -> None:
    """Ours: after a 4xx it may be sent again."""
    with serving(lambda asked: Answer(413) if asked.message.get("method") == "tools/call" else stateless(asked)) as web:
        with client_of(web.url) as client, pytest.raises(StatusError) as caught:
            client.call("t", {})
        assert caught.value.hint == ""


def test_a_timeout_closes_the_stream() -> None:
    """Spec, HS-4 and B-8: also for one byte at a time."""
    is_sent, never = threading.Event(), threading.Event()

    def pieces() -> Iterator[bytes | threading.Event]:
        yield b":"
        yield b" "
        is_sent.set()
        yield never

    def answer(asked: Asked) -> Answer:
        if asked.message.get("method") != "tools/call":
            return stateless(asked)
        return Answer(200, EVENT_STREAM, pieces())  # type: ignore[arg-type]

    with serving(answer) as web, client_of(web.url) as client:
        with pytest.raises(CallLateError):
            client.call("t", {}, deadline_until(is_sent.is_set))
        wait_until(lambda: bool(web.broken))


def test_a_401_is_reported_with_the_reason() -> None:
    """Ours: the header of the entry is named where it was refused, and not its value."""
    with serving(lambda _: Answer(401)) as web:
        with pytest.raises(AuthorizationError) as caught:
            client_of(web.url, headers={"authorization": "Bearer hunter22"}).open()
        assert caught.value.case == "header"
        with pytest.raises(AuthorizationError) as caught:
            client_of(web.url, authorizer=NoAuthorizer("web")).open()
        assert caught.value.case == "oauth-off"


def test_a_subscription_is_renewed_after_its_stream_has_broken() -> None:
    """Spec, subscriptions: and the lists are read again, for changes are lost meanwhile."""
    listens: list[Asked] = []

    def answer(asked: Asked) -> Answer:
        method = asked.message.get("method")
        if method == "server/discover":
            capabilities = {"tools": {"listChanged": True}}
            return result(asked, supportedVersions=["2026-07-28"], capabilities=capabilities)
        if method == "subscriptions/listen":
            listens.append(asked)
            meta = {"io.modelcontextprotocol/subscriptionId": asked.message["id"]}
            params = {"notifications": {"toolsListChanged": True}, "_meta": meta}
            note = {"jsonrpc": "2.0", "method": "notifications/subscriptions/acknowledged", "params": params}
            return as_events(event(note), broken if len(listens) == 1 else never, Cut())
        return features(asked)

    broken, never = threading.Event(), threading.Event()
    changed = threading.Event()
    with serving(answer) as web, client_of(web.url) as client:
        client.fetch_tools()
        client.on_list_changed = lambda _: changed.set()
        wait_until(lambda: len(listens) == 1)
        broken.set()
        assert changed.wait(ENOUGH_SECONDS)
        client.fetch_tools()
        wait_until(lambda: len(listens) == 2)
        assert web.methods().count("tools/list") == 2


def test_secrets_sent_to_a_server_are_masked() -> None:
    """Ours: a server that repeats it must not show it."""
    headers = {"Authorization": "Bearer hunter22hunter22", "X-Plain": "visible-value"}
    transport = HttpTransport("https://user:secret-word@host/?token=abcdef123456", headers)

    for text in ("hunter22hunter22", "secret-word", "abcdef123456"):
        assert text not in transport.masker().text(f"it is {text}!")
        assert text not in repr(transport)
    assert transport.masker() is transport.masker()
    assert repr(transport).endswith("not connected>")


def test_a_token_is_masked_while_it_is_in_use(tmp_path: Path) -> None:
    """Spec: AC-11: tokens appear in no error and no log."""
    url = "https://host.example/mcp"
    grant = Grant(url, "https://auth.example", "https://auth.example/token", Identity("x"), Tokens("a-token-of-mine"))
    grants = Grants(tmp_path)
    with grants.locked(grant.issuer, grant.resource, Deadline(5)):
        grants.keep(grant)
    authorizer = OAuth("web", url, Settings(), tmp_path)
    transport = HttpTransport(url, authorizer=authorizer)
    assert "token-of" in transport.masker().text("it is a-token-of-mine!")
    authorizer.headers("POST", url, Deadline(5))

    assert "token-of" not in transport.masker().text("it is a-token-of-mine!")
    assert transport.masker() is transport.masker()


def test_a_transport_may_be_used_by_itself() -> None:
    """GAIA: connect, ask, disconnect."""
    with serving(stateless) as web:
        transport = HttpTransport(web.url, timeout=ENOUGH_SECONDS)
        assert transport.connect()
        assert transport.is_connected()
        assert "connected>" in repr(transport)
        opened_by(transport, probe=True, deadline=Deadline(ENOUGH_SECONDS))
        assert transport.send_request("tools/call", {"name": "t"})["result"]["content"]
        transport.disconnect()
        assert not transport.is_connected()
        assert as_json({}).status == 200


def test_the_certificate_files_of_an_entry_are_used_for_tls(tmp_path: Path) -> None:
    """Ours: an authority of its own, and a certificate that the server demands."""
    authority = Authority(tmp_path)
    trusting = {"ssl_verify": authority.file}
    showing = {**trusting, "client_cert": authority.signed("client")}
    with serving(stateless, server_context(authority.signed("web"), client_authority=authority.file)) as web:
        with MCPClient.from_config("web", {"url": web.url, **showing}) as client:
            assert text_of(client.call("t", {})) == "t"
        for entry, case in (({}, "tls-unknown-authority"), (trusting, "tls-client")):
            with pytest.raises(ConnectError) as caught, MCPClient.from_config("web", {"url": web.url, **entry}):
                pass
            assert caught.value.case == case


@pytest.mark.parametrize(("ttl_ms", "requests"), [(0, 2), (60_000, 1)])
def test_a_list_is_requested_again_after_its_ttl(ttl_ms: int, requests: int) -> None:
    """Spec, MC-10: over HTTP there is no other way to know of a change, but for a subscription."""

    def answer(asked: Asked) -> Answer:
        if asked.message.get("method") == "tools/list":
            return result(asked, tools=[TOOL], ttlMs=ttl_ms, cacheScope="private")
        return stateless(asked)

    with serving(answer) as web, client_of(web.url) as client:
        for _ in range(2):
            assert [tool.name for tool in client.fetch_tools()] == ["t"]
        assert web.methods().count("tools/list") == requests


def dialect(asked: Asked) -> Answer:
    """A server of AgentVault's dialect: at `/rpc`, the name of a tool is a method."""
    if asked.path != "/rpc":
        return Answer(404)
    if asked.message["method"] == "t":
        return result(asked, content=[{"type": "text", "text": "t"}])
    return error(asked, -32601, "Method not found", 200)


def test_the_rpc_dialect_is_detected_and_cached(tmp_path: Path) -> None:
    """Ours: where it speaks no MCP. One that speaks neither is reported as it was at first."""
    with serving(dialect) as web:
        cache = ServerCache(tmp_path, read_entry("web", {"url": web.origin}))
        for _ in range(2):
            with MCPClient("web", HttpTransport(web.origin, timeout=ENOUGH_SECONDS), era_cache=cache) as client:
                assert text_of(client.call("t", {})) == "t"
        assert cache.era() == "rpc"
        assert [asked.path for asked in web.asked].count("/") == 3
    with serving(lambda _: Answer(404)) as web, pytest.raises(StatusError):
        client_of(web.origin).open()
    with serving(lambda asked: dialect(asked._replace(path="/rpc"))) as web, client_of(web.url) as client:
        assert text_of(client.call("t", {})) == "t"
        assert {asked.path for asked in web.asked} == {"/mcp"}


def test_a_call_after_a_keyboard_interrupt_at_any_point_succeeds() -> None:
    """Ours: a notebook uses the client again. The caller reads by itself, so that a Ctrl-C may arrive at any point of
    that, and must leave nothing open.
    """

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    chance = random.Random(18)
    interrupted = 0
    before = signal.signal(signal.SIGALRM, interrupt)
    gc.disable()  # An exception in one of its callbacks would be ignored.
    try:
        with serving(stateless) as web, client_of(web.url) as client:
            while interrupted < INTERRUPTIONS:
                began = time.monotonic()
                assert client.call("t", {})["content"][0]["text"] == "t"
                seconds = time.monotonic() - began
                try:
                    signal.setitimer(signal.ITIMER_REAL, max(chance.random() * seconds, 1e-6))
                    client.call("t", {})
                    signal.setitimer(signal.ITIMER_REAL, 0)
                except KeyboardInterrupt:
                    interrupted += 1
            channel = client.transport._channel  # type: ignore[attr-defined]
            wait_until(lambda: not channel._lanes.running())
            assert (channel._begun, channel._requests) == ({}, {})
            assert len(channel._lanes._all) == len(channel._lanes._idle)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        gc.enable()


def test_a_keyboard_interrupt_in_any_line_of_sending_leaves_nothing() -> None:
    """Ours: as above, with and without an open connection that is free."""
    here = [inspect.getsourcefile(module) for module in (channel_module, worker_connections)]
    before = sys.gettrace()
    met = 0

    def count(frame: FrameType, event: str, _: object) -> Callable[..., Any] | None:
        nonlocal met
        if frame.f_code.co_filename not in here:
            return None
        line = linecache.getline(frame.f_code.co_filename, frame.f_lineno)
        # A signal is not handled between the end of a `with` block and the release of its lock.
        if event == "line" and not line.lstrip().startswith("with"):
            met += 1
            if met == step:
                raise KeyboardInterrupt
        return count

    with serving(stateless) as web:
        for step in itertools.count(1):
            client = client_of(web.url)
            sys.settrace(count)
            met = 0
            try:
                client.open()
                client.call("t", {})
            except KeyboardInterrupt:
                pass
            finally:
                sys.settrace(before)
            channel = client.transport._channel  # type: ignore[attr-defined]
            if channel is not None and channel._lanes is not None:
                wait_until(lambda channel=channel: not (channel._requests or channel._begun))
            client.disconnect()
            wait_until(lambda: not [each for each in threading.enumerate() if each.name == "web http"])
            if met < step:
                break
    assert step > 100

"""A server on loopback that answers each HTTP request as a test wants it, and a channel that keeps what arrives."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, NamedTuple

from gaia_mcp.client.transports.http.auth import Authorizer, NoAuthorizer
from gaia_mcp.client.transports.http.channel import LISTEN_AFTER_SECONDS, HttpChannel
from gaia_mcp.client.transports.http.connections import Connections, Endpoint
from gaia_mcp.client.transports.http.wire import Wire
from gaia_mcp.core.deadline import Deadline
from gaia_mcp.protocol import jsonrpc
from gaia_mcp.protocol.connection import Outgoing
from tests.protocol_support import ENVELOPE
from tests.waiting import ENOUGH_SECONDS, PATIENCE_SECONDS, Clock, wait_until

if TYPE_CHECKING:
    import ssl

    from gaia_mcp.core.errors import MCPError
    from gaia_mcp.protocol.jsonrpc import RequestId

Message = dict[str, Any]
# A piece that is longer is not copied to be sent: it would count as memory that the client takes.
LONG_BYTES = 1 << 20
EVENT_STREAM = {"Content-Type": "text/event-stream"}


class Cut:
    """In a body: the connection ends here."""


class Asked(NamedTuple):
    """A request; the names of the headers in lower case."""

    method: str
    path: str
    headers: dict[str, str]
    message: Message


class Answer(NamedTuple):
    """A response. The pieces of a body are sent one by one; at an event the server waits for it."""

    status: int = 200
    headers: Mapping[str, str] = {}
    body: bytes | Sequence[bytes | threading.Event | Cut] = b""


class _Server(ThreadingHTTPServer):
    # More connections may begin at once in a test, and none of them is to be dropped.
    request_queue_size = 512


class Web:
    """The server: `answer` is called for each request, in a thread of its own."""

    def __init__(self, answer: Callable[[Asked], Answer], tls: ssl.SSLContext | None = None) -> None:
        self.answer = answer
        self.asked: list[Asked] = []
        self.ended = threading.Event()
        # Connections that the client has closed while a body was sent.
        self.broken: list[Asked] = []
        web = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def handle_one_request(self) -> None:
                with suppress(OSError):
                    super().handle_one_request()

            def respond(self) -> None:
                record = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                asked = Asked(
                    self.command,
                    self.path,
                    {name.lower(): value for name, value in self.headers.items()},
                    json.loads(record) if record else {},
                )
                web.asked.append(asked)
                answer = web.answer(asked)
                self.send_response(answer.status)
                for name, value in answer.headers.items():
                    self.send_header(name, value)
                if isinstance(answer.body, bytes):
                    if not any(name.lower() == "content-length" for name in answer.headers):
                        self.send_header("Content-Length", str(len(answer.body)))
                    self.end_headers()
                    self.wfile.write(answer.body)
                    return
                self.send_header("Transfer-Encoding", "chunked")
                self.end_headers()
                for piece in answer.body:
                    if isinstance(piece, Cut):
                        self.connection.shutdown(socket.SHUT_RDWR)
                        return
                    if isinstance(piece, bytes) and len(piece) > LONG_BYTES:
                        for part in (b"%x\r\n" % len(piece), piece, b"\r\n"):
                            self.wfile.write(part)
                    elif isinstance(piece, bytes):
                        self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
                    elif not self.await_(piece):
                        web.broken.append(asked)
                        self.close_connection = True
                        return
                self.wfile.write(b"0\r\n\r\n")

            def await_(self, event: threading.Event) -> bool:
                """Whether the event has come before the client has gone, or the server."""
                self.connection.setblocking(False)
                try:
                    while not event.wait(0.01):
                        with suppress(BlockingIOError):
                            if self.connection.recv(1, socket.MSG_PEEK) == b"":
                                return False
                        if web.ended.is_set():
                            return False
                except OSError:
                    return False
                finally:
                    self.connection.setblocking(True)
                return True

            do_GET = do_POST = do_DELETE = respond  # noqa: N815 (the names that it looks for)

            def log_message(self, *_: Any) -> None:
                pass

        self.server = _Server(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.scheme = "http"
        if tls is not None:
            self.scheme = "https"
            self.server.socket = tls.wrap_socket(self.server.socket, server_side=True, do_handshake_on_connect=False)
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.01,))
        self.thread.start()

    @property
    def origin(self) -> str:
        return f"{self.scheme}://127.0.0.1:{self.server.server_address[1]}"

    @property
    def url(self) -> str:
        return f"{self.origin}/mcp"

    def methods(self) -> list[str]:
        """What was asked for: the HTTP method, or that of the message."""
        return [asked.message.get("method", asked.method) for asked in self.asked]

    def close(self) -> None:
        self.ended.set()
        self.server.shutdown()
        self.server.server_close()
        self.thread.join(PATIENCE_SECONDS)


@contextmanager
def serving(answer: Callable[[Asked], Answer], tls: ssl.SSLContext | None = None) -> Iterator[Web]:
    web = Web(answer, tls)
    try:
        yield web
    finally:
        web.close()


class Kept:
    """Keeps what a channel hands over."""

    def __init__(self) -> None:
        self.messages: list[tuple[Any, RequestId | None]] = []
        self.records: list[tuple[bytes, RequestId | None]] = []
        self.failures: list[tuple[RequestId, MCPError]] = []
        self.ends: list[MCPError] = []
        # What ends a call, and the threads on which messages have arrived.
        self.outcomes: SimpleQueue[Any] = SimpleQueue()
        self.threads: list[threading.Thread] = []

    def receive(self, record: bytes, about: RequestId | None = None) -> None:
        self.records.append((record, about))

    def receive_message(self, value: Any, about: RequestId | None = None) -> None:
        self.threads.append(threading.current_thread())
        self.messages.append((value, about))
        if "method" not in value:
            self.outcomes.put(value)

    def request_failed(self, about: RequestId, error: MCPError) -> None:
        self.failures.append((about, error))
        self.outcomes.put(error)

    def channel_ended(self, error: MCPError) -> None:
        self.ends.append(error)
        self.outcomes.put(error)

    def wait(self, count: int = 1) -> None:
        """Until so many things have arrived."""
        wait_until(lambda: len(self.messages) + len(self.failures) + len(self.records) >= count)

    def failure(self) -> MCPError:
        """The only thing that has arrived: why a request failed."""
        self.wait()
        assert self.messages == []
        ((_, error),) = self.failures
        return error

    def message(self) -> Any:
        """The only thing that has arrived: a message."""
        self.wait()
        assert self.failures == []
        ((message, _),) = self.messages
        return message


class Line:
    """A channel to a server, and what has arrived on it."""

    def __init__(
        self,
        url: str,
        way: str | None = None,
        authorizer: Authorizer | None = None,
        listen_after_seconds: float = LISTEN_AFTER_SECONDS,
        **options: Any,
    ) -> None:
        self.kept = Kept()
        endpoint = Endpoint("web", url, **options)
        self.channel = HttpChannel(
            endpoint, authorizer or NoAuthorizer("web"), way, listen_after_seconds=listen_after_seconds
        )

    def start(self) -> Line:
        self.channel.start(self.kept, Deadline(ENOUGH_SECONDS))
        return self

    def send(self, message: Message, deadline: Deadline | None = None, *, cancels: bool = False) -> None:
        outgoing = Outgoing(message, message.get("id"), cancels)
        stage = message.get("method", "a response")
        self.channel.send(outgoing, deadline or Deadline(ENOUGH_SECONDS), stage)

    def ask(self, method: str, request_id: RequestId = 1, **params: Any) -> Kept:
        """Send a request of the stateless era."""
        self.send(jsonrpc.request(request_id, method, {**params, "_meta": ENVELOPE}))
        return self.kept

    def call(self, request_id: RequestId, deadline: Deadline | None = None, **params: Any) -> Any:
        """The outcome of a request of the stateless era that this thread waits for; None if its time was up."""
        deadline = deadline or Deadline(ENOUGH_SECONDS)
        outcomes = self.kept.outcomes = SimpleQueue()
        message = jsonrpc.request(request_id, "tools/call", {"name": "t", **params, "_meta": ENVELOPE})

        def wake() -> None:
            outcomes.put(None)
            self.channel.wake()

        self.channel.ask(Outgoing(message, request_id), deadline, "tools/call 't'")
        deadline.on_cancel(wake)
        return self.channel.wait(outcomes, request_id, deadline)

    def opened(self) -> Line:
        """After a first call, whose connection the next one uses."""
        assert "result" in self.call("first")
        wait_until(lambda: not self.running())
        return self

    def running(self) -> list[Any]:
        """What is not done."""
        assert self.channel._lanes is not None
        return self.channel._lanes.running()


@contextmanager
def line_to(web: Web, way: str | None = None, **options: Any) -> Iterator[Line]:
    """A channel that has been started. At its end nothing of it is left."""
    before = set(threading.enumerate())
    line = Line(web.url, way, **options)
    try:
        yield line.start()
    finally:
        line.channel.close(1.0)
        left = [thread for thread in set(threading.enumerate()) - before if thread.name.endswith(" http")]
        wait_until(lambda: not any(thread.is_alive() for thread in left))


@contextmanager
def talking(answer: Callable[[Asked], Answer], way: str | None = None, **options: Any) -> Iterator[tuple[Web, Line]]:
    with serving(answer) as web, line_to(web, way, **options) as line:
        yield web, line


def connections_to(endpoint: Endpoint) -> Connections:
    return Connections(endpoint, endpoint.context())


def ending_once_asked(web: Web, count: int) -> Deadline:
    """A deadline that has passed once the server has been asked so often, however long that takes."""
    return ending_once(lambda: len(web.asked) >= count)


def ending_once(true: Callable[[], bool]) -> Deadline:
    """A deadline that has passed once something is true, however long that takes."""
    clock = Clock()

    def run_out() -> None:
        wait_until(true)
        clock.now += 2

    threading.Thread(target=run_out).start()
    return Deadline(1, clock=clock)


def new_wire(url: str) -> tuple[Wire, Kept]:
    kept = Kept()
    return Wire(Endpoint("web", url), NoAuthorizer("web"), kept), kept


def always(answer: Answer) -> Callable[[Asked], Answer]:
    """A server that sends this answer to every request."""
    return lambda _: answer


@contextmanager
def noting(row: object) -> Iterator[None]:
    """Names a row of a table in what its check raises."""
    try:
        yield
    except BaseException as problem:
        problem.add_note(f"for {row!r}")
        raise


# Answers.


def as_json(value: Any, status: int = 200, **headers: str) -> Answer:
    return Answer(status, {"Content-Type": "application/json", **headers}, json.dumps(value).encode())


def result(asked: Asked, **value: Any) -> Answer:
    return as_json(jsonrpc.result(asked.message["id"], value))


def error(asked: Asked, code: int, text: str, status: int = 400, **more: Any) -> Answer:
    return as_json(jsonrpc.error(asked.message.get("id"), code, text, **more), status)


def event(message: Message, event_id: str = "") -> bytes:
    given = f"id: {event_id}\n" if event_id else ""
    return f"{given}data: {json.dumps(message)}\n\n".encode()


def as_events(*pieces: bytes | threading.Event | Cut, **headers: str) -> Answer:
    return Answer(200, {**EVENT_STREAM, **headers}, pieces)


def accepted() -> Answer:
    return Answer(202)


def initialized(asked: Asked, revision: str = "2025-11-25", session: str = "s-1", *offers: str) -> Answer:
    capabilities = {offer: {"subscribe": True} for offer in offers or ("tools",)}
    value = {"protocolVersion": revision, "capabilities": capabilities, "serverInfo": {"name": "web"}}
    return as_json(jsonrpc.result(asked.message["id"], value), **({"Mcp-Session-Id": session} if session else {}))


def handshake(answers: Callable[[Asked], Answer], session: str = "s-1") -> Callable[[Asked], Answer]:
    """A server of the handshake era; `answers` answers what is neither its opening nor its end."""

    def answer(asked: Asked) -> Answer:
        method = asked.message.get("method")
        if asked.method != "POST":
            return Answer(405)
        if method == "server/discover":
            return error(asked, -32600, "Missing session ID")
        if method == "initialize":
            return initialized(asked, session=session)
        if method == "notifications/initialized":
            return accepted()
        return answers(asked)

    return answer

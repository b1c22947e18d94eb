"""A model's API on a loopback port. What a request means, and how a reply looks, is the business of a dialect."""

from __future__ import annotations

import json
import threading
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import urlsplit

from tests.model_servers.script import Failure, Never, next_reply

if TYPE_CHECKING:
    from types import TracebackType

    from tests.model_servers.script import Call, Reply, Text

JSON = "application/json"
EVENTS = "text/event-stream"


@dataclass(frozen=True)
class Request:
    """One request that arrived."""

    method: str
    path: str
    headers: dict[str, str]
    body: dict[str, Any]


@dataclass(frozen=True)
class Response:
    """What goes back over HTTP."""

    content: bytes
    content_type: str = JSON
    status: int = 200


class Dialect(Protocol):
    """One model API."""

    def is_turn(self, request: Request) -> bool:
        """Whether it asks for the next turn of a conversation, which the script replies to."""

    def aside(self, request: Request) -> Response | None:
        """The response to a request beside the conversation; None where the API has no such path."""

    def results(self, body: dict[str, Any]) -> list[str]:
        """The texts of the tool results in the conversation, in order."""

    def prompts(self, body: dict[str, Any]) -> list[str]:
        """The texts of the user in the conversation, in order."""

    def offered(self, body: dict[str, Any]) -> list[str]:
        """The names of the tools that the model may call."""

    def model(self, request: Request) -> str:
        """The name of the model that a turn asks."""

    def turn(self, request: Request, reply: Text | Call) -> Response:
        """The next turn of the conversation."""

    def failure(self, failure: Failure) -> Response:
        """An error."""


class ModelServer:
    """Serves a dialect by a script, from its creation to the end of the `with` block.

    `requests` are all that arrived, `turns` those that the script replied to, oldest first.
    """

    def __init__(self, dialect: Dialect, *script: Reply) -> None:
        self.dialect = dialect
        self.requests: list[Request] = []
        self._script = script
        self._is_over = threading.Event()
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                server._handle(self)

            def do_HEAD(self) -> None:
                server._handle(self)

            def do_POST(self) -> None:
                server._handle(self)

            def log_message(self, *_: Any) -> None:
                """Tests read `requests`."""

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.05,), name="model server")
        self._thread.start()

    @property
    def url(self) -> str:
        """The address, without a path."""
        return f"http://127.0.0.1:{self._http.server_port}"

    @property
    def turns(self) -> list[Request]:
        """The requests of the conversation."""
        return [request for request in self.requests if self.dialect.is_turn(request)]

    def prompts(self) -> list[str]:
        """What the user said in the last turn."""
        return self.dialect.prompts(self.turns[-1].body)

    def results(self) -> list[str]:
        """The tool results that came with the last turn."""
        return self.dialect.results(self.turns[-1].body)

    def model(self) -> str:
        """The name of the model that the last turn asked."""
        return self.dialect.model(self.turns[-1])

    def close(self) -> None:
        """Stop, also what never replies."""
        self._is_over.set()
        self._http.shutdown()
        self._thread.join()
        self._http.server_close()

    def __enter__(self) -> ModelServer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _handle(self, handler: BaseHTTPRequestHandler) -> None:
        handler.close_connection = True
        content = handler.rfile.read(int(handler.headers.get("Content-Length", 0)))
        headers = {name.lower(): value for name, value in handler.headers.items()}
        body = json.loads(content) if headers.get("content-type", "").startswith(JSON) and content else {}
        request = Request(handler.command, urlsplit(handler.path).path, headers, body)
        self.requests.append(request)
        response = self._respond(request)
        if response is None:
            self._is_over.wait()
            return
        try:
            handler.send_response(response.status)
            handler.send_header("Content-Type", response.content_type)
            handler.send_header("Content-Length", str(len(response.content)))
            handler.end_headers()
            handler.wfile.write(response.content)
        except OSError:
            return  # An agent that is ended does not wait for its model.

    def _respond(self, request: Request) -> Response | None:
        if not self.dialect.is_turn(request):
            return self.dialect.aside(request) or self.dialect.failure(Failure(404, f"no {request.path} here"))
        reply = next_reply(self._script, self.dialect.results(request.body))
        if isinstance(reply, Never):
            return None
        if isinstance(reply, Failure):
            return self.dialect.failure(reply)
        try:
            return self.dialect.turn(request, reply)
        except LookupError as cause:
            return self.dialect.failure(Failure(400, str(cause)))


def as_json(value: Any, status: int = 200) -> Response:
    """A JSON response."""
    return Response(json.dumps(value).encode(), JSON, status)


def as_events(events: list[tuple[str | None, Any]]) -> Response:
    """A stream of server-sent events: names, or None, and values."""
    parts = []
    for name, value in events:
        parts += [f"event: {name}\n"] if name else []
        parts.append(f"data: {json.dumps(value)}\n\n")
    return Response("".join(parts).encode(), EVENTS)

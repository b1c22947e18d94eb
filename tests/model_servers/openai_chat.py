"""A loopback server of OpenAI's chat completions: it answers from a script, whatever stands in it, and keeps requests.

What a well-behaved model answers is made by `text` and `tool_calls`; a script may hold anything else.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

PATH = "/v1/chat/completions"
USAGE = {"prompt_tokens": 10, "completion_tokens": 2, "total_tokens": 12, "prompt_tokens_details": {"cached_tokens": 4}}


def completion(message: dict[str, Any], finish_reason: str, usage: Any = USAGE) -> dict[str, Any]:
    """A completion with one choice."""
    choice = {"index": 0, "message": {"role": "assistant", **message}, "finish_reason": finish_reason}
    about = {"id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": "scripted"}
    return {**about, "choices": [choice], "usage": usage}


def text(content: str) -> dict[str, Any]:
    """The completion of a model that has come to an end."""
    return completion({"content": content}, "stop")


def tool_call(name: str, arguments: Any, number: int = 1) -> dict[str, Any]:
    """A call as a model asks for it. Arguments that are not text become JSON."""
    given = arguments if isinstance(arguments, str) else json.dumps(arguments)
    return {"id": f"call_{number}", "type": "function", "function": {"name": name, "arguments": given}}


def tool_calls(*calls: dict[str, Any]) -> dict[str, Any]:
    """The completion of a model that wants tools to be called."""
    return completion({"content": None, "tool_calls": list(calls)}, "tool_calls")


class ChatServer:
    """Answers each request with the next of `replies`, or with what a function makes of it; `requests` are those that
    came. The last reply is repeated. A reply that is not a dict is sent as text.
    """

    def __init__(self, replies: Sequence[Any] | Callable[[dict[str, Any]], Any]) -> None:
        self.requests: list[dict[str, Any]] = []
        self.keys: list[str] = []
        self._replies = replies
        chat = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                status, reply = chat._reply(self.path, body, self.headers.get("Authorization", ""))
                data = (json.dumps(reply) if isinstance(reply, dict) else str(reply)).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json" if isinstance(reply, dict) else "text/html")
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *_: Any) -> None:
                """Print nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))

    @property
    def base_url(self) -> str:
        """What a client is given as its `base_url`."""
        return f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def _reply(self, path: str, body: dict[str, Any], key: str) -> tuple[int, Any]:
        if path != PATH:
            return 404, {"error": {"message": f"there is no {path}"}}
        self.requests.append(body)
        self.keys.append(key)
        if callable(self._replies):
            return 200, self._replies(body)
        return 200, self._replies[min(len(self.requests), len(self._replies)) - 1]

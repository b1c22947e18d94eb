"""Anthropic's Messages API, as `claude` uses it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from tests.model_servers.script import INPUT_TOKENS, OUTPUT_TOKENS, Call, offered_name
from tests.model_servers.server import Request, Response, as_events, as_json

if TYPE_CHECKING:
    from tests.model_servers.script import Failure, Text

PATH = "/v1/messages"
# The tool by which `claude` lets its model look for those that a request does not describe.
SEARCH = "ToolSearch"


class AnthropicMessages:
    """`POST /v1/messages`, streamed or whole, and the counting of tokens."""

    def is_turn(self, request: Request) -> bool:
        return request.path == PATH

    def aside(self, request: Request) -> Response | None:
        if request.path == f"{PATH}/count_tokens":
            return as_json({"input_tokens": INPUT_TOKENS})
        # `claude` looks whether the server is there.
        return as_json({}) if request.method == "HEAD" else None

    def results(self, body: dict[str, Any]) -> list[str]:
        found = [block.get("content", "") for block in _blocks(body) if block["type"] == "tool_result"]
        return [_text(content) for content in found if not _is_search(content)]

    def prompts(self, body: dict[str, Any]) -> list[str]:
        return [block["text"] for block in _blocks(body) if block["type"] == "text"]

    def offered(self, body: dict[str, Any]) -> list[str]:
        return [tool["name"] for tool in body.get("tools", [])]

    def model(self, request: Request) -> str:
        return str(request.body["model"])

    def turn(self, request: Request, reply: Text | Call) -> Response:
        body = request.body
        if isinstance(reply, Call):
            # `claude` does not run the tool of an id that it has had.
            number = f"toolu_{len(body['messages'])}"
            block: dict[str, Any] = {"type": "tool_use", "id": number, **self._use(reply, self.offered(body))}
            reason = "tool_use"
        else:
            block, reason = {"type": "text", "text": reply.text}, "end_turn"
        message = {
            "id": "msg_01", "type": "message", "role": "assistant", "model": body["model"], "content": [block],
            "stop_reason": reason, "stop_sequence": None,
            "usage": {"input_tokens": INPUT_TOKENS, "output_tokens": OUTPUT_TOKENS},
        }  # fmt: skip
        return as_events(_streamed(message)) if body.get("stream") else as_json(message)

    def _use(self, call: Call, offered: list[str]) -> dict[str, Any]:
        try:
            return {"name": offered_name(call.name, offered), "input": call.arguments}
        except LookupError:
            if SEARCH not in offered:
                raise
            return {"name": SEARCH, "input": {"query": call.name}}

    def failure(self, failure: Failure) -> Response:
        kind = {401: "authentication_error", 429: "rate_limit_error"}.get(failure.status, "api_error")
        return as_json({"type": "error", "error": {"type": kind, "message": failure.message}}, failure.status)


def _blocks(body: dict[str, Any]) -> list[dict[str, Any]]:
    """The blocks of the user's messages."""
    found: list[dict[str, Any]] = []
    for message in body.get("messages", []):
        if message["role"] == "user":
            content = message["content"]
            found += [{"type": "text", "text": content}] if isinstance(content, str) else content
    return found


def _is_search(content: str | list[dict[str, Any]]) -> bool:
    """Whether a result names tools, which the next request describes."""
    return not isinstance(content, str) and any(block["type"] == "tool_reference" for block in content)


def _text(content: str | list[dict[str, Any]]) -> str:
    return content if isinstance(content, str) else "".join(block.get("text", "") for block in content)


def _streamed(message: dict[str, Any]) -> list[tuple[str | None, Any]]:
    (block,) = message["content"]
    if block["type"] == "text":
        begun, delta = {"type": "text", "text": ""}, {"type": "text_delta", "text": block["text"]}
    else:
        begun = {**block, "input": {}}
        delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
    stop = {"stop_reason": message["stop_reason"], "stop_sequence": None}
    events = [
        {"type": "message_start", "message": {**message, "content": [], "stop_reason": None}},
        {"type": "content_block_start", "index": 0, "content_block": begun},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": stop, "usage": {"output_tokens": OUTPUT_TOKENS}},
        {"type": "message_stop"},
    ]
    return [(event["type"], event) for event in events]

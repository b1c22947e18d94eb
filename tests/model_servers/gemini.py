"""Google's Gemini API, as `gemini` uses it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from tests.model_servers.script import INPUT_TOKENS, OUTPUT_TOKENS, Call, offered_name
from tests.model_servers.server import Request, Response, as_events, as_json

if TYPE_CHECKING:
    from tests.model_servers.script import Failure, Text


class Gemini:
    """`generateContent` and `streamGenerateContent` of any model, and the counting of tokens."""

    def is_turn(self, request: Request) -> bool:
        return request.path.endswith("enerateContent")

    def aside(self, request: Request) -> Response | None:
        return as_json({"totalTokens": INPUT_TOKENS}) if request.path.endswith(":countTokens") else None

    def results(self, body: dict[str, Any]) -> list[str]:
        return [_result(part["functionResponse"]["response"]) for part in _parts(body) if "functionResponse" in part]

    def prompts(self, body: dict[str, Any]) -> list[str]:
        return [part["text"] for part in _parts(body) if "text" in part]

    def offered(self, body: dict[str, Any]) -> list[str]:
        return [each["name"] for tool in body.get("tools", []) for each in tool.get("functionDeclarations", [])]

    def model(self, request: Request) -> str:
        return request.path.rpartition("/")[2].partition(":")[0]

    def turn(self, request: Request, reply: Text | Call) -> Response:
        if isinstance(reply, Call):
            name = offered_name(reply.name, self.offered(request.body))
            number = f"call_{len(self.results(request.body))}"
            part: dict[str, Any] = {"functionCall": {"id": number, "name": name, "args": reply.arguments}}
        else:
            part = {"text": reply.text}
        content = {
            "candidates": [{"index": 0, "content": {"role": "model", "parts": [part]}, "finishReason": "STOP"}],
            "usageMetadata": {
                "promptTokenCount": INPUT_TOKENS, "candidatesTokenCount": OUTPUT_TOKENS,
                "totalTokenCount": INPUT_TOKENS + OUTPUT_TOKENS,
            },
        }  # fmt: skip
        return as_events([(None, content)]) if ":stream" in request.path else as_json(content)

    def failure(self, failure: Failure) -> Response:
        status = {401: "UNAUTHENTICATED", 404: "NOT_FOUND"}.get(failure.status, "INTERNAL")
        return as_json(
            {"error": {"code": failure.status, "message": failure.message, "status": status}}, failure.status
        )


def _parts(body: dict[str, Any]) -> list[dict[str, Any]]:
    """The parts of the user's contents."""
    return [part for content in body.get("contents", []) if content["role"] == "user" for part in content["parts"]]


def _result(response: dict[str, Any]) -> str:
    output = response.get("output", response)
    return output if isinstance(output, str) else json.dumps(output)

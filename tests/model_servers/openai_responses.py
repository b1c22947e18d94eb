"""OpenAI's Responses API, as `codex` uses it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from tests.model_servers.script import INPUT_TOKENS, OUTPUT_TOKENS, Call, offered_name
from tests.model_servers.server import Request, Response, as_events, as_json

if TYPE_CHECKING:
    from tests.model_servers.script import Failure, Text


OUTPUTS = ("custom_tool_call_output", "function_call_output")
# The tool by which `codex` lets the newer of its models call all others, from code that they write in JavaScript.
EXEC = "exec"


class OpenAIResponses:
    """`POST /v1/responses`, streamed."""

    def is_turn(self, request: Request) -> bool:
        return request.path == "/v1/responses"

    def aside(self, request: Request) -> Response | None:
        return as_json({"object": "list", "data": []}) if request.path == "/v1/models" else None

    def results(self, body: dict[str, Any]) -> list[str]:
        items = body.get("input", [])
        return [_text(item["output"]) for item in items if item["type"] in OUTPUTS]

    def prompts(self, body: dict[str, Any]) -> list[str]:
        items = body.get("input", [])
        return [_text(item["content"]) for item in items if item["type"] == "message" and item["role"] == "user"]

    def offered(self, body: dict[str, Any]) -> list[str]:
        return [name for name, _ in _functions(body)]

    def model(self, request: Request) -> str:
        return str(request.body["model"])

    def turn(self, request: Request, reply: Text | Call) -> Response:
        if isinstance(reply, Call):
            number = f"call_{len(self.results(request.body))}"
            call = _call(request.body, reply.name, reply.arguments)
            item: dict[str, Any] = {"id": number, "call_id": number, **call}
        else:
            content = [{"type": "output_text", "text": reply.text, "annotations": []}]
            item = {"type": "message", "id": "msg_01", "role": "assistant", "content": content}
        usage = {
            "input_tokens": INPUT_TOKENS, "input_tokens_details": {"cached_tokens": 0},
            "output_tokens": OUTPUT_TOKENS, "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": INPUT_TOKENS + OUTPUT_TOKENS,
        }  # fmt: skip
        response = {"id": "resp_01", "object": "response"}
        events = [
            {"type": "response.created", "response": {**response, "status": "in_progress", "output": []}},
            {"type": "response.output_item.done", "output_index": 0, "item": {**item, "status": "completed"}},
            {"type": "response.completed", "response": {
                **response, "status": "completed", "output": [item], "usage": usage,
            }},
        ]  # fmt: skip
        return as_events([(event["type"], event) for event in events])

    def failure(self, failure: Failure) -> Response:
        return as_json({"error": {"message": failure.message, "type": "error", "code": None}}, failure.status)


def _call(body: dict[str, Any], name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """The call of the tool whose name ends with `name`. Raises `LookupError`."""
    functions = dict(_functions(body))
    text = json.dumps(arguments)
    try:
        name = offered_name(name, list(functions))
    except LookupError:
        if EXEC not in _of_developer(body):
            raise
        code = (
            f"const tool = ALL_TOOLS.find(each => each.name.endsWith('_{name}')); text(await tools[tool.name]({text}));"
        )
        return {"type": "custom_tool_call", "name": EXEC, "input": code}
    return {"type": "function_call", "name": name, "arguments": text, **functions[name]}


def _of_developer(body: dict[str, Any]) -> list[str]:
    """The names of the tools that stand in a message of the developer."""
    groups = [tool for item in body.get("input", []) if item["type"] == "additional_tools" for tool in item["tools"]]
    return [each["name"] for group in groups for each in group.get("tools", [group])]


def _functions(body: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """The names of the functions, each with what a call of it has to carry beside: the tools of a server are offered
    as a namespace.
    """
    found: list[tuple[str, dict[str, Any]]] = []
    for tool in body.get("tools", []):
        if tool["type"] == "function":
            found.append((tool["name"], {}))
        elif tool["type"] == "namespace":
            found += [(each["name"], {"namespace": tool["name"]}) for each in tool["tools"]]
    return found


def _text(content: str | list[dict[str, Any]]) -> str:
    return content if isinstance(content, str) else "".join(block.get("text", "") for block in content)

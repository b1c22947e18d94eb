"""An OpenAI-compatible endpoint: the request body of a chat completion, and how its response is read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gaia_mcp.contrib.hub.drivers.base import Answer, Request, UnreadableOutputError, context_text, count_of, text_in
from gaia_mcp.text.strict_json import JSONTextError, parse_json

KIND = "endpoint"
DESCRIPTION = "An OpenAI-compatible endpoint"
CAPABILITIES = ("code_generation", "code_analysis", "text_completion", "tool_use")
# The members of a request's `config` that become members of the body.
SETTINGS = frozenset(("frequency_penalty", "max_tokens", "presence_penalty", "seed", "stop", "temperature", "top_p"))


def completions_url(endpoint: str) -> str:
    """The URL for completions of an endpoint such as `http://127.0.0.1:8080/v1`."""
    return f"{endpoint.rstrip('/')}/chat/completions"


def models_url(endpoint: str) -> str:
    """The URL that lists the endpoint's models."""
    return f"{endpoint.rstrip('/')}/models"


def headers(api_key: str) -> dict[str, str]:
    """The headers of every request. An empty key is not sent."""
    return {"Authorization": f"Bearer {api_key}"} if api_key else {}


def messages(request: Request) -> list[dict[str, Any]]:
    """The first messages of the conversation for a request."""
    return [{"role": "user", "content": request.prompt + context_text(request.context)}]


def body(request: Request, conversation: list[dict[str, Any]], tools: list[dict[str, Any]] | None) -> dict[str, Any]:
    """The request body for one completion."""
    found: dict[str, Any] = {"model": request.model, "messages": conversation, **request.settings}
    return {**found, "tools": tools} if tools else found


def completion(status: int, data: bytes) -> dict[str, Any]:
    """The JSON object in a response, not yet checked to be a completion. Raises `UnreadableOutputError`, with the
    endpoint's error if it reports one.
    """
    try:
        value = parse_json(data.decode("utf-8", "replace"))
    except JSONTextError:
        value = None
    if not 200 <= status < 300:
        text = error_text(value) or " ".join(data.decode("utf-8", "replace").split())
        raise UnreadableOutputError(f"answered with HTTP {status}{f': {text}' if text else ''}")
    if not isinstance(value, dict):
        raise UnreadableOutputError("sent a response that is not a JSON object")
    if text := error_text(value):
        raise UnreadableOutputError(f"answered with an error: {text}")
    return value


def model_of(found: Mapping[str, Any]) -> str:
    """The model that a completion names; empty if it names none."""
    return text_in(found, "model")


def answer(content: str, usage: Mapping[str, Any], model: str) -> Answer:
    """The answer of a model to a request, with the total `usage` of its completions."""
    total = count_of(usage.get("total_tokens"))
    if total is None:
        total = count_of(usage.get("prompt_tokens"), usage.get("completion_tokens"))
    return Answer(content, "", total, {"model": model} if model else {})


def error_text(value: Any) -> str:
    """The text of the error in a response; empty without an error."""
    error = value.get("error") if isinstance(value, dict) else None
    if isinstance(error, str):
        return error
    return text_in(error, "message") or ("unknown error" if error else "")

"""The driver of endpoints: the body of a chat completion, and what a response holds."""

from __future__ import annotations

import json

import pytest

from gaia_mcp.agents.hub.drivers import endpoint
from gaia_mcp.agents.hub.drivers.base import Answer, Request, UnreadableOutputError

MESSAGE = {"choices": [{"message": {"role": "assistant", "content": "hi"}}]}


def test_the_body_holds_the_prompt_the_model_and_the_settings() -> None:
    """B4: `config.temperature` and the like are members of the body."""
    request = Request("--hi\n", model="m", settings={"temperature": 0.7})

    body = endpoint.body(request, endpoint.messages(request), None)

    assert body == {"model": "m", "messages": [{"role": "user", "content": "--hi\n"}], "temperature": 0.7}


def test_the_context_follows_the_prompt() -> None:
    """B4."""
    (message,) = endpoint.messages(Request("fix", {"a": 1}))

    assert message["content"].startswith("fix\n\nContext (JSON):\n{")


def test_tools_are_offered_only_where_there_are_some() -> None:
    """A11: no tools means no member for them."""
    request = Request("p", model="m")

    assert "tools" not in endpoint.body(request, [], [])
    assert endpoint.body(request, [], [{"type": "function"}])["tools"] == [{"type": "function"}]


@pytest.mark.parametrize("url", ["http://h/v1", "http://h/v1/"])
def test_completions_and_models_lie_under_the_endpoint(url: str) -> None:
    """Ours: as every OpenAI-compatible server has them."""
    assert endpoint.completions_url(url) == "http://h/v1/chat/completions"
    assert endpoint.models_url(url) == "http://h/v1/models"


def test_only_a_key_makes_a_header() -> None:
    """Ours: a local server needs none."""
    assert endpoint.headers("") == {}
    assert endpoint.headers("k") == {"Authorization": "Bearer k"}


@pytest.mark.parametrize(
    ("usage", "tokens"),
    [
        ({"total_tokens": 9}, 9),
        ({"prompt_tokens": 1, "completion_tokens": 2}, 3),
        ({}, None),
        ({"total_tokens": "9"}, None),
    ],
)
def test_an_answer_has_the_tokens_of_all_completions(usage: dict[str, int], tokens: int | None) -> None:
    """B4."""
    assert endpoint.answer("hi", usage, "m") == Answer("hi", "", tokens, {"model": "m"})
    assert endpoint.answer("hi", usage, "").metadata == {}


def test_a_completion_is_read_with_its_model() -> None:
    """B4."""
    found = endpoint.completion(200, json.dumps({**MESSAGE, "model": "m"}).encode())

    assert (found["choices"], endpoint.model_of(found)) == (MESSAGE["choices"], "m")
    assert endpoint.model_of({"model": 7}) == ""


@pytest.mark.parametrize(
    ("status", "data", "text"),
    [
        (401, b'{"error": {"message": "bad key"}}', "HTTP 401: bad key"),
        (500, b"<html>oops", "HTTP 500: <html>oops"),
        (503, b"", "HTTP 503"),
        (200, b'{"error": "busy"}', "an error: busy"),
        (200, b'{"choices": [{"mess', "not a JSON object"),
        (200, b"[]", "not a JSON object"),
    ],
)
def test_any_other_response_is_an_error_in_the_words_of_the_endpoint(status: int, data: bytes, text: str) -> None:
    """B5."""
    with pytest.raises(UnreadableOutputError) as caught:
        endpoint.completion(status, data)

    assert text in str(caught.value)

"""The driver of endpoints: the body of a chat completion, and the answer that is read from a response."""

from __future__ import annotations

import json

import pytest

from gaia_mcp.contrib.hub.drivers import endpoint
from gaia_mcp.contrib.hub.drivers.base import Answer, Request, UnreadableOutputError

MESSAGE = {"choices": [{"message": {"role": "assistant", "content": "hi"}}]}


def test_the_body_has_the_prompt_the_model_and_the_settings() -> None:
    """B4: `config.temperature` and the like are members of the body."""
    request = Request("--hi\n", model="m", settings={"temperature": 0.7})

    body = endpoint.body(request, endpoint.messages(request), None)

    assert body == {"model": "m", "messages": [{"role": "user", "content": "--hi\n"}], "temperature": 0.7}


def test_the_context_follows_the_prompt() -> None:
    """B4: as JSON, in the same message."""
    (message,) = endpoint.messages(Request("fix", {"a": 1}))

    assert message["content"].startswith("fix\n\nContext (JSON):\n{")


def test_the_body_has_tools_only_if_there_are_any() -> None:
    """A11: no tools means no member for them."""
    request = Request("p", model="m")

    assert "tools" not in endpoint.body(request, [], [])
    assert endpoint.body(request, [], [{"type": "function"}])["tools"] == [{"type": "function"}]


@pytest.mark.parametrize("url", ["http://h/v1", "http://h/v1/"])
def test_the_urls_of_completions_and_models_are_below_the_endpoint(url: str) -> None:
    """Ours: as every OpenAI-compatible server has them."""
    assert endpoint.completions_url(url) == "http://h/v1/chat/completions"
    assert endpoint.models_url(url) == "http://h/v1/models"


def test_an_authorization_header_requires_a_key() -> None:
    """Ours: a local server needs none."""
    assert endpoint.headers("") == {}
    assert endpoint.headers("k") == {"Authorization": "Bearer k"}


def test_an_answer_has_the_tokens_of_all_completions() -> None:
    """B4: the total that the server reports, else the sum of its parts."""
    cases = [
        ({"total_tokens": 9}, 9),
        ({"prompt_tokens": 1, "completion_tokens": 2}, 3),
        ({}, None),
        ({"total_tokens": "9"}, None),
    ]

    wrong = [
        (usage, found)
        for usage, tokens in cases
        if (found := endpoint.answer("hi", usage, "m")) != Answer("hi", "", tokens, {"model": "m"})
    ]

    assert not wrong
    assert endpoint.answer("hi", {}, "").metadata == {}


def test_a_completion_is_read_with_its_model() -> None:
    """B4: servers may answer with another model than the one in the request."""
    found = endpoint.completion(200, json.dumps({**MESSAGE, "model": "m"}).encode())

    assert (found["choices"], endpoint.model_of(found)) == (MESSAGE["choices"], "m")
    assert endpoint.model_of({"model": 7}) == ""


def test_any_other_response_is_an_error_with_the_message_of_the_endpoint() -> None:
    """B5: with the status, so that the user knows whose error it is."""
    cases = [
        (401, b'{"error": {"message": "bad key"}}', "HTTP 401: bad key"),
        (500, b"<html>oops", "HTTP 500: <html>oops"),
        (503, b"", "HTTP 503"),
        (200, b'{"error": "busy"}', "an error: busy"),
        (200, b'{"choices": [{"mess', "not a JSON object"),
        (200, b"[]", "not a JSON object"),
    ]

    wrong = []
    for status, data, text in cases:
        try:
            endpoint.completion(status, data)
        except UnreadableOutputError as error:
            if text not in str(error):
                wrong.append((status, data, text, error))
        else:
            wrong.append((status, data, text, None))

    assert not wrong

"""Server requests as an author writes them, and the answers that are read from a client's results."""

from __future__ import annotations

import asyncio
from contextlib import suppress

import pytest

from gaia_mcp.asking.questions import (
    Accepted,
    AnswerError,
    Asked,
    Cancelled,
    Declined,
    Elicit,
    ElicitURL,
    ListRoots,
    Root,
    Sample,
    Sampled,
)
from gaia_mcp.protocol.input_required import ELICIT, LIST_ROOTS, SAMPLE, QuestionError

FORM = {"type": "object", "properties": {"name": {"type": "string"}}}


def test_a_form_elicitation_is_sent_and_its_result_read() -> None:
    """Spec, elicitation: the three outcomes."""
    asked = Elicit("Who?", FORM)

    assert asked.question == (ELICIT, {"mode": "form", "message": "Who?", "requestedSchema": FORM})
    assert asked.read({"action": "accept", "content": {"name": "Ada"}}) == Accepted({"name": "Ada"})
    assert asked.read({"action": "accept"}) == Accepted({})
    assert asked.read({"action": "decline"}) == Declined()
    assert asked.read({"action": "cancel"}) == Cancelled()


def test_a_url_elicitation_is_sent_and_its_result_read() -> None:
    """Spec, elicitation: accepting means that the person will open it."""
    asked = ElicitURL("Log in", "https://example.com/x")

    assert asked.question == (ELICIT, {"mode": "url", "message": "Log in", "url": "https://example.com/x"})
    assert asked.read({"action": "accept"}) == Accepted(None)
    assert asked.read({"action": "decline"}) == Declined()
    assert asked.read({"action": "cancel"}) == Cancelled()


def test_a_sampling_request_is_sent_and_its_message_read() -> None:
    """Spec, sampling: content is a block or several; only text has text."""
    asked = Sample("Hello?", 5, "Be brief.", {"temperature": 0.5})
    hello = {"role": "user", "content": {"type": "text", "text": "Hello?"}}

    assert asked.question == (
        SAMPLE,
        {"messages": [hello], "maxTokens": 5, "systemPrompt": "Be brief.", "temperature": 0.5},
    )
    text = {"type": "text", "text": "Hi"}
    answer = {"role": "assistant", "content": text, "model": "m", "stopReason": "endTurn"}
    assert asked.read(answer) == Sampled("Hi", [text], "m", "endTurn")
    picture = {"type": "image", "data": "", "mimeType": "image/png"}
    assert asked.read({"role": "assistant", "content": [text, picture, text]}) == Sampled(
        "HiHi", [text, picture, text], "", ""
    )


def test_messages_are_sent_as_they_are_written() -> None:
    """Ours: what the specification has for a conversation can be written as such."""
    message = {"role": "user", "content": [{"type": "text", "text": "x"}]}

    assert Sample([message]).question.params["messages"] == [message]


def test_a_roots_request_is_sent_and_its_result_read() -> None:
    """Spec, roots: a name is optional."""
    roots = ListRoots().read({"roots": [{"uri": "file:///a", "name": "A"}, {"uri": "file:///b"}]})

    assert ListRoots().question == (LIST_ROOTS, {})
    assert roots == [Root("file:///a", "A"), Root("file:///b")]


def test_an_invalid_answer_is_refused() -> None:
    """MS-10: what a client sends is validated before a tool sees it."""
    cases = [
        (Elicit("Who?", FORM), 12345),
        (Elicit("Who?", FORM), {"action": "accept", "content": {"name": 7}}),
        (ElicitURL("Log in", "https://example.com"), {}),
        (Sample("Hello?"), {"role": "assistant"}),
        (ListRoots(), {"roots": "/"}),
    ]

    accepted = []
    for asked, answer in cases:
        with suppress(AnswerError):
            asked.read(answer)
            accepted.append((asked, answer))

    assert not accepted


@pytest.mark.parametrize(("answer", "words"), [(Declined(), "declined"), (Cancelled(), "closed the question")])
def test_the_value_of_a_declined_or_cancelled_elicitation_is_an_error(answer: Declined | Cancelled, words: str) -> None:
    """Ours: the error ends its call with what the person has done."""
    with pytest.raises(QuestionError, match=words):
        answer.value  # noqa: B018


def test_an_answer_can_be_awaited() -> None:
    """Ours: `await call.elicit(…)` has the type that `call.elicit(…)` has."""

    async def use() -> object:
        return await Accepted("x")

    assert asyncio.run(use()) == Accepted("x")


def test_the_base_class_is_not_a_request() -> None:
    """Ours: a base class that asks for nothing is not a question."""
    with pytest.raises(NotImplementedError):
        _ = Asked[object]().question
    with pytest.raises(NotImplementedError):
        Asked[object]()._read({})

"""Answers of a host that are none, and hosts that ask the server back. The rest is in `test_wire`."""

from __future__ import annotations

from typing import Any

import pytest

from gaia_mcp.client.host import DeclinedError, Host
from gaia_mcp.deadline import Deadline
from tests.client.transports.talk import asks, opened
from tests.waiting import wait_until

MESSAGE = {"role": "assistant", "content": {"type": "text", "text": "Yes."}, "model": "m"}
PERSONAL = pytest.mark.parametrize(
    ("method", "member"), [("elicitation/create", "elicit"), ("sampling/createMessage", "sample")]
)


@PERSONAL
@pytest.mark.parametrize("answer", [None, 7, "yes", True, [], [MESSAGE]])
def test_an_answer_that_is_no_object_is_an_error(method: str, member: str, answer: Any) -> None:
    """Spec, JSON-RPC: a result of MCP is an object; ours: an internal error, as for a host that fails."""
    talk = opened(host=Host(**{member: lambda _: answer}))

    talk.arrives(asks(method, "q"))
    wait_until(lambda: talk.sent)

    assert talk.sent[0]["id"] == "q"
    assert talk.sent[0]["error"]["code"] == -32603


@pytest.mark.parametrize("roots", [lambda: None, lambda: 7, lambda: [object()], lambda: 1 / 0])
def test_folders_that_are_none_are_an_error(roots: Any) -> None:
    """Ours: the server hears something."""
    talk = opened(host=Host(roots=roots))

    talk.arrives(asks("roots/list", "q"))
    wait_until(lambda: talk.sent)

    assert talk.sent[0]["error"]["code"] == -32603


def test_a_models_words_are_the_answer() -> None:
    """Spec, sampling."""
    talk = opened(host=Host(sample=lambda params: {**MESSAGE, "model": str(params)}))

    talk.arrives(asks("sampling/createMessage", 5))
    wait_until(lambda: talk.sent)

    assert talk.sent == [{"jsonrpc": "2.0", "id": 5, "result": {**MESSAGE, "model": "{}"}}]


@pytest.mark.parametrize(("said", "heard"), [("not now", "not now"), ("", "declined")])
@PERSONAL
def test_who_declines_is_said_to_have_declined(method: str, member: str, said: str, heard: str) -> None:
    """Spec, sampling: -1 is what a person's refusal is told with."""

    def decline(_: dict[str, Any]) -> dict[str, Any]:
        raise DeclinedError(said)

    talk = opened(host=Host(**{member: decline}))

    talk.arrives(asks(method))
    wait_until(lambda: talk.sent)

    assert talk.sent[0]["error"] == {"code": -1, "message": heard}


@PERSONAL
def test_a_host_may_ask_the_server_before_it_answers(method: str, member: str) -> None:
    """Ours: it has a thread of its own, and reading goes on."""

    def answer(_: dict[str, Any]) -> dict[str, Any]:
        talk.check_alive(Deadline(5))
        return MESSAGE

    talk = opened(host=Host(**{member: answer}))

    talk.arrives(asks(method, "q"))
    wait_until(lambda: len(talk.sent) == 2)

    assert talk.methods() == ["ping", "(answer)"]
    assert talk.sent[1]["result"] == MESSAGE

"""What a server wants to know, or to have done, before a request can go on."""

from __future__ import annotations

from typing import Any

import pytest

from gaia_mcp.client.host import DeclinedError, Host
from gaia_mcp.client.questions import answers, are_opened
from gaia_mcp.deadline import Deadline
from gaia_mcp.errors import CancelledError, PeerError, RemoteProtocolError
from gaia_mcp.protocol.input_required import FIRST
from gaia_mcp.protocol.jsonrpc import URL_REQUIRED

ONE = {"mode": "url", "elicitationId": "1", "url": "https://e.org/", "message": "Sign in"}
TWO = {"url": "https://other.org/"}
ROOTS = {"r": {"method": "roots/list"}}


def refused(data: Any) -> PeerError:
    return PeerError("s", "tools/call", URL_REQUIRED, "sign in", data)


class Person:
    """Gives these answers, and remembers what was asked."""

    def __init__(self, *actions: str) -> None:
        self.actions = list(actions)
        self.asked: list[dict[str, Any]] = []

    def __call__(self, params: dict[str, Any]) -> dict[str, Any]:
        self.asked.append(params)
        return {"action": self.actions.pop(0)}


def test_each_question_gets_the_answer_of_the_host() -> None:
    """Spec, input_required: the responses have the keys of the requests."""
    host = Host(roots=[{"uri": "file:///a"}], elicit=Person("accept"))
    questions = {**ROOTS, "q": {"method": "elicitation/create", "params": {"message": "Well?"}}}

    found = answers("s", host, questions, Deadline(5))
    assert found == {"r": {"roots": [{"uri": "file:///a"}]}, "q": {"action": "accept"}}


def test_what_the_host_did_not_declare_is_a_breach() -> None:
    """Spec, LC-3: a server must not ask for it."""
    deadline = Deadline(5)
    with pytest.raises(RemoteProtocolError, match="sampling/createMessage, which this client did not declare"):
        answers("s", Host(), {"q": {"method": "sampling/createMessage"}}, deadline)
    assert deadline.remaining() <= 5


@pytest.mark.parametrize(("words", "stage"), [("not today", "not today"), ("", "what the server wanted to know")])
def test_who_does_not_want_a_model_to_be_asked_ends_the_request(words: str, stage: str) -> None:
    """Ours: the server cannot be notified, and does not wait."""

    def sample(_: dict[str, Any]) -> dict[str, Any]:
        raise DeclinedError(words)

    with pytest.raises(CancelledError) as caught:
        answers("s", Host(sample=sample), {"q": {"method": "sampling/createMessage"}}, Deadline(5))
    assert caught.value.stage == stage


@pytest.mark.parametrize(
    ("actions", "are_done", "asked"),
    [(("accept", "accept"), True, 2), (("accept", "cancel"), False, 2), (("decline",), False, 1)],
)
def test_the_person_is_asked_about_each_url(actions: tuple[str, ...], are_done: bool, asked: int) -> None:
    """Ours: the request is repeated once all are opened; after a no the others are not asked about."""
    person = Person(*actions)

    assert are_opened(Host(elicit=person), refused({"elicitations": [ONE, TWO]}), Deadline(5)) is are_done
    wanted = [{**ONE, "_meta": {FIRST: True}}, {**TWO, "mode": "url", "_meta": {FIRST: True}}]
    assert person.asked == wanted[:asked]


def test_without_a_person_or_a_url_nothing_is_opened() -> None:
    """Ours."""
    assert are_opened(Host(), refused({"elicitations": [ONE]}), Deadline(5)) is False
    assert are_opened(Host(elicit=Person()), refused(None), Deadline(5)) is False

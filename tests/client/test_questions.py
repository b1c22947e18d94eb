"""Input that a server requires before it completes a request."""

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


def test_each_input_request_gets_the_response_of_the_host() -> None:
    """Spec, input_required: the responses have the keys of the requests."""
    host = Host(roots=[{"uri": "file:///a"}], elicit=Person("accept"))
    questions = {**ROOTS, "q": {"method": "elicitation/create", "params": {"message": "Well?"}}}

    found = answers("s", host, questions, Deadline(5))
    assert found == {"r": {"roots": [{"uri": "file:///a"}]}, "q": {"action": "accept"}}


def test_an_undeclared_input_request_is_a_protocol_error() -> None:
    """Spec, LC-3: a server must not request it."""
    deadline = Deadline(5)
    with pytest.raises(RemoteProtocolError, match="sampling/createMessage, which this client did not declare"):
        answers("s", Host(), {"q": {"method": "sampling/createMessage"}}, deadline)
    assert deadline.remaining() <= 5


@pytest.mark.parametrize(("reason", "stage"), [("not today", "not today"), ("", "what the server wanted to know")])
def test_declined_sampling_cancels_the_request(reason: str, stage: str) -> None:
    """Ours: the server cannot be notified, and does not wait."""

    def sample(_: dict[str, Any]) -> dict[str, Any]:
        raise DeclinedError(reason)

    with pytest.raises(CancelledError) as caught:
        answers("s", Host(sample=sample), {"q": {"method": "sampling/createMessage"}}, Deadline(5))
    assert caught.value.stage == stage


@pytest.mark.parametrize(
    ("actions", "are_done", "asked"),
    [(("accept", "accept"), True, 2), (("accept", "cancel"), False, 2), (("decline",), False, 1)],
)
def test_the_user_is_asked_about_each_url_until_one_is_refused(
    actions: tuple[str, ...], are_done: bool, asked: int
) -> None:
    """Ours: the request is repeated once all are opened; after a refusal the others are not shown."""
    person = Person(*actions)

    assert are_opened(Host(elicit=person), refused({"elicitations": [ONE, TWO]}), Deadline(5)) is are_done
    wanted = [{**ONE, "_meta": {FIRST: True}}, {**TWO, "mode": "url", "_meta": {FIRST: True}}]
    assert person.asked == wanted[:asked]


def test_nothing_is_opened_without_a_user_or_a_url() -> None:
    """Ours: the caller gets the server's error, since a repeated request would be refused again."""
    assert are_opened(Host(), refused({"elicitations": [ONE]}), Deadline(5)) is False
    assert are_opened(Host(elicit=Person()), refused(None), Deadline(5)) is False

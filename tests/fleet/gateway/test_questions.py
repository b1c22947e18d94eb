"""The requests of a server that does not say which call they belong to, each answered through an open call."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

import pytest

from gaia_mcp import MCPAgent, tool
from gaia_mcp.asking import Call
from gaia_mcp.client.host import DeclinedError, UnsupportedError
from gaia_mcp.fleet.gateway.questions import Declared, Passed, ServerRequests, asked_of
from gaia_mcp.protocol.input_required import ELICIT, SAMPLE, QuestionError
from gaia_mcp.testing import Answers, client_for
from tests.fleet.gateway.conftest import ERAS


def test_a_server_request_is_declined_while_several_clients_call() -> None:
    """Ours: a request of a server over stdio does not name the call that it belongs to."""
    requests = ServerRequests(Declared({}), tells_apart=True)
    ada, again, bob = Call(), Call(), Call()
    ada.session = again.session = "ada"
    with requests.opened(ada, lambda _: {"roots": []}), requests.opened(again, lambda _: {"roots": []}):
        assert requests.host.answer("roots/list", {}) == {"roots": []}
        with requests.opened(bob, lambda _: {"roots": []}), pytest.raises(DeclinedError, match="several clients"):
            requests.host.answer("roots/list", {})


def test_a_server_request_goes_to_another_call_if_one_has_ended() -> None:
    """Ours: a server over stdio does not say which call asks, and the newest may not have."""
    requests = ServerRequests(Declared({}))

    def ended(_: Passed) -> dict[str, Any]:
        newest.close()
        raise QuestionError("the call has ended")

    def refused(_: Passed) -> dict[str, Any]:
        raise QuestionError("no")

    newest = ExitStack()
    with requests.opened(Call(), lambda _: {"roots": [{"uri": "file:///a"}]}):
        newest.enter_context(requests.opened(Call(), ended))
        assert requests.host.answer("roots/list", {})["roots"]
        with requests.opened(Call(), refused), pytest.raises(DeclinedError, match="no"):
            requests.host.answer("roots/list", {})
    with pytest.raises(DeclinedError, match="no call is open"):
        requests.host.answer("roots/list", {})
    with requests.opened(Call(), ended), pytest.raises(UnsupportedError):
        requests.host.answer("no/such", {})


def test_a_question_of_a_server_is_asked_of_the_client_of_the_call() -> None:
    """Ours: unchanged, in either era. What the client cannot be asked is an error of its own."""
    form = {"message": "Which size?", "requestedSchema": {"type": "object", "properties": {"size": {"type": "string"}}}}

    class Asking(MCPAgent):
        @tool
        def ask(self, call: Call) -> dict[str, Any]:
            """Ask as a server behind a gateway does."""
            requests = ServerRequests(Declared({}))
            with requests.opened(call, asked_of(call)):
                with pytest.raises(UnsupportedError):
                    requests.host.answer(SAMPLE, {"messages": [], "maxTokens": 1})
                return requests.host.answer(ELICIT, form)

    for revision in ERAS:
        answers = Answers([{"size": "large"}])
        with client_for(Asking(), revision=revision, answers=answers) as client:
            answered = client.call("ask", {})["structuredContent"]
        assert answered == {"action": "accept", "content": {"size": "large"}}
        assert [asked["requestedSchema"] for asked in answers.asked] == [form["requestedSchema"]]


def test_an_invalid_question_is_refused() -> None:
    """Ours: the client may receive it in the form of another revision, which a gateway could not make of it."""
    message = {"message": "Which size?"}
    refused: list[tuple[str, dict[str, Any], str]] = [
        ("tools/list", {}, "for 'tools/list', which no client knows"),
        (ELICIT, {}, "without a message"),
        (ELICIT, {**message, "mode": "url"}, "to open a URL, but sent none"),
        (ELICIT, message, "with an invalid form"),
        (ELICIT, {**message, "requestedSchema": {"properties": {"size": 1}}}, "with an invalid form"),
    ]

    for method, params, problem in refused:
        with pytest.raises(QuestionError) as caught:
            Passed(method, params)
        assert str(caught.value) == f"the server asked {problem}"
    assert Passed(ELICIT, {**message, "requestedSchema": {"properties": {}}}).params["message"] == "Which size?"


def test_a_gateway_declares_what_its_clients_have_declared() -> None:
    """Ours: a server that adapts to its client also does so behind a gateway."""
    declared = Declared({})
    host = ServerRequests(declared).host
    declared.add({"sampling": {"tools": {}}, "roots": {"listChanged": True}, "experimental": {"x": {}}})
    assert host.capabilities() == {"sampling": {"tools": {}}, "roots": {}}

    declared.add({"sampling": {"context": {}, "tools": {}}, "roots": {}, "elicitation": None})
    assert host.capabilities() == {"sampling": {"tools": {}, "context": {}}, "roots": {}}


def test_a_log_message_reaches_the_call_that_it_is_about() -> None:
    """Ours: one that may be about another caller's call reaches none, for it does not name the call."""
    dropped: list[Call] = []
    heard: list[Any] = []
    requests = ServerRequests(Declared({}), tells_apart=True, logged_to=dropped.append)
    ada, bob, silent = (Call(on_log=lambda level, data: heard.append(data)) for _ in range(3))
    ada.log_level = bob.log_level = "info"

    with requests.opened(ada, asked_of(ada)):
        requests.host.logged("info", "", "of the only caller")
    assert (heard, dropped, requests.has_kept) == (["of the only caller"], [], False)
    with requests.opened(silent, asked_of(silent)):
        requests.host.logged("info", "", "of a call that wants no logs")
        with requests.opened(bob, asked_of(bob)):
            requests.host.logged("info", "", "of any caller so far")
            # As in the stateless era, where a server logs only while the call is open.
            requests.host.may_log_later = False
            requests.host.logged("info", "", "of the only call that wants logs")
    assert (heard, dropped) == (["of the only caller", "of the only call that wants logs"], [bob])

    assert not requests.has_kept
    requests.host.logged("info", "", "of no call")
    assert requests.has_kept

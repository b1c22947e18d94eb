from __future__ import annotations

from typing import Any

import pytest

from gaia_mcp.client.host import DeclinedError, Host, UndeclaredError, UnsupportedError, answers, are_opened
from gaia_mcp.core.deadline import Deadline
from gaia_mcp.core.errors import CancelledError, PeerError, RemoteProtocolError
from gaia_mcp.protocol.connection import EXCERPT_CHARS
from gaia_mcp.protocol.input_required import FIRST
from gaia_mcp.protocol.jsonrpc import URL_REQUIRED
from tests.client.conftest import error_of

QUESTION = {"message": "Which city?", "requestedSchema": {"type": "object", "properties": {}}}


def test_a_host_declares_the_same_capabilities_with_and_without_a_user() -> None:
    """Spec, MC-7: both modes. Ours: what a server declares must not depend on whether a person is there."""
    alone, attended = Host(), Host(elicit=lambda _: {"action": "accept"}, roots=[{"uri": "file:///a"}])

    assert alone.capabilities() == attended.capabilities() == {"elicitation": {"form": {}, "url": {}}, "roots": {}}


def test_an_elicitation_is_declined_without_a_user() -> None:
    """Spec, elicitation: a decline is a valid response."""
    assert Host().answer("elicitation/create", QUESTION) == {"action": "decline"}


def test_an_elicitation_is_answered_by_the_user() -> None:
    """Spec, elicitation: the callback gets the parameters of the request, and its answer is returned unchanged."""
    asked: list[dict[str, Any]] = []

    def elicit(params: dict[str, Any]) -> dict[str, Any]:
        asked.append(params)
        return {"action": "accept", "content": {"city": "Oslo"}}

    answer = Host(elicit=elicit).answer("elicitation/create", QUESTION)

    assert asked == [QUESTION]
    assert answer == {"action": "accept", "content": {"city": "Oslo"}}


def test_a_roots_request_returns_the_given_roots() -> None:
    """Spec, roots: a list, empty when there are none."""
    root = {"uri": "file:///home/ada", "name": "ada"}

    assert Host().answer("roots/list", {}) == {"roots": []}
    assert Host(roots=(root,)).answer("roots/list", {}) == {"roots": [root]}


@pytest.mark.parametrize(
    ("host", "methods"),
    [
        (Host(), {"elicitation/create", "roots/list", "sampling/createMessage", "tasks/list"}),
        (Host(elicit=dict, roots=list, sample=dict), {"tasks/list"}),
        (Host(elicit=dict, roots=[{"uri": "file:///a"}]), {"roots/list", "sampling/createMessage", "tasks/list"}),
    ],
)
def test_a_request_that_calls_no_callback_is_answered_at_once(host: Host, methods: set[str]) -> None:
    """Ours: a callback may wait for the user, or send a request to the server."""
    asked = ("elicitation/create", "roots/list", "sampling/createMessage", "tasks/list")

    assert {method for method in asked if host.answers_at_once(method)} == methods


def test_a_subclass_of_host_answers_nothing_at_once() -> None:
    """Ours: its code may do anything."""

    class Own(Host):
        def answer(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
            return {}

    assert not Own().answers_at_once("roots/list")


@pytest.mark.parametrize("method", ["sampling/createMessage", "tasks/list", ""])
def test_an_undeclared_request_is_refused(method: str) -> None:
    """Spec: only what was negotiated may be asked."""
    with pytest.raises(UnsupportedError) as caught:
        Host().answer(method, {})

    assert str(caught.value) == method


@pytest.mark.parametrize("params", [{"tools": []}, {"toolChoice": {"mode": "none"}}])
def test_sampling_with_tools_is_refused_unless_it_is_declared(params: dict[str, Any]) -> None:
    """Spec, LC-3, CreateMessageRequestParams: a client must return an error."""

    class Able(Host):
        def capabilities(self) -> dict[str, Any]:
            return {**super().capabilities(), "sampling": {"tools": {}}}

    with pytest.raises(UndeclaredError, match="sampling/createMessage with tools"):
        Host(sample=lambda _: {"role": "assistant"}).answer("sampling/createMessage", params)
    assert Able(sample=lambda _: {"role": "assistant"}).answer("sampling/createMessage", params)


def test_a_callback_returns_the_roots_at_each_request() -> None:
    """Ours: a program's folders change while it runs."""
    folders: list[dict[str, str]] = []
    host = Host(roots=lambda: folders)
    assert host.answer("roots/list", {}) == {"roots": []}

    folders.append({"uri": "file:///a"})

    assert host.answer("roots/list", {}) == {"roots": [{"uri": "file:///a"}]}


def test_sampling_is_declared_and_answered_if_a_callback_is_given() -> None:
    """Spec, sampling: declared only where it is given; the parameters go to it as they are."""
    asked: list[dict[str, Any]] = []

    def sample(params: dict[str, Any]) -> dict[str, Any]:
        asked.append(params)
        return {"role": "assistant", "content": {"type": "text", "text": "Yes."}, "model": "m"}

    host = Host(sample=sample)

    assert host.capabilities() == {**Host().capabilities(), "sampling": {}}
    assert host.answer("sampling/createMessage", {"maxTokens": 5})["model"] == "m"
    assert asked == [{"maxTokens": 5}]


def test_an_answer_that_is_not_an_object_is_a_type_error() -> None:
    """Ours: the same in both eras, and raised in the program that made the mistake."""
    wrong = []
    for answer in (None, 7, "yes", [], [{}]):
        host = Host(elicit=lambda _, answer=answer: answer, sample=lambda _, answer=answer: answer)  # type: ignore[misc]
        for method in ("elicitation/create", "sampling/createMessage"):
            error = error_of(host.answer, method, {})
            if not isinstance(error, TypeError) or type(answer).__name__ not in str(error):
                wrong.append((method, answer, error))

    assert not wrong


def test_log_messages_are_passed_to_the_callback() -> None:
    """Ours: a program need not pass `on_log`; the messages are ignored then."""
    heard: list[tuple[str, str, Any]] = []

    Host(on_log=lambda *message: heard.append(message)).logged("error", "db", {"rows": 1})
    Host().logged("error", "db", 1)

    assert heard == [("error", "db", {"rows": 1})]


def test_stray_output_is_stored_escaped_and_truncated() -> None:
    """Ours: it is printed to a terminal later. A problem without an excerpt is stored as a protocol violation."""
    host = Host()

    host.strayed("not JSON", "hello\x1b[31m")
    host.strayed("not JSON", "  ")
    host.strayed("not JSON", "é" * (EXCERPT_CHARS + 1))
    host.strayed("an error without an id: \x1b[31m", "")

    assert host.strays == ["hello\\x1b[31m", "not JSON", "é" * (EXCERPT_CHARS - 1) + "…"]
    assert host.breaches == ["an error without an id: \\x1b[31m"]


def test_the_stored_stray_output_is_limited() -> None:
    """Ours: a server must not fill our memory."""
    host = Host()

    for number in range(1500):
        host.strayed("not JSON", str(number))
        host.strayed(str(number), "")

    assert len(host.strays) == len(host.breaches) == 1000
    assert host.strays[-1] == host.breaches[-1] == "999"


def test_noise_reports_the_number_of_stray_lines() -> None:
    """Ours: the number and the first line are part of an error; not more than 1000 are counted."""
    host = Host()
    assert host.noise() == ""
    host.strayed("not JSON", "hello")
    assert host.noise() == "1 line that is not MCP: 'hello'"
    host.strayed("not JSON", "again")
    assert host.noise() == "2 lines that are not MCP, the first: 'hello'"
    for _ in range(5000):
        host.strayed("not JSON", "again")

    assert host.noise() == "1000 or more lines that are not MCP, the first: 'hello'"
    assert host.noise("stdout").startswith("1000 or more lines to stdout that are not MCP, ")


def test_protocol_violations_are_counted_separately() -> None:
    """Ours: their cause is in the server's code, that of stray lines in what it prints to stdout."""
    host = Host()
    host.strayed("a second response to id 3", "")
    assert host.noise() == "1 message that breaks the rules of MCP: 'a second response to id 3'"
    host.strayed("an id that is neither a string nor an integer", '{"jsonrpc": "2.0", "id": 1.5')
    host.strayed("not JSON", "hello")

    assert host.noise() == (
        "1 line that is not MCP: 'hello', "
        "and 2 messages that break the rules of MCP, the first: 'a second response to id 3'"
    )


def test_stray_output_is_discarded_before_a_restart() -> None:
    """Ours: the server will write it again."""
    host = Host()
    host.strayed("not JSON", "Usage: x --stdio")
    host.strayed("a second response", "")

    host.forget_strays()

    assert host.noise() == ""


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

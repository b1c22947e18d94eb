"""A running call and its request, with clients of both eras."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import pytest

from gaia_mcp.asking.questions import Elicit, ElicitURL, ListRoots, Sample
from gaia_mcp.protocol.input_required import MissingCapabilityError
from gaia_mcp.protocol.jsonrpc import MISSING_CAPABILITY
from gaia_mcp.server.running_call import Answer, InputRequired, report_no_ended_runs
from tests.server.asking import BOTH, NAME, Person, Tools, Wire, text_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from gaia_mcp.asking import Call


@pytest.mark.parametrize(
    ("era", "more", "lacks"),
    [("handshake", {}, "True"), ("handshake", {"task": {}}, "False"), ("stateless", {}, "False")],
)
def test_a_call_knows_whether_its_client_could_have_asked_for_a_task(era: str, more: Wire, lacks: str) -> None:
    """Spec 2025-11-25, LS-8: in the stateless era the server alone decides."""
    person = Person(era, Tools(look=lambda call: str(call.lacks_task)))

    assert text_of(person.call("look", **more)) == lacks


@pytest.mark.parametrize(("era", "asks_by_result"), [("handshake", False), ("stateless", True)])
def test_a_call_knows_its_log_level_and_whether_it_asks_by_its_result(era: str, asks_by_result: bool) -> None:
    """Ours: a gateway forwards both to the server that runs the tool."""
    person = Person(era, Tools(look=lambda call: f"{call.asks_by_result} {call.log_level}"))

    assert text_of(person.call("look")) == f"{asks_by_result} info"


def test_a_tool_can_query_the_capabilities_of_its_client() -> None:
    """MS-4: those that the client has declared, and its revision has."""
    questions = (Elicit("Who?", NAME), ElicitURL("Log in", "https://example.com"), Sample("x"), ListRoots())

    for version in ("2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26"):
        known: list[bool] = []
        agent = Tools(look=lambda call, known=known: known.extend(map(call.can_ask, questions)))
        person = Person("stateless" if version == "2026-07-28" else version, agent, {"elicitation": {}, "roots": {}})
        person.call("look")
        assert known == [version != "2025-03-26", False, False, True], version


@BOTH
def test_a_client_without_the_capability_gets_no_request(era: str) -> None:
    """MS-4; a tool may catch the error."""

    def work(call: Call) -> str:
        try:
            call.roots()
        except MissingCapabilityError:
            return "no roots"
        return "roots"

    person = Person(era, Tools(work=work, ask=lambda call: call.sample("x")), {"elicitation": {}})

    assert text_of(person.call("work")) == "no roots"
    response = person.call("ask")
    if era == "stateless":
        assert response["error"]["code"] == MISSING_CAPABILITY
        assert response["error"]["data"] == {"requiredCapabilities": {"sampling": {}}}
    else:
        assert response["result"]["isError"] is True


@BOTH
def test_a_call_knows_its_client(era: str) -> None:
    """Ours: name, capabilities and `_meta`; over a pipe, there is no principal."""

    def work(call: Call) -> str:
        return (
            f"{call.client.name} {sorted(call.client.capabilities)} {call.meta.get('progressToken')} {call.principal}"
        )

    response = Person(era, Tools(work=work)).call("work")

    token = "1" if era == "stateless" else "None"
    assert text_of(response) == f"t ['elicitation', 'roots', 'sampling'] {token} None"


def test_an_invalid_meta_is_ignored() -> None:
    """Ours: a client may send anything there."""
    person = Person("handshake", Tools(ask=lambda call: str(dict(call.meta))))

    assert text_of(person.call("ask", _meta=7)) == "{}"


def test_an_answer_is_available_once_it_is_set() -> None:
    """Ours: with a result, or the reason for its absence."""
    answer, refusal = Answer(3), Answer(4)
    assert not answer.wait(0)
    answer.set({"roots": []}, None)
    refusal.set(None, "no")

    assert answer.wait(0)
    assert (answer.request_id, answer.result, answer.error) == (3, {"roots": []}, None)
    assert (refusal.request_id, refusal.result, refusal.error) == (4, None, "no")


def end_thread_with(error: BaseException) -> None:
    def fail() -> None:
        raise error

    thread = threading.Thread(target=fail)
    thread.start()
    thread.join()


def test_a_thread_that_ends_with_input_required_is_not_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ours: others are reported as they were before, however many servers there are in a process."""
    reported: list[object] = []
    monkeypatch.setattr(threading, "excepthook", lambda ended: reported.append(ended.exc_value))
    report_no_ended_runs()
    hook: Callable[..., object] = threading.excepthook
    report_no_ended_runs()
    assert threading.excepthook is hook

    problem = ValueError("odd")
    for error in (InputRequired(), problem, InputRequired()):
        end_thread_with(error)

    assert reported == [problem]

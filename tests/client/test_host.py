from __future__ import annotations

from typing import Any

import pytest

from gaia_mcp.client.host import ASKS_A_PERSON, Host, UndeclaredError, UnsupportedError
from gaia_mcp.protocol.connection import EXCERPT_CHARS

QUESTION = {"message": "Which city?", "requestedSchema": {"type": "object", "properties": {}}}


def test_a_host_declares_the_same_with_and_without_a_person() -> None:
    """Spec, MC-7: both modes. Ours: what a server declares must not depend on whether a person is there."""
    alone, attended = Host(), Host(elicit=lambda _: {"action": "accept"}, roots=[{"uri": "file:///a"}])

    assert alone.capabilities() == attended.capabilities() == {"elicitation": {"form": {}, "url": {}}, "roots": {}}


def test_a_question_is_declined_without_a_person() -> None:
    """Spec, elicitation: declining is a proper answer."""
    assert Host().answer("elicitation/create", QUESTION) == {"action": "decline"}


def test_a_question_is_answered_by_the_person() -> None:
    """Spec, elicitation: the question's parameters go to the person, their answer comes back as it is."""
    asked: list[dict[str, Any]] = []

    def elicit(params: dict[str, Any]) -> dict[str, Any]:
        asked.append(params)
        return {"action": "accept", "content": {"city": "Oslo"}}

    answer = Host(elicit=elicit).answer("elicitation/create", QUESTION)

    assert asked == [QUESTION]
    assert answer == {"action": "accept", "content": {"city": "Oslo"}}


def test_roots_are_answered_with_the_folders_given() -> None:
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
def test_what_runs_none_of_the_programs_code_is_answered_at_once(host: Host, methods: set[str]) -> None:
    """Ours: anything else may wait for a person, or ask the server."""
    asked = ("elicitation/create", "roots/list", "sampling/createMessage", "tasks/list")

    assert {method for method in asked if host.answers_at_once(method)} == methods


def test_a_host_of_another_class_answers_nothing_at_once() -> None:
    """Ours: its code may do anything."""

    class Own(Host):
        def answer(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
            return {}

    assert not Own().answers_at_once("roots/list")


@pytest.mark.parametrize("method", ["sampling/createMessage", "tasks/list", ""])
def test_what_was_not_declared_is_refused(method: str) -> None:
    """Spec: only what was negotiated may be asked."""
    with pytest.raises(UnsupportedError) as caught:
        Host().answer(method, {})

    assert str(caught.value) == method


@pytest.mark.parametrize("params", [{"tools": []}, {"toolChoice": {"mode": "none"}}])
def test_a_model_is_not_asked_to_use_tools_unless_that_was_declared(params: dict[str, Any]) -> None:
    """Spec, LC-3, CreateMessageRequestParams: a client must return an error."""

    class Able(Host):
        def capabilities(self) -> dict[str, Any]:
            return {**super().capabilities(), "sampling": {"tools": {}}}

    with pytest.raises(UndeclaredError, match="sampling/createMessage with tools"):
        Host(sample=lambda _: {"role": "assistant"}).answer("sampling/createMessage", params)
    assert Able(sample=lambda _: {"role": "assistant"}).answer("sampling/createMessage", params)


def test_roots_may_be_looked_up_when_they_are_asked_for() -> None:
    """Ours: a program's folders change while it runs."""
    folders: list[dict[str, str]] = []
    host = Host(roots=lambda: folders)
    assert host.answer("roots/list", {}) == {"roots": []}

    folders.append({"uri": "file:///a"})

    assert host.answer("roots/list", {}) == {"roots": [{"uri": "file:///a"}]}


def test_a_model_is_asked_where_there_is_one() -> None:
    """Spec, sampling: declared only where it is given; the parameters go to it as they are."""
    asked: list[dict[str, Any]] = []

    def sample(params: dict[str, Any]) -> dict[str, Any]:
        asked.append(params)
        return {"role": "assistant", "content": {"type": "text", "text": "Yes."}, "model": "m"}

    host = Host(sample=sample)

    assert host.capabilities() == {**Host().capabilities(), "sampling": {}}
    assert host.answer("sampling/createMessage", {"maxTokens": 5})["model"] == "m"
    assert asked == [{"maxTokens": 5}]


@pytest.mark.parametrize("answer", [None, 7, "yes", [], [{}]])
def test_an_answer_that_no_server_could_read_is_a_mistake(answer: Any) -> None:
    """Ours: the same in both eras, and said where it was made."""
    host = Host(elicit=lambda _: answer, sample=lambda _: answer)

    for method in ("elicitation/create", "sampling/createMessage"):
        with pytest.raises(TypeError, match=type(answer).__name__):
            host.answer(method, {})


def test_what_goes_to_a_person_or_a_model_keeps_a_request_waiting() -> None:
    """Ours: a deadline stands still for them alone; a list of folders takes no time."""
    assert frozenset({"elicitation/create", "sampling/createMessage"}) == ASKS_A_PERSON


def test_log_messages_go_to_the_callback_or_nowhere() -> None:
    """Ours."""
    heard: list[tuple[str, str, Any]] = []

    Host(on_log=lambda *message: heard.append(message)).logged("error", "db", {"rows": 1})
    Host().logged("error", "db", 1)

    assert heard == [("error", "db", {"rows": 1})]


def test_stray_output_is_kept_clean_or_described_when_there_is_nothing_to_show() -> None:
    """Ours: it meets a terminal later, so that no control character may survive."""
    host = Host()

    host.strayed("not JSON", "hello\x1b[31m")
    host.strayed("not JSON", "  ")
    host.strayed("not JSON", "é" * (EXCERPT_CHARS + 1))
    host.strayed("an error without an id: \x1b[31m", "")

    assert host.strays == ["hello\\x1b[31m", "not JSON", "é" * (EXCERPT_CHARS - 1) + "…"]
    assert host.breaches == ["an error without an id: \\x1b[31m"]


def test_a_flood_of_stray_output_is_not_kept_without_end() -> None:
    """Ours: a server must not fill our memory."""
    host = Host()

    for number in range(1500):
        host.strayed("not JSON", str(number))
        host.strayed(str(number), "")

    assert len(host.strays) == len(host.breaches) == 1000
    assert host.strays[-1] == host.breaches[-1] == "999"


def test_what_strayed_is_counted_in_words() -> None:
    """Ours: for errors and remarks; a flood is not kept."""
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


def test_messages_that_break_the_rules_are_counted_apart() -> None:
    """Ours: they are MCP, and the server's author looks for something else."""
    host = Host()
    host.strayed("a second response to id 3", "")
    assert host.noise() == "1 message that breaks the rules of MCP: 'a second response to id 3'"
    host.strayed("an id that is neither a string nor an integer", '{"jsonrpc": "2.0", "id": 1.5')
    host.strayed("not JSON", "hello")

    assert host.noise() == (
        "1 line that is not MCP: 'hello', "
        "and 2 messages that break the rules of MCP, the first: 'a second response to id 3'"
    )


def test_what_strayed_is_forgotten_before_another_start() -> None:
    """Ours: the server will write it again."""
    host = Host()
    host.strayed("not JSON", "Usage: x --stdio")
    host.strayed("a second response", "")

    host.forget_strays()

    assert host.noise() == ""

from __future__ import annotations

from typing import Any

import pytest

from gaia_mcp.client.host import ASKS_A_PERSON, Host, UnsupportedError

QUESTION = {"message": "Which city?", "requestedSchema": {"type": "object", "properties": {}}}


def test_a_host_declares_the_same_with_and_without_a_person() -> None:
    """Ours: what a server offers must not depend on whether somebody sits there."""
    alone, attended = Host(), Host(elicit=lambda _: {"action": "accept"}, roots=[{"uri": "file:///a"}])

    assert alone.capabilities() == attended.capabilities() == {"elicitation": {"form": {}, "url": {}}, "roots": {}}


def test_a_question_is_declined_when_nobody_is_there() -> None:
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


@pytest.mark.parametrize("method", ["sampling/createMessage", "tasks/list", ""])
def test_what_was_not_declared_is_refused(method: str) -> None:
    """Spec: only what was negotiated may be asked."""
    with pytest.raises(UnsupportedError) as caught:
        Host().answer(method, {})

    assert str(caught.value) == method


def test_only_elicitation_keeps_a_person_waiting() -> None:
    """Ours: a deadline stands still for people alone."""
    assert frozenset({"elicitation/create"}) == ASKS_A_PERSON


def test_log_messages_go_to_the_callback_or_nowhere() -> None:
    """Ours."""
    heard: list[tuple[str, str, Any]] = []

    Host(on_log=lambda *message: heard.append(message)).logged("error", "db", {"rows": 1})
    Host().logged("error", "db", 1)

    assert heard == [("error", "db", {"rows": 1})]


def test_changed_lists_are_remembered_by_kind() -> None:
    """Ours: a client looks here before it trusts what it knows."""
    host = Host()

    host.list_changed("tools")
    host.list_changed("tools")
    host.list_changed("prompts")

    assert host.list_changes == {"tools", "prompts"}


def test_stray_output_is_kept_clean_or_described_when_there_is_nothing_to_show() -> None:
    """Ours: it meets a terminal later, so that no control character may survive."""
    host = Host()

    host.strayed("not JSON", "hello\x1b[31m")
    host.strayed("an error without an id", "")

    assert host.strays == ["hello\\x1b[31m", "an error without an id"]


def test_a_flood_of_stray_output_is_not_kept_without_end() -> None:
    """Ours: a server must not fill our memory."""
    host = Host()

    for number in range(1500):
        host.strayed("not JSON", str(number))

    assert len(host.strays) == 1000
    assert host.strays[-1] == "999"


def test_what_strayed_is_counted_in_words() -> None:
    """Ours: for errors and remarks; a flood is not kept."""
    host = Host()
    assert host.noise() == ""
    host.strayed("not JSON", "hello")
    assert host.noise() == "1 line to stdout that are not MCP, the first: 'hello'"
    for _ in range(5000):
        host.strayed("not JSON", "again")

    assert host.noise() == "1000 lines and more to stdout that are not MCP, the first: 'hello'"

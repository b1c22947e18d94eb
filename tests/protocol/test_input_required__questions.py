"""The questions of a server: what they need of a client, how each revision carries them, which results are answers."""

from __future__ import annotations

from typing import Any

import pytest

from gaia_mcp.protocol import ERAS
from gaia_mcp.protocol.input_required import (
    ELICIT,
    LIST_ROOTS,
    SAMPLE,
    MissingCapabilityError,
    Question,
    answer_problem,
    check_declared,
    is_asked_by_result,
    is_known_to_ask_by_result,
    missing_for,
    question_for,
)

Wire = dict[str, Any]


def form(**fields: Wire) -> Question:
    """A form with these fields."""
    schema = {"type": "object", "properties": fields, "required": []}
    return Question(ELICIT, {"mode": "form", "message": "Well?", "requestedSchema": schema})


FORM = form(name={"type": "string"})
CHOICES = form(names={"type": "array", "items": {"enum": ["a", "b"]}})
URL = Question(ELICIT, {"mode": "url", "message": "Log in", "url": "https://example.com"})
SAMPLED = Question(SAMPLE, {"messages": [], "maxTokens": 5})
WITH_TOOLS = Question(SAMPLE, {"messages": [], "maxTokens": 5, "tools": []})
ROOTS = Question(LIST_ROOTS, {})
NEWEST, OLDER, OLD, OLDEST = "2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26"
EVERYTHING: Wire = {"elicitation": {"form": {}, "url": {}}, "sampling": {"tools": {}}, "roots": {}}


def test_the_capabilities_missing_for_a_server_request_depend_on_client_and_revision() -> None:
    """MS-4, MC-7: nothing undeclared is relied on; `elicitation: {}` stands for the form."""
    cases = [
        (FORM, NEWEST, EVERYTHING, {}),
        (FORM, NEWEST, {"elicitation": {}}, {}),
        (FORM, NEWEST, {"elicitation": {"url": {}}}, {"elicitation": {"form": {}}}),
        (FORM, NEWEST, {"elicitation": True}, {"elicitation": {"form": {}}}),
        (FORM, NEWEST, {}, {"elicitation": {"form": {}}}),
        (FORM, OLD, {"elicitation": {}}, {}),
        (FORM, OLDEST, EVERYTHING, {"elicitation": {"form": {}}}),
        (CHOICES, OLDER, EVERYTHING, {}),
        (CHOICES, OLD, EVERYTHING, {"elicitation": {"form": {}}}),
        (URL, OLDER, EVERYTHING, {}),
        (URL, OLDER, {"elicitation": {}}, {"elicitation": {"url": {}}}),
        (URL, OLD, EVERYTHING, {"elicitation": {"url": {}}}),
        (SAMPLED, OLDEST, {"sampling": {}}, {}),
        (SAMPLED, NEWEST, {}, {"sampling": {}}),
        (WITH_TOOLS, NEWEST, EVERYTHING, {}),
        (WITH_TOOLS, NEWEST, {"sampling": {}}, {"sampling": {"tools": {}}}),
        (WITH_TOOLS, OLD, EVERYTHING, {"sampling": {"tools": {}}}),
        (ROOTS, OLDEST, {"roots": {"listChanged": True}}, {}),
        (ROOTS, NEWEST, {}, {"roots": {}}),
    ]

    wrong = [
        (question, version, declared, missing, found)
        for question, version, declared, missing in cases
        if (found := missing_for(question, version, declared)) != missing
    ]

    assert not wrong


def test_a_missing_capability_is_named() -> None:
    """Ours: the author and the caller read the name that the specification has for it."""
    assert "elicitation.url" in str(MissingCapabilityError({"elicitation": {"url": {}}}))
    assert "capability roots," in str(MissingCapabilityError({"roots": {}}))
    assert str(MissingCapabilityError({"roots": {}}, needed_by="this call")).endswith("roots, which this call needs")
    assert "revision 2025-06-18" in str(MissingCapabilityError({"elicitation": {"form": {}}}, "2025-06-18"))


def test_a_server_request_is_unchanged_in_2025_11_25() -> None:
    """Spec 2025-11-25, elicitation."""
    assert question_for(FORM, OLDER, 7) == (ELICIT, FORM.params)
    assert question_for(SAMPLED, OLDER, 7) == (SAMPLE, SAMPLED.params)
    assert question_for(ROOTS, OLDER, 7) == (LIST_ROOTS, None)


def test_a_url_elicitation_has_an_id_in_2025_11_25() -> None:
    """Spec 2025-11-25, elicitation: elicitationId is required; 2026-07-28 has none."""
    assert question_for(URL, OLDER, 7) == (ELICIT, {**URL.params, "elicitationId": "7"})
    assert "elicitationId" not in URL.as_input_request()["params"]


def test_a_form_is_simplified_for_2025_06_18() -> None:
    """Spec 2025-06-18, elicitation: no mode, no titled choices but by enumNames, no default but of a boolean."""
    asked = form(
        size={"type": "string", "oneOf": [{"const": "s", "title": "Small"}, {"const": "l"}], "default": "s"},
        fast={"type": "boolean", "default": True},
    )

    method, params = question_for(asked, OLD, 7)

    assert method == ELICIT
    assert params == {
        "message": "Well?",
        "requestedSchema": {
            "type": "object",
            "properties": {
                "size": {"type": "string", "enum": ["s", "l"], "enumNames": ["Small", "l"]},
                "fast": {"type": "boolean", "default": True},
            },
            "required": [],
        },
    }


def test_only_the_stateless_era_asks_by_a_result() -> None:
    """Spec 2026-07-28, input required: servers send no requests of their own any more."""
    assert [is_asked_by_result(version) for version in (NEWEST, OLDER, OLDEST)] == [True, False, False]
    assert [is_known_to_ask_by_result(era) for era in (*ERAS, "sse", None)] == [False, True, False, False]


def test_an_input_request_has_params_where_there_are_any() -> None:
    """Spec 2026-07-28, input required: roots/list has none."""
    assert ROOTS.as_input_request() == {"method": "roots/list"}
    assert FORM.as_input_request() == {"method": ELICIT, "params": FORM.params}


def test_a_valid_response_to_a_server_request_has_no_problem() -> None:
    """Spec, client features: the results of the three requests."""
    cases = [
        (FORM, {"action": "accept", "content": {}}),
        (FORM, {"action": "accept"}),
        (FORM, {"action": "decline"}),
        (FORM, {"action": "cancel", "content": None}),
        (URL, {"action": "accept", "content": None}),
        (SAMPLED, {"role": "assistant", "content": {"type": "text"}, "model": "m"}),
        (SAMPLED, {"role": "assistant", "content": [{"type": "text"}], "model": "m"}),
        (ROOTS, {"roots": []}),
        (ROOTS, {"roots": [{"uri": "file:///a"}]}),
    ]

    wrong = [(question, answer) for question, answer in cases if answer_problem(question, answer) is not None]

    assert not wrong


def test_an_invalid_response_to_a_server_request_is_reported() -> None:
    """MS-10: what a client sends is validated."""
    cases = [
        (FORM, 12345, "not an object"),
        (FORM, {}, "action must be"),
        (FORM, {"action": "accept", "content": []}, "content must be"),
        (SAMPLED, {"role": "assistant"}, "role and content"),
        (SAMPLED, {"role": "nobody", "content": {}}, "role and content"),
        (SAMPLED, {"role": "user", "content": ["x"]}, "role and content"),
        (ROOTS, {"roots": None}, "roots must be"),
        (ROOTS, {"roots": [{"name": "x"}]}, "roots must be"),
    ]

    wrong = [
        (question, answer, problem)
        for question, answer, problem in cases
        if problem not in str(answer_problem(question, answer))
    ]

    assert not wrong


def test_capabilities_missing_for_several_requests_are_reported_together() -> None:
    """MS-4; an older revision may not have it at all."""
    check_declared([FORM, ROOTS], NEWEST, {"elicitation": {}, "roots": {}})

    with pytest.raises(MissingCapabilityError) as caught:
        check_declared([FORM, ROOTS], NEWEST, {})
    assert caught.value.required == {"elicitation": {"form": {}}, "roots": {}}
    with pytest.raises(MissingCapabilityError, match="revision 2024-11-05"):
        check_declared([FORM, ROOTS], "2024-11-05", {"elicitation": {}, "roots": {}})

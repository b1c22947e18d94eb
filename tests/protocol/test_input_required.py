"""Multi-round-trip requests."""

from __future__ import annotations

from typing import Any

import pytest

from gaia_mcp.protocol.events import RequestContext, RequestReceived
from gaia_mcp.protocol.input_required import (
    MAX_ROUND_TRIPS,
    InputRequired,
    Retry,
    input_required,
    is_complete,
    missing_capabilities,
    pause_before,
    required_urls,
    retry_of,
    retry_params,
    type_problem,
)
from gaia_mcp.protocol.jsonrpc import URL_REQUIRED
from tests.protocol_support import check_each, check_rows

QUESTION = {"method": "elicitation/create", "params": {"message": "Sure?"}}


@pytest.mark.parametrize("result", [{}, {"resultType": "complete"}, {"content": [], "resultType": "complete"}])
def test_a_complete_result_requires_no_input(result: dict[str, Any]) -> None:
    """Spec 2026-07-28, MC-2: a missing resultType means complete."""
    assert is_complete(result)


def test_input_requests_and_state_are_read() -> None:
    """Spec 2026-07-28: roots/list has no params."""
    questions = {"q": QUESTION, "roots": {"method": "roots/list"}}

    assert input_required(
        {"resultType": "input_required", "inputRequests": questions, "requestState": "s"}
    ) == InputRequired(questions, "s")


def test_input_requests_or_state_alone_are_enough() -> None:
    """Spec 2026-07-28, MS-8: at least one of the two; an empty state is a state."""
    assert input_required({"resultType": "input_required", "inputRequests": {"q": QUESTION}}) == InputRequired(
        {"q": QUESTION}, None
    )
    assert input_required({"resultType": "input_required", "requestState": ""}) == InputRequired({}, "")


def test_an_invalid_result_is_reported() -> None:
    """Spec 2026-07-28, MC-2 and MS-8: an unknown type is an invalid response."""
    cases = [
        {"resultType": "task"},
        {"resultType": None},
        {"resultType": ["complete"]},
        {"resultType": "input_required"},
        {"resultType": "input_required", "inputRequests": {}},
        {"resultType": "input_required", "inputRequests": []},
        {"resultType": "input_required", "inputRequests": {"q": "Sure?"}},
        {"resultType": "input_required", "inputRequests": {"q": {"params": {}}}},
        {"resultType": "input_required", "inputRequests": {"q": {"method": 5}}},
        {"resultType": "input_required", "inputRequests": {"q": {"method": "m", "params": []}}},
        {"resultType": "input_required", "inputRequests": {"q": QUESTION}, "requestState": 5},
    ]

    def check(result: dict[str, Any]) -> None:
        assert not is_complete(result)
        assert isinstance(input_required(result), str)

    check_each(check, cases)


FORM = {"method": "elicitation/create", "params": {"message": "Sure?"}}
URL = {"method": "elicitation/create", "params": {"mode": "url", "url": "https://example.org"}}
SAMPLING = {"method": "sampling/createMessage", "params": {"maxTokens": 1}}
TOOLS = {"method": "sampling/createMessage", "params": {"maxTokens": 1, "tools": []}}
ROOTS = {"method": "roots/list"}


def test_missing_client_capabilities_are_listed() -> None:
    """Spec 2026-07-28, MS-4 and MS-8: in the form of `requiredCapabilities`; `elicitation: {}` means forms."""
    cases = [
        ([], {}, {}),
        ([FORM], {"elicitation": {}}, {}),
        ([FORM], {"elicitation": {"form": {}}}, {}),
        ([FORM], {"elicitation": {"url": {}}}, {"elicitation": {"form": {}}}),
        ([FORM], {}, {"elicitation": {"form": {}}}),
        ([FORM, URL], {"elicitation": 5}, {"elicitation": {"form": {}, "url": {}}}),
        ([URL], {"elicitation": {}}, {"elicitation": {"url": {}}}),
        ([URL], {"elicitation": {"url": {}}}, {}),
        ([SAMPLING, ROOTS], {}, {"sampling": {}, "roots": {}}),
        ([SAMPLING, ROOTS], {"sampling": {}, "roots": {}}, {}),
        ([TOOLS], {"sampling": {}}, {"sampling": {"tools": {}}}),
        ([TOOLS], {"sampling": {"tools": {}}}, {}),
    ]

    def check(requests: Any, declared: Any, missing: Any) -> None:
        asked = {str(number): request for number, request in enumerate(requests)}

        assert missing_capabilities(asked, declared) == missing

    check_rows(check, cases)


def test_an_unknown_input_request_method_is_an_error() -> None:
    """Spec 2026-07-28, InputRequest."""
    with pytest.raises(ValueError, match="tools/list"):
        missing_capabilities({"q": {"method": "tools/list"}}, {})


def test_every_method_may_have_a_complete_result() -> None:
    """Spec 2026-07-28, MC-2."""
    methods = ["tools/call", "prompts/get", "resources/read", "tools/list"]

    wrong = [
        (method, result)
        for method in methods
        for result in [{}, {"resultType": "complete"}]
        if type_problem(method, result) is not None
    ]

    assert not wrong


@pytest.mark.parametrize("method", ["tools/call", "prompts/get", "resources/read"])
def test_three_methods_may_require_input(method: str) -> None:
    """Spec 2026-07-28, multi-round-trip requests."""
    assert type_problem(method, {"resultType": "input_required"}) is None


def test_no_other_method_may_require_input() -> None:
    """Spec 2026-07-28, multi-round-trip requests."""
    cases = ["tools/list", "completion/complete", "server/discover", "com.example/own"]

    wrong = [method for method in cases if type_problem(method, {"resultType": "input_required"}) is None]

    assert not wrong


def test_an_unknown_result_type_is_invalid_for_every_method() -> None:
    """Spec 2026-07-28, MC-2."""

    def check(kind: object) -> None:
        for method in ("tools/call", "tools/list"):
            problem = type_problem(method, {"resultType": kind})
            assert problem is not None
            assert repr(str(kind)) in problem

    check_each(check, ["task", "", None, 5, ["complete"]])


def test_a_retry_is_the_same_request_with_responses_and_state() -> None:
    """Spec 2026-07-28, MC-5 and MC-6: the state goes back byte for byte."""
    params = {"name": "deploy", "arguments": {"env": "prod"}}

    again = retry_params(params, InputRequired({"q": QUESTION}, "\u0000ü =="), {"q": {"action": "decline"}})

    assert again == {**params, "inputResponses": {"q": {"action": "decline"}}, "requestState": "\u0000ü =="}
    assert params == {"name": "deploy", "arguments": {"env": "prod"}}


def test_a_request_state_is_sent_only_if_the_server_gave_one() -> None:
    """Spec 2026-07-28, MC-5, also when an earlier round had one."""
    before = {"name": "x", "requestState": "old", "inputResponses": {"old": {}}}

    assert retry_params(before, InputRequired({"q": QUESTION}, None), {"q": {}}) == {
        "name": "x",
        "inputResponses": {"q": {}},
    }


def test_input_responses_without_a_request_are_not_sent() -> None:
    """Spec 2026-07-28, MC-6."""
    before = {"name": "x", "inputResponses": {"old": {}}}

    assert retry_params(before, InputRequired({}, "s"), {}) == {"name": "x", "requestState": "s"}


def test_pauses_double_up_to_a_quarter_of_a_second() -> None:
    """The official SDKs: 50 ms doubling to 250 ms, for ten rounds."""
    pauses = [pause_before(number) for number in range(1, MAX_ROUND_TRIPS + 1)]

    assert pauses == [0.05, 0.1, 0.2, *[0.25] * 7]


# A server reads what comes back.


def received(version: str = "2026-07-28", **params: Any) -> RequestReceived:
    """A request with these parameters."""
    return RequestReceived(1, "tools/call", params, RequestContext(version, {}, {}, None, None))


def test_a_retried_request_has_input_responses_and_state() -> None:
    """Spec 2026-07-28, input required: inputResponses are keyed like the requests, the state comes back as it was."""
    assert retry_of(received(requestState="s", inputResponses={"a": {}})) == Retry({"a": {}}, "s")
    assert retry_of(received(requestState="s")) == Retry({}, "s")


def test_input_responses_may_be_sent_without_a_state() -> None:
    """MS-10: from a client that knows what it will be asked."""
    assert retry_of(received(inputResponses={"a": {}})) == Retry({"a": {}}, None)


def test_a_first_request_has_neither_input_responses_nor_state() -> None:
    """Spec 2026-07-28; older revisions have neither."""
    assert retry_of(received()) is None
    assert retry_of(received("2025-11-25", requestState="s")) is None


@pytest.mark.parametrize("params", [{"requestState": None}, {"requestState": "s", "inputResponses": []}])
def test_an_invalid_retry_is_reported(params: dict[str, Any]) -> None:
    """MS-9: the client chooses what it sends back."""
    with pytest.raises(ValueError, match="must be"):
        retry_of(received(**params))


ONE = {"mode": "url", "elicitationId": "1", "url": "https://e.org/", "message": "Sign in"}
TWO = {"url": "https://other.org/"}


def test_the_required_urls_are_read_from_the_error_data() -> None:
    """Spec 2025-11-25, elicitation: URLElicitationRequiredError."""
    cases = [
        (URL_REQUIRED, {"elicitations": [ONE, TWO]}, [ONE, TWO]),
        (URL_REQUIRED, {"elicitations": [{**ONE, "mode": "form"}, {"url": 5}, "x", TWO]}, [TWO]),
        (URL_REQUIRED, {"elicitations": "x"}, []),
        (URL_REQUIRED, {}, []),
        (URL_REQUIRED, None, []),
        (-32000, {"elicitations": [ONE]}, []),
    ]

    wrong = [(code, data, urls, found) for code, data, urls in cases if (found := required_urls(code, data)) != urls]

    assert not wrong

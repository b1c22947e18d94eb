from __future__ import annotations

import json
from typing import Any

from gaia_mcp.server.outcomes import as_json, encode_outgoing

WITHIN_ITSELF: list[Any] = []
WITHIN_ITSELF.append(WITHIN_ITSELF)
NOT_JSON = [object(), float("nan"), {1, 2}, WITHIN_ITSELF]


def _response(value: Any, request_id: int = 1) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": request_id, "result": {"value": value}}


def test_a_message_is_one_line() -> None:
    """Spec, stdio: no newline within a message."""
    line = encode_outgoing(_response("a\nb"))

    assert line.count(b"\n") == 1
    assert json.loads(line) == _response("a\nb")


def test_a_response_that_is_not_json_becomes_an_error() -> None:
    """Ours: the client waits for a response with this id."""
    for value in NOT_JSON:
        response = json.loads(encode_outgoing(_response(value)))
        assert (response["id"], response["error"]["code"]) == (1, -32603), value
        assert response["error"]["message"].startswith("the result is not JSON: "), value


def test_of_a_batch_only_the_response_that_is_not_json_becomes_an_error() -> None:
    """Ours: the other responses are valid, and stay in the one array."""
    line = encode_outgoing([_response("a", 1), _response(object(), 2)])

    good, bad = json.loads(line)
    assert line.endswith(b"]\n")
    assert good == _response("a", 1)
    assert bad["id"] == 2
    assert "error" in bad


def test_a_value_that_is_json_stays_as_it_is() -> None:
    """Ours: a copy of each log message would cost time."""
    value = {"a": [1, None, "x"]}

    assert as_json(value) is value


def test_a_value_that_is_not_json_becomes_a_string() -> None:
    """Ours: a log message is for a person to read."""
    assert [as_json(value) for value in NOT_JSON] == [str(value) for value in NOT_JSON]

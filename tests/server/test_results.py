from __future__ import annotations

import base64
import dataclasses
import datetime
import decimal
import enum
import json
import pathlib
import threading
from typing import Any

import pytest

from gaia_mcp.checking.checker import Checker
from gaia_mcp.content import File
from gaia_mcp.server.results import call_result, failure, failure_of, json_problem, prompt_result, resource_result


def _text_of(result: dict[str, Any]) -> str:
    (block,) = result["content"]
    assert block["type"] == "text"
    text: str = block["text"]
    return text


def test_a_string_becomes_text() -> None:
    """Ours: nothing is put around it, so that a shell gets just this."""
    assert call_result("t", "hello") == {"content": [{"type": "text", "text": "hello"}], "isError": False}


def test_nothing_becomes_no_content() -> None:
    """Spec: `content` is required and may be empty."""
    assert call_result("t", None) == {"content": [], "isError": False}


@pytest.mark.parametrize("value", [{"sum": 3}, [1, "zwei"], 7, 1.5, True, False, {}, {"content": []}])
def test_any_other_json_value_becomes_structured_and_text(value: Any) -> None:
    """Spec 2026-07-28, structured content: any JSON value, repeated as serialised text."""
    import json

    result = call_result("t", value)

    assert result["structuredContent"] == value
    assert json.loads(_text_of(result)) == value
    assert result["isError"] is False


def test_text_beyond_ascii_is_left_readable() -> None:
    """Ours: a person reads the text block."""
    assert "grüße" in _text_of(call_result("t", {"text": "grüße"}))


def test_content_blocks_are_passed_through_as_they_are() -> None:
    """Ours: an agent that speaks MCP knows best."""
    blocks = [{"type": "image", "data": "AA==", "mimeType": "image/png"}, {"type": "text", "text": "a"}]

    assert call_result("t", {"content": blocks, "_meta": {"a": 1}}) == {
        "content": blocks,
        "_meta": {"a": 1},
        "isError": False,
    }


def test_content_blocks_keep_the_failure_they_report() -> None:
    """Ours: `isError` is only added where the agent left it out."""
    assert call_result("t", {"content": [{"type": "text", "text": "no"}], "isError": True})["isError"] is True


@pytest.mark.parametrize("content", ["text", ["text"], [{"text": "no type"}], [{"type": 1}]])
def test_a_member_called_content_that_holds_no_blocks_is_ordinary(content: Any) -> None:
    """Ours: a file tool of GAIA's documents returns `{"content": <the file>}`."""
    assert call_result("t", {"content": content})["structuredContent"] == {"content": content}


@pytest.mark.parametrize(
    "value", [{"error": "no such file"}, {"error": {"code": 1}}, {"success": False}, {"status": "error"}]
)
def test_the_ways_in_which_gaia_agents_report_failure_are_errors(value: dict[str, Any]) -> None:
    """Ours, see GAIA's agents: `error`, `success: false`, `status: error`."""
    result = call_result("t", value)

    assert result["isError"] is True
    assert result["structuredContent"] == value


@pytest.mark.parametrize(
    "value",
    [{"error": None}, {"error": ""}, {"success": True}, {"success": None}, {"status": "ok"}, ["error"], "error"],
)
def test_what_only_looks_like_a_failure_is_none(value: Any) -> None:
    """Ours: many agents always have the member and leave it empty."""
    assert call_result("t", value)["isError"] is False


def _endless() -> list[Any]:
    value: list[Any] = []
    for _ in range(100_000):
        value = [value]
    return value


def _round() -> dict[str, Any]:
    value: dict[str, Any] = {}
    value["self"] = value
    return value


@pytest.mark.parametrize("value", [object(), {"a": object()}, float("nan"), {("a",): 1}, _endless(), _round()])
def test_a_value_that_is_not_json_is_a_failure(value: Any) -> None:
    """Ours: the caller hears of it instead of waiting for ever."""
    result = call_result("t", value)

    assert result["isError"] is True
    assert "not JSON" in _text_of(result)
    assert json_problem(value) is not None


def test_a_value_that_is_not_json_is_named_with_its_tool_place_and_type() -> None:
    """Ours: the author has to find it."""
    text = _text_of(call_result("load", {"rows": [1, {"when": threading.Lock()}]}))

    assert text == "tool 'load' returned a value that is not JSON: rows[1].when is of type _thread.lock"


@dataclasses.dataclass
class Point:
    x: int
    error: str = ""


class Colour(enum.Enum):
    RED = "red"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (datetime.date(2026, 1, 2), "2026-01-02"),
        (decimal.Decimal("1.50"), "1.50"),
        (pathlib.PurePosixPath("a/b"), "a/b"),
        (Colour.RED, "red"),
    ],
)
def test_what_json_carries_as_text_becomes_text(value: Any, text: str) -> None:
    """Ours: times, decimals, paths, enumerations."""
    assert call_result("t", value) == {"content": [{"type": "text", "text": text}], "isError": False}


def test_a_dataclass_is_structured_and_reports_no_failure() -> None:
    """Ours: GAIA's ways to report a failure are those of a dict."""
    result = call_result("t", Point(1, error="far"))

    assert (result["structuredContent"], result["isError"]) == ({"x": 1, "error": "far"}, False)
    assert json.loads(_text_of(result)) == {"x": 1, "error": "far"}


def test_bytes_and_images_become_content_of_their_kind() -> None:
    """Spec, tool results: image content has a MIME type."""
    png = b"\x89PNG\r\n\x1a\n"

    result = call_result("t", [png, "a caption"])

    assert result["content"] == [
        {"type": "image", "data": base64.b64encode(png).decode(), "mimeType": "image/png"},
        {"type": "text", "text": "a caption"},
    ]
    assert "structuredContent" not in result


def test_a_file_that_cannot_be_read_is_a_failure() -> None:
    """Ours."""
    result = call_result("t", File(path="/nowhere/at.all"))

    assert result["isError"] is True
    assert "tool 't' returned a file that cannot be read" in _text_of(result)


NUMBER = {"type": "object", "properties": {"result": {"type": "integer"}}, "required": ["result"]}
POINT = {"type": "object", "properties": {"x": {"type": "integer"}}, "required": ["x"]}


@pytest.mark.parametrize(
    ("value", "schema", "structured", "text"),
    [
        (5, NUMBER, {"result": 5}, "5"),
        ({"x": 1}, POINT, {"x": 1}, '{\n  "x": 1\n}'),
        (Point(1), POINT, {"x": 1, "error": ""}, '{\n  "x": 1,\n  "error": ""\n}'),
        ([1, 2], {"type": "array"}, [1, 2], "[\n  1,\n  2\n]"),
        ("x", {"properties": {"result": {"type": "string"}}, "type": "object"}, {"result": "x"}, "x"),
        (Colour.RED, {"properties": {"result": {"const": "red"}}, "type": "object"}, {"result": "red"}, "red"),
    ],
)
def test_structured_content_fits_the_output_schema(value: Any, schema: Any, structured: Any, text: str) -> None:
    """Spec: it conforms. As with the official SDK, what is not an object is the member `result` of one."""
    result = call_result("t", value, Checker(schema))

    assert result == {"content": [{"type": "text", "text": text}], "structuredContent": structured, "isError": False}


@pytest.mark.parametrize(
    ("value", "schema", "problem"),
    [
        ("x", NUMBER, 'result: "x" is not of type "integer"'),
        (None, NUMBER, 'result: null is not of type "integer"'),
        ({"y": 1}, POINT, "'x' is missing"),
    ],
)
def test_a_value_that_does_not_fit_its_output_schema_is_a_failure(value: Any, schema: Any, problem: str) -> None:
    """Spec: a server MUST send conforming structured content."""
    result = call_result("t", value, Checker(schema))

    assert result["isError"] is True
    assert _text_of(result) == f"tool 't' returned a value that does not fit its output schema: {problem}"


def test_a_result_without_content_still_fits_its_output_schema() -> None:
    """Spec: structured content is required where there is an output schema, and null is a value."""
    schema = {"type": "object", "properties": {"result": {"type": "null"}}, "required": ["result"]}

    assert call_result("t", None, Checker(schema)) == {
        "content": [], "structuredContent": {"result": None}, "isError": False
    }  # fmt: skip


def test_a_failure_need_not_fit_the_output_schema() -> None:
    """Spec: clients do not validate the content of an error."""
    assert call_result("t", {"error": "no"}, Checker(NUMBER)) == {
        "content": [{"type": "text", "text": '{\n  "error": "no"\n}'}], "isError": True,
        "structuredContent": {"error": "no"},
    }  # fmt: skip


def test_an_output_schema_that_cannot_be_used_checks_nothing() -> None:
    """Ours: the value is worth more than the schema."""
    assert call_result("t", [1], Checker({"type": "nonsense"}))["structuredContent"] == [1]


def test_a_json_value_has_no_problem() -> None:
    """Ours."""
    assert json_problem({"a": [1, None, "x"]}) is None


def test_a_failure_is_a_text_with_the_mark_of_an_error() -> None:
    """Spec, tool errors: reported inside the result."""
    assert failure("no") == {"content": [{"type": "text", "text": "no"}], "isError": True}


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (ValueError("Unknown tool: x"), "Unknown tool: x"),
        (ValueError(), "ValueError"),
        (KeyError("path"), "KeyError: 'path'"),
        (SystemExit(2), "SystemExit: 2"),
        (SystemExit(), "SystemExit"),
    ],
)
def test_an_exception_is_told_in_words_that_mean_something(error: BaseException, text: str) -> None:
    """Ours: its own words, with its class where they alone say nothing."""
    assert failure_of(error)["isError"] is True
    assert _text_of(failure_of(error)) == text


def test_a_prompt_may_be_a_text() -> None:
    """Ours: the shortest thing an agent can return."""
    assert prompt_result("Say hello.", "A greeting") == {
        "description": "A greeting",
        "messages": [{"role": "user", "content": {"type": "text", "text": "Say hello."}}],
    }


def test_a_prompt_may_be_messages_with_plain_texts() -> None:
    """Ours: as most libraries for models write them."""
    image = {"role": "user", "content": {"type": "image", "data": "AA==", "mimeType": "image/png"}}

    assert prompt_result([{"role": "assistant", "content": "Yes?"}, image], "") == {
        "messages": [{"role": "assistant", "content": {"type": "text", "text": "Yes?"}}, image]
    }


def test_a_prompt_may_be_a_complete_result() -> None:
    """Ours: its own members are kept."""
    whole = {"description": "mine", "messages": [{"role": "user", "content": "Hi"}], "_meta": {}}

    result = prompt_result(whole, "theirs")

    assert result["description"] == "mine"
    assert result["_meta"] == {}
    assert result["messages"] == [{"role": "user", "content": {"type": "text", "text": "Hi"}}]
    assert prompt_result({"messages": []}, "theirs") == {"description": "theirs", "messages": []}


@pytest.mark.parametrize("value", [None, 7, {"text": "x"}, {"messages": "x"}])
def test_a_prompt_of_any_other_kind_is_refused(value: Any) -> None:
    """Ours: a TypeError names the kind, and becomes an internal error."""
    with pytest.raises(TypeError, match=type(value).__name__):
        prompt_result(value, "")


@pytest.mark.parametrize("value", [["x"], [{"role": "user"}], {"messages": [{"role": "user", "content": 7}]}])
def test_a_prompt_with_a_message_that_is_none_is_refused(value: Any) -> None:
    """Spec, PromptMessage: a role and a content."""
    with pytest.raises(TypeError, match="message"):
        prompt_result(value, "")


def test_a_resource_may_be_a_text() -> None:
    """Spec, resources/read: `text` with the type that was announced."""
    assert resource_result("hi", "x://a", "text/plain") == {
        "contents": [{"uri": "x://a", "mimeType": "text/plain", "text": "hi"}]
    }


@pytest.mark.parametrize("value", [b"\x00\x01", bytearray(b"\x00\x01"), memoryview(b"\x00\x01")])
def test_a_resource_may_be_bytes(value: Any) -> None:
    """Spec, resources/read: `blob` is base64."""
    assert resource_result(value, "x://a", None) == {"contents": [{"uri": "x://a", "blob": "AAE="}]}


def test_a_resource_may_be_any_json_value() -> None:
    """Ours: as text, with the type of JSON unless another was announced."""
    (contents,) = resource_result({"a": 1}, "x://a", None)["contents"]
    assert contents["mimeType"] == "application/json"
    assert contents["text"] == '{\n  "a": 1\n}'
    assert resource_result([], "x://a", "x/y")["contents"][0]["mimeType"] == "x/y"


def test_a_resource_may_be_a_whole_result_and_is_completed() -> None:
    """Spec, resources/read: every content has its uri."""
    whole = {"contents": [{"text": "a"}, {"uri": "x://b", "mimeType": "b/b", "text": "b"}], "_meta": {}}

    assert resource_result(whole, "x://a", "a/a") == {
        "contents": [
            {"uri": "x://a", "mimeType": "a/a", "text": "a"},
            {"uri": "x://b", "mimeType": "b/b", "text": "b"},
        ],
        "_meta": {},
    }

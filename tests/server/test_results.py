from __future__ import annotations

import base64
import dataclasses
import datetime
import decimal
import enum
import json
import math
import pathlib
import threading
from typing import Any

import pytest

from gaia_mcp.checking.checker import Checker
from gaia_mcp.content import File, Image
from gaia_mcp.server.members import json_problem
from gaia_mcp.server.provider import ResultError
from gaia_mcp.server.results import call_result, failure, failure_of, prompt_result, resource_result


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


@pytest.mark.parametrize(
    "value",
    [
        {"a": 1, "b": 'x\ny "é" \u2028', "c": None, 3: 1.5, "d": True}, [1, "2", None, False], {}, [], {"a": []},
        [{}], [[1]], {"": ""}, [""], {"a": {"b": 1}, "c": 2}, "a\nb", 3, 1e300,
    ],
)  # fmt: skip
def test_the_text_of_a_value_has_an_indent_of_two(value: Any) -> None:
    """GAIA: as its documents show results, whether there is one level or several."""
    expected = value if isinstance(value, str) else json.dumps(value, indent=2, ensure_ascii=False)

    assert _text_of(call_result("t", value)) == expected


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
    result = call_result("t", value, Checker(schema).validation_errors)

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
    result = call_result("t", value, Checker(schema).validation_errors)

    assert result["isError"] is True
    assert _text_of(result) == f"tool 't' returned a value that does not fit its output schema: {problem}"


def test_a_result_without_content_still_fits_its_output_schema() -> None:
    """Spec: structured content is required where there is an output schema, and null is a value."""
    schema = {"type": "object", "properties": {"result": {"type": "null"}}, "required": ["result"]}

    assert call_result("t", None, Checker(schema).validation_errors) == {
        "content": [], "structuredContent": {"result": None}, "isError": False
    }  # fmt: skip


def test_a_failure_need_not_fit_the_output_schema() -> None:
    """Spec: clients do not validate the content of an error."""
    assert call_result("t", {"error": "no"}, Checker(NUMBER).validation_errors) == {
        "content": [{"type": "text", "text": '{\n  "error": "no"\n}'}], "isError": True,
        "structuredContent": {"error": "no"},
    }  # fmt: skip


FITS_POINT = Checker(POINT).validation_errors


def _problem_of(value: Any, validate: Any = None) -> str:
    """The text of the failure that becomes of it."""
    result = call_result("t", value, validate)
    assert result["isError"] is True
    assert set(result) == {"content", "isError"}
    return _text_of(result)


@pytest.mark.parametrize("value", [{"content": [{"type": "text", "text": "x"}]}, b"\x89PNG\r\n\x1a\n", [b"x", "y"]])
def test_a_result_without_structured_content_fails_its_output_schema(value: Any) -> None:
    """Spec, MS-16: a client would raise on it; the official server's result is a failure too."""
    assert _problem_of(value, FITS_POINT) == "tool 't' returned no structured content, which its output schema requires"


@pytest.mark.parametrize(
    ("structured", "problem"), [({"x": "1"}, 'x: "1" is not of type "integer"'), (None, 'null is not of type "object"')]
)
def test_structured_content_of_a_whole_result_is_checked(structured: Any, problem: str) -> None:
    """Spec, MS-16."""
    value = {"content": [{"type": "text", "text": "x"}], "structuredContent": structured}

    assert _problem_of(value, FITS_POINT) == (
        f"tool 't' returned structured content that does not fit its output schema: {problem}"
    )


def test_structured_content_of_a_whole_result_that_fits_is_kept() -> None:
    """Spec, MS-16: also a null, where the schema asks for that."""
    value = {"content": [{"type": "text", "text": "x"}], "structuredContent": {"x": 1}, "isError": None}

    assert call_result("t", value, FITS_POINT) == {**value, "isError": False}
    null = {"content": [], "structuredContent": None}
    assert call_result("t", null, Checker({"type": "null"}).validation_errors) == {**null, "isError": False}
    assert call_result("t", null) == {"content": [], "isError": False}


def test_a_whole_failure_need_not_fit_the_output_schema() -> None:
    """Spec: clients do not validate the content of an error."""
    value = {"content": [{"type": "text", "text": "no"}], "isError": True}

    assert call_result("t", value, FITS_POINT) == value


def test_structured_content_alone_is_repeated_as_text() -> None:
    """Spec, MS-16: as serialised text, for clients that know nothing else."""
    result = call_result("t", {"structuredContent": {"x": 1}}, FITS_POINT)

    assert result["structuredContent"] == {"x": 1}
    assert json.loads(_text_of(result)) == {"x": 1}


@pytest.mark.parametrize("content", ["no", ["no"], [{"type": "text", "text": "no", "annotations": None}]])
def test_texts_are_content_where_the_value_says_whether_it_failed(content: Any) -> None:
    """Ours: with MCP's `isError` it can be nothing but a result."""
    assert call_result("t", {"content": content, "isError": True}) == failure("no")


def test_an_agent_cannot_speak_for_the_protocol() -> None:
    """Ours: what it passes on of another server's result is about another connection."""
    text = {"type": "text", "text": "x"}
    whole = {
        "resultType": "complete", "content": [text], "inputRequests": {"q": {"method": "roots/list"}},
        "requestState": "s", "nextCursor": "2", "ttlMs": 5, "cacheScope": "public", "own": 1,
        "_meta": {"io.modelcontextprotocol/serverInfo": {"name": "other"}, "mine": 1},
    }  # fmt: skip

    assert call_result("t", whole) == {"content": [text], "isError": False, "own": 1, "_meta": {"mine": 1}}
    assert prompt_result({**whole, "messages": []}, "") == {
        "messages": [], "content": [text], "own": 1, "_meta": {"mine": 1}
    }  # fmt: skip


@pytest.mark.parametrize("kind", ["input_required", "task", "partial", 7, ["complete"]])
def test_a_result_that_is_not_complete_is_a_failure(kind: Any) -> None:
    """Spec, MS-5 and MS-8: an agent cannot end a call like this, for it does not see the next one."""
    value = {"content": [], "resultType": kind, "inputRequests": {}, "requestState": "s"}

    assert _problem_of(value) == (
        f"tool 't' returned a result of the type {str(kind)!r}, where only a complete one may be returned"
    )
    with pytest.raises(ResultError, match="only a complete one"):
        prompt_result({"messages": [], "resultType": kind}, "")
    with pytest.raises(ResultError, match="only a complete one"):
        resource_result({"contents": [{"text": "x"}], "resultType": kind}, "x://a", None)


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ({"isError": "yes"}, "isError is not true or false"),
        ({"_meta": "x"}, "_meta is not an object"),
        ({"content": 5, "isError": False}, "content is not a list of blocks"),
        ({"content": [{"text": "x"}], "isError": False}, "content[0] is not a content block, which has a type"),
        ({"content": [{"type": "text"}]}, "content[0], of the type text, has no text, a text"),
    ],
)
def test_a_whole_result_that_is_nearly_right_is_a_failure(value: Any, problem: str) -> None:
    """Spec, CallToolResult: clients drop the whole result for one such member."""
    whole = {"content": [{"type": "text", "text": "x"}], **value}

    assert _problem_of(whole) == f"tool 't' returned an invalid result: {problem}"


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


def test_a_prompt_may_show_what_a_tool_may_return() -> None:
    """Ours: an image, a sound or a file, alone, beside texts, and in a message."""
    png = Image(data=b"\x89PNG\r\n\x1a\n")
    user = {"role": "user", "content": png.block()}
    file = File(data=b"hi", format="text/plain", uri="x://a")

    assert prompt_result(png, "") == {"messages": [user]}
    assert prompt_result(b"\x89PNG\r\n\x1a\n", "") == {"messages": [user]}
    assert prompt_result([png, "Look.", {"role": "assistant", "content": file}], "") == {
        "messages": [
            user,
            {"role": "user", "content": {"type": "text", "text": "Look."}},
            {
                "role": "assistant",
                "content": {"type": "resource", "resource": {"uri": "x://a", "mimeType": "text/plain", "text": "hi"}},
            },
        ]
    }


def test_a_prompt_may_be_a_complete_result() -> None:
    """Ours: its own members are kept."""
    whole = {"description": "mine", "messages": [{"role": "user", "content": "Hi"}], "_meta": {}}

    result = prompt_result(whole, "theirs")

    assert result["description"] == "mine"
    assert result["_meta"] == {}
    assert result["messages"] == [{"role": "user", "content": {"type": "text", "text": "Hi"}}]
    assert prompt_result({"messages": []}, "theirs") == {"description": "theirs", "messages": []}


@pytest.mark.parametrize(
    ("value", "structured"),
    [
        ({"when": datetime.date(2026, 7, 28)}, {"when": "2026-07-28"}),
        ([b"x", {2}], ["eA==", [2]]),
    ],
)
def test_structured_content_of_a_whole_result_becomes_json_as_any_other_value(value: Any, structured: Any) -> None:
    """Ours: it would be an internal error of the server, and the tool has run."""
    block = {"type": "text", "text": "x"}

    for result in ({"content": [block]}, {}):
        found = call_result("t", {**result, "structuredContent": value})
        assert (found["isError"], found["structuredContent"]) == (False, structured)
    assert call_result("t", {"structuredContent": value, "content": [block]}, lambda _: ())["isError"] is False


@pytest.mark.parametrize(
    ("members", "words"),
    [
        ({"structuredContent": {"a": threading.Lock()}}, "not JSON: structuredContent.a is of type"),
        ({"structuredContent": [math.nan]}, "structuredContent is not JSON"),
        ({"_meta": {"a": threading.Lock()}}, "_meta is not JSON"),
        ({"_meta": []}, "_meta is not an object"),
        ({"own": {1}}, "own is not JSON"),
    ],
)
def test_a_whole_result_with_a_member_that_is_not_json_is_a_failure(members: dict[str, Any], words: str) -> None:
    """Ours: as for any other value, not an internal error."""
    result = call_result("t", {"content": [{"type": "text", "text": "x"}], **members})

    assert result["isError"] is True
    assert words in _text_of(result)


@pytest.mark.parametrize("value", [None, 7, {"text": "x"}, {"messages": "x"}])
def test_a_prompt_of_any_other_kind_is_refused(value: Any) -> None:
    """Ours: the error names the kind."""
    with pytest.raises(ResultError, match=type(value).__name__):
        prompt_result(value, "")


@pytest.mark.parametrize(
    "value",
    [
        [7],
        [["x"]],
        [{"role": "user"}],
        [{"role": "system", "content": "x"}],
        [{"content": "x"}],
        {"messages": [{"role": "user", "content": 7}]},
        {"messages": [{"role": "user", "content": {"type": "image", "data": "AA=="}}]},
    ],
)
def test_a_prompt_with_an_invalid_message_is_refused(value: Any) -> None:
    """Spec, PromptMessage: a content block, and the role user or assistant."""
    with pytest.raises(ResultError, match=r"messages\[0\]"):
        prompt_result(value, "")


def test_a_prompts_description_is_a_text() -> None:
    """Spec, GetPromptResult."""
    with pytest.raises(ResultError, match="description is not a text"):
        prompt_result({"messages": [], "description": 7}, "")


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


def test_a_resource_may_say_how_long_it_lasts() -> None:
    """Spec, MS-11: the rest of what it says for the protocol is the server's."""
    whole = {"contents": [{"text": "a"}], "ttlMs": 5, "cacheScope": "public", "nextCursor": "x", "requestState": "s"}

    assert resource_result(whole, "x://a", None) == {
        "contents": [{"uri": "x://a", "text": "a"}], "ttlMs": 5, "cacheScope": "public"
    }  # fmt: skip


@pytest.mark.parametrize("item", ["text", {}, {"text": 5}, {"blob": b"x"}, {"uri": 5, "text": "x"}])
def test_a_resource_with_invalid_contents_is_refused(item: Any) -> None:
    """Spec, TextResourceContents and BlobResourceContents."""
    with pytest.raises(ResultError, match=r"contents\[0\]"):
        resource_result({"contents": [item]}, "x://a", None)

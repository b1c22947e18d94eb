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
from typing import TYPE_CHECKING, Any

import pytest

from gaia_mcp.checking import Checker
from gaia_mcp.core.content import File, Image
from gaia_mcp.server.definitions import json_problem
from gaia_mcp.server.provider import ResultError
from gaia_mcp.server.results import (
    call_result,
    checked_block,
    checked_blocks,
    checked_contents,
    failure,
    failure_of,
    prompt_result,
    resource_result,
)

if TYPE_CHECKING:
    from collections.abc import Callable


def _text_of(result: dict[str, Any]) -> str:
    (block,) = result["content"]
    assert block["type"] == "text"
    text: str = block["text"]
    return text


def _refused(make: Callable[..., Any], *arguments: Any) -> str:
    """The message of the `ResultError` that is raised, or "" if none is."""
    try:
        make(*arguments)
    except ResultError as error:
        return str(error)
    return ""


def test_a_string_becomes_text() -> None:
    """Ours: nothing is put around it, so that a shell gets just this."""
    assert call_result("t", "hello") == {"content": [{"type": "text", "text": "hello"}], "isError": False}


def test_nothing_becomes_no_content() -> None:
    """Spec: `content` is required and may be empty."""
    assert call_result("t", None) == {"content": [], "isError": False}


def test_any_other_json_value_becomes_structured_content_and_text() -> None:
    """Spec 2026-07-28, structured content: any JSON value, repeated as serialised text."""
    values: list[Any] = [{"sum": 3}, [1, "zwei"], 7, 1.5, True, False, {}, {"content": []}]

    results = [call_result("t", value) for value in values]

    assert [repr(result["structuredContent"]) for result in results] == [repr(value) for value in values]
    assert [repr(json.loads(_text_of(result))) for result in results] == [repr(value) for value in values]
    assert [result["isError"] for result in results] == [False] * len(values)


def test_the_text_of_a_value_has_an_indent_of_two() -> None:
    """GAIA: as its documents show results, whether there is one level or several."""
    values: list[Any] = [
        {"a": 1, "b": 'x\ny "é" \u2028', "c": None, 3: 1.5, "d": True}, [1, "2", None, False], {}, [], {"a": []},
        [{}], [[1]], {"": ""}, [""], {"a": {"b": 1}, "c": 2}, 3, 1e300,
    ]  # fmt: skip
    expected = [json.dumps(value, indent=2, ensure_ascii=False) for value in values]

    assert [_text_of(call_result("t", value)) for value in values] == expected
    assert _text_of(call_result("t", "a\nb")) == "a\nb"


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


def test_a_member_called_content_without_content_blocks_is_structured_content() -> None:
    """Ours: a file tool of GAIA's documents returns `{"content": <the file>}`."""
    values = [{"content": content} for content in ("text", ["text"], [{"text": "no type"}], [{"type": 1}])]

    assert [call_result("t", value)["structuredContent"] for value in values] == values


def test_the_ways_in_which_gaia_agents_report_failure_are_errors() -> None:
    """Ours, see GAIA's agents: `error`, `success: false`, `status: error`."""
    values = [{"error": "no such file"}, {"error": {"code": 1}}, {"success": False}, {"status": "error"}]

    results = [call_result("t", value) for value in values]

    assert [(each["isError"], each["structuredContent"]) for each in results] == [(True, value) for value in values]


def test_an_empty_error_member_is_not_a_failure() -> None:
    """Ours: many agents always have the member and leave it empty."""
    values = [
        {"error": None},
        {"error": ""},
        {"success": True},
        {"success": None},
        {"status": "ok"},
        ["error"],
        "error",
    ]

    assert [value for value in values if call_result("t", value)["isError"] is not False] == []


def _endless() -> list[Any]:
    value: list[Any] = []
    for _ in range(100_000):
        value = [value]
    return value


def _round() -> dict[str, Any]:
    value: dict[str, Any] = {}
    value["self"] = value
    return value


def test_a_value_that_is_not_json_is_a_failure() -> None:
    """Ours: the caller gets an error instead of waiting for ever."""
    values = {
        "object": object(), "member": {"a": object()}, "nan": math.nan, "key": {("a",): 1}, "deep": _endless(),
        "cycle": _round(),
    }  # fmt: skip
    results = {name: call_result("t", value) for name, value in values.items()}

    assert [name for name, result in results.items() if result["isError"] is not True] == []
    assert [name for name, result in results.items() if "not JSON" not in _text_of(result)] == []
    assert [name for name, value in values.items() if json_problem(value) is None] == []


def test_an_error_names_the_tool_the_path_and_the_type_of_a_value_that_is_not_json() -> None:
    """Ours: the author has to find it."""
    text = _text_of(call_result("load", {"rows": [1, {"when": threading.Lock()}]}))

    assert text == "tool 'load' returned a value that is not JSON: rows[1].when is of type _thread.lock"


@dataclasses.dataclass
class Point:
    x: int
    error: str = ""


class Colour(enum.Enum):
    RED = "red"


def test_dates_decimals_paths_and_enum_members_become_text() -> None:
    """Ours: JSON has no type for them but the string."""
    texts = {
        datetime.date(2026, 1, 2): "2026-01-02",
        decimal.Decimal("1.50"): "1.50",
        pathlib.PurePosixPath("a/b"): "a/b",
        Colour.RED: "red",
    }

    assert {value: call_result("t", value) for value in texts} == {
        value: {"content": [{"type": "text", "text": text}], "isError": False} for value, text in texts.items()
    }


def test_a_dataclass_with_an_error_field_is_not_a_failure() -> None:
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
    """Ours: the tool has run, so its caller gets a result with the reason, not an internal error."""
    result = call_result("t", File(path="/nowhere/at.all"))

    assert result["isError"] is True
    assert "tool 't' returned a file that cannot be read" in _text_of(result)


NUMBER = {"type": "object", "properties": {"result": {"type": "integer"}}, "required": ["result"]}
POINT = {"type": "object", "properties": {"x": {"type": "integer"}}, "required": ["x"]}


def test_structured_content_fits_the_output_schema() -> None:
    """Spec: it conforms. As with the official SDK, what is not an object is the member `result` of one."""
    values: list[tuple[Any, Any, Any, str]] = [
        (5, NUMBER, {"result": 5}, "5"),
        ({"x": 1}, POINT, {"x": 1}, '{\n  "x": 1\n}'),
        (Point(1), POINT, {"x": 1, "error": ""}, '{\n  "x": 1,\n  "error": ""\n}'),
        ([1, 2], {"type": "array"}, [1, 2], "[\n  1,\n  2\n]"),
        ("x", {"properties": {"result": {"type": "string"}}, "type": "object"}, {"result": "x"}, "x"),
        (Colour.RED, {"properties": {"result": {"const": "red"}}, "type": "object"}, {"result": "red"}, "red"),
    ]

    assert [call_result("t", value, Checker(schema).validation_errors) for value, schema, _, _ in values] == [
        {"content": [{"type": "text", "text": text}], "structuredContent": structured, "isError": False}
        for _, _, structured, text in values
    ]


def test_a_value_that_does_not_fit_its_output_schema_is_a_failure() -> None:
    """Spec: a server MUST send conforming structured content."""
    values: list[tuple[Any, Any, str]] = [
        ("x", NUMBER, 'result: "x" is not of type "integer"'),
        (None, NUMBER, 'result: null is not of type "integer"'),
        ({"y": 1}, POINT, "'x' is missing"),
    ]

    results = [call_result("t", value, Checker(schema).validation_errors) for value, schema, _ in values]

    assert [(each["isError"], _text_of(each)) for each in results] == [
        (True, f"tool 't' returned a value that does not fit its output schema: {problem}") for _, _, problem in values
    ]


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


def test_a_result_without_structured_content_fails_its_output_schema() -> None:
    """Spec, MS-16: a client would raise on it; the official server's result is a failure too."""
    values = [{"content": [{"type": "text", "text": "x"}]}, b"\x89PNG\r\n\x1a\n", [b"x", "y"]]
    problem = "tool 't' returned no structured content, which its output schema requires"

    assert [_problem_of(value, FITS_POINT) for value in values] == [problem] * len(values)


def test_structured_content_of_a_call_tool_result_is_validated() -> None:
    """Spec, MS-16."""
    block = {"type": "text", "text": "x"}

    assert [
        _problem_of({"content": [block], "structuredContent": each}, FITS_POINT) for each in ({"x": "1"}, None)
    ] == [
        f"tool 't' returned structured content that does not fit its output schema: {problem}"
        for problem in ('x: "1" is not of type "integer"', 'null is not of type "object"')
    ]


def test_valid_structured_content_of_a_call_tool_result_is_passed_through() -> None:
    """Spec, MS-16: also a null, where the schema asks for that."""
    value = {"content": [{"type": "text", "text": "x"}], "structuredContent": {"x": 1}, "isError": None}

    assert call_result("t", value, FITS_POINT) == {**value, "isError": False}
    null = {"content": [], "structuredContent": None}
    assert call_result("t", null, Checker({"type": "null"}).validation_errors) == {**null, "isError": False}
    assert call_result("t", null) == {"content": [], "isError": False}


def test_a_call_tool_result_with_an_error_need_not_fit_the_output_schema() -> None:
    """Spec: clients do not validate the content of an error."""
    value = {"content": [{"type": "text", "text": "no"}], "isError": True}

    assert call_result("t", value, FITS_POINT) == value


def test_structured_content_alone_is_repeated_as_text() -> None:
    """Spec, MS-16: as serialised text, for clients that know nothing else."""
    result = call_result("t", {"structuredContent": {"x": 1}}, FITS_POINT)

    assert result["structuredContent"] == {"x": 1}
    assert json.loads(_text_of(result)) == {"x": 1}


def test_texts_beside_is_error_are_content() -> None:
    """Ours: with MCP's `isError` the value can be nothing but a result."""
    contents: list[Any] = ["no", ["no"], [{"type": "text", "text": "no", "annotations": None}]]

    assert [call_result("t", {"content": each, "isError": True}) for each in contents] == [failure("no")] * 3


def test_members_of_the_protocol_are_removed_from_an_agents_result() -> None:
    """Ours: in a result that it forwards from another server, they belong to another connection."""
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


def test_a_result_that_is_not_complete_is_a_failure() -> None:
    """Spec, MS-5 and MS-8: an agent cannot end a call like this, for it does not see the next one."""
    kinds: list[Any] = ["input_required", "task", "partial", 7, ["complete"]]
    results = [{"content": [], "resultType": kind, "inputRequests": {}, "requestState": "s"} for kind in kinds]

    assert [_problem_of(result) for result in results] == [
        f"tool 't' returned a result of the type {str(kind)!r}, where only a complete one may be returned"
        for kind in kinds
    ]
    for kind in kinds:
        prompt = _refused(prompt_result, {"messages": [], "resultType": kind}, "")
        contents = {"contents": [{"text": "x"}], "resultType": kind}
        resource = _refused(resource_result, contents, "x://a", None)
        assert ("only a complete one" in prompt, "only a complete one" in resource) == (True, True), kind


def test_a_call_tool_result_with_an_invalid_member_is_a_failure() -> None:
    """Spec, CallToolResult: clients drop the whole result for one such member."""
    problems: list[tuple[dict[str, Any], str]] = [
        ({"isError": "yes"}, "isError is not true or false"),
        ({"_meta": "x"}, "_meta is not an object"),
        ({"content": 5, "isError": False}, "content is not a list of blocks"),
        ({"content": [{"text": "x"}], "isError": False}, "content[0] is not a content block, which has a type"),
        ({"content": [{"type": "text"}]}, "content[0], of the type text, has no text, a text"),
    ]
    valid = {"content": [{"type": "text", "text": "x"}]}

    assert [_problem_of({**valid, **members}) for members, _ in problems] == [
        f"tool 't' returned an invalid result: {problem}" for _, problem in problems
    ]


def test_a_json_value_has_no_problem() -> None:
    """Ours: null inside a value is JSON, although it is Python's None."""
    assert json_problem({"a": [1, None, "x"]}) is None


def test_a_failure_is_a_text_block_with_is_error() -> None:
    """Spec, tool errors: reported inside the result."""
    assert failure("no") == {"content": [{"type": "text", "text": "no"}], "isError": True}


def test_a_failure_has_the_message_of_an_exception() -> None:
    """Ours: with the class of the exception where the message alone means nothing."""
    texts: list[tuple[BaseException, str]] = [
        (ValueError("Unknown tool: x"), "Unknown tool: x"),
        (ValueError(), "ValueError"),
        (KeyError("path"), "KeyError: 'path'"),
        (SystemExit(2), "SystemExit: 2"),
        (SystemExit(), "SystemExit"),
    ]

    assert [failure_of(error) for error, _ in texts] == [failure(text) for _, text in texts]


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


def test_a_prompt_may_be_or_contain_images_and_files() -> None:
    """Ours: as a tool's result may, alone, beside texts, and in a message."""
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


def test_structured_content_of_a_call_tool_result_is_converted_to_json() -> None:
    """Ours: as any other value is. It would be an internal error of the server, and the tool has run."""
    block = {"type": "text", "text": "x"}
    given: list[tuple[Any, Any]] = [
        ({"when": datetime.date(2026, 7, 28)}, {"when": "2026-07-28"}),
        ([b"x", {2}], ["eA==", [2]]),
    ]

    for value, structured in given:
        for result in ({"content": [block]}, {}):
            found = call_result("t", {**result, "structuredContent": value})
            assert (found["isError"], found["structuredContent"]) == (False, structured)
        assert call_result("t", {"structuredContent": value, "content": [block]}, lambda _: ())["isError"] is False


def test_a_call_tool_result_with_a_member_that_is_not_json_is_a_failure() -> None:
    """Ours: as for any other value, not an internal error."""
    problems: list[tuple[dict[str, Any], str]] = [
        ({"structuredContent": {"a": threading.Lock()}}, "not JSON: structuredContent.a is of type"),
        ({"structuredContent": [math.nan]}, "structuredContent is not JSON"),
        ({"_meta": {"a": threading.Lock()}}, "_meta is not JSON"),
        ({"_meta": []}, "_meta is not an object"),
        ({"own": {1}}, "own is not JSON"),
    ]
    valid = {"content": [{"type": "text", "text": "x"}]}
    texts = [(_problem_of({**valid, **members}), problem) for members, problem in problems]

    assert [(text, problem) for text, problem in texts if problem not in text] == []


def test_an_error_names_the_type_of_an_invalid_prompt() -> None:
    """Ours: the author of the agent has to find the `return` that it came from."""
    values: list[Any] = [None, 7, {"text": "x"}, {"messages": "x"}]
    errors = [(type(value).__name__, _refused(prompt_result, value, "")) for value in values]

    assert [(name, error) for name, error in errors if name not in error] == []


def test_a_prompt_with_an_invalid_message_is_refused() -> None:
    """Spec, PromptMessage: a content block, and the role user or assistant."""
    values: list[Any] = [
        [7],
        [["x"]],
        [{"role": "user"}],
        [{"role": "system", "content": "x"}],
        [{"content": "x"}],
        {"messages": [{"role": "user", "content": 7}]},
        {"messages": [{"role": "user", "content": {"type": "image", "data": "AA=="}}]},
    ]
    errors = [(value, _refused(prompt_result, value, "")) for value in values]

    assert [(value, error) for value, error in errors if "messages[0]" not in error] == []


def test_a_prompts_description_is_a_text() -> None:
    """Spec, GetPromptResult."""
    with pytest.raises(ResultError, match="description is not a text"):
        prompt_result({"messages": [], "description": 7}, "")


def test_a_resource_may_be_a_text() -> None:
    """Spec, resources/read: `text` with the type that was announced."""
    assert resource_result("hi", "x://a", "text/plain") == {
        "contents": [{"uri": "x://a", "mimeType": "text/plain", "text": "hi"}]
    }


def test_a_resource_may_be_bytes() -> None:
    """Spec, resources/read: `blob` is base64."""
    blob = {"contents": [{"uri": "x://a", "blob": "AAE="}]}

    assert [resource_result(kind(b"\x00\x01"), "x://a", None) for kind in (bytes, bytearray, memoryview)] == [blob] * 3


def test_a_resource_may_be_any_json_value() -> None:
    """Ours: as text, with the type of JSON unless another was announced."""
    (of_dataclass,) = resource_result([Point(1)], "x://a", None)["contents"]
    assert json.loads(of_dataclass["text"]) == [{"x": 1, "error": ""}]
    (contents,) = resource_result({"a": 1}, "x://a", None)["contents"]
    assert contents["mimeType"] == "application/json"
    assert contents["text"] == '{\n  "a": 1\n}'
    assert resource_result([], "x://a", "x/y")["contents"][0]["mimeType"] == "x/y"


def test_missing_uris_and_types_are_added_to_a_read_resource_result() -> None:
    """Spec, resources/read: every content has its uri."""
    whole = {"contents": [{"text": "a"}, {"uri": "x://b", "mimeType": "b/b", "text": "b"}], "_meta": {}}

    assert resource_result(whole, "x://a", "a/a") == {
        "contents": [
            {"uri": "x://a", "mimeType": "a/a", "text": "a"},
            {"uri": "x://b", "mimeType": "b/b", "text": "b"},
        ],
        "_meta": {},
    }


def test_a_resource_may_set_its_ttl_and_cache_scope() -> None:
    """Spec, MS-11: its other members of the protocol are removed."""
    whole = {"contents": [{"text": "a"}], "ttlMs": 5, "cacheScope": "public", "nextCursor": "x", "requestState": "s"}

    assert resource_result(whole, "x://a", None) == {
        "contents": [{"uri": "x://a", "text": "a"}], "ttlMs": 5, "cacheScope": "public"
    }  # fmt: skip


def test_a_resource_with_invalid_contents_is_refused() -> None:
    """Spec, TextResourceContents and BlobResourceContents."""
    items: list[Any] = ["text", {}, {"text": 5}, {"blob": b"x"}, {"uri": 5, "text": "x"}]
    errors = [(item, _refused(resource_result, {"contents": [item]}, "x://a", None)) for item in items]

    assert [(item, error) for item, error in errors if "contents[0]" not in error] == []


BLOCKS: list[dict[str, Any]] = [
    {"type": "text", "text": "", "annotations": {"priority": 1}},
    {"type": "image", "data": "AA==", "mimeType": "image/png"},
    {"type": "audio", "data": "AA==", "mimeType": "audio/wav"},
    {"type": "resource_link", "uri": "x://a", "name": "a", "size": 5},
    {"type": "resource", "resource": {"uri": "x://a", "text": ""}},
    {"type": "resource", "resource": {"uri": "x://a", "blob": "AA==", "mimeType": "a/b"}},
    {"type": "of an extension", "own": None},
]


def test_content_blocks_of_every_type_are_valid() -> None:
    """Spec, ContentBlock: kinds that we do not know are for the client to judge."""
    given = [dict(block) for block in BLOCKS]

    assert checked_blocks(given) == [*BLOCKS[:-1], {"type": "of an extension"}]
    assert given == BLOCKS


def test_a_string_becomes_a_text_block() -> None:
    """Ours: so that an agent may mix texts with other blocks."""
    assert checked_blocks(["a"]) == [{"type": "text", "text": "a"}]


def test_null_members_are_left_out() -> None:
    """Ours: models that are dumped have them, and clients take a null for a wrong type."""
    contents = {"uri": "x://a", "text": "a", "mimeType": None, "_meta": None}

    assert checked_block({"type": "resource", "resource": contents, "annotations": None}, "b") == {
        "type": "resource", "resource": {"uri": "x://a", "text": "a"}
    }  # fmt: skip


def test_an_invalid_content_block_is_refused() -> None:
    """Spec, ContentBlock: the message names the index and the member."""
    problems: list[tuple[Any, str]] = [
        (5, "is not a content block"),
        ({"text": "x"}, "is not a content block"),
        ({"type": 5}, "is not a content block"),
        ({"type": "text", "text": 5}, "of the type text, has no text"),
        ({"type": "text", "text": None}, "of the type text, has no text"),
        ({"type": "image", "data": "AA=="}, "of the type image, has no mimeType"),
        ({"type": "image", "data": b"x", "mimeType": "a/b"}, "of the type image, has no data"),
        ({"type": "audio", "mimeType": "a/b"}, "of the type audio, has no data"),
        ({"type": "resource_link", "uri": "x://a"}, "of the type resource_link, has no name"),
        ({"type": "resource_link", "uri": "a", "name": "a"}, "].uri is 'a', which has no scheme"),
        (
            {"type": "resource", "resource": {"uri": "a/b:c", "text": ""}},
            ".resource.uri is 'a/b:c', which has no scheme",
        ),
        ({"type": "resource"}, ".resource is not an object"),
        ({"type": "resource", "resource": {"text": "x"}}, ".resource has no uri"),
        ({"type": "resource", "resource": {"uri": "x://a"}}, ".resource has neither a text nor a blob"),
        ({"type": "resource", "resource": {"uri": "x://a", "text": "", "blob": b"x"}}, ".resource has neither a text"),
        ({"type": "resource", "resource": {"uri": "x://a", "text": "", "mimeType": 5}}, "].resource.mimeType is not a"),
        ({"type": "resource", "resource": {"uri": "x://a", "text": ""}, "_meta": []}, "]._meta is not an object"),
        ({"type": "text", "text": "x", "annotations": "user"}, "].annotations is not an object"),
        ({"type": "text", "text": "x", "annotations": {"audience": "user"}}, "].annotations.audience is not a list of"),
        ({"type": "text", "text": "x", "annotations": {"priority": 2}}, "].annotations.priority is not a number from"),
        ({"type": "resource_link", "uri": "x://a", "name": "a", "size": "12"}, "].size is not a whole number"),
        ({"type": "text", "text": "x", "when": {1}}, "].when is not JSON: "),
    ]

    def message_for(block: Any) -> str:
        try:
            checked_blocks(["a", block])
        except ResultError as error:
            return str(error)
        return ""

    messages = [(block, problem, message_for(block)) for block, problem in problems]

    assert [each for each in messages if each[1] not in each[2]] == []
    assert [each for each in messages if not each[2].startswith("an invalid result: content[1]")] == []


def test_content_is_a_list() -> None:
    """Spec, CallToolResult."""
    with pytest.raises(ResultError, match="content is not a list"):
        checked_blocks({"type": "text", "text": "x"})


def test_invalid_contents_of_a_resource_are_named_by_their_index() -> None:
    """Spec, ReadResourceResult."""
    with pytest.raises(ResultError, match=r"contents\[3\] has neither"):
        checked_contents({"uri": "x://a"}, "contents[3]")

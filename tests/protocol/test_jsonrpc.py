"""JSON-RPC records: reading, sorting, writing."""

from __future__ import annotations

import json
import subprocess
import sys
import tracemalloc
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gaia_mcp.protocol import jsonrpc
from gaia_mcp.protocol.jsonrpc import (
    Error,
    Fixed,
    Malformed,
    Notification,
    Request,
    Result,
    as_text,
    classify,
    encode,
    is_id,
    is_number,
    parse,
)
from tests.protocol_support import steady

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)


@steady
@given(st.dictionaries(st.text(), JSON))
def test_a_written_message_is_one_line_of_ascii_that_reads_back_the_same(message: dict[str, Any]) -> None:
    """Spec, IO-1: one message per line, no newline inside. Ours: ASCII survives every code page."""
    line = encode(message)

    assert line.endswith(b"\n")
    assert b"\n" not in line[:-1]
    assert b"\r" not in line
    assert line.isascii()
    assert parse(line) == message


def test_a_written_message_has_no_blanks_between_its_members() -> None:
    """Ours: less to carry."""
    assert encode({"a": [1, 2], "b": "c d"}) == b'{"a":[1,2],"b":"c d"}\n'


def test_a_batch_is_written_as_one_array() -> None:
    """JSON-RPC: the responses to a batch are one message."""
    assert encode([{"a": 1}, {"b": 2}]) == b'[{"a":1},{"b":2}]\n'


@pytest.mark.parametrize("value", ["text", [1], {"_meta": "text"}, {}, None])
def test_any_object_is_written_whatever_it_resembles(value: object) -> None:
    """Ours: what a tool logs may look like a message."""
    assert json.loads(encode({"params": value, "result": value})) == {"params": value, "result": value}


@steady
@given(
    members=st.dictionaries(st.text(), JSON),
    meta=st.dictionaries(st.text(), JSON),
    key=st.sampled_from(["params", "result"]),
)
def test_what_is_written_once_for_many_messages_reads_the_same(
    members: dict[str, Any], meta: dict[str, Any], key: str
) -> None:
    """Ours: an envelope is the greatest part of a small request, and always the same."""
    fixed = Fixed(meta)
    message = {"jsonrpc": "2.0", "id": 1, key: {**members, "_meta": fixed}}

    for _ in range(2):
        line = encode(message)
        assert line.isascii()
        assert line.index(b"\n") == len(line) - 1
        assert json.loads(line) == {"jsonrpc": "2.0", "id": 1, key: {**members, "_meta": meta}}
    assert message[key]["_meta"] is fixed


@pytest.mark.parametrize("meta", [{"m": "c\udcff"}, Fixed({"m": "c\udcff"})])
def test_half_of_a_surrogate_pair_is_written_as_the_replacement_character(meta: dict[str, Any]) -> None:
    """Spec, stdio: messages are UTF-8. Ours: a peer that drops such a line would be waited for in vain."""
    line = encode({"jsonrpc": "2.0", "params": {"a\ud800": ["b\udc00", "\U0001f600"], "_meta": meta}})

    assert line.isascii()
    assert parse(line)["params"] == {"a\ufffd": ["b\ufffd", "\U0001f600"], "_meta": {"m": "c\ufffd"}}


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
def test_a_number_that_json_lacks_is_not_written(value: float) -> None:
    """Spec, B-1: messages are JSON. A peer could not read the whole line."""
    with pytest.raises(ValueError):
        encode({"value": value})


def test_a_value_within_itself_is_not_written() -> None:
    """Ours: nor does it take the program with it."""
    value: dict[str, Any] = {}
    value["again"] = value
    with pytest.raises(ValueError, match="within itself"):
        jsonrpc.encode(value)


@pytest.mark.story
def test_a_python_without_c_code_for_it_writes_the_same() -> None:
    """Ours: the fast way is one that Python may lack."""
    program = (
        "import sys\nsys.modules['_json'] = None\n"
        "from gaia_mcp.protocol.jsonrpc import Fixed, encode\n"
        "message = {'id': 1, 'params': {'é': [1.5, None], '_meta': Fixed({'a': '\\n'})}}\n"
        "sys.stdout.buffer.write(encode(message))\n"
        "try:\n    encode({'a': float('nan')})\nexcept ValueError:\n    print('refused')\n"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    assert ran.stdout == b'{"id":1,"params":{"\\u00e9":[1.5,null],"_meta":{"a":"\\n"}}}\nrefused\n'


def test_a_value_that_json_lacks_is_not_written() -> None:
    """Ours: callers may rely on the class."""
    with pytest.raises(TypeError):
        encode({"value": object()})


@pytest.mark.parametrize(
    "record",
    [
        b"",
        b"Server listening on stdio",
        b'{"jsonrpc":',
        b"\xff\xfe\x00",
        b'{"text":"\xe9"}',
        b'{"text":"\xed\xa0\x80"}',
        '{"a":1}'.encode("utf-16"),
        '{"a":1}'.encode("utf-32-le"),
        b"9" * 5000,
    ],
)
def test_what_is_not_utf_8_json_cannot_be_read(record: bytes) -> None:
    """Spec, B-1: messages are UTF-8 JSON."""
    with pytest.raises(ValueError):
        parse(record)


def test_json_that_is_nested_too_deeply_cannot_be_read() -> None:
    """Ours: a hostile line is a bad line, not a crash."""
    with pytest.raises(ValueError):
        parse(b"[" * 200_000 + b"]" * 200_000)


def test_a_byte_order_mark_is_passed_over() -> None:
    """Ours: some shells put one before the first line."""
    assert parse(b'\xef\xbb\xbf{"a":"\xc3\xa9"}') == {"a": "é"}


def test_nan_is_read() -> None:
    """Ours: servers written in Python say it, and the rest of what they say is good."""
    assert str(parse(b'{"a":NaN}')["a"]) == "nan"


@pytest.mark.parametrize(("value", "valid"), [(1, True), (-1, True), ("1", True), ("", True)])
def test_ids_are_texts_and_integers(value: object, valid: bool) -> None:
    """Spec, B-1."""
    assert is_id(value) is valid


@pytest.mark.parametrize("value", [None, True, False, 1.0, 1.5, [], {}])
def test_nothing_else_is_an_id(value: object) -> None:
    """Spec, B-1; Python takes True for 1."""
    assert not is_id(value)


@pytest.mark.parametrize("value", [0, -1.5, 10**308, -(10**308)])
def test_a_number_can_be_calculated_with(value: float) -> None:
    """Ours: a bar is drawn of it."""
    assert is_number(value)
    assert value / 1.5 == float(value) / 1.5


@pytest.mark.parametrize("value", [True, "1", None, float("nan"), float("inf"), 10**400, -(10**400)])
def test_nothing_else_is_a_number(value: object) -> None:
    """Ours: JSON has larger integers than Python's floats, and some peers send NaN."""
    assert not is_number(value)


@pytest.mark.parametrize("request_id", [0, 7, -3, "7", "", "discover-1"])
def test_a_method_with_an_id_is_a_request(request_id: object) -> None:
    """Spec, B-1: the id keeps its type."""
    found = classify({"jsonrpc": "2.0", "id": request_id, "method": "tools/list", "params": {"a": 1}})

    assert found == Request(request_id, "tools/list", {"a": 1})  # type: ignore[arg-type]
    assert isinstance(found, Request)
    assert type(found.id) is type(request_id)


@pytest.mark.parametrize("members", [{}, {"params": None}, {"params": {}}])
def test_a_request_without_parameters_has_none(members: dict[str, Any]) -> None:
    """Spec: params may be left out. Ours: some write null."""
    assert classify({"jsonrpc": "2.0", "id": 1, "method": "ping", **members}) == Request(1, "ping", {})


def test_a_method_without_an_id_is_a_notification() -> None:
    """Spec, B-3."""
    assert classify({"jsonrpc": "2.0", "method": "n"}) == Notification("n", {})
    assert classify({"jsonrpc": "2.0", "method": "n", "params": {"a": 1}}) == Notification("n", {"a": 1})


@pytest.mark.parametrize("members", [{"result": {}}, {"error": {"code": 1, "message": ""}}])
def test_a_method_makes_it_a_request_whatever_else_is_there(members: dict[str, Any]) -> None:
    """Spec: a request differs from a response by its method, never by its id."""
    assert isinstance(classify({"jsonrpc": "2.0", "id": 1, "method": "ping", **members}), Request)


@pytest.mark.parametrize("members", [{}, {"error": None}, {"method": None}])
def test_an_object_as_result_is_an_answer(members: dict[str, Any]) -> None:
    """Spec, B-2. Ours: some write the absent members as null."""
    assert classify({"jsonrpc": "2.0", "id": "a", "result": {"x": 1}, **members}) == Result("a", {"x": 1})


@pytest.mark.parametrize("members", [{}, {"result": None}])
def test_an_object_as_error_is_a_refusal(members: dict[str, Any]) -> None:
    """Spec, B-2. Ours: some write the absent result as null."""
    message = {"jsonrpc": "2.0", "id": 5, "error": {"code": -32601, "message": "no", "data": [1]}, **members}

    assert classify(message) == Error(5, -32601, "no", [1])


@pytest.mark.parametrize("members", [{}, {"id": None}, {"id": 1.5}, {"id": True}, {"id": []}])
def test_a_refusal_may_lack_its_id(members: dict[str, Any]) -> None:
    """Spec: errors for requests that could not be read have none; HTTP servers write null."""
    assert classify({"jsonrpc": "2.0", "error": {"code": 1, "message": "m"}, **members}) == Error(None, 1, "m", None)


@pytest.mark.parametrize("code", [None, "-32601", 1.5, True, []])
def test_an_error_code_that_is_no_integer_becomes_an_internal_error(code: object) -> None:
    """Ours: the refusal still counts."""
    assert classify({"jsonrpc": "2.0", "id": 1, "error": {"code": code}}) == Error(1, -32603, "", None)


def test_an_error_text_that_is_no_text_is_written_out() -> None:
    """Ours: a person must see what there is."""
    assert classify({"jsonrpc": "2.0", "id": 1, "error": {"code": 1, "message": {"a": 1}}}) == Error(
        1, 1, "{'a': 1}", None
    )


def test_what_is_too_deep_to_write_out_is_left_out() -> None:
    """Ours: it must not cost the connection."""
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]

    assert as_text(deep) == ""


@pytest.mark.parametrize("value", [None, 1, "text", True, [], [{"jsonrpc": "2.0", "method": "n"}]])
def test_what_is_no_object_is_no_message(value: object) -> None:
    """Spec: batches are the connection's business."""
    assert classify(value) == Malformed("not an object", None)


@pytest.mark.parametrize(
    ("members", "known_id", "kind"),
    [
        ({"jsonrpc": "1.0", "id": 1, "method": "m"}, 1, "request"),
        ({"jsonrpc": None, "id": 1, "result": {}}, 1, "response"),
        ({"id": "a", "error": {}}, "a", "response"),
        ({"level": "info", "id": 3}, 3, ""),
        ({"jsonrpc": "2.0", "id": 1}, 1, ""),
        ({"jsonrpc": "2.0", "id": 1, "method": 5}, 1, "request"),
        ({"jsonrpc": "2.0", "id": 1, "method": "m", "params": []}, 1, "request"),
        ({"jsonrpc": "2.0", "method": "m", "params": "p"}, None, "notification"),
        ({"jsonrpc": "2.0", "id": None, "method": "m"}, None, "request"),
        ({"jsonrpc": "2.0", "id": 1.5, "method": "m"}, None, "request"),
        ({"jsonrpc": "2.0", "id": True, "method": "m"}, None, "request"),
        ({"jsonrpc": "2.0", "id": 1, "result": {}, "error": {}}, 1, "response"),
        ({"jsonrpc": "2.0", "id": 1, "result": None}, 1, "response"),
        ({"jsonrpc": "2.0", "id": 1, "result": "text"}, 1, "response"),
        ({"jsonrpc": "2.0", "id": 1, "error": "text"}, 1, "response"),
        ({"jsonrpc": "2.0", "id": None, "result": {}}, None, "response"),
        ({"jsonrpc": "2.0", "result": {}}, None, "response"),
    ],
)
def test_a_broken_message_is_known_by_what_it_may_have_meant(
    members: dict[str, Any], known_id: object, kind: str
) -> None:
    """Ours: what happens next depends on whether it was an answer."""
    found = classify(members)

    assert isinstance(found, Malformed)
    assert (found.id, found.kind) == (known_id, kind)
    assert found.problem


@steady
@given(JSON)
def test_anything_can_be_classified(value: object) -> None:
    """Ours: it never raises."""
    assert isinstance(classify(value), (Request, Notification, Result, Error, Malformed))


@pytest.mark.parametrize(
    ("message", "wire"),
    [
        (jsonrpc.request(1, "m", None), {"jsonrpc": "2.0", "id": 1, "method": "m"}),
        (jsonrpc.request("a", "m", {}), {"jsonrpc": "2.0", "id": "a", "method": "m", "params": {}}),
        (jsonrpc.notification("n", None), {"jsonrpc": "2.0", "method": "n"}),
        (jsonrpc.notification("n", {"a": 1}), {"jsonrpc": "2.0", "method": "n", "params": {"a": 1}}),
        (jsonrpc.result(1, {}), {"jsonrpc": "2.0", "id": 1, "result": {}}),
        (jsonrpc.error(1, -1, "t"), {"jsonrpc": "2.0", "id": 1, "error": {"code": -1, "message": "t"}}),
        (jsonrpc.error(0, -1, "t"), {"jsonrpc": "2.0", "id": 0, "error": {"code": -1, "message": "t"}}),
        (jsonrpc.error(None, -1, "t"), {"jsonrpc": "2.0", "error": {"code": -1, "message": "t"}}),
        (
            jsonrpc.error("a", -1, "t", {"d": 1}),
            {"jsonrpc": "2.0", "id": "a", "error": {"code": -1, "message": "t", "data": {"d": 1}}},
        ),
    ],
)
def test_messages_carry_only_the_members_that_they_have(message: dict[str, Any], wire: dict[str, Any]) -> None:
    """Spec: an error without an id leaves it out, for the schemas allow no null."""
    assert message == wire
    assert json.loads(encode(message)) == wire


@pytest.mark.parametrize("member", ["content", "contents"])
def test_a_long_result_is_in_memory_twice(member: str) -> None:
    """Ours: as the agent returned it, and as it is sent."""
    size = 8 << 20
    value = {member: [{"type": "text", "text": "x" * size}], "_meta": Fixed({"a": 1})}
    message = jsonrpc.result(1, value)

    tracemalloc.start()
    line = encode(message)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert peak < 1.5 * size
    assert parse(line) == {"jsonrpc": "2.0", "id": 1, "result": value}


@pytest.mark.parametrize("content", ["x" * 10, [], ["x"], [{"type": "text"}], [{"text": 5}], {"text": "x"}])
def test_a_result_without_a_long_text_is_written_as_a_whole(content: Any) -> None:
    """Ours: also an invalid one."""
    assert json.loads(encode(jsonrpc.result(1, {"content": content})))["result"] == {"content": content}

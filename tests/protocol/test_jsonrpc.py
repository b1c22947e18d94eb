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

from gaia_mcp.core.internals import compact_writer
from gaia_mcp.protocol import jsonrpc
from gaia_mcp.protocol.jsonrpc import (
    Error,
    Fixed,
    Malformed,
    Notification,
    RepeatedMemberError,
    Request,
    Result,
    as_text,
    classify,
    encode,
    encode_long,
    is_id,
    is_number,
    malformed,
    parse,
    parse_strictly,
)
from tests.protocol_support import check_each, check_rows, steady

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=8,
)
# Few members, since each takes a millisecond to be made: what one is makes the difference, not how many there are.
OBJECT = st.dictionaries(st.text(), JSON, max_size=3)


@steady
@given(OBJECT)
def test_an_encoded_message_is_one_ascii_line_that_decodes_to_the_same_value(message: dict[str, Any]) -> None:
    """Spec, IO-1: one message per line, no newline inside. Ours: ASCII survives every code page."""
    line = encode(message)

    assert line.endswith(b"\n")
    assert b"\n" not in line[:-1]
    assert b"\r" not in line
    assert line.isascii()
    assert parse(line) == message


def test_an_encoded_message_has_no_spaces_between_members() -> None:
    """Ours: less to carry."""
    assert encode({"a": [1, 2], "b": "c d"}) == b'{"a":[1,2],"b":"c d"}\n'


def test_a_batch_is_encoded_as_one_array() -> None:
    """JSON-RPC: the responses to a batch are one message."""
    assert encode([{"a": 1}, {"b": 2}]) == b'[{"a":1},{"b":2}]\n'


def test_any_json_value_is_encoded_as_params_and_result() -> None:
    """Ours: what a tool logs may look like a message."""
    wrong = [
        (value, found)
        for value in ["text", [1], {"_meta": "text"}, {}, None]
        if (found := json.loads(encode({"params": value, "result": value}))) != {"params": value, "result": value}
    ]

    assert not wrong


@steady
@given(members=OBJECT, meta=OBJECT, key=st.sampled_from(["params", "result"]))
def test_a_fixed_meta_is_encoded_like_any_other(members: dict[str, Any], meta: dict[str, Any], key: str) -> None:
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
def test_a_lone_surrogate_is_encoded_as_the_replacement_character(meta: dict[str, Any]) -> None:
    """Spec, stdio: messages are UTF-8. Ours: a peer that drops such a line would be waited for in vain."""
    line = encode({"jsonrpc": "2.0", "params": {"a\ud800": ["b\udc00", "\U0001f600"], "_meta": meta}})

    assert line.isascii()
    assert parse(line)["params"] == {"a\ufffd": ["b\ufffd", "\U0001f600"], "_meta": {"m": "c\ufffd"}}


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
def test_nan_and_infinity_are_not_encoded(value: float) -> None:
    """Spec, B-1: messages are JSON. A peer could not read the whole line."""
    with pytest.raises(ValueError):
        encode({"value": value})


def test_a_circular_value_is_not_encoded() -> None:
    """Ours: a tool's mistake must not end the server in a RecursionError."""
    value: dict[str, Any] = {}
    value["again"] = value
    with pytest.raises(ValueError, match="within itself"):
        jsonrpc.encode(value)


@pytest.mark.story
def test_the_pure_python_encoder_writes_the_same() -> None:
    """Ours: Python may lack the C code of the json module."""
    program = (
        "import sys\nsys.modules['_json'] = None\n"
        "from gaia_mcp.protocol.jsonrpc import Fixed, encode\n"
        "message = {'id': 1, 'params': {'é': [1.5, None], '_meta': Fixed({'a': '\\n'})}}\n"
        "sys.stdout.buffer.write(encode(message))\n"
        "try:\n    encode({'a': float('nan')})\nexcept ValueError:\n    print('refused')\n"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    assert ran.stdout == b'{"id":1,"params":{"\\u00e9":[1.5,null],"_meta":{"a":"\\n"}}}\nrefused\n'


def test_a_value_that_is_not_json_raises_type_error() -> None:
    """Ours: callers may rely on the class."""
    with pytest.raises(TypeError):
        encode({"value": object()})


def test_a_record_that_is_not_utf_8_json_is_rejected() -> None:
    """Spec, B-1: messages are UTF-8 JSON."""
    cases = [
        b"",
        b"Server listening on stdio",
        b'{"jsonrpc":',
        b"\xff\xfe\x00",
        b'{"text":"\xe9"}',
        b'{"text":"\xed\xa0\x80"}',
        '{"a":1}'.encode("utf-16"),
        '{"a":1}'.encode("utf-32-le"),
        b"9" * 5000,
    ]

    def check(record: bytes) -> None:
        with pytest.raises(ValueError):
            parse(record)

    check_each(check, cases)


def test_json_nested_too_deeply_is_rejected() -> None:
    """Ours: a hostile line is an invalid line, not a crash."""
    with pytest.raises(ValueError):
        parse(b"[" * 200_000 + b"]" * 200_000)


def test_a_byte_order_mark_is_skipped() -> None:
    """Ours: some shells put one before the first line."""
    assert parse(b'\xef\xbb\xbf{"a":"\xc3\xa9"}') == {"a": "é"}


def test_nan_is_accepted() -> None:
    """Ours: servers written in Python send it, and the rest of the message is valid."""
    assert str(parse(b'{"a":NaN}')["a"]) == "nan"


def test_ids_are_strings_and_integers() -> None:
    """Spec, B-1."""
    cases = [(1, True), (-1, True), ("1", True), ("", True)]

    wrong = [(value, valid, found) for value, valid in cases if (found := is_id(value)) is not valid]

    assert not wrong


def test_a_value_of_another_type_is_not_an_id() -> None:
    """Spec, B-1; Python takes True for 1."""
    wrong = [value for value in [None, True, False, 1.0, 1.5, [], {}] if is_id(value)]

    assert not wrong


def test_a_finite_number_is_usable_in_arithmetic() -> None:
    """Ours: a progress bar divides it."""

    def check(value: float) -> None:
        assert is_number(value)
        assert value / 1.5 == float(value) / 1.5

    check_each(check, [0, -1.5, 10**308, -(10**308)])


def test_booleans_strings_and_huge_values_are_not_numbers() -> None:
    """Ours: JSON has larger integers than Python's floats, and some peers send NaN."""
    cases = [True, "1", None, float("nan"), float("inf"), 10**400, -(10**400)]

    wrong = [value for value in cases if is_number(value)]

    assert not wrong


def test_a_method_with_an_id_is_a_request() -> None:
    """Spec, B-1: the id keeps its type."""

    def check(request_id: object) -> None:
        found = classify({"jsonrpc": "2.0", "id": request_id, "method": "tools/list", "params": {"a": 1}})

        assert found == Request(request_id, "tools/list", {"a": 1})  # type: ignore[arg-type]
        assert isinstance(found, Request)
        assert type(found.id) is type(request_id)

    check_each(check, [0, 7, -3, "7", "", "discover-1"])


@pytest.mark.parametrize("members", [{}, {"params": None}, {"params": {}}])
def test_a_request_without_params_has_empty_params(members: dict[str, Any]) -> None:
    """Spec: params may be left out. Ours: some write null."""
    assert classify({"jsonrpc": "2.0", "id": 1, "method": "ping", **members}) == Request(1, "ping", {})


def test_a_method_without_an_id_is_a_notification() -> None:
    """Spec, B-3."""
    assert classify({"jsonrpc": "2.0", "method": "n"}) == Notification("n", {})
    assert classify({"jsonrpc": "2.0", "method": "n", "params": {"a": 1}}) == Notification("n", {"a": 1})


@pytest.mark.parametrize("members", [{"result": {}}, {"error": {"code": 1, "message": ""}}])
def test_a_message_with_a_method_and_an_id_is_a_request_despite_a_result_or_an_error(members: dict[str, Any]) -> None:
    """Spec: a request differs from a response by its method, never by its id."""
    assert isinstance(classify({"jsonrpc": "2.0", "id": 1, "method": "ping", **members}), Request)


@pytest.mark.parametrize("members", [{}, {"error": None}, {"method": None}])
def test_a_message_with_a_result_object_is_a_result(members: dict[str, Any]) -> None:
    """Spec, B-2. Ours: some write the absent members as null."""
    assert classify({"jsonrpc": "2.0", "id": "a", "result": {"x": 1}, **members}) == Result("a", {"x": 1})


@pytest.mark.parametrize("members", [{}, {"result": None}])
def test_a_message_with_an_error_object_is_an_error(members: dict[str, Any]) -> None:
    """Spec, B-2. Ours: some write the absent result as null."""
    message = {"jsonrpc": "2.0", "id": 5, "error": {"code": -32601, "message": "no", "data": [1]}, **members}

    assert classify(message) == Error(5, -32601, "no", [1])


def test_an_error_may_lack_an_id() -> None:
    """Spec: errors for requests that could not be read have none; HTTP servers write null."""
    wrong = [
        (members, found)
        for members in [{}, {"id": None}, {"id": 1.5}, {"id": True}, {"id": []}]
        if (found := classify({"jsonrpc": "2.0", "error": {"code": 1, "message": "m"}, **members}))
        != Error(None, 1, "m", None)
    ]

    assert not wrong


def test_an_invalid_error_code_becomes_internal_error() -> None:
    """Ours: the refusal still counts."""
    wrong = [
        (code, found)
        for code in [None, "-32601", 1.5, True, []]
        if (found := classify({"jsonrpc": "2.0", "id": 1, "error": {"code": code}})) != Error(1, -32603, "", None)
    ]

    assert not wrong


def test_an_error_message_that_is_not_a_string_is_converted() -> None:
    """Ours: the user must see what the server sent."""
    assert classify({"jsonrpc": "2.0", "id": 1, "error": {"code": 1, "message": {"a": 1}}}) == Error(
        1, 1, "{'a': 1}", None
    )


def test_the_text_of_a_value_nested_too_deeply_is_empty() -> None:
    """Ours: a message for the user must not end the connection."""
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]

    assert as_text(deep) == ""


def test_a_value_that_is_not_an_object_is_malformed() -> None:
    """Spec: batches are handled by the connection."""
    cases = [None, 1, "text", True, [], [{"jsonrpc": "2.0", "method": "n"}]]

    wrong = [(value, found) for value in cases if (found := classify(value)) != Malformed("not an object", None)]

    assert not wrong


def test_a_malformed_message_has_its_id_and_its_probable_kind() -> None:
    """Ours: only an invalid response fails a request."""
    cases = [
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
    ]

    def check(members: dict[str, Any], known_id: object, kind: str) -> None:
        found = classify(members)

        assert isinstance(found, Malformed)
        assert (found.id, found.kind) == (known_id, kind)
        assert found.problem

    check_rows(check, cases)


@steady
@given(JSON)
def test_classifying_never_raises(value: object) -> None:
    """Ours: it never raises."""
    assert isinstance(classify(value), (Request, Notification, Result, Error, Malformed))


def test_a_message_omits_absent_members() -> None:
    """Spec: an error without an id leaves it out, for the schemas allow no null."""
    cases = [
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
    ]

    def check(message: dict[str, Any], wire: dict[str, Any]) -> None:
        assert message == wire
        assert json.loads(encode(message)) == wire

    check_rows(check, cases)


@pytest.mark.parametrize("member", ["content", "contents"])
def test_encoding_a_long_result_copies_it_once(member: str) -> None:
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


def test_a_result_without_a_long_text_is_encoded_unchanged() -> None:
    """Ours: also an invalid one."""
    cases = ["x" * 10, [], ["x"], [{"type": "text"}], [{"text": 5}], {"text": "x"}]

    wrong = [
        (content, found)
        for content in cases
        if (found := json.loads(encode(jsonrpc.result(1, {"content": content})))["result"]) != {"content": content}
    ]

    assert not wrong


def test_a_repeated_member_is_named() -> None:
    """RFC 8259, section 4: names should be unique; parsers differ in which one they return."""
    assert parse_strictly(b'{"a":{"b":1},"b":2}') == {"a": {"b": 1}, "b": 2}
    with pytest.raises(RepeatedMemberError, match="the member 'b' is given twice") as caught:
        parse_strictly(b'{"id":1,"method":"m","params":{"b":1,"b":2}}')
    assert caught.value.value == {"id": 1, "method": "m", "params": {"b": 2}}
    assert malformed(caught.value.value, "twice") == Malformed("twice", 1, "request")
    assert malformed([1], "twice") == Malformed("twice", None)
    with pytest.raises(ValueError, match="Extra data"):
        parse_strictly(b'{"a":1,"a":2}{}')


write = compact_writer()

TEXTS = st.text(st.sampled_from('aé\U0001f600\ud83d\ude00"\\\0\n'), max_size=12)

VALUES = st.recursive(
    TEXTS | st.none() | st.integers(), lambda items: st.lists(items) | st.dictionaries(TEXTS, items), max_leaves=8
)


def as_usual(message: dict[str, Any]) -> Any:
    """What a peer reads of the message, where nothing is written piece by piece."""
    return json.loads(encode(message))


@steady
@given(st.dictionaries(TEXTS, VALUES), st.integers(min_value=1, max_value=6))
def test_a_message_encoded_in_chunks_is_the_same_message(message: dict[str, Any], long_chars: int) -> None:
    """Spec, B-1: JSON in UTF-8, and no half of a surrogate pair."""
    line = encode_long(message, write, long_chars)

    assert json.loads(line) == as_usual(message)
    assert line.endswith(b"\n")
    assert line.count(b"\n") == 1


def test_a_text_equal_to_the_placeholder_is_encoded() -> None:
    """Ours: a server may return anything."""
    message = {"long": "x" * 30, "other": "\x00long text\x00"}

    assert json.loads(encode_long(message, write, 20)) == message

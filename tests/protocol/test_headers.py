"""Messages are repeated in headers, and checked against them."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given as for_each
from hypothesis import strategies as st

from gaia_mcp.protocol import ALL_VERSIONS, NEWEST
from gaia_mcp.protocol.headers import (
    AnnotationError,
    Parameter,
    annotated_parameters,
    decoded,
    encoded,
    header_fault,
    parameter_headers,
    parameter_problem,
    repeats_in_headers,
    standard_headers,
    standard_problem,
)
from gaia_mcp.protocol.jsonrpc import request
from tests.protocol_support import ENVELOPE, VERSION, check_each, check_rows, steady

REGION = (Parameter("Mcp-Param-Region", ("region",)),)
COUNT = (Parameter("Mcp-Param-Count", ("count",)),)


def schema(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


def annotated(kind: Any = "string", name: Any = "Region") -> dict[str, Any]:
    return {"type": kind, "x-mcp-header": name}


def lowered(headers: dict[str, str]) -> dict[str, str]:
    return {name.lower(): value for name, value in headers.items()}


# Values.


def test_values_are_encoded_as_the_specification_shows() -> None:
    """Spec, HC-4: its examples, and those of SEP-2243."""
    cases = [
        ("us-west1", "us-west1"),
        ("us west\t1", "us west\t1"),
        ("", ""),
        ("file:///path/to/file%20name.txt?id=123", "file:///path/to/file%20name.txt?id=123"),
        ("Hello, 世界", "=?base64?SGVsbG8sIOS4lueVjA==?="),
        (" padded ", "=?base64?IHBhZGRlZCA=?="),
        (" us-west1", "=?base64?IHVzLXdlc3Qx?="),
        ("us-west1 ", "=?base64?dXMtd2VzdDEg?="),
        ("\tindented", "=?base64?CWluZGVudGVk?="),
        ("line1\nline2", "=?base64?bGluZTEKbGluZTI=?="),
        ("line1\r\nline2", "=?base64?bGluZTENCmxpbmUy?="),
        ("=?base64?literal?=", "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?="),
    ]

    def check(text: str, value: str) -> None:
        assert encoded(text) == value
        assert decoded(value) == text

    check_rows(check, cases)


@steady
@for_each(st.text())
def test_any_text_survives_encoding_in_a_header(text: str) -> None:
    """Ours: nothing that a name or an argument holds can begin another header."""
    value = encoded(text)

    assert value.isascii()
    assert not set(value) & set(map(chr, [*range(9), *range(10, 32), 127]))
    assert value == value.strip()
    assert decoded(value) == text


def test_a_lone_surrogate_is_encoded_as_in_the_body() -> None:
    """Ours: header and body must agree (HC-1)."""
    assert decoded(encoded("a\ud800")) == "a\ufffd"
    assert decoded(encoded("\ud83d\ude00")) == "\U0001f600"


@pytest.mark.parametrize("value", ["=?BASE64?SGVsbG8=?=", "=?base64?SGVsbG8=", "SGVsbG8="])
def test_a_value_that_only_resembles_the_encoding_is_not_decoded(value: str) -> None:
    """SEP-2243: the marks are compared exactly."""
    assert decoded(value) == value


def test_a_malformed_header_value_is_an_error() -> None:
    """Spec, HS-5: malformed headers are rejected."""
    cases = ["=?base64?SGVsbG8?=", "=?base64?SGVs!!!bG8=?=", "=?base64?/w==?=", "caf\xe9", " a", "a\0", "a\r\nb"]

    def check(value: str) -> None:
        with pytest.raises(ValueError, match=r"Base64|characters"):
            decoded(value)

    check_each(check, cases)


# What a client sends.


def test_revision_method_and_name_are_repeated_in_headers() -> None:
    """Spec, HC-1: its revision, its method and what it names."""
    cases = [
        ("tools/call", {"name": "get_weather"}, "get_weather"),
        ("prompts/get", {"name": "Überblick"}, "=?base64?w5xiZXJibGljaw==?="),
        ("resources/read", {"uri": "file:///a"}, "file:///a"),
        ("tasks/get", {"taskId": "t-1"}, "t-1"),
        ("tasks/cancel", {"taskId": "t-1"}, "t-1"),
        ("tasks/update", {"taskId": "t-1"}, "t-1"),
        ("tasks/result", {"taskId": "t-1"}, None),
        ("tools/call", {"name": 7}, None),
        ("tools/list", {"name": "x"}, None),
    ]

    def check(method: str, params: dict[str, Any], name: str | None) -> None:
        headers = standard_headers(request(1, method, {**params, "_meta": ENVELOPE}))

        assert headers.pop("Mcp-Name", None) == name
        assert headers == {"MCP-Protocol-Version": ENVELOPE[VERSION], "Mcp-Method": method}

    check_rows(check, cases)


def test_a_message_without_an_envelope_has_no_version_header() -> None:
    """Ours: it is of the handshake era, or a notification."""
    assert standard_headers({"jsonrpc": "2.0", "method": "ping", "params": None}) == {"Mcp-Method": "ping"}


def test_a_method_with_a_line_break_cannot_inject_a_header() -> None:
    """Ours: programs choose methods too."""
    assert "\n" not in standard_headers(request(1, "a\r\nX: y", None))["Mcp-Method"]


def test_an_argument_is_repeated_in_a_header() -> None:
    """Spec, HC-4: null has no header, and no other value has one that is not a string, a boolean or a safe integer."""
    cases = [
        ("us west", "us west"),
        ("", ""),
        (True, "true"),
        (False, "false"),
        (-7, "-7"),
        (2**53 - 1, "9007199254740991"),
        (42.0, "42"),
        (2**53, None),
        (10**500, None),
        (3.5, None),
        (float("inf"), None),
        (float("nan"), None),
        (None, None),
        (["a"], None),
    ]

    def check(value: Any, header: str | None) -> None:
        expected = {} if header is None else {"Mcp-Param-Region": header}

        assert parameter_headers(REGION, {"region": value}) == expected

    check_rows(check, cases)


def test_an_argument_that_is_not_given_has_no_header() -> None:
    """Spec, HC-4: also where its object is not one."""
    wrong = [
        (arguments, found)
        for arguments in [{}, None, {"filter": "x"}, {"filter": {}}]
        if (found := parameter_headers([Parameter("Mcp-Param-A", ("filter", "a"))], arguments)) != {}
    ]

    assert not wrong


# Annotations.


def test_annotated_properties_are_found_at_any_depth() -> None:
    """Spec, Streamable HTTP: objects may be nested as long as only properties lead to the value."""
    found = annotated_parameters(
        schema(
            region=annotated(),
            filter=schema(level=annotated("integer", "Level"), x=schema(flag=annotated("boolean", "F"))),
            plain={"type": "string"},
            anything=True,
        )
    )

    assert set(found) == {
        Parameter("Mcp-Param-Region", ("region",)),
        Parameter("Mcp-Param-Level", ("filter", "level")),
        Parameter("Mcp-Param-F", ("filter", "x", "flag")),
    }


def test_a_parameter_that_may_be_null_may_be_annotated() -> None:
    """Spec, HC-4: an argument that is null has no header."""
    assert annotated_parameters(schema(region=annotated(["string", "null"]))) == REGION


def test_a_property_named_x_mcp_header_is_not_an_annotation() -> None:
    """Ours: property names are free, and values are not schemas."""
    free = schema(**{"x-mcp-header": {"type": "string", "default": annotated(), "examples": [annotated()]}})
    assert annotated_parameters({**free, "const": {"x-mcp-header": 1}}) == ()


def test_a_schema_without_annotations_has_no_parameters() -> None:
    """Ours: other faults of a schema are reported elsewhere."""
    wrong = [(root, found) for root in [None, [], True, "x", {}] if (found := annotated_parameters(root)) != ()]

    assert not wrong


def test_a_malformed_annotation_makes_the_tool_invalid() -> None:
    """Spec, HC-4: a client excludes the tool."""
    cases = [
        schema(a=annotated(name="")),
        schema(a=annotated(name="My Region")),
        schema(a=annotated(name="Region:Primary")),
        schema(a=annotated(name="Région")),
        schema(a=annotated(name="Region\t1")),
        schema(a=annotated(name="Region\r\nX-Evil")),
        schema(a=annotated(name=7)),
        schema(a=annotated(name=None)),
        schema(a=annotated(name="Region\n")),
        schema(a=annotated(), b=annotated(name="REGION")),
        schema(a=annotated("number")),
        schema(a=annotated("object")),
        schema(a=annotated("array")),
        schema(a=annotated("null")),
        schema(a=annotated([])),
        schema(a=annotated([[]])),
        schema(a=annotated({})),
        schema(a=annotated(["string", "number"])),
        schema(a={"x-mcp-header": "A", "enum": ["x"]}),
        {**schema(), "x-mcp-header": "Root", "type": "string"},
        schema(a={"type": "array", "items": annotated()}),
        schema(a={"type": "array", "prefixItems": [annotated()]}),
        schema(a={"anyOf": [annotated(), {"type": "null"}]}),
        schema(a={"not": annotated()}),
        {**schema(), "if": schema(a=annotated())},
        {**schema(), "allOf": [schema(a=annotated())]},
        {**schema(a={"$ref": "#/$defs/a"}), "$defs": {"a": annotated()}},
        {**schema(), "patternProperties": {"^a": annotated()}},
        {**schema(), "additionalProperties": annotated()},
    ]

    def check(root: Any) -> None:
        with pytest.raises(AnnotationError, match="x-mcp-header"):
            annotated_parameters(root)

    check_each(check, cases)


def test_a_schema_may_be_nested_beyond_the_recursion_limit() -> None:
    """Ours: a hostile schema must not end the client."""
    deep: dict[str, Any] = annotated()
    for _ in range(5000):
        deep = schema(a=deep)

    (found,) = annotated_parameters(deep)
    assert len(found.path) == 5000


# What a server checks.


def test_headers_built_by_a_client_are_accepted_by_a_server() -> None:
    """Spec, HC-1 and HS-5."""
    arguments = {"region": "Zürich"}
    message = request(1, "tools/call", {"name": "a b ", "arguments": arguments, "_meta": ENVELOPE})

    assert standard_problem(lowered(standard_headers(message)), message) is None
    assert parameter_problem(lowered(parameter_headers(REGION, arguments)), REGION, arguments) is None


def test_headers_that_differ_from_the_body_are_reported() -> None:
    """Spec, HS-5: missing, malformed or different."""
    cases = [
        ({"mcp-method": "TOOLS/CALL"}, "the header Mcp-Method is 'TOOLS/CALL', and the body has 'tools/call'"),
        ({"mcp-name": "foo"}, "the header Mcp-Name is 'foo', and the body has 'bar'"),
        ({"mcp-name": None}, "the header Mcp-Name is missing"),
        ({"mcp-method": None}, "the header Mcp-Method is missing"),
        ({"mcp-protocol-version": None}, "the header MCP-Protocol-Version is missing"),
        ({"mcp-protocol-version": "2025"}, "the header MCP-Protocol-Version is '2025', and the body has '2026-07-28'"),
        ({"mcp-name": "=?base64?YmFy!?="}, "the header Mcp-Name is not Base64 of UTF-8"),
        ({"mcp-name": "b\xe4r"}, "the header Mcp-Name holds characters that a header may not hold"),
    ]  # fmt: skip

    def check(changed: dict[str, str | None], problem: str) -> None:
        message = request(1, "tools/call", {"name": "bar", "_meta": ENVELOPE})
        headers = {**lowered(standard_headers(message)), **changed}
        present = {name: value for name, value in headers.items() if value is not None}

        assert standard_problem(present, message) == problem

    check_rows(check, cases)


def test_a_name_is_compared_after_decoding() -> None:
    """Spec, HS-5: what is sent in Base64 may be plain as well."""
    message = request(1, "tools/call", {"name": "bar", "_meta": ENVELOPE})
    headers = {**lowered(standard_headers(message)), "mcp-name": "=?base64?YmFy?="}

    assert standard_problem(headers, message) is None


def test_a_request_without_a_name_needs_no_mcp_name_header() -> None:
    """Spec, Streamable HTTP: `Mcp-Name` belongs to some methods."""
    message = request(1, "tools/list", {"_meta": ENVELOPE})

    assert standard_problem(lowered(standard_headers(message)), message) is None


def test_headers_of_arguments_are_checked() -> None:
    """Spec, HS-5: integers as numbers; an argument that no header can repeat is for its schema to reject."""
    cases = [
        ({"count": 42}, {"mcp-param-count": "42"}, None),
        ({"count": 42}, {"mcp-param-count": "42.0"}, None),
        ({"count": 42}, {"mcp-param-count": "43"}, "the header Mcp-Param-Count is '43', and the body has '42'"),
        ({"count": 42}, {"mcp-param-count": "42e0"}, "the header Mcp-Param-Count is '42e0', and the body has '42'"),
        ({"count": True}, {"mcp-param-count": "true"}, None),
        ({"count": True}, {"mcp-param-count": "1"}, "the header Mcp-Param-Count is '1', and the body has 'true'"),
        ({"count": "42"}, {"mcp-param-count": "42.0"}, "the header Mcp-Param-Count is '42.0', and the body has '42'"),
        ({"count": 42}, {}, "the header Mcp-Param-Count is missing"),
        ({"count": None}, {}, None),
        ({}, {}, None),
        ({}, {"mcp-param-count": "42"}, "the header Mcp-Param-Count repeats an argument that is not given"),
        ({"count": None}, {"mcp-param-count": "4"}, "the header Mcp-Param-Count repeats an argument that is not given"),
        ({"count": ["x"]}, {"mcp-param-count": "x"}, None),
        ({"count": ["x"]}, {}, None),
    ]  # fmt: skip

    wrong = [
        (arguments, headers, problem, found)
        for arguments, headers, problem in cases
        if (found := parameter_problem(headers, COUNT, arguments)) != problem
    ]

    assert not wrong


def test_the_fault_of_a_header_is_named() -> None:
    """RFC 9110, section 5.5: as the end of a sentence, without the value, which may be a secret."""
    cases = {
        "good value": None,
        "a\nb": "contains a line break",
        "a\x00b": "contains characters that HTTP does not allow",
        " a": "begins with a space",
        "\ta": "begins with a tab",
        "a ": "ends with a space",
        "a\t": "ends with a tab",
    }

    assert {value: header_fault(value) for value in cases} == cases


def test_only_the_newest_revision_repeats_parts_of_a_message_in_headers() -> None:
    """Spec 2026-07-28, transports."""
    assert [version for version in (*ALL_VERSIONS, "2027-01-01", None) if repeats_in_headers(version)] == [NEWEST]

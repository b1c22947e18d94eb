"""Validation: which schemas are usable, what fits one, and the errors for what does not."""

from __future__ import annotations

import contextlib
import json
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gaia_mcp.toolspec import validation as invalid_arguments
from gaia_mcp.toolspec.cost import UNBOUNDED
from gaia_mcp.toolspec.validation import (
    ExternalReferenceError,
    InvalidArgumentsError,
    SchemaError,
    ValidationError,
    as_text,
    details_of,
    is_plainly_valid,
    is_trivial,
    load_validator,
    near_misses,
    plain_members,
    report,
    schema_of,
    unknown_names,
)
from tests.protocol_support import steady
from tests.schema_support import ANY_SCHEMA, nested


def check_schema(schema: Any) -> None:
    schema_of(as_text(schema)).compile()


def validation_errors(schema: Any, value: Any) -> list[ValidationError]:
    return schema_of(as_text(schema)).errors(value)


class TestCheckSchema:
    """Whether a schema can be used."""

    def test_a_usable_schema_is_accepted(self) -> None:
        """JSON Schema 2020-12 and its forerunners; words that are not known are notes."""
        cases = [
            {},
            True,
            False,
            {"type": "object"},
            {"$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object"},
            {"$schema": "http://json-schema.org/draft-07/schema#", "definitions": {"a": {}}, "$ref": "#/definitions/a"},
            {"$schema": "http://json-schema.org/draft-04/schema#", "type": "string"},
            {"properties": {"child": {"$ref": "#"}}},
            {"x-unknown": [1, 2], "type": "string", "format": "no-such-format"},
            nested(100),
            {"properties": {f"p{number}": {"type": "string"} for number in range(5000)}},
        ]

        refused = []
        for schema in cases:
            try:
                check_schema(schema)
            except SchemaError as error:
                refused.append((schema, error))

        assert not refused

    def test_an_unusable_schema_is_refused_with_the_reason(self) -> None:
        """B-4: an unknown dialect is reported. Ours: `test-client` says of every schema what is wrong where."""
        cases = [
            ({"type": "strin"}, "type"),
            ({"properties": {"a": {"type": 5}}}, "properties.a.type"),
            ({"required": "path"}, "required"),
            ({"allOf": [{}, {"minimum": "1"}]}, "allOf[1].minimum"),
            ({"pattern": "("}, "pattern"),
            (None, "null"),
            ([], "object"),
            ("object", "string"),
            ('{"type": "object"}', "string"),
            ({"$ref": "#/$defs/missing"}, "/$defs/missing"),
            ({"$ref": "https://example.org/schema.json"}, "https://example.org/schema.json"),
            ({"$schema": "https://example.org/my-dialect"}, "https://example.org/my-dialect"),
            ({"default": {1, 2}}, "not JSON"),
        ]

        wrong = []
        for schema, words in cases:
            try:
                check_schema(schema)
            except SchemaError as error:
                if words not in str(error):
                    wrong.append((schema, words, error))
            else:
                wrong.append((schema, words, None))

        assert not wrong

    def test_the_dialect_is_2020_12_unless_the_schema_names_another(self) -> None:
        """B-4: `prefixItems` came with 2020-12, `items` for each place went with it."""
        by_place, earlier = {"prefixItems": [{"type": "string"}]}, {"items": [{"type": "string"}]}
        draft_7 = {"$schema": "http://json-schema.org/draft-07/schema#"}

        assert validation_errors(by_place, [1])
        assert not validation_errors(draft_7 | by_place, [1])
        assert validation_errors(draft_7 | earlier, [1])
        with pytest.raises(SchemaError):
            check_schema(earlier)

    def test_half_of_a_surrogate_pair_is_checked_as_it_is_sent(self) -> None:
        """Ours: with the replacement character in its place."""
        schema = {"description": "\ud800", "properties": {"a\udcff": {"enum": ["b\ud800"]}}}

        assert validation_errors(schema, {"a\udcff": "b\ud800"}) == []
        (error,) = validation_errors(schema, {"a\udcff": "c\ud800"})
        assert error.where == "a\ufffd"

    @pytest.mark.parametrize("depth", [500, 100_000])
    def test_a_schema_nested_too_deeply_is_refused(self, depth: int) -> None:
        """Ours: neither Python's limit nor the validator's is a crash."""
        with pytest.raises(SchemaError):
            check_schema(nested(depth))

    def test_a_reference_to_another_document_is_an_external_reference_error(self) -> None:
        """B-5: nothing can be checked against the first. Ours: a local mistake is common and harmless."""
        cases = [
            {"$ref": "https://example.org/a.json"},
            {"properties": {"a": {"$ref": "other.json#/a"}}},
            {"$id": "https://example.org/a", "allOf": [{"$ref": "b"}]},
            {"items": {"$dynamicRef": "https://example.org/a#b"}},
            {"$ref": "file:///etc/passwd"},
            {"$ref": "x://it's"},
        ]

        wrong = []
        for schema in cases:
            try:
                check_schema(schema)
            except ExternalReferenceError as error:
                if "is not part of it, and is not fetched" not in str(error):
                    wrong.append((schema, error))
            else:
                wrong.append((schema, None))

        assert not wrong
        with pytest.raises(SchemaError) as caught:
            check_schema({"$ref": "#/$defs/missing"})
        assert not isinstance(caught.value, ExternalReferenceError)

    def test_nothing_is_fetched(self) -> None:
        """B-5: a server's schema must not make us call other computers."""
        asked: list[str] = []

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                asked.append(self.path)
                self.send_response(200)
                self.end_headers()
                self.wfile.write(b"{}")

            def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
                pass

        with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
            thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
            thread.start()
            address = f"http://127.0.0.1:{server.server_address[1]}/schema.json"
            for schema in ({"$ref": address}, {"$schema": address}, {"$ref": f"{address}#/a"}, {"$id": address}):
                with contextlib.suppress(SchemaError):
                    check_schema(schema)
                with contextlib.suppress(SchemaError):
                    validation_errors(schema, {"a": 1})
            server.shutdown()
            thread.join()
        assert asked == []


class TestValidationErrors:
    """What is wrong with a value."""

    SCHEMA: ClassVar[dict[str, Any]] = {
        "type": "object",
        "properties": {
            "path": {"type": "string"},
            "limit": {"type": "integer", "maximum": 10},
            "tags": {"type": "array", "items": {"type": "object", "properties": {"name": {"type": "string"}}}},
        },
        "required": ["path", "mode"],
        "additionalProperties": False,
    }

    def test_a_valid_value_has_no_errors(self) -> None:
        """JSON Schema 2020-12."""
        assert validation_errors(self.SCHEMA, {"path": "/", "mode": 1, "limit": 3} | {}) != []
        assert validation_errors({**self.SCHEMA, "required": ["path"]}, {"path": "/", "limit": 3}) == []

    def test_all_validation_errors_are_reported_at_once(self) -> None:
        """Ours: one look, one correction; what is missing or unknown first."""
        found = validation_errors(self.SCHEMA, {"limit": 99, "tags": [{}, {"name": 3}], "colour": "red", "size": 1})

        assert [(problem.where, problem.keyword) for problem in found[:3]] == [
            ("", "required"),
            ("", "required"),
            ("", "additionalProperties"),
        ]
        assert {problem.what for problem in found[:2]} == {"'path' is missing", "'mode' is missing"}
        assert all(f"'{name}'" in found[2].what for name in ("colour", "size"))
        assert {(problem.where, problem.keyword) for problem in found[3:]} == {
            ("limit", "maximum"),
            ("tags[1].name", "type"),
        }

    def test_a_validation_error_reads_as_a_sentence(self) -> None:
        """Ours: it is printed as it is."""
        assert str(ValidationError("a.b[0]", "is wrong", "type")) == "a.b[0]: is wrong"
        assert str(ValidationError("", "is wrong", "type")) == "is wrong"
        assert (
            validation_errors(
                {"type": "array", "items": {"type": "array", "items": {"type": "null"}}}, [[None], [None, 1]]
            )[0].where
            == "[1][1]"
        )

    def test_an_unevaluated_member_is_reported_as_unknown(self) -> None:
        """JSON Schema 2020-12: the newer way to close an object."""
        assert [problem.what for problem in validation_errors({"unevaluatedProperties": False}, {"a": 1})] == [
            "there is no 'a'"
        ]

    def test_a_long_message_is_cut_in_the_middle(self) -> None:
        """Ours: a megabyte that does not fit need not be read again, but why it does not."""
        (problem,) = validation_errors({"type": "integer"}, "x" * 1000)
        assert len(problem.what) == 300
        assert problem.what.endswith('xxx" is not of type "integer"')

    def test_a_reference_to_itself_is_followed_as_deep_as_the_value(self) -> None:
        """JSON Schema 2020-12: trees."""
        tree = {"type": "object", "properties": {"child": {"$ref": "#"}}, "additionalProperties": False}
        assert validation_errors(tree, {"child": {"child": {}}}) == []
        assert [problem.where for problem in validation_errors(tree, {"child": {"child": {"leaf": 1}}})] == [
            "child.child"
        ]
        assert validation_errors({"$ref": "#"}, 1) == []

    def test_a_pattern_that_backtracks_exponentially_terminates(self) -> None:
        """Ours: a server's pattern must not hang us."""
        cases = ["^(a+)+$", "^(a|aa)*$", r"^(?=(a+)+$)(a+)+\2$", r"^(a|a)*\1b$"]

        wrong = [
            pattern
            for pattern in cases
            if validation_errors({"type": "string", "pattern": pattern}, "a" * 5000 + "!") == []
        ]

        assert not wrong

    def test_a_value_that_is_not_json_or_nested_too_deeply_is_invalid(self) -> None:
        """Ours: an answer, not an exception of the validator."""
        cases = [{"a": {1}}, {1: 2}, {"a": json.loads("[" * 900 + "]" * 900)}, {"a": object()}]

        schema = {"properties": {"a": {"type": "string"}}}
        wrong = [value for value in cases if [each.keyword for each in validation_errors(schema, value)] != ["json"]]

        assert not wrong
        assert [value for value in cases if schema_of(as_text(schema)).is_valid(value)] == []

    def test_half_of_a_surrogate_pair_in_a_value_is_validated_as_it_is_sent(self) -> None:
        """Unicode: it is sent as U+FFFD, in keys too."""
        schema = {"properties": {"\ufffd": {"maxLength": 1}}, "additionalProperties": False}

        for value, is_valid in (({"\ud800": "\udfff"}, True), ({"\ud800": "\udfffx"}, False)):
            assert schema_of(as_text(schema)).is_valid(value) is is_valid
            assert (validation_errors(schema, value) == []) is is_valid

    def test_the_cost_of_a_schema_is_that_of_its_text(self) -> None:
        """B-5: what is too much work is not begun."""
        assert schema_of('{"$ref": "#"}').cost.units({}, 1) == UNBOUNDED
        assert schema_of('{"type": "object"}').cost.units({}, 1) < UNBOUNDED

    def test_unusual_numbers_are_checked_without_an_exception(self) -> None:
        """Ours: an infinity is no JSON number, an integer of any length is."""
        cases = [float("inf"), float("nan"), 10**400, 2**63, -(2**70)]

        wrong = [
            value for value in cases if bool(validation_errors({"type": "number"}, value)) != isinstance(value, float)
        ]

        assert not wrong

    def test_format_is_an_annotation_only(self) -> None:
        """JSON Schema 2020-12: `format` annotates; a stricter reading is the server's."""
        assert validation_errors({"type": "string", "format": "email"}, "jane") == []

    def test_no_arguments_are_valid_for_a_tool_without_required_ones(self) -> None:
        """Ours: not even the validator is loaded for it."""
        assert is_trivial({"type": "object", "properties": {"a": {"type": "integer"}}}, {})
        assert not is_trivial({"type": "object", "required": ["a"]}, {})
        assert not is_trivial({"type": "array"}, {})
        assert not is_trivial({"type": "object"}, [])
        assert not is_trivial({"type": "object", "minProperties": 1}, {})

    def test_an_unusable_schema_is_not_a_validation_error(self) -> None:
        """Ours: that is the server's fault, not the caller's."""
        with pytest.raises(SchemaError):
            validation_errors({"type": "strin"}, {"a": 1})


@steady
@given(ANY_SCHEMA)
def test_any_schema_is_validated_or_refused(schema: Any) -> None:
    """Ours: a careless server's schema is reported, not an exception of the validator."""
    with contextlib.suppress(SchemaError):
        validation_errors(schema, {"a": "x"})


# Values and schemas of which most are plain, and some only nearly.
ODD = st.sampled_from([None, 1.5, [], {}, -1, True, "x"])
HELD = (
    st.text(max_size=3)
    | st.integers(-3, 3)
    | st.booleans()
    | st.sampled_from([1.0, 1e400, 2**60, "\ud800", "a\n"])
    | ODD
)
MEMBER = st.fixed_dictionaries(
    {},
    optional={
        "type": st.sampled_from(["string", "integer", "number", "boolean"]) | ODD,
        "enum": st.lists(st.sampled_from(["", "a", "ab"]), max_size=2) | ODD,
        "minLength": st.integers(0, 2) | ODD,
        "maxLength": st.integers(0, 3) | ODD,
        "minimum": st.integers(-2, 2) | ODD,
        "maximum": st.integers(-2, 2) | ODD,
        "title": st.just("A") | ODD,
        "default": ODD,
        "pattern": st.just("^a"),
    },
)
PLAIN = st.fixed_dictionaries(
    {"type": st.just("object"), "properties": st.dictionaries(st.sampled_from("abc"), MEMBER, max_size=3)},
    optional={
        "required": st.lists(st.sampled_from("abc"), max_size=2) | ODD,
        "additionalProperties": st.booleans() | ODD,
        "description": st.just("A") | ODD,
        "$schema": st.sampled_from(["https://json-schema.org/draft/2020-12/schema", "x"]) | ODD,
        "minProperties": st.just(1),
    },
)


@steady
@given(PLAIN, st.dictionaries(st.sampled_from("abcd"), HELD, max_size=3))
@example({"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}, {"a": "x"})
def test_what_is_plainly_valid_is_valid_for_the_validator(schema: Any, value: Any) -> None:
    """JSON Schema: the shortcut accepts less, and no schema that the validator refuses."""
    members = plain_members(schema)

    if members is not None:
        check_schema(schema)
        assert not is_plainly_valid(schema, members, value) or validation_errors(schema, value) == []


def test_texts_numbers_and_booleans_within_simple_limits_are_plainly_valid() -> None:
    """Ours: the arguments of most calls; the validator is not loaded for them."""
    schema = {
        "type": "object",
        "properties": {
            "name": {"type": "string", "minLength": 1, "maxLength": 4},
            "style": {"enum": ["plain", "warm"], "default": "plain"},
            "count": {"type": "integer", "minimum": 1, "maximum": 3},
            "share": {"type": "number"},
            "loud": {"type": "boolean"},
        },
        "required": ["name"],
    }
    members = plain_members(schema)
    assert members is not None

    for value in ({"name": "Žofi"}, {"name": "A", "style": "warm", "count": 3, "share": 0, "loud": False}):
        assert is_plainly_valid(schema, members, value), value
    for wrong in (
        {"style": "cold"}, {"style": 1}, {"name": ""}, {"name": "12345"}, {"name": 1}, {"count": 4}, {"count": True},
        {"loud": 1}, {"loud": None}, {"more": 1},
    ):  # fmt: skip
        assert not is_plainly_valid(schema, members, {"name": "A", **wrong}), wrong
    assert not is_plainly_valid(schema, members, {})
    assert not is_plainly_valid(schema, members, [])
    assert plain_members({"type": "object", "properties": {"a": {"type": "array"}}}) is None
    assert plain_members({"type": "array"}) is None


def test_the_validator_can_be_loaded_ahead() -> None:
    """Ours: while a server starts there is time for it."""
    load_validator()
    assert "jsonschema_rs" in sys.modules


def test_an_error_of_a_union_is_that_of_the_likeliest_part() -> None:
    """Ours: pydantic writes `T | None` so, and "not valid under any of the schemas listed" does not help."""
    cases: list[tuple[list[object], object, list[str]]] = [
        ([{"enum": ["x", "y"]}, {"type": "null"}], "z", ['a: "z" is not one of "x" or "y"']),
        ([{"type": "integer"}, {"type": "null"}], "q", ['a: "q" is not of type "integer" or "null"']),
        ([{"const": "hero-1", "title": "One"}, {"const": 2}], "x", ['a: "x" is not one of "hero-1", 2']),
        (
            [{"properties": {"k": {"const": "a"}}}, {"properties": {"k": {"const": "b"}}}],
            {"k": "x"},
            ['a: a.k: "a" was expected, or a.k: "b" was expected'],
        ),
        (
            [{"type": "string"}, {"anyOf": [{"type": "integer"}, {"type": "null"}]}],
            [],
            ['a: [] is not of type "string" or "integer" or "null"'],
        ),
        (
            [{"type": "array", "items": {"type": "integer"}}, {"type": "null"}],
            [1, "q", "r"],
            ['a[1]: "q" is not of type "integer"', 'a[2]: "r" is not of type "integer"'],
        ),
        (
            [{"type": "object", "required": ["page"]}, {"type": "object", "required": ["base"]}, {"type": "string"}],
            {},
            ["a: 'page' is missing, or 'base' is missing"],
        ),
        (
            [{"properties": {"b": {"type": "null"}}}, {"properties": {"b": {"const": 2}}}],
            {"b": 1},
            ['a: a.b: 1 is not of type "null", or a.b: 2 was expected'],
        ),
    ]

    wrong = []
    for parts, value, errors in cases:
        for union in ("anyOf", "oneOf"):
            found = [str(each) for each in validation_errors({"properties": {"a": {union: parts}}}, {"a": value})]
            if found != errors:
                wrong.append((union, parts, value, found))

    assert not wrong


def test_a_value_valid_under_several_parts_of_one_of_is_reported() -> None:
    """JSON Schema: `oneOf` is for exactly one. The part that does not fit is not what is wrong."""
    schema = {"oneOf": [{"type": "integer"}, {"type": "number"}, {"type": "string"}]}

    assert [str(problem) for problem in validation_errors(schema, 5)] == [
        "5 is valid under more than one of the schemas listed in the 'oneOf' keyword"
    ]


CLOSED = {
    "type": "object",
    "properties": {"hotel": {"type": "string"}, "nights": {"type": "integer"}},
    "required": ["hotel"],
    "additionalProperties": False,
}

OPEN = {key: value for key, value in CLOSED.items() if key != "additionalProperties"}


def problems_in(schema: Any, arguments: dict[str, Any]) -> list[str]:
    return invalid_arguments.problems_in(schema_of(as_text(schema)).errors(arguments), schema, arguments)


def test_invalid_arguments_are_an_error_with_all_problems() -> None:
    """Ours: each is a detail of the report."""
    error = InvalidArgumentsError(["when: 'x' is not a date", "'to' is missing"])

    assert str(error) == "when: 'x' is not a date; 'to' is missing"
    assert error.problems == ("when: 'x' is not a date", "'to' is missing")


def test_a_report_has_the_documented_wording() -> None:
    """GAIA's documents: programs look for them."""
    assert report("book", ["'hotel' is missing"], {"type": "object"}, {"n": 1}).splitlines() == [
        "MCP tool 'book' input validation failed.",
        "",
        "Error details:",
        "'hotel' is missing",
        "",
        "Expected tool schema:",
        "{",
        '  "type": "object"',
        "}",
        "",
        "Your arguments:",
        "{",
        '  "n": 1',
        "}",
    ]


def test_a_report_shows_arguments_that_are_not_json() -> None:
    """Ours: the report is about a mistake, and must not raise another."""
    endless: list[object] = []
    endless.append(endless)

    assert '"{1}"' in report("t", [], {}, {"a": {1}})
    assert "(it cannot be shown as JSON)" in report("t", [], {}, endless)


def test_valid_arguments_have_no_problems() -> None:
    """Ours: neither a validation error nor a remark on a name."""
    assert problems_in(CLOSED, {"hotel": "Ritz", "nights": 2}) == []


def test_a_name_that_is_almost_right_is_suggested() -> None:
    """Ours: whether the schema refuses unknown names or allows them."""
    refused, allowed = problems_in(CLOSED, {"hotl": "Ritz"}), problems_in(OPEN, {"hotl": "Ritz"})

    assert len(refused) == 2
    assert any("there is no 'hotl'" in problem and "'hotel'" in problem for problem in refused)
    assert any("does not mention 'hotl'" in problem and "'hotel'" in problem for problem in allowed)
    assert "there is no 'x'" in " ".join(problems_in(CLOSED, {"hotel": "Ritz", "x": 1}))


def test_a_validation_error_is_reported_as_a_problem() -> None:
    """Ours: a likely misspelling is a remark beside the errors of the validator, not in their place."""
    assert problems_in(CLOSED, {"hotel": "Ritz", "nights": "two"}) != []


def test_near_misses_are_names_that_the_schema_does_not_mention() -> None:
    """Ours: neither a known name, nor one that resembles no other."""
    found = near_misses(OPEN, {"hotl": "Ritz", "nights": 1, "zzz": 1})

    assert len(found) == 1
    assert found[0].startswith("'hotl', ")


def test_the_details_of_a_report_are_parsed() -> None:
    """Ours: a person is shown these, without the schema and the arguments."""
    details = ["- day: '2024-13-45' is not a date", "- 'hotel' is missing"]
    found = ["day: '2024-13-45' is not a date", "'hotel' is missing"]
    assert details_of(report("book", details, {"type": "object"}, {"n": 1})) == found
    assert details_of("out of cheese") == []
    assert details_of("x\n\nError details:\n- and no schema") == []


def test_a_name_that_the_schema_does_not_mention_is_found() -> None:
    """Ours: with what may have been meant, also where a part of a union mentions the others."""
    assert unknown_names(OPEN, {"hotl": "Ritz", "zzz": 1, "nights": 2}) == ["'hotl', did you mean 'hotel'?", "'zzz'"]
    union = {"anyOf": [OPEN, {"properties": {"zzz": {}}}]}
    assert unknown_names(union, {"zzz": 1, "nights": 2, "y": 3}) == ["'y'"]
    assert unknown_names({"properties": {}}, {"zzz": 1}) == []
    assert unknown_names({"type": "object"}, {"zzz": 1}) == []


def test_a_schema_that_allows_additional_properties_has_no_unknown_names() -> None:
    """JSON Schema: by `additionalProperties`, or by a pattern. A likely mistake is reported all the same."""
    for more in ({"additionalProperties": True}, {"additionalProperties": {"type": "integer"}}):
        assert unknown_names({**OPEN, **more}, {"zzz": 1}) == []
        assert unknown_names({**OPEN, **more}, {"hotl": 1}) == ["'hotl', did you mean 'hotel'?"]
    assert unknown_names({"patternProperties": {"^z": {}}}, {"zzz": 1}) == []

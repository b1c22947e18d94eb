"""The format of a file of cases: what it holds, and its mistakes with their lines."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gaia_mcp.cli.checks.cases import SCHEMA, CaseFile, VariableError, read_cases, substituted
from gaia_mcp.cli.lines import CommandLine
from gaia_mcp.cli.status import UsageError
from gaia_mcp.toolspec.validation import as_text, schema_of

if TYPE_CHECKING:
    from pathlib import Path

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


def read(folder: Path, text: str, name: str = "c.yaml", **environ: str) -> CaseFile:
    (folder / name).write_text(text)
    return read_cases(CommandLine(), str(folder / name), environ)


YAML = """\
variables: {item: tea, order: "2 ${item}"}
setup:
  - tool: open
checks:
  - name: two cups
    tool: price
    arguments: {item: "${item}", count: 2}
    expect: {structured: {total: 6}, max_ms: 500}
    save: {id: /structuredContent/id}
  - {prompt: ask, arguments: {about: "${id}"}, skip: not yet}
  - {resource: "menu://${TOKEN}", repeat: 3}
teardown:
  - tool: open
"""
TOML = """\
[variables]
item = "tea"
order = "2 ${item}"

[[setup]]
tool = "open"

[[checks]]
name = "two cups"
tool = "price"
arguments = {item = "${item}", count = 2}
expect = {structured = {total = 6}, max_ms = 500}
save = {id = "/structuredContent/id"}

[[checks]]
prompt = "ask"
arguments = {about = "${id}"}
skip = "not yet"

[[checks]]
resource = "menu://${TOKEN}"
repeat = 3

[[teardown]]
tool = "open"
"""


def test_yaml_json_and_toml_are_read_alike(tmp_path: Path) -> None:
    """Ours: equal names are numbered, and only the variables of the environment that are named are kept."""
    from gaia_mcp.text import yaml

    whole = read(tmp_path, YAML, TOKEN="t", HOME="/h")
    as_json = json.dumps(yaml.parse(YAML))

    assert [case.name for case in whole.cases] == ["open", "two cups", "ask", "menu://${TOKEN}", "open (2)"]
    assert [case.section for case in whole.cases] == ["setup", "checks", "checks", "checks", "teardown"]
    assert [case.kind for case in whole.cases] == ["tool", "tool", "prompt", "resource", "tool"]
    assert [(case.skip, case.repeat) for case in whole.cases[2:4]] == [("not yet", 1), ("", 3)]
    assert (whole.variables, whole.environ) == ({"item": "tea", "order": "2 tea"}, {"TOKEN": "t"})
    for name, text in (("c.toml", TOML), ("c.json", as_json)):
        assert read(tmp_path, text, name, TOKEN="t", HOME="/h")[1:] == whole[1:]


def test_an_expectation_with_a_variable_is_not_checked_yet(tmp_path: Path) -> None:
    """Ours: it is complete only with the value."""
    text = "variables: {n: 2, open: (}\nchecks: [{tool: a, expect: {matches: '${open}(', schema: {minimum: '${n}'}}}]"

    assert len(read(tmp_path, text).cases) == 1


def test_each_case_has_its_line(tmp_path: Path) -> None:
    """Ours: of one that has failed it is shown beside the line."""
    places = {
        name: [file.place(case) for case in file.cases]
        for name, file in [
            ("c.yaml", read(tmp_path, YAML, TOKEN="t")),
            ("c.toml", read(tmp_path, TOML, "c.toml", TOKEN="t")),
        ]
    }

    assert places == {
        "c.yaml": [(tmp_path / "c.yaml", line) for line in (3, 5, 10, 11, 13)],
        "c.toml": [(tmp_path / "c.toml", line) for line in (5, 8, 15, 20, 24)],
    }


def test_cases_with_only_are_the_only_checks(tmp_path: Path) -> None:
    """Ours: what opens and closes something is still run."""
    text = "setup: [{tool: a}]\nchecks: [{tool: b}, {tool: c, only: true}, {tool: d, skip: why}]\nteardown: [{tool: e}]"

    skipped = {case.name: case.skip for case in read(tmp_path, text).cases}

    assert skipped == {"a": "", "b": "another case has 'only'", "c": "", "d": "why", "e": ""}


MISTAKES = [
    ("", 1, 'null is not of type "object"'),
    ("[]", 1, '[] is not of type "object"'),
    ("checks: [", 1, "not YAML: expected the node content"),
    ("checks: []", 1, "checks: [] has less than 1 item"),
    ("\nchekcs: []\nchecks: [{tool: a}]", 2, "there is no 'chekcs'"),
    ("checks:\n  - tool: a\n    prompt: b", 2, "a case has one of tool, prompt, resource"),
    ("checks:\n  - tool: a\n  - name: b", 3, "a case has one of tool, prompt, resource"),
    ("checks:\n  - tool: a\n    expect:\n      max_mss: 3", 4, "checks[0].expect: there is no 'max_mss'"),
    ("checks:\n  - tool: a\n    expect:\n      max_ms: x", 4, 'checks[0].expect.max_ms: "x" is not of type "number"'),
    ("checks:\n  - tool: a\n    save:\n      b: x", 4, "checks[0].save.b: "),
    ("checks:\n  - tool: a\n    arguments:\n      day: 2020-01-01", 4, "'2020-01-01' is no value of JSON: quote it"),
    ("checks:\n  - tool: a\n    arguments:\n      share: .inf", 4, "'inf' is no value of JSON: quote it"),
    ("checks:\n  - tool: a\n    arguments: {1: a}", 3, "'1' is no text: quote it"),
    (
        "checks:\n  - tool: a\n    arguments: {b: '${NO}'}",
        2,
        "${NO} is set by no variable, and saved by no case before",
    ),
    ("variables:\n  a: ${b}\n  b: x${a}\nchecks: [{tool: a}]", 2, "the variable refers to itself: a → b → a"),
    ("variables:\n  a: x${NO}\nchecks: [{tool: a}]", 2, "${NO} has no value"),
    ("checks:\n  - tool: a\n    expect:\n      matches: (", 4, "'(' is no regular expression: "),
    ("checks:\n  - tool: a\n    expect:\n      schema: {type: objct}", 4, "the schema cannot be used: "),
    ("checks:\n  - prompt: a\n    arguments:\n      b: 1", 4, "the argument 'b' of a prompt is no text"),
    ("checks:\n  - resource: a\n    arguments:\n      b: c", 4, "a resource has no arguments"),
]


@pytest.mark.parametrize(("text", "line", "problem"), MISTAKES)
def test_a_mistake_is_named_with_its_line(tmp_path: Path, text: str, line: int, problem: str) -> None:
    """Issue: with its line, before anything starts."""
    with pytest.raises(UsageError) as raised:
        read(tmp_path, text)

    assert raised.value.message.startswith(f"{tmp_path / 'c.yaml'}:{line}: {problem}")
    assert raised.value.hint


@pytest.mark.parametrize(
    ("name", "text", "where"),
    [
        ("c.json", '{"checks": [\n{"tool": "a", "expct": {}}]}', "c.json:2: checks[0]: there is no 'expct'"),
        ("c.json", '{"checks": [\n{"tool": "a",, }]}', "c.json:2: not JSON: "),
        ("c.json", '{"checks": [\n{"tool": "a", "tool": "b"}]}', "c.json:2: 'tool' is there twice"),
        ("c.json", '{"checks": [ // one\n{"tool": 1}]}', "c.json: checks[0].tool: "),
        ("c.toml", '[[checks]]\ntool = "a"\n\n[[checks]]\ntool = "b"\nfoo = 1', "c.toml:4: checks[1]: there is no"),
        ("c.toml", "checks = [{foo = 1, tool = 'a'}]", "c.toml: checks[0]: there is no 'foo'"),
        ("c.toml", "[[checks]\n", "c.toml:1: not TOML: "),
    ],
)
def test_a_mistake_in_another_format_is_named_as_well(tmp_path: Path, name: str, text: str, where: str) -> None:
    """Ours: without the line where the format does not tell it."""
    with pytest.raises(UsageError) as raised:
        read(tmp_path, text, name)

    assert raised.value.message.startswith(f"{tmp_path}/{where}")


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    """Issue: one of 10 MB is refused, not read for a minute."""
    (tmp_path / "large.yaml").write_text("#" * 10_000_000)
    (tmp_path / "latin.yaml").write_bytes(b"checks: \xff")

    for name, problem in [
        ("none.yaml", "cannot be read: No such file or directory"),
        ("large.yaml", "cannot be read: it is larger than 1 MB"),
        ("latin.yaml", "is not UTF-8 text"),
    ]:
        with pytest.raises(UsageError, match=problem) as raised:
            read_cases(CommandLine(), str(tmp_path / name), {})
        assert raised.value.hint == "write one with: gaia mcp init --spec NAME"


def test_a_reference_is_replaced_by_its_value() -> None:
    """Ours: one that is the whole text keeps its type, a default is used for what is unknown."""
    known: dict[str, Any] = {"n": 2, "list": [1], "word": "tea"}

    for text, expected in [
        ("${n}", 2),
        ("${list}", [1]),
        ("${n} ${word}", "2 tea"),
        ("${list}!", "[1]!"),
        ("${no:-some} ${no:-}", "some "),
        ("$${n}", "${n}"),
        ({"${word}": ["${n}"]}, {"tea": [2]}),
        ("$n {n} $", "$n {n} $"),
    ]:
        assert substituted(text, known) == expected
    with pytest.raises(VariableError, match="has no value"):
        substituted("${no}", known)


@given(VALUES)
def test_a_value_without_references_stays_as_it_is(value: Any) -> None:
    """Ours."""
    if "${" not in json.dumps(value):
        assert substituted(value, {}) == value


def test_the_schema_is_a_valid_one() -> None:
    """Ours: an editor reads it."""
    schema_of(as_text(SCHEMA)).compile()

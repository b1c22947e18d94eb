"""What is wrong with what came of one call."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from gaia_mcp.cli.checks.fuzzing.judging import (
    ACCEPTS_INVALID,
    ERROR,
    EXITS,
    GARBLED,
    HANGS,
    INTERNAL,
    ODD_REFUSAL,
    REFUSES_VALID,
    STRUCTURE,
    Case,
    Judge,
    Problem,
    as_seen,
)
from gaia_mcp.client.tools import read_tools
from gaia_mcp.config.entries import read_entry
from gaia_mcp.core.errors import CallLateError, CallLostError, DeadlineError, NotConnectedError, ServerExitedError
from gaia_mcp.fleet.session import Session
from gaia_mcp.toolspec.validation import SchemaError
from tests.cli.conftest import entry_of
from tests.fleet.conftest import QUIET
from tests.schema_support import twice

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.story
# For a call that is to be answered, however busy the machine is; and for one that is not.
ENOUGH, LITTLE = 20.0, 0.3
# Answers each tool by its name, as a server of the handshake era.
SERVER = """
import os, sys
sys.path.insert(0, {servers!r})
import _wire
def answer(message):
    if message.get("method") != "tools/call":
        return _wire.handshake(message)
    name, given = message["params"]["name"], message["params"].get("arguments", {{}})
    if name == "code":
        return _wire.error(message, given["code"], "said")
    if name == "garbage":
        return {{"jsonrpc": "2.0", "id": message["id"], "result": 5}}
    if name == "die":
        os._exit(3)
    if name == "hang":
        return None
    if name == "failed":
        return _wire.result(message, {{**_wire.text("no"), "isError": True}})
    return _wire.result(message, {{**_wire.text("yes"), **given}})
_wire.serve(answer)
"""


@pytest.fixture
def session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, no_orphans: None) -> Iterator[Session]:
    """A session with a server that does what the arguments say."""
    monkeypatch.setenv("GAIA_HOME", str(tmp_path))
    own = tmp_path / "server.py"
    python, servers = entry_of("good_handshake").values()
    own.write_text(SERVER.format(servers=servers[0].rpartition("/")[0]))
    opened = Session(read_entry("t", {"command": python, "args": [str(own)]}), QUIET)
    opened.open()
    yield opened
    opened.close(5)


def judge(session: Session, name: str, schema: Any = None, **members: Any) -> Judge:
    definition = {"name": name, "inputSchema": schema or {"type": "object"}, **members}
    return Judge(session, read_tools([definition])[0][0])


def kind_of(problem: Problem | None) -> str:
    return problem.kind if problem is not None else ""


VALID, INVALID = "", "'a' is missing"


@pytest.mark.parametrize(
    ("tool", "arguments", "refusal", "kind"),
    [
        ("any", {}, VALID, ""),
        ("any", {}, INVALID, ACCEPTS_INVALID),
        ("failed", {}, VALID, ""),
        ("failed", {}, INVALID, ""),
        ("code", {"code": -32602}, VALID, REFUSES_VALID),
        ("code", {"code": -32602}, INVALID, ""),
        ("code", {"code": -32603}, VALID, INTERNAL),
        ("code", {"code": -32603}, INVALID, INTERNAL),
        ("code", {"code": -32000}, VALID, ERROR),
        ("code", {"code": -32000}, INVALID, ODD_REFUSAL),
        ("code", {"code": -32021}, VALID, ""),
        ("garbage", {}, VALID, GARBLED),
        ("die", {}, VALID, EXITS),
        ("die", {}, INVALID, EXITS),
    ],
)
def test_each_outcome_has_its_kind(
    session: Session, tool: str, arguments: dict[str, Any], refusal: str, kind: str
) -> None:
    """Ours: a failure of the tool is an answer; an error of the protocol is none for valid arguments."""
    asked = judge(session, tool)

    problem = asked.problem(Case(arguments, refusal), ENOUGH)

    assert kind_of(problem) == kind
    assert asked.unanswered == (arguments.get("code") == -32021)
    if problem is not None:
        assert problem.is_warning == (problem.error is None)


def test_a_call_without_an_answer_hangs(session: Session) -> None:
    """Issue: within the time for a call."""
    problem = judge(session, "hang").problem(Case({}), LITTLE)

    assert problem is not None
    assert (problem.kind, type(problem.error)) == (HANGS, CallLateError)


@pytest.mark.parametrize(
    ("result", "kind"),
    [
        ({"structuredContent": {"n": 1}}, ""),
        ({"structuredContent": {"n": "1"}}, STRUCTURE),
        ({}, STRUCTURE),
        ({"isError": True}, ""),
    ],
)
def test_a_result_matches_its_output_schema(session: Session, result: dict[str, Any], kind: str) -> None:
    """Specification, tools: servers MUST provide structured results that conform to the output schema."""
    output = {"type": "object", "properties": {"n": {"type": "integer"}}}

    assert kind_of(judge(session, "any", outputSchema=output).problem(Case(result), ENOUGH)) == kind
    # One that cannot be used is the finding of another check.
    assert judge(session, "any", outputSchema={"type": "no such type"}).problem(Case(result), ENOUGH) is None


def test_arguments_are_sorted_by_the_validator(session: Session) -> None:
    """Ours: what was drawn to be valid may not be. What takes too long to check is not sent."""
    asked = judge(session, "any", {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]})

    assert asked.case({"a": 1}) == Case({"a": 1}, "")
    invalid = asked.case({})
    assert invalid is not None
    assert (invalid.is_valid, invalid.refusal, invalid.text) == (False, "'a' is missing", "{}")
    assert asked.case({"a": [[None] * 300] * 300}) is None


def test_a_schema_that_cannot_be_used_is_refused(session: Session) -> None:
    """Issue: the tool is skipped."""
    for schema in (
        {"type": "no"},
        {"$ref": "https://example.com/x"},
        {"$dynamicRef": "#a"},
        {"pattern": "a{99999}{99}"},
    ):
        with pytest.raises(SchemaError):
            judge(session, "any", schema)
    # What is costly for a value alone.
    assert judge(session, "any", twice("allOf", 40)).case({"a": 1}) is None


def test_after_the_end_of_the_session_nothing_is_judged(session: Session) -> None:
    """Ours: a Ctrl-C is no finding."""
    session.close(5)

    with pytest.raises(NotConnectedError):
        judge(session, "any").problem(Case({}), ENOUGH)


def test_an_error_loses_the_advice_that_its_outcome_is_unknown(session: Session) -> None:
    """Ours: the call is to be repeated. Its class and its facts are those of the cause."""
    lost = judge(session, "die").problem(Case({}), ENOUGH)
    late = DeadlineError("t", "tools/call", 1)
    assert lost is not None
    assert isinstance(lost.error, CallLostError)

    seen = as_seen(lost.error)

    assert isinstance(seen, ServerExitedError)
    assert not isinstance(seen, CallLostError)
    assert (seen.kind, seen.message, seen.returncode) == ("exited", lost.error.message, 3)
    assert "may_have_run" not in seen.facts
    assert as_seen(late) is late

"""A provider that records the calls of its tools."""

from __future__ import annotations

import json
import threading
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest

from gaia_mcp import current_call
from gaia_mcp._version import __version__
from gaia_mcp.asking import Call
from gaia_mcp.core.deadline import Deadline
from gaia_mcp.core.errors import CancelledError
from gaia_mcp.fleet.gateway.gate import (
    LEFT_OUT,
    MAX_CHARS,
    MAX_DEPTH,
    MAX_TEXT_CHARS,
    MAX_VALUES,
    AuditedProvider,
    shown_arguments,
)
from gaia_mcp.protocol.jsonrpc import INTERNAL_ERROR
from gaia_mcp.server.agent import AgentProvider
from gaia_mcp.server.provider import RequestError
from gaia_mcp.storage.output_files import AuditFile
from gaia_mcp.testing import client_for
from tests.fleet.gateway.shelf import Shelf, answer, owners, tool
from tests.waiting import PATIENCE_SECONDS, wait_until

if TYPE_CHECKING:
    from pathlib import Path

    from gaia_mcp.server.provider import Provider

Wire = dict[str, Any]
TOKEN = "ghp_hunter2hunter2"


class Audit:
    """An audited shelf, and what was recorded of it."""

    def __init__(self, folder: Path, *tools: Wire | str) -> None:
        self.shelf = Shelf(*(tools or ("add", "hub__sub")))
        self.path = folder / "audit.jsonl"
        self.problems: list[str] = []
        self.provider = self.of(AgentProvider(self.shelf))

    def of(self, provider: Provider) -> AuditedProvider:
        return AuditedProvider(provider, AuditFile(self.path), owners, self.problems.append)

    def call(self, tool: Any, **arguments: Any) -> Wire:
        return answer(self.provider, "tools/call", name=tool, arguments=arguments)

    @property
    def lines(self) -> list[Wire]:
        return [json.loads(line) for line in self.path.read_text().splitlines()]

    @property
    def outcomes(self) -> list[str]:
        return [line["outcome"] for line in self.lines]


@pytest.fixture
def audit(tmp_path: Path) -> Audit:
    return Audit(tmp_path)


def test_a_line_names_the_caller_the_tool_and_the_outcome(audit: Audit) -> None:
    """Ours: of the tool by its own name, at its server, without secrets."""

    class Known(Call):
        principal = "ada"

    began = datetime.now(UTC).isoformat(timespec="milliseconds")
    params = {"name": "hub__sub", "arguments": {"a": 1, "token": TOKEN, "text": f"use {TOKEN}"}}
    audit.provider.answer("tools/call", params, Known())

    (line,) = audit.lines
    assert began <= line.pop("time") <= datetime.now(UTC).isoformat(timespec="milliseconds")
    assert line.pop("ms") >= 0
    assert line == {
        "client": {"name": "", "version": ""},
        "principal": "ada",
        "server": "hub",
        "tool": "sub",
        "arguments": {"a": 1, "token": "****", "text": "use ****"},
        "outcome": "ok",
    }


def test_a_failure_is_recorded_and_raised(audit: Audit) -> None:
    """Ours: what was refused, and what the tool failed at."""

    def fail(_: Wire) -> None:
        raise RuntimeError("no")

    def refuse(_: Wire) -> None:
        raise RequestError(f"not with {TOKEN}\n" + "x" * 10_000, -32001)

    with pytest.raises(RequestError, match="Unknown tool: none"):
        audit.call("none")
    audit.shelf.run = fail
    assert audit.call("add")["isError"]
    audit.shelf.run = refuse
    with pytest.raises(RequestError) as caught:
        audit.call("add")
    assert caught.value.code == -32001

    unknown, failed, refused = audit.lines
    assert (unknown["outcome"], unknown["error"], unknown["tool"]) == ("error", "Unknown tool: none", "none")
    assert (failed["outcome"], "error" in failed) == ("tool-error", False)
    assert refused["outcome"] == "error"
    assert refused["error"].startswith("not with **** x")
    assert len(refused["error"]) == MAX_CHARS


def test_an_invalid_request_is_recorded(tmp_path: Path) -> None:
    """Ours: nothing that a client sends gets past the file, and nothing makes a line of its own."""
    audit = Audit(tmp_path)
    for params in ({"name": 7}, {"name": "add", "arguments": []}, {}, {"name": "a\n\x1b\ud800" + "b" * 1000}):
        with pytest.raises(RequestError):
            answer(audit.provider, "tools/call", **params)

    assert [line["tool"] for line in audit.lines][:3] == ["7", "add", "None"]
    assert audit.lines[3]["tool"].startswith("a \\x1b\ud800bb")
    assert [line["arguments"] for line in audit.lines] == [{}] * 4
    nameless = AuditedProvider(AgentProvider(audit.shelf), AuditFile(audit.path), lambda _: None)
    answer(nameless, "tools/call", name="add")
    assert (audit.lines[4]["server"], audit.lines[4]["tool"]) == (None, "add")


def test_only_calls_of_tools_are_recorded(audit: Audit) -> None:
    """Ours: every client requests lists, and they change nothing."""
    answer(audit.provider, "tools/list")
    answer(audit.provider, "resources/read", uri="shelf://all")

    assert not audit.path.exists()


@pytest.mark.parametrize("revision", ["2026-07-28", "2025-11-25"])
def test_the_client_and_its_cancelled_calls_are_recorded(audit: Audit, revision: str) -> None:
    """Ours: also a call that ends by itself although it was cancelled."""
    deadline, late = Deadline(PATIENCE_SECONDS), Deadline(PATIENCE_SECONDS)

    def wait(_: Wire) -> None:
        current_call().progress(1)
        current_call().wait(60)

    def ignore(_: Wire) -> None:
        call = current_call()
        call.progress(1)
        wait_until(lambda: call.is_cancelled)

    with client_for(audit.provider, revision=revision) as client:
        for audit.shelf.run, patience in ((wait, deadline), (ignore, late)):
            with pytest.raises(CancelledError):
                client.call("add", {}, patience, on_progress=lambda _, given=patience: given.cancel())
        wait_until(lambda: len(audit.outcomes) == 2)

    assert audit.outcomes == ["cancelled", "cancelled"]
    assert audit.lines[0]["client"] == {"name": "gaia-mcp", "version": __version__}


def test_calls_that_run_when_the_server_ends_are_recorded_once(audit: Audit) -> None:
    """Ours: it may be ended by a signal, and then nothing waits for their threads."""
    entered, may_go, gone = threading.Event(), threading.Event(), threading.Event()

    def wait(_: Wire) -> None:
        entered.set()
        assert may_go.wait(PATIENCE_SECONDS)

    def call() -> None:
        audit.call("add", n=1)
        gone.set()

    audit.shelf.run = wait
    threading.Thread(target=call, daemon=True).start()
    assert entered.wait(PATIENCE_SECONDS)

    audit.provider.close()
    assert audit.outcomes == ["cancelled"]
    may_go.set()
    assert gone.wait(PATIENCE_SECONDS)
    audit.provider.close()

    assert audit.outcomes == ["cancelled"]


def test_each_run_of_a_call_that_requires_input_is_recorded(tmp_path: Path) -> None:
    """Ours: the tool runs once more with the answer, which is another line. In the handshake era it waits."""
    audit = Audit(tmp_path)
    audit.shelf.run = lambda _: current_call().elicit("Sure?", {"type": "object", "properties": {}}).value

    for revision, outcomes in (("2026-07-28", ["input-required", "ok"]), ("2025-11-25", ["ok"])):
        audit.path.unlink(missing_ok=True)
        with client_for(audit.provider, revision=revision, answers=["accept"]) as client:
            client.call("add", {})
        assert audit.outcomes == outcomes


def test_an_input_required_result_of_a_server_is_recorded(audit: Audit) -> None:
    """Spec 2026-07-28: such a result may come as it is from a server behind a gateway."""

    class Asking(AgentProvider):
        def answer(self, method: str, params: Wire, call: Call) -> Wire:
            return {"resultType": "input_required", "inputRequests": {}}

    answer(audit.of(Asking(audit.shelf)), "tools/call", name="add")

    assert audit.outcomes == ["input-required"]


def test_a_call_that_cannot_be_recorded_is_not_made(audit: Audit) -> None:
    """Ours: the client learns that, and not of the file."""
    audit.path.mkdir()

    with pytest.raises(RequestError) as caught:
        audit.call("add")

    assert (caught.value.code, str(caught.value)) == (
        INTERNAL_ERROR, "the call is refused, for it cannot be recorded",
    )  # fmt: skip
    assert audit.shelf.ran == []
    assert audit.problems == [f"{audit.path} cannot be written: Is a directory; no tool is called until it can be"]


def test_a_file_that_cannot_be_written_is_reported_once(audit: Audit) -> None:
    """Ours: clients may try a thousand times; and once more if it fails again."""
    for _ in range(2):
        audit.path.mkdir()
        for _ in range(3):
            with pytest.raises(RequestError):
                audit.call("add")
        audit.path.rmdir()
        audit.call("add")
        audit.path.unlink()

    assert len(audit.problems) == 2


def test_a_result_that_could_not_be_recorded_is_withheld(audit: Audit) -> None:
    """Ours: and the line is written before the next call is made."""

    def block(_: Wire) -> str:
        audit.path.unlink()
        audit.path.mkdir()
        return "secret"

    audit.shelf.run = block
    with pytest.raises(RequestError, match="has run, but the call could not be recorded"):
        audit.call("add", n=1)
    with pytest.raises(RequestError, match="is refused"):
        audit.call("add", n=2)
    audit.path.rmdir()
    audit.shelf.run = lambda _: "done"
    audit.call("add", n=3)

    assert [line["arguments"]["n"] for line in audit.lines] == [1, 3]
    assert len(audit.shelf.ran) == 2


def test_an_error_is_raised_even_if_it_could_not_be_recorded(audit: Audit) -> None:
    """Ours: it is what the client has to know."""

    def block(_: Wire) -> None:
        audit.path.unlink()
        audit.path.mkdir()
        raise RequestError("refused")

    audit.shelf.run = block
    with pytest.raises(RequestError, match="refused"):
        audit.call("add")

    assert len(audit.problems) == 1


def test_tools_with_any_name_are_recorded(tmp_path: Path) -> None:
    """Ours: servers choose the names of their tools, and none may keep a call out of the record."""
    audit = Audit(tmp_path, tool("ä/b.c"))

    audit.call("ä/b.c")

    assert audit.lines[0]["tool"] == "ä/b.c"


SHOWN: list[tuple[Any, Any]] = [
    ({"a": 1, "b": [True, None, 1.5], "c": {"d": "x"}}, None),
    # Prose is no secret.
    ({"text": "Hello, World! 50% off: https://example.com/a?b=c"}, None),
    ({"path": "/home/ada/notes.txt", "max_tokens": 5}, None),
    ({"password": "hunter2"}, {"password": "****"}),
    ({"pin": 123456}, {"pin": "****"}),
    ({"auth": {"user": "ada", "value": ["hunter2!x"]}}, {"auth": {"user": "****", "value": ["****"]}}),
    ({"apiKey": None, "secret": False}, None),
    ({"text": f"use {TOKEN} for it"}, {"text": "use **** for it"}),
    ({"header": "Authorization: Bearer hunter2hunter2"}, {"header": "Authorization: ****"}),
    ({"url": "https://ada:hunter2@example.com/"}, {"url": "https://****@example.com/"}),
    ({TOKEN: 1}, {"****": 1}),
]


def test_secrets_are_masked_by_key_and_by_pattern() -> None:
    """Ours: as everywhere, but for prose, of which most arguments are made."""
    assert [(given, shown_arguments(given)) for given, _ in SHOWN] == [
        (given, given if shown is None else shown) for given, shown in SHOWN
    ]


def test_long_arguments_are_truncated() -> None:
    """Ours: a file that was sent along does not belong into a log."""
    long = shown_arguments({"text": "a" * 10_000_000})["text"]
    rows = shown_arguments({"rows": [{"n": number} for number in range(100_000)], "after": 1})
    wide = shown_arguments({f"k{number}": 1 for number in range(100_000)})

    assert (len(long), long[-1]) == (MAX_TEXT_CHARS, LEFT_OUT)
    assert rows["rows"][-1] == LEFT_OUT
    assert len(json.dumps(rows)) < 20 * MAX_VALUES
    assert (len(wide), wide[LEFT_OUT]) == (MAX_VALUES + 1, LEFT_OUT)


def test_a_secret_at_the_truncation_limit_is_masked() -> None:
    """Ours: its beginning would be shown otherwise."""
    text = "." * (MAX_TEXT_CHARS - 10) + " " + TOKEN

    assert "hunter" not in shown_arguments({"text": text})["text"]


def test_deeply_nested_arguments_are_truncated() -> None:
    """Ours: a client's data must not end in an error of ours."""
    value: Any = {}
    for _ in range(100_000):
        value = {"a": [value]}

    shown = json.dumps(shown_arguments(value))

    assert shown.count("[") == MAX_DEPTH // 2
    assert "\\u2026" in shown

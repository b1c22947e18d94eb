"""The tree of errors: its shape, its values, its words."""

from __future__ import annotations

import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

from gaia_mcp.core import errors
from gaia_mcp.core.errors import (
    AgentError,
    ArgumentsError,
    AuthorizationError,
    CallCancelledError,
    CallCutError,
    CallGarbledError,
    CallLateError,
    CallLostError,
    CancelledError,
    CatalogError,
    CompletionError,
    ConfigError,
    ConfigFileError,
    ConnectError,
    ConnectionLostError,
    ContractError,
    DeadlineError,
    EntryError,
    FeatureUnknownError,
    HandlerError,
    InputLateError,
    LocalProtocolError,
    MCPError,
    NotConnectedError,
    NotSupportedError,
    OutcomeUnknownError,
    PeerError,
    ProtocolError,
    ReadOnlyError,
    RefusedError,
    RegistryError,
    RegistryUnknownError,
    RemoteProtocolError,
    ResourceUnknownError,
    ScopeError,
    ServerExistsError,
    ServerExitedError,
    ServerUnknownError,
    SessionExpiredError,
    SpawnError,
    StatusError,
    ToolError,
    ToolExcludedError,
    ToolUnknownError,
    UnansweredError,
    VariableUnsetError,
    VersionError,
)

PATH = Path("/home/jane/servers.json")
EVERY: list[MCPError] = [
    MCPError("something happened"),
    CancelledError("fs", "tools/call 'read'"),
    OutcomeUnknownError("something happened"),
    CallLostError("fs", "while answering", 3),
    CallLateError("fs", "tools/call 'read'", 5.0),
    CallCutError("something happened"),
    CallCancelledError("fs", "tools/call 'read'"),
    CallGarbledError("fs", "answered with a line that is not valid JSON"),
    ConnectionLostError("something happened"),
    StatusError("fs", "server 'fs' answered x with 404", 404),
    SessionExpiredError("fs"),
    FeatureUnknownError("fs", "prompt", "review"),
    ResourceUnknownError(PeerError("fs", "resources/read", -32602, "Resource not found"), "file:///a"),
    ConfigError("something happened"),
    ConfigFileError(PATH, "is empty"),
    ServerUnknownError("fs", PATH),
    ServerExistsError("fs"),
    EntryError("fs", "'cwd' must be a string"),
    VariableUnsetError("fs", "TOKEN", "env TOKEN"),
    AgentError("demo:Demo", "has no such class"),
    HandlerError("x_handler.py", "is not a regular file"),
    CatalogError("com.example/a", "packages is not a list"),
    RegistryUnknownError("https://registry.example", "a.b/c"),
    ConnectError("something happened"),
    SpawnError("fs", "npx", "is not there"),
    ServerExitedError("fs", "before it answered", 3, "out of memory", last_words="out of memory"),
    AuthorizationError("fs", "requires a login"),
    RegistryError("https://registry.example", "responded with status 500"),
    NotConnectedError("fs"),
    NotSupportedError("fs", "prompts"),
    DeadlineError("fs", "tools/list", 5.0),
    InputLateError("standard input", 5),
    ProtocolError("something happened"),
    LocalProtocolError("something happened"),
    RemoteProtocolError("fs", "sent a result twice"),
    VersionError("fs", ["1999-01-01"], ["2025-11-25"]),
    PeerError("fs", "tools/call", -32603, "internal error", {"why": 1}),
    CompletionError("has no choices"),
    ToolError("something happened"),
    ToolUnknownError("fs", "raed"),
    ArgumentsError("fs", "read", ["'path' is missing"]),
    RefusedError("something happened"),
    ContractError("fs", "is not in mcp.lock.json", hint="approve its tools"),
    ReadOnlyError("fs", "write"),
    ToolExcludedError("fs", "write", "excludeTools", ["w*"]),
    UnansweredError("fs", "asks 'Which one?'"),
    ScopeError("fs", "build", "terraform-agent"),
]


def drawn() -> list[tuple[str, str, str]]:
    """Each class of the drawing in the module's docstring, with its parent there and the builtin beside it."""
    found: list[tuple[str, str, str]] = []
    trail: list[str] = []
    drawing = next(block for block in (errors.__doc__ or "").split("\n\n") if "─" in block)
    for line in drawing.splitlines():
        match = re.match(r"    ([│├└─ ]*)(\w+Error) .*?(?:\((\w+)\))?$", line)
        assert match, f"not a line of the drawing: {line}"
        level = len(match[1]) // 4
        trail = [*trail[:level], match[2]]
        found.append((match[2], trail[level - 1] if level else "Exception", match[3] or ""))
    return found


def test_the_drawing_at_the_top_shows_every_error() -> None:
    """Ours: one tree, drawn in its docstring."""
    modules = Path(errors.__path__[0]).glob("[!_]*.py")
    branches = [errors, *(import_module(f"gaia_mcp.core.errors.{path.stem}") for path in modules)]
    defined = {
        name
        for branch in branches
        for name, value in vars(branch).items()
        if isinstance(value, type) and issubclass(value, MCPError)
    }
    assert {name for name, _, _ in drawn()} == defined
    assert {type(error).__name__ for error in EVERY} == defined
    assert {*defined, "outcome_unknown", "resource_unknown"} == set(errors.__all__)


@pytest.mark.story
def test_the_errors_of_requests_are_loaded_with_their_first_use() -> None:
    """Ours: what a TAB needs of the errors is a part of them."""
    code = "import sys; from gaia_mcp.core.errors import EntryError; print(*sys.modules)"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    loaded = {name for name in ran.stdout.split() if name.startswith("gaia_mcp.core.errors.")}
    assert loaded == set()


def test_an_unknown_error_name_is_an_attribute_error() -> None:
    """Python's own: `hasattr` and `from … import` rely on an AttributeError."""
    with pytest.raises(AttributeError, match="no attribute 'OtherError'"):
        errors.OtherError  # noqa: B018


def test_each_error_inherits_from_its_parent_in_the_drawing() -> None:
    """Ours: also the builtin that GAIA's documents promise, or what the same event is for another request."""
    drawing = {name: {parent, *filter(None, [builtin])} for name, parent, builtin in drawn()}

    assert {name: {base.__name__ for base in getattr(errors, name).__bases__} for name in drawing} == drawing


def test_each_error_has_a_kind_of_its_own() -> None:
    """Ours: programs tell errors apart by `kind` in `--json`. One that is another as well is of its kind."""
    of_others = {
        CallLostError: "exited",
        CallCutError: "connection-lost",
        CallLateError: "timeout",
        CallCancelledError: "cancelled",
        InputLateError: "timeout",
        CallGarbledError: "protocol-remote",
        ResourceUnknownError: "feature-unknown",
    }
    own = [error for error in EVERY if type(error) not in of_others]

    assert len({error.kind for error in own}) == len(own)
    assert {type(error): error.kind for error in EVERY if type(error) in of_others} == of_others


def test_an_error_message_is_one_line_without_a_full_stop() -> None:
    """Ours: an error is printed in one line, with its hint on the next."""
    wrong = [
        error
        for error in EVERY
        if not error.message
        or str(error) != error.message
        or error.message.endswith(".")
        or "\n" in error.message + error.hint
    ]

    assert not wrong


def test_only_an_error_of_the_peer_has_facts_from_the_start() -> None:
    """Ours: `facts` are for programs; an error response and an HTTP status bring their own."""

    def own(error: MCPError) -> set[str]:
        return (
            {"code", "data"}
            if isinstance(error, PeerError)
            else {"status"}
            if isinstance(error, StatusError)
            else set()
        )

    assert [error for error in EVERY if not set(error.facts) <= own(error)] == []


def test_an_error_about_a_server_names_it() -> None:
    """Ours: `server` in the error object of `--json`."""
    wrong = [error for error in EVERY if "fs" in error.message and error.server != "fs"]

    assert not wrong


def test_two_errors_do_not_share_their_facts() -> None:
    """Ours: a fact of one must not turn up in the other."""
    one, other = ToolError("a"), ToolError("b")
    one.facts["tool"] = "read"
    assert other.facts == {}


def test_a_given_hint_replaces_the_default_one() -> None:
    """Ours: a fact that only the place knows where it is raised."""
    own = "do this"
    assert {
        ConfigFileError(PATH, "x", hint=own).hint,
        ServerUnknownError("fs", PATH, suggestion=own).hint,
        EntryError("fs", "x", hint=own).hint,
        AgentError("a", "x", hint=own).hint,
        HandlerError("a", "x", hint=own).hint,
        SpawnError("fs", "npx", "x", hint=own).hint,
        RemoteProtocolError("fs", "x", hint=own).hint,
        ToolUnknownError("fs", "x", suggestion=own).hint,
        ArgumentsError("fs", "x", [], hint=own).hint,
        MCPError("x", hint=own).hint,
    } == {own}


def test_a_file_s_error_names_line_and_column_where_they_are_known() -> None:
    """Ours: an error with path and line, as editors and terminals link it."""
    error = ConfigFileError(PATH, "not JSON", line=3, column=7)

    assert (error.path, error.line, error.column) == (PATH, 3, 7)
    assert error.message == f"{PATH}:3:7: not JSON"
    assert ConfigFileError(PATH, "is empty").message == f"{PATH}: is empty"


def test_an_error_keeps_its_values_as_attributes() -> None:
    """Ours: every class carries plain values."""
    spawn = SpawnError("fs", "npx", "is not there")
    late = DeadlineError("fs", "tools/list", 2.5, noise="it printed 3 lines")
    version = VersionError("fs", ["1999-01-01"], ["2025-11-25", "2026-07-28"])
    peer = PeerError("fs", "tools/call", -32603, "internal error", {"why": 1})
    arguments = ArgumentsError("fs", "read", ["a", "b"])

    assert (spawn.command, spawn.reason) == ("npx", "is not there")
    assert (late.stage, late.seconds) == ("tools/list", 2.5)
    assert late.message == "server 'fs' did not answer tools/list within 2.5 s; it printed 3 lines"
    assert (version.theirs, version.ours) == (("1999-01-01",), ("2025-11-25", "2026-07-28"))
    assert "no revision that it names" in VersionError("fs", [], ["2025-11-25"]).message
    assert (peer.asked, peer.code, peer.text, peer.data) == ("tools/call", -32603, "internal error", {"why": 1})
    assert (arguments.tool, arguments.problems) == ("read", ("a", "b"))
    assert "a; b" in arguments.message
    assert ToolUnknownError("fs", "raed").tool == "raed"
    unset = VariableUnsetError("fs", "TOKEN", "env TOKEN")
    assert (unset.variable, unset.field) == ("TOKEN", "env TOKEN")
    assert "${TOKEN}" in VariableUnsetError("fs", "TOKEN", "env TOKEN").message
    assert ServerUnknownError("fs", PATH).path == ServerExistsError("fs", PATH).path == PATH
    assert ArgumentsError("fs", "review", [], feature="prompt").feature == "prompt"
    assert AgentError("demo:Demo", "x").target == "demo:Demo"
    assert HandlerError("x_handler.py", "x").target == "x_handler.py"

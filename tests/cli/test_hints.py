"""The hint for each error that a command reports."""

from __future__ import annotations

import ast
import json
import re
import sys
from pathlib import Path

import pytest

import gaia_mcp
from gaia_mcp.cli.entries.targets import TypedEntry
from gaia_mcp.cli.hints import CASES, HINTS, hint_for
from gaia_mcp.cli.lines import CommandLine
from gaia_mcp.cli.transfer import NotExportedError
from gaia_mcp.config.command import Command
from gaia_mcp.config.targets import OAuthMembers, Remote
from gaia_mcp.core import errors
from gaia_mcp.core.errors import (
    AgentError,
    ArgumentsError,
    AuthorizationError,
    CancelledError,
    CatalogError,
    ConfigFileError,
    ConnectError,
    ConnectionLostError,
    DeadlineError,
    EntryError,
    FeatureUnknownError,
    HandlerError,
    InputLateError,
    MCPError,
    NotConnectedError,
    NotSupportedError,
    PeerError,
    ReadOnlyError,
    RegistryError,
    RegistryUnknownError,
    RemoteProtocolError,
    ScopeError,
    ServerExistsError,
    ServerExitedError,
    ServerUnknownError,
    SpawnError,
    StatusError,
    ToolExcludedError,
    ToolUnknownError,
    VariableUnsetError,
    VersionError,
    outcome_unknown,
)
from gaia_mcp.hosts.known import HOSTS
from gaia_mcp.protocol.jsonrpc import INTERNAL_ERROR
from tests.cli.typed_lines import filled, lines_in, refusal

# No other line is typed.
LINE = CommandLine()
PATH = Path("servers.json")
# What is printed, and not to be typed: the title of a report, the usage of a tool, a text about a file; as are scripts.
NOT_ADVISED = {"gaia mcp test-client", "### gaia mcp test-client: ", "gaia mcp call ", "A file of `gaia mcp record`."}
UNSAVED = "correct the command, or save it as it is with --no-check"
URL = "https://r.example"
# A server whose name a shell has to be given in quotes.
FS = "my fs"


def failed(status: int) -> ConnectionLostError:
    """The error for an HTTP status, after which the request may have run."""
    error = ConnectionLostError("no", server=FS, case=f"http-{status}")
    error.facts = {"status": status}
    return error


def spawn(command: str, case: str, server: str = FS) -> SpawnError:
    return SpawnError(server, command, "cannot be run", program="/bin/npx", case=case)


# Errors with which a command can end: of each class that has a hint, and of each case.
ERRORS: list[MCPError] = [
    ConfigFileError(PATH, "is empty"),
    ServerUnknownError("fs", PATH),
    ServerExistsError(FS),
    EntryError("fs", "is empty"),
    VariableUnsetError(FS, "KEY", "env KEY"),
    AgentError("demo", "does not exist"),
    HandlerError("x", "is wrong"),
    SpawnError(FS, "npx", "does not exist"),
    ServerExitedError(FS, "at its start", 1),
    ServerExitedError(FS, "while answering", 1),
    ServerExitedError(FS, "at its start", 1, "a\nb\n"),
    RegistryError(URL, "cannot be read"),
    CatalogError("a.b/c", "has no name"),
    RegistryUnknownError(URL, "a.b/c"),
    *(StatusError(FS, "no", status) for status in (403, 404, 405, 410, 415, 429, 503)),
    failed(502),
    AuthorizationError(FS, "requires authorization"),
    AuthorizationError(FS, "requires another scope", scopes=["files:read", "two words"]),
    DeadlineError(FS, "tools/list", 5),
    DeadlineError(FS, "at its start", 5),
    InputLateError("standard input", 5),
    CancelledError(FS, "tools/list"),
    RemoteProtocolError(FS, "is silent"),
    VersionError(FS, [], []),
    NotSupportedError(FS, "prompts"),
    PeerError(FS, "tools/list", INTERNAL_ERROR, "no"),
    ToolUnknownError(FS, "raed"),
    FeatureUnknownError(FS, "prompt", "x"),
    FeatureUnknownError(FS, "resource", "x"),
    ArgumentsError(FS, "read", []),
    ReadOnlyError(FS, "write"),
    ToolExcludedError(FS, "write", "includeTools", ["read_*"]),
    ToolExcludedError(FS, "write", "excludeTools", ["write", "x y"]),
    ScopeError(FS, "build", None),
    ScopeError(FS, None, "two words"),
    *(
        ConnectError("no", server=FS, case=case)
        for case in (
            "dns", "proxy", "refused", "tls", "tls-client", "tls-expired", "tls-none", "tls-not-yet-valid",
            "tls-other-name", "tls-self-signed", "tls-unknown-authority", "tls-version", "unreachable",
        )
    ),
    DeadlineError(FS, "at its start", 5, case="url-silent"),
    ConnectionLostError("no", server=FS, case="url-closed"),
    ConnectError("no", server=FS, case="not-held"),
    RemoteProtocolError(FS, "answered with a page", case="url-page"),
    RemoteProtocolError(FS, "names an endpoint", case="other-origin"),
    *(AgentError("a b.py", "no", case=f"agent-{case}") for case in ("arguments", "failed", "incomplete", "missing")),
    AgentError("a b.py", "has a problem", case="agent-problem"),
    AgentError("a b.py:A", "has a problem", case="agent-problem"),
    HandlerError("x.py", "cannot be imported", case="handler-failed"),
    *(
        ConfigFileError(PATH, "no", server=FS, case=case)
        for case in (
            "entry-changed", "host-file-missing", "lock-file", "read-only-file", "recording-busy", "recording-file",
            "unreadable-file",
        )
    ),
    DeadlineError(FS, "at its start", 5, case="not-mcp"),
    DeadlineError(FS, "to its login", 5, case="login"),
    ReadOnlyError(FS, "read", is_distrusted=True),
    *(
        AuthorizationError(FS, "no", case=case)
        for case in (
            "authorization-invalid", "callback-port", "client-unknown", "header", "issuer-changed", "keyring-locked",
            "login-needless", "not-granted", "oauth-off", "pasted", "pyjwt-missing", "redirect-uri",
            "registration-refused", "token-only",
        )
    ),
    *(EntryError(FS, "no", case=case) for case in ("keyring-missing", "no-login", "shell-syntax")),
    EntryError("x | y", "uses shell syntax", case="shell-syntax"),
    *(StatusError(FS, "no", 405, case=case) for case in ("not-http", "not-sse", "redirect")),
    ToolUnknownError(FS, "x", case="no-tools"),
    *(spawn("npx", case) for case in ("no-folder", "no-interpreter", "not-executable", "not-on-path", "not-runnable")),
    *(spawn(command, "not-on-path") for command in ("python", "python3.9", "frobnicate", "KEY=****")),
    *(spawn(command, "no-such-program") for command in ("/srv/x", "/srv/127.0.0.1:80/mcp")),
    spawn("demo://1?a&b", "no-such-program", "demo://1?a&b"),
    NotExportedError(FS, HOSTS["cursor"], "its name is not valid"),
    RegistryUnknownError(URL, "a.b/c", "9"),
    RegistryError(URL, "responded with status 503", case="registry-busy"),
    RegistryError(URL, "redirects", case="registry-moved", moved="https://s.example/a b"),
    RegistryError(URL, "demands authorization", case="registry-unauthorized"),
]  # fmt: skip
# Classes without a hint of their own: they are only bases, bring one along, or end no command.
WITHOUT_HINT = {
    *("MCPError", "ConfigError", "ConnectError", "ProtocolError", "ToolError", "RefusedError", "OutcomeUnknownError"),
    *("ContractError", "NotConnectedError", "UnansweredError"),
    *("CompletionError", "LocalProtocolError", "SessionExpiredError"),
}


def problem_of(hint: str) -> str:
    """Why a hint is not one thing to type; empty if it is."""
    lines = lines_in(f"hint: {hint}")
    if not hint or "\n" in hint:
        return "not one line"
    if hint.count("gaia mcp ") != len(lines):
        return "more than one command, or none at its end"
    if any("my" in line for line in lines):
        return "not quoted"
    return next((problem for line in lines if (problem := refusal(filled(line, [FS])))), "")


def test_each_error_has_one_hint_with_a_command_line_that_the_program_accepts() -> None:
    """Ours: the person copies it from the second line of the error."""
    wrong = {
        str((error.kind, error.case, hint)): problem
        for error in ERRORS
        if (problem := problem_of(hint := hint_for(LINE, error)))
    }

    assert not wrong


def test_every_error_class_has_a_hint_or_needs_none() -> None:
    """Ours: a command must not end in an error that leaves the person alone."""
    kinds = [kind for name in errors.__all__ if isinstance(kind := getattr(errors, name), type)]
    without = {kind.__name__ for kind in kinds if not any(base in HINTS for base in kind.__mro__)}

    assert without == WITHOUT_HINT


def test_a_hint_repeats_the_values_of_its_error_in_quotes() -> None:
    """Ours: the line works as it stands, whatever the names are."""
    given: list[tuple[MCPError, list[str]]] = [
        (ScopeError(FS, "a b", "it's"), ["tools", "--stage", "a b", "--agent", "it's"]),
        (
            AuthorizationError(FS, "no", scopes=["files:read", "a b"]),
            ["login", FS, "--scope", "files:read", "--scope", "a b"],
        ),
        (
            ToolExcludedError(FS, "write", "includeTools", ["read *"]),
            ["edit", FS, "--only", "read *", "--only", "write"],
        ),
        (ToolExcludedError(FS, "write", "excludeTools", ["w*", "x y"]), ["edit", FS, "--except", "x y"]),
        (AgentError("a b.py:A", "has a problem", case="agent-problem"), ["serve", "a b.py:A", "--check"]),
        (RegistryUnknownError(URL, "a.b/c", "9"), ["add", "a.b/c"]),
        (spawn("demo://1?a&b", "no-such-program", "demo://1?a&b"), ["read", "NAME", "demo://1?a&b"]),
    ]

    assert [lines_in(f"hint: {hint_for(LINE, error)}") for error, _ in given] == [[words] for _, words in given]


def test_a_hint_names_the_values_that_help() -> None:
    """Ours: a variable, a path, a URL or a program that the person would otherwise have to look up."""
    given: list[tuple[MCPError, str]] = [
        (VariableUnsetError(FS, "KEY", "env KEY"), "${KEY:-value}"),
        (
            RegistryError(URL, "redirects", case="registry-moved", moved="https://s.example/a b"),
            "'https://s.example/a b'",
        ),
        (ConfigFileError(PATH, "is read-only", case="read-only-file"), str(PATH)),
        *((spawn("npx", case), "/bin/npx") for case in ("no-interpreter", "not-executable", "not-runnable")),
        (spawn("/srv/127.0.0.1:80/mcp", "no-such-program"), "http://127.0.0.1:80/mcp"),
        (spawn("python3.9", "not-on-path"), sys.executable),
        (spawn("KEY=****", "not-on-path"), "--env KEY=…"),
    ]

    assert not [(hint, value) for error, value in given if value not in (hint := hint_for(LINE, error))]


def test_a_missing_launcher_is_recognised_with_its_windows_extension() -> None:
    """Ours: an entry that was made on Windows names `npx.cmd`; what installs it is the same."""
    unknown = hint_for(LINE, spawn("frobnicate", "not-on-path"))

    for name in ("npx", "uvx", "dnx", "docker"):
        assert name in hint_for(LINE, spawn(name, "not-on-path")).lower()
        assert hint_for(LINE, spawn(f"{name}.cmd", "not-on-path")) == hint_for(
            LINE, spawn(f"{name}.exe", "not-on-path")
        )
        assert (
            hint_for(LINE, spawn(f"{name}.exe", "not-on-path")) == hint_for(LINE, spawn(name, "not-on-path")) != unknown
        )


def test_the_hint_for_an_http_error_depends_on_its_status() -> None:
    """RFC 9110: a wrong path, a server that is too busy, one that refuses, and one that has failed differ."""
    path, busy, forbidden, other = (
        {hint_for(LINE, StatusError(FS, "no", status)) for status in statuses}
        for statuses in ((404, 405, 410), (429, 503), (403,), (415,))
    )

    assert [len(path), len(busy), len(forbidden), len(other)] == [1, 1, 1, 1]
    assert len({*path, *busy, *forbidden, *other, hint_for(LINE, failed(502))}) == 5


def test_the_hint_for_a_refused_host_names_the_url() -> None:
    """Ours: the SDKs protect local servers against DNS rebinding by the name of the host; a header changes nothing."""
    for text in ("403 Forbidden: Host not allowed: use localhost", "421 Misdirected Request: Invalid Host header"):
        refused = StatusError(FS, f"server 'my fs' answered initialize with {text}", int(text[:3]))
        assert lines_in(f"hint: {hint_for(LINE, refused)}") == [["edit", FS, "--url", "URL"]]
    other = StatusError("host", "server 'host' answered initialize with 403 Forbidden: no", 403)
    assert "headers" in hint_for(LINE, other)


def test_the_hint_for_an_exited_server_depends_on_its_stage_and_its_stderr() -> None:
    """Ours: a log explains more than the error; a server that wrote nothing was most likely started incorrectly."""
    commands = {
        ("at its start", ""): "show",
        ("at its start", "a\nb"): "logs",
        ("while answering", ""): "test-client",
        ("while answering", "a"): "logs",
    }

    for (stage, stderr), command in commands.items():
        assert lines_in(f"hint: {hint_for(LINE, ServerExitedError(FS, stage, 1, stderr))}") == [[command, FS]], stage


def test_a_lost_connection_adds_nothing_to_the_hint_of_a_call_that_may_have_run() -> None:
    """Ours: nor does an HTTP error; retrying is not advised."""
    for error in (ConnectionLostError("server 'fs' closed the connection"), failed(502)):
        assert hint_for(LINE, outcome_unknown(error, "pay")) == "'pay' may have run, and was not called again"
    assert hint_for(LINE, ConnectionLostError("server 'fs' closed the connection")) == ""


def test_debug_is_not_advised_again() -> None:
    """Ours: the traceback has just been printed."""
    line = CommandLine(["mcp", "tools", "./a.py", "--debug"])

    error = AgentError("./a.py", "cannot be imported", case="agent-failed")
    assert hint_for(line, error) == "correct it, and check again: gaia mcp serve ./a.py --check"


def test_the_table_has_an_example_of_every_class_and_case_and_no_case_that_is_never_raised() -> None:
    """Ours: a hint that is not tried above may advise what the program does not take."""
    library = [path.read_text() for path in Path(gaia_mcp.__file__).parent.rglob("*.py")]
    raised = {case for text in library for case in re.findall(r'case ?= ?"([a-z-]+)"', text)}

    assert set(HINTS) <= {type(error) for error in ERRORS}
    assert {error.case for error in ERRORS if error.case in CASES} == set(CASES) == raised


def test_an_error_of_the_library_knows_no_command_line() -> None:
    """Ours: a Python program has no use for one."""
    advised = {
        f"{error.kind} {error.case}": error.hint for error in ERRORS if error.hint or "gaia mcp" in error.message
    }

    assert not advised


def test_the_hint_for_an_unsaved_server_edits_no_entry() -> None:
    """Ours: only the typed line can be changed."""
    line = CommandLine()
    line.unsaved.append(TypedEntry("A=1 srv", Command("A=1", ["srv"])))
    unset = SpawnError("A=1 srv", "A=1", "was not found", case="not-on-path")
    network = ServerExitedError("A=1 srv", "at its start", 1)
    network.facts["not_passed_on"] = ["CERTS"]

    assert hint_for(line, unset) == "start the command with env: -- env A=… COMMAND [ARG...]"
    assert hint_for(line, network).endswith("pass it by saving the server: gaia mcp add --env CERTS NAME -- COMMAND")


def test_an_unknown_name_may_be_another_kind_of_target() -> None:
    """Ours: a person may have meant a URL or a program, which are typed in another way."""
    line = CommandLine(command="tools")
    hints = {
        "": "the name is empty: in a script, the variable that holds it may not be set",
        "localhost:8000/mcp": "a URL begins with its scheme: gaia mcp tools http://localhost:8000/mcp",
        "127.0.0.1:80": "a URL begins with its scheme: gaia mcp tools http://127.0.0.1:80",
        "sh": "it is a program; run it with: gaia mcp tools -- sh",
        "./sh": "list the servers with: gaia mcp list",
    }

    assert {name: hint_for(line, ServerUnknownError(name, PATH)) for name in hints} == hints


def test_a_server_of_a_project_is_changed_in_the_project() -> None:
    """Ours: the user's own file does not contain it."""
    error = ServerUnknownError("fs", PATH, project=Path("app/mcp_servers.json"))

    assert hint_for(LINE, error) == "it comes from app/mcp_servers.json; edit that, or: gaia mcp untrust"


def test_the_hint_of_an_error_takes_precedence() -> None:
    """Ours: the code that raised it knows a fact that the table does not."""
    assert hint_for(LINE, ToolUnknownError("fs", "raed", suggestion="did you mean 'read'?")) == "did you mean 'read'?"
    assert hint_for(LINE, NotConnectedError("fs")) == "call connect() first"
    assert hint_for(LINE, MCPError("something happened")) == ""


def test_the_hint_reports_first_that_a_call_may_have_run() -> None:
    """Ours: the person must know that before a retry."""
    warning = "'pay' may have run, and was not called again; "
    late = outcome_unknown(DeadlineError("fs", "tools/call 'pay'", 5), "pay")
    ended = outcome_unknown(ServerExitedError("fs", "while answering", 1, "a\nb"), "pay")

    assert hint_for(LINE, late) == f"{warning}allow more time with --timeout SECONDS"
    assert hint_for(LINE, ended) == f"{warning}show its whole stderr log with: gaia mcp logs fs"


def test_a_hint_repeats_the_config_option() -> None:
    """Ours: without `--config` the same line would be about another file."""
    line = CommandLine(config=Path("my servers.json"))

    assert (
        hint_for(line, ServerUnknownError("fs", PATH))
        == "list the servers with: gaia mcp list --config 'my servers.json'"
    )
    assert line.to_type("show", "my fs") == "gaia mcp show --config 'my servers.json' 'my fs'"


@pytest.mark.parametrize("command", ["add", "edit"])
def test_add_and_edit_advise_no_entry_that_was_not_saved(command: str) -> None:
    """Ours: there is no such entry, or it is the one before the change."""
    line = CommandLine(command=command)

    for error in (
        SpawnError("fs", "npx", "does not exist"),
        ServerExitedError("fs", "at its start", 1),
        ServerExitedError("fs", "x", 1),
        RemoteProtocolError("fs", "is silent"),
        *(AuthorizationError("fs", "no", case=case) for case in ("header", "oauth-off")),
    ):
        assert hint_for(line, error) == UNSAVED
    moved = StatusError("fs", "no", 302, case="redirect")
    assert hint_for(line, moved) == "if that is its new URL, use it instead"
    log_in = "save it, then log in, with --no-check"
    assert hint_for(line, AuthorizationError("fs", "requires authorization")) == log_in
    assert hint_for(line, ServerExitedError("fs", "x", 1, "a\nb")) == "show its whole stderr log with: gaia mcp logs fs"
    assert "--env KEY=VALUE" in hint_for(line, spawn("KEY=****", "not-on-path"))


def test_a_hint_about_an_entry_says_which_command_writes_it() -> None:
    """Ours: the entry of a server that is only typed is one that is yet to be added, and `login` is not repeated."""
    line = CommandLine(command="login")
    url = "https://mcp.example/mcp"
    errors: list[MCPError] = [
        AuthorizationError(url, "registers no client", case="client-unknown"),
        AuthorizationError(url, "refused", case="registration-refused"),
        AuthorizationError(url, "names another", case="issuer-changed"),
        ConnectError("no", server=url, case="tls-self-signed"),
        ConnectError("no", server=url, case="tls-unknown-authority"),
        ConnectError("no", server=url, case="tls-client"),
    ]

    assert {tuple(lines_in(f"hint: {hint_for(line, error)}")[0]) for error in errors} == {("edit", url)}

    line.unsaved.append(TypedEntry(url, Remote(url)))
    lines = [lines_in(f"hint: {hint_for(line, error)}")[0] for error in errors]
    assert {tuple(line[:2]) for line in lines} == {("add", "NAME")}
    assert {json.loads(line[-1])["url"] for line in lines} == {url}

    line.command = "add"
    assert all(hint_for(line, error).endswith(" with --no-check") for error in errors)


def test_the_hint_for_a_refused_token_depends_on_where_it_comes_from() -> None:
    """Ours: the same line again would change nothing where the header refers to a variable."""
    line = CommandLine(command="tools")
    refused = AuthorizationError("web", "refused the header", case="header")
    entry = TypedEntry("web", Remote("https://mcp.example/mcp", {"authorization": "Bearer ${WEB_TOKEN}"}))

    assert lines_in(f"hint: {hint_for(line, refused)}") == [
        ["edit", "web", "--header", "Authorization: Bearer ${TOKEN}"]
    ]
    line.used.append(entry)
    assert hint_for(line, refused).endswith(": export WEB_TOKEN=…")
    line.command = "login"
    assert lines_in(f"hint: {hint_for(line, refused)}") == [
        ["edit", "web", "--unset", "headers.authorization", "--no-check"]
    ]
    line.unsaved.append(entry)
    assert lines_in(f"hint: {hint_for(line, refused)}") == []


def test_the_hint_for_a_login_without_an_answer_names_the_redirect_uri_of_a_registered_client() -> None:
    """Ours: the page of a server that compares it sends nobody back."""
    line = CommandLine(command="login")
    late = DeadlineError("web", "to its login in the browser", 5, case="login")

    assert lines_in(f"hint: {hint_for(line, late)}") == []
    oauth = OAuthMembers({"client_id": "CID"}, {})
    line.used.append(TypedEntry("web", Remote("https://mcp.example/mcp", {}, oauth=oauth)))
    assert "oauth.redirectUri" in hint_for(line, late)
    assert lines_in(f"hint: {hint_for(line, late)}") == [["edit", "web"]]


def test_login_does_not_advise_itself() -> None:
    """Ours: a refused login is not mended by the same line."""
    line = CommandLine(command="login")
    errors = [AuthorizationError(FS, "was not authorized: access_denied")]

    assert [lines_in(f"hint: {hint_for(line, error)}") for error in errors] == [[]]


def test_add_advises_another_way_to_add() -> None:
    """Ours: there is no entry to edit yet."""
    line = CommandLine(command="add")

    assert hint_for(line, EntryError("fs", "x")) == "show the members of an entry: gaia mcp add --help"
    assert hint_for(line, ServerExistsError("fs")) == "choose another name, or replace it with --force"
    shell = hint_for(line, EntryError("fs", "x", case="shell-syntax"))
    assert shell == "to use a shell, start it explicitly: gaia mcp add fs -- sh -c '…'"
    assert hint_for(line, spawn("npx", "no-folder")) == "name an existing one with --cwd DIR"


def test_every_line_to_type_is_made_in_one_place() -> None:
    """Ours: a literal `gaia mcp …` in a hint repeats no `--config`, quotes nothing, and forgets `gmcp`."""
    found = []
    for path in Path(gaia_mcp.__file__).parent.rglob("*.py"):
        tree = ast.parse(path.read_text())
        texts = {id(each.value) for each in ast.walk(tree) if isinstance(each, ast.Expr)}
        found += [
            f"{path.name}:{each.lineno}: {each.value}"
            for each in ast.walk(tree)
            if isinstance(each, ast.Constant)
            and isinstance(each.value, str)
            and id(each) not in texts
            and re.search(r"(?<!Example:) (gaia mcp|gmcp) [a-z{]", f" {each.value}")
            and not (each.value in NOT_ADVISED or "\n" in each.value)
        ]

    assert found == []


def test_test_client_does_not_advise_itself() -> None:
    """Ours: its steps have just been shown."""
    line = CommandLine(command="test-client")

    assert hint_for(line, SpawnError("fs", "npx", "does not exist")) == "show its stderr with --debug"
    silent = ServerExitedError("fs", "at its start", 1)
    assert hint_for(line, silent) == "try its command by hand; it is shown with: gaia mcp show fs"

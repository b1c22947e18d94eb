"""What to type next: for each error that a command reports."""

from __future__ import annotations

import ast
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import gaia_mcp
from gaia_mcp.cli.hints import CASES, HINTS, hint_for
from gaia_mcp.cli.lines import Typed, to_type
from gaia_mcp.config.command import Command
from gaia_mcp.config.typed import TypedEntry
from gaia_mcp.errors import (
    AgentError,
    ArgumentsError,
    AuthorizationError,
    CancelledError,
    ConfigFileError,
    ConnectError,
    ConnectionLostError,
    DeadlineError,
    EntryError,
    FeatureUnknownError,
    HandlerError,
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
from gaia_mcp.protocol.jsonrpc import INTERNAL_ERROR

if TYPE_CHECKING:
    from collections.abc import Iterator


def failed(status: int) -> ConnectionLostError:
    """The error for an HTTP status, after which the request may have run."""
    error = ConnectionLostError("no", server="fs", case=f"http-{status}")
    error.facts = {"status": status}
    return error


PATH = Path("servers.json")
# What is printed, and not to be typed: the title of a report, the usage of a tool, a text about a file; as are scripts.
NOT_ADVISED = {"gaia mcp test-client", "### gaia mcp test-client: ", "gaia mcp call ", "A file of `gaia mcp record`."}
UNSAVED = "correct the command, or save it as it is with --no-check"
EXPECTED: list[tuple[MCPError, str]] = [
    (ConfigFileError(PATH, "is empty"), "correct or move the file; it was not changed"),
    (ServerUnknownError("fs", PATH), "list the servers with: gaia mcp list"),
    (ServerExistsError("fs"), "choose another name"),
    (EntryError("fs", "is empty"), "correct it in an editor: gaia mcp edit fs"),
    (VariableUnsetError("fs", "KEY", "env KEY"), "export KEY=… first, or write a default: ${KEY:-value}"),
    (AgentError("demo", "does not exist"), "write package.module:Class or path/to/file.py:Class"),
    (HandlerError("x", "is wrong"), "write path/to/file.py, path/to/file.py:Class or package.module:Class"),
    (SpawnError("fs", "npx", "does not exist"), "test the entry with: gaia mcp test-client fs"),
    (ServerExitedError("my fs", "at its start", 1), "try its command by hand; it is shown with: gaia mcp show 'my fs'"),
    (ServerExitedError("fs", "while answering", 1), "show each step with: gaia mcp test-client fs"),
    (ServerExitedError("fs", "at its start", 1, "a\nb\n"), "show its whole stderr log with: gaia mcp logs fs"),
    (ServerExitedError("fs", "while answering", 1, "a"), "show its whole stderr log with: gaia mcp logs fs"),
    (
        RegistryError("https://r.example", "cannot be read"),
        "check the network, and which registry --registry or GAIA_MCP_REGISTRY names",
    ),
    (
        RegistryUnknownError("https://r.example", "a.b/c"),
        "find its name with: gaia mcp search --registry WORD",
    ),
    (StatusError("fs", "no", 404), "the path is usually /mcp or /sse; check its URL: gaia mcp show fs"),
    (failed(502), "it failed, or a proxy in front of it; try again later, or look at its log"),
    (StatusError("fs", "no", 429), "it is too busy; try again later, or allow more time with --timeout SECONDS"),
    (StatusError("fs", "no", 403), "access is forbidden; check the headers of its entry"),
    (StatusError("fs", "no", 415), "check its URL: gaia mcp show fs"),
    (AuthorizationError("fs", "requires authorization"), "log in with: gaia mcp login fs"),
    (
        AuthorizationError("fs", "requires another scope", scopes=["files:read", "two words"]),
        "log in with: gaia mcp login fs --scope files:read --scope 'two words'",
    ),
    (DeadlineError("fs", "tools/list", 5), "allow more time with --timeout SECONDS"),
    (
        DeadlineError("fs", "at its start", 5),
        "a first start may download a lot: allow more time with --timeout SECONDS",
    ),
    (CancelledError("fs", "tools/list"), "repeat the command if you still need the result"),
    (RemoteProtocolError("fs", "is silent"), "report it to its author; show each step with: gaia mcp test-client fs"),
    (VersionError("fs", [], []), "update the older of the two"),
    (NotSupportedError("fs", "prompts"), "show its capabilities with: gaia mcp show fs --check"),
    (PeerError("fs", "tools/list", INTERNAL_ERROR, "no"), "the error comes from the server; report it to its author"),
    (ToolUnknownError("fs", "raed"), "see its tools with: gaia mcp tools fs"),
    (FeatureUnknownError("fs", "prompt", "x"), "see its prompts with: gaia mcp prompts fs"),
    (ArgumentsError("fs", "read", []), "see its parameters with: gaia mcp tools fs"),
    (ReadOnlyError("fs", "write"), "call it without --read-only if it may change something"),
    (
        ToolExcludedError("fs", "write", "includeTools", ["read_*"]),
        "include it with: gaia mcp edit fs --only 'read_*' --only write",
    ),
    (ScopeError("fs", "build", None), "list the available tools with: gaia mcp tools --stage build"),
    (ScopeError("fs", None, "two words"), "list the available tools with: gaia mcp tools --as 'two words'"),
]


def spawn(command: str, case: str) -> SpawnError:
    return SpawnError("fs", command, "cannot be run", program="/bin/npx", case=case)


CASE_BY_CASE: list[tuple[MCPError, str]] = [
    (ConnectError("no", server="fs", case="dns"), "check the network; check its URL: gaia mcp show fs"),
    (ConnectError("no", server="fs", case="proxy"), "check HTTPS_PROXY, HTTP_PROXY and NO_PROXY"),
    (
        ConnectError("no", server="fs", case="refused"),
        "start it, or correct host and port; check its URL: gaia mcp show fs",
    ),
    (ConnectError("no", server="fs", case="tls"), "check its URL: gaia mcp show fs"),
    (
        ConnectError("no", server="fs", case="tls-client"),
        "set 'client_cert' and 'client_key' in its entry to PEM files",
    ),
    (
        ConnectError("no", server="fs", case="tls-expired"),
        "its operator has to renew the certificate; check the clock of this machine too",
    ),
    (ConnectError("no", server="fs", case="tls-none"), "check its URL: gaia mcp show fs"),
    (
        ConnectError("no", server="fs", case="tls-not-yet-valid"),
        "its operator has to renew the certificate; check the clock of this machine too",
    ),
    (ConnectError("no", server="fs", case="tls-other-name"), "check its URL: gaia mcp show fs"),
    (
        ConnectError("no", server="fs", case="tls-self-signed"),
        "set 'ssl_verify' in its entry, or SSL_CERT_FILE, to the file of its certificate authority",
    ),
    (
        ConnectError("no", server="fs", case="tls-unknown-authority"),
        "set 'ssl_verify' in its entry, or SSL_CERT_FILE, to the file of its certificate authority",
    ),
    (ConnectError("no", server="fs", case="tls-version"), "its operator has to update it"),
    (
        DeadlineError("fs", "at its start", 5, case="url-silent"),
        "allow more time with --timeout SECONDS; check its URL: gaia mcp show fs",
    ),
    (
        ConnectionLostError("no", server="fs", case="url-closed"),
        "if it uses TLS, its URL begins with https://; check its URL: gaia mcp show fs",
    ),
    (
        RemoteProtocolError("fs", "answered with a page", case="url-page"),
        "the path is usually /mcp or /sse; check its URL: gaia mcp show fs",
    ),
    (ConnectError("no", server="fs", case="unreachable"), "check the network; check its URL: gaia mcp show fs"),
    (AgentError("demo", "cannot be created", case="agent-arguments"), "give arguments with --kwarg NAME=VALUE"),
    (AgentError("demo", "cannot be imported", case="agent-failed"), "see the traceback with --debug"),
    (HandlerError("x.py", "cannot be imported", case="handler-failed"), "see the traceback with --debug"),
    (
        AgentError("demo", "has no x()", case="agent-incomplete"),
        "mark its methods with @tool, as in the file that this writes: gaia mcp init",
    ),
    (
        AgentError("a b.py", "has a problem", case="agent-problem"),
        "correct it, and check again: gaia mcp serve 'a b.py' --check",
    ),
    (
        AgentError("a b.py:A", "has a problem", case="agent-problem"),
        "correct it, and check again: gaia mcp serve 'a b.py:A' --check",
    ),
    (
        AgentError("a b.py", "contains no agent class", case="agent-missing"),
        "if it is an MCP server, run it with: gaia mcp tools -- python 'a b.py'",
    ),
    (
        ConfigFileError(PATH, "has changed", server="fs", case="entry-changed"),
        "nothing was saved; check the entry and retry: gaia mcp show fs",
    ),
    (
        DeadlineError("fs", "at its start", 5, case="not-mcp"),
        "check that its command starts an MCP server, or allow more time with --timeout SECONDS",
    ),
    (ReadOnlyError("fs", "read", is_distrusted=True), "if you trust its author: gaia mcp edit fs --trust-hints"),
    (
        ConfigFileError(PATH, "does not exist", case="host-file-missing"),
        "list the hosts found here with: gaia mcp import",
    ),
    (AuthorizationError("fs", "x", case="keyring-locked"), "unlock it, or log in again: gaia mcp login fs"),
    (
        EntryError("fs", "lies in the keyring", case="keyring-missing"),
        "install it in the same environment: pip install keyring",
    ),
    (
        ConfigFileError(PATH, "is not a lock file", case="lock-file"),
        "restore the file from version control, or remove it and lock again: gaia mcp lock NAME...",
    ),
    (
        AuthorizationError("fs", "refused the header", case="header"),
        "set another: gaia mcp edit fs --header 'Authorization: Bearer ${TOKEN}'",
    ),
    (
        AuthorizationError("fs", "requires authorization", case="oauth-off"),
        "turn it on: gaia mcp edit fs --unset oauth",
    ),
    (
        StatusError("fs", "no", 405, case="not-http"),
        "it may use the other transport; detect it with: gaia mcp edit fs --unset type",
    ),
    (
        StatusError("fs", "no", 404, case="not-sse"),
        "it may use the other transport; detect it with: gaia mcp edit fs --unset type",
    ),
    (
        AuthorizationError("fs", "cannot be used", case="authorization-invalid"),
        (
            "its operator has to correct that; use another token: "
            "gaia mcp edit fs --header 'Authorization: Bearer ${TOKEN}'"
        ),
    ),
    (
        AuthorizationError("fs", "registers no client", case="client-unknown"),
        "register a client there, and write its id as oauth.clientId into the entry: gaia mcp edit fs",
    ),
    (
        StatusError("fs", "no", 302, case="redirect"),
        "if that is its new URL, set it: gaia mcp edit fs --url URL",
    ),
    (
        AuthorizationError("fs", "publishes none", case="token-only"),
        ("ask its operator for a token, and set it with: gaia mcp edit fs --header 'Authorization: Bearer ${TOKEN}'"),
    ),
    (
        AuthorizationError("fs", "names another", case="issuer-changed"),
        "if that is right, write its issuer as oauth.issuer into the entry: gaia mcp edit fs",
    ),
    (
        DeadlineError("fs", "to its login", 5, case="login"),
        "allow more time with --timeout SECONDS, or discard the login with: gaia mcp logout fs",
    ),
    (EntryError("fs", "has no URL", case="no-login"), "see which servers have one: gaia mcp login --status"),
    (
        AuthorizationError("fs", "needs PyJWT", case="pyjwt-missing"),
        "install it in the same environment: pip install PyJWT",
    ),
    (spawn("npx", "no-folder"), "name an existing one: gaia mcp edit fs --cwd DIR"),
    (ToolUnknownError("fs", "x", case="no-tools"), "see its capabilities with: gaia mcp test-client fs"),
    (spawn("/srv/x", "no-such-program"), "check the path in its entry"),
    (
        SpawnError("demo://1?a&b", "demo://1?a&b", "does not exist", case="no-such-program"),
        "the URL of a server begins with http; read a resource with: gaia mcp read NAME 'demo://1?a&b'",
    ),
    (spawn("/srv/127.0.0.1:80/mcp", "no-such-program"), "a URL begins with its scheme: http://127.0.0.1:80/mcp"),
    (AuthorizationError("fs", "asks for none", case="login-needless"), "use it without a login: gaia mcp tools fs"),
    (spawn("npx", "no-interpreter"), "correct that line, or name an interpreter before /bin/npx"),
    (spawn("npx", "not-executable"), "make it executable (chmod +x /bin/npx), or name its interpreter"),
    (spawn("npx", "not-on-path"), "npx comes with Node.js; install that, or give the full path of npx"),
    (spawn("npx.cmd", "not-on-path"), "npx comes with Node.js; install that, or give the full path of npx"),
    (
        spawn("uvx.exe", "not-on-path"),
        "uvx comes with uv; install that (pip install uv), or give the full path of uvx",
    ),
    (
        spawn("dnx", "not-on-path"),
        "dnx comes with the .NET SDK, from version 10 on; install that, or give the full path of dnx",
    ),
    (spawn("python", "not-on-path"), "try python3, or give the full path of the interpreter"),
    (spawn("python3.9", "not-on-path"), f"install it, or use another interpreter, for instance {sys.executable}"),
    (spawn("frobnicate", "not-on-path"), "install it, or give its full path"),
    (spawn("KEY=****", "not-on-path"), "set the variable in its env: gaia mcp edit fs --env KEY=…"),
    (spawn("npx", "not-runnable"), "try it by hand: /bin/npx"),
    (
        RegistryUnknownError("https://r.example", "a.b/c", "9"),
        "leave the version out for the newest: gaia mcp add a.b/c",
    ),
    (RegistryError("https://r.example", "responded with status 503", case="registry-busy"), "try again later"),
    (
        RegistryError("https://r.example", "redirects", case="registry-moved", moved="https://s.example/a b"),
        "use that: export GAIA_MCP_REGISTRY='https://s.example/a b'",
    ),
    (
        RegistryError("https://r.example", "demands authorization", case="registry-unauthorized"),
        "set GAIA_MCP_REGISTRY to its URL, and GAIA_MCP_REGISTRY_TOKEN to your token for it",
    ),
    (ConfigFileError(PATH, "is read-only", case="read-only-file"), "allow writing first: chmod u+w servers.json"),
    (
        ConfigFileError(PATH, "is in use", case="recording-busy"),
        "wait until it ends, or choose another file with --to FILE",
    ),
    (ConfigFileError(PATH, "cannot be written", case="recording-file"), "choose another file with --to FILE"),
    (
        EntryError("fs", "uses shell syntax", case="shell-syntax"),
        "to use a shell, start it explicitly: gaia mcp edit fs -- sh -c '…'",
    ),
    (
        EntryError("x | y", "uses shell syntax", case="shell-syntax"),
        "to use a shell, start it explicitly: gaia mcp tools -- sh -c '…'",
    ),
    (ConfigFileError(PATH, "is a folder", case="unreadable-file"), "check its permissions, or name another file"),
]


@pytest.fixture(autouse=True)
def nothing_typed() -> Iterator[None]:
    """The words of the command that runs, restored after each test."""
    yield
    Typed.program, Typed.words = "gaia mcp", ()
    Typed.begin("", None)


@pytest.mark.parametrize(("error", "hint"), [*EXPECTED, *CASE_BY_CASE], ids=lambda one: getattr(one, "kind", ""))
def test_each_error_has_one_thing_to_type(error: MCPError, hint: str) -> None:
    """Ours: the second line of an error."""
    assert hint_for(error) == hint


def test_a_call_that_may_have_run_has_a_whole_hint() -> None:
    """Ours: a lost connection adds nothing to it, nor does a server that failed."""
    for error in (ConnectionLostError("server 'fs' closed the connection"), failed(502)):
        assert hint_for(outcome_unknown(error, "pay")) == "'pay' may have run, and was not called again"
    assert hint_for(ConnectionLostError("server 'fs' closed the connection")) == ""


def test_a_traceback_that_is_shown_is_not_advised_again() -> None:
    """Ours."""
    Typed.words = ["mcp", "tools", "./a.py", "--debug"]

    error = AgentError("./a.py", "cannot be imported", case="agent-failed")
    assert hint_for(error) == "correct it, and check again: gaia mcp serve ./a.py --check"


def test_the_table_has_no_error_that_is_not_tested() -> None:
    """Ours; and no case that the library does not raise."""
    library = [path.read_text() for path in Path(gaia_mcp.__file__).parent.rglob("*.py")]
    raised = {case for text in library for case in re.findall(r'case ?= ?"([a-z-]+)"', text)}

    assert {type(error) for error, _ in EXPECTED} == set(HINTS)
    assert {error.case for error, _ in CASE_BY_CASE} == set(CASES) == raised


@pytest.mark.parametrize("error", [error for error, _ in EXPECTED], ids=lambda one: one.kind)
def test_an_error_of_the_library_knows_no_command_line(error: MCPError) -> None:
    """Ours: a Python program has no use for one."""
    assert error.hint == ""


def test_a_server_that_is_not_saved_has_no_entry_to_edit() -> None:
    """Ours: what was typed is what can be changed."""
    Typed.unsaved.append(TypedEntry("A=1 srv", Command("A=1", ["srv"])))
    unset = SpawnError("A=1 srv", "A=1", "was not found", case="not-on-path")
    network = ServerExitedError("A=1 srv", "at its start", 1)
    network.facts["not_passed_on"] = ["CERTS"]

    assert hint_for(unset) == "start the command with env: -- env A=… COMMAND [ARG...]"
    assert hint_for(network).endswith("pass it by saving the server: gaia mcp add --env CERTS NAME -- COMMAND")


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("", "the name is empty: in a script, the variable that holds it may not be set"),
        ("localhost:8000/mcp", "a URL begins with its scheme: gaia mcp tools http://localhost:8000/mcp"),
        ("127.0.0.1:80", "a URL begins with its scheme: gaia mcp tools http://127.0.0.1:80"),
        ("sh", "it is a program; run it with: gaia mcp tools -- sh"),
        ("./sh", "list the servers with: gaia mcp list"),
    ],
)
def test_an_unknown_name_may_be_another_kind_of_target(name: str, hint: str) -> None:
    """Ours."""
    Typed.command = "tools"

    assert hint_for(ServerUnknownError(name, PATH)) == hint


def test_a_server_of_a_project_is_changed_in_the_project() -> None:
    """Ours: the user's own file does not hold it."""
    error = ServerUnknownError("fs", PATH, project=Path("app/mcp_servers.json"))

    assert hint_for(error) == "it comes from app/mcp_servers.json; edit that, or: gaia mcp untrust"


def test_a_hint_that_an_error_brings_along_is_used() -> None:
    """Ours: the place that raised it knows a fact that the table does not."""
    assert hint_for(ToolUnknownError("fs", "raed", suggestion="did you mean 'read'?")) == "did you mean 'read'?"
    assert hint_for(NotConnectedError("fs")) == "call connect() first"
    assert hint_for(MCPError("something happened")) == ""


def test_a_call_that_may_have_run_is_told_before_what_to_type() -> None:
    """Ours: the person must know before calling it again."""
    told = "'pay' may have run, and was not called again; "
    late = outcome_unknown(DeadlineError("fs", "tools/call 'pay'", 5), "pay")
    ended = outcome_unknown(ServerExitedError("fs", "while answering", 1, "a\nb"), "pay")

    assert hint_for(late) == f"{told}allow more time with --timeout SECONDS"
    assert hint_for(ended) == f"{told}show its whole stderr log with: gaia mcp logs fs"


def test_a_hint_is_about_the_file_that_the_command_was_about() -> None:
    """Ours: without `--config` the same line would be about another file."""
    Typed.config = Path("my servers.json")

    assert hint_for(ServerUnknownError("fs", PATH)) == "list the servers with: gaia mcp list --config 'my servers.json'"
    assert to_type("show", "my fs") == "gaia mcp show --config 'my servers.json' 'my fs'"


@pytest.mark.parametrize("command", ["add", "edit"])
def test_a_command_that_saved_nothing_sends_to_no_entry(command: str) -> None:
    """Ours: the entry to look at is not there, or is the one before the change."""
    Typed.command = command

    for error in (
        SpawnError("fs", "npx", "does not exist"),
        ServerExitedError("fs", "at its start", 1),
        ServerExitedError("fs", "x", 1),
        RemoteProtocolError("fs", "is silent"),
        *(AuthorizationError("fs", "no", case=case) for case in ("header", "oauth-off", "client-unknown")),
        AuthorizationError("fs", "names another", case="issuer-changed"),
    ):
        assert hint_for(error) == UNSAVED
    moved = StatusError("fs", "no", 302, case="redirect")
    assert hint_for(moved) == "if that is its new URL, use it instead"
    log_in = "save it, then log in, with --no-check"
    assert hint_for(AuthorizationError("fs", "requires authorization")) == log_in
    assert hint_for(ServerExitedError("fs", "x", 1, "a\nb")) == "show its whole stderr log with: gaia mcp logs fs"
    assert "--env KEY=VALUE" in hint_for(spawn("KEY=****", "not-on-path"))


def test_what_add_refused_is_added_in_another_way() -> None:
    """Ours: there is no entry to edit yet."""
    Typed.command = "add"

    assert hint_for(EntryError("fs", "x")) == "show the members of an entry: gaia mcp add --help"
    assert hint_for(ServerExistsError("fs")) == "choose another name, or replace it with --force"
    shell = hint_for(EntryError("fs", "x", case="shell-syntax"))
    assert shell == "to use a shell, start it explicitly: gaia mcp add fs -- sh -c '…'"
    assert hint_for(spawn("npx", "no-folder")) == "name an existing one with --cwd DIR"


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


def test_test_client_does_not_send_to_itself() -> None:
    """Ours: its steps have just been shown."""
    Typed.command = "test-client"

    assert hint_for(SpawnError("fs", "npx", "does not exist")) == "show its stderr with --debug"
    silent = ServerExitedError("fs", "at its start", 1)
    assert hint_for(silent) == "try its command by hand; it is shown with: gaia mcp show fs"

"""What to type next after a server has refused a request, or has ended."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from gaia_mcp.cli.hints import hint_for
from gaia_mcp.cli.lines import Typed
from gaia_mcp.cli.refusals import MAX_VARIABLES, READ_CHARS, after_error, after_failure, missing_variables
from gaia_mcp.config.command import Command
from gaia_mcp.config.entries import ServerEntry
from gaia_mcp.config.typed import TypedEntry
from gaia_mcp.errors import DeadlineError, PeerError, ServerExitedError
from gaia_mcp.protocol.jsonrpc import INTERNAL_ERROR, INVALID_PARAMS, METHOD_NOT_FOUND, RESOURCE_NOT_FOUND
from gaia_mcp.server.http.handshake import HAS_ENDED
from tests.cli.conftest import entry_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.cli.conftest import Gaia

OWN = "the error comes from the server; report it to its author"
SAMPLED = "answer its sampling requests with: gaia mcp call s think --sample PROGRAM"
PATH = Path("servers.json")
UNREACHED = "the server could not open a network connection; show its entry with: gaia mcp show fs"
LOG = "its stderr log may show why: gaia mcp logs fs"


@pytest.fixture(autouse=True)
def _typed() -> Iterator[None]:
    Typed.begin("tools", None)
    yield
    Typed.begin("", None)
    Typed.words = ()


def refused(asked: str, code: int = INTERNAL_ERROR, text: str = "no", *, is_logged: bool = False) -> PeerError:
    error = PeerError("fs", asked, code, text)
    error.is_logged = is_logged
    return error


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("pass --access-token or set the ACME_ACCESS environment variable", ["ACME_ACCESS"]),
        ("Unauthorized. Use the --access-token flag or ACME_ACCESS_TOKEN.", ["ACME_ACCESS_TOKEN"]),
        ("KeyError: 'ACME_REGION'", ["ACME_REGION"]),
        ("Missing required environment variables: ACME_BOT, ACME_TEAM_ID", ["ACME_BOT", "ACME_TEAM_ID"]),
        ("Error: `ACME_REGION` is not set", ["ACME_REGION"]),
        ("ACME_REGION environment variable is required", ["ACME_REGION"]),
        ("ACME_REGION must be given, ACME_REGION is empty", ["ACME_REGION"]),
        ("A_KEY B_KEY C_KEY D_KEY", ["A_KEY", "B_KEY", "C_KEY"]),
        # Names of errors, and what nothing shows to be a variable.
        ("Error [ERR_MODULE_NOT_FOUND]: is missing", []),
        ("fetch failed: UNABLE_TO_VERIFY_LEAF_SIGNATURE", []),
        ("RESOURCE_EXHAUSTED: quota", []),
        ("MISSING_API_KEY", []),
        ("set THIS", []),
        ("fetch failed", []),
        (f"{'x' * READ_CHARS} ACME_TOKEN", []),
    ],
)
def test_a_variable_that_a_server_asks_for_is_found_in_its_words(text: str, names: list[str]) -> None:
    """Ours: most servers that need one name it, each in words of its own."""
    assert missing_variables(text) == names
    assert len(names) <= MAX_VARIABLES


def test_the_variable_is_what_to_type(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ours: with its value, or as a reference if it is set here."""
    monkeypatch.delenv("ACME_TOKEN", raising=False)
    error = refused("tools/list", text="ACME_TOKEN is not set")
    ended = ServerExitedError("fs", "at its start", 1, "a\nb", last_words="ACME_TOKEN is not set")

    advised = "the server mentions ACME_TOKEN; set it with: gaia mcp edit fs --env ACME_TOKEN=VALUE"
    assert (hint_for(error), hint_for(ended)) == (advised, advised)
    assert hint_for(refused("tools/list", text="set A_KEY, B_KEY and C_KEY")).startswith(
        "the server mentions A_KEY, B_KEY and C_KEY; set them with: gaia mcp edit fs --env A_KEY=VALUE --env B_KEY"
    )
    monkeypatch.setenv("ACME_TOKEN", "x")
    assert hint_for(error).endswith(": gaia mcp edit fs --env ACME_TOKEN")
    monkeypatch.delenv("ACME_TOKEN")

    Typed.unsaved.append(TypedEntry("fs", Command("fs", [])))
    assert hint_for(error).endswith("set it by saving the server: gaia mcp add --env ACME_TOKEN=VALUE NAME -- COMMAND")
    Typed.begin("add", None)
    Typed.words = ["mcp", "add", "fs", "--", "fs-server"]
    assert hint_for(error).endswith("; set it with: gaia mcp add fs --env ACME_TOKEN=VALUE -- fs-server")


def test_a_variable_that_the_entry_sets_is_to_be_corrected() -> None:
    """Ours: to set it once more would change nothing; the others are named alone."""
    Typed.uses(ServerEntry("fs", Command("fs", [], {"ACME_URL": "http://127.0.0.1:1"}), source=PATH))
    sets = "the server mentions ACME_URL, which its entry sets; show its entry with: gaia mcp show fs"
    offline = "fetch failed: check that ACME_URL is correct"

    assert after_error(refused("tools/call", text="ACME_URL is wrong")) == sets
    assert after_failure("fs", "read", "ACME_URL is wrong", {}) == sets
    assert after_error(refused("tools/call", text=offline)) == UNREACHED
    assert after_error(refused("tools/call", text="set ACME_URL and ACME_TOKEN")).startswith(
        "the server mentions ACME_TOKEN; set it with: "
    )
    assert after_error(refused("tools/call", text=f"{offline}, and set ACME_PROXY")) == (
        "the server could not open a network connection, and mentions ACME_PROXY; "
        "set it with: gaia mcp edit fs --env ACME_PROXY=VALUE"
    )


@pytest.mark.parametrize("asked", ["initialize", "tools/list", "resources/list", "resources/templates/list"])
def test_an_error_is_explained_by_the_log_or_is_the_servers_own(asked: str) -> None:
    """Ours: the same request once more would show the same."""
    assert after_error(refused(asked)) == OWN
    assert after_error(refused(asked, is_logged=True)) == LOG
    Typed.begin("add", None)
    assert after_error(refused(asked, is_logged=True)) == LOG
    own = "the error comes from the server; save it as it is with --no-check"
    assert after_error(refused(asked)) == own


@pytest.mark.parametrize(
    ("asked", "code", "listed"),
    [
        ("tools/call", INVALID_PARAMS, "tools"),
        ("tools/call", METHOD_NOT_FOUND, "tools"),
        ("completion/complete", INVALID_PARAMS, "tools"),
        ("prompts/get", INVALID_PARAMS, "prompts"),
        ("resources/read", RESOURCE_NOT_FOUND, "resources"),
    ],
)
def test_what_the_server_does_not_have_is_looked_up(asked: str, code: int, listed: str) -> None:
    """Ours: its list has what it has; any other error of the same request is its own."""
    assert after_error(refused(asked, code)) == f"list its {listed} with: gaia mcp {listed} fs"
    assert after_error(refused(asked, 1)) == OWN
    assert after_error(refused(asked, 1, is_logged=True)) == LOG


@pytest.mark.parametrize(
    "said",
    [
        "fetch failed",
        "Tool 'x' execution failed: getaddrinfo ENOTFOUND api.firecrawl.dev",
        "connect ECONNREFUSED 127.0.0.1:1",
        "Failed to fetch robots.txt https://e.org/robots.txt due to a connection issue",
        "[Errno -3] Temporary failure in name resolution",
        "Get https://e.org: dial tcp: lookup e.org: no such host",
        "HTTPSConnectionPool(host='127.0.0.1', port=8443): Max retries exceeded with url: /",
        "self-signed certificate in certificate chain",
    ],
)
def test_a_server_without_a_network_is_shown(said: str) -> None:
    """Ours: its arguments are not at fault, nor is its author; the addresses in its entry may be."""
    assert after_failure("fs", "read", said, {"properties": {"path": {}}}) == UNREACHED
    assert after_error(refused("tools/list", text=said, is_logged=True)) == UNREACHED

    late = DeadlineError("fs", "at its start", 30, noise=f"the last line of its stderr: {said}")
    assert hint_for(late) == UNREACHED
    ended = ServerExitedError("fs", "at its start", 1, f"a\n{said}\nb", last_words=said)
    assert hint_for(ended) == UNREACHED

    Typed.unsaved.append(TypedEntry("fs", Command("fs", [])))
    assert after_failure("fs", "read", said, {}).endswith(
        " a network connection; check the network, and the arguments and variables of its command"
    )
    Typed.begin("add", None)
    for error in (refused("tools/list", text=said), late, ended):
        assert hint_for(error).endswith(" a network connection; save it as it is with --no-check")


def test_a_tool_that_failed_is_looked_up_unless_it_names_a_variable() -> None:
    """Ours: what a tool without parameters takes is nothing to look up, but what it does is."""
    schema = {"properties": {"file_path": {}}}
    looked_up = "gaia mcp call fs read --help"
    assert after_failure("fs", "read", "no such file", schema) == f"show its parameters: {looked_up}"
    assert after_failure("fs", "read", "FILE_PATH must be absolute", schema) == f"show its parameters: {looked_up}"
    assert after_failure("fs", "read", "no such file", {}) == f"show its description: {looked_up}"
    assert after_failure("fs", "read", "ACME_TOKEN is not set", schema).endswith(" edit fs --env ACME_TOKEN=VALUE")


def test_an_exception_of_an_agent_is_traced(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ours: its author needs the line of the code; a server of another make prints no traceback for `--debug`."""
    line = ["mcp", "call", "./notes.py", "add", "text=hi"]
    monkeypatch.setattr(Typed, "words", line)

    def hint(said: str, *, is_agent: bool = True) -> str:
        return after_failure("./notes.py", "add", said, {}, is_agent=is_agent)

    traced = f"show the traceback with: gaia {' '.join(line)} --debug"
    assert {hint("KeyError: 'inner'"), hint("ValueError")} == {traced}
    looked_up = "show its description: gaia mcp call ./notes.py add --help"
    assert {hint("no such note"), hint("ErrorProne: yes"), hint("KeyError: 'x'", is_agent=False)} == {looked_up}
    monkeypatch.setattr(Typed, "words", [*line, "--debug"])
    assert hint("KeyError: 'inner'") == looked_up


def test_a_token_that_lacks_scopes_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ours: for a token that the entry has; where a login is possible, it was tried."""
    error = PeerError("fs", "tools/call", 403, "the access token lacks what this needs", {"requiredScopes": ["a", "b"]})
    assert after_error(error) == "use a token with a b: gaia mcp edit fs --header 'Authorization: Bearer ${TOKEN}'"

    monkeypatch.setattr(Typed, "is_saved", lambda _: False)
    assert after_error(error) == "use a token with a b"


def test_a_server_without_a_place_is_tried_again() -> None:
    """Ours: with its status it has said that nothing was done."""
    assert after_error(refused("initialize", text="the store does not answer; repeat this later")) == (
        "repeat the command in a moment"
    )


def test_a_request_that_ended_with_its_worker_is_not_repeated_blindly() -> None:
    """Ours: its arguments are not at fault, and its tool may have changed something."""
    error = refused("tools/call", text=HAS_ENDED)
    assert after_error(error) == "look whether it was, before you repeat the command"


def test_a_server_that_asks_in_older_revisions_alone_is_kept_to_one() -> None:
    """Ours: in the words of FastMCP. Its tools that ask fail in a revision without requests of the server's own."""
    said = "elicitation via server-initiated requests is unavailable on 2026-07-28 connections."
    keep = "it can ask only in revisions before 2026-07-28; use an older one with: gaia mcp"
    assert after_failure("fs", "ask", said, {}) == f"{keep} edit fs --protocol 2025-11-25"

    Typed.unsaved.append(TypedEntry("http://127.0.0.1:1/mcp", Command("fs", [])))
    advised = after_failure("http://127.0.0.1:1/mcp", "ask", said, {})
    assert advised == f"{keep} add http://127.0.0.1:1/mcp --protocol 2025-11-25"


def test_a_tool_that_was_refused_may_have_been_given_wrong_arguments() -> None:
    """Ours: many servers answer so where a file or a record is not there."""
    advised = "check the arguments, or report it to its author; show its parameters: gaia mcp tools fs"
    assert after_error(refused("tools/call", -32603, text="open /x: no such file or directory")) == advised


def test_a_server_for_the_first_sdk_is_told_how_to_get_it() -> None:
    """Ours: servers that do not name the version of the SDK which they need end so since its second."""
    for words in (
        "'Server' object has no attribute 'list_tools'",
        "No module named 'mcp.server.fastmcp'. See x",
        "cannot import name 'McpError' from 'mcp' (mcp/__init__.py)",
        "cannot import name 'X' from 'mcp.server.session' (session.py)",
    ):
        ended = ServerExitedError("fs", "at its start", 1, f"a\nAttributeError: {words}", last_words=words)
        assert hint_for(ended) == (
            "it needs version 1 of the Python package mcp: install 'mcp<2', as in uvx --with 'mcp<2' PACKAGE"
        )


def test_another_package_has_no_need_of_the_first_sdk() -> None:
    """Ours: its name begins as that of the SDK."""
    words = "cannot import name 'helper' from 'mcp_server_git.util' (util.py)"

    assert "mcp<2" not in hint_for(ServerExitedError("fs", "at its start", 1, f"a\n{words}", last_words=words))


def test_a_variable_of_one_server_of_all_is_known_to_be_set(gaia: Gaia) -> None:
    """Ours: as if the server had been named."""
    gaia.write({"fs": {**entry_of("list-errors", "-32603", "ACME_URL is wrong"), "env": {"ACME_URL": "x"}}})

    sets = "hint: the server mentions ACME_URL, which its entry sets; show its entry with: gaia mcp show fs"
    assert gaia("tools").errors[-1] == gaia("tools", "fs").errors[-1] == sets


@pytest.mark.parametrize("command", ["tools", "prompts", "resources", "test-client"])
def test_the_hint_of_an_internal_error_leads_on(gaia: Gaia, command: str) -> None:
    """Ours: to the log if there is one, and never to a command that shows the same error."""
    words = {"s": ("-32603", "no", "no workspace is open"), "silent": ("-32603", "no")}
    gaia.write({name: entry_of("list-errors", *given) for name, given in words.items()})

    ran = gaia(command, "s")
    assert (ran.code, ran.errors[-1]) == (6, "hint: its stderr log may show why: gaia mcp logs s")
    assert "no workspace is open" in gaia("logs", "s").stdout
    ran = gaia(command, "silent")
    assert (ran.code, ran.errors[-1]) == (6, f"hint: {OWN}")


def test_a_server_that_add_refuses_is_explained(gaia: Gaia) -> None:
    """Ours: nothing is saved, so no hint is about an entry."""
    start = entry_of("list-errors", "-32603")
    words = ["--", start["command"], *start["args"]]

    ran = gaia("add", "s", *words, "no", "no workspace is open")
    assert (ran.code, ran.errors[-1]) == (6, "hint: nothing was saved; its stderr log may show why: gaia mcp logs s")
    assert "no workspace is open" in gaia("logs", "s").stdout
    ran = gaia("add", "t", *words, "the variable ACME_TOKEN is not set")
    assert ran.code == 6
    how = "set it with: gaia mcp add t --env ACME_TOKEN=VALUE -- "
    assert ran.errors[-1].startswith(f"hint: nothing was saved; the server mentions ACME_TOKEN; {how}")


def test_a_list_that_is_declared_and_not_supported_is_one_warning(gaia: Gaia) -> None:
    """Ours: what else the server has can be used. Spec: -32601 is the error for an unknown method."""
    gaia.write({"s": entry_of("list-errors", "-32601", "Method not found")})
    problems = {
        kind: f"it declares {kind}, and does not support {kind}/list" for kind in ("prompts", "resources", "tools")
    }

    for kind, problem in problems.items():
        ran = gaia(kind, "s")
        assert (ran.code, ran.stderr) == (0, f"note: s: {problem}\n")
        (shown,) = gaia(kind, "s", "--json").json["servers"]
        assert (shown[kind], shown["problems"]) == ([], [problem])
    ran = gaia("test-client", "s", "--json")
    checks = ran.json["servers"][0]["checks"]
    assert ran.code == 0
    assert [check["name"] for check in checks if check["outcome"] != "ok"] == ["tools", "prompts", "resources"]
    start = entry_of("list-errors", "-32601", "Method not found")
    ran = gaia("add", "t", "--", start["command"], *start["args"])
    assert (ran.code, ran.stderr) == (0, f"note: t: {problems['tools']}\n")


@pytest.mark.parametrize(
    ("url", "hint"),
    [
        ("https://e.org/a?b=1", "open https://e.org/a?b=1 and repeat the command"),
        (
            "https://\u0430b.com/x",
            "open https://\u0430b.com/x (on \u0430b.com, which is xn--b-7sb.com in ASCII) and repeat the command",
        ),
        ("https://e.org@evil.com/", "open https://e.org@evil.com/ (on evil.com) and repeat the command"),
        ("javascript:alert(1)", OWN),
        ("file:///etc/passwd", OWN),
    ],
)
def test_only_a_site_is_to_be_opened(url: str, hint: str) -> None:
    """MC-8: the URL is the server's, and may run code in a browser."""
    urls = [{"mode": "url", "message": "Log in", "url": url, "elicitationId": "1"}]

    assert after_error(PeerError("fs", "tools/call", -32042, "no", {"elicitations": urls})) == hint


@pytest.fixture
def thinking(monkeypatch: pytest.MonkeyPatch) -> None:
    """`call s think` is what was typed."""
    monkeypatch.setattr(Typed, "command", "call")
    monkeypatch.setattr(Typed, "words", ["gaia", "call", "s", "think"])


@pytest.mark.parametrize(
    ("text", "is_answered"),
    [
        ("Error executing tool think: Method not found: sampling/createMessage", True),
        ("Client does not support sampling", True),
        ("the sampling capability is not enabled", True),
        ("sampling is not available here", True),
        ("the sampling rate must be 44100", False),
    ],
)
@pytest.mark.usefixtures("thinking")
def test_a_server_that_misses_a_model_is_given_one(
    monkeypatch: pytest.MonkeyPatch, text: str, is_answered: bool
) -> None:
    """Ours: in the words of servers, who quote our own refusal or look at what we declare."""
    assert (after_failure("s", "think", text, {}) == SAMPLED) is is_answered
    assert (after_error(PeerError("s", "tools/call", -32603, text, None)) == SAMPLED) is is_answered
    monkeypatch.setattr(Typed, "words", ["gaia", "call", "s", "think", "--sample=model"])
    assert after_failure("s", "think", text, {}) != SAMPLED
    assert after_error(PeerError("s", "tools/call", -32021, text, {"requiredCapabilities": {"sampling": {}}})) == OWN


@pytest.mark.parametrize(
    ("data", "hint"),
    [
        ({"requiredCapabilities": {"sampling": {}}}, SAMPLED),
        (
            {"requiredCapabilities": {"sampling": {"tools": {}}}},
            "it needs a client that supports sampling with tools or context",
        ),
        ({"requiredCapabilities": {"sampling": 5}}, OWN),
        ({"requiredCapabilities": {"roots": {}}}, OWN),
        ({"requiredCapabilities": 5}, OWN),
        ("sampling", OWN),
    ],
)
@pytest.mark.usefixtures("thinking")
def test_a_program_is_offered_to_a_server_that_needs_no_more(data: object, hint: str) -> None:
    """Spec: -32021 says which capability. What a program answers is text."""
    assert after_error(PeerError("s", "tools/call", -32021, "no", data)) == hint

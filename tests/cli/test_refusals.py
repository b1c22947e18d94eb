"""The hint after a server has refused a request, or has exited."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from gaia_mcp.cli.entries.targets import TypedEntry
from gaia_mcp.cli.hints import hint_for
from gaia_mcp.cli.lines import CommandLine
from gaia_mcp.cli.refusals import (
    MAX_VARIABLES,
    READ_CHARS,
    about_tasks,
    after_error,
    after_failure,
    is_internal,
    missing_variables,
)
from gaia_mcp.config.command import Command
from gaia_mcp.config.entries import ServerEntry
from gaia_mcp.config.served import Served
from gaia_mcp.config.targets import Remote
from gaia_mcp.core.errors import DeadlineError, PeerError, ServerExitedError
from gaia_mcp.protocol.jsonrpc import INTERNAL_ERROR, INVALID_PARAMS, METHOD_NOT_FOUND, RESOURCE_NOT_FOUND
from gaia_mcp.server.http.handshake import HAS_ENDED
from tests.cli.conftest import entry_of

if TYPE_CHECKING:
    from tests.cli.conftest import Gaia

# No other line is typed.
LINE = CommandLine(command="tools")
OWN = "the error comes from the server; report it to its author"
SAMPLED = "answer its sampling requests with: gaia mcp call s think --sample PROGRAM"
PATH = Path("servers.json")
UNREACHED = "the server could not open a network connection; show its entry with: gaia mcp show fs"
LOG = "its stderr log may show why: gaia mcp logs fs"


def refused(asked: str, code: int = INTERNAL_ERROR, text: str = "no", *, is_logged: bool = False) -> PeerError:
    error = PeerError("fs", asked, code, text)
    error.is_logged = is_logged
    return error


def test_missing_variables_are_found_in_a_message() -> None:
    """Ours: most servers name the variable that they need, each with its own wording."""
    messages: list[tuple[str, list[str]]] = [
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
    ]

    assert [(text, missing_variables(text)) for text, _ in messages] == messages
    assert max(len(names) for _, names in messages) == MAX_VARIABLES


def test_the_hint_sets_the_missing_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ours: with its value, or as a reference if it is set in this shell."""
    line = CommandLine(command="tools")
    monkeypatch.delenv("ACME_TOKEN", raising=False)
    error = refused("tools/list", text="ACME_TOKEN is not set")
    ended = ServerExitedError("fs", "at its start", 1, "a\nb", last_words="ACME_TOKEN is not set")

    advised = "the server mentions ACME_TOKEN; set it with: gaia mcp edit fs --env ACME_TOKEN=VALUE"
    assert (hint_for(line, error), hint_for(line, ended)) == (advised, advised)
    assert hint_for(line, refused("tools/list", text="set A_KEY, B_KEY and C_KEY")).startswith(
        "the server mentions A_KEY, B_KEY and C_KEY; set them with: gaia mcp edit fs --env A_KEY=VALUE --env B_KEY"
    )
    monkeypatch.setenv("ACME_TOKEN", "x")
    assert hint_for(line, error).endswith(": gaia mcp edit fs --env ACME_TOKEN")
    monkeypatch.delenv("ACME_TOKEN")

    line.unsaved.append(TypedEntry("fs", Command("fs", [])))
    assert hint_for(line, error).endswith(
        "set it by saving the server: gaia mcp add --env ACME_TOKEN=VALUE NAME -- COMMAND"
    )
    line = line.for_command("add", None)
    line.words = ["mcp", "add", "fs", "--", "fs-server"]
    assert hint_for(line, error).endswith("; set it with: gaia mcp add fs --env ACME_TOKEN=VALUE -- fs-server")


def test_the_hint_for_a_variable_depends_on_where_the_server_runs() -> None:
    """Ours: an entry with a URL has no variables, and an agent that is only typed runs in this environment."""
    line = CommandLine(command="tools")
    error = refused("tools/call", text="ACME_TOKEN is not set")
    line.uses(ServerEntry("fs", Remote("https://fs.example/mcp"), source=PATH))
    assert hint_for(line, error) == "the server mentions ACME_TOKEN; set it where it runs, or ask its operator"

    line = line.for_command("call", None)
    line.uses(TypedEntry("fs", Served("agent", "fs")))
    assert hint_for(line, error) == "the server mentions ACME_TOKEN; set it first: export ACME_TOKEN=…"


def test_a_server_that_refuses_the_name_of_its_host_needs_another_url() -> None:
    """Ours: the official SDK for TypeScript reports it as an error of JSON-RPC."""
    advised = "it accepts other names of its host; use one in its URL: gaia mcp edit fs --url URL"

    assert hint_for(LINE, refused("initialize", text="Invalid Host: 127.0.0.1")) == advised
    assert hint_for(LINE, refused("tools/call", text="Invalid host name for the tool")) != advised


def test_a_tool_that_has_to_run_as_a_task_is_explained() -> None:
    """Spec 2025-11-25, tasks: the official SDKs report the refusal as the tool's own failure."""
    tool = {"name": "slow", "execution": {"taskSupport": "required"}}
    said = "MCP error -32601: Tool slow requires task augmentation (taskSupport: 'required')"

    assert about_tasks(tool, said) == about_tasks(tool) != ""
    assert about_tasks(tool, "no such file") == about_tasks({"name": "slow"}, said) == ""
    assert about_tasks({"name": "slow", "execution": []}, said) == ""


def test_the_hint_for_a_variable_that_the_entry_sets_shows_the_entry() -> None:
    """Ours: setting it again changes nothing; only other variables are named."""
    line = CommandLine(command="tools")
    line.uses(ServerEntry("fs", Command("fs", [], {"ACME_URL": "http://127.0.0.1:1"}), source=PATH))
    sets = "the server mentions ACME_URL, which its entry sets; show its entry with: gaia mcp show fs"
    offline = "fetch failed: check that ACME_URL is correct"

    assert after_error(line, refused("tools/call", text="ACME_URL is wrong")) == sets
    assert after_failure(line, "fs", "read", "ACME_URL is wrong", {}) == sets
    assert after_error(line, refused("tools/call", text=offline)) == UNREACHED
    assert after_error(line, refused("tools/call", text="set ACME_URL and ACME_TOKEN")).startswith(
        "the server mentions ACME_TOKEN; set it with: "
    )
    assert after_error(line, refused("tools/call", text=f"{offline}, and set ACME_PROXY")) == (
        "the server could not open a network connection, and mentions ACME_PROXY; "
        "set it with: gaia mcp edit fs --env ACME_PROXY=VALUE"
    )


def test_the_hint_for_a_failed_list_is_the_log_or_a_report() -> None:
    """Ours: the same request once more would show the same."""
    line = CommandLine(command="tools")
    for asked in ("initialize", "tools/list", "resources/list", "resources/templates/list"):
        line = line.for_command("tools", None)
        assert after_error(line, refused(asked)) == OWN, asked
        assert after_error(line, refused(asked, is_logged=True)) == LOG, asked
        line = line.for_command("add", None)
        assert after_error(line, refused(asked, is_logged=True)) == LOG, asked
        own = "the error comes from the server; save it as it is with --no-check"
        assert after_error(line, refused(asked)) == own, asked


def test_the_hint_for_an_unknown_item_lists_the_known_ones() -> None:
    """Ours: the list has the names that exist; any other error of the same request is the server's own."""
    for asked, code, listed in (
        ("tools/call", INVALID_PARAMS, "tools"),
        ("tools/call", METHOD_NOT_FOUND, "tools"),
        ("completion/complete", INVALID_PARAMS, "tools"),
        ("prompts/get", INVALID_PARAMS, "prompts"),
        ("resources/read", RESOURCE_NOT_FOUND, "resources"),
    ):
        assert after_error(LINE, refused(asked, code)) == f"list its {listed} with: gaia mcp {listed} fs", (asked, code)
        assert after_error(LINE, refused(asked, 1)) == OWN, asked
        assert after_error(LINE, refused(asked, 1, is_logged=True)) == LOG, asked


def test_the_hint_for_a_network_failure_shows_the_entry() -> None:
    """Ours: neither the arguments nor the author are at fault; the addresses in its entry may be."""
    line = CommandLine(command="tools")
    for said in (
        "fetch failed",
        "Tool 'x' execution failed: getaddrinfo ENOTFOUND api.firecrawl.dev",
        "connect ECONNREFUSED 127.0.0.1:1",
        "Failed to fetch robots.txt https://e.org/robots.txt due to a connection issue",
        "[Errno -3] Temporary failure in name resolution",
        "Get https://e.org: dial tcp: lookup e.org: no such host",
        "HTTPSConnectionPool(host='127.0.0.1', port=8443): Max retries exceeded with url: /",
        "self-signed certificate in certificate chain",
    ):
        line = line.for_command("tools", None)
        listing = refused("tools/list", text=said)
        late = DeadlineError("fs", "at its start", 30, noise=f"the last line of its stderr: {said}")
        ended = ServerExitedError("fs", "at its start", 1, f"a\n{said}\nb", last_words=said)
        assert after_failure(line, "fs", "read", said, {"properties": {"path": {}}}) == UNREACHED, said
        assert after_error(line, refused("tools/list", text=said, is_logged=True)) == UNREACHED, said
        assert {hint_for(line, late), hint_for(line, ended)} == {UNREACHED}, said

        line.unsaved.append(TypedEntry("fs", Command("fs", [])))
        how = " a network connection; check the network, and the arguments and variables of its command"
        assert after_failure(line, "fs", "read", said, {}).endswith(how), said

        line = line.for_command("add", None)
        for error in (listing, late, ended):
            assert hint_for(line, error).endswith(" a network connection; save it as it is with --no-check"), said


def test_the_hint_for_a_failed_tool_shows_its_parameters() -> None:
    """Ours: or its description if it has none, or the variable that the message names."""
    schema = {"properties": {"file_path": {}}}
    looked_up = "gaia mcp call fs read --help"
    assert after_failure(LINE, "fs", "read", "no such file", schema) == f"show its parameters: {looked_up}"
    assert (
        after_failure(LINE, "fs", "read", "FILE_PATH must be absolute", schema) == f"show its parameters: {looked_up}"
    )
    assert after_failure(LINE, "fs", "read", "no such file", {}) == f"show its description: {looked_up}"
    assert after_failure(LINE, "fs", "read", "ACME_TOKEN is not set", schema).endswith(
        " edit fs --env ACME_TOKEN=VALUE"
    )


def test_the_hint_for_an_exception_of_an_agent_shows_the_traceback() -> None:
    """Ours: its author needs the line of code; other servers print no traceback for `--debug`."""
    words = ["mcp", "call", "./notes.py", "add", "text=hi"]
    line = CommandLine(words, "call")

    def hint(said: str, *, is_agent: bool = True) -> str:
        return after_failure(line, "./notes.py", "add", said, {}, is_agent=is_agent)

    traced = f"show the traceback with: gaia {' '.join(words)} --debug"
    assert {hint("KeyError: 'inner'"), hint("ValueError")} == {traced}
    looked_up = "show its description: gaia mcp call ./notes.py add --help"
    assert {hint("no such note"), hint("ErrorProne: yes"), hint("KeyError: 'x'", is_agent=False)} == {looked_up}
    place = after_failure(line, "./notes.py", "add", "no such note", {}, is_agent=True, place="~/notes.py:7")
    assert place == f"it was raised at ~/notes.py:7; {traced}"
    line.words = [*words, "--debug"]
    assert hint("KeyError: 'inner'") == looked_up
    place = after_failure(line, "./notes.py", "add", "no such note", {}, is_agent=True, place="~/notes.py:7")
    assert place == "it was raised at ~/notes.py:7"


def test_the_hint_for_missing_scopes_replaces_the_token() -> None:
    """Ours: the entry has a fixed token; a login would have asked for the scopes."""
    line = CommandLine(command="tools")
    error = PeerError("fs", "tools/call", 403, "the access token lacks what this needs", {"requiredScopes": ["a", "b"]})
    assert (
        after_error(line, error) == "use a token with a b: gaia mcp edit fs --header 'Authorization: Bearer ${TOKEN}'"
    )

    line.unsaved.append(TypedEntry("fs", Command("fs", [])))
    assert after_error(line, error) == "use a token with a b"


def test_the_hint_for_a_full_server_is_to_retry() -> None:
    """Ours: the server reports that nothing was done."""
    assert after_error(LINE, refused("initialize", text="the store does not answer; repeat this later")) == (
        "repeat the command in a moment"
    )


def test_the_hint_for_a_lost_worker_is_to_check_before_retrying() -> None:
    """Ours: the tool may have changed something."""
    error = refused("tools/call", text=HAS_ENDED)
    assert after_error(LINE, error) == "look whether it was, before you repeat the command"


def test_the_hint_for_unavailable_server_requests_uses_an_older_revision() -> None:
    """Ours: this is FastMCP's message. Revision 2026-07-28 has no requests of the server."""
    line = CommandLine(command="tools")
    said = "elicitation via server-initiated requests is unavailable on 2026-07-28 connections."
    keep = "it can ask only in revisions before 2026-07-28; use an older one with: gaia mcp"
    assert after_failure(line, "fs", "ask", said, {}) == f"{keep} edit fs --protocol 2025-11-25"

    line.unsaved.append(TypedEntry("http://127.0.0.1:1/mcp", Command("fs", [])))
    advised = after_failure(line, "http://127.0.0.1:1/mcp", "ask", said, {})
    assert advised == f"{keep} add http://127.0.0.1:1/mcp --protocol 2025-11-25"


def test_the_hint_for_a_refused_call_shows_the_parameters() -> None:
    """Ours: many servers report a missing file or record in this way."""
    advised = "check the arguments, or report it to its author; show its parameters: gaia mcp tools fs"
    assert after_error(LINE, refused("tools/call", -32603, text="open /x: no such file or directory")) == advised


def test_the_hint_for_a_server_of_sdk_version_1_installs_it() -> None:
    """Ours: servers that do not pin the SDK's version fail in this way since version 2."""
    for words in (
        "'Server' object has no attribute 'list_tools'",
        "No module named 'mcp.server.fastmcp'. See x",
        "cannot import name 'McpError' from 'mcp' (mcp/__init__.py)",
        "cannot import name 'X' from 'mcp.server.session' (session.py)",
    ):
        ended = ServerExitedError("fs", "at its start", 1, f"a\nAttributeError: {words}", last_words=words)
        assert hint_for(LINE, ended) == (
            "it needs version 1 of the Python package mcp: install 'mcp<2', as in uvx --with 'mcp<2' PACKAGE"
        )


def test_an_import_error_of_another_package_gets_no_sdk_hint() -> None:
    """Ours: only the beginning of its name is that of the SDK."""
    words = "cannot import name 'helper' from 'mcp_server_git.util' (util.py)"

    assert "mcp<2" not in hint_for(LINE, ServerExitedError("fs", "at its start", 1, f"a\n{words}", last_words=words))


def test_a_variable_of_an_entry_is_known_in_a_command_about_all_servers(gaia: Gaia) -> None:
    """Ours: the hint is the same as when the server is named."""
    gaia.write({"fs": {**entry_of("list-errors", "-32603", "ACME_URL is wrong"), "env": {"ACME_URL": "x"}}})

    sets = "hint: the server mentions ACME_URL, which its entry sets; show its entry with: gaia mcp show fs"
    assert gaia("tools").errors[-1] == gaia("tools", "fs").errors[-1] == sets


@pytest.mark.parametrize("command", ["tools", "prompts", "resources", "test-client"])
def test_the_hint_for_an_internal_error_shows_the_log(gaia: Gaia, command: str) -> None:
    """Ours: if there is one; a command that shows the same error again is not advised."""
    words = {"s": ("-32603", "no", "no workspace is open"), "silent": ("-32603", "no")}
    gaia.write({name: entry_of("list-errors", *given) for name, given in words.items()})

    ran = gaia(command, "s")
    assert (ran.code, ran.errors[-1]) == (6, "hint: its stderr log may show why: gaia mcp logs s")
    assert "no workspace is open" in gaia("logs", "s").stdout
    ran = gaia(command, "silent")
    assert (ran.code, ran.errors[-1]) == (6, f"hint: {OWN}")


def test_the_hint_for_an_internal_error_in_a_result_shows_the_log(gaia: Gaia) -> None:
    """Ours: the official SDK of TypeScript reports what its tools throw in this way."""
    gaia.write({"s": entry_of("strange-results")})

    ran = gaia("call", "s", "inner")

    assert (ran.code, ran.errors[-1]) == (9, "hint: its stderr log may show why: gaia mcp logs s")
    assert "the disk is full" in gaia("logs", "s").stdout
    assert [is_internal(said) for said in ("internal error", "an internal error of mine")] == [True, False]


def test_the_hint_for_a_refused_add_names_no_entry(gaia: Gaia) -> None:
    """Ours: nothing was saved."""
    start = entry_of("list-errors", "-32603")
    words = ["--", start["command"], *start["args"]]

    ran = gaia("add", "s", *words, "no", "no workspace is open")
    assert (ran.code, ran.errors[-1]) == (6, "hint: nothing was saved; its stderr log may show why: gaia mcp logs s")
    assert "no workspace is open" in gaia("logs", "s").stdout
    ran = gaia("add", "t", *words, "the variable ACME_TOKEN is not set")
    assert ran.code == 6
    how = "set it with: gaia mcp add t --env ACME_TOKEN=VALUE -- "
    assert ran.errors[-1].startswith(f"hint: nothing was saved; the server mentions ACME_TOKEN; {how}")


def test_a_declared_list_that_is_not_supported_is_one_warning(gaia: Gaia) -> None:
    """Spec: -32601 is the error for an unknown method. Ours: the server's other features are usable."""
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


def test_only_an_http_url_is_advised_to_be_opened() -> None:
    """MC-8: the URL is the server's, and may run code in a browser."""
    hints = {
        "https://e.org/a?b=1": "open https://e.org/a?b=1 and repeat the command",
        "https://\u0430b.com/x": (
            "open https://\u0430b.com/x (on \u0430b.com, which is xn--b-7sb.com in ASCII) and repeat the command"
        ),
        "https://e.org@evil.com/": "open https://e.org@evil.com/ (on evil.com) and repeat the command",
        "javascript:alert(1)": OWN,
        "file:///etc/passwd": OWN,
    }

    def hint(url: str) -> str:
        urls = [{"mode": "url", "message": "Log in", "url": url, "elicitationId": "1"}]
        return after_error(LINE, PeerError("fs", "tools/call", -32042, "no", {"elicitations": urls}))

    assert {url: hint(url) for url in hints} == hints


def test_the_hint_for_missing_sampling_adds_a_program() -> None:
    """Ours: in the words of servers, which quote our refusal or look at the declared capabilities."""
    line = CommandLine(["gaia", "call", "s", "think"], "call")
    for text, is_answered in (
        ("Error executing tool think: Method not found: sampling/createMessage", True),
        ("Client does not support sampling", True),
        ("the sampling capability is not enabled", True),
        ("sampling is not available here", True),
        ("the sampling rate must be 44100", False),
    ):
        needed = PeerError("s", "tools/call", -32021, text, {"requiredCapabilities": {"sampling": {}}})
        line.words = ["gaia", "call", "s", "think"]
        assert (after_failure(line, "s", "think", text, {}) == SAMPLED) is is_answered, text
        assert (after_error(line, PeerError("s", "tools/call", -32603, text, None)) == SAMPLED) is is_answered, text
        line.words = ["gaia", "call", "s", "think", "--sample=model"]
        assert after_failure(line, "s", "think", text, {}) != SAMPLED, text
        assert after_error(line, needed) == OWN, text


def test_a_sampling_program_is_advised_only_for_plain_sampling() -> None:
    """Spec: -32021 names the required capability. A program answers with text only."""
    line = CommandLine(["gaia", "call", "s", "think"], "call")
    hints: list[tuple[object, str]] = [
        ({"requiredCapabilities": {"sampling": {}}}, SAMPLED),
        (
            {"requiredCapabilities": {"sampling": {"tools": {}}}},
            "it needs a client that supports sampling with tools or context",
        ),
        ({"requiredCapabilities": {"sampling": 5}}, OWN),
        ({"requiredCapabilities": {"roots": {}}}, OWN),
        ({"requiredCapabilities": 5}, OWN),
        ("sampling", OWN),
    ]

    found = [(data, after_error(line, PeerError("s", "tools/call", -32021, "no", data))) for data, _ in hints]
    assert found == hints

"""What to type next after a server has refused a request, or has ended."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from gaia_mcp.cli.hints import hint_for
from gaia_mcp.cli.lines import Typed
from gaia_mcp.cli.refusals import MAX_VARIABLES, READ_CHARS, after_error, missing_variables
from gaia_mcp.config.command import Command
from gaia_mcp.config.typed import TypedEntry
from gaia_mcp.errors import PeerError, ServerExitedError
from gaia_mcp.protocol.jsonrpc import INTERNAL_ERROR, INVALID_PARAMS, METHOD_NOT_FOUND, RESOURCE_NOT_FOUND
from tests.cli.conftest import entry_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.cli.conftest import Gaia

OWN = "the error is the server's own; report it to its author"
LOG = "its log may show why: gaia mcp logs fs"


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

    advised = "the server speaks of ACME_TOKEN; set it with: gaia mcp edit fs --env ACME_TOKEN=VALUE"
    assert (hint_for(error), hint_for(ended)) == (advised, advised)
    assert hint_for(refused("tools/list", text="set A_KEY, B_KEY and C_KEY")).startswith(
        "the server speaks of A_KEY, B_KEY and C_KEY; set it with: gaia mcp edit fs --env A_KEY=VALUE --env B_KEY"
    )
    monkeypatch.setenv("ACME_TOKEN", "x")
    assert hint_for(error).endswith(": gaia mcp edit fs --env ACME_TOKEN")
    monkeypatch.delenv("ACME_TOKEN")

    Typed.unsaved.append(TypedEntry("fs", Command("fs", [])))
    assert hint_for(error).endswith("set it by saving the server: gaia mcp add --env ACME_TOKEN=VALUE NAME -- COMMAND")
    Typed.begin("add", None)
    Typed.words = ["mcp", "add", "fs", "--", "fs-server"]
    assert hint_for(error).endswith(
        "nothing was saved; try again with: gaia mcp add fs --env ACME_TOKEN=VALUE -- fs-server"
    )


@pytest.mark.parametrize("asked", ["initialize", "tools/list", "resources/list", "resources/templates/list"])
def test_an_error_is_explained_by_the_log_or_is_the_servers_own(asked: str) -> None:
    """Ours: the same request once more would show the same."""
    assert after_error(refused(asked)) == OWN
    assert after_error(refused(asked, is_logged=True)) == LOG
    Typed.begin("add", None)
    assert after_error(refused(asked, is_logged=True)) == f"nothing was saved; {LOG}"
    own = "nothing was saved; the error is the server's own; save it as it is with --no-check"
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
    assert after_error(refused(asked, code)) == f"see what it has with: gaia mcp {listed} fs"
    assert after_error(refused(asked, 1)) == OWN
    assert after_error(refused(asked, 1, is_logged=True)) == LOG


@pytest.mark.parametrize("command", ["tools", "prompts", "resources", "test-client"])
def test_the_hint_of_an_internal_error_leads_on(gaia: Gaia, command: str) -> None:
    """Ours: to the log if there is one, and never to a command that shows the same error."""
    words = {"s": ("-32603", "no", "no workspace is open"), "silent": ("-32603", "no")}
    gaia.write({name: entry_of("list-errors", *given) for name, given in words.items()})

    ran = gaia(command, "s")
    assert (ran.code, ran.errors[-1]) == (6, "hint: its log may show why: gaia mcp logs s")
    assert "no workspace is open" in gaia("logs", "s").stdout
    ran = gaia(command, "silent")
    assert (ran.code, ran.errors[-1]) == (6, f"hint: {OWN}")


def test_a_server_that_add_refuses_is_explained(gaia: Gaia) -> None:
    """Ours: nothing is saved, so no hint is about an entry."""
    start = entry_of("list-errors", "-32603")
    words = ["--", start["command"], *start["args"]]

    ran = gaia("add", "s", *words, "no", "no workspace is open")
    assert (ran.code, ran.errors[-1]) == (6, "hint: nothing was saved; its log may show why: gaia mcp logs s")
    assert "no workspace is open" in gaia("logs", "s").stdout
    ran = gaia("add", "t", *words, "the variable ACME_TOKEN is not set")
    assert ran.code == 6
    assert "try again with: gaia mcp add t --env ACME_TOKEN=VALUE -- " in ran.errors[-1]


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
        ("javascript:alert(1)", OWN),
        ("file:///etc/passwd", OWN),
    ],
)
def test_only_a_site_is_to_be_opened(url: str, hint: str) -> None:
    """MC-8: the URL is the server's, and may run code in a browser."""
    urls = [{"mode": "url", "message": "Log in", "url": url, "elicitationId": "1"}]

    assert after_error(PeerError("fs", "tools/call", -32042, "no", {"elicitations": urls})) == hint

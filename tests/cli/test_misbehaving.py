"""Servers that misbehave: an exit code, an error and a hint within the time limit, and no process is left."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

import pytest

from tests.cli.conftest import entry_of
from tests.client.transports.http.web import EVENT_STREAM, Answer, Asked, Cut, serving

if TYPE_CHECKING:
    from tests.cli.conftest import Gaia


JSON = {"Content-Type": "application/json"}


def stateless(asked: Asked, **results: dict[str, Any]) -> dict[str, Any]:
    """The response of a server with tools. `results` are by the method, with `_` for its slash."""
    known = {"server_discover": {"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}}, **results}
    result = known[asked.message["method"].replace("/", "_")]
    more = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"}
    return {"jsonrpc": "2.0", "id": asked.message["id"], "result": {**more, **result}}


@pytest.mark.parametrize(
    ("server", "code", "problem"),
    [
        ("exits-at-once", 4, "exited with status 3"),
        ("dies-in-call", 4, "out of memory"),
        ("closes-stdout", 4, "closed its output"),
        ("hangs-at-start", 5, "at its start"),
        ("hangs-in-call", 5, "tools/call 'echo'"),
        ("does-not-read", 5, ""),
        ("wrong-id", 6, "4711"),
        ("garbage-answer", 6, "not valid JSON"),
        ("answers-array", 6, ""),
        ("content-length", 6, "Content-Length"),
        ("wrong-version", 6, "2031-01-01"),
    ],
)
def test_the_error_of_a_broken_server_names_the_server_and_the_problem(
    gaia: Gaia, server: str, code: int, problem: str
) -> None:
    """Ours, bad input: exit code, error and hint."""
    gaia.use(server)

    ran = gaia("call", server, "echo", "--timeout", "5" if code == 5 else "20", "--json")

    assert ran.code == code, ran
    assert problem in ran.errors[0]
    assert repr(server) in ran.errors[0]
    assert len(ran.errors) == 2
    assert ran.json["exit"] == code
    assert ran.json["error"]["server"] == server


@pytest.mark.parametrize(
    "server",
    [
        "prints-banner",
        "json-log-lines",
        "floods-stderr",
        "floods-stdout",
        "long-line",
        "invalid-utf8",
        "exits-on-probe",
        "silent-on-probe",
        "refuses-version",
        "ignores-eof",
        "ignores-sigterm",
        "leaves-grandchild",
        "slow-start",
        "empty-cursor-is-end",
        "endless-cursor",
        "answers-32022",
        "only-stateless",
    ],
)
def test_a_call_tolerates_an_unusual_server(gaia: Gaia, server: str) -> None:
    """Ours: real servers print banners, flood stderr or ignore EOF."""
    gaia.use(server)
    # A probe without an answer takes half of the time; the other half is enough on a busy machine.
    seconds = "10" if server == "silent-on-probe" else "20"

    ran = gaia("call", server, "echo", "--args", '{"text": "hi"}', "--timeout", seconds)

    assert ran.code == 0, ran
    assert "hi" in ran.stdout


@pytest.mark.parametrize("server", ["garbage-answer", "answers-array"])
def test_a_call_with_an_invalid_response_is_reported_as_possibly_run(gaia: Gaia, server: str) -> None:
    """Ours: exit code and kind stay those of a broken protocol; the person must know before a retry."""
    gaia.use(server)

    ran = gaia("call", server, "echo", "--json")

    assert ran.code == 6
    assert (ran.json["error"]["kind"], ran.json["error"]["may_have_run"]) == ("protocol-remote", "echo")
    assert ran.errors[1].startswith("hint: 'echo' may have run, and was not called again; report it to its author")


def test_a_server_that_writes_to_stdout_is_named_once(gaia: Gaia) -> None:
    """Ours: so that its author can be informed."""
    gaia.use("prints-banner")

    ran = gaia("call", "prints-banner", "echo")

    (line,) = [line for line in ran.stderr.splitlines() if "not MCP" in line]
    assert line.startswith("note: server 'prints-banner' wrote ")


def test_the_reason_for_an_omitted_tool_is_printed_once(gaia: Gaia) -> None:
    """Spec, HC-4: a tool with a malformed `x-mcp-header`. A call of it tells the reason, a call of another does not."""

    def answer(asked: Asked) -> Answer:
        properties = {"a": {"type": "string", "x-mcp-header": "no token"}}
        tools = [{"name": "good", "inputSchema": {"type": "object"}}]
        response = stateless(
            asked,
            tools_list={"tools": [*tools, {"name": "bad", "inputSchema": {"properties": properties}}]},
            tools_call={"content": [{"type": "text", "text": "hi"}]},
        )
        return Answer(headers=JSON, body=json.dumps(response).encode())

    with serving(answer) as web:
        gaia.write({"web": {"url": web.url}})
        listed, good = gaia("tools", "web"), gaia("call", "web", "good")
        refused = [gaia("call", "web.bad"), gaia("tools", "web.bad"), gaia("test-client", "web", "--call", "bad")]
    assert [line.count("'bad' is left out") for line in listed.stderr.splitlines()] == [1]
    assert (good.code, good.stderr) == (0, "")
    why = "it is left out: x-mcp-header 'no token' is not the name of a header"
    for ran in refused[:2]:
        assert (ran.code, ran.stderr.splitlines()) == (
            7,
            [f"error: server 'web' has no tool 'bad': {why}", "hint: its author has to change that"],
        )
    assert f"server 'web' has no tool 'bad': {why}" in refused[2].stdout


def test_stray_lines_of_an_http_response_are_not_called_stdout(gaia: Gaia) -> None:
    """Ours: a server behind a URL has no stdout that we could read."""

    def answer(asked: Asked) -> Answer:
        events = f"data: hello\n\ndata: {json.dumps(stateless(asked, tools_list={'tools': []}))}\n\n"
        return Answer(headers=EVENT_STREAM, body=events.encode())

    with serving(answer) as web:
        added, checked = gaia("add", "web", web.url), gaia("test-client", "web")
    assert "note: server 'web' wrote 2 lines that are not MCP, the first: 'hello'" in added.stderr
    assert "FAIL  messages" in checked.stdout
    assert "stdout" not in checked.stdout + added.stderr


def test_add_reports_that_nothing_was_saved_after_a_truncated_response(gaia: Gaia) -> None:
    """Ours: there is nothing else to advise."""

    def answer(asked: Asked) -> Answer:
        if asked.message["method"] == "tools/list":
            return Answer(headers=JSON, body=[b"{", Cut()])
        return Answer(headers=JSON, body=json.dumps(stateless(asked)).encode())

    with serving(answer) as web:
        ran = gaia("add", "web", web.url)
    assert (ran.code, ran.errors[1]) == (4, "hint: nothing was saved"), ran


def test_the_era_of_a_server_is_remembered(gaia: Gaia) -> None:
    """Ours: a server that ends on the probe is started once, not twice, the next time."""
    notes = gaia.cwd / "notes"
    gaia.write({"x": entry_of("exits-on-probe", env={"NOTES": str(notes)})})

    assert gaia("call", "x", "echo").code == 0
    first = notes.read_text()
    assert gaia("call", "x", "echo").code == 0

    assert "server/discover" in first
    assert "server/discover" not in notes.read_text().removeprefix(first)


def test_control_characters_of_a_server_are_not_printed(gaia: Gaia) -> None:
    """Ours: in errors and in lists."""
    script = gaia.cwd / "evil.py"
    script.write_text(
        "class Evil:\n"
        "    def get_mcp_server_info(self):\n"
        "        return {'name': 'x\\x1b[31mred', 'version': '1'}\n"
        "    def get_mcp_tool_definitions(self):\n"
        "        return [{'name': 'a\\x1b]0;owned\\x07', 'description': '\\u202eevil', 'inputSchema': {}}]\n"
        "    def execute_mcp_tool(self, name, arguments):\n"
        "        raise RuntimeError('boo\\x1b[2J')\n"
    )
    gaia.write({"evil": {"command": "gaia", "args": ["mcp", "serve", "evil.py:Evil"]}})

    tools = gaia("tools", "evil")
    failed = gaia("call", "evil", "a\x1b]0;owned\x07")

    assert "\x1b" not in tools.stdout + tools.stderr
    assert "\u202e" not in tools.stdout
    assert failed.code == 9
    assert "\x1b" not in failed.stderr


def test_the_hint_for_a_missing_launcher_names_its_package(gaia: Gaia) -> None:
    """Ours, bad input: the usual launchers have their own hints."""
    gaia.write(
        {
            "x": {"command": "npx", "args": ["-y", "some-server"], "env": {"PATH": "/nowhere"}},
            "y": {"command": "./here.sh"},
            "z": {"command": str(gaia.cwd)},
            "w": {"command": "true", "cwd": "/nowhere/at/all"},
        }
    )

    ran = gaia("call", "x", "y")
    assert (ran.code, "Node.js" in ran.errors[1]) == (4, True)
    assert "does not exist" in gaia("call", "y", "t").errors[0]
    assert "is a folder" in gaia("call", "z", "t").errors[0]
    assert "/nowhere/at/all" in gaia("call", "w", "t").errors[0]


def sh(script: str, **options: object) -> dict[str, object]:
    return {"command": "sh", "args": ["-c", script], **options}


@pytest.mark.parametrize(
    ("entry", "code", "problem", "hint"),
    [
        (
            sh("true", env={"A": "${UNSET_TOKEN}"}),
            3,
            "env A refers to ${UNSET_TOKEN}, which is not set",
            "export UNSET_",
        ),
        ({"command": "uvx", "env": {"PATH": "/x"}}, 4, "'uvx' was not found on PATH", "pip install uv"),
        ({"command": "npx", "env": {"PATH": "/x"}}, 4, "'npx' was not found on PATH", "Node.js"),
        ({"command": "bunx", "env": {"PATH": "/x"}}, 4, "'bunx' was not found on PATH", "Bun"),
        ({"command": "python3.99"}, 4, "'python3.99' was not found on PATH", f"for instance {sys.executable}"),
        ({"command": "true", "cwd": "/no/where"}, 4, "no working folder '/no/where'", "gaia mcp edit 'my x' --cwd DIR"),
        ({"command": "true"}, 4, "exited with status 0 at its start; it wrote nothing", "gaia mcp show 'my x'"),
        (
            sh("echo no key >&2; exit 3"),
            4,
            "exited with status 3 at its start; the last line of its stderr: no key",
            "gaia mcp logs 'my x'",
        ),
        (sh("echo one >&2; echo two >&2; exit 3"), 4, "the last line of its stderr: two", "gaia mcp logs 'my x'"),
        (sh("echo no daemon >&2; echo >&2; echo See docker run --help. >&2; exit 1"), 4, "stderr: no daemon", "logs"),
        (
            sh("echo 'Usage: x --stdio'; cat >/dev/null"),
            5,
            "not MCP: 'Usage: x --stdio'",
            "check that its command starts an MCP server",
        ),
        (
            sh("echo waiting for db >&2; cat >/dev/null"),
            5,
            "within 5 s; the last line of its stderr: waiting for db",
            "a first start may download",
        ),
        (sh("kill -9 $$"), 4, "was ended by SIGKILL at its start", "gaia mcp show 'my x'"),
    ],
)
def test_each_mistake_in_an_entry_has_its_own_error_and_hint(
    gaia: Gaia, entry: dict[str, object], code: int, problem: str, hint: str
) -> None:
    """Ours: how far the start came, how it ended, the last line of stderr, and one thing to type."""
    gaia.write({"my x": entry})

    # Long enough for the server to write its line on a busy machine.
    ran = gaia("call", "my x", "echo", "--timeout", "5" if code == 5 else "20")

    assert ran.code == code
    assert len(ran.errors) == 2
    assert problem in ran.errors[0]
    assert hint in ran.errors[1]


def test_ten_thousand_tools_are_listed(gaia: Gaia) -> None:
    """Figures: a hundred pages."""
    gaia.use("many-pages")

    ran = gaia("tools", "many-pages", "--json")

    assert len(ran.json["servers"][0]["tools"]) == 10_000


def test_a_result_of_many_megabytes_arrives_whole(gaia: Gaia) -> None:
    """Figures: also through a pipe."""
    gaia.write({"huge": entry_of("huge-result", "5")})

    assert len(gaia("call", "huge", "echo", "--raw").stdout) == 5 * 1024 * 1024


def test_all_servers_share_one_deadline(gaia: Gaia) -> None:
    """Ours: it includes the time in which a server waits for its turn."""
    gaia.write({f"s{number}": {"command": "sleep", "args": ["60"]} for number in range(20)})

    ran = gaia("tools", "--timeout", "3")

    assert ran.code == 5
    assert len(ran.errors) == 40
    assert sum("it was not started: 16 others were in line before it" in line for line in ran.errors) == 4


SAYS_ITS_ARGUMENTS = "import sys; sys.stderr.write(repr(sys.argv) + chr(10)); sys.exit(3)"


@pytest.mark.parametrize("options", [(), ("--debug",)])
def test_a_secret_among_the_arguments_is_masked(gaia: Gaia, options: tuple[str, ...]) -> None:
    """Ours: a server may print its own command line, with and without --debug."""
    arguments = ["-c", SAYS_ITS_ARGUMENTS, "--api-key", "${KEY_OF_MINE}", "--token=swordfish-1"]
    gaia.write({"x": {"command": sys.executable, "args": arguments}})

    for command in (("call", "x", "t"), ("tools", "x"), ("test-client", "x")):
        ran = gaia(*command, *options, KEY_OF_MINE="hunter22-2")

        assert ran.code == 4
        assert "hunter22" not in ran.stdout + ran.stderr
        assert "swordfish" not in ran.stdout + ran.stderr
        assert "'--api-key', '****'" in ran.stdout + ran.stderr


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("call", "half-pairs", "echo", "text=\N{GRINNING FACE}"), 0),
        (("call", "half-pairs", "echo"), 0),
        (("call", "half-pairs", "echo", "-o", "text"), 0),
        (("call", "half-pairs", "fail"), 6),
        (("tools", "half-pairs", "--schema"), 0),
        (("search", "a"), 0),
        (("prompts", "half-pairs"), 0),
        (("prompt", "half-pairs", "plain"), 0),
        (("resources", "half-pairs"), 0),
        (("read", "half-pairs", "x:plain"), 0),
        (("read", "half-pairs", "x:plain", "-o", "text"), 0),
        (("test-client", "half-pairs"), 0),
        (("test-client", "half-pairs", "--call", "echo"), 0),
        (("lock", "half-pairs"), 0),
    ],
)
def test_half_of_a_surrogate_pair_from_a_server_is_shown_and_stored_as_text(
    gaia: Gaia, words: tuple[str, ...], code: int
) -> None:
    """Ours: JSON can escape it, and nothing else can have it. It is in no answer, with `--json` or without."""
    gaia.use("half-pairs")

    for more in ((), ("--json",)):
        ran = gaia(*words, *more)

        assert ran.code == code, ran
        assert "Traceback" not in ran.stderr
        assert "a bug in gaia mcp" not in ran.stderr
    # With -o, the answer is in the file.
    json.dumps(json.loads(ran.stdout or "null"), ensure_ascii=False).encode()
    for written in (*gaia.home.rglob("*.json"), *gaia.cwd.glob("text")):
        assert "ud800" not in written.read_text("utf-8")

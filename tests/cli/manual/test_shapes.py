"""The JSON of every command has exactly the documented members, and each of them occurs."""

from __future__ import annotations

import json
import signal
from typing import TYPE_CHECKING, Any

import pytest

from gaia_mcp.cli.app import COMMANDS
from gaia_mcp.cli.manual import audit_shape, commands, error_shape, prose_of
from tests.cli.commands.test_watch import Watched
from tests.cli.conftest import BIN, entry_of
from tests.cli.manual.shapes import documented, read, unfit
from tests.client.transports.http.auth.world import World
from tests.registry_support import document, served_registry
from tests.server.talk import META
from tests.waiting import ENOUGH_SECONDS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.cli.conftest import Gaia

DEMO = {"command": str(BIN / "gaia"), "args": ["mcp", "serve", "demo"]}
FAR = {"url": "https://example.com/mcp", "headers": {"X-Key": "1"}, "oauth": {"clientId": "x"}}
NOISY = {"command": "/bin/sh", "args": ["-c", 'echo up >&2; exec "$0" mcp serve demo', DEMO["command"]]}
CHOICE = {
    "includeTools": ["*"],
    "excludeTools": ["x"],
    "protocolVersion": "2025-06-18",
    "trustHints": True,
    "shared": True,
    "keepAlive": "30m",
}
FULL = {**DEMO, "env": {"A": "b"}, "cwd": "/", "inherit": True, "timeout": 20, **CHOICE}
AGENT = """
class Agent:
    def __init__(self, text):
        self.text = text

    def get_mcp_tool_definitions(self):
        return [{"name": "say", "description": self.text, "inputSchema": {"type": "object"}}]

    def execute_mcp_tool(self, name, arguments):
        return self.text
"""

# What is run for each command, one after the other in one home; together they show every member that is documented.
# Other commands among them only set the scene.
RUNS: dict[str, list[str]] = {
    "add": ["add one --no-check -- x", "add two -- {gaia} mcp serve demo", "add pair.json --no-check"],
    "list": ["list", "list --check", "list --outdated"],
    "show": ["show demo --check", "show full", "show far"],
    "enable": ["enable demo"],
    "disable": ["disable demo"],
    "remove": ["remove demo", "login own", "remove own"],
    "login": ["login own", "login --status"],
    "logout": ["logout own"],
    "completion": ["completion bash", "completion fish --install", "completion fish --uninstall"],
    "trust": ["trust"],
    "untrust": ["untrust", "untrust"],
    "edit": ["edit demo --env A=b", "edit demo --request-timeout 5"],
    "import": ["import", "import cursor --dry-run", "import --all"],
    "export": ["export demo --to cursor --dry-run", "export demo --as cursor"],
    "up": ["up demo dead"],
    "ps": ["ps", "up demo", "ps"],
    "down": ["up demo", "down demo"],
    "logs": ["tools noisy", "logs noisy", "logs noisy --clear", "up demo", "logs --keeper", "logs --keeper --clear"],
    "lock": [
        "add said --no-check -- {gaia} mcp serve agent.py:Agent --kwarg text=one",
        "lock said dead",
        "edit said --no-check -- {gaia} mcp serve agent.py:Agent --kwarg text=two",
        "lock said",
        "lock said --update",
        "lock said",
    ],
    "tools": ["tools demo", "tools demo dead bad", "tools demo --cost"],
    "search": ["search greet", "search --registry shelf"],
    "guide": ["guide", "guide demo"],
    "call": ["call demo add a=1 b=2", "call demo fail"],
    "prompts": ["prompts demo dead odd"],
    "prompt": ["prompt demo introduce name=Ada"],
    "resources": ["resources odd dead lost"],
    "read": ["read demo demo://about", "read demo demo://logo"],
    "init": ["init notes.py"],
    "serve": [
        "serve demo --check",
        "serve agent.py:Agent --kwarg text=one --print-config cursor",
    ],
    "test-client": [
        "test-client demo dead",
        "test-client demo --junit /dev/null/x",
        "test-client demo --call greet name=Ada --load 3",
    ],
}


@pytest.fixture
def registry(gaia: Gaia) -> Iterator[None]:
    """A registry with one server."""
    with served_registry() as served:
        served.documents = [document("com.example/shelf", title="Shelf", remotes=[{"type": "sse", "url": "https://x"}])]
        gaia.environ["GAIA_MCP_REGISTRY"] = served.url
        yield


@pytest.fixture
def protected() -> Iterator[World]:
    """A server that wants a token, and gives it to a program."""
    made = World()
    yield made
    made.close()


@pytest.fixture
def known(gaia: Gaia, keeping: Gaia, registry: None, protected: World) -> Gaia:
    """The program, with servers of all sorts, and a project."""
    servers = {"demo": DEMO, "full": FULL, "far": {**FAR, "disabled": True}, "broken": {"command": 7}}
    strange = {"dead": entry_of("exits-at-once"), "bad": entry_of("bad-tools"), "odd": entry_of("offers", "2025-11-25")}
    away = {"url": "https://x", "disabled": True}
    strange |= {
        name: {**away, "registry": {"name": f"com.example/{name}", "version": "0"}} for name in ("shelf", "gone")
    }
    program = {"grantType": "client_credentials", "clientId": "x", "clientSecret": "y"}
    strange |= {"lost": entry_of("bad-resources"), "noisy": NOISY}
    strange |= {"own": {"url": protected.url, "oauth": program, "disabled": True}}
    gaia.write({**servers, **strange})
    for path, text in (
        (".cursor/mcp.json", json.dumps({"mcpServers": {"theirs": DEMO}})),
        (".gemini/settings.json", "{"),
    ):
        (gaia.home / path).parent.mkdir()
        (gaia.home / path).write_text(text)
    (gaia.cwd / "agent.py").write_text(AGENT)
    (gaia.cwd / "pair.json").write_text('{"x": {"command": "x"}, "y": {"command": "y"}}')
    (gaia.cwd / ".mcp.json").write_text('{"mcpServers": {"p": {"command": "x", "disabled": true}}}')
    return gaia


def test_every_command_with_json_documents_its_shape() -> None:
    """Ours: a script relies on the documented members, so every command must be tested below."""
    with_json = {command.name for command in commands() if any(option.name == "--json" for option in command.options)}

    assert {name for name in COMMANDS if prose_of(name).json or prose_of(name).json_lines} == with_json
    assert set(RUNS) == {name for name in COMMANDS if prose_of(name).json}


@pytest.mark.parametrize("command", RUNS)
def test_json_output_matches_its_documented_shape(known: Gaia, command: str) -> None:
    """Ours: and every documented member appears in the output."""
    shape = read(prose_of(command).json)
    seen: set[str] = set()
    for line in RUNS[command]:
        name, *words = line.format(gaia=BIN / "gaia").split()
        ran = known(name, "--json", *words)
        assert name != command or unfit(shape, ran.json, command, seen) == [], line
    assert documented(shape, command) - seen == set()


def test_each_line_of_watch_matches_its_documented_shape(gaia: Gaia) -> None:
    """Ours: for every kind of notification."""
    watched = Watched(gaia, "2026-07-28", "x://a", "--json", "--read", "--restart")
    shape = read(prose_of("watch").json_lines)
    seen: set[str] = set()
    for order in ("log warning hello", "add more", "touch x://a", "end x://a", "die 0"):
        watched.order(order)
        assert unfit(shape, json.loads(watched.line()), "watch", seen) == [], order
    assert watched.end()[0] == 130
    assert documented(shape, "watch") - seen == set()


def test_each_line_of_logs_matches_its_documented_shape(known: Gaia) -> None:
    """Ours: also with --follow."""
    assert known("tools", "noisy").code == 0
    following = known.popen("logs", "noisy", "--follow", "--json")
    assert following.stdout is not None

    line = json.loads(following.stdout.readline())

    shape = read(prose_of("logs").json_lines)
    assert unfit(shape, line, "logs", set()) == []
    following.send_signal(signal.SIGINT)
    following.communicate(timeout=ENOUGH_SECONDS)


def test_each_line_of_an_audit_file_matches_its_documented_shape(gaia: Gaia) -> None:
    """Ours: for successful and failed calls."""
    requests = [
        {
            "jsonrpc": "2.0",
            "id": number,
            "method": "tools/call",
            "params": {"name": name, "arguments": {"token": "x"}, "_meta": META},
        }
        for number, name in enumerate(("attach", "fail", "none"))
    ]
    lines = "".join(json.dumps(request) + "\n" for request in requests)
    assert gaia("serve", "demo", "--audit", "audit.jsonl", stdin=lines).code == 0

    shape = read(audit_shape())
    seen: set[str] = set()
    recorded = [json.loads(line) for line in (gaia.cwd / "audit.jsonl").read_text().splitlines()]
    for line in recorded:
        assert unfit(shape, line, "audit", seen) == []
    assert {line["outcome"] for line in recorded} == {"tool-error", "error"}
    assert documented(shape, "audit") - seen == set()


@pytest.mark.parametrize("words", [("show", "nobody"), ("tools", "dead"), ("call", "demo", "add"), ("list", "--x")])
def test_an_error_matches_its_documented_shape(known: Gaia, words: tuple[str, ...]) -> None:
    """Ours: whatever the command and the kind of error."""
    ran = known(*words, "--json")

    assert unfit(read(error_shape()), ran.json, "", set()) == []
    assert ran.json["exit"] == ran.code


UNFIT: list[tuple[str, Any]] = [
    ("string", 1),
    ("number", True),
    ("boolean", 1),
    ("null", 0),
    ('"a" | "b"', "c"),
    ("[string]", ["a", 1]),
    ("[string]", "a"),
    ('{"a": string}', {}),
    ('{"a": string}', {"a": "", "b": 1}),
    ('{"a"?: string, ...}', {"a": 1}),
    ('{"a": string}', []),
    ("error", {"kind": "x"}),
]


def test_a_value_that_does_not_match_its_shape_is_reported() -> None:
    """Ours: otherwise the tests above would prove nothing."""
    assert not [(shape, value) for shape, value in UNFIT if not unfit(read(shape), value, "", set())]

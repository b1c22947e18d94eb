"""`gaia mcp serve --http`."""

from __future__ import annotations

import http.client
import json
import re
import shlex
import signal
import socket
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit
from urllib.request import urlopen

import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests.server.http.sockets import stateless_call
from tests.waiting import wait_until

if TYPE_CHECKING:
    import subprocess

    from tests.cli.conftest import Gaia

HANDLER = Path(__file__).parents[2] / "contrib" / "handlers" / "echo.py"
AGENT = """
import time
class Agent:
    max_calls = 1
    def get_mcp_tool_definitions(self):
        return [{{"name": "{tool}", "inputSchema": {{}}}}]
    def execute_mcp_tool(self, name, arguments):
        print("noise")
        open("entered", "w").close()
        time.sleep({seconds})
        return "word"
"""


ACCESS = ["--jwks", "https://127.0.0.1:9/jwks", "--issuer", "https://i.example", "--audience", "https://a.example/mcp"]


def url_of(process: subprocess.Popen[bytes]) -> str:
    """What a server with `--json` prints first."""
    assert process.stdout is not None
    found: str = json.loads(process.stdout.readline())["url"]
    return found


def ask(url: str, tool: str, **headers: str) -> tuple[int, Any]:
    """The status of a stateless call, and its body."""
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=20)
    try:
        body, given = stateless_call(tool, 1)
        connection.request("POST", parts.path, body, {**given, **headers})
        response = connection.getresponse()
        return response.status, json.loads(response.read())
    finally:
        connection.close()


def write(folder: Path, tool: str = "t", seconds: float = 0) -> None:
    (folder / "agent.py").write_text(AGENT.format(tool=tool, seconds=seconds))


def test_an_agent_is_served_at_a_url_that_is_printed(gaia: Gaia) -> None:
    """Ours: for a person on stderr, for a program as JSON; what the agent prints goes to stderr."""
    write(gaia.cwd)
    process = gaia.popen("serve", "agent.py", "--http", "127.0.0.1:0", "--json")

    url = url_of(process)
    status, answer = ask(url, "t")

    assert (status, answer["result"]["content"][0]["text"]) == (200, "word")
    process.send_signal(signal.SIGTERM)
    out, err = process.communicate(timeout=20)
    assert (out, process.returncode) == (b"", 143)
    assert err.decode().splitlines() == [f"note: serving agent.py at {url}; Ctrl-C ends it", "noise"]


def test_ctrl_c_lets_a_running_call_finish(gaia: Gaia) -> None:
    """Ours: the client of that call still gets its response."""
    write(gaia.cwd, seconds=0.5)
    process = gaia.popen("serve", "agent.py", "--http", ":0", "--json")
    parts = urlsplit(url_of(process))
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=20)
    connection.request("POST", "/mcp", *stateless_call("t", 1))
    wait_until((gaia.cwd / "entered").exists)

    process.send_signal(signal.SIGINT)

    assert json.loads(connection.getresponse().read())["result"]["content"][0]["text"] == "word"
    connection.close()
    process.communicate(timeout=20)
    assert process.returncode == 130


def test_a_token_is_required_and_never_printed(gaia: Gaia) -> None:
    """Ours: given by the option or the variable."""
    variable = {**gaia.environ, "GAIA_MCP_TOKEN": "s3cret"}
    for process in (
        gaia.popen("serve", "demo", "--http", ":0", "--json", "--token", "s3cret"),
        gaia.popen("serve", "demo", "--http", ":0", "--json", env=variable),
    ):
        url = url_of(process)
        assert ask(url, "greet")[0] == 401
        assert ask(url, "greet", authorization="Bearer wrong")[0] == 401
        assert ask(url, "greet", authorization="Bearer s3cret")[0] == 200
        process.send_signal(signal.SIGTERM)
        out, err = process.communicate(timeout=20)
        assert b"s3cret" not in out + err


STARTING = """
import os, subprocess
class Agent:
    def get_mcp_tool_definitions(self):
        return [{"name": "variables", "inputSchema": {}}]
    def execute_mcp_tool(self, name, arguments):
        return subprocess.run(["/usr/bin/env"], capture_output=True, text=True).stdout
"""


def test_the_programs_that_an_agent_starts_do_not_get_the_secrets_of_the_server(gaia: Gaia) -> None:
    """Ours: they could call the server as any of its clients."""
    (gaia.cwd / "agent.py").write_text(STARTING)
    secrets = {"GAIA_MCP_TOKEN": "s3cret", "GAIA_MCP_STATE_KEYS": "k" * 32, "OTHER": "inherited"}

    process = gaia.popen("serve", "agent.py", "--http", ":0", "--json", env={**gaia.environ, **secrets})
    status, answer = ask(url_of(process), "variables", authorization="Bearer s3cret")

    text = answer["result"]["content"][0]["text"]
    assert status == 200
    assert "OTHER=inherited" in text
    assert "GAIA_MCP_TOKEN" not in text
    assert "GAIA_MCP_STATE_KEYS" not in text


def test_serving_to_other_machines_needs_a_token(gaia: Gaia) -> None:
    """Ours: unless the person insists."""
    refused = gaia("serve", "demo", "--http", "0.0.0.0:0")
    assert (refused.code, len(refused.errors)) == (2, 2)
    assert "GAIA_MCP_TOKEN" in refused.errors[1]

    for more in (["--without-token"], ["--token", "t"]):
        process = gaia.popen("serve", "demo", "--http", "0.0.0.0:0", "--json", *more)
        shown = url_of(process)
        # A client cannot connect to the address that stands for all of them.
        assert "//0.0.0.0" not in shown
        url = re.sub("//[^/:]+", "//127.0.0.1", shown)
        assert ask(url, "greet", authorization="Bearer t")[0] == 200
        # A name can be redirected to any machine, and is no proof where there is no token.
        assert ask(url, "greet", authorization="Bearer t", host="any.example")[0] == (403 if len(more) == 1 else 200)
        process.send_signal(signal.SIGTERM)
        _, err = process.communicate(timeout=20)
        assert b"not encrypted" in err


def test_more_hosts_and_origins_can_be_allowed(gaia: Gaia) -> None:
    """Ours: for a proxy, and for a web page."""
    process = gaia.popen(
        "serve", "demo", "--http", ":0", "--json", "--allow-host", "a.example", "--allow-origin", "https://b.example"
    )
    url = url_of(process)

    assert ask(url, "greet", host="a.example", origin="https://b.example")[0] == 200
    assert ask(url, "greet", host="c.example")[0] == 403
    assert ask(url, "greet", origin="https://c.example")[0] == 403
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=20)


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["demo", "--http", "nowhere"], 2),
        (["demo", "--http", "::1:80"], 2),
        (["demo", "--http", "192.0.2.1:80", "--without-token"], 4),
        (["demo", "--http", "no.such.host.invalid:80", "--without-token"], 4),
        (["nobody", "--http", ":0"], 3),
        (["demo", "--token", "t"], 2),
        (["demo", "--allow-host", "a"], 2),
        (["demo", "--scope", "a"], 2),
        (["demo", "--metrics"], 2),
        (["demo", "--rpc"], 2),
        (["demo", "--http", ":0", "--scope", "a"], 2),
        (["demo", "--http", ":0", *ACCESS, "--scope", "a b"], 2),
        (["demo", "--http", ":0", *ACCESS, "--scope", "greet="], 2),
        (["demo", "--http", ":0", "--jwks", "https://a.example/jwks"], 2),
        (
            ["demo", "--http", ":0", "--jwks", "http://a.example/", "--issuer", "https://a", "--audience", "https://b"],
            2,
        ),
    ],
)
def test_options_that_cannot_be_served_are_reported_in_two_lines(gaia: Gaia, words: list[str], code: int) -> None:
    """Ours: what is wrong, and what to type instead."""
    ran = gaia("serve", *words)

    assert (ran.code, len(ran.errors)) == (code, 2), ran


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["--http", ":0", "--store", "redis://:s3cret@127.0.0.1:1"], 4),
        (["--http", ":0", "--store", "http://:s3cret@127.0.0.1:1"], 2),
        (["--http", ":0", "--store", "redis://:s3cret@127.0.0.1:port"], 2),
        (["--store", "redis://:s3cret@127.0.0.1:1"], 2),
    ],
)
def test_an_unusable_store_is_reported_without_its_password(gaia: Gaia, words: list[str], code: int) -> None:
    """Ours: in two lines, with an exit code for each kind."""
    ran = gaia("serve", "demo", *words)

    assert (ran.code, len(ran.errors)) == (code, 2), ran
    assert "s3cret" not in ran.stderr


def test_the_store_may_be_named_by_the_environment(gaia: Gaia) -> None:
    """Ours: other users can read the arguments of a process, where a password must not be."""
    ran = gaia("serve", "demo", "--http", ":0", GAIA_MCP_STORE="redis://:s3cret@127.0.0.1:1/0")

    assert ran.code == 4
    assert ran.errors[0].startswith("error: the store redis://127.0.0.1:1/0 does not answer")


def test_a_port_in_use_is_reported_before_the_agent_is_loaded(gaia: Gaia) -> None:
    """Ours: to load it may take long."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        ran = gaia("serve", "nobody", "--http", f":{taken.getsockname()[1]}")

    assert (ran.code, len(ran.errors)) == (4, 2)
    assert "in use" in ran.errors[0]


def test_state_keys_that_are_too_short_are_refused(gaia: Gaia) -> None:
    """Ours: they could be guessed."""
    ran = gaia("serve", "demo", "--http", ":0", GAIA_MCP_STATE_KEYS="a" * 32 + ",short")

    assert (ran.code, len(ran.errors)) == (2, 2)
    assert "short" not in ran.stderr.replace("fewer", "")


def test_an_agent_is_reloaded_over_http(gaia: Gaia) -> None:
    """Ours, `--reload`: as over stdio."""
    write(gaia.cwd, "first")
    process = gaia.popen("serve", "agent.py", "--http", ":0", "--json", "--reload")
    url = url_of(process)
    assert ask(url, "first")[1]["result"]["isError"] is False

    write(gaia.cwd, "second", 0.0001)

    wait_until(lambda: "result" in ask(url, "second")[1])
    process.send_signal(signal.SIGTERM)
    _, err = process.communicate(timeout=20)
    assert b"was reloaded" in err


@pytest.mark.parametrize(
    ("hidden", "option", "error", "extra"),
    [
        ("starlette uvicorn", None, "serving over HTTP needs starlette and uvicorn", "http"),
        ("prometheus_client", "--metrics", "--metrics needs prometheus-client", "metrics"),
        (
            "uvicorn prometheus_client redis",
            "--metrics --store redis://127.0.0.1",
            "serving over HTTP needs uvicorn, --metrics needs prometheus-client, --store needs redis-py",
            "http,metrics,redis",
        ),
    ],
)
def test_a_missing_extra_is_reported_with_its_install_command(
    gaia: Gaia, hidden: str, option: str | None, error: str, extra: str
) -> None:
    """Ours: the person copies one line."""
    hide = gaia.cwd / "hide"
    hide.mkdir()
    (hide / "sitecustomize.py").write_text(
        "import importlib.util as u\n"
        "find = u.find_spec\n"
        f"u.find_spec = lambda name, package=None: None if name in {hidden.split()} else find(name, package)\n"
    )
    ran = gaia("serve", "demo", "--http", ":0", *(option or "").split(), PYTHONPATH=str(hide))

    assert ran.code == 1
    assert ran.errors == [
        f"error: {error}, not installed here",
        f"hint: install the extra{'s' if ',' in extra else ''}: pip install 'gaia-mcp[{extra}]'",
    ]


def test_several_targets_are_served_under_their_own_names(gaia: Gaia) -> None:
    """Ours: those of files and classes, unless a person gives others; the URLs can be added as they are printed."""
    write(gaia.cwd)
    process = gaia.popen("serve", "demo", "agent.py", "second=agent.py:Agent", "--http", ":0", "--json")
    assert process.stdout is not None
    started = json.loads(process.stdout.readline())
    root = f"http://127.0.0.1:{started['port']}"

    assert started["urls"] == {name: f"{root}/{name}/mcp" for name in ("demo", "agent", "second")}
    assert "result" in ask(started["urls"]["demo"], "greet")[1]
    for name in ("agent", "second"):
        assert ask(started["urls"][name], "t")[1]["result"]["isError"] is False
    assert ask(f"{root}/mcp", "t")[0] == 404
    with urlopen(f"{root}/healthz") as response:
        assert response.status == 200
    process.send_signal(signal.SIGTERM)
    _, err = process.communicate(timeout=20)
    assert f"note: serving agent.py at {root}/agent/mcp; Ctrl-C ends it" in err.decode().splitlines()


def test_the_command_that_adds_the_server_is_printed(gaia: Gaia) -> None:
    """Ours: with a reference to the token, which is not printed."""
    process = gaia.popen("serve", "demo", "--http", ":0", "--token", "s3cret")
    assert process.stderr is not None
    lines = [process.stderr.readline().decode().strip() for _ in range(2)]
    url = lines[0].split()[4].rstrip(";")
    _, words = lines[1].split("note: its clients add it with: gaia mcp ")
    assert gaia(*shlex.split(words), GAIA_MCP_TOKEN="s3cret").code == 0
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=20)

    assert words == f"add demo {url} --header 'Authorization: Bearer ${{GAIA_MCP_TOKEN}}'"
    assert "s3cret" not in "".join(lines)


@pytest.mark.parametrize(
    "words",
    [
        ["demo", "agents"],
        ["demo", "demo", "--http", ":0"],
        ["demo", "agents", "--http", ":0", "--check"],
        ["demo", "agents", "--http", ":0", "--kwarg", "a=1"],
        ["demo", "nobody", "--http", ":0"],
        [],
    ],
)
def test_several_targets_that_cannot_be_served_are_reported(gaia: Gaia, words: list[str]) -> None:
    """Ours: two lines, before anything runs."""
    ran = gaia("serve", *words)

    assert (ran.code, len(ran.errors)) == (3 if "nobody" in words else 2, 2), ran


def test_metrics_are_published(gaia: Gaia) -> None:
    """Ours: as Prometheus reads them."""
    process = gaia.popen("serve", "demo", "--http", ":0", "--json", "--metrics")
    url = url_of(process)
    assert ask(url, "greet")[0] == 200

    with urlopen(url.replace("/mcp", "/metrics")) as response:
        families = {family.name: family for family in text_string_to_metric_families(response.read().decode())}

    (counted,) = families["gaia_mcp_requests"].samples[:1]
    assert (counted.labels["tool"], counted.value) == ("greet", 1)
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=20)


@pytest.mark.parametrize(("words", "tool"), [(["demo", "--rpc"], "greet"), (["code-runner"], "code.runPython")])
def test_the_dialect_of_agentvault_is_served(gaia: Gaia, words: list[str], tool: str) -> None:
    """Spec, C1 and C4: on demand, and for the agents that AgentVault knows; our own client detects it."""
    process = gaia.popen("serve", *words, "--http", ":0", "--json")
    url = url_of(process).replace("/mcp", "/rpc")
    arguments = {"greet": ["name=Ada"], "code.runPython": ["code=print('Hello, Ada!')"]}[tool]

    gaia("add", "av", url, "--transport", "rpc")
    found = gaia("tools", "av", "--json")
    called = gaia("call", "av", tool, *arguments)

    assert tool in [each["name"] for each in found.json["servers"][0]["tools"]]
    assert "Hello, Ada!" in called.stdout, called
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=20)


def test_a_handler_is_served_over_http(gaia: Gaia) -> None:
    """Ours: loaded as over stdio."""
    process = gaia.popen("serve", f"{HANDLER}:EchoHandler", "--http", ":0", "--json")
    status, answer = ask(url_of(process), "no_such_tool")

    assert (status, answer["error"]["code"]) == (200, -32602), answer
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=20)
    refused = gaia("serve", f"{HANDLER}:EchoHandler", "--http", ":0", "--reload")
    assert (refused.code, len(refused.errors)) == (2, 2)


def test_access_tokens_are_required(gaia: Gaia) -> None:
    """RFC 9728: the metadata names the resource; other machines may then connect."""
    process = gaia.popen("serve", "demo", "--http", "0.0.0.0:0", "--json", *ACCESS)
    url = re.sub("//[^/:]+", "//127.0.0.1", url_of(process))

    assert ask(url, "greet")[0] == 401
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=20)
    connection.request("GET", "/.well-known/oauth-protected-resource")
    assert json.loads(connection.getresponse().read())["resource"] == "https://a.example/mcp"
    connection.close()
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=20)

"""`gaia mcp serve --all` and `--server`: configured servers as one."""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.cli.commands.test_serve import ask, initialize, send
from tests.cli.conftest import entry_of
from tests.processes import living_with
from tests.server.talk import META
from tests.waiting import wait_until

if TYPE_CHECKING:
    from tests.cli.conftest import Gaia


def save(gaia: Gaia, **servers: Any) -> None:
    """Write these servers into the user's file."""
    gaia.write(servers)


def gateway_entry(*words: str) -> dict[str, object]:
    """An entry that serves servers of the same file."""
    return {"command": sys.executable, "args": ["-P", "-m", "gaia_mcp", "serve", *words]}


def test_a_gateway_is_used_like_any_server(gaia: Gaia) -> None:
    """Ours: listed and called, and the requests of its servers answered, with one entry for all of them."""
    save(
        gaia,
        good=entry_of("good-handshake"),
        demo={"agent": "demo"},
        broken={"command": "surely-not-installed"},
        gw=gateway_entry("--server", "good", "demo", "broken"),
    )

    listed = gaia("tools", "gw")
    called = gaia("call", "gw", "echo", "a=1")
    answered = gaia("call", "gw", "order", "--answer", "size=large", "--answer", "cups=2", "--answer", "sugar=true")

    assert "echo" in listed.stdout
    assert "greet(name: string" in listed.stdout
    assert "'broken' is not available: could not be started" in listed.stderr
    assert json.loads(called.stdout) == {"a": "1"}
    assert answered.stdout == "2 large, with sugar\n"


def test_all_servers_are_served_except_the_gateway_itself(gaia: Gaia) -> None:
    """Ours: a file may hold the gateway to all of its servers."""
    save(
        gaia,
        good=entry_of("good-handshake"),
        off={**entry_of("late-tools"), "disabled": True},
        gw=gateway_entry("--all"),
    )

    listed = gaia("tools", "gw", "--json")
    names = [tool["name"] for tool in json.loads(listed.stdout)["servers"][0]["tools"]]

    assert "echo" in names
    assert listed.stderr == ""


def test_a_gateway_that_serves_itself_ends(gaia: Gaia) -> None:
    """Ours: also where its command hides that it is one."""
    hidden = {"command": "/bin/sh", "args": ["-c", f"exec {sys.executable} -m gaia_mcp serve --a''ll"]}
    save(gaia, good=entry_of("good-handshake"), gw=hidden)

    listed = gaia("tools", "gw")

    assert "echo" in listed.stdout
    assert "'gw' is not available" in listed.stderr
    assert "itself included" in listed.stderr


@pytest.mark.parametrize("end", ["eof", signal.SIGTERM, signal.SIGINT])
def test_a_gateway_that_ends_leaves_no_server(gaia: Gaia, end: str | signal.Signals) -> None:
    """Ours: however it is ended, its servers end too, also those that ignore the end of their input."""
    mark = os.fspath(gaia.cwd)
    save(
        gaia,
        stubborn={**entry_of("ignores-eof"), "env": {"MARK_OF_TEST": mark}},
        demo={"agent": "demo", "env": {"MARK_OF_TEST": mark}},
    )
    process = gaia.popen("serve", "--all")
    initialize(process)
    assert ask(process, "tools/list", 2)["result"]["tools"]
    assert len(living_with(mark)) >= 2

    if isinstance(end, signal.Signals):
        process.send_signal(end)
    process.communicate(timeout=20)

    assert process.returncode == (0 if end == "eof" else 128 + end)
    wait_until(lambda: not living_with(mark))


def test_a_gateway_ends_while_a_server_waits_for_a_response(gaia: Gaia) -> None:
    """Ours: the client may never send one, and the request of the server stays open meanwhile."""
    mark = os.fspath(gaia.cwd)
    save(gaia, asks={"agent": "demo", "protocolVersion": "2025-11-25", "env": {"MARK_OF_TEST": mark}})
    process = gaia.popen("serve", "--all")
    meta = {**META, "io.modelcontextprotocol/clientCapabilities": {"elicitation": {}}}

    asked = ask(process, "tools/call", 1, name="order", arguments={}, _meta=meta)["result"]
    assert asked["resultType"] == "input_required"
    process.communicate(timeout=20)

    assert process.returncode == 0
    wait_until(lambda: not living_with(mark))


def test_a_killed_server_is_reported_and_started_again(gaia: Gaia) -> None:
    """Ours: in the middle of a session; the other servers do not notice."""
    mark = os.fspath(gaia.cwd)
    save(gaia, killed={"agent": "demo", "env": {"MARK_OF_TEST": mark}}, good=entry_of("good-handshake"))
    process = gaia.popen("serve", "--all")
    initialize(process)
    call = {"name": "greet", "arguments": {"name": "Ada"}}
    assert ask(process, "tools/call", 2, **call)["result"]["isError"] is False

    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if mark.encode() in (folder / "environ").read_bytes():
                os.kill(int(folder.name), signal.SIGKILL)
    wait_until(lambda: not living_with(mark))

    assert ask(process, "tools/call", 3, name="echo", arguments={})["result"]["content"]
    after = [ask(process, "tools/call", number, **call)["result"]["content"][0]["text"] for number in (4, 5)]
    # Before its end is noticed a call may still be sent to it, and is not repeated.
    assert after[0] == "Hello, Ada!" or "was ended by SIGKILL" in after[0]
    assert after[1] == "Hello, Ada!"
    process.communicate(timeout=20)


def test_a_gateway_is_served_over_http(gaia: Gaia) -> None:
    """Ours: with the options of every server."""
    save(gaia, good=entry_of("good-handshake"), demo={"agent": "demo"})
    process = gaia.popen("serve", "--all", "--http", "127.0.0.1:0", "--json")
    assert process.stdout is not None
    url = json.loads(process.stdout.readline())["url"]

    listed = gaia("tools", url, "--names")
    answered = gaia("call", url, "order", "--answer", "size=small", "--answer", "cups=1", "--answer", "sugar=false")

    assert {"echo", "greet"} <= set(listed.stdout.split())
    assert answered.stdout == "1 small, without sugar\n"
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=20)


def test_a_gateway_follows_its_file(gaia: Gaia) -> None:
    """Ours: servers are added, edited and removed while it runs; the others stay as they are, and the client is told.
    What cannot be read changes nothing.
    """
    keeper = entry_of("remembers")
    save(gaia, keeper=keeper, other=entry_of("good-handshake"))
    process = gaia.popen("serve", "--all", "--prefix", "always")
    assert process.stdout is not None
    initialize(process)
    send(process, "notifications/initialized", None)
    before = ask(process, "tools/call", 2, name="keeper__pid", arguments={})["result"]["content"][0]["text"]

    gaia.config.write_text("{")
    save(gaia, keeper=keeper, demo={"agent": "demo"})
    while b"tools/list_changed" not in process.stdout.readline():
        pass
    names = {tool["name"] for tool in ask(process, "tools/list", 3)["result"]["tools"]}
    after = ask(process, "tools/call", 4, name="keeper__pid", arguments={})["result"]["content"][0]["text"]

    assert {"keeper__pid", "demo__greet"} <= names
    assert not [name for name in names if name.startswith("other__")]
    assert after == before
    assert b"has changed; serving keeper, demo" in process.communicate(timeout=20)[1]


def test_two_gateways_that_are_servers_of_each_other_notice_it(gaia: Gaia, tmp_path: Path) -> None:
    """Ours: each has its own servers and those of the other, and lists do not grow with each request."""
    ports = {}
    with ExitStack() as reserved:
        for name in "ab":
            listener = reserved.enter_context(socket.create_server(("127.0.0.1", 0)))
            ports[name] = listener.getsockname()[1]
    running = []
    for name, other in ("ab", "ba"):
        file = tmp_path / f"{name}.json"
        own = {"agent": "demo", "env": {"OF": name}}
        servers = {other: {"url": f"http://127.0.0.1:{ports[other]}/mcp"}, f"demo_{name}": own}
        file.write_text(json.dumps({"mcpServers": servers}))
        options = ["--all", "--prefix", "always", "--config", str(file), "--http", f"127.0.0.1:{ports[name]}", "--json"]
        running.append(gaia.popen("serve", *options))
    urls = {name: json.loads(process.stdout.readline())["url"] for name, process in zip("ab", running, strict=True)}

    lists = [gaia("tools", url, "--names").stdout.split() for url in (*urls.values(), *urls.values())]

    assert {name.count("__") for listed in lists for name in listed} == {1, 2}
    assert lists[:2] == lists[2:]
    assert {"demo_a__greet", "b__demo_b__greet"} <= set(lists[0])
    assert not [name for name in lists[0] if name.startswith("b__a__")]
    for process in running:
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=20)


def test_the_entry_for_a_host_is_printed(gaia: Gaia) -> None:
    """Ours: one entry for all servers, with the file that they are in."""
    save(gaia, good=entry_of("good-handshake"))

    printed = gaia(
        "serve", "--all", "--prefix", "always", "--config", str(gaia.config), "--print-config", "cursor", "--json"
    )
    (entry,) = json.loads(printed.stdout)["servers"].values()

    assert entry["args"][-5:] == ["--all", "--prefix", "always", "--config", str(gaia.config)]
    options = ["--header", "X-Team: blue", "--token-env", "WEB_TOKEN"]
    printed = gaia("serve", "--server", "https://a.invalid/mcp", *options, "--print-config", "cursor", "--json")
    (entry,) = json.loads(printed.stdout)["servers"].values()
    assert entry["args"][-6:] == ["--server", "https://a.invalid/mcp", *options]


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["--all", "good"], "--all and names cannot be used together"),
        (["--all", "--reload"], "--kwarg, --reload and --check are for an agent"),
        (["demo", "--prefix", "never"], "--prefix is for --all and --server"),
        (["demo", "good"], "several targets need --http"),
        ([], "no target given"),
    ],
)
def test_conflicting_options_are_refused(gaia: Gaia, words: list[str], problem: str) -> None:
    """Ours: an option without effect would mislead."""
    save(gaia, good=entry_of("good-handshake"))

    refused = gaia("serve", *words)

    assert refused.code == 2
    assert problem in refused.stderr


def test_a_file_without_servers_is_refused(gaia: Gaia) -> None:
    """Ours: a gateway to no server is a mistake."""
    save(gaia, off={**entry_of("good-handshake"), "disabled": True})

    refused = gaia("serve", "--all")

    assert refused.code == 3
    assert "has no server that is enabled" in refused.stderr
    assert gaia("serve", "--server", "nope").code == 3

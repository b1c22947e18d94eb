"""Held servers in the files of other hosts, and behind `serve --held`."""

from __future__ import annotations

import json
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.cli.conftest import INITIALIZE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.cli.conftest import Gaia

pytestmark = pytest.mark.story


@pytest.fixture
def keeping(gaia: Gaia) -> Iterator[Gaia]:
    """The program with `remembers` configured, whose keeper ends with the test."""
    # The path of a socket has at most 107 bytes.
    folder = tempfile.mkdtemp(prefix="k")
    gaia.environ["XDG_RUNTIME_DIR"] = folder
    gaia.use("remembers")
    yield gaia
    gaia.command("gaia", "mcp", "down", "--all")
    shutil.rmtree(folder)


def test_vs_code_gets_the_url_of_the_socket(keeping: Gaia) -> None:
    """VS Code: `unix://`, the path of the socket, and the path of the endpoint as the fragment."""
    assert keeping("up", "remembers", "remembers@a").code == 0
    sockets = {server["instance"]: server["socket"] for server in keeping("ps", "--json").json["servers"]}

    ran = keeping("export", "remembers", "remembers@a", "--held", "--to", "vscode")

    assert (ran.code, ran.errors) == (0, [])
    written = json.loads((keeping.home / ".config" / "Code" / "User" / "mcp.json").read_text())["servers"]
    assert written["remembers"] == {"type": "http", "url": f"unix://{sockets['']}#/mcp"}
    assert written["remembers@a"]["url"].startswith("unix:///")
    assert Path(sockets["a"]).is_socket()
    assert keeping("export", "--all", "--held", "--as", "vscode").json["servers"].keys() == {"remembers"}


def test_a_server_has_to_be_held_to_be_exported_so(keeping: Gaia) -> None:
    """Ours: the hint holds it."""
    ran = keeping("export", "remembers", "--held", "--as", "vscode")

    assert (ran.code, ran.stdout) == (4, "")
    assert ran.errors == ["error: server 'remembers' is not held", "hint: hold it: gaia mcp up remembers"]


def test_other_hosts_get_a_command(keeping: Gaia) -> None:
    """Ours: the hint prints the entry of a gateway, as no other host takes the URL of a Unix socket."""
    for host in ("cursor", "prototype"):
        ran = keeping("export", "remembers", "--held", "--as", host)
        assert ran.code == 3
        assert "it does not take the URL of a Unix socket" in ran.errors[0]
    args = keeping("serve", "--server", "remembers", "--held", "--print-config", "cursor").json["mcpServers"]["gaia"]
    assert args["args"][-3:] == ["--server", "remembers", "--held"]


def asked(gaia: Gaia, *words: str) -> list[Any]:
    """The results of a gateway for two calls, the second one after `down`."""
    process = gaia.popen("serve", *words)
    call = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "pid", "arguments": {}}}
    texts = []
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(INITIALIZE)
    for down in (False, True):
        if down:
            assert gaia("down", "--all").code == 0
        process.stdin.write(json.dumps(call).encode() + b"\n")
        process.stdin.flush()
        while True:
            message = json.loads(process.stdout.readline())
            if message.get("id") == 2:
                texts.append(message["result"]["content"][0]["text"])
                break
    process.communicate()
    return texts


@pytest.mark.parametrize("words", [("--server", "remembers", "--held"), ("--all", "--held")])
def test_a_gateway_shares_held_servers_with_the_shell(keeping: Gaia, words: tuple[str, ...]) -> None:
    """Ours: and starts a server of its own once it is held no more."""
    keeping("up", "remembers")
    shared = keeping("call", "remembers", "pid").stdout.strip()

    with_keeper, alone = asked(keeping, *words)

    assert with_keeper == shared
    assert alone != shared


def test_without_the_option_a_gateway_starts_its_own(keeping: Gaia) -> None:
    """Ours: its clients would else share what they tell a server without knowing it."""
    keeping("up", "remembers")
    shared = keeping("call", "remembers", "pid").stdout.strip()

    assert asked(keeping, "--server", "remembers")[0] != shared


def test_the_option_needs_servers_and_an_instance_needs_the_option(keeping: Gaia) -> None:
    """Ours: agents are not held; instances are nothing else."""
    ran = keeping("serve", "demo", "--held")
    assert (ran.code, ran.errors[0]) == (2, "error: --held is for --all and --server")
    ran = keeping("serve", "--server", "remembers@a")
    assert (ran.code, ran.errors[1]) == (2, "hint: add --held")

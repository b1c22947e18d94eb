"""`gaia mcp search`."""

from __future__ import annotations

import json
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from gaia_mcp.config.entries import read_entry
from gaia_mcp.storage.server_cache import ServerCache
from tests.cli.conftest import BIN, SERVERS, Gaia, entry_of

if TYPE_CHECKING:
    from tests.forking.client import ForkServer


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory, shared: Path, fork_server: ForkServer) -> Path:
    """A home with two servers whose tools are known, and one that has not been asked."""
    gaia = Gaia(tmp_path_factory.mktemp("known"), shared, fork_server)
    demo = {"command": str(BIN / "gaia"), "args": ["mcp", "serve", "demo"]}
    gaia.write({"demo": demo, "hand": entry_of("good-handshake"), "new": entry_of("good-stateless")})
    assert gaia("tools", "demo", "hand").code == 0
    return gaia.home


@pytest.fixture
def known(gaia: Gaia, home: Path) -> Gaia:
    """The program, with a copy of that home."""
    shutil.copytree(home, gaia.home, dirs_exist_ok=True)
    return gaia


def names(gaia: Gaia, *words: str) -> list[str]:
    ran = gaia("search", *words, "--json")
    return [f"{tool['server']}.{tool['name']}" for tool in ran.json["tools"]] if ran.code == 0 else []


def noting(gaia: Gaia) -> dict[str, Any]:
    """A server that notes each of its starts."""
    program = shlex.join([sys.executable, str(SERVERS / "good_handshake.py")])
    return {"command": "/bin/sh", "args": ["-c", f"echo started >>{gaia.cwd}/starts; exec {program}"]}


def test_cached_tools_are_found_without_connecting(gaia: Gaia) -> None:
    """Ours: a server is asked once, while its tools are not cached."""
    gaia.write({"s": noting(gaia)})

    assert names(gaia, "echo") == ["s.echo"]
    assert names(gaia, "echo") == ["s.echo"]

    assert (gaia.cwd / "starts").read_text() == "started\n"


def test_a_server_that_cannot_be_started_does_not_hide_the_others(known: Gaia) -> None:
    """Ours: a note reports that it was not searched; a disabled server is not started."""
    servers = json.loads(known.config.read_text())["mcpServers"]
    known.write({**servers, "gone": {"command": "no-such-program"}, "off": {"command": "x", "disabled": True}})

    ran = known("search", "hello")

    assert ran.stdout.splitlines()[0].startswith("demo greet(name: string (not empty), ")
    problem = "server 'gone' could not be started: 'no-such-program' was not found on PATH"
    assert ran.stderr == f"note: not searched: {problem}; see: gaia mcp tools gone\n"
    assert ran.code == 0


def test_a_hanging_server_is_waited_for_ten_seconds(known: Gaia) -> None:
    """Ours: it was not named, and each search would take as long."""
    servers = json.loads(known.config.read_text())["mcpServers"]
    known.write({**servers, "stuck": entry_of("hangs-in-list")})

    ran = known("search", "hello")

    assert (ran.code, ran.stdout.split()[0]) == (0, "demo")
    assert "'stuck' did not answer tools/list within 10 s" in ran.stderr


def test_a_hanging_server_is_not_waited_for_longer_than_its_own_timeout(known: Gaia) -> None:
    """Ours: unless `--timeout` replaces it, as in every command."""
    servers = json.loads(known.config.read_text())["mcpServers"]
    known.write({**servers, "stuck": {**entry_of("hangs-in-list"), "timeout": 0.3}})

    assert "within 0.3 s; see" in known("search", "hello").stderr
    assert "within 0.9 s; see" in known("search", "hello", "--timeout", "0.9").stderr


def test_a_tool_is_printed_on_one_line(known: Gaia) -> None:
    """Ours: for people who skim, for grep, and for models, which pay for each word."""
    assert known("search", "numbers").stdout.splitlines() == [
        "demo add(a: number, b: number)  Add two numbers. The result is structured."
    ]


def test_a_glob_matches_the_whole_name(known: Gaia) -> None:
    """Ours: in upper or lower case."""
    assert names(known, "*ount*") == ["demo.countdown"]
    assert names(known, "GREE?") == ["demo.greet"]
    assert names(known, "ount*") == []
    assert names(known, "a*", "numbers") == ["demo.add"]


def test_tools_stay_cached_when_a_server_ends_with_an_error(gaia: Gaia) -> None:
    """Ours: the official SDK's ends a subscription with an error then, which does not concern its tools."""
    program = Path(__file__).parents[2] / "peers" / "programs" / "sdk_server.py"
    gaia.write({"sdk": {"command": sys.executable, "args": [str(program)]}})
    assert gaia("tools", "sdk").code == 0

    # A search would ask again, since these are out of date at once.
    offered = gaia.command(BIN / "gaia", "complete", "fish", "--", "mcp", "call", "sdk", "", text=True).stdout

    assert "weather\t" in offered


def test_all_words_must_match_and_the_best_match_comes_first(known: Gaia) -> None:
    """Ours: in the name, the description, or the names of parameters, in this order."""
    assert names(known, "two", "numbers") == ["demo.add"]
    assert names(known, "TWO numbers") == ["demo.add"]
    assert names(known, "two", "hello") == []
    assert names(known, "echo") == ["hand.echo", "new.echo"]
    assert names(known, "pic")[0] == "demo.picture"
    assert names(known, "style") == ["demo.greet"]


def test_a_whole_word_ranks_before_a_part_of_one(gaia: Gaia) -> None:
    """Ours: within each of name, description and parameters, which rank in this order."""
    gaia.environ["GAIA_HOME"] = str(gaia.home / ".gaia")
    entry = {"command": "surely-not-installed"}
    gaia.write({"s": entry})
    tools = [
        {"name": "a", "inputSchema": {"properties": {"personal": {}}}},
        {"name": "b", "inputSchema": {"properties": {"other": {}, "the person": {}}}},
        {"name": "c", "description": "Detects impersonation."},
        {"name": "d", "description": "Save a Person."},
        {"name": "e_persons"},
        {"name": "f_person"},
    ]
    ServerCache(gaia.home / ".gaia" / "cache", read_entry("s", entry)).keep_seen(tools)

    assert names(gaia, "Person") == ["s.f_person", "s.e_persons", "s.d", "s.c", "s.b", "s.a"]


def test_json_has_the_whole_definitions_of_the_tools(known: Gaia) -> None:
    """Ours: a program needs the schema to call a tool."""
    tool = known("search", "echo", "--json").json["tools"][0]

    assert tool["server"] == "hand"
    assert tool["inputSchema"]["type"] == "object"


def test_a_search_without_a_match_exits_with_7(known: Gaia) -> None:
    """Ours: a script can test for it, as with grep."""
    ran = known("search", "surely-nothing")

    assert (ran.code, ran.stdout) == (7, "")
    assert "'surely-nothing'" in ran.errors[0]
    assert ran.errors[1] == "hint: use fewer words, or parts of them"


def test_the_hint_of_a_search_without_a_match_finds_the_closest(known: Gaia) -> None:
    """Ours: what does not match all words is not printed as if it did, since a script takes the first line."""
    ran = known("search", "ad", "numbrs", "swiftly", "--server", "demo")

    assert (ran.code, ran.stdout) == (7, "")
    command = ran.errors[1].removeprefix("hint: find the closest with: ")
    assert command.startswith("gaia mcp search ")
    assert names(known, *shlex.split(command)[3:]) == ["demo.add"]


@pytest.mark.parametrize("command", [("add", "x", "--"), ("list", "--check"), ("test-client", "x")])
def test_every_command_that_lists_tools_caches_them(gaia: Gaia, command: tuple[str, ...]) -> None:
    """Ours: the first search need not connect."""
    entry = noting(gaia)
    if command[0] == "add":
        assert gaia(*command, entry["command"], *entry["args"]).code == 0
    else:
        gaia.write({"x": entry})
        assert gaia(*command).code == 0
    starts = (gaia.cwd / "starts").read_text()

    assert names(gaia, "echo") == ["x.echo"]

    assert (gaia.cwd / "starts").read_text() == starts


def test_a_changed_entry_invalidates_the_cached_tools(known: Gaia) -> None:
    """Ours: they belong to another server."""
    known.write({"demo": entry_of("good-handshake")})

    assert known("search", "greet").code == 7
    assert names(known, "echo") == ["demo.echo"]


def test_a_corrupt_cache_is_ignored(known: Gaia) -> None:
    """Ours: the tools are listed again."""
    (cache,) = known.home.rglob("tools/demo.json")
    cache.write_bytes(b"{")

    assert names(known, "greet") == ["demo.greet"]


def test_control_characters_in_cached_tools_are_escaped(gaia: Gaia) -> None:
    """Ours: a server must not control the terminal, out of the cache either."""
    gaia.write({"demo": {"command": str(BIN / "gaia"), "args": ["mcp", "serve", "demo"]}})
    assert gaia("tools").code == 0
    (cache,) = gaia.home.rglob("tools/demo.json")
    cache.write_text(cache.read_text().replace("Paint a", "\\u001b[2J").replace('"ttlMs":0', '"ttlMs":99999999'))
    words = f"{BIN}/gaia mcp search pict"

    ran = subprocess.run(
        ["script", "-qec", words, "/dev/null"], capture_output=True, cwd=gaia.cwd, env=gaia.environ, check=False
    )

    assert b"\x1b[2J" not in ran.stdout
    assert b"\\x1b[2J" in ran.stdout

"""`gaia mcp up`."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

import pytest

from tests.cli.conftest import BIN, entry_of

if TYPE_CHECKING:
    from tests.cli.conftest import Gaia

AGENT = """
from gaia_mcp import MCPAgent, tool


class Counter(MCPAgent):
    "Counts."

    def __init__(self, **options):
        super().__init__(**options)
        self.count = 0

    @tool
    def more(self) -> int:
        "Count one more."
        self.count += 1
        return self.count
"""
# `keep` returns the word that it was called with before.
SERVERS = {
    "mem": entry_of("remembers"),
    "demo": {"command": str(BIN / "gaia"), "args": ["mcp", "serve", "demo"]},
    "off": entry_of("remembers", disabled=True),
    "bad": {"command": 7},
    "dead": entry_of("exits-at-once"),
    "mute": entry_of("hangs-at-start"),
}


@pytest.fixture
def held(keeping: Gaia) -> Gaia:
    """The program, with servers to hold."""
    keeping.write(SERVERS)
    return keeping


def names_held(gaia: Gaia) -> list[str]:
    """The servers that are held, as `ps` prints them."""
    return [line.split("  ")[0] for line in gaia("ps").stdout.splitlines()]


def test_a_server_keeps_its_state_between_commands(held: Gaia) -> None:
    """Ours: that is what it is for. A second `up` changes nothing."""
    first = held("up", "mem")
    before = held("call", "mem", "keep", "label=one")
    again = held("up", "mem")
    after = held("call", "mem", "keep", "label=two")

    assert (first.code, first.stderr) == (0, "")
    assert first.stdout.startswith("holding 'mem', process ")
    assert again == first
    assert (before.stdout, after.stdout) == ("", "one\n")


def test_several_servers_are_held_at_once(held: Gaia) -> None:
    """Ours: the answer has them in the order in which they were typed."""
    held.write({name: SERVERS[name] for name in ("mem", "demo")})

    some = held("up", "demo", "mem", "--json").json["servers"]
    every = held("up", "--all", "--json").json["servers"]

    assert [each["name"] for each in some] == ["demo", "mem"]
    assert sorted(each["pid"] for each in every) == sorted(each["pid"] for each in some)
    assert {each["state"] for each in every} == {"open"}


def test_an_instance_has_a_state_of_its_own(held: Gaia) -> None:
    """Ours: `NAME@INSTANCE` is one more of the same server; a configured name with an `@` is that server."""
    held.write({**SERVERS, "mem@demo": SERVERS["demo"]})
    ran = held("up", "mem", "mem@two", "mem@demo")
    held("call", "mem", "keep", "label=one")
    held("call", "mem@two", "keep", "label=two")

    assert ran.code == 0
    assert held("call", "mem", "keep", "label=x").stdout == "one\n"
    assert held("call", "mem@two", "keep", "label=x").stdout == "two\n"
    assert held("call", "mem@demo", "greet", "name=Ada").stdout == "Hello, Ada!\n"
    assert held("tools", "mem@two", "--json").json["servers"][0]["name"] == "mem@two"
    assert names_held(held) == ["mem", "mem@demo", "mem@two"]
    assert held("call", "mem@two.keep", "label=three").stdout == "x\n"
    lines = [json.dumps({"tool": "keep", "arguments": {"label": label}}) for label in ("four", "five")]
    batch = held("call", "mem@two", "--batch", "-", stdin="\n".join(lines))
    kept = [json.loads(line)["result"]["content"][0]["text"] for line in batch.stdout.splitlines()]
    assert kept == ["three", "four"]
    completed = held.command(BIN / "gaia", "complete", "zsh", "--", "mcp", "call", "mem@t", text=True)
    assert completed.stdout.strip() == "mem@two"


def test_an_instance_that_is_not_held_is_an_error_with_the_line_to_type(held: Gaia) -> None:
    """Ours: another instance has another state, so no other is used in its place. `--fresh` asks for a new one."""
    missing = held("call", "mem@two", "keep", "label=x")
    unnamed = held("up", "none@two")
    off = held("call", "mem@two", "keep", "label=x", GAIA_MCP_KEEPER="0")
    fresh = held("call", "mem@two", "keep", "label=x", "--fresh")

    assert missing.code == off.code == 4
    assert missing.stderr == (
        "error: instance 'two' of server 'mem' is not held\nhint: hold it with: gaia mcp up mem@two\n"
    )
    assert off.stderr == (
        "error: instance 'two' of server 'mem' cannot be used: GAIA_MCP_KEEPER is 0\nhint: unset it, or use 'mem'\n"
    )
    assert (unnamed.code, fresh.code) == (3, 0)


def test_a_target_is_used_by_a_call_with_the_same_words(held: Gaia) -> None:
    """Ours: what is not saved is found again by what was typed, in the same folder."""
    (held.cwd / "count.py").write_text(AGENT)
    command = [*map(str, (SERVERS["mem"]["command"], *SERVERS["mem"]["args"]))]
    assert held("up", "./count.py").code == held("up", "--", *command).code == 0

    counted = [held("call", "./count.py", "more").stdout for _ in range(2)]
    kept = [held("call", "keep", f"label={word}", "--", *command).stdout for word in ("a", "b")]

    assert counted == ["1\n", "2\n"]
    assert kept == ["", "a\n"]
    assert held("call", " ".join(command), "keep", "label=c").stdout == "b\n"
    assert names_held(held) == sorted([str(held.cwd / "count.py"), " ".join(command)])


def test_a_disabled_server_is_held_if_it_is_named(held: Gaia) -> None:
    """Ours: as every command that names one. `--all` leaves it out, and an invalid one with a remark."""
    held.write({name: SERVERS[name] for name in ("off", "bad", "mem")})

    assert held("up", "--all").stderr.startswith("note: skipped: server 'bad': ")
    assert names_held(held) == ["mem"]
    assert held("up", "off").code == 0
    assert names_held(held) == ["mem", "off"]


@pytest.mark.parametrize(
    ("words", "code", "error"),
    [
        (["none"], 3, "no server 'none' in "),
        (["bad"], 3, "server 'bad': config must include 'command'"),
        (["./none.py"], 3, "agent './none.py' does not exist"),
        (["http://127.0.0.1:9/mcp"], 4, "server 'http://127.0.0.1:9/mcp' could not be reached"),
        (["--", "no-such-program", "x"], 4, "server 'no-such-program x' could not be started"),
        ([], 2, "no server to hold is named"),
        (["mem", "--all"], 2, "--all holds all servers, and some are named"),
    ],
)
def test_what_cannot_be_held_is_named(held: Gaia, words: list[str], code: int, error: str) -> None:
    """Ours: with the error and the exit code of every other command, and nothing is held."""
    ran = held("up", *words)

    assert (ran.code, ran.stdout) == (code, "")
    assert ran.stderr.startswith(f"error: {error}")
    assert names_held(held) == []


def test_a_server_that_does_not_start_fails_as_in_a_call(held: Gaia) -> None:
    """Ours: with the end of its stderr. The others that were named are held."""
    called = held("call", "dead", "echo")
    alone = held("up", "dead")
    both = held("up", "dead", "mem")
    listed = held("up", "dead", "mem", "--json")

    assert (alone.code, alone.stdout, alone.stderr) == (4, "", called.stderr)
    assert (both.code, both.stderr) == (4, called.stderr)
    assert both.stdout.startswith("holding 'mem', process ")
    assert [each["name"] for each in listed.json["servers"]] == ["dead", "mem"]
    assert listed.json["servers"][0]["error"]["kind"] == "exited"
    assert names_held(held) == ["mem"]


def test_a_server_that_hangs_at_its_start_is_not_held(held: Gaia) -> None:
    """Ours: what was not reported as held is not held later either, and a server that is held stays so."""
    assert held("up", "mem").code == 0
    late = held("up", "mem", "mute", "--timeout", "0.5")

    assert (late.code, late.stderr.splitlines()[0]) == (
        5,
        "error: server 'mute' did not answer at its start within 0.5 s",
    )
    assert late.stdout.startswith("holding 'mem', process ")
    assert names_held(held) == ["mem"]


def test_a_server_is_held_for_a_build_that_asks_for_it(held: Gaia) -> None:
    """Ours: what never starts a keeper by itself, as in a build, has one after `up`."""
    assert held("up", "mem", CI="true").code == 0
    held("call", "mem", "keep", "label=one", CI="true")

    assert held("call", "mem", "keep", "label=two", CI="true").stdout == "one\n"


def test_a_held_server_is_of_the_folder_and_the_variables_of_its_command(held: Gaia) -> None:
    """Ours: the keeper has other ones."""
    held.write({"here": entry_of("good-handshake", env={"WORD": "${WORD:-none}", "CLIENT": "x"})})
    held("up", "here", WORD="red")

    found = held("call", "here", "environment", WORD="red").json

    assert found["WORD"] == "red"
    pid = held("ps", "--json").json["servers"][0]["pid"]
    assert os.readlink(f"/proc/{pid}/cwd") == str(held.cwd)  # noqa: PTH115

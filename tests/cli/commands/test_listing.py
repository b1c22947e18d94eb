"""`gaia mcp list`, `tools`, and what is told of the configuration file."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.cli.conftest import entry_of, run_on_terminal

if TYPE_CHECKING:
    from tests.cli.conftest import Gaia


def test_servers_are_shown_without_connecting_and_without_secrets(gaia: Gaia) -> None:
    """Ours."""
    gaia.write(
        {
            "a": {"command": "prog", "args": ["--api-key", "sk-verysecret123", "path"], "env": {"TOKEN": "hush-hush"}},
            "b": {"url": "https://user:pass@example.com/mcp?key=abc"},
            "c": {"command": "prog", "disabled": True},
            "d": {"args": "nonsense"},
        }
    )

    ran = gaia("list")

    assert ran.code == 0
    assert [line.split()[0] for line in ran.stdout.splitlines()] == ["a", "b", "c", "d"]
    assert "disabled" in ran.stdout
    assert "invalid" in ran.stdout
    for secret in ("verysecret", "hush-hush", "pass@", "abc"):
        assert secret not in ran.stdout
        assert secret not in gaia("list", "--json").stdout


def test_an_empty_list_says_how_to_begin(gaia: Gaia) -> None:
    """Ours."""
    ran = gaia("list")

    assert (ran.stdout, ran.code) == ("", 0)
    assert "gaia mcp add" in ran.stderr
    assert gaia("list", "--json").json == {"servers": [], "path": str(gaia.config)}


def test_all_servers_are_checked_at_once(demo: Gaia) -> None:
    """Ours: a failed one delays no other, and decides the exit code."""
    servers = json.loads(demo.config.read_text())["mcpServers"]
    demo.write({**servers, "gone": {"command": "no-such-program-anywhere"}, "hangs": entry_of("hangs-at-start")})

    ran = demo("list", "--check", "--json", "--timeout", "5")

    checks = {row["name"]: row["check"] for row in ran.json["servers"]}
    assert checks["demo"]["ok"]
    assert checks["demo"]["tools"] == 10
    assert checks["gone"]["error"]["kind"] == "spawn"
    assert checks["hangs"]["error"]["kind"] == "timeout"
    assert ran.code == 4
    assert [line[:6] for line in ran.errors] == ["error:", "hint: "] * 2


@pytest.mark.parametrize("command", [("list", "--check"), ("tools",), ("test-client", "--all")])
def test_a_server_without_tools_is_no_failure(gaia: Gaia, command: tuple[str, ...]) -> None:
    """Ours: all commands agree on it, `add` too."""
    bare, forgetful = entry_of("declares-no-tools"), entry_of("declares-no-tools", "all the same")
    gaia.write({"bare": bare, "forgetful": forgetful})

    ran = gaia(*command)

    assert (ran.code, ran.errors) == (0, [])
    assert gaia("add", "x", "--", bare["command"], *bare["args"]).stdout.endswith(", 0 tools\n")
    assert gaia("add", "y", "--", forgetful["command"], *forgetful["args"]).stdout.endswith(", 1 tool\n")


def test_tools_that_are_not_declared_are_shown(gaia: Gaia) -> None:
    """Ours: some servers forget to. Where there are none, it is said what there is."""
    gaia.write({"bare": entry_of("declares-no-tools"), "forgetful": entry_of("declares-no-tools", "all the same")})

    ran = gaia("tools")

    assert ran.stdout.splitlines() == [
        "bare (declares-no-tools 1)",
        "forgetful (declares-no-tools 1)",
        "  echo()",
        "      echo",
    ]
    assert ran.stderr == "note: bare: does not declare tools, only prompts\n"


def test_the_reason_of_a_failure_is_told_whole(gaia: Gaia) -> None:
    """Ours: a table that is cut to the terminal's width has no room for it."""
    gaia.write({"gone": {"command": "no-such-program-anywhere", "args": ["x" * 100]}})

    seen, code = run_on_terminal(gaia, "list", "--check")

    assert code == 4
    assert "error: server 'gone' could not be started: 'no-such-program-anywhere'" in seen
    assert "hint: " in seen


def test_servers_that_time_ran_out_for_say_that_they_were_not_started(gaia: Gaia) -> None:
    """Ours: more time helps, and nothing is wrong with them."""
    gaia.write({f"s{number}": entry_of("hangs-at-start") for number in range(18)})

    ran = gaia("tools", "--json", "--timeout", "1")

    told = [server["error"]["message"] for server in ran.json["servers"]]
    assert sum("it was not started: 16 others were in line before it" in message for message in told) == 2
    assert {server["error"]["kind"] for server in ran.json["servers"]} == {"timeout"}
    assert ran.code == 5

    alone = gaia("test-client", "s0", "--timeout", "0.01")
    assert "at its start" in alone.errors[0]
    assert alone.code == 5


def test_no_name_breaks_the_table(gaia: Gaia) -> None:
    """Ours: one line for each server, and columns below one another in every script."""
    gaia.write({name: {"command": "prog"} for name in ("a\nb", "日本語", "plain")})

    assert gaia("list").stdout.splitlines() == [
        "a b     stdio  enabled  prog",
        "日本語  stdio  enabled  prog",
        "plain   stdio  enabled  prog",
    ]


def test_tools_are_shown_as_signatures(demo: Gaia) -> None:
    """Ours: required parameters first."""
    shown = demo("tools", "demo").stdout.splitlines()

    assert '  greet(name: string, [style: "plain" | "warm" | "formal" = "plain"]) (read-only)' in shown
    assert '"minLength": 1' in demo("tools", "demo", "--schema").stdout


def test_tools_of_all_servers_with_the_failed_ones_told_apart(demo: Gaia) -> None:
    """Ours: without a name, all servers in parallel."""
    servers = json.loads(demo.config.read_text())["mcpServers"]
    demo.write({**servers, "bad": entry_of("exits-at-once"), "off": {"command": "x", "disabled": True}})

    ran = demo("tools", "--json")

    assert [server["name"] for server in ran.json["servers"]] == ["demo", "bad"]
    assert ran.json["servers"][1]["error"]["kind"] == "exited"
    assert ran.code == 4
    assert len(ran.errors) == 2


def test_bad_definitions_do_not_hide_the_good_ones(gaia: Gaia) -> None:
    """Ours: kept, with a word about the others."""
    gaia.use("bad-tools")

    ran = gaia("tools", "bad-tools")

    assert ran.code == 0
    assert "has no name" in ran.stderr
    assert ran.stdout.count("(") >= 2


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"", "is empty"),
        (b"null", "contains null"),
        (b"[]", "contains a list"),
        (b'{"mcpServers": {"a": ', ":1:"),
        (b'{"mcpServers": []}', "is not an object"),
        (b'{\n  // mine\n  "mcpServers": {}}', ":2:3: comments"),
        (b'{"mcpServers": {"\xff": {}}}', "not UTF-8"),
        ('{"mcpServers": {}}'.encode("utf-16"), "not UTF-8"),
        (b'{"a": 1, "a": 2}', "twice"),
        (b"[" * 100_000, "nested too deeply"),
    ],
)
def test_a_file_that_cannot_be_read_is_told_where_and_left_alone(gaia: Gaia, content: bytes, told: str) -> None:
    """Ours: an error with path and line, and never overwritten."""
    gaia.config.parent.mkdir()
    gaia.config.write_bytes(content)

    for arguments in (("list",), ("call", "a", "b"), ("add", "x", "--no-check", "--", "y"), ("remove", "a")):
        ran = gaia(*arguments)
        assert ran.code == 3, arguments
        assert told in ran.errors[0]
        assert str(gaia.config) in ran.errors[0]
        assert len(ran.errors) == 2
    assert gaia.config.read_bytes() == content


def test_a_byte_order_mark_is_tolerated(gaia: Gaia) -> None:
    """Ours."""
    gaia.config.parent.mkdir()
    gaia.config.write_bytes(b"\xef\xbb\xbf" + b'{"mcpServers": {"a": {"command": "x"}}}')

    assert gaia("list").stdout.startswith("a ")
    assert gaia("add", "b", "--no-check", "--", "y").code == 0


def test_a_folder_in_the_place_of_the_file_is_told(gaia: Gaia) -> None:
    """Ours, bad input."""
    gaia.config.mkdir(parents=True)

    assert gaia("list").code == 3
    assert gaia("add", "b", "--no-check", "--", "y").code == 3


def test_a_read_only_file_is_not_replaced(gaia: Gaia) -> None:
    """Ours, bad input: a rename could replace it, and must not."""
    gaia.write({"a": {"command": "x"}})
    gaia.config.chmod(0o400)

    ran = gaia("remove", "a")

    assert ran.code == 3
    assert "read-only" in ran.errors[0]
    assert "a" in json.loads(gaia.config.read_text())["mcpServers"]


def test_a_projects_servers_are_used_only_after_approval(gaia: Gaia) -> None:
    """Ours."""
    project = gaia.cwd / "mcp_servers.json"
    project.write_text(json.dumps({"mcpServers": {"theirs": entry_of("good-handshake")}}))

    before = gaia("list")
    assert before.stdout == ""
    assert "gaia mcp trust" in before.stderr
    assert gaia("call", "theirs", "echo", "text=x").code == 3

    trusted = gaia("trust")
    assert trusted.code == 0
    assert "theirs: " in trusted.stdout
    assert gaia("list").stdout.startswith("theirs")
    assert gaia("tools", "theirs").code == 0

    project.write_text(project.read_text() + " ")
    assert gaia("list").stdout == ""

    assert gaia("trust").code == 0
    assert gaia("untrust").code == 0
    assert gaia("list").stdout == ""
    assert "nothing" in gaia("untrust").stdout


def test_a_project_can_be_approved_only_where_there_is_one(gaia: Gaia) -> None:
    """Ours."""
    assert gaia("trust").code == 3
    (gaia.cwd / ".mcp.json").write_text("{")
    assert gaia("trust").code == 3
    assert gaia("list").code == 0


def test_a_projects_server_cannot_be_removed_by_accident(gaia: Gaia) -> None:
    """Ours: it says where the entry comes from."""
    (gaia.cwd / ".mcp.json").write_text(json.dumps({"mcpServers": {"theirs": {"command": "x"}}}))
    gaia("trust")

    ran = gaia("remove", "theirs")

    assert ran.code == 3
    assert ".mcp.json" in ran.errors[1]

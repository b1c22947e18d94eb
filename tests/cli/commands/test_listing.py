"""`gaia mcp list`, and errors in the configuration file."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.cli.conftest import entry_of, run_on_terminal

if TYPE_CHECKING:
    from tests.cli.conftest import Gaia


def test_servers_are_listed_without_connecting_and_without_secrets(gaia: Gaia) -> None:
    """Ours: a list is printed at once, also for others to see."""
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


def test_an_empty_list_has_a_note_on_how_to_add_a_server(gaia: Gaia) -> None:
    """Ours: on stderr, since a program reads an empty list."""
    ran = gaia("list")

    assert (ran.stdout, ran.code) == ("", 0)
    assert "gaia mcp add" in ran.stderr
    assert gaia("list", "--json").json == {"servers": [], "path": str(gaia.config)}


def test_all_servers_are_checked_in_parallel(demo: Gaia) -> None:
    """Ours: a failed one delays no other, and decides the exit code."""
    servers = json.loads(demo.config.read_text())["mcpServers"]
    demo.write({**servers, "gone": {"command": "no-such-program-anywhere"}, "hangs": entry_of("hangs-at-start")})

    ran = demo("list", "--check", "--json", "--timeout", "10")

    checks = {row["name"]: row["check"] for row in ran.json["servers"]}
    assert checks["demo"]["ok"]
    assert checks["demo"]["tools"] == 10
    assert checks["gone"]["error"]["kind"] == "spawn"
    assert checks["hangs"]["error"]["kind"] == "timeout"
    assert ran.code == 4
    assert [line[:6] for line in ran.errors] == ["error:", "hint: "] * 2


@pytest.mark.parametrize("command", [("list", "--check"), ("tools",), ("test-client", "--all")])
def test_a_server_without_tools_is_not_a_failure(gaia: Gaia, command: tuple[str, ...]) -> None:
    """Ours: all commands agree on it, `add` too."""
    bare, forgetful = entry_of("declares-no-tools"), entry_of("declares-no-tools", "all the same")
    gaia.write({"bare": bare, "forgetful": forgetful})

    ran = gaia(*command)

    assert (ran.code, ran.errors) == (0, [])
    assert gaia("add", "x", "--", bare["command"], *bare["args"]).stdout.endswith(", 0 tools\n")
    assert gaia("add", "y", "--", forgetful["command"], *forgetful["args"]).stdout.endswith(", 1 tool\n")


def test_the_reason_of_a_failure_is_printed_in_full(gaia: Gaia) -> None:
    """Ours: a table that is cut to the width of the terminal has no room for it."""
    gaia.write({"gone": {"command": "no-such-program-anywhere", "args": ["x" * 100]}})

    seen, code = run_on_terminal(gaia, "list", "--check")

    assert code == 4
    assert "error: server 'gone' could not be started: 'no-such-program-anywhere'" in seen
    assert "hint: " in seen


def test_no_name_breaks_the_table(gaia: Gaia) -> None:
    """Ours: one line for each server, and aligned columns in every script."""
    gaia.write({name: {"command": "prog"} for name in ("a\nb", "日本語", "plain")})

    assert gaia("list").stdout.splitlines() == [
        "a b     stdio  enabled  prog",
        "日本語  stdio  enabled  prog",
        "plain   stdio  enabled  prog",
    ]


@pytest.mark.parametrize(
    ("content", "expected"),
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
def test_an_invalid_configuration_file_is_reported_and_left_alone(gaia: Gaia, content: bytes, expected: str) -> None:
    """Ours: with its path and the line, and never overwritten."""
    gaia.config.parent.mkdir()
    gaia.config.write_bytes(content)

    for arguments in (("list",), ("call", "a", "b"), ("add", "x", "--no-check", "--", "y"), ("remove", "a")):
        ran = gaia(*arguments)
        assert ran.code == 3, arguments
        assert expected in ran.errors[0]
        assert str(gaia.config) in ran.errors[0]
        assert len(ran.errors) == 2
    assert gaia.config.read_bytes() == content


def test_a_byte_order_mark_is_tolerated(gaia: Gaia) -> None:
    """Ours: editors on Windows write one."""
    gaia.config.parent.mkdir()
    gaia.config.write_bytes(b"\xef\xbb\xbf" + b'{"mcpServers": {"a": {"command": "x"}}}')

    assert gaia("list").stdout.startswith("a ")
    assert gaia("add", "b", "--no-check", "--", "y").code == 0


def test_a_folder_in_place_of_the_configuration_file_is_an_error(gaia: Gaia) -> None:
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
    """Ours: a repository that was cloned must not run programs."""
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


def test_only_a_valid_project_file_can_be_approved(gaia: Gaia) -> None:
    """Ours: a person approves what the command shows, which is nothing here."""
    assert gaia("trust").code == 3
    (gaia.cwd / ".mcp.json").write_text("{")
    assert gaia("trust").code == 3
    assert gaia("list").code == 0

"""Our entry as a host writes it."""

from __future__ import annotations

from typing import Any

import pytest

from gaia_mcp.hosts.dialects import NotCarriedError
from gaia_mcp.hosts.known import HOSTS
from gaia_mcp.hosts.reading import entry_from
from gaia_mcp.hosts.writing import entry_for

STDIO = {"command": "x", "args": ["a"], "env": {"K": "v"}}
HTTP = {"url": "https://h", "headers": {"A": "b"}}


@pytest.mark.parametrize(
    ("host", "ours", "theirs"),
    [
        ("claude-desktop", STDIO, STDIO),
        ("claude-code", STDIO, {"type": "stdio", **STDIO}),
        ("claude-code", HTTP, {"type": "http", **HTTP}),
        ("cursor", HTTP, HTTP),
        ("vscode", {**STDIO, "cwd": "/w"}, {"type": "stdio", **STDIO, "cwd": "/w"}),
        ("windsurf", {**HTTP, "disabled": True}, {"serverUrl": "https://h", "headers": {"A": "b"}, "disabled": True}),
        (
            "codex",
            {**STDIO, "env": {"A": "${A}", "B": "c"}, "timeout": 1.5, "disabled": True},
            {
                "command": "x",
                "args": ["a"],
                "env": {"B": "c"},
                "env_vars": ["A"],
                "tool_timeout_sec": 1.5,
                "enabled": False,
            },
        ),
        (
            "codex",
            {"url": "https://h", "headers": {"Authorization": "Bearer ${T}", "C": "${D}", "E": "f"}},
            {
                "url": "https://h",
                "bearer_token_env_var": "T",
                "env_http_headers": {"C": "D"},
                "http_headers": {"E": "f"},
            },
        ),
        ("gemini", {**STDIO, "timeout": 1.5}, {**STDIO, "timeout": 1500}),
        ("gemini", HTTP, {"httpUrl": "https://h", "headers": {"A": "b"}}),
        ("gemini", {"url": "https://h", "type": "sse"}, {"url": "https://h"}),
        ("qwen", {"url": "https://h", "type": "sse"}, {"url": "https://h"}),
        ("qwen", {**STDIO, "timeout": 2, "cwd": "${W}"}, {**STDIO, "timeout": 2000, "cwd": "${W}"}),
        ("roo", {**STDIO, "args": ["${A}"]}, {**STDIO, "args": ["${env:A}"]}),
        ("cline", {**HTTP, "url": "https://${H}"}, {"type": "streamableHttp", **HTTP, "url": "https://${env:H}"}),
        ("kiro", {**STDIO, "env": {"K": "${L}"}}, {**STDIO, "env": {"K": "${L}"}}),
        ("kiro", {**HTTP, "headers": {"A": "Bearer ${B}"}}, {**HTTP, "headers": {"A": "Bearer ${B}"}}),
        ("zed", {**STDIO, "disabled": True}, {**STDIO, "enabled": False}),
        (
            "goose",
            {**STDIO, "env": {"K": "${K}"}},
            {
                "name": "n",
                "type": "stdio",
                "cmd": "x",
                "args": ["a"],
                "env_keys": ["K"],
                "enabled": True,
                "timeout": 300,
            },
        ),
        (
            "goose",
            {**HTTP, "disabled": True, "timeout": 5},
            {
                "name": "n",
                "type": "streamable_http",
                "uri": "https://h",
                "headers": {"A": "b"},
                "enabled": False,
                "timeout": 5,
            },
        ),
        ("cline", {"url": "https://h", "type": "http"}, {"type": "streamableHttp", "url": "https://h"}),
        ("cline", STDIO, STDIO),
        (
            "continue",
            {"command": "x", "env": {"K": "${K}"}},
            {"name": "n", "command": "x", "args": [], "env": {"K": "${{ secrets.K }}"}},
        ),
        ("opencode", STDIO, {"type": "local", "command": ["x", "a"], "environment": {"K": "v"}}),
        ("opencode", HTTP, {"type": "remote", **HTTP}),
        ("copilot-cli", STDIO, {"type": "local", **STDIO, "tools": ["*"]}),
        (
            "copilot-cli",
            {**STDIO, "env": {"K": "${K:-d}"}},
            {"type": "local", **STDIO, "env": {"K": "${K:-d}"}, "tools": ["*"]},
        ),
    ],
)
def test_every_host_gets_its_own_form(host: str, ours: dict[str, Any], theirs: dict[str, Any]) -> None:
    """Ours: nothing is left out of these."""
    assert entry_for("n", ours, HOSTS[host].dialect) == (theirs, [])


@pytest.mark.parametrize("host", HOSTS)
@pytest.mark.parametrize("ours", [STDIO, HTTP, {"url": "https://h", "type": "sse"}], ids=["stdio", "http", "sse"])
def test_what_was_written_is_read_as_what_it_was(host: str, ours: dict[str, Any]) -> None:
    """Ours: there and back again. OpenCode alone has one word for both ways of HTTP."""
    dialect = HOSTS[host].dialect
    if "url" in ours and not dialect.remote:
        with pytest.raises(NotCarriedError, match="the host's file takes only commands"):
            entry_for("n", ours, dialect)
        return
    if not dialect.command:
        with pytest.raises(NotCarriedError, match="the host's file takes only handlers"):
            entry_for("n", ours, dialect)
        return
    back, told = entry_from(entry_for("n", ours, dialect)[0], dialect)
    kept = {key: back[key] for key in ours if key != "type"}
    assert kept == {key: value for key, value in ours.items() if key != "type"}
    assert told == []
    if dialect.types[2] == "sse":
        assert back.get("type") == ours.get("type")


@pytest.mark.parametrize(
    ("host", "member", "words"),
    [
        ("cursor", {"timeout": 5}, "timeout is not exported"),
        ("cursor", {"disabled": True}, "the host cannot disable a server"),
        ("cursor", {"cwd": "/w"}, "folder is not exported"),
        ("cursor", {"x_mine": 1}, "the host does not know them: x_mine"),
        ("cursor", {"env": {"K": {"$keyring": "a"}}}, "env K is stored in the keyring"),
        ("cursor", {"env": {"K": "${K:-d}"}}, "env K is not exported"),
        ("cursor", {"env": {"K": "${K:-d}"}}, "has a default"),
        ("claude-desktop", {"env": {"K": "${K}"}}, "env K is not exported"),
        ("cursor", {"env": {"K": "${env:X}"}}, "reads as a variable"),
    ],
)
def test_what_has_no_place_is_told(host: str, member: dict[str, Any], words: str) -> None:
    """Ours: a secret's value is never written in place of its name."""
    theirs, (told,) = entry_for("n", {"command": "x", **member}, HOSTS[host].dialect)
    assert words in told
    assert theirs["command"] == "x"


@pytest.mark.parametrize(
    ("host", "ours", "words"),
    [
        ("cursor", {"handler": "a:b"}, "so no host can use it"),
        ("cursor", {"url": "https://h", "type": "rpc"}, "type 'rpc'"),
        ("claude-desktop", {"command": "x", "args": ["${X}"]}, "args: "),
        ("zed", {"url": "https://${X}"}, "url: "),
        ("codex", {"command": "x", "cwd": "${X}"}, "cwd: "),
        ("copilot-cli", {"command": "x", "args": ["${X}"]}, "args: "),
        ("kiro", {"url": "https://${X}"}, "url: "),
    ],
)
def test_what_the_host_could_not_use_is_refused(host: str, ours: dict[str, Any], words: str) -> None:
    """Ours: no half of an entry is exported."""
    with pytest.raises(NotCarriedError, match=words):
        entry_for("n", ours, HOSTS[host].dialect)


def test_values_stand_in_for_variables_only_where_they_are_wanted() -> None:
    """Ours: a host that looks variables up still gets the reference."""
    ours = {"command": "x", "args": ["${X}"], "env": {"X": "${X}"}}

    def theirs(host: str) -> dict[str, Any]:
        return entry_for("n", ours, HOSTS[host].dialect, value=lambda name, default: "1")[0]

    assert theirs("zed")["args"] == ["1"]
    assert theirs("cursor")["args"] == ["${env:X}"]
    assert theirs("codex")["env_vars"] == ["X"]


def test_a_header_that_codex_cannot_name_is_left_out() -> None:
    """Ours: its own members take a whole variable, and no default."""
    headers = {"Authorization": "Bearer ${T:-d}", "C": "a ${D}"}
    theirs, told = entry_for("n", {"url": "https://h", "headers": headers}, HOSTS["codex"].dialect)
    assert theirs == {"url": "https://h"}
    assert len(told) == 2


def test_what_is_the_hosts_alone_survives_a_replacement() -> None:
    """Ours: which tools a person has allowed there is not ours to forget."""
    old = {"url": "https://old", "headers": {"A": "b"}, "tools": ["one"], "alwaysAllow": ["x"], "enabled": False}
    theirs, _ = entry_for("n", STDIO, HOSTS["copilot-cli"].dialect, old=old)
    assert theirs == {"type": "local", **STDIO, "tools": ["one"], "alwaysAllow": ["x"]}
    assert entry_for("n", STDIO, HOSTS["cursor"].dialect, old="rubbish")[0] == STDIO


def test_what_ours_says_nothing_about_stays_as_it_is_there() -> None:
    """Ours: a server that is switched off there is not started because its command has changed."""
    old = {"command": "old", "args": [], "disabled": True, "timeout": 9}
    cline = HOSTS["cline"].dialect
    assert entry_for("n", STDIO, cline, old=old)[0] == {**STDIO, "disabled": True, "timeout": 9}
    said = {**STDIO, "disabled": False, "timeout": 5}
    assert entry_for("n", said, cline, old=old)[0] == {**STDIO, "timeout": 5}


@pytest.mark.parametrize("host", ["cursor", "codex", "windsurf", "opencode"])
def test_a_way_of_talking_that_has_no_word_there_is_told(host: str) -> None:
    """Ours: such a server would be spoken to in vain."""
    _, (told,) = entry_for("n", {"url": "https://h", "type": "sse"}, HOSTS[host].dialect)
    assert "SSE" in told

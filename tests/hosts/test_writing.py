"""Our entry as a host writes it."""

from __future__ import annotations

import re
from typing import Any

from gaia_mcp.hosts.dialects import Dialect, NotCarriedError
from gaia_mcp.hosts.known import HOSTS
from gaia_mcp.hosts.reading import entry_from
from gaia_mcp.hosts.writing import entry_for

STDIO = {"command": "x", "args": ["a"], "env": {"K": "v"}}
HTTP = {"url": "https://h", "headers": {"A": "b"}}


def test_an_entry_is_exported_in_the_form_of_each_host() -> None:
    """Ours: nothing is left out of these."""
    cases = [
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
    ]

    wrong = [
        (host, found)
        for host, ours, theirs in cases
        if (found := entry_for("n", ours, HOSTS[host].dialect)) != (theirs, [])
    ]

    assert not wrong


def test_an_exported_entry_is_imported_unchanged() -> None:
    """Ours: there and back again. OpenCode alone has one word for both ways of HTTP."""

    def there_and_back(ours: dict[str, Any], dialect: Dialect) -> object:
        try:
            theirs, _ = entry_for("n", ours, dialect)
        except NotCarriedError as error:
            return str(error).rpartition(", and ")[2]
        back, remarks = entry_from(theirs, dialect)
        known = {key: back.get(key) for key in ours if key != "type" or dialect.types[2] == "sse"}
        return known, remarks

    def expected(ours: dict[str, Any], dialect: Dialect) -> object:
        if "url" in ours and not dialect.remote:
            return "the host's file takes only commands"
        if not dialect.command:
            return "the host's file takes only handlers"
        return {key: value for key, value in ours.items() if key != "type" or dialect.types[2] == "sse"}, []

    wrong = [
        (host.key, ours, found)
        for host in HOSTS.values()
        for ours in (STDIO, HTTP, {"url": "https://h", "type": "sse"})
        if (found := there_and_back(ours, host.dialect)) != expected(ours, host.dialect)
    ]
    assert not wrong


def test_the_authorization_is_exported_to_hosts_that_read_it() -> None:
    """Ours: in the form of each, and what it has no key for with a remark. Codex and OpenCode have scopes of their own
    form.
    """
    settings = {"client_id": "c", "clientSecret": "${S}", "scope": "a b", "callbackPort": 8080}
    cases: list[tuple[str, dict[str, Any], str]] = [
        ("claude-code", {"oauth": {"clientId": "c", "scopes": "a b", "callbackPort": 8080}}, "clientSecret"),
        ("cursor", {"auth": {"CLIENT_ID": "c", "CLIENT_SECRET": "${env:S}", "scopes": ["a", "b"]}}, "callbackPort"),
        ("codex", {"oauth": {"client_id": "c"}, "scopes": ["a", "b"]}, "clientSecret, callbackPort"),
        ("gemini", {"oauth": {"clientId": "c", "clientSecret": "${S}", "scopes": ["a", "b"]}}, "callbackPort"),
        ("opencode", {"oauth": {"clientId": "c", "clientSecret": "{env:S}", "scope": "a b"}}, "callbackPort"),
        ("zed", {}, "client_id, clientSecret, scope, callbackPort"),
    ]

    wrong = []
    for host, expected, left in cases:
        found, remarks = entry_for("n", {"url": "https://h", "oauth": settings}, HOSTS[host].dialect)
        found = {key: held for key, held in found.items() if key in ("oauth", "auth", "scopes")}
        if (found, remarks) != (expected, [f"not exported, since the host does not know it in oauth: {left}"]):
            wrong.append((host, found, remarks))

    assert not wrong
    assert entry_for("n", {"url": "https://h", "oauth": False}, HOSTS["opencode"].dialect)[0]["oauth"] is False
    assert "is off here" in entry_for("n", {"url": "https://h", "oauth": False}, HOSTS["cursor"].dialect)[1][0]
    in_keyring = {"url": "https://h", "oauth": {"clientId": "c", "clientSecret": {"$keyring": "k"}}}
    found, remarks = entry_for("n", in_keyring, HOSTS["gemini"].dialect)
    assert (found["oauth"], remarks) == (
        {"clientId": "c"},
        ["oauth clientSecret is stored in the keyring, and is not exported"],
    )


def test_an_authorization_replaces_the_one_of_the_host() -> None:
    """Ours: the host's own stays only where our entry has none."""
    old = {"url": "https://old", "oauth": {"client_id": "old"}, "scopes": ["old"], "required": True}
    codex = HOSTS["codex"].dialect

    kept, _ = entry_for("n", {"url": "https://h"}, codex, old=old)
    replaced, _ = entry_for("n", {"url": "https://h", "oauth": {"clientId": "new"}}, codex, old=old)

    assert kept == {**old, "url": "https://h"}
    assert replaced == {"url": "https://h", "oauth": {"client_id": "new"}, "required": True}


def test_a_member_that_is_not_exported_has_a_remark() -> None:
    """Ours: a secret's value is never written in place of its name."""
    cases = [
        ("cursor", {"timeout": 5}, "timeout is not exported"),
        ("cursor", {"disabled": True}, "the host cannot disable a server"),
        ("cursor", {"cwd": "/w"}, "folder is not exported"),
        ("cursor", {"x_mine": 1}, "the host does not know them: x_mine"),
        ("cursor", {"env": {"K": {"$keyring": "a"}}}, "env K is stored in the keyring"),
        ("cursor", {"env": {"K": "${K:-d}"}}, "env K is not exported"),
        ("cursor", {"env": {"K": "${K:-d}"}}, "has a default"),
        ("claude-desktop", {"env": {"K": "${K}"}}, "env K is not exported"),
        ("cursor", {"env": {"K": "${env:X}"}}, "reads as a variable"),
    ]

    wrong = []
    for host, member, words in cases:
        theirs, remarks = entry_for("n", {"command": "x", **member}, HOSTS[host].dialect)
        if [words in remark for remark in remarks] != [True] or theirs["command"] != "x":
            wrong.append((host, member, theirs, remarks))

    assert not wrong


def test_an_entry_that_a_host_cannot_use_is_refused() -> None:
    """Ours: no half of an entry is exported."""
    cases = [
        ("cursor", {"handler": "a:b"}, "so no host can use it"),
        ("cursor", {"url": "https://h", "type": "rpc"}, "type 'rpc'"),
        ("claude-desktop", {"command": "x", "args": ["${X}"]}, "args: "),
        ("zed", {"url": "https://${X}"}, "url: "),
        ("codex", {"command": "x", "cwd": "${X}"}, "cwd: "),
        ("copilot-cli", {"command": "x", "args": ["${X}"]}, "args: "),
        ("kiro", {"url": "https://${X}"}, "url: "),
    ]

    wrong = []
    for host, ours, words in cases:
        try:
            entry_for("n", ours, HOSTS[host].dialect)
        except NotCarriedError as error:
            if not re.search(words, str(error)):
                wrong.append((host, ours, words, error))
        else:
            wrong.append((host, ours, words, None))

    assert not wrong


def test_values_replace_references_only_where_a_host_has_none() -> None:
    """Ours: a host that looks variables up still gets the reference."""
    ours = {"command": "x", "args": ["${X}"], "env": {"X": "${X}"}}

    def theirs(host: str) -> dict[str, Any]:
        return entry_for("n", ours, HOSTS[host].dialect, value=lambda name, default: "1")[0]

    assert theirs("zed")["args"] == ["1"]
    assert theirs("cursor")["args"] == ["${env:X}"]
    assert theirs("codex")["env_vars"] == ["X"]


def test_a_header_that_codex_cannot_name_is_left_out() -> None:
    """Ours: its own members take a whole variable, and no default."""
    headers = {"Authorization": "Bearer ${T:-d}", "C": "a ${D}", "K": {"$keyring": "a"}}
    theirs, told = entry_for("n", {"url": "https://h", "headers": headers}, HOSTS["codex"].dialect)
    assert theirs == {"url": "https://h"}
    assert len(told) == 3


def test_members_of_the_host_survive_a_replacement() -> None:
    """Ours: which tools a person has allowed there is not ours to forget."""
    old = {"url": "https://old", "headers": {"A": "b"}, "tools": ["one"], "alwaysAllow": ["x"], "enabled": False}
    theirs, _ = entry_for("n", STDIO, HOSTS["copilot-cli"].dialect, old=old)
    assert theirs == {"type": "local", **STDIO, "tools": ["one"], "alwaysAllow": ["x"]}
    assert entry_for("n", STDIO, HOSTS["cursor"].dialect, old="rubbish")[0] == STDIO


def test_members_that_our_entry_does_not_set_stay_unchanged() -> None:
    """Ours: a server that is switched off there is not started because its command has changed."""
    old = {"command": "old", "args": [], "disabled": True, "timeout": 9}
    cline = HOSTS["cline"].dialect
    assert entry_for("n", STDIO, cline, old=old)[0] == {**STDIO, "disabled": True, "timeout": 9}
    said = {**STDIO, "disabled": False, "timeout": 5}
    assert entry_for("n", said, cline, old=old)[0] == {**STDIO, "timeout": 5}


def test_a_transport_that_the_host_cannot_name_has_a_remark() -> None:
    """Ours: the host would try another transport, and the server would not answer."""
    hosts = ["cursor", "codex", "windsurf", "opencode"]
    entry = {"url": "https://h", "type": "sse"}
    remarks = {host: entry_for("n", entry, HOSTS[host].dialect)[1] for host in hosts}

    assert {host: found for host, found in remarks.items() if ["SSE" in remark for remark in found] != [True]} == {}

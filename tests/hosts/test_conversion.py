"""A host's entry in our own format."""

from __future__ import annotations

import re
from typing import Any

import pytest

from gaia_mcp.hosts.conversion import entry_for, entry_from
from gaia_mcp.hosts.dialects import Dialect, NotCarriedError
from gaia_mcp.hosts.known import HOSTS

PLAIN = Dialect()
SERVER = {"command": "x", "args": []}


def test_the_entries_of_every_host_are_read() -> None:
    """Ours: nothing is left behind of these, so there is nothing to remark."""
    cases = [
        (
            "claude-desktop",
            {"command": "npx", "args": ["-y", "p"], "env": {"K": "v"}},
            {"command": "npx", "args": ["-y", "p"], "env": {"K": "v"}},
        ),
        ("claude-code", {"type": "stdio", "command": "x", "args": [], "env": {}}, {"command": "x", "args": []}),
        (
            "claude-code",
            {"type": "http", "url": "https://h", "headers": {"A": "${X:-d}"}},
            {"url": "https://h", "headers": {"A": "${X:-d}"}},
        ),
        ("claude-code", {"type": "sse", "url": "https://h"}, {"url": "https://h", "type": "sse"}),
        (
            "cursor",
            {"url": "https://x", "auth": {"CLIENT_ID": "c", "CLIENT_SECRET": "${env:S}", "scopes": ["a"]}},
            {"url": "https://x", "oauth": {"CLIENT_ID": "c", "CLIENT_SECRET": "${S}", "scopes": ["a"]}},
        ),
        (
            "claude-code",
            {"type": "http", "url": "https://x", "oauth": {"clientId": "c", "callbackPort": 8080}},
            {"url": "https://x", "oauth": {"clientId": "c", "callbackPort": 8080}},
        ),
        (
            "codex",
            {"url": "https://x", "oauth": {"client_id": "c"}, "scopes": ["a"]},
            {"url": "https://x", "oauth": {"client_id": "c", "scopes": ["a"]}},
        ),
        ("opencode", {"type": "remote", "url": "https://x", "oauth": False}, {"url": "https://x", "oauth": False}),
        ("cursor", {"command": "${userHome}/x"}, {"command": "${HOME}/x", "args": []}),
        ("vscode", {"type": "stdio", "command": "x", "cwd": "/w"}, {"command": "x", "args": [], "cwd": "/w"}),
        ("windsurf", {"serverUrl": "https://h", "disabled": True}, {"url": "https://h", "disabled": True}),
        (
            "codex",
            {"command": "x", "env_vars": ["A", {"name": "B"}], "tool_timeout_sec": 2.5, "enabled": False},
            {"command": "x", "args": [], "env": {"A": "${A}", "B": "${B}"}, "disabled": True, "timeout": 2.5},
        ),
        (
            "codex",
            {
                "url": "https://h",
                "bearer_token_env_var": "T",
                "http_headers": {"A": "b"},
                "env_http_headers": {"C": "D"},
            },
            {"url": "https://h", "headers": {"A": "b", "C": "${D}", "Authorization": "Bearer ${T}"}},
        ),
        ("gemini", {"httpUrl": "https://h", "headers": {"A": "$X"}}, {"url": "https://h", "headers": {"A": "${X}"}}),
        ("gemini", {"url": "https://h"}, {"url": "https://h", "type": "sse"}),
        ("gemini", {"url": "https://h", "type": "http"}, {"url": "https://h"}),
        ("gemini", {"command": "x", "timeout": 5000}, {"command": "x", "args": [], "timeout": 5}),
        (
            "zed",
            {"source": "custom", "command": {"path": "x", "args": ["a"], "env": {"K": "v"}}},
            {"command": "x", "args": ["a"], "env": {"K": "v"}},
        ),
        (
            "goose",
            {
                "name": "n",
                "type": "stdio",
                "cmd": "x",
                "args": [8080, True],
                "envs": {"K": 1},
                "timeout": 300,
                "enabled": True,
            },
            {"command": "x", "args": ["8080", "true"], "env": {"K": "1"}, "timeout": 300},
        ),
        ("goose", {"type": "streamable_http", "uri": "https://h"}, {"url": "https://h"}),
        ("cline", {"type": "streamableHttp", "url": "https://h", "alwaysAllow": []}, {"url": "https://h"}),
        (
            "continue",
            {
                "name": "n",
                "type": "streamable-http",
                "url": "https://h",
                "requestOptions": {"headers": {"A": "${{ secrets.X }}"}},
            },
            {"url": "https://h", "headers": {"A": "${X}"}},
        ),
        (
            "opencode",
            {"type": "local", "command": ["x", "a"], "environment": {"K": "{env:K}"}, "timeout": 1500},
            {"command": "x", "args": ["a"], "env": {"K": "${K}"}, "timeout": 1.5},
        ),
        ("opencode", {"type": "remote", "url": "https://h"}, {"url": "https://h"}),
        ("copilot-cli", {"type": "local", "command": "x", "tools": ["*"]}, {"command": "x", "args": []}),
        ("mcporter", {"baseUrl": "https://h"}, {"url": "https://h"}),
        ("mcporter", {**SERVER, "lifecycle": "keep-alive"}, {**SERVER, "keepAlive": True}),
        # mcporter ignores an invalid time.
        *(
            ("mcporter", {**SERVER, "lifecycle": {"mode": "keep-alive", **idle}}, {**SERVER, "keepAlive": ours})
            for idle, ours in (
                ({}, True),
                ({"idleTimeoutMs": 1_800_000}, "30m"),
                ({"idleTimeoutMs": 1500}, "2s"),
                ({"idleTimeoutMs": 0}, True),
                ({"idleTimeoutMs": True}, True),
                ({"idleTimeoutMs": "1"}, True),
            )
        ),
        ("mcporter", {**SERVER, "lifecycle": "ephemeral"}, SERVER),
        ("mcporter", {**SERVER, "lifecycle": {"mode": "ephemeral"}}, SERVER),
        # Ours.
        *(
            (host, {**SERVER, "keepAlive": held}, {**SERVER, "keepAlive": held})
            for host in ("mcporter", "claude-code")
            for held in (True, "30m")
        ),
        ("claude-code", {**SERVER, "keepAlive": False}, SERVER),
        (
            "claude-code",
            {"command": "x", "args": [], "stages": ["build"], "agents": []},
            {"command": "x", "args": [], "stages": ["build"], "agents": []},
        ),
    ]

    wrong = [
        (host, found)
        for host, theirs, ours in cases
        if (found := entry_from(theirs, HOSTS[host].dialect)) != (ours, [])
    ]

    assert not wrong


def test_an_entry_that_cannot_be_converted_is_refused_with_the_reason() -> None:
    """Ours: no half of an entry is imported."""
    cases = [
        ("npx x", "is not an object"),
        (None, "is not an object"),
        ({}, "neither a command nor a URL"),
        ({"command": ""}, "command is not a string"),
        ({"command": 5}, "command is not a string"),
        ({"command": []}, "command is not a string"),
        ({"command": {"args": []}}, "command is not a string"),
        ({"command": "x", "args": "a b"}, "arguments are not a list"),
        ({"command": "x", "args": [{}]}, "arguments are not a list"),
        ({"command": "x", "env": ["K=v"]}, "env is not an object"),
        ({"command": "x", "cwd": 5}, "folder is not a string"),
        ({"url": 5}, "URL does not begin"),
        ({"url": "unix:///run/x"}, "URL does not begin"),
        ({"url": "https://h", "headers": "A: b"}, "headers is not an object"),
        ({"type": "builtin", "name": "developer"}, "built into the host"),
        ({"type": "ws", "url": "wss://h"}, "type 'ws'"),
        ({"type": ["x"], "url": "https://h"}, "type"),
        ({"command": "${workspaceFolder}/x"}, "command: "),
        ({"command": "x", "args": ["${command:pick}"]}, "args: "),
    ]

    wrong = []
    for theirs, words in cases:
        try:
            entry_from(theirs, HOSTS["vscode"].dialect)
        except NotCarriedError as error:
            if not re.search(words, str(error)):
                wrong.append((theirs, words, error))
        else:
            wrong.append((theirs, words, None))

    assert not wrong


def test_a_member_that_is_not_imported_has_a_remark() -> None:
    """Ours: everything that cannot be carried over has its remark."""
    cases = [
        ("vscode", {"envFile": "/x/.env"}, "envFile is not read"),
        ("vscode", {"sandbox": {"a": 1}, "dev": {"b": 1}}, "only the host knows them: sandbox, dev"),
        ("cursor", {"env": {"K": ["x"]}}, "env K is not a string"),
        ("vscode", {"env": {"K": "${workspaceFolder}"}}, "env K is not saved"),
        ("vscode", {"env": {"K": "${input:k}"}}, "env K: the host asks for ${input:k}"),
        ("goose", {"env_keys": ["K"]}, "K: the host reads it from its own store"),
        ("gemini", {"timeout": 6_000_000}, "above the limit of 600 s"),
        ("gemini", {"timeout": "soon"}, "not a positive number"),
        ("gemini", {"timeout": -1}, "not a positive number"),
        ("cursor", {"timeout": 5}, "timeout has no effect"),
        ("cursor", {"url": "https://h", "type": "stdio"}, "its URL has no effect"),
        ("cursor", {"headers": {"A": "b"}}, "headers has no effect"),
        ("gemini", {"trust": True, "authProviderType": "x"}, "only the host knows them: trust, authProviderType"),
    ]

    wrong = []
    for host, member, words in cases:
        entry, remarks = entry_from({"command": "x", **member}, HOSTS[host].dialect)
        if [words in remark for remark in remarks] != [True] or entry["command"] != "x":
            wrong.append((host, member, entry, remarks))

    assert not wrong


def test_members_without_effect_are_ignored_without_a_remark() -> None:
    """Ours: descriptions, and switches that are off."""
    silent = {"description": "d", "trust": False, "alwaysAllow": [], "tools": ["*"], "oauth": None, "enabled": True}
    assert entry_from({"command": "x", **silent}, PLAIN) == ({"command": "x", "args": []}, [])


def test_a_timeout_beyond_the_limit_becomes_the_limit() -> None:
    """Ours: GAIA's own limit is 600 s, and a host's longer one is no reason to refuse the server."""
    assert entry_from({"command": "x", "timeout": 6_000_000}, HOSTS["gemini"].dialect)[0]["timeout"] == 600


def test_a_lifecycle_that_cannot_be_saved_as_it_is_has_a_remark() -> None:
    """Ours: a week is the limit, and an unknown word may mean anything."""
    mcporter = HOSTS["mcporter"].dialect
    unknown = "lifecycle is neither 'keep-alive' nor 'ephemeral', and is not saved"
    long = {"mode": "keep-alive", "idleTimeoutMs": 8 * 86_400_000}

    assert entry_from({**SERVER, "lifecycle": long}, mcporter) == (
        {**SERVER, "keepAlive": "7d"},
        ["lifecycle is above the limit of 7d, which is saved instead"],
    )
    for invalid in ("forever", {"mode": "forever"}, {}, 5):
        assert entry_from({**SERVER, "lifecycle": invalid}, mcporter) == (SERVER, [unknown])


def test_keep_alive_of_a_host_that_gives_it_another_meaning_is_not_imported() -> None:
    """Ours: a number may be the seconds between two pings."""
    told = ["not saved, since only the host knows them: keepAlive"]
    assert entry_from({**SERVER, "keepAlive": 30}, PLAIN) == (SERVER, told)


def test_keep_alive_is_exported_as_the_lifecycle_of_mcporter() -> None:
    """Ours: other hosts have no place for it, and need none; without it the one in the host's entry stays."""
    mcporter = HOSTS["mcporter"].dialect
    cases = [
        (True, "keep-alive"),
        (False, "ephemeral"),
        ("90s", {"mode": "keep-alive", "idleTimeoutMs": 90_000}),
    ]

    for ours, theirs in cases:
        entry = {**SERVER, "keepAlive": ours}
        assert entry_for("n", entry, mcporter) == ({**SERVER, "lifecycle": theirs}, [])
        assert entry_for("n", entry, mcporter, old={**SERVER, "lifecycle": {}})[0]["lifecycle"] == theirs
        assert entry_for("n", entry, PLAIN, old={"keepAlive": 30}) == ({**SERVER, "keepAlive": 30}, [])
    assert entry_for("n", SERVER, mcporter, old={"lifecycle": "ephemeral"})[0]["lifecycle"] == "ephemeral"
    for ignored in (None, 30):
        assert entry_for("n", {**SERVER, "keepAlive": ignored}, mcporter) == (SERVER, [])


def test_the_workspace_folder_of_a_project_is_expanded() -> None:
    """Ours: the variable of an editor for the open folder has one value in the file of a project."""
    entry, _ = entry_from({"command": "x", "args": ["${workspaceFolder}/a"]}, HOSTS["vscode"].dialect, folder="/p")
    assert entry["args"] == ["/p/a"]


def test_the_type_decides_between_a_command_and_a_url() -> None:
    """Ours: with a remark on the other, and without a type none is chosen; an empty one does not count."""
    both = {"command": "npx", "url": "https://h"}

    assert entry_from({**both, "type": "stdio"}, PLAIN) == (
        {"command": "npx", "args": []},
        ["its URL has no effect beside its type 'stdio'"],
    )
    assert entry_from({**both, "type": "http"}, PLAIN) == (
        {"url": "https://h"},
        ["its command has no effect beside its type 'http'"],
    )
    assert entry_from({**both, "command": ""}, PLAIN)[0] == {"url": "https://h"}
    assert entry_from({**both, "url": ""}, PLAIN)[0] == {"command": "npx", "args": []}
    with pytest.raises(NotCarriedError, match="has both a command and a URL"):
        entry_from(both, PLAIN)


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


def test_inherit_has_a_remark_on_export_and_is_imported_again() -> None:
    """Ours: each host decides by itself what a server inherits."""
    new, remarks = entry_for("n", {**STDIO, "inherit": True}, HOSTS["gemini"].dialect)

    assert new == STDIO
    assert remarks == ["it inherits all variables here; the host decides which of them it gets there"]
    assert entry_from({**STDIO, "inherit": True}, HOSTS["claude-code"].dialect) == ({**STDIO, "inherit": True}, [])


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


def test_a_filter_is_replaced_with_the_rest_of_an_entry() -> None:
    """Ours: one that stayed behind would be neither the old entry nor the new one."""
    old = {**STDIO, "enabled_tools": ["read"], "disabled_tools": ["write"], "required": True}

    new, _ = entry_for("n", {**STDIO, "includeTools": ["list"]}, HOSTS["codex"].dialect, old=old)

    assert new == {**STDIO, "enabled_tools": ["list"], "required": True}


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

"""A host's entry in our own format."""

from __future__ import annotations

import re

import pytest

from gaia_mcp.hosts.dialects import Dialect, NotCarriedError
from gaia_mcp.hosts.known import HOSTS
from gaia_mcp.hosts.reading import entry_from

PLAIN = Dialect()


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

"""The driver of Claude Code: the invocation for a request, and the answer that is read from the output."""

from __future__ import annotations

import json

from gaia_mcp.contrib.hub.drivers.base import Request
from gaia_mcp.contrib.hub.drivers.claude import ClaudeDriver
from tests.contrib.hub.conftest import TOOLS

DRIVER = ClaudeDriver()
ANSWER = b'{"type":"result","is_error":false,"result":"hi","usage":{"input_tokens":3,"output_tokens":4}}'
FAILURE = b'{"type":"result","subtype":"success","is_error":true,"result":"no credit"}'
# Variables and files with which it has a key, and without which it has none.
KEYS: list[tuple[dict[str, str], dict[str, bytes]]] = [
    ({"ANTHROPIC_API_KEY": "k"}, {}),
    ({}, {"~/.claude/.credentials.json": b"{}"}),
    ({"CLAUDE_CONFIG_DIR": "/c"}, {"/c/.credentials.json": b"{}"}),
    ({}, {"~/.claude/settings.json": b'{"apiKeyHelper": "print-key"}'}),
    ({}, {"~/.claude/settings.json": b'{"env": {"ANTHROPIC_AUTH_TOKEN": "t"}}'}),
    ({}, {"~/.claude.json": b'{"oauthAccount": {}}'}),
]
NO_KEYS: list[tuple[dict[str, str], dict[str, bytes]]] = [
    ({}, {}),
    ({"ANTHROPIC_API_KEY": ""}, {"~/.claude/settings.json": b"not JSON", "~/.claude.json": b"[]"}),
]
REPORTS = [
    (
        b'{"type":"system","subtype":"api_retry","attempt":2,"max_retries":10,"error_status":401,"error":"no key"}',
        "attempt 2 of 10 failed: no key, HTTP 401",
    ),
    (
        b'{"type":"system","subtype":"api_retry","attempt":1,"max_retries":10,"error_status":null}',
        "attempt 1 of 10 failed: unknown",
    ),
    (
        b'{"type":"assistant","message":{"content":[{"type":"text"},{"type":"tool_use","name":"Read"}]}}',
        "calls Read",
    ),
    (b'{"type":"assistant","message":{"content":[{"type":"text","text":"well"}]}}', ""),
]


def test_claude_gets_the_tool_server_in_its_mcp_configuration() -> None:
    """B7: in its configuration, and no other server; only these tools need no approval."""
    words = DRIVER.invocation(Request("p", tools=TOOLS)).arguments

    config = json.loads(words[words.index("--mcp-config") + 1])
    assert config == {"mcpServers": {"gaia": {"command": TOOLS.command, "args": TOOLS.arguments}}}
    assert words[words.index("--allowedTools") + 1] == "mcp__gaia__add,mcp__gaia__sub"
    assert "--strict-mcp-config" in words


def test_an_answer_of_claude_is_read_with_its_tokens() -> None:
    """B4: the content and the tokens that the agent reports."""
    answer = DRIVER.answer(ANSWER, 0, "")

    assert (answer.content, answer.error, answer.tokens) == ("hi", "", 7)


def test_a_failure_of_claude_has_its_message() -> None:
    """B5: also with an exit status of 0, and whatever the subtype says."""
    answer = DRIVER.answer(FAILURE, 0, "")

    assert (answer.content, answer.error) == ("", "no credit")


def test_a_key_or_a_login_of_claude_is_detected() -> None:
    """B2: key_missing is for an agent that has neither, wherever its program looks for them."""
    assert [case for case in KEYS if not DRIVER.has_key(case[0], case[1].get)] == []
    assert [case for case in NO_KEYS if DRIVER.has_key(case[0], case[1].get)] == []


def test_the_activity_of_claude_is_reported() -> None:
    """B5: while it runs, and with the error of one whose time ran out."""
    assert [(line, found) for line, report in REPORTS if (found := DRIVER.reported(line)) != report] == []


def test_a_prompt_is_protected_from_the_syntax_of_claude() -> None:
    """B4: it takes a slash at the beginning for a command of its own."""
    assert DRIVER.invocation(Request("/help")).stdin == b"\n/help"

"""The driver of Codex: the invocation for a request, and the answer that is read from the output."""

from __future__ import annotations

import tomllib

from gaia_mcp.contrib.hub.drivers.base import Request
from gaia_mcp.contrib.hub.drivers.codex import CodexDriver
from tests.contrib.hub.conftest import TOOLS

DRIVER = CodexDriver()
PROVIDER = b'model_provider="mine"\n[model_providers.mine]\n%s\n'
ANSWER = (
    b'{"type":"thread.started","thread_id":"t"}\n'
    b'{"type":"item.completed","item":{"type":"agent_message","text":"first"}}\n'
    b'{"type":"item.completed","item":{"type":"agent_message","text":"hi"}}\n'
    b'{"type":"turn.completed","usage":{"input_tokens":3,"output_tokens":4}}\n'
)
FAILURE = b'{"type":"error","message":"retrying"}\n{"type":"turn.failed","error":{"message":"no credit"}}\n'
# Variables and files with which it has a key, and without which it has none.
KEYS: list[tuple[dict[str, str], dict[str, bytes]]] = [
    ({"CODEX_API_KEY": "k"}, {}),
    ({}, {"~/.codex/auth.json": b"{}"}),
    ({"CODEX_HOME": "/c"}, {"/c/auth.json": b"{}"}),
    ({"MY_KEY": "k"}, {"~/.codex/config.toml": PROVIDER % b'env_key="MY_KEY"'}),
    ({}, {"~/.codex/config.toml": PROVIDER % b'name="a model on this machine"'}),
]
NO_KEYS: list[tuple[dict[str, str], dict[str, bytes]]] = [
    ({}, {}),
    ({"OPENAI_API_KEY": "k"}, {"~/.codex/config.toml": b'model = "m"'}),
    ({}, {"~/.codex/config.toml": PROVIDER % b'env_key="MY_KEY"'}),
    ({}, {"~/.codex/config.toml": PROVIDER % b"requires_openai_auth=true"}),
    ({}, {"~/.codex/config.toml": b"model_provider = "}),
]
REPORTS = [
    (b'{"type":"error","message":"Reconnecting... 1/5"}', "Reconnecting... 1/5"),
    (b'{"type":"item.started","item":{"type":"mcp_tool_call","tool":"add"}}', "calls add"),
    (b'{"type":"item.started","item":{"type":"command_execution","command":"ls -l"}}', "runs ls -l"),
    (b'{"type":"turn.started"}', ""),
]


def test_codex_gets_the_tool_server_as_a_toml_table() -> None:
    """B7: as a table of TOML, whatever is in the words of the command."""
    words = DRIVER.invocation(Request("p", tools=TOOLS)).arguments

    server = tomllib.loads(words[words.index("-c") + 1])["mcp_servers"]["gaia"]
    assert (server["command"], server["args"], server["env_vars"]) == (TOOLS.command, TOOLS.arguments, TOOLS.variables)
    assert server["default_tools_approval_mode"] == "approve"
    assert words[-1] == "-"


def test_an_answer_of_codex_is_read_with_its_tokens() -> None:
    """B4: the content and the tokens that the agent reports."""
    answer = DRIVER.answer(ANSWER, 0, "")

    assert (answer.content, answer.error, answer.tokens) == ("hi", "", 7)


def test_a_failure_of_codex_has_its_message() -> None:
    """B5: also with an exit status of 0, and whatever the subtype says."""
    answer = DRIVER.answer(FAILURE, 0, "")

    assert (answer.content, answer.error) == ("", "no credit")


def test_a_key_or_a_login_of_codex_is_detected() -> None:
    """B2: key_missing is for an agent that has neither, wherever its program looks for them."""
    assert [case for case in KEYS if not DRIVER.has_key(case[0], case[1].get)] == []
    assert [case for case in NO_KEYS if DRIVER.has_key(case[0], case[1].get)] == []


def test_the_activity_of_codex_is_reported() -> None:
    """B5: while it runs, and with the error of one whose time ran out."""
    assert [(line, found) for line, report in REPORTS if (found := DRIVER.reported(line)) != report] == []


def test_a_prompt_is_protected_from_the_syntax_of_codex() -> None:
    """B4: it removes a byte order mark."""
    assert DRIVER.invocation(Request("\ufefftext")).stdin == "\ufeff\ufefftext".encode()

"""The driver of Gemini CLI: the invocation for a request, and the answer that is read from the output."""

from __future__ import annotations

from gaia_mcp.contrib.hub.drivers.base import Request
from gaia_mcp.contrib.hub.drivers.gemini import GeminiDriver
from tests.contrib.hub.conftest import TOOLS

DRIVER = GeminiDriver()
ANSWER = (
    b'Loaded cached credentials.\n{"type":"init","session_id":"s","model":"auto"}\n'
    b'{"type":"message","role":"user","content":"p"}\n{"type":"message","role":"assistant","content":"h","delta":true}\n'
    b'{"type":"message","role":"assistant","content":"i","delta":true}\n'
    b'{"type":"result","status":"success","stats":{"total_tokens":7,"models":{"small":{},"big":{}}}}\n'
)
FAILURE = (
    b'{"type":"result","status":"error","error":{"type":"Error",'
    b'"message":"[API Error: {\\"error\\":{\\"code\\":402,\\"message\\":\\"no credit\\"}}]"},"stats":{}}'
)
# Variables and files with which it has a key, and without which it has none.
KEYS: list[tuple[dict[str, str], dict[str, bytes]]] = [
    ({"GEMINI_API_KEY": "k"}, {}),
    ({}, {"~/.gemini/oauth_creds.json": b"{}"}),
    ({"GEMINI_CLI_HOME": "/g"}, {"/g/.gemini/oauth_creds.json": b"{}"}),
    ({}, {"~/.gemini/.env": b"A=b\nexport GEMINI_API_KEY=k\n"}),
]
NO_KEYS: list[tuple[dict[str, str], dict[str, bytes]]] = [
    ({}, {}),
    ({}, {"~/.gemini/.env": b"# GEMINI_API_KEY=k\nGEMINI_API_KEY=\n"}),
]
REPORTS = [
    (b'{"type":"tool_use","tool_name":"mcp_gaia_add"}', "calls mcp_gaia_add"),
    (b'{"type":"error","severity":"warning","message":"a loop"}', "a loop"),
    (b"Attempt 2 failed. Retrying with backoff... Error", "Attempt 2 failed. Retrying with backoff... Error"),
]


def test_gemini_gets_the_tool_server_in_private_settings() -> None:
    """B7: in the settings of a folder of its own."""
    run = DRIVER.invocation(Request("p", tools=TOOLS))

    assert run.overlay is not None
    assert (run.overlay.variable, run.overlay.folder, run.overlay.file) == (
        "GEMINI_CLI_HOME",
        ".gemini",
        "settings.json",
    )
    server = run.overlay.members["mcpServers"]["gaia"]
    assert (server["command"], server["args"], server["trust"]) == (TOOLS.command, TOOLS.arguments, True)
    assert server["env"] == {"PATH": "${PATH}", "HOME": "${HOME}"}
    assert run.arguments[-2:] == ["--allowed-mcp-server-names", "gaia"]


def test_gemini_gets_the_temperature_in_private_settings() -> None:
    """B4: `config.temperature`, where a program takes it."""
    run = DRIVER.invocation(Request("p", settings={"temperature": 0.3}))

    override = {"match": {"isChatModel": True}, "modelConfig": {"generateContentConfig": {"temperature": 0.3}}}
    assert run.overlay is not None
    assert (run.overlay.members, run.overlay.added) == ({}, {("modelConfigs", "customOverrides"): [override]})


def test_an_answer_of_gemini_is_read_with_its_tokens() -> None:
    """B4: the content and the tokens that the agent reports."""
    answer = DRIVER.answer(ANSWER, 0, "")

    assert (answer.content, answer.error, answer.tokens) == ("hi", "", 7)


def test_a_failure_of_gemini_has_its_message() -> None:
    """B5: also with an exit status of 0, and whatever the subtype says."""
    answer = DRIVER.answer(FAILURE, 0, "")

    assert (answer.content, answer.error) == ("", "no credit")


def test_a_key_or_a_login_of_gemini_is_detected() -> None:
    """B2: key_missing is for an agent that has neither, wherever its program looks for them."""
    assert [case for case in KEYS if not DRIVER.has_key(case[0], case[1].get)] == []
    assert [case for case in NO_KEYS if DRIVER.has_key(case[0], case[1].get)] == []


def test_the_activity_of_gemini_is_reported() -> None:
    """B5: while it runs, and with the error of one whose time ran out."""
    assert [(line, found) for line, report in REPORTS if (found := DRIVER.reported(line)) != report] == []


def test_a_prompt_is_protected_from_the_syntax_of_gemini() -> None:
    """B4: it takes a slash at the beginning for a command of its own."""
    assert DRIVER.invocation(Request("/init")).stdin == b"\n/init"


def test_a_gemini_run_without_an_answer_is_a_failure() -> None:
    """B5: it calls this a success."""
    stdout = (
        b'{"type":"error","severity":"warning","message":"Loop detected, stopping execution"}\n'
        b'{"type":"result","status":"success","stats":{}}\n'
    )

    assert DRIVER.answer(stdout, 0, "").error == "Loop detected, stopping execution"

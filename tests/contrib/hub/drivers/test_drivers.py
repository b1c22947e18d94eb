"""The drivers of command lines: the invocation for a request, and the answer that is read from the output."""

from __future__ import annotations

import json
import tomllib

import pytest

from gaia_mcp.contrib.hub.drivers import DRIVERS
from gaia_mcp.contrib.hub.drivers.base import Driver, Request, ToolServer

TOOLS = ToolServer("/usr/bin/python3", ["-m", "server", 'a "quoted" \\ word'], ["PATH", "HOME"], ["add", "sub"])
EVERY = pytest.mark.parametrize("driver", DRIVERS.values(), ids=DRIVERS)
PROVIDER = b'model_provider="mine"\n[model_providers.mine]\n%s\n'
ANSWERS = {
    "claude": b'{"type":"result","is_error":false,"result":"hi","usage":{"input_tokens":3,"output_tokens":4}}',
    "codex": b'{"type":"thread.started","thread_id":"t"}\n'
    b'{"type":"item.completed","item":{"type":"agent_message","text":"first"}}\n'
    b'{"type":"item.completed","item":{"type":"agent_message","text":"hi"}}\n'
    b'{"type":"turn.completed","usage":{"input_tokens":3,"output_tokens":4}}\n',
    "gemini": b'Loaded cached credentials.\n{"type":"init","session_id":"s","model":"auto"}\n'
    b'{"type":"message","role":"user","content":"p"}\n{"type":"message","role":"assistant","content":"h","delta":true}\n'
    b'{"type":"message","role":"assistant","content":"i","delta":true}\n'
    b'{"type":"result","status":"success","stats":{"total_tokens":7,"models":{"small":{},"big":{}}}}\n',
}
FAILURES = {
    "claude": b'{"type":"result","subtype":"success","is_error":true,"result":"no credit"}',
    "codex": b'{"type":"error","message":"retrying"}\n{"type":"turn.failed","error":{"message":"no credit"}}\n',
    "gemini": b'{"type":"result","status":"error","error":{"type":"Error",'
    b'"message":"[API Error: {\\"error\\":{\\"code\\":402,\\"message\\":\\"no credit\\"}}]"},"stats":{}}',
}


def test_the_prompt_is_standard_input_byte_for_byte() -> None:
    """B4: a leading `--`, newlines and a megabyte are nothing special, and no argument holds any of it."""
    prompts = ["--help", "-", "@file", "two\nlines\n", "x" * 1_000_000, "ünïcode \0"]

    wrong = []
    for name, driver in DRIVERS.items():
        arguments = driver.invocation(Request("other")).arguments
        for prompt in prompts:
            run = driver.invocation(Request(prompt))
            if (run.stdin, run.arguments) != (prompt.encode(), arguments):
                wrong.append((name, prompt[:20], run.arguments))

    assert not wrong


@EVERY
def test_the_context_follows_the_prompt(driver: Driver) -> None:
    """B4: the context reaches the agent, and leaves the prompt as it is."""
    run = driver.invocation(Request("fix it", {"language": "python", "code": 'print("é")'}))

    prompt, _, context = run.stdin.decode().partition("\n\nContext (JSON):\n")
    assert (prompt, json.loads(context)) == ("fix it", {"language": "python", "code": 'print("é")'})


@EVERY
def test_the_model_follows_its_option(driver: Driver) -> None:
    """B4: `config.model` becomes the model flag."""
    plain, chosen = (driver.invocation(Request("p", model=model)).arguments for model in ("", "big-1"))

    assert chosen[chosen.index("big-1") - 1] in ("--model", "-m")
    assert len(chosen) == len(plain) + 2


def test_claude_gets_the_tool_server_in_its_mcp_configuration() -> None:
    """B7: in its configuration, and no other server; only these tools need no approval."""
    words = DRIVERS["claude"].invocation(Request("p", tools=TOOLS)).arguments

    config = json.loads(words[words.index("--mcp-config") + 1])
    assert config == {"mcpServers": {"gaia": {"command": TOOLS.command, "args": TOOLS.arguments}}}
    assert words[words.index("--allowedTools") + 1] == "mcp__gaia__add,mcp__gaia__sub"
    assert "--strict-mcp-config" in words


def test_codex_gets_the_tool_server_as_a_toml_table() -> None:
    """B7: as a table of TOML, whatever is in the words of the command."""
    words = DRIVERS["codex"].invocation(Request("p", tools=TOOLS)).arguments

    server = tomllib.loads(words[words.index("-c") + 1])["mcp_servers"]["gaia"]
    assert (server["command"], server["args"], server["env_vars"]) == (TOOLS.command, TOOLS.arguments, TOOLS.variables)
    assert server["default_tools_approval_mode"] == "approve"
    assert words[-1] == "-"


def test_gemini_gets_the_tool_server_in_private_settings() -> None:
    """B7: in the settings of a folder of its own."""
    run = DRIVERS["gemini"].invocation(Request("p", tools=TOOLS))

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
    """B4: `config.temperature`, where a program takes it; the other two have no option or setting for it."""
    run = DRIVERS["gemini"].invocation(Request("p", settings={"temperature": 0.3}))

    override = {"match": {"isChatModel": True}, "modelConfig": {"generateContentConfig": {"temperature": 0.3}}}
    assert run.overlay is not None
    assert (run.overlay.members, run.overlay.added) == ({}, {("modelConfigs", "customOverrides"): [override]})
    assert [name for name, driver in DRIVERS.items() if "temperature" in driver.settings] == ["gemini"]


@EVERY
def test_an_answer_is_read_with_its_tokens(driver: Driver) -> None:
    """B4: the content and the tokens that the agent reports."""
    answer = driver.answer(ANSWERS[driver.kind], 0, "")

    assert (answer.content, answer.error, answer.tokens) == ("hi", "", 7)


@EVERY
def test_a_failure_has_the_message_of_the_agent(driver: Driver) -> None:
    """B5: also with an exit status of 0, and whatever the subtype says."""
    answer = driver.answer(FAILURES[driver.kind], 0, "")

    assert (answer.content, answer.error) == ("", "no credit")


def test_an_exit_status_other_than_0_is_a_failure_even_with_output() -> None:
    """B5: the status and the end of stderr are the error."""
    wrong = []
    for name, driver in DRIVERS.items():
        for status in (1, 41, -9):
            error = driver.answer(ANSWERS[driver.kind], status, "quota exceeded").error
            if "quota exceeded" not in error or str(abs(status)) not in error:
                wrong.append((name, status, error))

    assert not wrong


def test_output_of_another_format_is_a_failure() -> None:
    """B5, B6: half a JSON, nothing, or anything else is never an answer, and never raises."""
    outputs = [
        b"",
        b"\n",
        b'{"result": "half',
        b"[1, 2]",
        b"null",
        b"\xff\xfe",
        b"hello",
        b"[" * 100_000,
        b"{}",
        b"\n{" * 9999,
    ]

    wrong = []
    for name, driver in DRIVERS.items():
        for stdout in outputs:
            answer = driver.answer(stdout, 0, "")
            if not answer.error.startswith(f"{driver.program} wrote") or answer.content:
                wrong.append((name, stdout[:20], answer))

    assert not wrong


@EVERY
def test_without_readable_output_the_error_is_the_end_of_stderr(driver: Driver) -> None:
    """B5: its stderr, else its stdout."""
    assert driver.answer(b"", 2, "unknown option").error.startswith("unknown option (")
    assert driver.answer(b"please log in\n", 2, "").error.startswith("please log in (")


KEYS: list[tuple[str, dict[str, str], dict[str, bytes]]] = [
    ("claude", {"ANTHROPIC_API_KEY": "k"}, {}),
    ("claude", {}, {"~/.claude/.credentials.json": b"{}"}),
    ("claude", {"CLAUDE_CONFIG_DIR": "/c"}, {"/c/.credentials.json": b"{}"}),
    ("claude", {}, {"~/.claude/settings.json": b'{"apiKeyHelper": "print-key"}'}),
    ("claude", {}, {"~/.claude/settings.json": b'{"env": {"ANTHROPIC_AUTH_TOKEN": "t"}}'}),
    ("claude", {}, {"~/.claude.json": b'{"oauthAccount": {}}'}),
    ("codex", {"CODEX_API_KEY": "k"}, {}),
    ("codex", {}, {"~/.codex/auth.json": b"{}"}),
    ("codex", {"CODEX_HOME": "/c"}, {"/c/auth.json": b"{}"}),
    ("codex", {"MY_KEY": "k"}, {"~/.codex/config.toml": PROVIDER % b'env_key="MY_KEY"'}),
    ("codex", {}, {"~/.codex/config.toml": PROVIDER % b'name="a model on this machine"'}),
    ("gemini", {"GEMINI_API_KEY": "k"}, {}),
    ("gemini", {}, {"~/.gemini/oauth_creds.json": b"{}"}),
    ("gemini", {"GEMINI_CLI_HOME": "/g"}, {"/g/.gemini/oauth_creds.json": b"{}"}),
    ("gemini", {}, {"~/.gemini/.env": b"A=b\nexport GEMINI_API_KEY=k\n"}),
]
NO_KEYS: list[tuple[str, dict[str, str], dict[str, bytes]]] = [
    *((name, {}, {}) for name in DRIVERS),
    ("claude", {"ANTHROPIC_API_KEY": ""}, {"~/.claude/settings.json": b"not JSON", "~/.claude.json": b"[]"}),
    ("codex", {"OPENAI_API_KEY": "k"}, {"~/.codex/config.toml": b'model = "m"'}),
    ("codex", {}, {"~/.codex/config.toml": PROVIDER % b'env_key="MY_KEY"'}),
    ("codex", {}, {"~/.codex/config.toml": PROVIDER % b"requires_openai_auth=true"}),
    ("codex", {}, {"~/.codex/config.toml": b"model_provider = "}),
    ("gemini", {}, {"~/.gemini/.env": b"# GEMINI_API_KEY=k\nGEMINI_API_KEY=\n"}),
]


def test_a_key_or_a_login_is_detected() -> None:
    """B2: key_missing is for an agent that has neither, wherever its program looks for them."""
    cases = [*((*case, True) for case in KEYS), *((*case, False) for case in NO_KEYS)]

    wrong = [
        (name, environ, files)
        for name, environ, files, has_key in cases
        if DRIVERS[name].has_key(environ, files.get) is not has_key
    ]
    assert not wrong


REPORTS = [
    (
        "claude",
        b'{"type":"system","subtype":"api_retry","attempt":2,"max_retries":10,"error_status":401,"error":"no key"}',
        "attempt 2 of 10 failed: no key, HTTP 401",
    ),
    (
        "claude",
        b'{"type":"system","subtype":"api_retry","attempt":1,"max_retries":10,"error_status":null}',
        "attempt 1 of 10 failed: unknown",
    ),
    (
        "claude",
        b'{"type":"assistant","message":{"content":[{"type":"text"},{"type":"tool_use","name":"Read"}]}}',
        "calls Read",
    ),
    ("claude", b'{"type":"assistant","message":{"content":[{"type":"text","text":"well"}]}}', ""),
    ("codex", b'{"type":"error","message":"Reconnecting... 1/5"}', "Reconnecting... 1/5"),
    ("codex", b'{"type":"item.started","item":{"type":"mcp_tool_call","tool":"add"}}', "calls add"),
    ("codex", b'{"type":"item.started","item":{"type":"command_execution","command":"ls -l"}}', "runs ls -l"),
    ("codex", b'{"type":"turn.started"}', ""),
    ("gemini", b'{"type":"tool_use","tool_name":"mcp_gaia_add"}', "calls mcp_gaia_add"),
    ("gemini", b'{"type":"error","severity":"warning","message":"a loop"}', "a loop"),
    ("gemini", b"Attempt 2 failed. Retrying with backoff... Error", "Attempt 2 failed. Retrying with backoff... Error"),
    *((name, line, "") for name in DRIVERS for line in (b"", b"[]", b"no JSON", b'{"type":"error"}', b"{" * 99_999)),
]


def test_the_activity_of_an_agent_is_reported() -> None:
    """B5: while it runs, and with the error of one whose time ran out."""
    wrong = [(name, line, found) for name, line, report in REPORTS if (found := DRIVERS[name].reported(line)) != report]

    assert not wrong


@pytest.mark.parametrize(
    ("name", "prompt", "stdin"),
    [("claude", "/help", "\n/help"), ("gemini", "/init", "\n/init"), ("codex", "\ufefftext", "\ufeff\ufefftext")],
)
def test_a_prompt_is_protected_from_the_syntax_of_the_program(name: str, prompt: str, stdin: str) -> None:
    """B4: two take a slash at the beginning for a command of their own, and one removes a byte order mark."""
    assert DRIVERS[name].invocation(Request(prompt)).stdin == stdin.encode()


def test_a_gemini_run_without_an_answer_is_a_failure() -> None:
    """B5: it calls this a success."""
    stdout = (
        b'{"type":"error","severity":"warning","message":"Loop detected, stopping execution"}\n'
        b'{"type":"result","status":"success","stats":{}}\n'
    )

    assert DRIVERS["gemini"].answer(stdout, 0, "").error == "Loop detected, stopping execution"

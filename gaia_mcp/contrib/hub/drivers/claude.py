"""Claude Code, the program `claude`: writes a JSON object in each line of stdout. The last one is the result; its
`is_error` and the exit status report failure.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from gaia_mcp.contrib.hub.drivers.base import (
    SERVER,
    Answer,
    Driver,
    Invocation,
    ReadFile,
    Request,
    UnreadableOutputError,
    coder,
    count_of,
    events,
    no_command,
    prompt_bytes,
    text_in,
)
from gaia_mcp.text.strict_json import JSONTextError, parse_json

# Each of these variables is a way to authenticate: a key, a token, or a cloud provider.
_KEYS = (
    "ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN", "CLAUDE_CODE_USE_BEDROCK",
    "CLAUDE_CODE_USE_FOUNDRY", "CLAUDE_CODE_USE_VERTEX",
)  # fmt: skip
# Tokens of cached prompts are counted separately.
_TOKENS = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens", "output_tokens")


class ClaudeDriver(Driver):
    """`claude -p --verbose --output-format stream-json`."""

    kind = "claude"
    program = "claude"
    description = "Claude Code, the coding agent of Anthropic"
    capabilities = coder("extended_thinking")
    # This format requires --verbose.
    arguments = ("-p", "--verbose", "--output-format", "stream-json")
    model_option = "--model"

    def invocation(self, request: Request) -> Invocation:
        """The invocation for a request."""
        arguments = self.arguments_of(request)
        if (tools := request.tools) is not None:
            server = {"command": tools.command, "args": tools.arguments}
            arguments += ["--strict-mcp-config", "--mcp-config", json.dumps({"mcpServers": {SERVER: server}})]
            arguments += ["--allowedTools", ",".join(f"mcp__{SERVER}__{name}" for name in tools.tools)]
        return Invocation(arguments, prompt_bytes(request, no_command(request)))

    def read(self, stdout: bytes) -> Answer:
        """The answer in the program's output. Raises `UnreadableOutputError`."""
        results = [event for event in events(stdout) if event.get("type") == "result"]
        if not results:
            raise UnreadableOutputError("wrote no result")
        found = results[-1]
        result = found.get("result")
        if not isinstance(result, str) and not found.get("is_error"):
            raise UnreadableOutputError("wrote a result without an answer")
        usage = found.get("usage")
        usage = usage if isinstance(usage, dict) else {}
        metadata: dict[str, Any] = {}
        if isinstance(models := found.get("modelUsage"), dict) and models:
            metadata["model"] = next(iter(models))
        if session := text_in(found, "session_id"):
            metadata["session_id"] = session
        text = result if isinstance(result, str) else ""
        error = (text or text_in(found, "subtype") or "failed") if found.get("is_error") else ""
        return Answer("" if error else text, error, count_of(*(usage.get(name) for name in _TOKENS)), metadata)

    def progress(self, event: Mapping[str, Any]) -> str:
        """The progress that an event of the output reports; empty if none."""
        if event.get("subtype") == "api_retry":
            reason = text_in(event, "error") or "unknown"
            status = event.get("error_status")
            status = f", HTTP {status}" if status else ""
            return f"attempt {event.get('attempt')} of {event.get('max_retries')} failed: {reason}{status}"
        message = event.get("message")
        blocks = message.get("content") if event.get("type") == "assistant" and isinstance(message, dict) else None
        names = [text_in(block, "name") for block in blocks or () if text_in(block, "type") == "tool_use"]
        return f"calls {', '.join(names)}" if names else ""

    def has_key(self, environ: Mapping[str, str], read: ReadFile) -> bool:
        """Whether the agent has credentials."""
        if any(environ.get(name) for name in _KEYS):
            return True
        own = environ.get("CLAUDE_CONFIG_DIR")
        folder = own or "~/.claude"
        if read(f"{folder}/.credentials.json") is not None:
            return True
        settings = _object(read(f"{folder}/settings.json"))
        variables = settings.get("env")
        if settings.get("apiKeyHelper") or (isinstance(variables, dict) and any(variables.get(key) for key in _KEYS)):
            return True
        # Of a login stored in the system's keychain, only this file has a trace.
        return "oauthAccount" in _object(read(f"{own}/.claude.json" if own else "~/.claude.json"))


def _object(data: bytes | None) -> dict[str, Any]:
    try:
        value = parse_json((data or b"").decode("utf-8", "replace"))
    except JSONTextError:
        return {}
    return value if isinstance(value, dict) else {}

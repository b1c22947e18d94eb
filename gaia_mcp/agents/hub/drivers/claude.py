"""Claude Code, the program `claude`: one JSON object on stdout, judged by its `is_error` and the exit status."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from gaia_mcp.agents.hub.drivers.base import (
    SERVER,
    Answer,
    Driver,
    Invocation,
    Request,
    UnreadableOutputError,
    count_of,
    json_object,
    prompt_bytes,
    text_in,
)

# Any of these is a way to authenticate: a key, a token, or the services of a cloud.
_KEYS = (
    "ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN", "CLAUDE_CODE_USE_BEDROCK",
    "CLAUDE_CODE_USE_VERTEX",
)  # fmt: skip


class ClaudeDriver(Driver):
    """`claude -p --output-format json`."""

    kind = "claude"
    program = "claude"
    description = "Claude Code, the coding agent of Anthropic"
    capabilities = (
        "code_generation", "code_editing", "code_analysis", "text_completion", "tool_use", "extended_thinking",
        "file_operations",
    )  # fmt: skip

    def invocation(self, request: Request) -> Invocation:
        """What is run for a request."""
        arguments = ["-p", "--output-format", "json"]
        if request.model:
            arguments += ["--model", request.model]
        if (tools := request.tools) is not None:
            server = {"command": tools.command, "args": tools.arguments}
            arguments += ["--strict-mcp-config", "--mcp-config", json.dumps({"mcpServers": {SERVER: server}})]
            arguments += ["--allowedTools", ",".join(f"mcp__{SERVER}__{name}" for name in tools.tools)]
        return Invocation(arguments, prompt_bytes(request))

    def read(self, stdout: bytes) -> Answer:
        """What the program wrote. Raises `UnreadableOutputError`."""
        found = json_object(stdout)
        result = found.get("result")
        if not isinstance(result, str) and not found.get("is_error"):
            raise UnreadableOutputError("wrote an answer without a result")
        usage = found.get("usage")
        usage = usage if isinstance(usage, dict) else {}
        metadata: dict[str, Any] = {}
        if isinstance(models := found.get("modelUsage"), dict) and models:
            metadata["model"] = next(iter(models))
        if session := text_in(found, "session_id"):
            metadata["session_id"] = session
        text = result if isinstance(result, str) else ""
        error = (text or text_in(found, "subtype") or "failed") if found.get("is_error") else ""
        tokens = count_of(usage.get("input_tokens"), usage.get("output_tokens"))
        return Answer("" if error else text, error, tokens, metadata)

    def has_key(self, environ: Mapping[str, str], has_file: Callable[[str], bool]) -> bool:
        """Whether the agent can authenticate itself."""
        folder = environ.get("CLAUDE_CONFIG_DIR") or "~/.claude"
        return any(environ.get(name) for name in _KEYS) or has_file(f"{folder}/.credentials.json")

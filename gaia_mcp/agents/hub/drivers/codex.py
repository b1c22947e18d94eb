"""Codex, the program `codex`: a JSON object in each line of stdout, of which the last message is the answer."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from gaia_mcp.agents.hub.drivers.base import (
    SERVER,
    Answer,
    Driver,
    Invocation,
    Request,
    ToolServer,
    UnreadableOutputError,
    count_of,
    prompt_bytes,
    text_in,
)
from gaia_mcp.jsontext import JSONTextError, parse_json


class CodexDriver(Driver):
    """`codex exec --json -`."""

    kind = "codex"
    program = "codex"
    description = "Codex, the coding agent of OpenAI"
    capabilities = (
        "code_generation", "code_editing", "code_analysis", "text_completion", "code_execution", "tool_use",
        "file_operations",
    )  # fmt: skip

    def invocation(self, request: Request) -> Invocation:
        """What is run for a request."""
        arguments = ["exec", "--json", "--skip-git-repo-check"]
        if request.model:
            arguments += ["-m", request.model]
        if request.tools is not None:
            arguments += ["-c", f"mcp_servers.{SERVER}={_inline_table(request.tools)}"]
        return Invocation([*arguments, "-"], prompt_bytes(request))

    def read(self, stdout: bytes) -> Answer:
        """What the program wrote. Raises `UnreadableOutputError`."""
        text, error, tokens = None, "", None
        metadata: dict[str, Any] = {}
        for event in _events(stdout):
            kind = event.get("type")
            if kind == "item.completed" and text_in(event, "item", "type") == "agent_message":
                text = text_in(event, "item", "text")
            elif kind == "turn.completed" and isinstance(usage := event.get("usage"), dict):
                tokens = count_of(usage.get("input_tokens"), usage.get("output_tokens"))
                error = ""
            elif kind == "turn.failed":
                error = text_in(event, "error", "message") or "the turn failed"
            elif kind == "error":
                error = text_in(event, "message") or "failed"
            elif kind == "thread.started":
                metadata["thread_id"] = text_in(event, "thread_id")
        if text is None and not error:
            raise UnreadableOutputError("wrote no answer")
        return Answer("" if error else text or "", error, tokens, metadata)

    def has_key(self, environ: Mapping[str, str], has_file: Callable[[str], bool]) -> bool:
        """Whether the agent can authenticate itself."""
        folder = environ.get("CODEX_HOME") or "~/.codex"
        return any(environ.get(name) for name in ("CODEX_API_KEY", "OPENAI_API_KEY")) or has_file(f"{folder}/auth.json")


def _events(stdout: bytes) -> list[dict[str, Any]]:
    """The objects among the lines; the last may have been cut off."""
    found = []
    for line in stdout.splitlines():
        try:
            event = parse_json(line.decode("utf-8", "replace"))
        except JSONTextError:
            continue
        if isinstance(event, dict):
            found.append(event)
    return found


def _inline_table(tools: ToolServer) -> str:
    """The server as an inline table of TOML. Codex gives a server only those variables that are named."""
    members = {
        "command": _string(tools.command),
        "args": _array(tools.arguments),
        "env_vars": _array(tools.variables),
        "default_tools_approval_mode": _string("approve"),
    }
    return f"{{{','.join(f'{key}={value}' for key, value in members.items())}}}"


def _array(texts: Sequence[str]) -> str:
    return f"[{','.join(map(_string, texts))}]"


def _string(text: str) -> str:
    # JSON's strings are TOML's, but for a character that TOML wants escaped.
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")

"""Codex, the program `codex`: writes a JSON object in each line of stdout. The last message is the answer."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping, Sequence
from typing import Any

from gaia_mcp.contrib.hub.drivers.base import (
    SERVER,
    Answer,
    Driver,
    Invocation,
    ReadFile,
    Request,
    ToolServer,
    UnreadableOutputError,
    coder,
    count_of,
    events,
    prompt_bytes,
    text_in,
    unwrapped,
)

# Codex removes one of these from the beginning of its input.
_BYTE_ORDER_MARK = "\ufeff"


class CodexDriver(Driver):
    """`codex exec --json -`."""

    kind = "codex"
    program = "codex"
    description = "Codex, the coding agent of OpenAI"
    capabilities = coder("code_execution")
    arguments = ("exec", "--json", "--skip-git-repo-check")

    def invocation(self, request: Request) -> Invocation:
        """The invocation for a request."""
        arguments = self.arguments_of(request)
        if request.tools is not None:
            arguments += ["-c", f"mcp_servers.{SERVER}={_inline_table(request.tools)}"]
        before = _BYTE_ORDER_MARK if request.prompt.startswith(_BYTE_ORDER_MARK) else ""
        return Invocation([*arguments, "-"], prompt_bytes(request, before))

    def read(self, stdout: bytes) -> Answer:
        """The answer in the program's output. Raises `UnreadableOutputError`."""
        text, error, tokens = None, "", None
        metadata: dict[str, Any] = {}
        for event in events(stdout):
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
        return Answer("" if error else text or "", unwrapped(error), tokens, metadata)

    def progress(self, event: Mapping[str, Any]) -> str:
        """The progress that an event of the output reports; empty if none."""
        kind, item = event.get("type"), event.get("item")
        if kind == "error":
            return text_in(event, "message")
        if kind != "item.started" or not isinstance(item, dict):
            return ""
        if item.get("type") == "mcp_tool_call":
            return f"calls {text_in(item, 'tool')}"
        return f"runs {command}" if (command := text_in(item, "command")) else ""

    def has_key(self, environ: Mapping[str, str], read: ReadFile) -> bool:
        """Whether the agent has credentials. `OPENAI_API_KEY` alone is not enough: Codex reads it only if a provider in
        its configuration names it.
        """
        folder = environ.get("CODEX_HOME") or "~/.codex"
        if any(environ.get(name) for name in ("CODEX_API_KEY", "CODEX_ACCESS_TOKEN")):
            return True
        if read(f"{folder}/auth.json") is not None:
            return True
        provider = _provider(read(f"{folder}/config.toml"))
        if provider is None or provider.get("requires_openai_auth"):
            return False
        variable = provider.get("env_key")
        return not variable or bool(environ.get(str(variable)))


def _provider(config: bytes | None) -> dict[str, Any] | None:
    """The model provider that the configuration selects, or None if it does not define it."""
    try:
        found = tomllib.loads((config or b"").decode("utf-8", "replace"))
    except tomllib.TOMLDecodeError:
        return None
    providers = found.get("model_providers")
    provider = providers.get(found.get("model_provider")) if isinstance(providers, dict) else None
    return provider if isinstance(provider, dict) else None


def _inline_table(tools: ToolServer) -> str:
    """The server as a TOML inline table. Codex passes only the named variables to a server."""
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
    # A JSON string is a TOML string, except that TOML requires DEL to be escaped.
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")

"""Gemini CLI, the program `gemini`: one JSON object on stdout, with a response or an error."""

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

_KEYS = ("GEMINI_API_KEY", "GOOGLE_API_KEY", "GOOGLE_GENAI_USE_VERTEXAI", "GOOGLE_GENAI_USE_GCA")


class GeminiDriver(Driver):
    """`gemini --output-format json`."""

    kind = "gemini"
    program = "gemini"
    description = "Gemini CLI, the agent of Google"
    capabilities = (
        "code_generation", "code_editing", "code_analysis", "text_completion", "tool_use", "file_operations",
    )  # fmt: skip

    def invocation(self, request: Request) -> Invocation:
        """What is run for a request."""
        arguments = ["--output-format", "json"]
        if request.model:
            arguments += ["-m", request.model]
        if (tools := request.tools) is None:
            return Invocation(arguments, prompt_bytes(request))
        # It gives a server only those variables that are named, and looks up what begins with a dollar sign.
        server = {
            "command": tools.command,
            "args": tools.arguments,
            "env": {name: f"${name}" for name in tools.variables},
            "trust": True,
        }
        settings = json.dumps({"mcpServers": {SERVER: server}}).encode()
        return Invocation(
            [*arguments, "--allowed-mcp-server-names", SERVER],
            prompt_bytes(request),
            files={".gemini/settings.json": settings},
            folder_variable="GEMINI_CLI_HOME",
        )

    def read(self, stdout: bytes) -> Answer:
        """What the program wrote. Raises `UnreadableOutputError`."""
        found = json_object(stdout)
        response = found.get("response")
        error = _error_of(found.get("error"))
        if not isinstance(response, str) and not error:
            raise UnreadableOutputError("wrote an answer without a response")
        stats = found.get("stats")
        models = stats.get("models") if isinstance(stats, dict) else None
        models = models if isinstance(models, dict) else {}
        metadata: dict[str, Any] = {"model": next(iter(models))} if models else {}
        if session := text_in(found, "session_id"):
            metadata["session_id"] = session
        return Answer(
            response if isinstance(response, str) and not error else "",
            error,
            count_of(*(_total_of(model) for model in models.values())),
            metadata,
        )

    def has_key(self, environ: Mapping[str, str], has_file: Callable[[str], bool]) -> bool:
        """Whether the agent can authenticate itself."""
        folder = environ.get("GEMINI_CLI_HOME") or "~"
        return any(environ.get(name) for name in _KEYS) or has_file(f"{folder}/.gemini/oauth_creds.json")


def _error_of(error: Any) -> str:
    if isinstance(error, str):
        return error
    return (text_in(error, "message") or "failed") if error else ""


def _total_of(model: Any) -> Any:
    tokens = model.get("tokens") if isinstance(model, dict) else None
    return tokens.get("total") if isinstance(tokens, dict) else None

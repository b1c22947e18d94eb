"""Gemini CLI, the program `gemini`: writes a JSON object in each line of stdout. Its messages form the answer."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from gaia_mcp.contrib.hub.drivers.base import (
    SERVER,
    Answer,
    Driver,
    Invocation,
    Overlay,
    ReadFile,
    Request,
    UnreadableOutputError,
    coder,
    count_of,
    events,
    no_command,
    prompt_bytes,
    text_in,
    unwrapped,
)

HOME = "GEMINI_CLI_HOME"
_FOLDER = ".gemini"
_KEYS = ("GEMINI_API_KEY", "GEMINI_CLI_USE_COMPUTE_ADC", "GOOGLE_GENAI_USE_GCA", "GOOGLE_GENAI_USE_VERTEXAI")
# The files of a login, and of a key that was entered.
_LOGINS = ("oauth_creds.json", "gemini-credentials.json")
_KEY_IN_FILE = re.compile(rb"^\s*(?:export\s+)?GEMINI_API_KEY\s*=\s*\S", re.MULTILINE)
# Enclose an error response of the API in Gemini's own error.
_API_ERROR = ("[API Error: ", "]")
# The path of the settings for models in the settings file.
_OVERRIDES = ("modelConfigs", "customOverrides")
_ATTEMPT = re.compile(rb"Attempt \d+ failed.*")


class GeminiDriver(Driver):
    """`gemini --output-format stream-json`."""

    kind = "gemini"
    program = "gemini"
    description = "Gemini CLI, the agent of Google"
    capabilities = coder()
    # The other two programs trust their working folder by default.
    arguments = ("--output-format", "stream-json", "--skip-trust")
    # Neither of the other two programs has an option or a setting for it.
    settings = frozenset(("temperature",))

    def invocation(self, request: Request) -> Invocation:
        """The invocation for a request."""
        arguments = self.arguments_of(request)
        members: dict[str, Any] = {}
        if (tools := request.tools) is not None:
            # Gemini passes variables that look like secrets only if they are named here, and expands `${NAME}`.
            server = {
                "command": tools.command,
                "args": tools.arguments,
                "env": {name: f"${{{name}}}" for name in tools.variables},
                "trust": True,
            }
            arguments += ["--allowed-mcp-server-names", SERVER]
            members = {"mcpServers": {SERVER: server}}
        added: dict[tuple[str, ...], list[Any]] = {}
        if "temperature" in request.settings:
            # Of the model that answers, not of those that, for example, summarize.
            config = {"generateContentConfig": {"temperature": request.settings["temperature"]}}
            added = {_OVERRIDES: [{"match": {"isChatModel": True}, "modelConfig": config}]}
        overlay = Overlay(HOME, _FOLDER, "settings.json", members, added) if members or added else None
        # Gemini leaves error reports there, which contain the whole conversation.
        temporary = ("TMPDIR", "TEMP", "TMP")
        return Invocation(arguments, prompt_bytes(request, no_command(request)), overlay=overlay, temporary=temporary)

    def read(self, stdout: bytes) -> Answer:
        """The answer in the program's output. Raises `UnreadableOutputError`."""
        texts: list[str] = []
        problem = ""
        result: Mapping[str, Any] | None = None
        metadata: dict[str, Any] = {}
        for event in events(stdout):
            kind = event.get("type")
            if kind == "message" and event.get("role") == "assistant":
                texts.append(text_in(event, "content"))
            elif kind == "error":
                problem = text_in(event, "message")
            elif kind == "init":
                metadata = {key: event[key] for key in ("model", "session_id") if text_in(event, key)}
            elif kind == "result":
                result = event
        if result is None:
            raise UnreadableOutputError("wrote no result")
        stats = result.get("stats")
        stats = stats if isinstance(stats, dict) else {}
        if isinstance(models := stats.get("models"), dict) and models:
            # The last model answered; the earlier ones selected it.
            metadata["model"] = list(models)[-1]
        error = ""
        if result.get("status") != "success" or result.get("error"):
            error = text_in(result, "error", "message") or "failed"
            error = unwrapped(_without_label(error))
        elif not texts:
            # Gemini stopped the run, for example because the model repeated itself.
            error = problem
        tokens = count_of(stats.get("total_tokens"))
        return Answer("" if error else "".join(texts), error, tokens, metadata)

    def progress(self, event: Mapping[str, Any]) -> str:
        """The progress that an event of the output reports; empty if none."""
        if event.get("type") == "tool_use":
            return f"calls {text_in(event, 'tool_name')}"
        return text_in(event, "message") if event.get("type") == "error" else ""

    def reported(self, line: bytes) -> str:
        """The progress that a line of the output reports. Failed attempts are reported on stderr."""
        if found := _ATTEMPT.match(line):
            return found[0].decode("utf-8", "replace")
        return super().reported(line)

    def has_key(self, environ: Mapping[str, str], read: ReadFile) -> bool:
        """Whether the agent has credentials."""
        folder = f"{environ.get(HOME) or '~'}/{_FOLDER}"
        if any(environ.get(name) for name in _KEYS):
            return True
        if any(read(f"{folder}/{name}") is not None for name in _LOGINS):
            return True
        return _KEY_IN_FILE.search(read(f"{folder}/.env") or b"") is not None


def _without_label(error: str) -> str:
    before, begin, rest = error.partition(_API_ERROR[0])
    reason, end, after = rest.rpartition(_API_ERROR[1])
    return before + reason + after if begin and end else error

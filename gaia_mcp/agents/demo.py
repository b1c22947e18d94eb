"""The built-in agent `demo`: a few tools that show every kind of content, progress, and a failure."""

from __future__ import annotations

import base64
import io
import math
import struct
import wave
import zlib
from typing import Any

from gaia_mcp._version import __version__
from gaia_mcp.agents.base.mcp_agent import MCPAgent
from gaia_mcp.toolcall import current_call

_NAME = {"type": "string", "description": "Name of the person", "minLength": 1}

TOOLS: list[dict[str, Any]] = [
    {
        "name": "greet",
        "description": "Say hello to a person.",
        "inputSchema": {
            "type": "object",
            "properties": {
                "name": _NAME,
                "style": {
                    "enum": ["plain", "warm", "formal"],
                    "default": "plain",
                    "description": "Tone of the greeting",
                },
            },
            "required": ["name"],
            "additionalProperties": False,
        },
        "annotations": {"readOnlyHint": True, "openWorldHint": False},
    },
    {
        "name": "add",
        "description": "Add two numbers. The result is structured.",
        "inputSchema": {
            "type": "object",
            "properties": {"a": {"type": "number"}, "b": {"type": "number"}},
            "required": ["a", "b"],
            "additionalProperties": False,
        },
        "outputSchema": {"type": "object", "properties": {"sum": {"type": "number"}}, "required": ["sum"]},
        "annotations": {"readOnlyHint": True, "openWorldHint": False},
    },
    {
        "name": "picture",
        "description": "Paint a square PNG image.",
        "inputSchema": {
            "type": "object",
            "properties": {"size": {"type": "integer", "minimum": 1, "maximum": 512, "default": 64}},
            "additionalProperties": False,
        },
        "annotations": {"readOnlyHint": True},
    },
    {
        "name": "sound",
        "description": "Make a short WAV tone.",
        "inputSchema": {
            "type": "object",
            "properties": {
                "hertz": {"type": "number", "minimum": 20, "maximum": 4000, "default": 440},
                "seconds": {"type": "number", "exclusiveMinimum": 0, "maximum": 5, "default": 0.2},
            },
            "additionalProperties": False,
        },
        "annotations": {"readOnlyHint": True},
    },
    {
        "name": "attach",
        "description": "Return every other kind of content: text, an embedded text, an embedded blob and a link.",
        "inputSchema": {"type": "object", "additionalProperties": False},
        "annotations": {"readOnlyHint": True},
    },
    {
        "name": "countdown",
        "description": "Take a while and report progress on the way.",
        "inputSchema": {
            "type": "object",
            "properties": {
                "steps": {"type": "integer", "minimum": 1, "maximum": 1000, "default": 5},
                "seconds": {
                    "type": "number",
                    "minimum": 0,
                    "maximum": 60,
                    "default": 1,
                    "description": "In all",
                },
            },
            "additionalProperties": False,
        },
    },
    {
        "name": "fail",
        "description": "Fail, as tools sometimes do.",
        "inputSchema": {
            "type": "object",
            "properties": {"message": {"type": "string", "default": "this tool always fails"}},
            "additionalProperties": False,
        },
    },
]

_GREETINGS = {"plain": "Hello, {}!", "warm": "How good to see you, {}!", "formal": "Good day, {}."}
_ABOUT = "This agent comes with gaia-mcp. It needs no network and keeps nothing.\n"


class DemoAgent(MCPAgent):
    """Text, structured results, images, sound, resources, links, progress, and a failure."""

    def get_mcp_tool_definitions(self) -> list[dict[str, Any]]:
        return TOOLS

    def execute_mcp_tool(self, tool_name: str, arguments: dict[str, Any]) -> Any:
        if tool_name == "greet":
            return _GREETINGS[arguments.get("style", "plain")].format(arguments["name"])
        if tool_name == "add":
            return {"sum": arguments["a"] + arguments["b"]}
        if tool_name == "picture":
            return _content({"type": "image", "data": _b64(_png(arguments.get("size", 64))), "mimeType": "image/png"})
        if tool_name == "sound":
            tone = _wav(arguments.get("hertz", 440), arguments.get("seconds", 0.2))
            return _content({"type": "audio", "data": _b64(tone), "mimeType": "audio/wav"})
        if tool_name == "attach":
            return _attachments()
        if tool_name == "countdown":
            return self._count_down(arguments.get("steps", 5), arguments.get("seconds", 1))
        if tool_name == "fail":
            raise RuntimeError(arguments.get("message", "this tool always fails"))
        raise ValueError(f"Unknown tool: {tool_name}")

    def _count_down(self, steps: int, seconds: float) -> str:
        call = current_call()
        for done in range(1, steps + 1):
            call.wait(seconds / steps)
            call.progress(done, steps, f"{steps - done} to go")
        return f"counted down from {steps}"

    def get_mcp_prompts(self) -> list[dict[str, Any]]:
        return [
            {
                "name": "introduce",
                "description": "Ask a model to introduce a person.",
                "arguments": [
                    {"name": "name", "description": "Name of the person", "required": True},
                    {"name": "language", "description": "In which language"},
                ],
            }
        ]

    def get_mcp_prompt(self, name: str, arguments: dict[str, str]) -> str:
        """The text of the prompt."""
        if name != "introduce":
            raise ValueError(f"Unknown prompt: {name}")
        return f"Introduce {arguments['name']} in two sentences, in {arguments.get('language', 'English')}."

    def get_mcp_resources(self) -> list[dict[str, Any]]:
        return [
            {
                "uri": "demo://about",
                "name": "about",
                "description": "What this agent is",
                "mimeType": "text/plain",
            },
            {"uri": "demo://logo", "name": "logo", "description": "A small picture", "mimeType": "image/png"},
        ]

    def read_mcp_resource(self, uri: str) -> str | bytes:
        """The content of a resource."""
        if uri == "demo://about":
            return _ABOUT
        if uri == "demo://logo":
            return _png(16)
        raise ValueError(f"Unknown resource: {uri}")

    def get_mcp_server_info(self) -> dict[str, Any]:
        return {
            "name": "demo",
            "title": "GAIA MCP demo",
            "version": __version__,
            "instructions": "Try greet, add, picture, sound, attach, countdown and fail.",
        }


def _content(*blocks: dict[str, Any]) -> dict[str, Any]:
    return {"content": list(blocks)}


def _attachments() -> dict[str, Any]:
    about = {"uri": "demo://about", "mimeType": "text/plain", "text": _ABOUT}
    logo = {"uri": "demo://logo", "mimeType": "image/png", "blob": _b64(_png(16))}
    return _content(
        {"type": "text", "text": "Two resources and a link:"},
        {"type": "resource", "resource": about},
        {"type": "resource", "resource": logo},
        {"type": "resource_link", "uri": "demo://about", "name": "about", "mimeType": "text/plain"},
    )


def _b64(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")


def _png(size: int) -> bytes:
    """A square of `size` pixels in which red grows to the right and green downwards."""
    step = 255 / max(1, size - 1)
    rows = b"".join(
        b"\0" + b"".join(bytes((int(x * step), int(y * step), 160)) for x in range(size)) for y in range(size)
    )
    header = struct.pack(">IIBBBBB", size, size, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        for kind, data in ((b"IHDR", header), (b"IDAT", zlib.compress(rows)), (b"IEND", b""))
    )


def _wav(hertz: float, seconds: float, rate: int = 8000) -> bytes:
    """A sine tone, mono, 16 bits."""
    samples = (int(20000 * math.sin(2 * math.pi * hertz * n / rate)) for n in range(int(rate * seconds)))
    file = io.BytesIO()
    with wave.open(file, "wb") as writer:
        writer.setnchannels(1)
        writer.setsampwidth(2)
        writer.setframerate(rate)
        writer.writeframes(b"".join(struct.pack("<h", sample) for sample in samples))
    return file.getvalue()

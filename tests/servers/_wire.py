"""Lines in and out, for the servers beside this file. They are plain scripts and share nothing else."""

from __future__ import annotations

import json
import os
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

Message = dict[str, Any]
# Answers a request or takes a notification (which has no "id"). None means that nothing is to be said.
Handler = Callable[[Message], "Message | None"]

_writing = threading.Lock()


def write(data: bytes) -> None:
    """Write bytes to standard output at once."""
    with _writing:
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()


def send(message: Any) -> None:
    """Write one message."""
    write(json.dumps(message).encode() + b"\n")


def say(text: str) -> None:
    """Write a line that is no message."""
    write(text.encode() + b"\n")


def note(text: str) -> None:
    """Write a line to the file named by NOTES: what this server has seen, for the test to read."""
    if path := os.environ.get("NOTES"):
        with open(path, "a", encoding="utf-8") as notes:  # noqa: PTH123
            notes.write(text + "\n")


def messages() -> Iterator[Message]:
    """What arrives, until standard input ends."""
    for line in sys.stdin.buffer:
        message = json.loads(line)
        if "method" in message:
            name = message.get("params", {}).get("name", "")
            note(f"{message['method']} {name}".strip())
        yield message


def result(asked: Message, value: Message) -> Message:
    """The answer to a request."""
    return {"jsonrpc": "2.0", "id": asked["id"], "result": value}


def error(asked: Message, code: int, text: str, data: Any = None) -> Message:
    """The refusal of a request."""
    body: Message = {"code": code, "message": text}
    if data is not None:
        body["data"] = data
    return {"jsonrpc": "2.0", "id": asked["id"], "error": body}


def text(value: str) -> Message:
    """A tool's result."""
    return {"content": [{"type": "text", "text": value}]}


def tool(name: str) -> Message:
    """A tool's description."""
    return {"name": name, "description": name, "inputSchema": {"type": "object", "properties": {}}}


def initialized(asked: Message, version: str = "2025-11-25", **capabilities: Any) -> Message:
    """The answer to `initialize`."""
    info = {"name": sys.argv[0].rpartition("/")[2], "version": "1"}
    capabilities = {"tools": {}, **capabilities}
    return result(asked, {"protocolVersion": version, "capabilities": capabilities, "serverInfo": info})


def handshake(message: Message) -> Message | None:
    """What a plain server of the handshake era answers: one tool, `echo`, which gives back its arguments."""
    if "id" not in message or "method" not in message:
        return None
    method, params = message["method"], message.get("params", {})
    if method == "initialize":
        return initialized(message)
    if method == "ping":
        return result(message, {})
    if method == "tools/list":
        return result(message, {"tools": [tool("echo")]})
    if method == "tools/call":
        return result(message, text(json.dumps(params.get("arguments", {}))))
    return error(message, -32601, "Method not found")


def serve(handler: Handler = handshake) -> None:
    """Answer one message after the other until standard input ends."""
    for message in messages():
        answer = handler(message)
        if answer is not None:
            send(answer)

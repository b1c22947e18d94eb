"""Encodes outgoing messages as JSON, including those whose result or log data is not JSON-serializable."""

from __future__ import annotations

from typing import Any

from gaia_mcp.protocol.jsonrpc import INTERNAL_ERROR, Message, encode, error


def encode_outgoing(message: Message | list[Message]) -> bytes:
    """The message as one line. A response that is not JSON becomes an error response: its client waits for one."""
    try:
        return encode(message)
    except (TypeError, ValueError) as problem:
        if isinstance(message, list):
            return b"[" + b",".join(encode_outgoing(part).rstrip() for part in message) + b"]\n"
        return encode(error(message.get("id"), INTERNAL_ERROR, f"the result is not JSON: {problem}"))


def as_json(data: Any) -> Any:
    """`data`, or its text if it cannot be written as JSON."""
    try:
        encode(data)
    except (TypeError, ValueError):
        return str(data)
    return data

"""The message log of a client with `debug`: every message sent or received, at DEBUG level and without secrets."""

from __future__ import annotations

import json
import logging
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gaia_mcp.client.transports.base import Channel

logger = logging.getLogger("gaia_mcp")

# The result of a tool may have megabytes.
MAX_LOGGED_CHARS = 10_000


class MessageLog:
    """Logs the messages on `channel`. Never raises, even for a message that cannot be written as JSON."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        logger.setLevel(logging.DEBUG)

    def sent(self, message: Any) -> None:
        """Log a message to the server."""
        self._log("->", _as_text(message))

    def received(self, arrived: Any) -> None:
        """Log a record, or a message that is parsed already, from the server."""
        is_record = isinstance(arrived, bytes)
        self._log("<-", arrived.decode(errors="replace").rstrip() if is_record else _as_text(arrived))

    def _log(self, direction: str, text: str) -> None:
        masked = self._channel.masker().text(text)
        if len(masked) > MAX_LOGGED_CHARS:
            masked = f"{masked[:MAX_LOGGED_CHARS]}… ({len(masked)} characters)"
        logger.debug("MCP server %r %s %s", self._channel.name, direction, masked)


def _as_text(message: Any) -> str:
    try:
        return json.dumps(message, ensure_ascii=False, default=repr)
    except (TypeError, ValueError, RecursionError) as problem:
        return f"a message that cannot be written as JSON: {problem}"

"""What can be observed of a conversation: trace context and spans for requests, and the message log of a client with
`debug`, without secrets.

Imported only if there may be a trace, or with `debug`.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

from gaia_mcp.core.tracing import has_spans, with_trace
from gaia_mcp.protocol.jsonrpc import Result

if TYPE_CHECKING:
    from gaia_mcp.client.transports.base import Channel
    from gaia_mcp.protocol.events import ErrorResponse

Params: TypeAlias = "dict[str, Any] | None"
# The result of a tool may have megabytes.
MAX_LOGGED_CHARS = 10_000


def traced_call(
    call: Callable[[Params], Result | ErrorResponse],
    method: str,
    params: Params,
    attributes: Callable[[], Mapping[str, str | int]],
    mask: Callable[[str], str],
) -> Result | ErrorResponse:
    """Call `call` with `params` that carry the trace context, and return its result. If spans are recorded, the call is
    one with these attributes; `mask` is applied to text from the server. Raises what `call` raises.
    """
    if not has_spans():
        return call(with_trace(params or {}) or params)
    from gaia_mcp.core.spans import are_recorded, client_span

    if not are_recorded():
        return call(with_trace(params or {}) or params)
    with client_span(method, params or {}, attributes()) as span:
        outcome = call(with_trace(params or {}) or params)
        span.identify(outcome.id)
        if isinstance(outcome, Result):
            span.returned(outcome.result)
        else:
            span.refused(outcome.code, mask(outcome.text))
        return outcome


logger = logging.getLogger("gaia_mcp")


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

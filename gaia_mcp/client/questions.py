"""The input that a server requires before a request can continue: the host is asked, while the deadline is paused.

Knows no connection. In the stateless era the input requests are part of a result (input-required). In 2025-11-25 the
URLs that the user has to open first are part of an error.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gaia_mcp.client.host import DeclinedError, Host, UnsupportedError
from gaia_mcp.errors import CancelledError, PeerError, RemoteProtocolError
from gaia_mcp.protocol.input_required import FIRST, required_urls

if TYPE_CHECKING:
    from gaia_mcp.deadline import Deadline


def answers(server: str, host: Host, questions: dict[str, dict[str, Any]], deadline: Deadline) -> dict[str, Any]:
    """The host's answers by the keys of `questions`, each of which has a `method` and perhaps `params`.

    Raises `RemoteProtocolError` for a question whose capability the host did not declare, `CancelledError` if the user
    rejects a sampling request.
    """
    found: dict[str, Any] = {}
    deadline.hold()
    try:
        for key, question in questions.items():
            found[key] = host.answer(question["method"], question.get("params", {}))
    except UnsupportedError as unsupported:
        raise RemoteProtocolError(server, f"asked for {unsupported}, which this client did not declare") from None
    except DeclinedError as declined:
        # The server cannot be notified, and does not wait.
        raise CancelledError(server, str(declined) or "what the server wanted to know") from None
    finally:
        deadline.release()
    return found


def are_opened(host: Host, error: PeerError, deadline: Deadline) -> bool:
    """Whether the user has opened every URL that `error` requires; False also if it requires none. After the first one
    that the user declines, the rest are skipped.
    """
    urls = required_urls(error.code, error.data)
    deadline.hold()
    try:
        return bool(urls) and all(
            host.answer("elicitation/create", {**each, "mode": "url", "_meta": {FIRST: True}}).get("action") == "accept"
            for each in urls
        )
    finally:
        deadline.release()

"""What a server wants to know or to have done before a request can go on: asked of the host, while the deadline waits.

Knows no connection. In the stateless era questions are part of a result (input-required). In 2025-11-25 the URLs that a
person has to open first are part of an error.
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

    Raises `RemoteProtocolError` for a question that the host did not declare, `CancelledError` if the person does not
    want a model to be asked.
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
    """Whether the person has opened every URL that `error` requires; False also if it requires none. After one that is
    declined, the others are not asked about.
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

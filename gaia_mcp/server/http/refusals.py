"""Refused requests: the status, and the JSON-RPC error in the body of the response."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gaia_mcp.protocol.jsonrpc import INTERNAL_ERROR, INVALID_REQUEST, RequestId
from gaia_mcp.store import StoreError, StoreFullError

Headers = Sequence[tuple[bytes, bytes]]


class RefusalError(Exception):
    """The request is answered with `status` and a JSON-RPC error with `code`, `text` and `data`.

    `request_id` is the id of the request, None if it was not read.
    """

    def __init__(
        self,
        status: int,
        text: str,
        code: int = INVALID_REQUEST,
        *,
        data: Any = None,
        request_id: RequestId | None = None,
        headers: Headers = (),
    ) -> None:
        super().__init__(text)
        self.status = status
        self.text = text
        self.code = code
        self.data = data
        self.request_id = request_id
        self.headers = headers


# In seconds. Long enough that retries do not add to the load, short enough for a person to wait.
RETRY_AFTER = b"2"


def store_failed(problem: StoreError) -> RefusalError:
    """The refusal of a request because the store is full or fails."""
    return overloaded(store_problem(problem))


def store_problem(problem: StoreError) -> str:
    """What is wrong with the store, without the message of the exception, which may contain a URL."""
    return "the store is full" if isinstance(problem, StoreFullError) else "the store does not answer"


def overloaded(what: str, request_id: RequestId | None = None) -> RefusalError:
    """The refusal of a request with status 503. `what` is the reason."""
    headers = ((b"retry-after", RETRY_AFTER),)
    return RefusalError(503, f"{what}; repeat this later", INTERNAL_ERROR, request_id=request_id, headers=headers)

"""Requests that are not served: the status, and the JSON-RPC error that is their body."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gaia_mcp.protocol.jsonrpc import INTERNAL_ERROR, INVALID_REQUEST, RequestId
from gaia_mcp.store import StoreError, StoreFullError

Headers = Sequence[tuple[bytes, bytes]]


class RefusalError(Exception):
    """The request is answered with `status` and a JSON-RPC error with `code`, this text and `data`.

    `request_id` is the id of the request, None where it was not read.
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


# In seconds. Long enough that a client does not add to the load, short enough for a person to wait for.
RETRY_AFTER = b"2"


def store_failed(problem: StoreError) -> RefusalError:
    """The store, without which the request cannot be served, is full or fails."""
    what = "the store is full" if isinstance(problem, StoreFullError) else "the store does not answer"
    return overloaded(what)


def overloaded(what: str, request_id: RequestId | None = None) -> RefusalError:
    """There is no place for one more of what `what` names."""
    headers = ((b"retry-after", RETRY_AFTER),)
    return RefusalError(503, f"{what}; repeat this later", INTERNAL_ERROR, request_id=request_id, headers=headers)

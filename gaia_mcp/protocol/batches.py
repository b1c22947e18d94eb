"""Batches (2025-03-26): arrays of requests, whose responses are sent together in one array."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gaia_mcp.protocol.jsonrpc import Message, RequestId


class Batches:
    """The batches that have open requests. `id in batches`: an open request with this id is part of a batch."""

    def __init__(self) -> None:
        self._of: dict[RequestId, _Batch] = {}

    def __contains__(self, request_id: RequestId) -> bool:
        return request_id in self._of

    def begin(self, ids: set[RequestId], responses: list[Message]) -> bool:
        """Add a batch of requests with these ids, and the responses known already. Returns whether any is open."""
        self._of.update(dict.fromkeys(ids, _Batch(ids, responses)))
        return bool(ids)

    def finish(self, request_id: RequestId, response: Message | None) -> list[Message]:
        """End a request, with or without a response. Returns all responses of its batch if it was the last one."""
        batch = self._of.pop(request_id)
        batch.open_ids.discard(request_id)
        if response is not None:
            batch.responses.append(response)
        return [] if batch.open_ids else batch.responses


class _Batch:
    def __init__(self, open_ids: set[RequestId], responses: list[Message]) -> None:
        self.open_ids = set(open_ids)
        self.responses = list(responses)

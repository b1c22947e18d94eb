"""Batches: which responses are sent together."""

from __future__ import annotations

from gaia_mcp.protocol.jsonrpc import result
from gaia_mcp.protocol.server import Batches


def test_the_responses_of_a_batch_are_returned_together() -> None:
    """Spec 2025-03-26, batching: one array, when the last request has its response."""
    batches = Batches()

    assert batches.begin({1, 2}, [])

    assert 1 in batches
    assert batches.finish(1, result(1, {})) == []
    assert 1 not in batches
    assert batches.finish(2, result(2, {})) == [result(1, {}), result(2, {})]


def test_a_cancelled_request_has_no_response_in_its_batch() -> None:
    """Spec 2025-03-26, batching."""
    batches = Batches()
    batches.begin({1, "b"}, [result(9, {})])
    batches.finish("b", None)

    assert batches.finish(1, None) == [result(9, {})]


def test_a_batch_without_requests_is_not_opened() -> None:
    """Spec 2025-03-26, batching: notifications alone get no array."""
    assert not Batches().begin(set(), [])

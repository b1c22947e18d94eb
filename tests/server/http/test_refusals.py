"""Refused requests: status and error."""

from __future__ import annotations

import pytest

from gaia_mcp.server.http.refusals import RefusalError, overloaded, store_failed
from gaia_mcp.store import StoreError, StoreFullError


def test_a_refusal_has_a_status_and_an_error() -> None:
    """Ours: for HTTP, and for the JSON-RPC client behind it."""
    refusal = RefusalError(400, "no", -32602, data={"a": 1}, request_id=7)

    assert (refusal.status, refusal.text, refusal.code, refusal.data, refusal.request_id) == (
        400,
        "no",
        -32602,
        {"a": 1},
        7,
    )
    assert str(refusal) == "no"
    assert refusal.headers == ()


@pytest.mark.parametrize("problem", [StoreError("password"), StoreFullError("password")])
def test_a_failing_store_is_a_503_with_retry_after(problem: StoreError) -> None:
    """Ours: the reason is only for the owner of the server, for it may contain a URL with a password."""
    refusal = store_failed(problem)

    assert refusal.status == 503
    assert ("is full" in refusal.text) == isinstance(problem, StoreFullError)
    assert "password" not in refusal.text
    assert dict(refusal.headers)[b"retry-after"].isdigit()


def test_an_overloaded_server_sends_retry_after() -> None:
    """RFC 9110, section 15.6.4."""
    refusal = overloaded("too many", 3)

    assert (refusal.status, refusal.request_id) == (503, 3)
    assert dict(refusal.headers)[b"retry-after"].isdigit()

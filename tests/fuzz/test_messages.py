"""A little of `python -m tests.fuzz messages`, and proof that its oracles find something."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from gaia_mcp.protocol.jsonrpc import Result
from tests.fuzz.clients import ClientSession
from tests.fuzz.messages import TARGETS, faults
from tests.fuzz.mutations import Mutator
from tests.fuzz.oracles import Fault, check_from_server, on_wire, read_strictly
from tests.fuzz.servers import Ledger
from tests.protocol_support import enveloped, rpc_result

# Enough for every branch of a session; the rest is for a run by hand. Of those over pipes fewer do.
RECORDS = {"serve": 1000, "child": 300}


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.story if name in ("serve", "child") else ()) for name in TARGETS]
)
def test_mutated_messages_cause_no_fault(name: str) -> None:
    """Ours: no exception, no hang, no wrong or second outcome, and nothing invalid is sent."""
    assert list(faults(TARGETS[name], RECORDS.get(name, 4000), seed=1)) == []


def test_the_same_seed_makes_the_same_records() -> None:
    """Ours: a fault can be followed."""
    message = enveloped(1, "tools/call", {"name": "x", "arguments": {"a": [1, "b"]}})

    def records() -> list[bytes]:
        mutator = Mutator(Random(5))
        return [mutator.record(message) for _ in range(200)]

    assert records() == records()
    assert len(set(records())) > 150


def test_a_message_that_a_peer_cannot_read_is_found() -> None:
    """Ours: the oracle can fail."""
    messages: list[Any] = [rpc_result(1, {"a": float("nan")}), rpc_result(1, {"a": object()}), {1: {2}}]

    for message in messages:
        with pytest.raises(Fault):
            on_wire(message)


def test_a_line_that_a_peer_cannot_read_is_found() -> None:
    """Ours: the oracle can fail."""
    lines = [
        b"{}", b"{}\n{}\n", b"\xff\n", b'{"a":"\xed\xa0\x80"}\n', b'{"a":"\\ud800"}\n', b'{"a":NaN}\n', b"{\n",
    ]  # fmt: skip

    assert not [line for line in lines if not is_refused(line)]


def is_refused(line: bytes) -> bool:
    try:
        read_strictly(line)
    except Fault:
        return True
    return False


def test_a_result_that_does_not_match_its_type_is_found() -> None:
    """Ours: the oracle can fail."""
    with pytest.raises(Fault):
        check_from_server(rpc_result(1, {"tools": {}}), "2025-11-25", "tools/list")


def test_the_ledger_expects_one_response_for_each_request() -> None:
    """Ours: with the very id of the request, and no response without a request."""
    ledger = Ledger()
    ledger.received(b'[{"jsonrpc":"2.0","id":1,"method":"ping"}]', None, takes_batches=False)
    assert ledger.unpaid() == []
    ledger.received(b'{"jsonrpc":"2.0","id":1,"method":"ping"}', None, takes_batches=False)
    ledger.received(b'{"jsonrpc":"2.0","id":2,"method":"ping"}', None, takes_batches=False)
    cancelled = b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}'
    ledger.received(cancelled, None, takes_batches=False)
    assert ledger.unpaid() == [1]

    with pytest.raises(Fault):
        ledger.sent(rpc_result("1", {}), None)
    ledger.sent(rpc_result(1, {}), None)

    assert ledger.unpaid() == []
    with pytest.raises(Fault):
        ledger.sent(rpc_result(1, {}), None)


def test_a_response_to_the_wrong_request_is_found() -> None:
    """Ours: the oracle can fail."""
    session = ClientSession(Random(1))
    for outcome in (Result(7, {}), Result("1", {})):
        with pytest.raises(Fault):
            session.check_event(outcome, [b'{"jsonrpc":"2.0","id":7,"result":{}}'])

"""A little of `python -m tests.fuzz messages`, and proof that its oracles find something."""

from __future__ import annotations

from random import Random

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
def test_mutated_messages_do_no_harm(name: str) -> None:
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


@pytest.mark.parametrize(
    "message",
    [rpc_result(1, {"a": float("nan")}), rpc_result(1, {"a": object()}), {1: {2}}],
)
def test_a_message_that_a_peer_cannot_read_is_found(message: dict[str, object]) -> None:
    """Ours: the oracle can fail."""
    with pytest.raises(Fault):
        on_wire(message)


@pytest.mark.parametrize(
    "line", [b"{}", b"{}\n{}\n", b"\xff\n", b'{"a":"\xed\xa0\x80"}\n', b'{"a":"\\ud800"}\n', b'{"a":NaN}\n', b"{\n"]
)
def test_a_line_that_a_peer_cannot_read_is_found(line: bytes) -> None:
    """Ours: the oracle can fail."""
    with pytest.raises(Fault):
        read_strictly(line)


def test_a_result_that_the_types_refuse_is_found() -> None:
    """Ours: the oracle can fail."""
    with pytest.raises(Fault):
        check_from_server(rpc_result(1, {"tools": {}}), "2025-11-25", "tools/list")


def test_what_a_server_owes_is_counted() -> None:
    """Ours: one response for each request, with its very id, and none that was not asked for."""
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


def test_an_outcome_of_the_wrong_request_is_found() -> None:
    """Ours: the oracle can fail."""
    session = ClientSession(Random(1))
    for outcome in (Result(7, {}), Result("1", {})):
        with pytest.raises(Fault):
            session.check_event(outcome, [b'{"jsonrpc":"2.0","id":7,"result":{}}'])

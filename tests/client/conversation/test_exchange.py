from __future__ import annotations

from gaia_mcp.client.conversation.exchange import Exchange, Waiter
from gaia_mcp.client.transports.stdio.child import Child
from gaia_mcp.deadline import Deadline
from gaia_mcp.protocol.client import ClientConnection
from gaia_mcp.protocol.jsonrpc import Result


def test_a_fresh_exchange_has_neither_begun_nor_ended() -> None:
    """Ours: nothing of an earlier pipe is carried over."""
    connection = ClientConnection("s", info={}, capabilities={})
    pipe = Child("s", "never-started", [], environment={}, cwd=None)

    exchange = Exchange(connection, pipe)

    assert (exchange.connection, exchange.pipe) == (connection, pipe)
    assert (exchange.is_open, exchange.lost, exchange.opening) == (False, None, None)
    assert (exchange.reader, exchange.turns) == (None, None)
    assert (exchange.waiters, exchange.questions, exchange.telling) == ({}, 0, None)


def test_a_waiter_is_given_outcomes_in_their_order() -> None:
    """Ours: progress first, then the answer."""
    waiter = Waiter(Deadline(1))
    assert waiter.progress is None
    for number in (1, 2):
        waiter.outcomes.put(Result(number, {}))

    assert [waiter.outcomes.get_nowait(), waiter.outcomes.get_nowait()] == [Result(1, {}), Result(2, {})]

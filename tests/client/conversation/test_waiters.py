"""What a caller of a channel waits for."""

from __future__ import annotations

from gaia_mcp.client.conversation.waiters import Waiter
from gaia_mcp.client.transports.memory import MemoryChannel
from gaia_mcp.deadline import Deadline
from gaia_mcp.protocol.events import Progressed
from gaia_mcp.protocol.jsonrpc import Result


def test_outcomes_are_taken_in_their_order_and_none_wakes_the_caller() -> None:
    """Ours: a late result must not overtake what came before it."""
    waiter = Waiter(MemoryChannel("s", print), Deadline(5))
    first, second = Result(1, {}), Result(1, {"a": 1})

    waiter.outcomes.put(first)
    waiter.wake()
    waiter.outcomes.put(second)

    assert [waiter.outcomes.get_nowait() for _ in range(3)] == [first, None, second]
    assert waiter.progress is None


def test_of_several_reports_of_progress_the_newest_is_kept() -> None:
    """Ours: a caller that is slow to hear of it need not keep them all."""
    waiter = Waiter(MemoryChannel("s", print), Deadline(5))
    reports = [Progressed(1, number, None, "") for number in range(3)]

    for progressed in reports:
        waiter.report(progressed)

    assert waiter.progress == reports[-1]
    assert [waiter.outcomes.get_nowait(), waiter.outcomes.empty()] == [reports[0], True]

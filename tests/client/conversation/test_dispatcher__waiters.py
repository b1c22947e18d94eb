"""The callers that wait on a channel."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gaia_mcp.client.conversation import dispatcher as module
from gaia_mcp.client.conversation.dispatcher import RequestFailed, Waiter
from gaia_mcp.client.transports.in_process import MemoryChannel
from gaia_mcp.core.deadline import Deadline
from gaia_mcp.core.errors import UnansweredError
from gaia_mcp.protocol.events import Progressed
from gaia_mcp.protocol.jsonrpc import Result
from tests.interleavings import explore

if TYPE_CHECKING:
    from collections.abc import Callable

    import pytest

    from tests.interleavings import Run, Threads


def test_outcomes_and_wake_ups_are_taken_in_order() -> None:
    """Ours: a late result must not overtake what came before it."""
    waiter = Waiter(MemoryChannel("s", print), Deadline(5))
    first, second = Result(1, {}), Result(1, {"a": 1})

    waiter.outcomes.put(first)
    waiter.wake()
    waiter.outcomes.put(second)

    assert [waiter.outcomes.get_nowait() for _ in range(3)] == [first, None, second]
    assert waiter.newest_progress() is None


def test_a_failed_request_has_the_error_as_its_outcome() -> None:
    """Ours: a response that arrives later must not replace it."""
    waiter = Waiter(MemoryChannel("s", print), Deadline(5))
    error = UnansweredError("s", "asks 'Well?'")

    waiter.fail(error)
    waiter.outcomes.put(Result(1, {}))

    assert waiter.outcomes.get_nowait() == RequestFailed(error)


def test_only_the_newest_progress_is_stored() -> None:
    """Ours: reports must not accumulate while the caller is busy."""
    waiter = Waiter(MemoryChannel("s", print), Deadline(5))
    reports = [Progressed(1, number, None, "") for number in range(3)]

    for progressed in reports:
        waiter.report(progressed)

    assert [waiter.outcomes.get_nowait(), waiter.outcomes.empty()] == [reports[0], True]
    assert waiter.newest_progress() == reports[-1]


def test_progress_that_arrives_during_a_wake_up_is_not_lost() -> None:
    """Ours: a wake-up is in the same queue as the outcomes."""
    waiter = Waiter(MemoryChannel("s", print), Deadline(5))
    progressed = Progressed(1, 1, None, "")

    waiter.wake()
    waiter.report(progressed)

    assert [waiter.outcomes.get_nowait(), waiter.outcomes.get_nowait()] == [None, progressed]


def test_in_every_interleaving_the_newest_progress_is_received(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ours: a report that arrives while the previous one is taken is announced again, or taken with it."""
    reports = [Progressed(1, number, None, "") for number in range(3)]

    def scenario(run: Run, threads: Threads) -> Callable[[], None]:
        monkeypatch.setattr(module, "SimpleQueue", threads.SimpleQueue)
        waiter = Waiter(MemoryChannel("s", print), Deadline(5))
        heard: list[Progressed | None] = []

        def read() -> None:
            for progressed in reports:
                waiter.report(progressed)
                run.step()

        def hear() -> None:
            while reports[-1] not in heard:
                waiter.outcomes.get()
                run.step()
                heard.append(waiter.newest_progress())

        run.spawn(read, "reader")
        run.spawn(hear, "caller")
        run.spawn(waiter.wake, "wake")
        return lambda: None

    assert explore(scenario, detours=4) > 100

"""Which ends of threads are reported."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from gaia_mcp.server.running_call import InputRequired
from gaia_mcp.server.threads import report_no_ended_runs

if TYPE_CHECKING:
    from collections.abc import Callable

    import pytest


def end_thread_with(error: BaseException) -> None:
    def fail() -> None:
        raise error

    thread = threading.Thread(target=fail)
    thread.start()
    thread.join()


def test_a_thread_that_ends_with_input_required_is_not_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ours: others are reported as they were before, however many servers there are in a process."""
    reported: list[object] = []
    monkeypatch.setattr(threading, "excepthook", lambda ended: reported.append(ended.exc_value))
    report_no_ended_runs()
    hook: Callable[..., object] = threading.excepthook
    report_no_ended_runs()
    assert threading.excepthook is hook

    problem = ValueError("odd")
    for error in (InputRequired(), problem, InputRequired()):
        end_thread_with(error)

    assert reported == [problem]

"""One handler of a manager: its errors, its shutdown, and every order of its calls."""

from __future__ import annotations

import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

from gaia_mcp import fleet
from gaia_mcp.contrib.handlers import managed_handler
from gaia_mcp.contrib.handlers.handler_manager import MCPManager
from gaia_mcp.contrib.handlers.handler_threads import log_failure
from gaia_mcp.contrib.handlers.managed_handler import ManagedHandler
from tests.contrib.handlers.handlers_under_test import ProgrammableHandler, registry_of
from tests.interleavings import Run, Threads, explore
from tests.waiting import wait_until

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType

    import pytest

# The code that one call passes through.
CODE = (str(Path(managed_handler.__file__).parent), fleet.__file__)


def test_in_every_order_three_errors_trip_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A7: under concurrency too, and a shutdown at the same time leaves nothing behind."""

    def scenario(run: Run, fake: Threads) -> Callable[[], object]:
        handler = ProgrammableHandler("one", "fail")
        handler.on_call = handler.fail
        shown: list[str] = []
        managed = ManagedHandler(handler, shown.append, lambda *_: None, lambda: 0.0, log_failure)
        managed.discover()
        monkeypatch.setattr(managed_handler, "threading", fake)
        managed._lock = fake.RLock()  # type: ignore[assignment]
        for number in range(4):
            run.spawn(lambda: managed.call("fail", {}), f"call {number}")

        def check() -> None:
            assert shown == ["MCP handler 'one' is disabled after 3 consecutive errors"]
            assert managed.errors == 3
            managed.shut_down()
            assert (managed.errors, managed.has_failed) == (0, False)

        return check

    assert explore(scenario, detours=2) > 20


def test_a_handler_that_is_connected_too_late_is_disconnected(caplog: pytest.LogCaptureFixture) -> None:
    """A5: its thread was left behind, and ends what it has made."""
    released = threading.Event()
    handler = ProgrammableHandler("late", "echo", timeout=0.1)
    handler.on_connect = lambda: released.wait(30)
    shown: list[str] = []
    managed = ManagedHandler(handler, shown.append, lambda *_: None, time.monotonic, log_failure)
    managed.discover()
    assert managed.has_failed
    assert shown == ["MCP handler 'late' failed to connect: it did not return within 0.1 s"]

    released.set()

    wait_until(lambda: handler.disconnects == 1)
    assert not handler._connected
    managed.shut_down()


def test_a_signal_handler_may_shut_down_at_any_line_of_a_call() -> None:
    """Ours: no lock is waited for that the interrupted thread itself holds."""

    def call(at: tuple[str, int] | None) -> list[tuple[str, int]]:
        """One call, with a shutdown before the line `at`; the lines that it passed through until then."""
        manager = MCPManager(registry_of(ProgrammableHandler("one", "echo")))
        manager.get_tools_for_scope()
        passed: dict[tuple[str, int], None] = {}

        def trace(frame: FrameType, event: str, _: object) -> object:
            place = (frame.f_code.co_filename, frame.f_lineno)
            if not place[0].startswith(CODE):
                return None
            if event == "line":
                passed.setdefault(place)
                if place == at:
                    sys.settrace(None)
                    manager.shutdown_all()
            return trace

        sys.settrace(trace)
        try:
            manager.call_tool("echo", {"text": "a"})
        finally:
            sys.settrace(None)
            manager.shutdown_all()
        return list(passed)

    def work() -> None:
        try:
            for place in call(None):
                tried.append(place)
                call(place)
        except BaseException as error:
            problems.append(error)
        finished.set()

    tried: list[tuple[str, int]] = []
    problems: list[BaseException] = []
    finished = threading.Event()
    threading.Thread(target=work, daemon=True).start()

    assert finished.wait(120), f"it hangs at {tried[-1]}"
    assert problems == [], tried[-1]
    assert len(tried) > 60

"""The threads of a handler: what they run, what is left behind, and every order of their steps."""

from __future__ import annotations

import subprocess
import sys
import threading
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

import pytest

from gaia_mcp.asking import Call, CallCancelledError, current_call
from gaia_mcp.contrib.handlers import handler_threads
from gaia_mcp.contrib.handlers import handler_threads as handler_connection
from gaia_mcp.contrib.handlers.base import MCPHandlerConfig, MCPToolResult
from gaia_mcp.contrib.handlers.handler_manager import MCPManager
from gaia_mcp.contrib.handlers.handler_threads import (
    MAX_IDLE,
    MAX_LEFT_BEHIND,
    HandlerConnection,
    HandlerExitError,
    HandlerHungError,
    HandlerThreads,
    TooManyHungError,
)
from gaia_mcp.core.deadline import Deadline
from tests.contrib.handlers.echo import EchoHandler
from tests.contrib.handlers.handlers_under_test import Console, ProgrammableHandler, at_once, registry_of
from tests.interleavings import Run, Threads, explore
from tests.waiting import PATIENCE_SECONDS, wait_until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@pytest.fixture
def threads() -> Iterator[HandlerThreads]:
    threads = HandlerThreads("tested")
    yield threads
    threads.close()


@pytest.fixture
def released() -> Iterator[threading.Event]:
    event = threading.Event()
    yield event
    event.set()


def running(name: str = "tested") -> int:
    return sum(thread.name == f"MCP handler {name}" for thread in threading.enumerate())


def test_run_returns_the_value_or_raises_the_exception(threads: HandlerThreads) -> None:
    """Ours: as if it were called here; what would end a thread is an ordinary exception."""
    assert threads.run(lambda: 5, Deadline(5)) == 5
    with pytest.raises(ZeroDivisionError):
        threads.run(lambda: 1 / 0, Deadline(5))
    with pytest.raises(HandlerExitError, match="SystemExit was raised: 3"):
        threads.run(lambda: sys.exit(3), Deadline(5))
    with pytest.raises(HandlerExitError, match=r"^SystemExit$"):
        threads.run(sys.exit, Deadline(5))
    with pytest.raises(KeyError):
        threads.run(lambda: {}[1], Deadline(5))


def test_consecutive_runs_use_the_same_thread(threads: HandlerThreads) -> None:
    """Ours: it is not this one, and does not end in between."""
    found = {threads.run(threading.get_ident, Deadline(5)) for _ in range(50)}

    assert len(found) == 1
    assert found != {threading.get_ident()}


def test_the_number_of_idle_threads_is_limited(threads: HandlerThreads) -> None:
    """Ours: after many calls at once."""
    barrier = threading.Barrier(20)

    at_once(20, lambda _: threads.run(lambda: barrier.wait(PATIENCE_SECONDS), Deadline(2 * PATIENCE_SECONDS)))

    wait_until(lambda: running() == MAX_IDLE)


def test_code_runs_with_the_context_variables_of_the_caller(threads: HandlerThreads) -> None:
    """Ours: tracing and logging of a program go on working."""
    variable: ContextVar[str] = ContextVar("variable", default="")
    variable.set("here")

    assert threads.run(variable.get, Deadline(5)) == "here"


def test_code_that_hangs_is_abandoned_and_its_call_cancelled(threads: HandlerThreads) -> None:
    """A8: and its thread is used again when it returns."""
    calls: list[Call] = []

    def hang() -> None:
        calls.append(current_call())
        with pytest.raises(CallCancelledError):
            current_call().wait(30)

    with pytest.raises(HandlerHungError, match=r"within 0\.05 s"):
        threads.run(hang, Deadline(0.05))

    # On a busy machine it may begin only now.
    wait_until(lambda: calls)
    assert calls[0].is_cancelled
    wait_until(lambda: threads._left_behind == 0)
    assert threads.run(lambda: 5, Deadline(5)) == 5


def test_the_number_of_abandoned_threads_is_limited(threads: HandlerThreads, released: threading.Event) -> None:
    """A8: the number of threads that are left behind is bounded."""
    for _ in range(MAX_LEFT_BEHIND):
        call = Call()
        threading.Timer(0.01, call.cancel).start()
        with pytest.raises(CallCancelledError):
            threads.run(lambda: released.wait(30), Deadline(30), call)

    with pytest.raises(TooManyHungError):
        threads.run(lambda: 5, Deadline(5))
    assert running() == MAX_LEFT_BEHIND

    released.set()
    wait_until(lambda: threads._left_behind == 0)
    assert threads.run(lambda: 5, Deadline(5)) == 5


def test_threads_can_be_used_again_after_close(threads: HandlerThreads) -> None:
    """Ours: a handler may be used again after a shutdown."""
    threads.run(lambda: 5, Deadline(5))
    threads.close()
    wait_until(lambda: running() == 0)

    assert threads.run(lambda: 6, Deadline(5)) == 6


@pytest.mark.story
def test_code_that_hangs_does_not_keep_the_process_from_exiting() -> None:
    """A8: neither what hangs in a call, nor in `connect()`, nor in `disconnect()`."""
    program = (
        "import threading\n"
        "from tests.contrib.handlers.handlers_under_test import ProgrammableHandler, registry_of\n"
        "from gaia_mcp import MCPManager\n"
        "hang = lambda *_: threading.Event().wait()\n"
        "one, two = (ProgrammableHandler(name, name, timeout=0.1) for name in ('one', 'two'))\n"
        "one.on_call = two.on_connect = hang\n"
        "with MCPManager(registry_of(one, two)) as manager:\n"
        "    print(manager.call_tool('one', {}).is_error, manager.call_tool('two', {}).is_error)\n"
    )

    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True)

    assert ran.stdout == "True True\n"


def test_in_every_order_a_call_ends_or_is_cancelled(monkeypatch: pytest.MonkeyPatch) -> None:
    """A8, in every order of the steps: one of the two, and nothing is counted as left behind in the end."""

    def scenario(run: Run, fake: Threads) -> Callable[[], object]:
        monkeypatch.setattr(handler_threads, "threading", fake)
        threads, call = HandlerThreads("tested"), Call()
        outcomes: list[Any] = []

        def work() -> None:
            try:
                outcomes.append(threads.run(lambda: run.step() or "value", Deadline(5), call))
            except CallCancelledError:
                outcomes.append("cancelled")
            outcomes.append(threads.run(lambda: "next", Deadline(5)))

        def cancel() -> None:
            run.step()
            call.cancel()

        run.spawn(work, "caller")
        run.spawn(cancel, "canceller")

        def check() -> None:
            assert outcomes in (["value", "next"], ["cancelled", "next"])

        return check

    assert explore(scenario, detours=3) > 300


def test_in_every_order_two_calls_get_their_own_values(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ours, in every order of the steps, also while the threads are closed: nothing is lost or mixed."""

    def scenario(run: Run, fake: Threads) -> Callable[[], object]:
        monkeypatch.setattr(handler_threads, "threading", fake)
        threads = HandlerThreads("tested")
        found: dict[str, list[str]] = {"a": [], "b": []}

        def work(name: str) -> None:
            for number in range(2):
                found[name].append(threads.run(lambda: f"{name}{number}", Deadline(5)))  # noqa: B023 (it runs at once)

        run.spawn(lambda: work("a"), "a")
        run.spawn(lambda: work("b"), "b")
        run.spawn(threads.close, "closer")

        def check() -> None:
            assert found == {"a": ["a0", "a1"], "b": ["b0", "b1"]}

        return check

    assert explore(scenario, detours=2) > 300


def test_secrets_of_the_settings_are_masked_in_errors() -> None:
    """Ours: HTTP clients repeat URLs with keys in them, in exceptions that handlers raise or report."""
    url = "https://prices.example/v1?key=pr1vate-w0rds"

    def refuse(*_: object) -> MCPToolResult:
        raise RuntimeError(f"404 for {url}")

    def report(*_: object) -> MCPToolResult:
        return MCPToolResult("", is_error=True, error_message=f"Failed: {url}")

    settings = {"api_key": "pr1vate-w0rds", "region": "eastus"}
    calling, listing, connecting = (
        ProgrammableHandler(name, f"{name}_tool", settings=settings) for name in ("calling", "listing", "connecting")
    )
    listing.on_list = connecting.on_connect = refuse
    console = Console()

    with MCPManager(registry_of(calling, listing, connecting), console) as manager:
        for way, words in ((refuse, "404 for"), (report, "Failed:")):
            calling.on_call = way
            error = manager.call_tool("calling_tool", {"text": "hi"}).error_message
            assert f"{words} https://prices.example/v1?key=****" in error

        # The others are discovered by themselves.
        wait_until(lambda: len(console.warnings) == 2)

    assert all("key=****" in warning for warning in console.warnings)


def test_settings_that_contain_themselves_are_accepted() -> None:
    """Ours: a program may give a handler any objects."""
    settings: dict[str, Any] = {"session": object()}
    settings["self"] = settings
    handler = ProgrammableHandler("calc", "add", settings=settings)
    handler.on_call = handler.fail

    with MCPManager(registry_of(handler)) as manager:
        assert manager.call_tool("add", {}).error_message == "it failed"


class Stepping(EchoHandler):
    """Takes a step in everything it does, and fails if two things are done at once."""

    def __init__(self, run: Run) -> None:
        super().__init__(MCPHandlerConfig("stepping"))
        self.run = run
        self.is_busy = False
        self.done: list[str] = []

    def connect(self) -> None:
        self._do("connect", is_connected=True)

    def disconnect(self) -> None:
        self._do("disconnect", is_connected=False)

    def _do(self, what: str, *, is_connected: bool) -> None:
        assert not self.is_busy, f"{what} while {self.done[-1]} runs"
        self.is_busy = True
        self.done.append(what)
        self.run.step()
        self._connected = is_connected
        self.is_busy = False


def test_in_every_order_a_handler_is_connected_once_between_its_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """A5: `connect()` and `disconnect()` take turns and never overlap, whatever threads use the handler meanwhile."""

    def scenario(run: Run, fake: Threads) -> Callable[[], object]:
        monkeypatch.setattr(handler_connection, "threading", fake)
        handler = Stepping(run)
        failures: list[str] = []
        connection = HandlerConnection(handler, lambda function, _: function(), failures.append)

        run.spawn(connection.establish, "one")
        run.spawn(connection.establish, "two")
        run.spawn(lambda: connection.detach()(), "shutdown")

        def check() -> None:
            # A handler that is connected after its caller has given up is disconnected at once, and at the end.
            turns = [what for number, what in enumerate(handler.done) if handler.done[number - 1 : number] != [what]]
            assert turns in (["connect"], ["connect", "disconnect"], ["connect", "disconnect", "connect"])
            assert handler._connected is (turns[-1] == "connect")
            assert failures == []

        return check

    assert explore(scenario, detours=3) > 1000

"""A thread whose start is not interrupted."""

from __future__ import annotations

import signal
import threading

from gaia_mcp.client.transports.stdio.steady_thread import SteadyThread


class Interrupting(SteadyThread):
    """Sends the main thread a Ctrl-C before it has begun, and waits whether it is handled."""

    is_handled = threading.Event()

    def _set_ident(self) -> None:
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
        self.is_handled.wait(0.2)
        super()._set_ident()  # type: ignore[misc]


def test_ctrl_c_is_handled_once_the_thread_has_begun() -> None:
    """Ours: else the thread may end with an exception of `threading`. What it starts can be interrupted as before."""
    masks: list[set[int]] = []
    had_begun: list[bool] = []
    thread = Interrupting(target=lambda: masks.append(signal.pthread_sigmask(signal.SIG_BLOCK, ())))

    def on_signal(*_: object) -> None:
        had_begun.append(thread._started.is_set())  # type: ignore[attr-defined]
        thread.is_handled.set()

    before = signal.signal(signal.SIGINT, on_signal)
    try:
        thread.start()
        thread.join()
    finally:
        signal.signal(signal.SIGINT, before)

    assert had_begun == [True]
    assert masks == [signal.pthread_sigmask(signal.SIG_BLOCK, ())]


def test_a_thread_of_another_thread_is_started_plainly() -> None:
    """Python: handlers run in the main thread."""
    began: list[str] = []

    def work() -> None:
        inner = SteadyThread(target=lambda: began.append("inner"))
        inner.start()
        inner.join()

    outer = SteadyThread(target=work)
    outer.start()
    outer.join()
    assert began == ["inner"]

"""Code of the user that is given only so much time: it runs in a thread, which is left behind once that is over."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable


class NotInTimeError(Exception):
    """The code was still running, and may go on running. The message completes "FILE …"."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"is not loaded after {seconds:g} s, and is given up")


def run_in_time(run: Callable[[], Any], seconds: float | None) -> Any:
    """What `run` returns, or raises. Without `seconds` it runs in this thread and takes as long as it likes; else in a
    thread of its own. Raises `NotInTimeError`.
    """
    if seconds is None:
        return run()
    values: list[Any] = []
    errors: list[BaseException] = []

    def work() -> None:
        try:
            values.append(run())
        except BaseException as error:  # noqa: BLE001 (the caller raises it)
            errors.append(error)

    # A daemon never keeps the process from ending.
    thread = threading.Thread(target=work, name="MCP handler: import", daemon=True)
    thread.start()
    thread.join(seconds)
    if thread.is_alive():
        raise NotInTimeError(seconds)
    if errors:
        raise errors[0]
    return values[0]

"""Running the user's code with a time limit: in a thread, which is abandoned when the time is over."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable


class NotInTimeError(Exception):
    """The code was still running, and may continue to run. The message completes "FILE …"."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"was not loaded within {seconds:g} s")


def run_in_time(run: Callable[[], Any], seconds: float | None) -> Any:
    """Call `run`; returns and raises what it does. With `seconds` it runs in a separate thread; without, in this thread
    and without a limit. Raises `NotInTimeError`.
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

    # A daemon thread does not prevent the process from ending.
    thread = threading.Thread(target=work, name="MCP handler: import", daemon=True)
    thread.start()
    thread.join(seconds)
    if thread.is_alive():
        raise NotInTimeError(seconds)
    if errors:
        raise errors[0]
    return values[0]

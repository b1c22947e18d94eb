"""What holds for all tests."""

from __future__ import annotations

import signal


def pytest_configure() -> None:
    """A run in the background of a script ignores Ctrl-C, and all that it starts would inherit that."""
    signal.signal(signal.SIGINT, signal.default_int_handler)

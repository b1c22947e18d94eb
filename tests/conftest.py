"""What holds for all tests."""

from __future__ import annotations

import signal


def pytest_configure() -> None:
    """A run in the background of a script may ignore some signals, and all that it starts would inherit that."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    if hasattr(signal, "SIGHUP"):
        signal.signal(signal.SIGHUP, signal.SIG_DFL)

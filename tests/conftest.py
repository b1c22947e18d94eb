"""What holds for all tests."""

from __future__ import annotations

import signal


pytest_plugins = ["tests.prepare.fixtures"]


def pytest_configure() -> None:
    """A run in the background of a script may ignore some signals, and all that it starts would inherit that."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for name in ("SIGHUP", "SIGQUIT"):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), signal.SIG_DFL)

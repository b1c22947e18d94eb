"""What a session tells the front that uses it: progress, remarks, and what servers write for people."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol


class Observer(Protocol):
    """A front's view of sessions. The methods are called from any thread and must not wait for anything.

    `command` names the front in the servers' logs, in lower-case letters and dashes. With `debug` it is also given what
    servers write to stderr.
    """

    @property
    def command(self) -> str: ...

    @property
    def debug(self) -> bool: ...

    def starting(self, server: str, last_line: Callable[[], str]) -> None:
        """A server is being started; `last_line()` is the end of its stderr so far."""

    def finished(self, server: str, total: int) -> None:
        """One of `total` servers is no longer in use."""

    def stopping(self, server: str) -> None:
        """A server is being stopped, and nothing more is asked of it."""

    def remark(self, text: str) -> None:
        """Something for a person to know that is not an error."""

    def stderr(self, server: str, lines: bytes) -> None:
        """Whole lines of a server's stderr, without its secrets."""

    def logged(self, server: str, level: str, data: Any) -> None:
        """A log message of a server."""

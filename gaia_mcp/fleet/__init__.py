"""Servers in use: from an entry to a process that has reliably ended.

A session covers one server for as long as one program uses it. It starts the server, gives each request its deadline,
writes the server's stderr to a log, caches the server's lists for programs that do not connect, and stops the server
however its use ends. It prints nothing: output for the user goes to an `Observer`, the interface that a front
implements.

`session` is the interface for every front, with the lists that outlive it. `server_process` starts a server before the
rest of the program is loaded, and has the log of its stderr; `parallel` uses many at once. `recorder` relays between a
server and another program that uses it. `gateway` shows many servers as one provider.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol


class Observer(Protocol):
    """A front's view of sessions. The methods are called from any thread and must not block.

    `command` names the front in the servers' logs, in lower-case letters and dashes. With `debug` it also gets the
    servers' stderr.
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
        """A server is being stopped, and gets no more requests."""

    def remark(self, text: str) -> None:
        """A message for the user that is not an error."""

    def stderr(self, server: str, lines: bytes) -> None:
        """Whole lines of a server's stderr, without its secrets."""

    def logged(self, server: str, level: str, data: Any) -> None:
        """A log message from a server."""

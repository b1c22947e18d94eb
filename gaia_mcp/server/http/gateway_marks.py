"""The marks by which gateways notice that they are servers of each other.

Each request of a gateway to a server behind a URL carries its mark, and those of the gateways that have sent requests
to it: they may be in front of it. So a gateway that comes back to itself, over however many others, is refused.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable

# Enough not to be guessed.
MARK_BYTES = 16
# A gateway seldom has more gateways in front of it; what a client claims must not grow without an end.
MAX_MARKS = 8


class GatewayMarks:
    """The mark of this gateway, and those of the gateways in front of it. `on_change` is called when there is another
    one; it must not block. Safe to use from several threads.
    """

    def __init__(self, own: str = "") -> None:
        self.on_change: Callable[[], None] = lambda: None
        self._marks = [own or secrets.token_hex(MARK_BYTES)]

    @property
    def header(self) -> str:
        """The value of the header of requests to servers."""
        return ", ".join(self._marks)

    def has_come_back(self, header: str) -> bool:
        """Whether a request with this value of the header has passed through this gateway before."""
        marks = [mark.strip() for mark in header.split(",")]
        if self._marks[0] in marks:
            return True
        new = [mark for mark in marks if len(mark) == 2 * MARK_BYTES and mark.isalnum() and mark not in self._marks]
        if new and len(self._marks) < MAX_MARKS:
            self._marks = [*self._marks, *new][:MAX_MARKS]
            self.on_change()
        return False

"""The user who grants access: the interface through which a program shows them a URL."""

from __future__ import annotations

from typing import Protocol


class Person(Protocol):
    """The user who is asked to grant access. An interactive program subclasses it and implements `show`, which is
    called on a thread of the client while a request waits, within the deadline of that request.
    """

    def show(self, url: str) -> None:
        """Ask the user to open `url` in a browser, which is then redirected to this machine. Returns at once."""

    def pasted(self) -> str | None:
        """The URL that the user has pasted since the last call, to which a browser on another machine was redirected.
        None without one. Polled, so it returns at once.
        """
        return None

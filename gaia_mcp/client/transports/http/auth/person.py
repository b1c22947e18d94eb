"""The person who grants access, as a program shows them a URL."""

from __future__ import annotations

from typing import Protocol


class Person(Protocol):
    """Who is asked to grant access. A program that has a person derives a class from this one, with a `show` of its
    own. It is called on a thread of the client, while a request waits: within the time of that request.
    """

    def show(self, url: str) -> None:
        """Have the person open `url` in a browser, which then comes back to this machine. Returns at once."""

    def pasted(self) -> str | None:
        """The URL that the person has pasted since the last time: that at which a browser on another machine has
        ended. None without one. Asked again and again, so it returns at once.
        """
        return None

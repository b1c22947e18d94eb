"""A server's question on a terminal."""

from __future__ import annotations

import json
import os
import pty
import select
from typing import TYPE_CHECKING

import pytest

from tests.waiting import PATIENCE_SECONDS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.cli.conftest import Gaia

END_OF_INPUT = b"\x04"


class Person:
    """Sits at a terminal."""

    def __init__(self, terminal: int) -> None:
        self._terminal = terminal
        self._read = b""

    def waits_for(self, words: bytes) -> None:
        """Until these words have appeared."""
        while words not in self._read:
            assert select.select([self._terminal], [], [], PATIENCE_SECONDS)[0], self._read
            self._read += os.read(self._terminal, 4096)

    def types(self, keys: bytes) -> None:
        """Press keys."""
        os.write(self._terminal, keys)


@pytest.fixture
def terminal() -> Iterator[tuple[Person, int]]:
    """Somebody at a terminal, and the program's end of it."""
    ours, theirs = pty.openpty()
    yield Person(ours), theirs
    os.close(ours)
    os.close(theirs)


@pytest.mark.parametrize(
    ("steps", "answer"),
    [
        ([(b"Answer?", b"y\n"), (b"city", b"Oslo\n")], {"action": "accept", "content": {"city": "Oslo"}}),
        ([(b"Answer?", b"n\n")], {"action": "decline"}),
        ([(b"Answer?", END_OF_INPUT)], {"action": "cancel"}),
        ([(b"Answer?", b"y\n"), (b"city", END_OF_INPUT)], {"action": "cancel"}),
    ],
)
def test_a_question_is_answered_declined_or_left(
    gaia: Gaia, terminal: tuple[Person, int], steps: list[tuple[bytes, bytes]], answer: object
) -> None:
    """Spec, elicitation: accept with content, decline, and cancel for who leaves without a choice, as by Ctrl-D."""
    person, end = terminal
    gaia.use("good-handshake")
    process = gaia.popen("call", "good-handshake", "ask", stdin=end, stderr=end)

    for prompt, keys in steps:
        person.waits_for(prompt)
        person.types(keys)

    out, _ = process.communicate(timeout=10)
    assert (json.loads(out), process.returncode) == (answer, 0)

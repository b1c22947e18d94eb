from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from gaia_mcp.client.transports.stdio.drain import KEPT_BYTES, Drain
from gaia_mcp.redaction.masker import Masker
from tests.waiting import ENOUGH_SECONDS, PATIENCE_SECONDS, wait_until


class Drained:
    """A pipe that is being drained."""

    def __init__(self, on_data: Callable[[bytes], None] | None = None, **end: Any) -> None:
        source, self.sink = os.pipe()
        self.pipe = os.fdopen(source, "rb", buffering=0)
        self.drain = Drain("s", on_data)
        self.drain.start(self.pipe, **end)

    @property
    def thread(self) -> threading.Thread:
        assert self.drain._thread is not None
        return self.drain._thread

    def say(self, data: bytes) -> None:
        while data:
            data = data[os.write(self.sink, data) :]

    def close(self) -> None:
        if self.sink >= 0:
            os.close(self.sink)
            self.sink = -1


Make = Callable[..., Drained]


@pytest.fixture
def drained() -> Iterator[Make]:
    """Makes pipes that are drained; at the end nothing of them may be left."""
    before = set(os.listdir("/proc/self/fd"))  # noqa: PTH208
    made: list[Drained] = []

    def make(on_data: Callable[[bytes], None] | None = None, **end: Any) -> Drained:
        made.append(Drained(on_data, **end))
        return made[-1]

    yield make
    for one in made:
        one.close()
        one.thread.join(PATIENCE_SECONDS)
        assert not one.thread.is_alive()
        assert one.pipe.closed
    assert set(os.listdir("/proc/self/fd")) <= before  # noqa: PTH208


def test_output_is_stored_and_passed_on(drained: Make) -> None:
    """Ours: for the last words, and for a person who watches."""
    heard: list[bytes] = []
    one = drained(heard.append)

    one.say(b"caf\xe9")
    one.close()
    one.drain.settle(ENOUGH_SECONDS)

    assert b"".join(heard) == b"caf\xe9"
    assert one.drain.tail() == "caf\ufffd"


def test_the_exit_of_the_child_is_noticed_while_its_pipe_is_open(drained: Make) -> None:
    """Ours: once; what comes after it is drained all the same."""
    ends: list[str] = []
    end, ending = os.pipe()
    one = drained(end=end, on_end=lambda: ends.append(threading.current_thread().name))

    os.close(ending)
    wait_until(lambda: ends)
    one.say(b"more")
    one.close()
    one.drain.settle(ENOUGH_SECONDS)

    assert ends == ["s stderr"]
    assert one.drain.tail() == "more"


def test_only_the_end_of_a_flood_is_stored(drained: Make) -> None:
    """Ours: enough for the last words, however much there was before them."""
    one = drained()

    one.say(b"flood " * 200_000 + b"last words")
    one.close()
    one.drain.settle(ENOUGH_SECONDS)

    assert one.drain.tail().endswith("flood last words")
    assert KEPT_BYTES <= len(one.drain.tail()) < 2 * KEPT_BYTES
    assert one.drain._size < 2 * KEPT_BYTES


def test_the_stored_end_of_a_flood_begins_with_a_whole_line(drained: Make) -> None:
    """Ours: half a line is misleading. A log that was not truncated is whole."""
    one, other = drained(), drained()

    one.say("größer\n".encode() * 50_000)
    other.say(b"half\nwhole\n")
    for each in (one, other):
        each.close()
        each.drain.settle(ENOUGH_SECONDS)

    assert set(one.drain.tail().splitlines()) == {"größer"}
    assert other.drain.tail() == "half\nwhole\n"


@pytest.mark.parametrize("secret", ["hunter2-correct", "first line\nsecond line\nthird line", "ключ-от-дома!"])
def test_the_stored_end_of_a_flood_contains_no_part_of_a_secret(drained: Make, secret: str) -> None:
    """Ours: never a secret in an error, and the end may begin within one."""
    one = drained()

    one.say(secret.encode() * 20_000)
    one.close()
    one.drain.settle(ENOUGH_SECONDS)

    assert one.drain._is_cut
    assert set(one.drain.tail(Masker([secret, "x"]))) == {"*"}


def test_a_listener_that_raises_is_not_called_again(drained: Make) -> None:
    """Ours: an undrained pipe would hold the child up for ever."""
    heard: list[bytes] = []

    def fails(data: bytes) -> None:
        heard.append(data)
        raise ValueError("mine")

    one = drained(fails)
    one.say(b"first" + b"x" * 1_000_000 + b"last")
    one.close()
    one.drain.settle(ENOUGH_SECONDS)

    assert len(heard) == 1
    assert one.drain.tail().endswith("last")


def test_draining_a_pipe_held_open_by_others_can_be_stopped(drained: Make) -> None:
    """Ours: a process that has left the group of its server keeps the pipe for as long as it likes."""
    one = drained()
    one.say(b"last words")

    one.drain.stop(ENOUGH_SECONDS)
    one.drain.stop(ENOUGH_SECONDS)

    assert not one.thread.is_alive()
    assert one.pipe.closed
    assert one.drain.tail() == "last words"


def test_pending_output_is_read_before_draining_stops(drained: Make) -> None:
    """Ours: last words that a listener has kept waiting count."""
    may_go_on = threading.Event()
    heard: list[bytes] = []

    def slow(data: bytes) -> None:
        heard.append(data)
        may_go_on.wait(ENOUGH_SECONDS)

    one = drained(slow)
    one.say(b"first")
    wait_until(lambda: heard)
    one.say(b"last")
    one.drain.stop(0)
    may_go_on.set()
    one.thread.join(PATIENCE_SECONDS)

    assert heard == [b"first", b"last"]


def test_a_listener_may_stop_the_draining(drained: Make) -> None:
    """Ours: a listener that reads in a log that the server is of no use disconnects."""
    raised: list[BaseException] = []

    def ends(_: bytes) -> None:
        try:
            one.drain.settle(ENOUGH_SECONDS)
            one.drain.stop(ENOUGH_SECONDS)
        except BaseException as problem:
            raised.append(problem)

    one = drained(ends)
    one.say(b"no use")
    one.thread.join(PATIENCE_SECONDS)

    assert not one.thread.is_alive()
    assert raised == []


def test_a_pipe_that_cannot_be_polled_is_drained_to_the_end(monkeypatch: pytest.MonkeyPatch, drained: Make) -> None:
    """Ours: on Windows a blocked read cannot be interrupted."""
    monkeypatch.delattr("select.poll")
    one = drained()

    one.say(b"hello")
    wait_until(lambda: one.drain.tail() == "hello")
    one.drain.stop(0)
    one.say(b" again")
    one.close()
    one.drain.settle(ENOUGH_SECONDS)

    assert one.drain.tail() == "hello again"


def test_draining_that_has_not_begun_can_be_stopped() -> None:
    """Ours: a start may fail before there is a pipe."""
    drain = Drain("s")

    drain.settle(0)
    drain.stop(0)

    assert drain.tail(Masker(["secret"])) == ""

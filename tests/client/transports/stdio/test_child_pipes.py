"""The pipe to a child's stdin, here without a child: what is read from its other end is up to the test."""

from __future__ import annotations

import os
import select
import signal
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from gaia_mcp.client.transports.stdio.child_pipes import (
    KEPT_BYTES,
    MAX_WAITING_BYTES,
    TRIED_BYTES,
    CutError,
    Drain,
    InputPipe,
    Outbox,
    SteadyThread,
)
from gaia_mcp.core.deadline import Deadline
from gaia_mcp.text.redaction.masker import Masker
from tests.waiting import ENOUGH_SECONDS, PATIENCE_SECONDS, wait_until

# More than any pipe holds.
TOO_MUCH = b"x" * 4 * 1024 * 1024

MakePipe = Callable[..., tuple[int, InputPipe]]


@pytest.fixture
def pipe() -> Iterator[MakePipe]:
    """Makes pipes: the descriptor to read from, and the end to be tested."""
    made: list[tuple[int, InputPipe]] = []

    def make(*, blocks: bool = False) -> tuple[int, InputPipe]:
        reading, writing = os.pipe()
        made.append((reading, InputPipe(os.fdopen(writing, "wb", buffering=0), blocks=blocks)))
        return made[-1]

    yield make
    for reading, ours in made:
        read_all(reading)
        ours.close()
        os.close(reading)


def read_all(descriptor: int) -> bytes:
    """What is in the pipe now."""
    data = b""
    while select.select([descriptor], [], [], 0)[0] and (more := os.read(descriptor, 65536)):
        data += more
    return data


def is_full(ours: InputPipe) -> bool:
    return not select.select([], [ours], [], 0)[1]


def fill(ours: InputPipe) -> None:
    """Fill the pipe to the brim, with nothing cut."""
    for size in (65536, 1):
        try:
            while True:
                os.write(ours.fileno(), b" " * size)
        except BlockingIOError:
            continue


@pytest.mark.parametrize("blocks", [False, True])
def test_a_written_message_arrives(pipe: MakePipe, blocks: bool) -> None:
    """Ours: also where a thread has to write (Windows)."""
    reading, ours = pipe(blocks=blocks)

    ours.write(b"hello\n", Deadline(ENOUGH_SECONDS))

    assert os.read(reading, 100) == b"hello\n"


def test_messages_of_several_threads_do_not_mix(pipe: MakePipe) -> None:
    """Spec, stdio: one message per line, however many pieces the pipe takes it in."""
    reading, ours = pipe()
    lines = [letter.encode() * 300_000 + b"\n" for letter in "abcdef"]
    threads = [threading.Thread(target=ours.write, args=(line, Deadline(ENOUGH_SECONDS))) for line in lines]
    for thread in threads:
        thread.start()
    with os.fdopen(os.dup(reading), "rb") as file:
        arrived = [file.readline() for _ in lines]
    for thread in threads:
        thread.join()

    assert sorted(arrived) == lines


def test_nothing_is_written_after_an_incomplete_message(pipe: MakePipe) -> None:
    """Ours: what followed half a message could not be understood."""
    _, ours = pipe()

    with pytest.raises(CutError):
        ours.write(TOO_MUCH, Deadline(0))
    with pytest.raises(BrokenPipeError):
        ours.write(b"hello\n", Deadline(ENOUGH_SECONDS))


def test_a_message_may_follow_an_unwritten_one(pipe: MakePipe) -> None:
    """Ours: the stream is whole, so that the child may yet read on."""
    reading, ours = pipe()
    fill(ours)

    with pytest.raises(TimeoutError) as caught:
        ours.write(b"never\n", Deadline(0))
    assert not isinstance(caught.value, CutError)

    read_all(reading)
    ours.write(b"after all\n", Deadline(ENOUGH_SECONDS))
    assert os.read(reading, 100) == b"after all\n"


def test_waiting_for_another_writer_ends_with_the_deadline(pipe: MakePipe) -> None:
    """Ours: every wait has a deadline, also that for one's turn."""
    _, ours = pipe()
    with ours._lock, pytest.raises(TimeoutError) as caught:
        ours.write(b"hello\n", Deadline(0))

    assert not isinstance(caught.value, CutError)


def test_writing_without_a_reader_raises_broken_pipe(pipe: MakePipe) -> None:
    """Ours: a child that has ended, or closed its stdin."""
    for blocks in (False, True):
        reading, writing = os.pipe()
        ours = InputPipe(os.fdopen(writing, "wb", buffering=0), blocks=blocks)
        os.close(reading)
        with pytest.raises(BrokenPipeError):
            ours.write(b"hello\n", Deadline(ENOUGH_SECONDS))
        ours.close()


@pytest.mark.parametrize("blocks", [False, True])
def test_a_closed_pipe_cannot_be_written_to(pipe: MakePipe, blocks: bool) -> None:
    """Ours: by then the descriptor may be that of another file."""
    reading, ours = pipe(blocks=blocks)
    assert not ours.is_closed

    ours.close()

    assert ours.is_closed
    assert os.read(reading, 1) == b""
    with pytest.raises(BrokenPipeError):
        ours.write(b"hello\n", Deadline(ENOUGH_SECONDS))


def test_closing_wakes_a_waiting_writer(pipe: MakePipe) -> None:
    """Ours: disconnecting must not wait for a server that does not read."""
    _, ours = pipe()
    caught: list[BaseException] = []

    def write() -> None:
        try:
            ours.write(TOO_MUCH, Deadline(60))
        except OSError as error:
            caught.append(error)

    writer = threading.Thread(target=write)
    writer.start()
    wait_until(lambda: is_full(ours))
    ours.close()
    writer.join(PATIENCE_SECONDS)

    assert not writer.is_alive()
    assert isinstance(caught[0], BrokenPipeError)


def test_closing_does_not_wait_for_a_blocked_writer(pipe: MakePipe) -> None:
    """Ours: Windows holds it in its writing; the pipe can be closed once the child has been killed."""
    reading, ours = pipe(blocks=True)
    with pytest.raises(CutError):
        ours.write(TOO_MUCH, Deadline(0))
    wait_until(lambda: is_full(ours))

    ours.close()
    assert not ours.is_closed

    while not ours.is_closed:
        read_all(reading)
        ours.close()


def test_a_pipe_reports_whether_its_content_has_been_read(pipe: MakePipe) -> None:
    """IO-10, ours: a child that reads nothing may not be there yet."""
    reading, ours = pipe()

    assert (ours.is_drained(), ours.is_unread()) == (True, False)
    ours.write(b"hello\n", Deadline(ENOUGH_SECONDS))
    assert (ours.is_drained(), ours.is_unread()) == (False, True)
    read_all(reading)
    assert (ours.is_drained(), ours.is_unread()) == (True, False)
    ours.close()
    assert (ours.is_drained(), ours.is_unread()) == (False, False)


class Pipe:
    """Has room or not; notes what was written and by whom."""

    def __init__(self, *, has_room: bool) -> None:
        self.room = threading.Event()
        if has_room:
            self.room.set()
        self.fails: OSError | None = None
        self.tries = 0
        self.written: list[bytes] = []
        self.writers: list[threading.Thread] = []

    def write(self, data: bytes, deadline: Deadline) -> None:
        self.tries += 1
        if self.fails is not None:
            raise self.fails
        if not self.room.is_set() and (deadline.expired or not self.room.wait(PATIENCE_SECONDS)):
            raise TimeoutError
        self.written.append(data)
        self.writers.append(threading.current_thread())


def test_a_message_is_sent_at_once_if_there_is_room() -> None:
    """Spec, ping: promptly; and no thread is made for it."""
    pipe = Pipe(has_room=True)

    Outbox(pipe.write).put(b"pong")

    assert pipe.written == [b"pong"]
    assert pipe.writers == [threading.current_thread()]


def test_messages_without_room_are_sent_later_by_another_thread() -> None:
    """Ours: the sender never waits, and what a busy server asked for is not lost."""
    pipe = Pipe(has_room=False)
    outbox = Outbox(pipe.write)

    for data in (b"one", b"two", b"three"):
        outbox.put(data)
    assert pipe.written == []
    pipe.room.set()

    wait_until(lambda: len(pipe.written) == 3)
    assert pipe.written == [b"one", b"two", b"three"]
    assert threading.current_thread() not in pipe.writers
    assert len(set(pipe.writers)) == 1, "one thread for all that waits"


def test_a_message_longer_than_an_atomic_write_is_sent_by_another_thread() -> None:
    """Ours: after a part of it nothing else could be understood."""
    pipe = Pipe(has_room=True)
    outbox = Outbox(pipe.write)

    outbox.put(b"x" * (TRIED_BYTES + 1))

    wait_until(lambda: pipe.written)
    assert pipe.writers[0] is not threading.current_thread()


def test_a_message_that_is_not_read_in_time_is_dropped() -> None:
    """Ours: a server that does not read has to do without."""
    pipe = Pipe(has_room=False)
    outbox = Outbox(pipe.write)
    pipe.fails = TimeoutError()
    outbox.put(b"lost")
    wait_until(lambda: not outbox._has_thread)
    tries = pipe.tries

    pipe.fails = None
    pipe.room.set()
    outbox.put(b"read")

    assert (tries, pipe.written) == (2, [b"read"])


@pytest.mark.parametrize("gone", [BrokenPipeError(), OSError(9, "closed")])
def test_a_closed_pipe_does_not_raise(gone: OSError) -> None:
    """Ours: the thread that reads, or the next request, meets its end."""
    pipe = Pipe(has_room=True)
    pipe.fails = gone

    Outbox(pipe.write).put(b"pong")

    assert pipe.tries == 1


def test_the_size_of_waiting_messages_is_limited() -> None:
    """Ours: a server that asks without reading must not fill our memory."""
    pipe = Pipe(has_room=False)
    outbox = Outbox(pipe.write)
    large = b"x" * (MAX_WAITING_BYTES // 4)

    for _ in range(100):
        outbox.put(large)
    pipe.room.set()
    wait_until(lambda: not outbox._has_thread)

    # One is being written, and no longer waits.
    assert 4 <= len(pipe.written) <= 5
    outbox.put(b"more")
    assert pipe.written[-1] == b"more"


def test_a_single_message_may_be_larger_than_the_limit() -> None:
    """Ours: what a person has answered is not thrown away."""
    pipe = Pipe(has_room=True)

    Outbox(pipe.write).put(b"x" * (MAX_WAITING_BYTES + 1))

    wait_until(lambda: pipe.written)


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


class Interrupting(SteadyThread):
    """Sends the main thread a Ctrl-C before it has begun, and waits whether it is handled."""

    is_handled = threading.Event()

    def _set_ident(self) -> None:
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
        self.is_handled.wait(0.2)
        super()._set_ident()  # type: ignore[misc]


def test_ctrl_c_is_handled_once_the_thread_has_begun() -> None:
    """Ours: else the thread may end with an exception of `threading`. What it starts can be interrupted as before."""
    masks: list[set[int]] = []
    had_begun: list[bool] = []
    thread = Interrupting(target=lambda: masks.append(signal.pthread_sigmask(signal.SIG_BLOCK, ())))

    def on_signal(*_: object) -> None:
        had_begun.append(thread._started.is_set())  # type: ignore[attr-defined]
        thread.is_handled.set()

    before = signal.signal(signal.SIGINT, on_signal)
    try:
        thread.start()
        thread.join()
    finally:
        signal.signal(signal.SIGINT, before)

    assert had_begun == [True]
    assert masks == [signal.pthread_sigmask(signal.SIG_BLOCK, ())]


def test_a_thread_of_another_thread_is_started_plainly() -> None:
    """Python: handlers run in the main thread."""
    began: list[str] = []

    def work() -> None:
        inner = SteadyThread(target=lambda: began.append("inner"))
        inner.start()
        inner.join()

    outer = SteadyThread(target=work)
    outer.start()
    outer.join()
    assert began == ["inner"]

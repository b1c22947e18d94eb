"""Connections, each used by one exchange at a time."""

from __future__ import annotations

import socket
import threading
from typing import TYPE_CHECKING

import httpcore2
import pytest

from gaia_mcp.client.transports.http.connections import (
    TRANSPORT_ERRORS,
    Connections,
    Endpoint,
    InterruptedExchangeError,
)
from gaia_mcp.client.transports.http.worker_connections import IDLE_KEPT, Lane, Lanes
from gaia_mcp.core.deadline import Deadline
from tests.client.transports.http.certificates import Authority, server_context
from tests.client.transports.http.web import (
    Answer,
    Web,
    accepted,
    as_events,
    connections_to,
    ending_once_asked,
    serving,
)
from tests.waiting import ENOUGH_SECONDS, PATIENCE_SECONDS, wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


class Asking:
    """One GET. `goes_on` holds it back when its response has begun."""

    def __init__(self, url: str, goes_on: threading.Event | None = None) -> None:
        self.is_given_up = False
        self.done = threading.Event()
        self.begun = threading.Event()
        self.outcome: object = None
        self.url = url
        self.goes_on = goes_on

    def run(self, lane: Lane) -> None:
        try:
            response = lane.open("GET", self.url, {}, None, 5)
            self.begun.set()
            self.outcome = response.status_code
            if self.goes_on is not None:
                self.goes_on.wait(PATIENCE_SECONDS)
            b"".join(response.iter_bytes())
            response.close()
        except Exception as problem:
            self.outcome = problem
        finally:
            self.done.set()


@pytest.fixture
def web() -> Iterator[Web]:
    with serving(lambda _: accepted()) as web:
        yield web


@pytest.fixture
def lanes(web: Web) -> Iterator[Lanes]:
    lanes = Lanes(connections_to(Endpoint("web", web.url)), "web")
    yield lanes
    lanes.close(PATIENCE_SECONDS)
    wait_until(lambda: "web http" not in [thread.name for thread in threading.enumerate()])


def test_an_idle_lane_is_reused(web: Web, lanes: Lanes) -> None:
    """Ours: with its connection."""
    used = set()
    for _ in range(3):
        work = Asking(web.url)
        used.add(lanes.use(work))
        assert work.done.wait(PATIENCE_SECONDS)
        assert work.outcome == 202
        wait_until(lambda: bool(lanes._idle))

    assert len(used) == 1


@pytest.mark.parametrize("more", [0, 1])
def test_concurrent_exchanges_use_separate_lanes(web: Web, lanes: Lanes, more: int) -> None:
    """Ours: and only some of these are kept."""
    goes_on = threading.Event()
    lanes.kept += more
    works = [Asking(web.url, goes_on) for _ in range(IDLE_KEPT + 2)]

    assert len({lanes.use(work) for work in works}) == len(works)
    assert all(work.begun.wait(PATIENCE_SECONDS) for work in works)
    goes_on.set()

    wait_until(lambda: len(lanes._all) == IDLE_KEPT + more == len(lanes._idle))


def test_a_waiting_exchange_can_be_interrupted(lanes: Lanes) -> None:
    """Ours: for the response, or within it."""
    never = threading.Event()

    def answer_late(_: object) -> Answer:
        never.wait(PATIENCE_SECONDS)
        return accepted()

    with serving(answer_late) as web:
        work = Asking(web.url)
        lane = lanes.use(work)
        wait_until(lambda: bool(web.asked))
        lane.interrupt(work)
        assert work.done.wait(PATIENCE_SECONDS)
        assert type(work.outcome) is InterruptedExchangeError
        never.set()
    with serving(lambda _: as_events(b": hi\n\n", threading.Event())) as web:
        work = Asking(web.url)
        lane = lanes.use(work)
        assert work.begun.wait(PATIENCE_SECONDS)
        lane.interrupt(work)
        assert work.done.wait(PATIENCE_SECONDS)
        # What is read is cut off; the work knows why.
        assert isinstance(work.outcome, TRANSPORT_ERRORS)
        wait_until(lambda: bool(web.broken))


def test_interrupting_a_completed_exchange_does_not_affect_the_next(web: Web, lanes: Lanes) -> None:
    """Ours: the caller may give up what has just been done."""
    first, second = Asking(web.url), Asking(web.url, threading.Event())
    lane = lanes.use(first)
    assert first.done.wait(PATIENCE_SECONDS)
    wait_until(lambda: bool(lanes._idle))
    assert lanes.use(second) is lane
    assert second.begun.wait(PATIENCE_SECONDS)

    lane.interrupt(first)
    assert second.goes_on is not None
    second.goes_on.set()

    assert second.done.wait(PATIENCE_SECONDS)
    assert second.outcome == 202


def test_an_exchange_interrupted_before_it_begins_sends_nothing(web: Web, lanes: Lanes) -> None:
    """Ours: also if that happens while the connection is made."""
    work = Asking(web.url)
    work.is_given_up = True
    lane = Lane(connections_to(Endpoint("web", web.url)), lambda *_: None, "web")
    lane.give(work)
    assert work.done.wait(PATIENCE_SECONDS)
    lane.stop()
    lane.join(PATIENCE_SECONDS)

    assert type(work.outcome) is InterruptedExchangeError
    assert web.asked == []


def test_an_exchange_interrupted_while_connecting_sends_nothing(web: Web) -> None:
    """Ours: it may have been given up before there was anything to shut down."""
    work = Asking(web.url)

    class Slow(Connections):
        def connect(self, request: httpcore2.Request) -> httpcore2.ConnectionInterface:
            lane.interrupt(work)
            return super().connect(request)

    endpoint = Endpoint("web", web.url)
    lane = Lane(Slow(endpoint, endpoint.context()), lambda *_: None, "web")
    lane.give(work)
    assert work.done.wait(PATIENCE_SECONDS)
    lane.stop()
    lane.join(PATIENCE_SECONDS)

    assert type(work.outcome) is InterruptedExchangeError
    assert web.asked == []


def test_an_unprocessed_request_is_sent_on_another_connection(web: Web) -> None:
    """HTTP/2: a server that closes a connection names the last request that it has taken."""
    made: list[Closing] = []

    class Closing(httpcore2.HTTPConnection):
        asked = 0

        def handle_request(self, request: httpcore2.Request) -> httpcore2.Response:
            self.asked += 1
            if self.asked > 1:
                raise httpcore2.ConnectionNotAvailable
            return super().handle_request(request)

    class Closed(Connections):
        def connect(self, request: httpcore2.Request) -> httpcore2.ConnectionInterface:
            made.append(Closing(request.url.origin))
            return made[-1]

    endpoint = Endpoint("web", web.url)
    lane = Lane(Closed(endpoint, endpoint.context()), lambda *_: None, "web")
    for _ in range(2):
        work = Asking(web.url)
        lane.give(work)
        assert work.done.wait(PATIENCE_SECONDS)
        assert work.outcome == 202
    lane.stop()
    lane.join(PATIENCE_SECONDS)

    assert [connection.asked for connection in made] == [2, 1]
    assert made[0].is_closed()


def test_a_connection_error_is_not_an_interruption(lanes: Lanes) -> None:
    """Ours: the error of `httpcore2` says what."""
    work = Asking("http://server.invalid/")
    lanes.use(work)
    assert work.done.wait(PATIENCE_SECONDS)
    assert type(work.outcome) is httpcore2.ConnectError


def test_an_exchange_after_the_end_is_interrupted(web: Web) -> None:
    """Ours: a thread may come too late."""
    lanes = Lanes(connections_to(Endpoint("web", web.url)), "web")
    lanes.close(1)
    work = Asking(web.url)
    lanes.use(work).join(PATIENCE_SECONDS)

    assert web.asked == []
    assert type(work.outcome) is InterruptedExchangeError


def test_a_lane_may_be_joined_from_its_own_thread(lanes: Lanes, web: Web) -> None:
    """Ours: a thread does not wait for its own end."""
    lane = lanes.use(Asking(web.url))
    ended: list[None] = []

    class Ending(Asking):
        def run(self, lane: Lane) -> None:
            lane.stop()
            ended.append(lane.join(PATIENCE_SECONDS))
            self.done.set()

    work = Ending(web.url)
    lane.give(work)
    assert work.done.wait(PATIENCE_SECONDS)
    assert ended == [None]


class Pausing(Asking):
    """Waits so long."""

    seconds = 0.0

    def run(self, lane: Lane) -> None:
        try:
            self.begun.set()
            self.outcome = lane.pause(self.seconds)
        except InterruptedExchangeError as problem:
            self.outcome = problem
        self.done.set()


def test_a_pause_ends_when_its_exchange_is_interrupted(lanes: Lanes) -> None:
    """Ours: before it or during it; the next work of the lane is not concerned."""
    for is_early in (False, True):
        work = Pausing("")
        work.seconds = PATIENCE_SECONDS
        work.is_given_up = is_early
        lane = lanes.use(work)
        assert work.begun.wait(PATIENCE_SECONDS)
        lanes.interrupt(work)
        assert work.done.wait(PATIENCE_SECONDS)
        assert type(work.outcome) is InterruptedExchangeError
        if not is_early:
            wait_until(lambda: bool(lanes._idle))
            following = Pausing("")
            assert lanes.use(following) is lane
            assert following.done.wait(PATIENCE_SECONDS)
            assert following.outcome is None
            wait_until(lambda: bool(lanes._idle))


# Work that its caller begins.


class Calling(Asking):
    """One GET, whose response is read by its caller if `is_short`."""

    def __init__(self, url: str, *, is_short: bool = True) -> None:
        super().__init__(url)
        self.is_short = is_short
        self.threads: list[threading.Thread] = []

    def begin(self, lane: Lane) -> bool:
        self.threads.append(threading.current_thread())
        if self.is_short:
            super().run(lane)
        return self.is_short

    def run(self, lane: Lane) -> None:
        self.threads.append(threading.current_thread())
        super().run(lane)


def opened(lanes: Lanes, web: Web) -> Lane:
    """The free lane of `lanes`, with a connection."""
    work = Asking(web.url)
    lane = lanes.use(work)
    assert work.done.wait(PATIENCE_SECONDS)
    wait_until(lambda: bool(lanes._idle))
    return lane


def own_socket(lane: Lane) -> socket.socket:
    assert lane._stream is not None
    found = lane._stream.get_extra_info("socket")
    assert isinstance(found, socket.socket)
    return found


def test_a_caller_may_use_an_open_connection(web: Web, lanes: Lanes) -> None:
    """Ours: without a thread, which would have to be woken, and to wake the caller."""
    lane = opened(lanes, web)
    port = own_socket(lane).getsockname()
    for _ in range(2):
        work = Calling(web.url)
        assert lanes.begin(work, Deadline(ENOUGH_SECONDS))
        assert (work.outcome, work.threads) == (202, [threading.current_thread()])
        assert lanes.running() == []

    # The thread of the lane uses it as before.
    assert opened(lanes, web) is lane
    assert own_socket(lane).getsockname() == port


def test_the_thread_of_the_lane_completes_a_long_exchange(web: Web, lanes: Lanes) -> None:
    """Ours: the caller of a long exchange must remain able to wait for other messages."""
    lane = opened(lanes, web)
    work = Calling(web.url, is_short=False)

    assert lanes.begin(work, Deadline(ENOUGH_SECONDS))

    assert work.done.wait(PATIENCE_SECONDS)
    assert (work.outcome, work.threads) == (202, [threading.current_thread(), lane._thread])
    wait_until(lambda: lanes._idle == [lane])


def test_a_caller_never_waits_for_a_connection(web: Web, lanes: Lanes) -> None:
    """Ours: neither a look-up of a name nor the making of a connection can be interrupted."""
    assert not lanes.begin(Calling(web.url), Deadline(ENOUGH_SECONDS))
    lane = opened(lanes, web)
    own_socket(lane).shutdown(socket.SHUT_RD)  # As if the server had closed it.
    assert not lanes.begin(Calling(web.url), Deadline(ENOUGH_SECONDS))

    opened(lanes, web)
    assert lane._connection is not None

    class TooLate(Calling):
        def begin(self, lane: Lane) -> bool:
            assert lane._connection is not None
            lane._connection.close()
            return super().begin(lane)

    work = TooLate(web.url)
    assert lanes.begin(work, Deadline(ENOUGH_SECONDS))
    assert isinstance(work.outcome, httpcore2.ConnectionNotAvailable)
    # The lane is not lost.
    assert opened(lanes, web) is lane


def test_a_caller_does_not_use_an_encrypted_connection(tmp_path: Path) -> None:
    """Ours: it would wait for the rest of a record, whatever its deadline is."""
    authority = Authority(tmp_path)
    with serving(lambda _: accepted(), server_context(authority.signed("web"))) as web:
        lanes = Lanes(connections_to(Endpoint("web", web.url, ca=authority.file)), "web")
        opened(lanes, web)
        assert not lanes.begin(Calling(web.url), Deadline(ENOUGH_SECONDS))
        lanes.close(PATIENCE_SECONDS)


@pytest.mark.parametrize("is_in_time", [True, False])
def test_a_waiting_caller_can_be_interrupted(web: Web, lanes: Lanes, is_in_time: bool) -> None:
    """Ours: from another thread, or because its time is up."""
    lane = opened(lanes, web)
    late = threading.Event()
    web.answer = lambda _: as_events(late)
    work = Calling(web.url)
    if is_in_time:
        deadline = Deadline(ENOUGH_SECONDS)
        threading.Thread(target=lambda: (wait_until(lambda: len(web.asked) == 2), lanes.interrupt(work))).start()
    else:
        deadline = ending_once_asked(web, 2)

    assert lanes.begin(work, deadline)

    assert isinstance(work.outcome, TRANSPORT_ERRORS if is_in_time else InterruptedExchangeError)
    wait_until(lambda: bool(web.broken))
    # What is done cannot be interrupted any more.
    web.answer = lambda _: accepted()
    assert opened(lanes, web) is lane
    lanes.interrupt(work)
    lane.interrupt(work)
    assert lanes.begin(Calling(web.url), Deadline(ENOUGH_SECONDS))


class Interrupted(Calling):
    """A Ctrl-C arrives once the request has been sent, or earlier."""

    is_sent = True

    def begin(self, lane: Lane) -> bool:
        if self.is_sent:
            lane.open("GET", self.url, {}, None, 5)
        raise KeyboardInterrupt


@pytest.mark.parametrize("is_sent", [True, False])
def test_a_keyboard_interrupt_closes_the_connection(web: Web, lanes: Lanes, is_sent: bool) -> None:
    """Ours: a response that was read in part would be taken for the next one."""
    lane = opened(lanes, web)
    late = threading.Event()
    web.answer = lambda _: as_events(late)
    work = Interrupted(web.url)
    work.is_sent = is_sent
    with pytest.raises(KeyboardInterrupt):
        lanes.begin(work, Deadline(ENOUGH_SECONDS))
    lanes.drop(work)
    lanes.drop(work)

    lane.join(PATIENCE_SECONDS)
    assert not lane._thread.is_alive()
    assert (lanes._all, lanes.running()) == ([], [])
    if is_sent:
        wait_until(lambda: bool(web.broken))
    web.answer = lambda _: accepted()
    assert opened(lanes, web) is not lane


class InterruptedUse(Asking):
    """A Ctrl-C arrives when the lane has the work, or once one of `freed` is free again."""

    freed: Lanes | None = None

    @property
    def is_given_up(self) -> bool:
        if threading.current_thread() is threading.main_thread():
            wait_until(lambda: self.freed is None or bool(self.freed._idle))
            raise KeyboardInterrupt
        return False

    @is_given_up.setter
    def is_given_up(self, _: bool) -> None: ...


@pytest.mark.parametrize("waits", [True, False])
def test_a_keyboard_interrupt_ends_a_lane_that_is_not_free(web: Web, lanes: Lanes, waits: bool) -> None:
    """Ours: nobody would end it, or use it. One that is free already is kept."""
    goes_on = threading.Event()
    work = InterruptedUse(web.url, None if waits else goes_on)
    work.freed = lanes if waits else None
    with pytest.raises(KeyboardInterrupt):
        lanes.use(work)
    lanes.drop(work)
    goes_on.set()

    wait_until(lambda: not lanes.running())
    wait_until(lambda: lanes._all == lanes._idle)


def test_a_lane_without_work_has_no_thread(web: Web) -> None:
    """Ours: a Ctrl-C between its creation and its first work must leave none behind."""
    lane = Lane(connections_to(Endpoint("web", web.url)), lambda *_: None, "web")

    lane.stop()
    lane.join(PATIENCE_SECONDS)

    assert not lane._thread.is_alive()


def test_a_lane_that_is_in_use_again_is_not_dropped(web: Web, lanes: Lanes) -> None:
    """Ours: a Ctrl-C may arrive when all is done; what comes next is not harmed."""
    lane = opened(lanes, web)
    work = Calling(web.url)
    assert lanes.begin(work, Deadline(ENOUGH_SECONDS))
    lanes._running[work] = lane  # As if it had been interrupted just before this was removed.
    lanes.drop(work)
    assert lanes._idle == [lane]

    lanes._running[work] = lane
    other = Calling(web.url, is_short=False)
    assert lanes.begin(other, Deadline(ENOUGH_SECONDS))
    lanes.drop(work)
    assert other.done.wait(PATIENCE_SECONDS)
    assert other.outcome == 202
    wait_until(lambda: lanes._idle == [lane])


def test_a_lane_that_was_dropped_is_not_used_again(web: Web, lanes: Lanes) -> None:
    """Ours: a Ctrl-C may arrive before its thread goes on."""
    lane = opened(lanes, web)
    work = Calling(web.url, is_short=False)
    work.goes_on = threading.Event()
    assert lanes.begin(work, Deadline(ENOUGH_SECONDS))
    assert work.begun.wait(PATIENCE_SECONDS)
    lane.borrower = work
    lanes.drop(work)
    work.goes_on.set()

    lane.join(PATIENCE_SECONDS)
    assert not lane._thread.is_alive()
    assert (lanes._all, lanes._idle) == ([], [])


def test_a_lane_in_use_by_a_caller_ends_when_the_caller_leaves(web: Web) -> None:
    """Ours: a connection is not closed while a caller reads from it."""
    lanes = Lanes(connections_to(Endpoint("web", web.url)), "web")
    lane = opened(lanes, web)

    class Closing(Calling):
        def begin(self, lane: Lane) -> bool:
            lanes.close(PATIENCE_SECONDS)
            assert lane._thread.is_alive()
            return super().begin(lane)

    for is_short in (True, False):
        work = Closing(web.url, is_short=is_short)
        if is_short:
            assert lanes.begin(work, Deadline(ENOUGH_SECONDS))
            assert work.outcome == 202
        else:
            assert not lanes.begin(work, Deadline(ENOUGH_SECONDS))
    lane.join(PATIENCE_SECONDS)
    assert not lane._thread.is_alive()

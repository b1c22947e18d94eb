"""Who reads a pipe, in every order of events: callers, the thread and the world take their steps in turns, all of them.

The steps are those of the edge (`leader_follower.py`): what it does under its gate is one step, and so is each look at
a queue, each poll, each reading. Nothing here ever waits for a while: what no effect wakes stays asleep, and is found.
"""

from __future__ import annotations

from contextlib import suppress
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from gaia_mcp.client.transports.stdio import reader_states
from gaia_mcp.client.transports.stdio.reader_states import TABLE, THREAD_READS, Effect, Event, Readers, State, Table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

# What is read: the response to a caller, by its number, what no caller waits for, and the end.
UNASKED, END = -1, -2
# Where a party reads the pipe: there may be one at a time.
READING = frozenset({"poll", "read", "take", "lost"})


class Caller(NamedTuple):
    """`at` is its next step; `queue` what has been put there for it, None to have it look."""

    at: str = "register"
    queue: tuple[str | None, ...] = ()
    is_late: bool = False
    read: int | None = None
    calls: int = 1


class World(NamedTuple):
    """Everything there is. `left` is what may still happen from outside, each thing once for each time it is named."""

    readers: Readers
    callers: tuple[Caller, ...]
    left: tuple[str, ...]
    thread: str = "look"
    thread_read: int | None = None
    pipe: tuple[int, ...] = ()
    is_poked: bool = False
    rings: bool = False
    # The callers have been told of the end; those that come now are told at once.
    is_lost: bool = False
    # Wakes that are on their way: what they are for has been done.
    wakes: int = 0

    def with_caller(self, number: int, **changes: Any) -> World:
        callers = list(self.callers)
        callers[number] = callers[number]._replace(**changes)
        return self._replace(callers=tuple(callers))

    def put(self, number: int, outcome: str | None) -> World:
        return self.with_caller(number, queue=(*self.callers[number].queue, outcome))

    def tell_all(self, reason: str) -> World:
        """As a channel that has ended does, for every request that is open."""
        world = self._replace(is_lost=True)
        for number, caller in enumerate(self.callers):
            if caller.at not in ("register", "gone"):
                world = world.put(number, reason)
        return world


class Explored:
    """Every world that can be reached from `first`, each checked; `rows` are those of the table that led there."""

    def __init__(self, first: World, table: Table = TABLE) -> None:
        self.table = table
        self.rows: set[tuple[State, Event]] = set()
        self.worlds = {first}
        waiting = [first]
        while waiting:
            world = waiting.pop()
            check_one_reads(world)
            own = list(self.steps_of_parties(world))
            if not own:
                check_at_rest(world)
            for after in (*own, *self.steps_from_outside(world)):
                known = len(self.worlds)
                self.worlds.add(after)
                if len(self.worlds) > known:  # Asked so, since a world is slow to hash.
                    waiting.append(after)

    # Under the gate.

    def apply(self, world: World, change: Callable[[Readers, Any, Table], tuple[Readers, Effect]], about: Any) -> World:
        after, effect = change(world.readers, about, self.table)
        world = world._replace(readers=after)
        if effect == "promote":
            return world.put(after.leader, None)
        if effect == "poke":
            return world._replace(is_poked=True)
        if effect == "ring":
            return world._replace(rings=True)
        return world

    def event(self, world: World, event: Event) -> World:
        self.rows.add((world.readers.state, event))
        return self.apply(world, reader_states.after, event)

    def arrive(self, world: World, number: int) -> World:
        self.rows.add((world.readers.state, "arrived"))
        return self.apply(world, reader_states.arrived, number)

    def leave(self, world: World, number: int) -> World:
        readers = world.readers
        if readers.leader == number:
            event: Event = "leader left, one follows" if readers.followers else "leader left, none follows"
            self.rows.add((readers.state, event))
        elif readers.followers == (number,):
            self.rows.add((readers.state, "last follower left"))
        return self.apply(world, reader_states.left, number)

    # The steps of those who take part.

    def steps_of_parties(self, world: World) -> Iterator[World]:
        for number in range(len(world.callers)):
            yield from self.steps_of_caller(world, number)
        yield from self.steps_of_thread(world)
        if world.wakes:
            woken = world._replace(wakes=world.wakes - 1)
            yield woken._replace(is_poked=True) if world.readers.leader is not None else woken

    def steps_of_caller(self, world: World, number: int) -> Iterator[World]:
        caller = world.callers[number]

        def at(step: str, world: World = world, **changes: Any) -> World:
            return world.with_caller(number, at=step, **changes)

        if caller.at == "register":
            # One that comes after the end cannot send, and is told so.
            yield at("gone" if world.is_lost else "arrive")
        elif caller.at == "arrive":
            yield at("lead or follow", self.arrive(world, number))
        elif caller.at == "lead or follow":
            yield at("poll" if world.readers.leader == number and not caller.queue else "get")
        elif caller.at == "poll":
            if world.is_poked or world.pipe or caller.is_late:
                yield at("read" if world.pipe else "look", world._replace(is_poked=False))
        elif caller.at == "read":
            yield at("take" if world.pipe[0] != END else "lost", *self.popped(world), read=world.pipe[0])
        elif caller.at == "take":
            yield at("look", self.taken(world, caller.read), read=None)
        elif caller.at == "lost":
            yield at("look", self.event(world, "ended"), read=None)
        elif caller.at == "look":
            if caller.queue or (world.readers.state == "led" and caller.is_late):
                yield at("get")
            elif world.readers.state == "led":
                yield at("poll")
            else:
                yield at("get", self.leave(world, number))
        elif caller.at == "get":
            if caller.queue:
                is_done = caller.queue[0] is not None or caller.is_late
                yield at("leave" if is_done else "lead or follow", queue=caller.queue[1:])
            elif caller.is_late:
                yield at("leave")
        elif caller.at == "leave":
            world = self.leave(world, number)
            calls = caller.calls - 1
            yield at("register" if calls else "gone", world, queue=(), calls=calls, is_late=False)

    def steps_of_thread(self, world: World) -> Iterator[World]:
        step = world.thread
        if step == "look":
            world = self.event(world, "looked")
            reads = "read" if world.readers.state == "thread-only" else "poll"
            then = reads if world.readers.state in THREAD_READS else "end" if world.readers.state == "over" else "aside"
            yield world._replace(thread=then)
        elif step == "aside":
            if world.rings:
                yield world._replace(thread="look", rings=False)
        elif step == "poll":
            if world.is_poked or world.pipe:
                yield world._replace(thread="read" if world.pipe else "look", is_poked=False)
        elif step == "read":
            if world.pipe:
                then = "take" if world.pipe[0] != END else "lost"
                yield self.popped(world)[0]._replace(thread=then, thread_read=world.pipe[0])
        elif step == "take":
            yield self.taken(world, world.thread_read)._replace(thread="look", thread_read=None)
        elif step == "lost":
            yield self.event(world, "ended")._replace(thread="look", thread_read=None)
        elif step == "end":
            yield world.tell_all("ended")._replace(thread="gone", wakes=world.wakes + 1)

    def popped(self, world: World) -> tuple[World]:
        # The end stays the end.
        return (world if world.pipe[0] == END else world._replace(pipe=world.pipe[1:]),)

    def taken(self, world: World, read: int | None) -> World:
        if read is None or read == UNASKED or world.is_lost or world.callers[read].at in ("register", "gone"):
            return world
        return world.put(read, "answered")

    # What may happen at any moment.

    def steps_from_outside(self, world: World) -> Iterator[World]:
        if world.thread == "aside":
            yield self.event(world, "quiet")._replace(thread="look")
        for what in dict.fromkeys(world.left):
            left = list(world.left)
            left.remove(what)
            yield from self.happened(what, world._replace(left=tuple(left)))

    def happened(self, what: str, world: World) -> Iterator[World]:
        is_open = END not in world.pipe
        if what == "answers" and is_open:
            # Each request is answered at some moment, in any order.
            for number, caller in enumerate(world.callers):
                if caller.at not in ("register", "gone") and number not in world.pipe:
                    yield world._replace(pipe=(*world.pipe, number))
        elif what == "unasked" and is_open:
            yield world._replace(pipe=(*world.pipe, UNASKED))
        elif what == "end" and is_open:
            yield world._replace(pipe=(*world.pipe, END))
        elif what == "needed":
            yield self.event(world, "needed")
        elif what == "lost":
            # Another thread has found out, by a message that could not be sent.
            yield world.tell_all("lost")._replace(wakes=world.wakes + 1)
        elif what == "stop":
            yield self.event(world, "stopped")
        elif what in ("late", "cancelled", "interrupted"):
            for number, caller in enumerate(world.callers):
                if caller.at in ("register", "gone", "leave") or caller.is_late:
                    continue
                if what == "late":
                    yield world.with_caller(number, is_late=True)
                elif what == "cancelled":
                    yield world.with_caller(number, is_late=True).put(number, None)._replace(wakes=world.wakes + 1)
                elif caller.at in READING - {"poll"}:
                    yield self.event(world, "ended").with_caller(number, at="leave", read=None)
                else:
                    yield world.with_caller(number, at="leave")


def check_one_reads(world: World) -> None:
    reading = [number for number, caller in enumerate(world.callers) if caller.at in READING]
    assert len(reading) + (world.thread in READING) <= 1, world


def check_at_rest(world: World) -> None:
    """What has to be true where nothing goes on by itself, and nothing was waited for that ends by itself."""
    waiting = [caller for caller in world.callers if caller.at not in ("register", "gone")]
    is_read = world.thread in READING or any(caller.at == "poll" for caller in waiting)
    for caller in waiting:
        assert not caller.queue, ("it has an outcome, and sleeps", world)
        assert not caller.is_late, ("its time is over, and it sleeps", world)
        assert is_read, ("it waits, and nothing reads", world)
    assert not (is_read and world.pipe), ("something has come, and is not read", world)
    assert world.readers.state != "stopping", ("the leader is to leave, and sleeps", world)
    if world.readers.state == "over" and world.thread != "read":  # What cannot be polled cannot be woken.
        assert world.thread == "gone", ("the thread has to tell of the end, and sleeps", world)
    if world.thread == "gone":
        assert not waiting, ("it waits for what nothing reads", world)
    # What no caller waits for is read when the pipe has been quiet for a while: the thread is there to do it.
    assert world.thread in READING | {"gone"} or world.thread == "aside", world


def first(callers: int, *happens: str, calls: int = 1, state: State = "thread") -> World:
    return World(Readers(state), tuple(Caller(calls=calls) for _ in range(callers)), happens)


# What may happen, in any order and at any moment, while so many callers wait.
ALL = {
    "three callers": first(3, "answers"),
    "two callers, twice each": first(2, "answers", "answers", "answers", calls=2),
    "cancelled": first(2, "answers", "cancelled", "cancelled"),
    "one of three cancelled": first(3, "cancelled"),
    "late": first(2, "answers", "answers", "late", "late"),
    "interrupted": first(3, "interrupted"),
    "interrupted while it takes an answer": first(2, "answers", "answers", "interrupted"),
    "the end of the pipe": first(3, "end"),
    "answers before the end": first(2, "answers", "answers", "late", "end"),
    "a message that cannot be sent": first(2, "answers", "lost", "end"),
    "stopped": first(2, "answers", "stop", "stop", "end"),
    "closed": first(2, "needed", "lost", "stop"),
    "unasked": first(2, "answers", "unasked", "needed"),
    "interrupted and stopped": first(2, "answers", "interrupted", "stop"),
    "thread only": first(2, "answers", "cancelled", "needed", "end", state="thread-only"),
    "thread only, stopped": first(2, "answers", "stop", "end", state="thread-only"),
}
# What each effect is there for; without it something is found asleep there. That the thread is asked to stand aside is
# not among them: it would read all the same, and only wake one thread more for each response.
NEEDED: dict[tuple[State, Event], str] = {
    ("led", "leader left, one follows"): "three callers",
    ("stopping", "leader left, none follows"): "stopped",
    ("asked", "looked"): "three callers",
    ("free", "needed"): "unasked",
    ("free", "stopped"): "stopped",
    ("led", "stopped"): "stopped",
    ("thread", "stopped"): "stopped",
    ("led", "ended"): "the end of the pipe",
    ("stopping", "ended"): "stopped",
}


@cache
def explored(name: str) -> tuple[int, frozenset[tuple[State, Event]]]:
    """How many worlds there are, all of them checked, and the rows of the table that led there."""
    found = Explored(ALL[name])
    return len(found.worlds), frozenset(found.rows)


def test_one_party_reads_and_no_caller_is_lost_in_every_interleaving() -> None:
    """Ours: every interleaving, with an answer, a cancellation, a deadline or the end at every step."""
    worlds = {}
    for name in ALL:
        try:
            worlds[name], _ = explored(name)
        except AssertionError as problem:
            problem.add_note(f"for {name!r}")
            raise

    assert {name: count for name, count in worlds.items() if count <= 1000} == {}


def test_the_table_has_exactly_the_reachable_rows() -> None:
    """Ours: a row that no order of events comes to would be believed, and proves nothing."""
    names = ("late", "closed", "stopped", "the end of the pipe", "thread only", "thread only, stopped")

    assert set().union(*(explored(name)[1] for name in names)) == set(TABLE)


def test_removing_an_effect_from_the_table_is_detected() -> None:
    """Ours: each effect is needed, and these tests notice it when it is missing."""
    not_noticed = []
    for row, name in NEEDED.items():
        with suppress(AssertionError):
            Explored(ALL[name], {**TABLE, row: (TABLE[row][0], "nothing")})
            not_noticed.append(row)

    assert not not_noticed


def test_every_effect_is_listed_as_needed() -> None:
    """Ours: one that proves nothing is one too many."""
    rows = {row for row, (_, effect) in TABLE.items() if effect != "nothing"}

    assert rows - set(NEEDED) == {("thread", "arrived")}


def test_leaving_twice_has_no_effect() -> None:
    """Ours: a Ctrl-C may fall between the leaving and our knowing of it."""
    readers, _ = reader_states.arrived(Readers("led", "first"), "second")

    once, _ = reader_states.left(readers, "second")

    assert once == Readers("led", "first")
    assert reader_states.left(once, "second") == (once, "nothing")

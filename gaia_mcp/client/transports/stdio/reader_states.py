"""Who reads a pipe: a state machine with its states, events and effects.

Callers wait for responses that arrive on one pipe. One of them, the leader, reads for all; the others follow. The
pipe's own thread reads while no caller waits. This module decides who reads, with values alone: no thread, lock or
clock. The edge (`leader_follower.py`) applies the events one after another, and carries out the effect of each.

The invariants, whatever the order of events (the tests try every one):

- There is one reader at most: the leader or the thread. A caller leads only while the thread stands aside.
- While a caller waits, there is a reader. When the leader leaves and others wait, the first of them leads.
- An effect only makes one party check the state again: a superfluous or late effect does no harm.
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple, TypeAlias

State: TypeAlias = Literal[
    "free",  # Nothing reads, and no caller waits. The thread stands aside.
    "led",  # The leader reads. The thread stands aside.
    "thread",  # The thread reads, and no caller waits.
    "asked",  # The thread reads, and has been asked to stand aside: callers wait, and the first of them is to lead.
    "thread-only",  # The thread reads, also while callers wait: for pipes that cannot be polled.
    "stopping",  # The leader still reads. Once it has left, reading ends.
    "over",  # Reading has ended.
]
Event: TypeAlias = Literal[
    "arrived",  # A caller has begun to wait. In "free" it leads.
    "leader left, none follows",  # The leader has stopped waiting, and no other caller waits.
    "leader left, one follows",  # The leader has stopped waiting, but another caller waits.
    "last follower left",  # The callers that waited for the thread to stand aside have left.
    "looked",  # The thread has checked the state, and does nothing else at this moment.
    "quiet",  # The thread has stood aside for a while.
    "needed",  # The pipe must be read from now on, although no caller waits.
    "stopped",  # The pipe must no longer be read.
    "ended",  # The reader has reached the end of the pipe, or lost some of the data.
]
Effect: TypeAlias = Literal[
    "nothing",
    "promote",  # The first follower is the leader now: make it check the state.
    "poke",  # Make the reader leave its poll and check the state.
    "ring",  # Make the thread, which stands aside, check the state.
]

Table: TypeAlias = dict[tuple[State, Event], tuple[State, Effect]]

# Missing combinations cannot occur: no caller leads in "free", and so on.
TABLE: Table = {
    ("free", "arrived"): ("led", "nothing"),
    ("led", "arrived"): ("led", "nothing"),
    ("thread", "arrived"): ("asked", "poke"),
    ("asked", "arrived"): ("asked", "nothing"),
    ("thread-only", "arrived"): ("thread-only", "nothing"),
    ("stopping", "arrived"): ("stopping", "nothing"),
    ("over", "arrived"): ("over", "nothing"),
    ("led", "leader left, none follows"): ("free", "nothing"),
    ("led", "leader left, one follows"): ("led", "promote"),
    ("stopping", "leader left, none follows"): ("over", "ring"),
    ("asked", "last follower left"): ("thread", "nothing"),
    ("led", "last follower left"): ("led", "nothing"),
    ("free", "looked"): ("free", "nothing"),
    ("led", "looked"): ("led", "nothing"),
    ("thread", "looked"): ("thread", "nothing"),
    ("asked", "looked"): ("led", "promote"),
    ("thread-only", "looked"): ("thread-only", "nothing"),
    ("stopping", "looked"): ("stopping", "nothing"),
    ("over", "looked"): ("over", "nothing"),
    ("free", "quiet"): ("thread", "nothing"),
    ("led", "quiet"): ("led", "nothing"),
    ("thread", "quiet"): ("thread", "nothing"),
    ("asked", "quiet"): ("asked", "nothing"),
    ("stopping", "quiet"): ("stopping", "nothing"),
    ("over", "quiet"): ("over", "nothing"),
    ("free", "needed"): ("thread", "ring"),
    ("led", "needed"): ("led", "nothing"),
    ("thread", "needed"): ("thread", "nothing"),
    ("asked", "needed"): ("asked", "nothing"),
    ("thread-only", "needed"): ("thread-only", "nothing"),
    ("stopping", "needed"): ("stopping", "nothing"),
    ("over", "needed"): ("over", "nothing"),
    ("free", "stopped"): ("over", "ring"),
    ("led", "stopped"): ("stopping", "poke"),
    ("thread", "stopped"): ("over", "poke"),
    ("asked", "stopped"): ("over", "nothing"),
    ("thread-only", "stopped"): ("over", "nothing"),
    ("stopping", "stopped"): ("stopping", "nothing"),
    ("over", "stopped"): ("over", "nothing"),
    ("led", "ended"): ("over", "ring"),
    ("thread", "ended"): ("over", "nothing"),
    ("asked", "ended"): ("over", "nothing"),
    ("thread-only", "ended"): ("over", "nothing"),
    ("stopping", "ended"): ("over", "ring"),
    ("over", "ended"): ("over", "nothing"),
}
# The states in which the thread reads after checking. In "over" it ends, in the others it stands aside.
THREAD_READS: frozenset[State] = frozenset({"thread", "thread-only"})
# The states in which callers queue to lead, in the order of arrival. In the others none ever will.
_ARE_FOLLOWED: frozenset[State] = frozenset({"led", "asked"})


class Readers(NamedTuple):
    """The state of one pipe: the caller that leads, and those that follow it. A caller is any object, by identity."""

    state: State
    leader: Any = None
    followers: tuple[Any, ...] = ()


# Readers without a leader or followers, created once: every response to a single caller passes through "free".
_BARE: dict[State, Readers] = {state: Readers(state) for state, _ in TABLE}
FREE = _BARE["free"]


def after(readers: Readers, event: Event, table: Table = TABLE) -> tuple[Readers, Effect]:
    """The new state and the effect of an event that concerns no single caller."""
    state, effect = table[readers.state, event]
    if effect == "promote":
        return Readers(state, readers.followers[0], readers.followers[1:]), effect
    if state == readers.state:
        return readers, effect
    if state == "stopping":
        return Readers(state, readers.leader), effect
    return _BARE[state], effect


def arrived(readers: Readers, caller: Any, table: Table = TABLE) -> tuple[Readers, Effect]:
    """A caller that was not waiting has begun to wait."""
    state, effect = table[readers.state, "arrived"]
    if readers.state == "free":
        return Readers(state, caller), effect
    if state in _ARE_FOLLOWED:
        return Readers(state, readers.leader, (*readers.followers, caller)), effect
    return readers, effect


def left(readers: Readers, caller: Any, table: Table = TABLE) -> tuple[Readers, Effect]:
    """A caller has stopped waiting, for any reason. It may have left before, or never have arrived."""
    if readers.leader is caller:
        if readers.followers:
            return after(readers, "leader left, one follows", table)
        # As in `after`: every response to a single caller passes through here.
        state, effect = table[readers.state, "leader left, none follows"]
        return _BARE[state], effect
    others = tuple(follower for follower in readers.followers if follower is not caller)
    if len(others) == len(readers.followers):
        return readers, "nothing"
    if others:
        return readers._replace(followers=others), "nothing"
    state, effect = table[readers.state, "last follower left"]
    return Readers(state, readers.leader), effect

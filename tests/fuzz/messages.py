"""Mutated messages to client and server: many short sessions, each of a seed of its own."""

from __future__ import annotations

import resource
import time
from collections.abc import Callable, Iterator
from random import Random
from typing import NamedTuple, Protocol

from tests.fuzz.agents import AgentSession
from tests.fuzz.clients import ClientSession
from tests.fuzz.engines import EngineSession
from tests.fuzz.oracles import Fault
from tests.fuzz.processes import ChildSession, ServedSession
from tests.fuzz.servers import ServerSession

# The length of sessions, in records: what goes wrong at the start, in the middle, and after long use.
LENGTHS = (5, 20, 20, 100, 100, 500, 3000)


class Session(Protocol):
    """One conversation, which raises `Fault`."""

    def run(self, count: int) -> int:
        """Have `count` mutated records arrive, or as many as there are before it ends. Returns their number."""


class Target(NamedTuple):
    """What is tried: `about` for a person, and how a session with it is begun."""

    about: str
    session: Callable[[Random], Session]


TARGETS = {
    "client": Target("pure client connections", ClientSession),
    "server": Target("pure server connections", ServerSession),
    "engine": Target("the client's engine over memory", EngineSession),
    "agent": Target("an agent behind a server's calls", AgentSession),
    "serve": Target("gaia mcp serve as a process", ServedSession),
    "child": Target("the client with a server as its child", ChildSession),
}


def faults(target: Target, count: int, seed: int) -> Iterator[str]:
    """Have at least `count` records arrive, in sessions of the seeds `seed`, `seed + 1` and so on. Yields each fault,
    with the seed and the length that lead to it.
    """
    done = 0
    while done < count:
        random = Random(seed)
        length = min(random.choice(LENGTHS), max(count - done, LENGTHS[0]))
        try:
            done += target.session(random).run(length)
        except Fault as fault:
            yield f"seed {seed}, {length} records: {fault}"
            done += length
        seed += 1


def report(names: list[str], count: int, seed: int) -> int:
    """Try these targets and print what came of it. Returns how many faults there were."""
    found = 0
    for name in names:
        began, used = time.monotonic(), time.process_time()
        problems = 0
        for problem in faults(TARGETS[name], count, seed):
            problems += 1
            print(f"{name}: {problem}", flush=True)
        wall, own = time.monotonic() - began, time.process_time() - used
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
        print(f"{name}: {count} records to {TARGETS[name].about}, {problems} faults; {wall:.0f} s, {count / own:,.0f} "
              f"records per second of processor time, at most {peak} MB", flush=True)  # fmt: skip
        found += problems
    return found

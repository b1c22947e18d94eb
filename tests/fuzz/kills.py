"""SIGKILL at any moment of a command that writes: the files are whole, and hold all that was acknowledged.

Most commands run in processes that are forked from one which has loaded everything, for a cold start takes ten times as
long as the command itself; some are started cold. A kill comes after a random time, or when the process is about to ask
the system for something: of all its audit events, or of those after it has made its temporary file.
"""

from __future__ import annotations

import mmap
import os
import pkgutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any, NamedTuple

from tests.fuzz.children import adopt_orphans, ends_within, reap_rest, status_of
from tests.fuzz.oracles import Fault
from tests.fuzz.writers import World, Writing

if TYPE_CHECKING:
    from collections.abc import Iterator

BIN = Path(sys.executable).parent
# The audit events that change what a later process sees, or come between two that do.
EVENTS = frozenset(
    {"open", "os.chmod", "os.chown", "os.listdir", "os.mkdir", "os.remove", "os.rename", "os.scandir", "os.truncate",
     "os.utime", "fcntl.flock", "subprocess.Popen"}
)  # fmt: skip
# After its temporary file is made, a command comes to so many of them.
EVENTS_OF_A_WRITE = 8


class Moment(NamedTuple):
    """When to kill: `fraction` of the usual time of the command; or at the audit event number `event`, counted from the
    first, or from the making of the temporary file if `in_write`.
    """

    fraction: float = 0.0
    event: int = 0
    in_write: bool = False


class Zygote:
    """Runs commands in `world`, in processes forked from this one or started cold, and kills them."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.outcomes: Counter[str] = Counter()
        # How long a command takes and how many events it comes to, as last seen.
        self._seconds: dict[tuple[str, bool], float] = {}
        self._events: dict[str, int] = {}
        self._counter = mmap.mmap(-1, 8)
        self._output = world.home.parent / "output"
        self._environ = {
            "HOME": str(world.home),
            "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}",
            "LANG": "C.UTF-8",
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        adopt_orphans()
        _load()

    def run(self, writing: Writing, moment: Moment | None, *, is_cold: bool = False) -> None:
        """Run a command, and kill it at that moment if it has not ended before. Raises `Fault`."""
        began, there = time.monotonic(), self.world.left_over(writing.file)
        pid = self._started_cold(writing) if is_cold else self._forked(writing, moment)
        if moment is not None and moment.fraction:
            ends_within(pid, moment.fraction * self._seconds.get((writing.command, is_cold), 0.05))
            os.kill(pid, signal.SIGKILL)
        status = status_of(pid)
        took = time.monotonic() - began
        reap_rest()
        if status == 0:
            self._seconds[writing.command, is_cold] = took
            if not is_cold:
                self._events[writing.command] = int.from_bytes(self._counter[:8], "little")
        elif status != -signal.SIGKILL:
            raise Fault(f"{writing.words} ended with {status}: {self._output.read_text()[-2000:]}")
        is_done = self.world.check(writing, is_acknowledged=status == 0)
        outcome = "ended before" if status == 0 else "killed, done" if is_done else "killed, not done"
        self.outcomes[f"{writing.command}: {outcome}"] += 1
        if status != 0 and set(self.world.left_over(writing.file)) - set(there):
            self.outcomes["killed between making and renaming a temporary file"] += 1

    def moment(self, writing: Writing, random: Random) -> Moment:
        """When to kill this command."""
        kind = random.random()
        if kind < 0.4:
            return Moment(fraction=random.random() * 1.1)
        if kind < 0.7:
            return Moment(event=random.randint(1, self._events.get(writing.command, 50)))
        return Moment(event=random.randint(1, EVENTS_OF_A_WRITE), in_write=True)

    def _started_cold(self, writing: Writing) -> int:
        with self._output.open("wb") as output:
            command = [str(BIN / "gaia"), "mcp", *writing.words]
            return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=output,
                                    cwd=self.world.cwd, env=self._environ).pid  # fmt: skip

    def _forked(self, writing: Writing, moment: Moment | None) -> int:
        self._counter[:8] = bytes(8)
        pid = os.fork()
        if pid:
            return pid
        try:
            self._become(writing, moment)
        finally:
            os._exit(99)

    def _become(self, writing: Writing, moment: Moment | None) -> None:
        """In the child: be the command."""
        os.chdir(self.world.cwd)
        nothing, output = os.open(os.devnull, os.O_RDONLY), os.open(self._output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        for number, stream in enumerate((nothing, output, output)):
            os.dup2(stream, number)
        os.environ.clear()
        os.environ.update(self._environ)
        sys.argv = ["gaia", "mcp", *writing.words]
        self._count_events(moment or Moment())
        from gaia_mcp.cli.program import main

        main()

    def _count_events(self, moment: Moment) -> None:
        count, last, is_in_write = 0, -1 if moment.in_write else moment.event, not moment.in_write

        def hook(event: str, arguments: tuple[Any, ...]) -> None:
            nonlocal count, last, is_in_write
            if event not in EVENTS:
                return
            count += 1
            self._counter[:8] = count.to_bytes(8, "little")
            if not is_in_write and event == "open" and str(arguments[0]).endswith(".tmp"):
                is_in_write, last = True, count + moment.event
            if count == last:
                os.kill(os.getpid(), signal.SIGKILL)

        sys.addaudithook(hook)


def _load() -> None:
    """Import everything that the commands do, so that a fork has it."""
    import gc
    from importlib import import_module

    import gaia_mcp

    for module in pkgutil.walk_packages(gaia_mcp.__path__, "gaia_mcp."):
        if not module.name.endswith("__main__"):
            import_module(module.name)
    import rich.console  # noqa: F401
    import tomli_w  # noqa: F401

    gc.freeze()


def faults(count: int, seed: int, cold: int, outcomes: Counter[str]) -> Iterator[str]:
    """Kill `count` commands in forked processes and `cold` that are started cold. Yields each fault; `outcomes` counts
    what else came of them.
    """
    random = Random(seed)
    with tempfile.TemporaryDirectory() as folder:
        zygote = Zygote(World(Path(folder).resolve()))
        zygote.outcomes = outcomes
        killed = 0
        while killed < count + cold:
            is_cold = killed >= count
            writing = zygote.world.next(random)
            # Every tenth is left alone: it must succeed, and clear away what the killed ones have left.
            moment = None if random.random() < 0.1 else zygote.moment(writing, random)
            if moment is not None and is_cold:
                moment = Moment(fraction=random.random() * 1.1)
            try:
                zygote.run(writing, moment, is_cold=is_cold)
            except Fault as fault:
                yield str(fault)
            killed += moment is not None


def report(count: int, seed: int, cold: int) -> int:
    """Kill, and print what came of it. Returns how many faults there were."""
    began, outcomes, found = time.monotonic(), Counter[str](), 0
    for problem in faults(count, seed, cold, outcomes):
        found += 1
        print(f"kills: {problem}", flush=True)
    for outcome, number in sorted(outcomes.items()):
        print(f"kills: {outcome}: {number}")
    print(
        f"kills: {count} in forked processes, {cold} cold, {found} faults; {time.monotonic() - began:.0f} s", flush=True
    )
    return found

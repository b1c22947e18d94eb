"""A load of `test-client`: how often to call a tool, the budgets that the calls must keep, and what was measured of
them, as text and as JSON. Makes no calls itself.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit

from gaia_mcp.cli.checks.latencies import Latencies, milliseconds
from gaia_mcp.cli.status import UsageError
from gaia_mcp.core.durations import seconds_in
from gaia_mcp.core.errors import EntryError, VariableUnsetError
from gaia_mcp.text import one_line

if TYPE_CHECKING:
    from gaia_mcp.cli.lines import CommandLine
    from gaia_mcp.config.entries import ServerEntry
    from gaia_mcp.fleet.process_usage import Usage

# A day: a test that takes longer is a service of its own.
MAX_SECONDS = 86_400
# The system counts hundredths of a second; a tenth of the figure is exact enough.
LEAST_PROCESSOR_SECONDS = 0.1
# The text of an error is one of several facts on its line.
ERROR_CHARS = 120
PERCENTILES = (50, 90, 99)
HOW_TO_LIMIT = "write p50, p90, p99 or max=50ms, errors=0 or errors=1%, rate=100, memory=200MB"
_BUDGET = r"([a-z0-9]{1,10})=([0-9]{1,9}(?:\.[0-9]{1,6})?)(ms|s|%|B|kB|KB|MB|GB)?"
_TIMES = {"ms": 0.001, "s": 1.0}
_SIZES = {"B": 1.0, "kB": 1e3, "KB": 1e3, "MB": 1e6, "GB": 1e9}
_UNITS: dict[str, dict[str, float]] = {
    **dict.fromkeys(("p50", "p90", "p99", "max"), _TIMES),
    "errors": {"": 1, "%": 0.01},
    "rate": {"": 1},
    "memory": _SIZES,
}


class Budget(NamedTuple):
    """A limit of `what`, as `typed`. With `is_share` it is a share of the calls. A rate is at least the limit, anything
    else at most.
    """

    typed: str
    what: str
    limit: float
    is_share: bool = False

    def problem(self, load: Load) -> str:
        """How `load` does not keep it; empty if it does."""
        if self.what == "memory":
            if load.after is None:
                return f"{self.typed}: the memory of the server is not known here"
            is_kept, measured = load.after.memory_bytes <= self.limit, megabytes(load.after.memory_bytes)
        elif self.what == "errors":
            most = self.limit * load.calls if self.is_share else self.limit
            is_kept, measured = load.errors <= most, load.errors_in_words()
        elif self.what == "rate":
            is_kept, measured = load.rate >= self.limit, f"{load.rate:,.1f} calls a second"
        else:
            seconds = load.times()[self.what]
            is_kept, measured = seconds <= self.limit, milliseconds(seconds)
        return "" if is_kept else f"{self.typed}: {measured}"


class LoadWanted(NamedTuple):
    """A load: so many `calls`, or as many as are made in `seconds`, `concurrency` of them at a time; of both limits the
    first one ends it.
    """

    calls: int | None
    seconds: float | None
    concurrency: int = 1
    budgets: Sequence[Budget] = ()


def read_load(
    line: CommandLine,
    called: int,
    calls: int | None,
    duration: str | None,
    concurrency: int | None,
    budgets: Sequence[str],
    *,
    is_sure: bool,
) -> LoadWanted | None:
    """The load that these options describe, in a line with `called` tools; None if they describe none. Raises
    `UsageError`.
    """
    if calls is None and duration is None:
        given = {"--concurrency": concurrency is not None, "--budget": bool(budgets), "--yes": is_sure}
        if (option := next((name for name, is_given in given.items() if is_given), None)) is not None:
            raise UsageError(f"{option} is for a load", hint=line.again("make many calls", "--load", "100"))
        return None
    what = "--load" if calls is not None else "--duration"
    if called == 0:
        raise UsageError(f"{what} needs a tool to call", hint="name the tool to call: --call TOOL")
    if called > 1:
        raise UsageError(f"{what} calls a single tool, and {called} are named", hint="leave one --call TOOL")
    seconds = None
    if duration is not None:
        seconds = seconds_in(f"{duration}s" if duration.isdecimal() else duration)
        if not seconds or seconds > MAX_SECONDS:
            hint = "write a number and its unit, such as 30s, 5m or 2h; a day at most"
            raise UsageError(f"--duration {duration!r} is not a duration", hint=hint)
    return LoadWanted(calls, seconds, concurrency or 1, [read_budget(each) for each in budgets])


def read_budget(typed: str) -> Budget:
    """The budget in a text such as `p99=50ms`. Raises `UsageError`."""
    found = re.fullmatch(_BUDGET, typed)
    what, number, unit = found.groups(default="") if found is not None else ("", "", "")
    if (factor := _UNITS.get(what, {}).get(unit)) is None:
        raise UsageError(f"--budget {one_line(typed, 40)!r} is not a budget", hint=HOW_TO_LIMIT)
    return Budget(typed, what, float(number) * factor, is_share=unit == "%")


def check_local(line: CommandLine, entries: Sequence[ServerEntry]) -> None:
    """Raises `UsageError` for a server behind a URL that is not one of this machine: thousands of calls, also those of
    fuzzing, are a load for others.
    """
    from gaia_mcp.server.http.security import is_loopback

    for entry in entries:
        if not entry.is_remote:
            continue
        try:
            host = urlsplit(getattr(entry.resolved().target, "url", "")).hostname or ""
        except (EntryError, VariableUnsetError, ValueError):
            continue  # It is not connected to; the report says why.
        if not is_loopback(host):
            hint = line.again("if its owner agrees, make the calls", "--yes")
            raise UsageError(f"server {entry.name!r} is not on this machine, but on {host!r}", hint=hint)


@dataclass
class Load:
    """What was measured of calls, of which `concurrency` were made at a time: the times of all that were answered, the
    number of those that failed, and what the server used `before` and `after`; None if that is not known.
    """

    concurrency: int
    latencies: Latencies = field(default_factory=Latencies)
    seconds: float = 0.0
    errors: int = 0
    # The text of the first error, without secrets.
    first_error: str = ""
    before: Usage | None = None
    after: Usage | None = None

    @property
    def calls(self) -> int:
        """The number of calls that were answered."""
        return self.latencies.count

    @property
    def rate(self) -> float:
        """The number of calls in a second."""
        return self.calls / self.seconds if self.seconds else 0.0

    @property
    def processor_seconds(self) -> float | None:
        """The processor time of the server for a call; None if it is not known, or too short to be measured."""
        if self.before is None or self.after is None:
            return None
        spent = self.after.processor_seconds - self.before.processor_seconds
        return spent / self.calls if spent >= LEAST_PROCESSOR_SECONDS else None

    def times(self) -> dict[str, float]:
        """The percentiles and the longest time, in seconds."""
        found = self.latencies.percentiles(*PERCENTILES)
        named = {f"p{each}": seconds for each, seconds in zip(PERCENTILES, found, strict=True)}
        return {**named, "max": self.latencies.longest}

    def errors_in_words(self) -> str:
        """The number of errors and their share, with the text of the first one."""
        if not self.errors:
            return "no errors"
        said = f", the first: {self.first_error}" if self.first_error else ""
        noun = "error" if self.errors == 1 else "errors"
        return f"{self.errors:,} {noun} ({self.errors / max(self.calls, 1):.2%}){said}"

    def parts(self) -> list[str]:
        """What was measured, in parts of a line."""
        at_once = f", {self.concurrency} at a time" if self.concurrency > 1 else ""
        times = ", ".join(f"{name} {milliseconds(seconds)}" for name, seconds in self.times().items())
        noun = "call" if self.calls == 1 else "calls"
        parts = [f"{self.calls:,} {noun} in {self.seconds:,.1f} s{at_once}, {self.rate:,.0f} a second", times]
        parts.insert(0 if self.errors else len(parts), self.errors_in_words())
        used = []
        if self.before is not None and self.after is not None:
            used.append(f"memory {megabytes(self.before.memory_bytes)}, then {megabytes(self.after.memory_bytes)}")
        if (seconds := self.processor_seconds) is not None:
            used.append(f"processor time {milliseconds(seconds)} a call")
        return [*parts, *([", ".join(used)] if used else [])]

    def as_object(self) -> dict[str, Any]:
        """It in its JSON form, with the times in milliseconds."""
        processor = self.processor_seconds
        return {
            "calls": self.calls,
            "concurrency": self.concurrency,
            "seconds": round(self.seconds, 4),
            "rate": round(self.rate, 2),
            "milliseconds": {name: _rounded(seconds) for name, seconds in self.times().items()},
            "exact": self.latencies.is_exact,
            "errors": self.errors,
            "firstError": self.first_error or None,
            "memory": {
                "before": self.before.memory_bytes if self.before is not None else None,
                "after": self.after.memory_bytes if self.after is not None else None,
            },
            "processorMilliseconds": _rounded(processor) if processor is not None else None,
        }


def megabytes(size: int) -> str:
    """A size in megabytes."""
    return f"{size / 1e6:,.1f} MB"


def _rounded(seconds: float) -> float:
    return round(seconds * 1000, 4)

"""The times that calls took: their percentiles, and a picture of their distribution.

The first `EXACT` times are kept, so that the percentiles of most runs are exact. Beside them every time is counted in
buckets, each a hundredth wider than the one before, which a longer run uses: its percentiles are half a hundredth off
at most, and its memory does not grow.
"""

from __future__ import annotations

import math
from array import array
from bisect import bisect_left
from collections import Counter
from itertools import accumulate

# 800 kB, and more calls than most runs make.
EXACT = 100_000
# The ratio of the limits of a bucket.
RATIO = 1.01
_SCALE = 1 / math.log(RATIO)
# A shorter time cannot be measured, and has no logarithm if it is none.
SHORTEST_SECONDS = 1e-9
# The number of lines of a picture, and the widest bar.
LINES, BAR_CELLS = 10, 40


class Latencies:
    """Times in seconds. Not safe to use from several threads. `exact` is the number of times that are kept."""

    def __init__(self, exact: int = EXACT) -> None:
        self.count = 0
        self.longest = 0.0
        self._exact = exact
        self._kept = array("d")
        self._buckets: Counter[int] = Counter()

    @property
    def is_exact(self) -> bool:
        """Whether the percentiles are exact."""
        return self.count <= self._exact

    def add(self, seconds: float) -> None:
        """Count one time."""
        self.count += 1
        self._buckets[math.floor(math.log(max(seconds, SHORTEST_SECONDS)) * _SCALE)] += 1
        if self.count <= self._exact:
            self._kept.append(seconds)
        if seconds > self.longest:
            self.longest = seconds

    def percentiles(self, *wanted: float) -> list[float]:
        """The shortest times that so many of a hundred calls did not exceed; of no calls they are 0."""
        ranks = [max(math.ceil(self.count * each / 100), 1) for each in wanted]
        if not self.count:
            return [0.0 for _ in ranks]
        if self.is_exact:
            ordered = sorted(self._kept)
            return [ordered[rank - 1] for rank in ranks]
        return [self._in_buckets(rank) for rank in ranks]

    def _in_buckets(self, rank: int) -> float:
        buckets = sorted(self._buckets)
        place = bisect_left(list(accumulate(self._buckets[bucket] for bucket in buckets)), rank)
        # The middle of the bucket, on the scale of the buckets.
        return min(math.exp((buckets[place] + 0.5) / _SCALE), self.longest)

    def picture(self, width: int) -> list[str]:
        """The distribution as lines no wider than `width`: the calls that took up to so long, and no less than the line
        before. The limits are a constant ratio apart, since a few calls usually take many times as long as the others.
        """
        if not self.count:
            return []
        first, last = min(self._buckets), max(self._buckets)
        step = math.ceil((last - first + 1) / LINES)
        counts = [
            sum(self._buckets.get(bucket, 0) for bucket in range(begin, begin + step))
            for begin in range(first, last + 1, step)
        ]
        limits = [math.exp((first + step * number) / _SCALE) for number in range(1, len(counts) + 1)]
        limits[-1] = self.longest
        names = [f"<= {milliseconds(limit)}" for limit in limits]
        numbers = [f"{count:,}" for count in counts]
        begun = [
            f"{name:>{max(map(len, names))}}  {number:>{max(map(len, numbers))}}"
            for name, number in zip(names, numbers, strict=True)
        ]
        cells = min(BAR_CELLS, width - len(begun[0]) - 2)
        if cells < 1:
            return begun if len(begun[0]) <= width else []
        # Any call is seen, however many others there are.
        bars = ["#" * math.ceil(count / max(counts) * cells) for count in counts]
        return [f"{each}  {bar}".rstrip() for each, bar in zip(begun, bars, strict=True)]


def milliseconds(seconds: float) -> str:
    """A time in milliseconds with three digits, such as `0.213 ms`, `12.3 ms` or `1,240 ms`."""
    value = seconds * 1000
    digits = 0 if value >= 99.95 else 1 if value >= 9.995 else 2 if value >= 0.9995 else 3
    return f"{value:,.{digits}f} ms"

"""The times that calls took: their percentiles, and a picture of their distribution.

The first `EXACT` times are kept as they are, so that the percentiles of most runs are exact. Later ones are counted in
buckets, each a hundredth wider than the one before: then the percentiles are half a hundredth off at most, and the
memory does not grow.
"""

from __future__ import annotations

import math
from array import array
from bisect import bisect_right
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
        self._exact = exact
        self._kept = array("d")
        # The later ones.
        self._later: Counter[int] = Counter()
        self._later_count = 0
        self._later_longest = 0.0

    @property
    def count(self) -> int:
        """The number of times."""
        return len(self._kept) + self._later_count

    @property
    def longest(self) -> float:
        """The longest time; of no calls it is 0."""
        return max(max(self._kept, default=0.0), self._later_longest)

    @property
    def is_exact(self) -> bool:
        """Whether the percentiles are exact."""
        return not self._later_count

    def add(self, seconds: float) -> None:
        """Count one time. This is part of each call that is measured, so it is quick."""
        if len(self._kept) < self._exact:
            self._kept.append(seconds)
            return
        self._later[_bucket_of(seconds)] += 1
        self._later_count += 1
        if seconds > self._later_longest:
            self._later_longest = seconds

    def percentiles(self, *wanted: float) -> list[float]:
        """The shortest times that so many of a hundred calls did not exceed; of no calls they are 0."""
        count = self.count
        places = [max(math.ceil(count * each / 100), 1) - 1 for each in wanted]
        if not count:
            return [0.0 for _ in places]
        if self.is_exact:
            ordered = sorted(self._kept)
            return [ordered[place] for place in places]
        numbers = self._buckets()
        buckets = sorted(numbers)
        ends = list(accumulate(numbers[bucket] for bucket in buckets))
        # The middle of a bucket, on the scale of the buckets.
        middles = (math.exp((buckets[bisect_right(ends, place)] + 0.5) / _SCALE) for place in places)
        longest = self.longest
        return [min(middle, longest) for middle in middles]

    def _buckets(self) -> Counter[int]:
        """The numbers of all times by their buckets."""
        return self._later + Counter(map(_bucket_of, self._kept))

    def picture(self, width: int) -> list[str]:
        """The distribution as lines no wider than `width`: the calls that took up to so long, and no less than the line
        before. The limits are a constant ratio apart, since a few calls usually take many times as long as the others.
        """
        numbers = self._buckets()
        if not numbers:
            return []
        first, last = min(numbers), max(numbers)
        step = math.ceil((last - first + 1) / LINES)
        counts = [
            sum(numbers[bucket] for bucket in range(begin, begin + step)) for begin in range(first, last + 1, step)
        ]
        limits = [math.exp((first + step * number) / _SCALE) for number in range(1, len(counts) + 1)]
        limits[-1] = self.longest
        names = [f"<= {milliseconds(limit)}" for limit in limits]
        shown = [f"{count:,}" for count in counts]
        begun = [
            f"{name:>{max(map(len, names))}}  {number:>{max(map(len, shown))}}"
            for name, number in zip(names, shown, strict=True)
        ]
        cells = min(BAR_CELLS, width - len(begun[0]) - 2)
        if cells < 1:
            return begun if len(begun[0]) <= width else []
        # Any call is seen, however many others there are.
        bars = ["#" * math.ceil(count / max(counts) * cells) for count in counts]
        return [f"{each}  {bar}".rstrip() for each, bar in zip(begun, bars, strict=True)]


def _bucket_of(seconds: float) -> int:
    return math.floor(math.log(max(seconds, SHORTEST_SECONDS)) * _SCALE)


def milliseconds(seconds: float) -> str:
    """A time in milliseconds with three digits, such as `0.213 ms`, `12.3 ms` or `1,240 ms`."""
    value = seconds * 1000
    digits = 0 if value >= 99.95 else 1 if value >= 9.995 else 2 if value >= 0.9995 else 3
    return f"{value:,.{digits}f} ms"

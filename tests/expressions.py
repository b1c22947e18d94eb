"""Texts on which a regular expression may take long, made of the expression itself."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from re import _parser as parser  # type: ignore[attr-defined]
from statistics import median
from time import thread_time
from typing import Any

# Where one more character never helps, an expression that goes back tries everything before it gives up.
_END = "\x00\n!"
_BODY = {"MAX_REPEAT": 2, "MIN_REPEAT": 2, "POSSESSIVE_REPEAT": 2, "SUBPATTERN": 3, "ATOMIC_GROUP": 0}
_CLASSES = {
    "CATEGORY_DIGIT": "1",
    "CATEGORY_NOT_DIGIT": "a",
    "CATEGORY_SPACE": " ",
    "CATEGORY_NOT_SPACE": "a",
    "CATEGORY_WORD": "a",
    "CATEGORY_NOT_WORD": "-",
}

# Not noticed, and too short to be measured.
BRIEF_SECONDS = 0.002
# Between linear time, which takes four times as long, and quadratic time, which takes sixteen times as long.
LIMIT = 8
# As long as cubic time or worse takes at least: not repeated on a larger size.
CUBIC = 40
PAIRS = 5
# Small at first: what tries everything would not come to an end. Then close together, since quadratic time is measured
# at the first that is not too brief, and takes hundreds of times as long there. The last is compared with 20,000.
SIZES = (12, 18, 24, 30, 200, 700, 950, 1_250, 1_800, 2_500, 3_500, 5_000)


def attacks(pattern: str, flags: int) -> Iterator[Callable[[int], str]]:
    """Functions that make a text of about so many characters: for each repetition what leads to it, what is repeated,
    and what does not fit; and what leads to it, again and again.
    """
    seen = set()
    for before, body in _repetitions(parser.parse(pattern, flags), ""):
        for lead, pump in ((before, body), ("", before), ("", before + body)):
            if pump and (lead, pump) not in seen:
                seen.add((lead, pump))
                yield lambda size, lead=lead, pump=pump: lead + pump * (size // len(pump)) + _END


def grows_too_fast(work: Callable[[int], object]) -> str:
    """How much longer `work` takes for four times the size, if that is much more than four times as long; else empty.

    Only processor times of this thread are compared, on a size at which they can be measured. An expression with a
    bound, such as `{0,1000}`, is linear only on texts beyond it, so the comparison is repeated on a larger size.
    """
    for size in SIZES:
        if (spent := _best(work, size, 1)) >= BRIEF_SECONDS and _best(work, size, 2) >= BRIEF_SECONDS:
            break
    else:
        return ""
    if size < 50:
        return f"so many tries that {size} characters take {spent:.3f} s"
    ratio = _ratio(work, size)
    if LIMIT <= ratio < CUBIC:
        # Once: these times are so long that a busy machine cannot double one.
        ratio = min(ratio, _best(work, size * 8, 1) / _best(work, size * 2, 1))
    if ratio < LIMIT:
        return ""
    return f"{ratio:.0f} times as long for four times the size, from {size}, which takes {spent:.4f} s"


def _ratio(work: Callable[[int], object], size: int) -> float:
    """How many times as long four times the size takes. Most of several pairs decide whether that is too long: each is
    measured in turn, so that both its times are taken while the machine is about as busy.
    """
    ratios: list[float] = []
    while max(sum(ratio >= LIMIT for ratio in ratios), sum(ratio < LIMIT for ratio in ratios)) <= PAIRS // 2:
        ratios.append(_best(work, size * 4, 1) / max(_best(work, size, 2), 1e-6))
    return median(ratios)


def _best(work: Callable[[int], object], size: int, times: int) -> float:
    found = []
    for _ in range(times):
        began = thread_time()
        work(size)
        found.append(thread_time() - began)
    return min(found)


def _repetitions(tree: Iterable[Any], before: str) -> Iterator[tuple[str, str]]:
    """What leads to each repetition, and what is repeated."""
    for code, value in tree:
        name = str(code)
        if name in ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"):
            least, most, body = value
            if most > 3:
                yield before, _sample(body)
            yield from _repetitions(body, before)
            before += _sample(body) * max(1, min(least, 2000))
            continue
        for inner in _inner(name, value):
            yield before, _sample(inner)
            yield from _repetitions(inner, before)
        before += _sample([(code, value)])


def _inner(name: str, value: Any) -> list[Any]:
    if name == "BRANCH":
        return list(value[1])
    if name in ("ASSERT", "ASSERT_NOT"):
        return [value[1]]
    if name == "SUBPATTERN":
        return [value[3]]
    return [value] if name == "ATOMIC_GROUP" else []


def _sample(tree: Iterable[Any]) -> str:
    """A short text that fits."""
    return "".join(_sample_of(str(code), value) for code, value in tree)


def _sample_of(name: str, value: Any) -> str:
    if name == "LITERAL":
        return chr(value)
    if name == "NOT_LITERAL":
        return "a" if value != ord("a") else "b"
    if name == "ANY":
        return "a"
    if name == "IN":
        return _member(value)
    if name == "BRANCH":
        return _sample(value[1][0])
    if name in ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"):
        return _sample(value[2]) * max(1, min(value[0], 2000))
    if name == "SUBPATTERN":
        return _sample(value[3])
    return _sample(value) if name == "ATOMIC_GROUP" else ""


def _member(members: list[Any]) -> str:
    names = [str(code) for code, _ in members]
    if names[0] == "NEGATE":
        held = re.compile("[" + "".join(_written(code, value) for code, value in members[1:]) + "]", re.DOTALL)
        return next(char for char in "a -1_.\n\x00Ω" if not held.match(char))
    _, value = members[0]
    return chr(value[0]) if names[0] == "RANGE" else _CLASSES[str(value)] if names[0] == "CATEGORY" else chr(value)


def _written(code: Any, value: Any) -> str:
    name = str(code)
    if name == "RANGE":
        return f"{re.escape(chr(value[0]))}-{re.escape(chr(value[1]))}"
    if name == "LITERAL":
        return re.escape(chr(value))
    letter = str(value).removeprefix("CATEGORY_").removeprefix("NOT_")[0].lower()
    return "\\" + (letter.upper() if "NOT_" in str(value) else letter)

"""The cost of a regular expression in a schema. Reads every expression, even an invalid one."""

from __future__ import annotations

import re

# Both are compiled when they are used: few schemas have an expression.
# Features that require a backtracking engine: lookaround, backreferences, possessive quantifiers.
_BACKTRACKS = r"\\[1-9kgKGZ]|\(\?(?![:a-zA-Z]*[:)])|[*+?}]\+"
_PIECE = r"(?s)\\[pP]\{[^}]*\}?|\\.|\[\^?\]?(?:\\.|[^\]\\])*\]?|\{(?P<least>\d+)(?:,(?P<most>\d*))?\}|."
# A Unicode class, such as `\p{L}`, consists of many ranges.
_UNICODE_CLASS_STATES = 500
# More than any engine compiles, and small enough to calculate with.
MAX_STATES = 10**9


def backtracks(pattern: str) -> bool:
    """Whether this may need a backtracking engine."""
    return re.search(_BACKTRACKS, pattern) is not None


def states_of(pattern: str) -> int:
    """An upper limit for the states of its automaton, each of which may be visited for each character."""
    outer: list[int] = []
    total = last = 0
    for token in re.finditer(_PIECE, pattern):
        text = token[0]
        if text == "(":
            outer.append(total)
            total = last = 0
        elif text == ")":
            last = total
            total += outer.pop() if outer else 0
        elif token["least"] is not None:
            times = max(_number(token["least"]), _number(token["most"] or ""))
            total, last = total + last * (times - 1), last * times
        else:
            last = _UNICODE_CLASS_STATES if text[:2] in (r"\p", r"\P") else 1 + len(text) // 4
            total += last
        total, last = min(total, MAX_STATES), min(last, MAX_STATES)
    return min(total + sum(outer), MAX_STATES)


def _number(digits: str) -> int:
    return max(1, int(digits)) if digits.isdecimal() and len(digits) < 10 else 1 if not digits else MAX_STATES

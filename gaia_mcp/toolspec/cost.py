"""An upper bound for the work of validating a value against a schema, calculated without validating it; also for the
regular expressions in it, even an invalid one.

A small schema can cause unbounded work. One line with `$ref` can apply a schema twice to the same value, so 34 such
lines apply it 2**34 times; a schema that refers to itself twice for each item doubles the work at each level of the
value. The cost is therefore the maximum number of schema applications along one path from the root of the value to a
leaf, multiplied by the number of parts. Each schema is visited once for each level.

A unit is at most a tenth of a microsecond of the validator's time. A cost that cannot be calculated is `UNBOUNDED`.
"""

from __future__ import annotations

import json
import re
from typing import Any, NamedTuple

from gaia_mcp.toolspec.schema import pointed

UNBOUNDED = 10**12
# The limits for compiling a schema in a tenth of a second: characters, references (each takes longer, the more there
# are), and states of regular expressions.
MAX_TEXT_CHARS, MAX_REFERENCES, MAX_STATES = 300_000, 1_000, 300_000
# Values are a few levels deep; each level traverses the schema once more.
MAX_HEIGHT = 20
# A string takes about as long as this many other parts, or states of a regular expression.
_CHARS_PER_UNIT, _STATE_CHARS_PER_UNIT = 500, 10
# The validator's own backtracking limit ends an expression after a tenth of a second, on a short text.
_BACKTRACKING_UNITS, _BACKTRACKING_CHARS = 1_000_000, 256
# Finding unevaluated members applies these again, and once more for the errors.
_UNEVALUATED_FACTOR = 4

# The keywords whose schemas apply to the same value: lists, single ones, and objects of them.
_LISTS = ("allOf", "anyOf", "oneOf")
_SINGLE = ("not", "if", "then", "else")
_BY_NAME = ("dependentSchemas", "dependencies")
_UNEVALUATED = ("unevaluatedProperties", "unevaluatedItems")
# References that depend on the way by which they are reached.
_DYNAMIC = ("$dynamicRef", "$recursiveRef")
_DATA = ("enum", "const", "required", "dependentRequired", "dependencies")
# The types of values that have parts.
_WITH_PARTS = (dict, list, tuple)
# Both are compiled when they are used: few schemas have an expression.
# Features that require a backtracking engine: lookaround, backreferences, possessive quantifiers.
_BACKTRACKS = r"\\[1-9kgKGZ]|\(\?(?![:a-zA-Z]*[:)])|[*+?}]\+"
_PIECE = r"(?s)\\[pP]\{[^}]*\}?|\\.|\[\^?\]?(?:\\.|[^\]\\])*\]?|\{(?P<least>\d+)(?:,(?P<most>\d*))?\}|."
# A Unicode class, such as `\p{L}`, consists of many ranges.
_UNICODE_CLASS_STATES = 500
# More than any engine compiles, and small enough to calculate with.
MOST_STATES = 10**9


class UncountableError(ValueError):
    """A schema whose cost cannot be calculated."""


class _Work(NamedTuple):
    """Units for a value itself, and along one path into a list, or an object."""

    own: int
    items: int = 0
    members: int = 0

    def __add__(self, other: Any) -> _Work:
        return _Work(self.own + other.own, self.items + other.items, self.members + other.members)

    @property
    def total(self) -> int:
        return min(self.own + max(self.items, self.members), UNBOUNDED)


class Cost:
    """The cost of validation against the schema with this JSON text."""

    def __init__(self, text: str) -> None:
        self._schema = json.loads(text)
        self.is_bounded = _is_bounded(text, self._schema)
        self._reads_keys = '"propertyNames"' in text or '"patternProperties"' in text
        # By the height of the values, and the length of their longest text in bits.
        self._known: dict[tuple[int, int], int] = {}

    def units(self, value: Any, limit: int) -> int:
        """The units for `value`; any number greater than `limit` if there are more."""
        if not self.is_bounded:
            return UNBOUNDED
        parts, height, longest = 1, 1, 1
        # The parts of a level that may have parts. A loop without function calls, because every tool call runs it.
        level = [value] if isinstance(value, _WITH_PARTS) else []
        if isinstance(value, str):
            longest = max(len(value), 1)
        while level:
            inner: list[Any] = []
            height += 1
            for whole in level:
                parts += len(whole)
                if height > MAX_HEIGHT or parts > limit:
                    return UNBOUNDED
                if self._reads_keys and isinstance(whole, dict):
                    longest = max(longest, max(map(len, whole), default=0))
                for part in dict.values(whole) if isinstance(whole, dict) else whole:
                    if isinstance(part, str):
                        if len(part) > longest:
                            longest = len(part)
                    elif isinstance(part, _WITH_PARTS):
                        inner.append(part)
            level = inner
        # The units along a path are cached for similar values.
        key = (height, longest.bit_length())
        along = self._known.get(key)
        if along is None:
            along = self._known[key] = self._along(height, 1 << key[1])
        units = parts * along
        return units if units < UNBOUNDED else UNBOUNDED

    def _along(self, height: int, chars: int) -> int:
        """The units along one path through a value of this height, with texts of fewer than `chars` characters."""
        try:
            return _Counting(self._schema, chars).work(self._schema, height).total
        except (UncountableError, RecursionError):
            return UNBOUNDED


class _Counting:
    """Counts the work of one schema for values with texts of up to a number of characters."""

    def __init__(self, root: Any, chars: int) -> None:
        self._root = root
        self._chars = chars
        self._found: dict[tuple[int, int], _Work | None] = {}

    def work(self, schema: Any, height: int) -> _Work:
        """The work for a value of this height. Raises `UncountableError`, `RecursionError`."""
        if not isinstance(schema, dict):
            return _Work(1)
        key = (id(schema), height)
        if key not in self._found:
            self._found[key] = None
            self._found[key] = self._work(schema, height)
        found = self._found[key]
        if found is None:
            raise UncountableError  # It is being applied to this value already.
        return found

    def _work(self, schema: dict[str, Any], height: int) -> _Work:
        work = _Work(self._own(schema))
        for inner in self._same_value(schema):
            work += self.work(inner, height)
        if height > 1:
            work += _Work(0, self._items(schema, height - 1), self._members(schema, height - 1))
        if any(keyword in schema for keyword in _UNEVALUATED):
            work = _Work(*(units * _UNEVALUATED_FACTOR for units in work))
        return work

    def _own(self, schema: dict[str, Any]) -> int:
        units = 1 + self._chars // _CHARS_PER_UNIT
        # The data is compared, and may be large.
        units += sum(len(str(schema[keyword])) >> 4 for keyword in _DATA if keyword in schema)
        units += len(_object(schema, "properties")) >> 3
        return units + self._matching(schema.get("pattern"))

    def _matching(self, pattern: Any) -> int:
        if not isinstance(pattern, str):
            return 0
        if backtracks(pattern):
            return _BACKTRACKING_UNITS * (1 + self._chars // _BACKTRACKING_CHARS)
        return states_of(pattern) * self._chars // _STATE_CHARS_PER_UNIT

    def _same_value(self, schema: dict[str, Any]) -> list[Any]:
        inner = [part for keyword in _LISTS if isinstance(schema.get(keyword), list) for part in schema[keyword]]
        inner += [schema[keyword] for keyword in _SINGLE if keyword in schema]
        inner += [part for keyword in _BY_NAME for part in _object(schema, keyword).values()]
        if isinstance(reference := schema.get("$ref"), str):
            inner.append(self._pointed(reference))
        return inner

    def _pointed(self, reference: str) -> Any:
        found = pointed(self._root, reference) if "%" not in reference else None
        if found is None:
            raise UncountableError  # To another document, or to an anchor; escapes are left to the validator.
        return found

    def _items(self, schema: dict[str, Any], height: int) -> int:
        """Units along one path into a list: an item is one of the first, or one of the others."""
        ordered = [part for keyword in ("prefixItems", "items") for part in _list(schema, keyword)]
        others = [schema[keyword] for keyword in ("items", "additionalItems") if keyword in schema]
        units = max((self.work(part, height).total for part in [*ordered, *others]), default=0)
        return units + self._each(schema, ("contains", "unevaluatedItems"), height)

    def _members(self, schema: dict[str, Any], height: int) -> int:
        """Units along one path into an object: a member is a named one, or one of the others."""
        named = [*_object(schema, "properties").values(), schema.get("additionalProperties", True)]
        units = max(self.work(part, height).total for part in named)
        for pattern, part in _object(schema, "patternProperties").items():
            units += self._matching(pattern) + self.work(part, height).total
        return units + self._each(schema, ("propertyNames", "unevaluatedProperties"), height)

    def _each(self, schema: dict[str, Any], keywords: tuple[str, ...], height: int) -> int:
        return sum(self.work(schema[keyword], height).total for keyword in keywords if keyword in schema)


def _is_bounded(text: str, schema: Any) -> bool:
    """Whether the schema compiles within the limits, and its references resolve as written."""
    is_old = "draft-04" in str(schema.get("$schema")) if isinstance(schema, dict) else False
    ids = text.count('"id"' if is_old else '"$id"')
    return (
        len(text) <= MAX_TEXT_CHARS
        and (references := text.count('"$ref"')) <= MAX_REFERENCES
        # Below the root, it would become the base of local references.
        and ids <= (isinstance(schema, dict) and "$id" in schema)
        and not any(f'"{keyword}"' in text for keyword in _DYNAMIC)
        # Repetitions are expanded when they are compiled.
        and not (references and any(f'"{keyword}"' in text for keyword in _UNEVALUATED))
        and ('"pattern' not in text or _states(schema) <= MAX_STATES)
    )


def _states(schema: Any) -> int:
    """The states of all regular expressions in a schema."""
    total, waiting = 0, [schema]
    while waiting and total <= MAX_STATES:
        part = waiting.pop()
        if isinstance(part, list):
            waiting += part
        elif isinstance(part, dict):
            waiting += part.values()
            patterns = [part.get("pattern"), *_object(part, "patternProperties")]
            total += sum(states_of(pattern) for pattern in patterns if isinstance(pattern, str))
    return total


def _object(schema: dict[str, Any], keyword: str) -> dict[str, Any]:
    held = schema.get(keyword)
    return held if isinstance(held, dict) else {}


def _list(schema: dict[str, Any], keyword: str) -> list[Any]:
    held = schema.get(keyword)
    return held if isinstance(held, list) else []


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
        total, last = min(total, MOST_STATES), min(last, MOST_STATES)
    return min(total + sum(outer), MOST_STATES)


def _number(digits: str) -> int:
    return max(1, int(digits)) if digits.isdecimal() and len(digits) < 10 else 1 if not digits else MOST_STATES

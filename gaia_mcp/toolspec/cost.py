"""How much work it is to validate a value against a schema, at most: without a validator, and without doing it.

Small schemas can make endless work. `$ref` writes in a line what applies twice to the same value, 34 such lines make it
2**34 times; and a schema that refers to itself twice for each item doubles the work with each level of the value. So
what is counted is how often schemas apply along one way from the whole value to its innermost part, at the most, and
that is multiplied by the number of parts. Each schema is looked at once for each level.

A unit is a tenth of a microsecond of the validator's time at most. What cannot be counted has `UNBOUNDED` units.
"""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from gaia_mcp.toolspec.patterns import backtracks, states_of
from gaia_mcp.toolspec.schema import pointed

UNBOUNDED = 10**12
# What is compiled in a tenth of a second: so many characters, references, which the validator follows more slowly the
# more there are, and states of regular expressions.
MAX_TEXT_CHARS, MAX_REFERENCES, MAX_STATES = 300_000, 1_000, 300_000
# Values are a few levels deep; each level costs another look at the schema.
MAX_HEIGHT = 20
# A string is looked at in about the time of so many other parts, or states of a regular expression.
_CHARS_PER_UNIT, _STATE_CHARS_PER_UNIT = 500, 10
# The validator's own limit for going back ends one expression after a tenth of a second, on a short text.
_BACKTRACKING_UNITS, _BACKTRACKING_CHARS = 1_000_000, 256
# Looking for what no other schema has evaluated applies these again, and once more for the errors.
_UNEVALUATED_FACTOR = 4

# The keywords whose schemas apply to the same value: lists, single ones, and objects of them.
_LISTS = ("allOf", "anyOf", "oneOf")
_SINGLE = ("not", "if", "then", "else")
_BY_NAME = ("dependentSchemas", "dependencies")
_UNEVALUATED = ("unevaluatedProperties", "unevaluatedItems")
# References that depend on the way by which they are reached.
_DYNAMIC = ("$dynamicRef", "$recursiveRef")
_DATA = ("enum", "const", "required", "dependentRequired", "dependencies")
# The values that have parts.
_WITH_PARTS = (dict, list, tuple)


class UncountableError(ValueError):
    """A schema whose cost cannot be calculated."""


class _Work(NamedTuple):
    """Units for a value itself, and along one way into it if it is a list, or an object."""

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
        # By height and length of the longest text of the values, in bits.
        self._known: dict[tuple[int, int], int] = {}

    def units(self, value: Any, limit: int) -> int:
        """The units for `value`; any number greater than `limit` if there are more."""
        if not self.is_bounded:
            return UNBOUNDED
        parts, height, longest = 1, 1, 1
        # The parts of a level that have parts, or may have; one loop without a function, for every call comes through.
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
        # Those along one way are remembered for similar values.
        key = (height, longest.bit_length())
        along = self._known.get(key)
        if along is None:
            along = self._known[key] = self._along(height, 1 << key[1])
        units = parts * along
        return units if units < UNBOUNDED else UNBOUNDED

    def _along(self, height: int, chars: int) -> int:
        """The units along one way through a value of this height, whose longest text has fewer than `chars`."""
        try:
            return _Counting(self._schema, chars).work(self._schema, height).total
        except (UncountableError, RecursionError):
            return UNBOUNDED


class _Counting:
    """Counts the work of one schema for values whose longest text has so many characters."""

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
            raise UncountableError  # It applies to the value to which it already does.
        return found

    def _work(self, schema: dict[str, Any], height: int) -> _Work:
        work = _Work(self._own(schema))
        for inner in self._same_value(schema):
            work += self.work(inner, height)
            if work.own > UNBOUNDED:
                raise UncountableError
        if height > 1:
            work += _Work(0, self._items(schema, height - 1), self._members(schema, height - 1))
        if any(keyword in schema for keyword in _UNEVALUATED):
            work = _Work(*(units * _UNEVALUATED_FACTOR for units in work))
        return work

    def _own(self, schema: dict[str, Any]) -> int:
        units = 1 + self._chars // _CHARS_PER_UNIT
        # Data is compared, and there may be much of it.
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
            raise UncountableError  # Elsewhere, or by a name; an escape is for the validator to understand.
        return found

    def _items(self, schema: dict[str, Any], height: int) -> int:
        """Units along one way into a list: an item is one of the first, or one of the others."""
        ordered = [part for keyword in ("prefixItems", "items") for part in _list(schema, keyword)]
        others = [schema[keyword] for keyword in ("items", "additionalItems") if keyword in schema]
        units = max((self.work(part, height).total for part in [*ordered, *others]), default=0)
        return units + self._each(schema, ("contains", "unevaluatedItems"), height)

    def _members(self, schema: dict[str, Any], height: int) -> int:
        """Units along one way into an object: a member is one of those with names, or one of the others."""
        named = [*_object(schema, "properties").values(), schema.get("additionalProperties", True)]
        units = max(self.work(part, height).total for part in named)
        for pattern, part in _object(schema, "patternProperties").items():
            units += self._matching(pattern) + self.work(part, height).total
        return units + self._each(schema, ("propertyNames", "unevaluatedProperties"), height)

    def _each(self, schema: dict[str, Any], keywords: tuple[str, ...], height: int) -> int:
        return sum(self.work(schema[keyword], height).total for keyword in keywords if keyword in schema)


def _is_bounded(text: str, schema: Any) -> bool:
    """Whether the schema is compiled at once, and its references resolve as written."""
    is_old = "draft-04" in str(schema.get("$schema")) if isinstance(schema, dict) else False
    ids = text.count('"id"' if is_old else '"$id"')
    return (
        len(text) <= MAX_TEXT_CHARS
        and (references := text.count('"$ref"')) <= MAX_REFERENCES
        # Below the root, it would be what local references start at.
        and ids <= (isinstance(schema, dict) and "$id" in schema)
        and not any(f'"{keyword}"' in text for keyword in _DYNAMIC)
        # Together they are expanded when they are compiled.
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

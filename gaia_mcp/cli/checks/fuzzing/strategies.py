"""Hypothesis strategies for the arguments of a tool, made from its input schema: valid ones, and invalid ones.

Each is a proposal: whether a value is valid is decided by the validator. So keywords that are rare in the schemas of
tools (`not`, `if`, `dependentRequired`, …) are left to it. Every size is bounded: a schema may refer to itself, and ask
for billions of items.

A translator of our own: `hypothesis-jsonschema` refuses schemas that refer to themselves, generates no invalid values,
and brings a second validator.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeAlias, TypeGuard

from hypothesis import strategies as st

from gaia_mcp.toolspec.cost import backtracks, states_of
from gaia_mcp.toolspec.schema import choices_of, properties_of, resolved, types_of

Strategy: TypeAlias = "st.SearchStrategy[Any]"

# A schema that refers to itself is followed to this depth; the members that it then still requires cannot be made.
MAX_DEPTH = 5
# Parts of schemas for which strategies are made, at any depth: unions within each other multiply.
MAX_PARTS = 1_000
# Parts of an example, which has several arguments.
PARTS_AT_ONCE = 200
# A list has at most this many more items than it must have, and an object of any names at most this many members.
MORE_ITEMS, MAX_MEMBERS = 5, 3
# Above this, a list or a text repeats one item; above the next, it is not made: the request would be too large.
MANY_ITEMS, MOST_ITEMS = 50, 10_000
MANY_CHARS, MOST_CHARS = 1_000, 100_000
# The validator takes too long for deeper values, so they would not be sent.
MOST_LEVELS = 12
# Below the arguments themselves, so many optional members are used: a schema that refers to itself would grow at each
# level.
MAX_INNER_OPTIONAL = 4
# Of a union, or an object, as many branches or members are used.
MAX_BRANCHES, MAX_PROPERTIES = 50, 100
# An expression with more states takes long to generate from; one that backtracks may take forever to check.
MAX_PATTERN_STATES = 2_000
# The places of a decimal that `multipleOf` is given in.
_STEP_DIGITS = 12

_OBJECT_WORDS = ("properties", "required", "additionalProperties", "patternProperties", "minProperties")
_ARRAY_WORDS = ("items", "prefixItems", "minItems", "maxItems", "uniqueItems")
_STRING_WORDS = ("minLength", "maxLength", "pattern", "format")
_NUMBER_WORDS = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")
_ALL_TYPES = ("string", "integer", "number", "boolean", "null", "array", "object")
# The keywords of which the larger value is the stricter one, and those of which the smaller one is.
_LARGER = ("minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties")
_SMALLER = ("maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties")

# What programs stumble over: nothing, blanks, the ends of the ranges of UTF-8 and UTF-16, a control character,
# combining characters, text that runs to the left, an invisible one, digits of other scripts, line ends, and words
# that a loose language takes for values.
_ODD_TEXTS = (
    "", " ", "\t\n", "\x00", "\x7f", "\x80", "\u07ff", "\u0800", "\uffff", "\U00010000", "\U0010ffff", "e\u0301",
    "\u202eabc", "\u200b", "\ufeff", "\u0661\u0662", "\u2028", "\r\n", "\U0001f469\u200d\U0001f4bb", "\u00df", "\u0130",
    "null", "true", "0", "-1", "NaN", "\\", '"', "'", "%s", "${x}", "x" * 1_000, "\u20ac" * 1_000,
)  # fmt: skip
_PLAIN_CHARS = "abc xyz-_019"
# Blocks from all of Unicode: controls and Latin, combining characters, Greek, Cyrillic and Hebrew, Arabic, Devanagari,
# marks of direction, Japanese and Chinese, Korean, private ones, halves and specials, music, faces, and the last ones.
# Of the whole, hypothesis first makes a table, which takes seconds; and each further block costs time.
_BLOCKS = (
    (0x00, 0x180), (0x300, 0x5FF), (0x600, 0x6FF), (0x900, 0x97F), (0x2000, 0x206F), (0x3040, 0x30FF), (0x4E00, 0x4E7F),
    (0xAC00, 0xAC7F), (0xE000, 0xE00F), (0xFE00, 0xFFFF), (0x1D100, 0x1D1FF), (0x1F600, 0x1F64F), (0x10FFF0, 0x10FFFF),
)  # fmt: skip
_ANY_CHARS = "".join(chr(code) for first, last in _BLOCKS for code in range(first, last + 1))
# Where the integers of C, of JavaScript and of 64 bits end.
_ODD_INTEGERS = (0, 1, -1, 2**31 - 1, 2**31, -(2**31), 2**53, 2**53 + 1, -(2**53), 2**63 - 1, 2**63, -(2**63), 10**20)
_ODD_NUMBERS = (0.0, -0.0, 0.1, 1e-7, -1e-300, 5e-324, 1e16, 1e21, 1e300, -1e300)
# One value of each type, as invalid values where another type is expected.
_OF_TYPES: tuple[tuple[str, Any], ...] = (
    ("null", None), ("boolean", True), ("integer", 7), ("number", 0.5), ("string", "text"), ("array", []),
    ("object", {}), ("array", [None]), ("object", {"a": {}}), ("string", ""), ("integer", -(10**30)),
)  # fmt: skip
# Texts in the formats that servers check. All others are any text, as in the specification of JSON Schema.
_FORMATS: dict[str, Strategy] = {
    "date": st.dates().map(lambda day: day.isoformat()),
    "time": st.times().map(lambda time: f"{time.isoformat()}Z"),
    "date-time": st.datetimes().map(lambda time: f"{time.isoformat()}Z"),
    "email": st.text("abc+._019", min_size=1, max_size=12).map(lambda name: f"a{name}z@example.com".replace("..", ".")),
    "uuid": st.uuids().map(str),
    "ipv4": st.ip_addresses(v=4).map(str),
    "ipv6": st.ip_addresses(v=6).map(str),
    "hostname": st.sampled_from(("localhost", "example.com", "a.b-c.example", "xn--nxasmq6b.example")),
    "uri": st.sampled_from(("https://example.com/", "urn:isbn:0", "https://example.com/a%20b?c=d#e", "file:///x")),
    "duration": st.sampled_from(("P1D", "PT0S", "P1Y2M3DT4H5M6S", "P4W")),
    "regex": st.sampled_from(("", "a", "^[a-z]+$", "(a|b)*")),
}


class UnmakeableError(ValueError):
    """No value can be made for a schema."""


def any_json() -> Strategy:
    """Values of any type, a few levels deep, and rarely many."""
    plain = st.one_of(
        st.none(), st.booleans(), st.sampled_from(_ODD_INTEGERS), st.sampled_from(_ODD_NUMBERS), _any_text()
    )
    flat = st.lists(plain, max_size=3) | st.dictionaries(st.text(_ANY_CHARS, max_size=3), plain, max_size=MAX_MEMBERS)
    deep = st.integers(2, MOST_LEVELS).map(_nested)
    return st.one_of(plain, flat, st.lists(flat, max_size=2), deep)


def valid(schema: Any) -> Strategy:
    """Values for which the schema was made. Raises `UnmakeableError` if there are none within the limits."""
    made = _Maker(schema).valid(schema, 0)
    if made is None:
        raise UnmakeableError("no arguments within the limits of size and depth match it")
    return made


def invalid(schema: Any) -> Strategy | None:
    """Values, objects like the valid ones, that break one of its rules; None if there is no rule to break."""
    broken = _Maker(schema).broken_objects(schema, 0)
    return st.one_of(broken) if broken else None


def together(schema: Any, times: int, on_drawn: Callable[[], None] = lambda: None) -> Strategy:
    """So many arguments at once for a tool with this input schema, of which every third breaks a rule. `on_drawn` is
    called with each. Raises `UnmakeableError`.
    """

    def drawn(arguments: Any) -> Any:
        on_drawn()
        return arguments

    one, broken = valid(schema).map(drawn), invalid(schema)
    if broken is None:
        return st.tuples(*[one] * times)
    if times == 1:
        return st.tuples(one | broken)
    return st.tuples(*[one] * (times - times // 3), *[broken] * (times // 3))


def drawn_at_once(schema: Any, most: int) -> int:
    """How many arguments of this schema make an example that the engine can draw: the fewer, the larger they are."""
    maker = _Maker(schema)
    maker.valid(schema, 0)
    return max(1, min(most, PARTS_AT_ONCE // maker.parts))


def joinable(schema: Any) -> frozenset[str]:
    """The arguments of which two values may be joined to a third one: those that are free in what they are."""
    maker = _Maker(schema)
    members = properties_of(schema)
    return frozenset(name for name in members if all(map(_is_free, maker.branches(members[name]))))


def _is_free(part: dict[str, Any]) -> bool:
    return not any(word in part for word in ("enum", "const", "format", "pattern", "anyOf", "oneOf"))


def _nested(depth: int) -> Any:
    value: Any = None
    for level in range(depth):
        value = [value] if level % 2 else {"a": value}
    return value


def _any_text() -> Strategy:
    return st.one_of(st.text(_PLAIN_CHARS, max_size=12), st.sampled_from(_ODD_TEXTS), st.text(_ANY_CHARS, max_size=20))


class _Maker:
    def __init__(self, root: Any) -> None:
        self._root = root
        # By the identity of a part of the schema, the depth, and whether it is to be broken: a schema may name a part
        # many times. The part is kept, or its identity might be given to another one.
        self._made: dict[tuple[int, int, bool], tuple[Any, Strategy | None]] = {}
        self.parts = 0

    def valid(self, schema: Any, depth: int) -> Strategy | None:
        """Values that match; None if there are none at this depth."""
        if schema is True or schema is None or schema == {}:
            return any_json()
        if not isinstance(schema, dict) or depth > MAX_DEPTH:
            return None
        return self._once(schema, depth, is_broken=False)

    def _once(self, schema: dict[str, Any], depth: int, *, is_broken: bool) -> Strategy | None:
        key = (id(schema), depth, is_broken)
        if key not in self._made:
            self.parts += 1
            make = self._break if is_broken else self._valid
            self._made[key] = (schema, make(schema, depth) if self.parts < MAX_PARTS else None)
        return self._made[key][1]

    def _valid(self, schema: dict[str, Any], depth: int) -> Strategy | None:
        made = [self._of_branch(branch, depth) for branch in self.branches(schema)]
        found = [each for each in made if each is not None]
        return st.one_of(found) if found else None

    def branches(self, schema: Any) -> list[dict[str, Any]]:
        """The schema without unions and references: one for each choice of branches."""
        whole = self.flat(schema)
        found = [{key: held for key, held in whole.items() if key not in ("anyOf", "oneOf")}]
        for union in ("anyOf", "oneOf"):
            if listed := _list(whole, union):
                inner = [flat for branch in listed[:MAX_BRANCHES] for flat in self._inner(branch)]
                found = [merged(base, branch) for base in found for branch in inner][:MAX_BRANCHES]
        return found

    def _inner(self, branch: Any) -> list[dict[str, Any]]:
        if branch is True:
            return [{}]
        flat = self.flat(branch) if isinstance(branch, dict) else {}
        if "anyOf" not in flat and "oneOf" not in flat:
            return [flat] if isinstance(branch, dict) else []
        # One level more: a union in a union that goes on is left to the recursion.
        return [
            merged({key: held for key, held in flat.items() if key != union}, self.flat(inner))
            for union in ("anyOf", "oneOf")
            for inner in _list(flat, union)
            if isinstance(inner, dict)
        ]

    def flat(self, schema: Any, depth: int = 0) -> dict[str, Any]:
        """The schema with its references resolved, and with the parts of its `allOf`."""
        whole = resolved(schema, self._root)
        parts = whole.get("allOf")
        if not isinstance(parts, list) or depth > MAX_DEPTH:
            return whole
        whole = {key: held for key, held in whole.items() if key != "allOf"}
        for part in parts[:MAX_BRANCHES]:
            whole = merged(whole, self.flat(part, depth + 1))
        return whole

    def _of_branch(self, part: dict[str, Any], depth: int) -> Strategy | None:
        if "const" in part or isinstance(part.get("enum"), list):
            choices = choices_of(part)
            return st.sampled_from(choices) if choices else None
        made = [self._of_type(kind, part, depth) for kind in _types(part)]
        found = [each for each in made if each is not None]
        return st.one_of(found) if found else None

    def _of_type(self, kind: str, part: dict[str, Any], depth: int) -> Strategy | None:
        match kind:
            case "string":
                return _text(part)
            case "integer" | "number":
                return _number(part, is_integer=kind == "integer")
            case "boolean":
                return st.booleans()
            case "null":
                return st.none()
            case "array":
                return self._array(part, depth)
            case "object":
                return self._object(part, depth)
        return None

    def _array(self, part: dict[str, Any], depth: int) -> Strategy | None:
        least, most = _bound(part, "minItems", 0), _bound(part, "maxItems", None)
        first = part.get("prefixItems")
        items = part.get("items", True)
        if isinstance(items, list):
            first, items = items, part.get("additionalItems", True)
        firsts = [self.valid(each, depth + 1) for each in first] if isinstance(first, list) else []
        if least > MOST_ITEMS or any(each is None for each in firsts):
            return None
        more = self.valid(items, depth + 1) if items is not False else None
        at_least = max(0, least - len(firsts))
        room = MORE_ITEMS if most is None else min(MORE_ITEMS, most - least)
        if room < 0 or (more is None and at_least):
            return None
        if more is None or (most is not None and most <= len(firsts)):
            rest: Strategy = st.just([])
        elif part.get("uniqueItems") is True:
            rest = st.lists(more, min_size=at_least, max_size=at_least + room, unique_by=_as_json)
            if at_least > MANY_ITEMS:
                return None
        elif at_least > MANY_ITEMS:
            rest = more.map(lambda item: [item] * at_least)
        else:
            rest = st.lists(more, min_size=at_least, max_size=at_least + room)
        if not firsts:
            return rest
        return st.tuples(*firsts, rest).map(lambda made: [*made[:-1], *made[-1]])  # type: ignore[arg-type]

    def _object(self, part: dict[str, Any], depth: int) -> Strategy | None:
        members, required = _members(part), _required(part)
        made = {name: self.valid(inner, depth + 1) for name, inner in members.items()}
        others = part.get("additionalProperties", True)
        for name in required:
            if name not in made:
                made[name] = self.valid(others, depth + 1) if others is not False else None
            if made[name] is None:
                return None
        needed = {name: made[name] for name in required}
        optional = {name: inner for name, inner in made.items() if name not in needed and inner is not None}
        if depth:
            optional = dict(list(optional.items())[:MAX_INNER_OPTIONAL])
        known: Strategy = st.fixed_dictionaries(needed, optional=optional)  # type: ignore[arg-type]
        if not isinstance(others, dict) and (members or others is False):
            # What is not mentioned is allowed, and refused by many servers all the same: that would be no finding.
            return known
        inner = self.valid(others, depth + 1)
        if inner is None:
            return known
        least = min(MAX_MEMBERS, _bound(part, "minProperties", 0))
        # Names that are read differently by different languages come with the other texts.
        extra = st.dictionaries(st.text("abcxyz_", min_size=1, max_size=5), inner, min_size=least, max_size=MAX_MEMBERS)
        return st.tuples(extra, known).map(lambda both: {**both[0], **both[1]})

    # Invalid values.

    def broken_objects(self, schema: Any, depth: int) -> list[Strategy]:
        """Objects that are like the valid ones but for one member, in each of the ways to break a rule."""
        found: list[Strategy] = []
        for part in self.branches(schema):
            whole = self._of_branch(part, depth)
            if whole is None or "object" not in _types(part) or choices_of(part):
                continue
            whole = whole.filter(lambda made: isinstance(made, dict))
            members = _members(part)
            found += [whole.map(partial(_without, name)) for name in _required(part)]
            for name, inner in members.items():
                broken = self._broken(inner, depth + 1)
                if broken is not None:
                    found.append(st.tuples(whole, broken).map(partial(_with, name)))
            if part.get("additionalProperties") is False:
                unknown = st.sampled_from(("unknown", "__proto__", "constructor", ""))
                found.append(st.tuples(whole, unknown).map(lambda made: {**made[0], made[1]: 1}))
        return found

    def _broken(self, schema: Any, depth: int) -> Strategy | None:
        """Values that are not valid for this member."""
        if not isinstance(schema, dict) or depth > MAX_DEPTH:
            return None
        return self._once(schema, depth, is_broken=True)

    def _break(self, schema: dict[str, Any], depth: int) -> Strategy | None:
        parts = self.branches(schema)
        kinds = {kind for part in parts for kind in _types(part)}
        if "number" in kinds:
            kinds.add("integer")
        others = [value for kind, value in _OF_TYPES if kind not in kinds]
        found: list[Strategy] = [st.sampled_from(others)] if others else []
        if len(parts) == 1 and not choices_of(parts[0]):
            if outside := _outside(parts[0]):
                found.append(st.sampled_from(outside))
            found += self.broken_objects(parts[0], depth) if "object" in kinds else []
            items = parts[0].get("items")
            if isinstance(items, dict) and (broken := self._broken(items, depth + 1)) is not None:
                found.append(broken.map(lambda item: [item]))
        elif all(choices_of(part) for part in parts):
            found.append(st.sampled_from(("no such choice", "", -1)))
        return st.one_of(found) if found else None


def merged(one: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    """One schema for what both match, as far as that can be said in simple keywords."""
    both = {**one, **other}
    for key in one.keys() & other.keys():
        ours, theirs = one[key], other[key]
        if key in ("properties", "patternProperties", "$defs") and isinstance(ours, dict) and isinstance(theirs, dict):
            shared = {
                name: {"allOf": [ours[name], theirs[name]]} for name in ours if name in theirs and key == "properties"
            }
            both[key] = {**ours, **theirs, **shared}
        elif key == "required" and isinstance(ours, list) and isinstance(theirs, list):
            both[key] = [*ours, *(name for name in theirs if name not in ours)]
        elif key == "type":
            kinds = [kind for kind in types_of(one) if kind in types_of(other)]
            # An integer is a number.
            narrow = "integer" in (*types_of(one), *types_of(other)) and not kinds
            both[key] = kinds or (["integer"] if narrow else types_of(other))
        elif key == "enum" and isinstance(ours, list) and isinstance(theirs, list):
            both[key] = [choice for choice in ours if choice in theirs]
        elif key in (*_LARGER, *_SMALLER) and _is_number(ours) and _is_number(theirs):
            both[key] = max(ours, theirs) if key in _LARGER else min(ours, theirs)
        elif key in ("anyOf", "oneOf") and ours is not theirs:
            both[key] = ours
    return both


def _types(part: dict[str, Any]) -> Sequence[str]:
    if stated := types_of(part):
        return stated
    for kind, words in (
        ("object", _OBJECT_WORDS),
        ("array", _ARRAY_WORDS),
        ("string", _STRING_WORDS),
        ("number", _NUMBER_WORDS),
    ):
        if any(word in part for word in words):
            return (kind,)
    return _ALL_TYPES


def _text(part: dict[str, Any]) -> Strategy | None:
    least, most = _bound(part, "minLength", 0), _bound(part, "maxLength", None)
    if least > MOST_CHARS or (most is not None and most < least):
        return None
    form, pattern = part.get("format"), part.get("pattern")
    if isinstance(form, str) and form in _FORMATS:
        return _FORMATS[form]
    if isinstance(pattern, str) and (matching := _matching(pattern)) is not None:
        return matching
    if least > MANY_CHARS:
        return st.sampled_from(("x", "\u20ac")).map(lambda char: char * least)
    upper = min(least + 20, least + 20 if most is None else most)
    found = [
        st.text(_PLAIN_CHARS, min_size=least, max_size=upper),
        st.text(_ANY_CHARS, min_size=least, max_size=upper),
    ]
    if odd := [text for text in _ODD_TEXTS if least <= len(text) and (most is None or len(text) <= most)]:
        found.insert(1, st.sampled_from(odd))
    if most is not None and upper < most <= MOST_CHARS:
        found.append(st.just("x" * most))
    return st.one_of(found)


def _matching(pattern: str) -> Strategy | None:
    """Texts that match; None for an expression that Python does not read, or for which that would take long."""
    if backtracks(pattern) or states_of(pattern) > MAX_PATTERN_STATES:
        return None
    try:
        made = st.from_regex(pattern)
        made.validate()
    except (re.error, ValueError, OverflowError, RecursionError):
        return None
    # In Python, `$` is also before a line end at the end.
    return made.map(lambda text: text.removesuffix("\n")) if pattern.endswith("$") else made


def _number(part: dict[str, Any], *, is_integer: bool) -> Strategy | None:
    low, high = _range(part)
    step = part.get("multipleOf")
    if _is_number(step) and step > 0:
        return _multiples(step, low, high, is_integer=is_integer)
    if is_integer or all(bound is None or float(bound).is_integer() for bound in (low, high)):
        least = None if low is None else -int(-low // 1) + (low == part.get("exclusiveMinimum") and low % 1 == 0)
        most = None if high is None else int(high // 1) - (high == part.get("exclusiveMaximum") and high % 1 == 0)
        whole = _integers(least, most)
        if is_integer:
            return whole
    else:
        whole = None
    floats = _floats(part, low, high)
    return whole | floats if whole is not None and floats is not None else whole or floats


def _integers(least: int | None, most: int | None) -> Strategy | None:
    if least is not None and most is not None and least > most:
        return None
    found: list[Strategy] = [st.integers(least, most)]
    if odd := [
        each for each in (*_ODD_INTEGERS, *(bound for bound in (least, most) if bound is not None))
        if (least is None or each >= least) and (most is None or each <= most)
    ]:  # fmt: skip
        found.append(st.sampled_from(list(dict.fromkeys(odd))))
    return st.one_of(found)


def _floats(part: dict[str, Any], low: float | None, high: float | None) -> Strategy | None:
    try:
        return st.floats(
            None if low is None else float(low),
            None if high is None else float(high),
            allow_nan=False,
            allow_infinity=False,
            exclude_min=low is not None and low == part.get("exclusiveMinimum"),
            exclude_max=high is not None and high == part.get("exclusiveMaximum"),
        )
    except (OverflowError, ValueError):
        return None


def _multiples(step: float, low: float | None, high: float | None, *, is_integer: bool) -> Strategy | None:
    least = None if low is None else int(-(-low // step))
    most = None if high is None else int(high // step)
    if least is not None and most is not None and least > most:
        return None
    times = st.integers(-1_000 if least is None else least, max(1_000, least or 0) if most is None else most)
    if isinstance(step, int) or float(step).is_integer():
        return times.map(lambda count: count * int(step))
    made: Strategy = times.map(lambda count: round(count * step, _STEP_DIGITS))
    return made.filter(lambda value: float(value).is_integer()).map(int) if is_integer else made


def _range(part: dict[str, Any]) -> tuple[float | None, float | None]:
    """The stricter bounds, whether exclusive or not."""
    lows = [part[key] for key in ("minimum", "exclusiveMinimum") if _is_number(part.get(key))]
    highs = [part[key] for key in ("maximum", "exclusiveMaximum") if _is_number(part.get(key))]
    return max(lows, default=None), min(highs, default=None)


def _outside(part: dict[str, Any]) -> list[Any]:
    """Values just outside of the bounds of a member."""
    low, high = _range(part)
    found: list[Any] = []
    if low is not None:
        found += [int(low // 1) - 1, -(10**18)]
    if high is not None:
        found += [int(-(-high // 1)) + 1, 10**18]
    if (least := _bound(part, "minLength", 0)) > 0:
        found += ["", "x" * min(least - 1, MOST_CHARS)]
    if (most := _bound(part, "maxLength", None)) is not None and most < MOST_CHARS:
        found += ["x" * (most + 1)]
    if _bound(part, "minItems", 0) > 0:
        found += [[]]
    if isinstance(part.get("pattern"), str):
        found += ["", " ", "\x00", "\u20ac"]
    return found


def _members(part: dict[str, Any]) -> dict[str, Any]:
    members = part.get("properties")
    return dict(list(members.items())[:MAX_PROPERTIES]) if isinstance(members, dict) else {}


def _required(part: dict[str, Any]) -> list[str]:
    return [name for name in _list(part, "required") if isinstance(name, str)]


def _without(name: str, made: dict[str, Any]) -> dict[str, Any]:
    return {key: held for key, held in made.items() if key != name}


def _with(name: str, made: tuple[dict[str, Any], Any]) -> dict[str, Any]:
    whole, member = made
    return {**whole, name: member}


def _list(part: dict[str, Any], key: str) -> list[Any]:
    held = part.get(key)
    return held if isinstance(held, list) else []


def _bound(part: dict[str, Any], key: str, default: Any) -> Any:
    held = part.get(key)
    return int(held) if _is_number(held) and held >= 0 else default


def _is_number(held: Any) -> TypeGuard[int | float]:
    return isinstance(held, (int, float)) and not isinstance(held, bool)


def _as_json(value: Any) -> str:
    return json.dumps(value, sort_keys=True)

"""The notation in which the manual says how JSON looks, read, and real values held against it.

Every member that is documented but never seen is reported too, so that the manual promises nothing that does not exist.
"""

from __future__ import annotations

import json
import re
from typing import Any, NamedTuple

from gaia_mcp.cli.manual import error_shape

_TOKEN = re.compile(r'\s*("[^"]*"|\.\.\.|\w+|[][{}:?|,])')
_KINDS: dict[str, type | tuple[type, ...]] = {
    "string": str,
    "number": (int, float),
    "boolean": bool,
    "null": type(None),
}


class Member(NamedTuple):
    """A member of an object."""

    shape: Any
    is_optional: bool


class Object(NamedTuple):
    """An object with these members, and others if it is open."""

    members: dict[str, Member]
    is_open: bool


class Either(NamedTuple):
    """One of several."""

    shapes: list[Any]


def read(text: str) -> Any:
    """The shape that `text` says."""
    tokens = _TOKEN.findall(text)
    assert "".join(tokens) == "".join(text.split()), f"not the manual's notation: {text}"
    shape = _either(tokens)
    assert not tokens, f"too much: {tokens}"
    return shape


def unfit(shape: Any, value: Any, where: str, seen: set[str]) -> list[str]:
    """What does not fit. The paths of the members that were met are added to `seen`."""
    match shape:
        case Object(members, is_open):
            if not isinstance(value, dict):
                return [f"{where} is no object"]
            problems = [f"{where}.{key} is not documented" for key in value if key not in members and not is_open]
            for key, member in members.items():
                if key in value:
                    seen.add(f"{where}.{key}")
                    problems += unfit(member.shape, value[key], f"{where}.{key}", seen)
                elif not member.is_optional:
                    problems.append(f"{where}.{key} is missing")
            return problems
        case Either(shapes):
            found = [unfit(one, value, where, seen) for one in shapes]
            return min(found, key=len)
        case [inner]:
            if not isinstance(value, list):
                return [f"{where} is no list"]
            return [problem for item in value for problem in unfit(inner, item, f"{where}[]", seen)]
        case "any":
            return []
        case "error":
            return unfit(read(error_shape()).members["error"].shape, value, "error", set())
        case _ if shape in _KINDS:
            is_right = isinstance(value, _KINDS[shape]) and (shape == "boolean" or not isinstance(value, bool))
        case _:
            is_right = json.dumps(value) == shape
    return [] if is_right else [f"{where} is {value!r}, not {shape}"]


def documented(shape: Any, where: str) -> set[str]:
    """The paths of all members that are documented."""
    match shape:
        case Object(members, _):
            inner = [documented(member.shape, f"{where}.{key}") for key, member in members.items()]
            return {f"{where}.{key}" for key in members}.union(*inner)
        case Either(shapes):
            return set().union(*(documented(one, where) for one in shapes))
        case [one]:
            return documented(one, f"{where}[]")
    return set()


def _either(tokens: list[str]) -> Any:
    shapes = [_single(tokens)]
    while tokens and tokens[0] == "|":
        tokens.pop(0)
        shapes.append(_single(tokens))
    return shapes[0] if len(shapes) == 1 else Either(shapes)


def _single(tokens: list[str]) -> Any:
    token = tokens.pop(0)
    if token == "[":
        inner = [_either(tokens)]
        assert tokens.pop(0) == "]"
        return inner
    if token != "{":
        assert token in _KINDS or token in ("any", "error") or token.startswith('"'), token
        return token
    members: dict[str, Member] = {}
    is_open = False
    while tokens[0] != "}":
        key = tokens.pop(0)
        if key == "...":
            is_open = True
        else:
            is_optional = tokens[0] == "?"
            del tokens[: 1 + is_optional]
            members[json.loads(key)] = Member(_either(tokens), is_optional)
        if tokens[0] == ",":
            tokens.pop(0)
    tokens.pop(0)
    return Object(members, is_open)

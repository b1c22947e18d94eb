"""Whether a tool that has changed may break what calls it: what was accepted before has to be accepted still, and what
it returns has to be what was promised.

Of members that a schema did not name it is assumed that nobody gives them, so new ones may have any schema. A change
that cannot be judged counts as one that breaks. New tools, texts, wider inputs, optional parameters and
narrower results break nothing. Definitions are those of a contract, in canonical form.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from gaia_mcp.text import cut
from gaia_mcp.text.strict_json import is_same
from gaia_mcp.toolspec.poisoning import visible

Wire = dict[str, Any]

# Deeper than usual schemas; below, a change cannot be judged.
MAX_DEPTH = 40
# Of a value that is shown.
SHOWN_CHARS = 60
# The hints that a caller may rely on, each with its careful value: that of a tool without the hint is the other one.
_HINTS = {"readOnlyHint": True, "destructiveHint": False, "idempotentHint": True}
# Keywords that say nothing about which values are allowed.
_SILENT = frozenset(
    {"title", "description", "examples", "deprecated", "readOnly", "writeOnly", "$comment", "$schema", "$id",
     "x-mcp-header"}
)  # fmt: skip
_LEAST, _MOST = ("minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties"), (
    "maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties",
)  # fmt: skip
_TYPES = ("string", "integer", "number", "boolean", "null", "array", "object")
_KNOWN = frozenset(
    {"type", "enum", "const", "properties", "required", "additionalProperties", "items", "anyOf", "oneOf", "$ref",
     "$defs", "definitions", "pattern", "format", "multipleOf", "uniqueItems", "default", *_LEAST, *_MOST}
)  # fmt: skip


def breaks(then: Mapping[str, Any] | None, now: Mapping[str, Any] | None) -> list[str]:
    """How a tool that was `then` may break a caller as it is `now`, each as a text; None for a tool that is missing."""
    if then is None:
        return []
    if now is None:
        return ["it is gone"]
    found = [
        f"{part}: {reason}" if part else reason
        for part, reason in (
            *(("", each) for each in _relied_on(then, now)),
            *(("inputSchema", each) for each in _Narrowing(then, now, "inputSchema", "is no longer allowed").reasons()),
            *(("outputSchema", each) for each in _widened(then, now)),
        )
    ]
    return list(dict.fromkeys(found))


def _relied_on(then: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[str]:
    old, new = then.get("annotations") or {}, now.get("annotations") or {}
    for hint, careful in _HINTS.items():
        if old.get(hint) is careful and new.get(hint) is not careful:
            yield f"{hint} is no longer {json.dumps(careful)}"


def _widened(then: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[str]:
    """What a result may be that was not promised."""
    if then.get("outputSchema") is None:
        return
    if now.get("outputSchema") is None:
        yield "it is gone"
        return
    # What may be returned now has to be allowed by what was promised.
    yield from _Narrowing(now, then, "outputSchema", "was not promised").reasons()


class _Narrowing:
    """What the schema `part` of the tool `wide` allows, and that of the tool `narrow` does not; `words` are added to
    each.
    """

    def __init__(self, wide: Mapping[str, Any], narrow: Mapping[str, Any], part: str, words: str) -> None:
        self._wide, self._narrow = wide.get(part), narrow.get(part)
        self._words = words
        # The pairs of references that are being compared.
        self._open: set[tuple[str, str]] = set()

    def reasons(self) -> Iterator[str]:
        """The values that are not allowed any more, each with its place."""
        if not is_same(self._wide, self._narrow):
            yield from self._compared("", self._wide, self._narrow, 0)

    def _compared(self, where: str, wide: Any, narrow: Any, depth: int) -> Iterator[str]:
        if narrow is True or narrow is None or wide is False or (is_same(wide, narrow) and not self._refers(wide)):
            return
        wide = {} if wide is True or wide is None else wide
        if not (isinstance(wide, dict) and isinstance(narrow, dict)) or depth > MAX_DEPTH:
            yield self._at(where, "any value" if narrow is False else "a value")
            return
        references = str(wide.get("$ref", "")), str(narrow.get("$ref", ""))
        if any(references):
            if references in self._open:
                return
            self._open.add(references)
            yield from self._compared(where, self._led(wide, self._wide), self._led(narrow, self._narrow), depth + 1)
            self._open.discard(references)
            return
        yield from self._judged(where, wide, narrow, depth)

    def _refers(self, schema: Any) -> bool:
        """Whether an equal schema may mean something else: what it refers to may differ."""
        return '"$ref"' in json.dumps(schema)

    def _led(self, schema: Wire, root: Any) -> Any:
        reference = schema.get("$ref")
        if not isinstance(reference, str):
            return schema
        if not reference.startswith("#"):
            return {"$ref-elsewhere": reference}
        found = root
        for step in reference.removeprefix("#").split("/")[1:]:
            step = step.replace("~1", "/").replace("~0", "~")
            found = found.get(step) if isinstance(found, dict) else None
        beside = {key: held for key, held in schema.items() if key not in ("$ref", *_SILENT)}
        # What is beside a reference counts as well.
        return {"allOf-with-reference": [found, beside]} if beside else found

    def _judged(self, where: str, wide: Wire, narrow: Wire, depth: int) -> Iterator[str]:
        for keyword in sorted({*wide, *narrow} - _KNOWN - _SILENT):
            if not is_same(wide.get(keyword), narrow.get(keyword)) or self._refers(narrow.get(keyword)):
                yield self._at(where, f"what {keyword} excludes")
        if not is_same(wide.get("default"), narrow.get("default")) and "default" in wide:
            yield f"{where or 'it'}: the default {_shown(wide['default'])} has changed"
        alternatives = self._alternatives(where, wide, narrow, depth)
        if alternatives is not None:
            yield from alternatives
            return
        yield from self._types(where, wide, narrow)
        yield from self._values(where, wide, narrow)
        yield from self._bounds(where, wide, narrow)
        yield from self._members(where, wide, narrow, depth)
        if "items" in narrow:
            yield from self._compared(f"{where}[]", wide.get("items"), narrow["items"], depth + 1)

    def _alternatives(self, where: str, wide: Wire, narrow: Wire, depth: int) -> list[str] | None:
        """The reasons of two schemas of which one has branches; None if none has."""
        branches = [self._branches(schema) for schema in (wide, narrow)]
        if branches == [None, None]:
            return None
        first, second = (
            found if found is not None else [schema] for found, schema in zip(branches, (wide, narrow), strict=True)
        )
        if second == [narrow] and narrow.keys() - _SILENT - {"default"} == set():
            return []
        missing = [
            branch
            for branch in first
            if not any(not list(self._compared(where, branch, other, depth + 1)) for other in second)
        ]
        return [self._at(where, _shown(branch)) for branch in missing]

    def _branches(self, schema: Wire) -> list[Any] | None:
        """The branches of a schema that is nothing but a union."""
        for keyword in ("anyOf", "oneOf"):
            if isinstance(schema.get(keyword), list):
                if schema.keys() - _SILENT - {keyword, "default", "$defs", "definitions"}:
                    # What is beside a union cannot be told apart from it.
                    return [{f"{keyword}-with-more": schema}]
                return list(schema[keyword])
        return None

    def _types(self, where: str, wide: Wire, narrow: Wire) -> Iterator[str]:
        if "type" not in narrow:
            return
        old, new = _types_of(wide), _types_of(narrow)
        for kind in old:
            if kind not in new and not (kind == "integer" and "number" in new):
                yield self._at(where, kind)

    def _values(self, where: str, wide: Wire, narrow: Wire) -> Iterator[str]:
        new = _choices(narrow)
        if new is None:
            return
        old = _choices(wide)
        if old is None:
            yield self._at(where, f"what is not one of {_shown(new)}")
            return
        for value in old:
            if not any(is_same(value, other) for other in new):
                yield self._at(where, _shown(value))

    def _bounds(self, where: str, wide: Wire, narrow: Wire) -> Iterator[str]:
        for keywords, is_tighter in ((_LEAST, _is_more), (_MOST, _is_less)):
            for keyword in keywords:
                if keyword in narrow and (keyword not in wide or is_tighter(narrow[keyword], wide[keyword])):
                    yield self._at(where, f"what {keyword} {_shown(narrow[keyword])} excludes")
        for keyword in ("pattern", "format", "multipleOf"):
            if keyword in narrow and not is_same(narrow[keyword], wide.get(keyword)):
                yield self._at(where, f"what {keyword} {_shown(narrow[keyword])} excludes")
        if narrow.get("uniqueItems") is True and wide.get("uniqueItems") is not True:
            yield self._at(where, "a value given twice")

    def _members(self, where: str, wide: Wire, narrow: Wire, depth: int) -> Iterator[str]:
        old, new = _object(wide, "properties"), _object(narrow, "properties")
        required = set(_list(wide, "required"))
        for name in _list(narrow, "required"):
            if name not in required:
                yield self._at(where, f"to leave out {_shown(name)}")
        rest = narrow.get("additionalProperties", True)
        for name in old:
            place = f"{where}.{visible(name)}" if where else visible(name)
            if name in new:
                yield from self._compared(place, old[name], new[name], depth + 1)
            elif rest is False or self._words == "is no longer allowed":
                # It would be ignored, if not refused.
                yield self._at(where, f"the parameter {_shown(name)}" if depth == 0 else f"the member {_shown(name)}")
            else:
                yield from self._compared(place, old[name], rest, depth + 1)
        extra = wide.get("additionalProperties", True)
        if extra is not False:
            # Any other member was allowed.
            if rest is False:
                yield self._at(where, "another member")
            else:
                yield from self._compared(f"{where}.*" if where else "*", extra, rest, depth + 1)
                for name in new:
                    if name not in old and extra is not True:
                        place = f"{where}.{visible(name)}" if where else visible(name)
                        yield from self._compared(place, extra, new[name], depth + 1)

    def _at(self, where: str, what: str) -> str:
        return f"{where}: {what} {self._words}" if where else f"{what} {self._words}"


def _types_of(schema: Wire) -> list[str]:
    kind = schema.get("type")
    if kind is None and (choices := _choices(schema)) is not None:
        return list(dict.fromkeys(map(_type_of, choices)))
    if isinstance(kind, str):
        return [kind]
    return [each for each in kind if isinstance(each, str)] if isinstance(kind, list) else list(_TYPES)


def _type_of(value: Any) -> str:
    kinds = {bool: "boolean", int: "integer", float: "number", str: "string", list: "array", dict: "object"}
    return kinds.get(type(value), "null")


def _choices(schema: Wire) -> list[Any] | None:
    if "const" in schema:
        return [schema["const"]]
    return schema["enum"] if isinstance(schema.get("enum"), list) else None


def _object(schema: Wire, keyword: str) -> Wire:
    held = schema.get(keyword)
    return held if isinstance(held, dict) else {}


def _list(schema: Wire, keyword: str) -> list[Any]:
    held = schema.get(keyword)
    return held if isinstance(held, list) else []


def _is_more(one: Any, other: Any) -> bool:
    return not (isinstance(one, (int, float)) and isinstance(other, (int, float))) or one > other


def _is_less(one: Any, other: Any) -> bool:
    return not (isinstance(one, (int, float)) and isinstance(other, (int, float))) or one < other


def _shown(value: Any) -> str:
    return visible(cut(json.dumps(value, ensure_ascii=False), SHOWN_CHARS))

"""Tools that are good, and tools with one defect each, for calls with generated arguments. Has those that are named as
arguments, by default all.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from typing import Any

import _wire

READS = {"readOnlyHint": True}
TEXT = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
NUMBER = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
ORDER = {
    "type": "object",
    "properties": {
        "size": {"enum": ["small", "large"]},
        "cups": {"type": "integer", "minimum": 1, "maximum": 9},
        "note": {"anyOf": [{"type": "string", "maxLength": 20}, {"type": "null"}]},
    },
    "required": ["size"],
    "additionalProperties": False,
}
TREE = {
    "type": "object",
    "properties": {"left": {"$ref": "#"}, "right": {"$ref": "#"}, "value": {"type": "number"}},
    "additionalProperties": False,
}
TOTAL = {"type": "object", "properties": {"total": {"type": "integer", "minimum": 0}}, "required": ["total"]}
kept: list[bytes] = []


class RefusedError(Exception):
    """With -32602."""


class BrokenError(Exception):
    """With -32603."""


def text_of(given: dict[str, Any]) -> str:
    if not isinstance(given.get("text"), str):
        raise RefusedError("text must be a string")
    return str(given["text"])


def number_of(given: dict[str, Any]) -> int:
    n = given.get("n")
    if isinstance(n, bool) or not isinstance(n, int | float) or int(n) != n:
        raise RefusedError("n must be an integer")
    return int(n)


def good(given: dict[str, Any]) -> Any:
    cups, note = given.get("cups", 1), given.get("note")
    if given.keys() - {"size", "cups", "note"} or given.get("size") not in ("small", "large"):
        raise RefusedError("no such order")
    if isinstance(cups, bool) or not isinstance(cups, int | float) or not 1 <= cups <= 9 or int(cups) != cups:
        raise RefusedError("1 to 9 cups")
    if note is not None and not (isinstance(note, str) and len(note) <= 20):
        raise RefusedError("a note of 20 characters")
    return int(cups)


def tree(given: Any) -> Any:
    if not isinstance(given, dict) or given.keys() - {"left", "right", "value"}:
        raise RefusedError("not a tree")
    value = given.get("value", 0)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise RefusedError("not a number")
    return 1 + sum(tree(given[side]) for side in ("left", "right") if side in given)


def exits(given: dict[str, Any]) -> Any:
    if text_of(given) == "":
        os._exit(3)


def exits_at_last(given: dict[str, Any]) -> Any:
    kept.append(b"")
    if len(kept) == 50:
        os._exit(3)
    text_of(given)


def hangs(given: dict[str, Any]) -> Any:
    if number_of(given) > 1000:
        time.sleep(3600)


def fails(given: dict[str, Any]) -> Any:
    if any(ord(character) > 0xFFFF for character in text_of(given)):
        raise BrokenError("'utf-16' codec")


def breaks(given: dict[str, Any]) -> Any:
    return number_of(given)


def grows(given: dict[str, Any]) -> Any:
    kept.append(os.urandom(1 << 20))


def writes(given: dict[str, Any]) -> Any:
    if number_of(given) == 0:
        _wire.say("found nothing")


def refuses(given: dict[str, Any]) -> Any:
    if len(text_of(given)) > 5:
        raise RefusedError("five characters at most")


def deletes(given: dict[str, Any]) -> Any:
    if "0" in text_of(given):
        raise BrokenError("gone")


def accepts(given: dict[str, Any]) -> Any:
    return None


# The function, the input schema, the annotations, and the output schema.
TOOLS: dict[str, tuple[Callable[[dict[str, Any]], Any], Any, Any, Any]] = {
    "good": (good, ORDER, READS, TOTAL),
    "tree": (tree, TREE, READS, TOTAL),
    "exits": (exits, TEXT, READS, None),
    "exits_at_last": (exits_at_last, TEXT, READS, None),
    "hangs": (hangs, NUMBER, READS, None),
    "fails": (fails, TEXT, READS, None),
    "breaks": (breaks, NUMBER, READS, TOTAL),
    "grows": (grows, {"type": "object"}, READS, None),
    "writes": (writes, NUMBER, READS, None),
    "refuses": (refuses, TEXT, READS, None),
    "accepts": (accepts, ORDER, READS, None),
    "deletes": (deletes, TEXT, {}, None),
    "vague": (accepts, {"type": "object", "properties": {"a": {"$ref": "https://example.com/a.json"}}}, READS, None),
    "vast": (
        accepts,
        {"type": "object", "properties": {"a": {"type": "array", "minItems": 10**9}}, "required": ["a"]},
        READS,
        None,
    ),
}


def answer(message: _wire.Message) -> _wire.Message | None:
    if message.get("method") == "tools/list":
        tools = []
        for name, (_, schema, annotations, output) in TOOLS.items():
            if sys.argv[1:] and name not in sys.argv[1:]:
                continue
            listed = {"name": name, "inputSchema": schema, "annotations": annotations}
            tools.append({**listed, "outputSchema": output} if output is not None else listed)
        return _wire.result(message, {"tools": tools})
    if message.get("method") != "tools/call":
        return _wire.handshake(message)
    name, given = message["params"]["name"], message["params"].get("arguments", {})
    try:
        said = TOOLS[name][0](given)
    except RefusedError as problem:
        return _wire.error(message, -32602, str(problem))
    except BrokenError as problem:
        return _wire.error(message, -32603, str(problem))
    result = _wire.text("done")
    return _wire.result(message, {**result, "structuredContent": {"total": said}} if TOOLS[name][3] else result)


_wire.serve(answer)

"""Mutations: a valid message in, a record that a broken or hostile peer might send out.

Three layers, as a peer goes wrong: the tree (members dropped, renamed, retyped), its text (odd escapes, numbers that
JSON does not have, keys twice) and its bytes (flips, line ends, byte order marks). All follows from one `Random`.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from random import Random

# Longer than what the targets take for one record.
LONGEST_RECORD = 1 << 16


class Text(NamedTuple):
    """JSON text that no value of Python's is written as."""

    text: str


# What stands in the text for a `Text`, until that is put there.
_MARK = "\ue000text\ue000"
_TEXTS = [
    Text(text)
    for text in (
        "1e999", "-1e999", "1E400", "0.1e-400", "1" * 5000, "-0", "01", "1.", "+1", "0x10", "NaN", "-Infinity",
        "undefined", "'a'", '"\\ud800"', '"\\udc00\\ud800"', '"\\x"', '"\t"', "[1,]", '{"a":1,"a":2}', "/* c */ 1",
        "[" * 200 + "]" * 200, "[" * 100_000, '{"a":' * 900 + "1" + "}" * 900, "{" * 50,
    )
]  # fmt: skip
_NUMBERS = [
    0, -1, 1, 2, 3, 7, 2**31, 2**53, 2**63, -(2**63), 10**18, 10**400, 0.5, 1.0, -0.0, 1e308, 5e-324, math.nan,
    math.inf, -math.inf, -32700, -32600, -32601, -32602, -32022, -32002,
]  # fmt: skip
_STRINGS = [
    "", "1", "2", "a", "\0", "\ufeff", "\ud800", "x\udfff", "\r\n", "\r", "\u2028", "\x1b[2J", "é", "\U0001f600",
    "true", "null", "complete", "input_required", "task", "working", "completed", "discover-1", "file:///a", "rich",
    "2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28", "2027-01-01", "debug", "0" * 300, "é" * 3000,
]  # fmt: skip
_VALUES: list[Any] = [
    None, True, False, [], {}, [[]], [None], {"": None}, {"a": {"b": [1, {"c": None}]}}, ["file:///a"], [{}], [[], {}],
]  # fmt: skip
_KEYS = [
    "jsonrpc", "id", "method", "params", "result", "error", "_meta", "code", "message", "data", "progressToken",
    "progress", "total", "requestId", "reason", "content", "type", "text", "structuredContent", "isError", "resultType",
    "inputRequests", "requestState", "inputResponses", "nextCursor", "cursor", "tools", "name", "inputSchema", "uri",
    "notifications", "capabilities", "supportedVersions", "protocolVersion", "supported", "arguments", "taskId",
    "status", "pollIntervalMs", "io.modelcontextprotocol/protocolVersion", "io.modelcontextprotocol/subscriptionId",
    "io.modelcontextprotocol/clientCapabilities", "io.modelcontextprotocol/clientInfo", "__proto__", "", "\ud800",
]  # fmt: skip
_BYTES = [
    b"\0", b"\r", b"\n", b"\r\n", b" ", b"\t", b"\xff", b"\xc3", b"\xed\xa0\x80", b"\xef\xbb\xbf", b'"', b"{", b"}",
    b"[", b"]", b",", b":", b"\\", b"\\ud800", b"null", b"1e999", b"NaN", b"\x1b", b"\x85", b"\xe2\x80\xa8",
]  # fmt: skip


_ASCII = json.JSONEncoder(separators=(",", ":"))
_UNICODE = json.JSONEncoder(ensure_ascii=False)


class Mutator:
    """Makes records of messages. The same `random` gives the same ones."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self._has_texts = False
        self._bytes: list[Callable[[bytes], bytes]] = [
            self._flipped, self._cut, self._with_bytes, self._repeated, self._framed, self._oversized,
        ]  # fmt: skip

    def record(self, message: Any, *, valid: float = 0.1) -> bytes:
        """`message` as a record: with the probability `valid` as it is, else mutated, most often once."""
        random = self.random
        if random.random() < valid:
            return _ASCII.encode(message).encode()
        self._has_texts, texts, layer = False, list[str](), random.random()
        if layer < 0.85:
            for _ in range(1 if random.random() < 0.7 else random.randrange(2, 5)):
                message = self._changed_message(message)
        if self._has_texts:
            message = self._without_texts(message, texts)
        record = self._written(message, texts)
        return random.choice(self._bytes)(record) if layer > 0.75 else record

    # The tree.

    def _changed_message(self, message: Any) -> Any:
        """Mostly within its body: a message with an invalid frame is refused before its body is read."""
        if isinstance(message, dict) and self.random.random() < 0.6:
            for key in ("params", "result", "error"):
                if key in message:
                    return {**message, key: self.changed(message[key])}
        return self.changed(message)

    def changed(self, value: Any) -> Any:
        """A copy with one change somewhere; what is not on the way there is shared with `value`."""
        random = self.random
        if isinstance(value, dict) and value:
            if random.random() < 0.65:
                key = random.choice(list(value))
                return {**value, key: self.changed(value[key])}
            return self._changed_members(value)
        if isinstance(value, list) and value:
            if random.random() < 0.65:
                at = random.randrange(len(value))
                return [*value[:at], self.changed(value[at]), *value[at + 1 :]]
            return self._changed_items(value)
        return self._near(value) if random.random() < 0.3 else self._odd()

    def _changed_members(self, value: dict[str, Any]) -> Any:
        random, key = self.random, self.random.choice(list(value))
        kind = random.randrange(6)
        if kind == 0:
            return {name: member for name, member in value.items() if name != key}
        if kind == 1:
            return {(random.choice(_KEYS) if name == key else name): member for name, member in value.items()}
        if kind == 2:
            return {**value, random.choice(_KEYS): self._odd()}
        if kind == 3:
            return {**value, random.choice(_KEYS): value[key]}
        if kind == 4:
            return [value] if random.random() < 0.5 else list(value.values())
        return self._odd()

    def _changed_items(self, value: list[Any]) -> Any:
        random, at = self.random, self.random.randrange(len(value))
        kind = random.randrange(5)
        if kind == 0:
            return value[:at] + value[at + 1 :]
        if kind == 1:
            return [*value, value[at]] * random.choice((1, 1, 20))
        if kind == 2:
            return [*value, self._odd()]
        if kind == 3:
            return {str(place): item for place, item in enumerate(value)}
        return random.sample(value, len(value))

    def _odd(self) -> Any:
        kind = self.random.random()
        if kind < 0.35:
            return self.random.choice(_NUMBERS)
        if kind < 0.65:
            return self.random.choice(_STRINGS)
        if kind < 0.95:
            return self.random.choice(_VALUES)
        self._has_texts = True
        return self.random.choice(_TEXTS)

    def _near(self, value: Any) -> Any:
        """Nearly the same, as another type or beside it."""
        if isinstance(value, bool) or value is None:
            return not value
        if isinstance(value, int):
            near = (value + 1, value - 1, -value, [value], *((str(value), value / 2) if abs(value) < 2**60 else ()))
            return self.random.choice(near)
        if isinstance(value, str):
            return self.random.choice((value + "\0", value.upper(), f" {value}", value * 2, value[:-1], [value], 1))
        return [value]

    # The text.

    def _without_texts(self, value: Any, texts: list[str]) -> Any:
        if isinstance(value, Text):
            texts.append(value.text)
            return _MARK
        if isinstance(value, dict):
            for key, member in value.items():
                if (
                    isinstance(member, (dict, list, tuple))
                    and (plain := self._without_texts(member, texts)) is not member
                ):
                    value = {**value, key: plain}
        elif isinstance(value, list):
            for at, item in enumerate(value):
                if (plain := self._without_texts(item, texts)) is not item:
                    value = [*value[:at], plain, *value[at + 1 :]]
        return value

    def _written(self, message: Any, texts: list[str]) -> bytes:
        is_ascii = self.random.random() < 0.7
        text = (_ASCII if is_ascii else _UNICODE).encode(message)
        for odd in texts:
            text = text.replace(json.dumps(_MARK, ensure_ascii=is_ascii), odd, 1)
        return text.encode("utf-8", "surrogatepass")

    # The bytes.

    def _flipped(self, record: bytes) -> bytes:
        flipped = bytearray(record)
        for _ in range(self.random.choice((1, 1, 2, 8))):
            flipped[self.random.randrange(len(flipped))] ^= 1 << self.random.randrange(8)
        return bytes(flipped)

    def _cut(self, record: bytes) -> bytes:
        start, end = sorted(self.random.randrange(len(record) + 1) for _ in range(2))
        return self.random.choice((record[:end], record[start:], record[:start] + record[end:]))

    def _with_bytes(self, record: bytes) -> bytes:
        at = self.random.choice((0, len(record), self.random.randrange(len(record) + 1)))
        return record[:at] + self.random.choice(_BYTES) + record[at:]

    def _repeated(self, record: bytes) -> bytes:
        return self.random.choice((record + record, record + b"\n" + record, b"[" + record + b"," + record + b"]"))

    def _framed(self, record: bytes) -> bytes:
        return self.random.choice(
            (
                b"\xef\xbb\xbf" + record,
                record + b"\r",
                record.replace(b",", b",\r\n", 1),
                b"\r\n\r\n" + record,
                f"Content-Length: {len(record)}\r\n\r\n".encode() + record,
                b"data: " + record,
                record.decode("utf-8", "replace").encode("utf-16"),
                b" \t" + record + b" ",
            )
        )

    def _oversized(self, record: bytes) -> bytes:
        if self.random.random() < 0.98:
            return self._flipped(record)
        return record[:-1] + b" " * LONGEST_RECORD + record[-1:]

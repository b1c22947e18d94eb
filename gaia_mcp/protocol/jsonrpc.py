"""JSON-RPC 2.0 as MCP uses it: reading records, classifying messages, writing them.

Knows no method and no version of MCP.

A text of 50 MB is escaped in pieces, so that it is in memory twice at most.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from io import BytesIO
from json.encoder import encode_basestring_ascii
from typing import Any, NamedTuple, TypeAlias, TypeGuard

from gaia_mcp.core.internals import compact_writer
from gaia_mcp.text.strict_json import paired

RequestId: TypeAlias = int | str
Message: TypeAlias = dict[str, Any]

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603
# MCP's own: 2026-07-28 reserves -32020 to -32099 for the specification.
HEADER_MISMATCH = -32020
MISSING_CAPABILITY = -32021
UNSUPPORTED_VERSION = -32022
# Up to 2025-11-25 only; newer servers use INVALID_PARAMS.
RESOURCE_NOT_FOUND = -32002
# In 2025-11-25 only: URLs have to be opened before the request can succeed.
URL_REQUIRED = -32042

# Shorter texts take little memory, even when copied several times.
_LONG_CHARS = 1 << 20
# Replaces each long text. A message that contains this text itself is written as a whole.
_MARK = "\x00long text\x00"


class RepeatedMemberError(ValueError):
    """An object has the member `name` twice: what checks a request and what carries it out may read different ones.
    `value` is the whole JSON value, with the last one of them.
    """

    def __init__(self, name: str) -> None:
        super().__init__(f"the member {name[:100]!r} is given twice")
        self.value: Any = None


def _unique(members: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(members)
    if len(value) < len(members):
        names = [name for name, _ in members]
        raise RepeatedMemberError(next(name for name in names if names.count(name) > 1))
    return value


DECODER = json.JSONDecoder()
# Refuses an object that has a member twice.
STRICT_DECODER = json.JSONDecoder(object_pairs_hook=_unique)
_write = compact_writer()


class Fixed(dict[str, Any]):
    """An immutable object in the `_meta` of many messages: it is encoded once."""

    __slots__ = ("text",)

    def __init__(self, members: dict[str, Any]) -> None:
        super().__init__(members)
        self.text: str | None = None

    def written(self) -> str:
        """As JSON, cached in `text`."""
        self.text = text = _write(self)
        return text


class Request(NamedTuple):
    """A message that gets a response."""

    id: RequestId
    method: str
    params: dict[str, Any]


class Notification(NamedTuple):
    """A message that gets no response."""

    method: str
    params: dict[str, Any]


class Result(NamedTuple):
    """A response with a result."""

    id: RequestId
    result: dict[str, Any]


class Error(NamedTuple):
    """A response with an error; `id` is None if the peer could not read which request it is for."""

    id: RequestId | None
    code: int
    message: str
    data: Any


class Malformed(NamedTuple):
    """JSON that is not a valid message. `kind` is what it resembles: "request", "notification", "response", or "".
    `has_result`: it is a response without an error, whose result is not an object.
    """

    problem: str
    id: RequestId | None
    kind: str = ""
    has_result: bool = False


def encode(message: Message | list[Message]) -> bytes:
    """The message as one line. ASCII-escaped, so that no code page on the way can damage it.

    A lone surrogate, in a text or a key, becomes U+FFFD: peers drop a line that contains one, and never respond.

    Raises `TypeError` or `ValueError` for a value that JSON cannot express, such as NaN or an infinity.
    """
    try:
        if isinstance(message, dict):
            key = "params" if "params" in message else "result"
            body = message.get(key)
            if key == "result" and _has_long_text(body):
                return encode_long(message, _write, _LONG_CHARS)
            if isinstance(body, dict) and isinstance(meta := body.get("_meta"), Fixed):
                bare = body.copy()
                del bare["_meta"]
                # The body is the message's last member: the last two characters are the closing brackets of both.
                begun = _write({**message, key: bare})[:-2]
                line = f'{begun}{"," if bare else ""}"_meta":{meta.text or meta.written()}}}}}\n'
                # As large as the line: a result of 50 MB should be in memory as few times as possible.
                del begun
                return paired(line).encode("ascii")
        return paired(_write(message)).encode("ascii") + b"\n"
    except RecursionError as cause:
        raise ValueError("nested too deeply, or within itself") from cause


def _has_long_text(result: Any) -> bool:
    """Whether the content of a result is so long that it must not be copied needlessly."""
    blocks = (result.get("content") or result.get("contents")) if isinstance(result, dict) else None
    if not isinstance(blocks, list):
        return False
    for block in blocks:
        if isinstance(block, dict):
            for text in block.values():
                if isinstance(text, str) and len(text) > _LONG_CHARS:
                    return True
    return False


def parse(record: bytes) -> Any:
    """The JSON value of a record.

    Raises `ValueError` for anything that is not UTF-8 JSON, also when it is nested too deeply to read.
    """
    # Decoded here, since `json` would also detect UTF-16 and UTF-32.
    return parse_text(record.decode())


def parse_strictly(record: bytes) -> Any:
    """As `parse`, for the messages of a client. Raises `RepeatedMemberError` as well."""
    text = record.decode()
    try:
        return parse_text(text, STRICT_DECODER)
    except RepeatedMemberError as problem:
        # Raises `ValueError` if the rest is not JSON.
        problem.value = parse_text(text)
        raise


def parse_text(text: str, decoder: json.JSONDecoder = DECODER) -> Any:
    """The JSON value of a record that has been decoded, so that a caller need not keep both. Raises as `parse` does."""
    try:
        if text[:1] == "{":
            value, end = decoder.raw_decode(text)
            if end == len(text):
                return value
        # White space around it, or a byte order mark, which some shells write; or it is not JSON.
        return decoder.decode(text.removeprefix("\ufeff"))
    except RecursionError as cause:
        raise ValueError("nested too deeply") from cause


def is_id(value: object) -> TypeGuard[RequestId]:
    """Whether this can be an id. `True` cannot, although it equals 1 in Python."""
    return isinstance(value, (str, int)) and not isinstance(value, bool)


def is_number(value: object) -> TypeGuard[float]:
    """Whether this is a finite number: neither `True`, nor an infinity, nor too large for a float."""
    return isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) <= sys.float_info.max


def as_text(value: object) -> str:
    """`value` as text for display, where the peer should have sent a string; empty if it is nested too deeply."""
    try:
        return str(value)
    except RecursionError:
        return ""


def classify(value: Any) -> Request | Notification | Result | Error | Malformed:
    """Classify a JSON value. A request differs from a response by `method` alone, never by its id."""
    if not isinstance(value, dict):
        return Malformed("not an object", None)
    get = value.get
    message_id = get("id")
    known_id = message_id if is_id(message_id) else None
    if get("jsonrpc") != "2.0":
        return Malformed('no "jsonrpc": "2.0"', known_id, _kind_of(value))
    method = get("method")
    if method is not None:
        params = get("params", {})
        if not isinstance(method, str) or not (params is None or isinstance(params, dict)):
            return Malformed("method or params of the wrong type", known_id, _kind_of(value))
        if "id" not in value:
            return Notification(method, params or {})
        if known_id is None:
            return Malformed("an id that is neither a string nor an integer", None, _kind_of(value))
        return Request(known_id, method, params or {})
    # Most peers leave the other member out; some send null.
    error, result = get("error"), get("result")
    if isinstance(result, dict) and error is None and known_id is not None:
        return Result(known_id, result)
    if isinstance(error, dict) and result is None:
        code = error.get("code")
        code = code if isinstance(code, int) and not isinstance(code, bool) else INTERNAL_ERROR
        return Error(known_id, code, as_text(error.get("message", "")), error.get("data"))
    has_result = "result" in value and error is None
    return Malformed("neither a request nor a response", known_id, _kind_of(value), has_result)


def malformed(value: Any, problem: str) -> Malformed:
    """The message in a JSON value, with this problem."""
    if not isinstance(value, dict):
        return Malformed(problem, None)
    message_id = value.get("id")
    return Malformed(problem, message_id if is_id(message_id) else None, _kind_of(value))


def _kind_of(value: dict[str, Any]) -> str:
    if value.get("method") is not None:
        return "request" if "id" in value else "notification"
    return "response" if "result" in value or "error" in value else ""


def request(request_id: RequestId, method: str, params: dict[str, Any] | None) -> Message:
    """A request; no `params` member when there are none."""
    message: Message = {"jsonrpc": "2.0", "id": request_id, "method": method}
    if params is not None:
        message["params"] = params
    return message


def notification(method: str, params: dict[str, Any] | None) -> Message:
    """A notification; no `params` member when there are none."""
    message: Message = {"jsonrpc": "2.0", "method": method}
    if params is not None:
        message["params"] = params
    return message


def result(request_id: RequestId, value: dict[str, Any]) -> Message:
    """A response with a result."""
    return {"jsonrpc": "2.0", "id": request_id, "result": value}


def error(request_id: RequestId | None, code: int, text: str, data: Any = None) -> Message:
    """A response with an error; without an id if the request could not be read, since the schemas allow no null."""
    body: dict[str, Any] = {"code": code, "message": text}
    if data is not None:
        body["data"] = data
    message: Message = {"jsonrpc": "2.0"}
    if request_id is not None:
        message["id"] = request_id
    message["error"] = body
    return message


def encode_long(message: dict[str, Any], write: Callable[[Any], str], long_chars: int) -> bytes:
    """The message as one line, as `write` would encode it, but with texts of more than `long_chars` characters encoded
    in pieces. Raises as `write` does.
    """
    texts: list[str] = []
    parts = paired(write(_without_long(message, long_chars, texts))).split(write(_MARK))
    if len(parts) != len(texts) + 1:
        return paired(write(message)).encode("ascii") + b"\n"
    # Its buffer is returned without a final copy.
    line = BytesIO()
    for number, part in enumerate(parts):
        line.write(part.encode("ascii"))
        if number < len(texts):
            _write_text(texts[number], long_chars, line)
    line.write(b"\n")
    return line.getvalue()


def _without_long(value: Any, long_chars: int, texts: list[str]) -> Any:
    """`value` without its long texts, which are added to `texts`."""
    if isinstance(value, str) and len(value) > long_chars:
        texts.append(value)
        return _MARK
    if isinstance(value, dict):
        return {key: _without_long(item, long_chars, texts) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_without_long(item, long_chars, texts) for item in value]
    return value


def _write_text(text: str, piece_chars: int, line: BytesIO) -> None:
    line.write(b'"')
    start = 0
    while start < len(text):
        end = start + piece_chars
        # A surrogate pair is one character and must not be split.
        if end < len(text) and "\ud800" <= text[end - 1] <= "\udbff":
            end += 1
        line.write(paired(encode_basestring_ascii(text[start:end])[1:-1]).encode("ascii"))
        start = end
    line.write(b'"')

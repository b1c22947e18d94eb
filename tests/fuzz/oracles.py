"""What must be true of whatever we report and send, whatever has arrived."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from gaia_mcp.protocol.jsonrpc import encode
from tests.wire_support import V2025_11, is_error, is_notification, is_request, is_result

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gaia_mcp.protocol.jsonrpc import Message

VERSION_KEY = "io.modelcontextprotocol/protocolVersion"
# What is kept of the way to a fault: with these records it can be followed.
RECORDS_KEPT = 12
# The messages, without their ids, of which it is known that they are valid.
MOST_CHECKED = 20_000
_CHECKED: set[tuple[str, str | None, str]] = set()
_TEXT = json.JSONEncoder()
_HALF_PAIR = re.compile("[\ud800-\udfff]")
_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is not JSON")


_STRICT = json.JSONDecoder(parse_constant=_refuse)


class Fault(AssertionError):  # noqa: N818 (what it is called, here and in the reports)
    """Something that must never happen, with the last records before it, the newest last."""

    def __init__(self, problem: str, records: Iterable[bytes] = ()) -> None:
        shown = "".join(f"\n    {record[:2000]!r}{'...' if len(record) > 2000 else ''}" for record in records)
        super().__init__(f"{problem}{f'; after{shown}' if shown else ''}")


def on_wire(message: Message | list[Message]) -> Any:
    """What a strict peer reads of a message of ours. Raises `Fault` if it would drop it."""
    try:
        line = encode(message)
    except (TypeError, ValueError) as problem:
        raise Fault(f"a message that is not JSON: {problem}: {message!r:.500}") from problem
    return read_strictly(line)


def read_strictly(line: bytes) -> Any:
    """The JSON value of a line that is UTF-8 throughout, also behind its escapes. Raises `Fault` for another one."""
    if line.find(b"\n") != len(line) - 1:
        raise Fault(f"not one line: {line!r:.500}")
    try:
        value = _STRICT.decode(line.decode())
        if _SURROGATE.search(line):
            json.dumps(value, ensure_ascii=False).encode()
    except ValueError as problem:
        raise Fault(f"a message that no peer can read: {problem}: {line!r:.500}") from problem
    return value


def check_from_client(message: Any, version: str | None) -> None:
    """A message of a client's, by the types of `version`, or of the one that it names itself."""
    try:
        if "method" not in message:
            _check_response(message)
        elif message["method"].startswith("tasks/"):
            pass  # An extension, which the types leave out.
        elif "id" in message:
            params = message.get("params", {})
            named = params.get("_meta", {}).get(VERSION_KEY) or params.get("protocolVersion")
            is_request(named or version or V2025_11, message)
        else:
            is_notification(version or V2025_11, message, by="client")
    except (AssertionError, KeyError, ValidationError) as problem:
        raise Fault(f"an invalid message: {message!r:.800}: {problem}") from problem


def check_from_server(message: Any, version: str, method: str | None) -> None:
    """A message of a server's; `method` is the one that it responds to, None for a notification."""
    # Most differ in their id alone, and the types take longer than all the rest.
    form = (version, method, _TEXT.encode({key: value for key, value in message.items() if key != "id"}))
    if form in _CHECKED and "id" in message:
        return
    try:
        if "method" in message:
            is_notification(version, message, by="server")
        elif "error" in message:
            is_error(message)
        elif method in ("ping", "logging/setLevel"):
            assert message["result"] == {}
        else:
            assert method is not None, "a result of nothing"
            is_result(version, method, message)
    except (AssertionError, KeyError, ValidationError) as problem:
        raise Fault(f"an invalid message: {message!r:.800}: {problem}") from problem
    if len(_CHECKED) < MOST_CHECKED:
        _CHECKED.add(form)


def _check_response(message: Any) -> None:
    if "error" in message:
        is_error(message)
    else:
        assert set(message) == {"jsonrpc", "id", "result"}


def key_of(request_id: object) -> tuple[type, object]:
    """An id as it is compared: with its type, for in Python 1, 1.0 and True are one; and as it can be sent back: half
    of a surrogate pair cannot.
    """
    return type(request_id), _HALF_PAIR.sub("\ufffd", request_id) if isinstance(request_id, str) else request_id


def messages_in(lines: Iterable[bytes]) -> list[dict[str, Any]]:
    """Every object that these records hold, each for itself or in an array: read by other code than ours."""
    found = []
    for line in lines:
        try:
            value = json.loads(line.decode().removeprefix("\ufeff"))
        except (ValueError, RecursionError):
            continue
        found += [each for each in (value if isinstance(value, list) else [value]) if isinstance(each, dict)]
    return found


def is_same(one: Any, other: Any) -> bool:
    """Whether two JSON values are equal; here NaN equals itself."""
    return bool(one == other) or repr(one) == repr(other)


def check_bounded(owner: object, most: int) -> None:
    """No collection of `owner` holds more than `most`, however much has arrived."""
    for name, value in vars(owner).items():
        if isinstance(value, (dict, list, set)) and len(value) > most:
            raise Fault(f"{type(owner).__name__}.{name} has grown to {len(value)}")

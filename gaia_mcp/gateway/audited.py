"""A provider that records each tool call in an audit file: the time, the caller, the tool and the outcome.

A call that cannot be recorded is refused. If recording fails after the call, its result is withheld.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from gaia_mcp.protocol.jsonrpc import INTERNAL_ERROR
from gaia_mcp.redaction import looks_secret, masked_value
from gaia_mcp.redaction.finding import hidden, in_text
from gaia_mcp.safetext import cut, one_line
from gaia_mcp.server.provider import RequestError, WrappingProvider
from gaia_mcp.server.running_call import InputRequired
from gaia_mcp.toolcall import CallCancelledError

if TYPE_CHECKING:
    from gaia_mcp.gateway.restrictions import Owners
    from gaia_mcp.server.provider import Provider
    from gaia_mcp.storage.audit_file import AuditFile
    from gaia_mcp.toolcall import Call

Wire = dict[str, Any]

# The limit of a name, and of an error message.
MAX_CHARS = 300


class _Running(NamedTuple):
    """A call that has not been recorded. `start` is its start on the monotonic clock."""

    params: Wire
    call: Call
    began: datetime
    start: float


class AuditedProvider(WrappingProvider):
    """Adds a line to `file` for each tool call to `provider`. `report` is called when writing begins to fail."""

    def __init__(
        self, provider: Provider, file: AuditFile, owners: Owners, report: Callable[[str], None] = lambda _: None
    ) -> None:
        super().__init__(provider)
        self._file = file
        self._owners = owners
        self._report = report
        self._running: dict[object, _Running] = {}
        self._is_failing = False

    def answer(self, method: str, params: Wire, call: Call) -> Wire:
        """As the provider; also raises `RequestError` for a call that cannot be recorded."""
        if method != "tools/call":
            return self._provider.answer(method, params, call)
        # The error for the client does not mention the file.
        if not self._write(b""):
            raise RequestError("the call is refused, for it cannot be recorded", INTERNAL_ERROR)
        key = object()
        self._running[key] = _Running(params, call, datetime.now(UTC), time.monotonic())
        outcome: Wire = {}
        try:
            result = self._provider.answer(method, params, call)
            outcome = _outcome_of(result, call)
        except BaseException as error:
            outcome = _failure(error)
            raise
        finally:
            is_recorded = self._record(key, outcome)
        if not is_recorded:
            raise RequestError("the tool has run, but the call could not be recorded", INTERNAL_ERROR)
        return result

    def close(self) -> None:
        """Close the provider, and record the running calls as cancelled: their threads may end without recording."""
        try:
            self._provider.close()
        finally:
            for key in list(self._running):
                self._record(key, {"outcome": "cancelled"})

    def _record(self, key: object, outcome: Wire) -> bool:
        """Record a call, once. Returns whether its line was written."""
        running = self._running.pop(key, None)
        if running is None:
            return True
        seconds = time.monotonic() - running.start
        line = {
            "time": running.began.isoformat(timespec="milliseconds"),
            **self._facts(running.params, running.call),
            **outcome,
            "ms": round(seconds * 1000, 3),
        }
        return self._write(json.dumps(line).encode() + b"\n")

    def _write(self, line: bytes) -> bool:
        try:
            self._file.add(line)
        except OSError as problem:
            if not self._is_failing:
                self._is_failing = True
                self._report(
                    f"{self._file.path} cannot be written: {problem.strerror}; no tool is called until it can be"
                )
            return False
        self._is_failing = False
        return True

    def _facts(self, params: Wire, call: Call) -> Wire:
        """The client, principal, server, tool and arguments of a call."""
        name, arguments = params.get("name"), params.get("arguments")
        owner = self._owners(name) if isinstance(name, str) else None
        client = call.client
        return {
            "client": {"name": one_line(client.name, MAX_CHARS), "version": one_line(client.version, MAX_CHARS)},
            "principal": call.principal,
            "server": owner.server if owner is not None else None,
            "tool": one_line(owner.name if owner is not None else str(name), MAX_CHARS),
            "arguments": shown_arguments(arguments) if isinstance(arguments, dict) else {},
        }


def _outcome_of(result: Wire, call: Call) -> Wire:
    """The outcome of a call with this result."""
    if result.get("resultType") == "input_required":
        return {"outcome": "input-required"}
    if call.is_cancelled:
        return {"outcome": "cancelled"}
    return {"outcome": "tool-error" if result.get("isError") is True else "ok"}


def _failure(error: BaseException) -> Wire:
    """The outcome of a call that raised this exception."""
    if isinstance(error, InputRequired):
        return {"outcome": "input-required"}
    if isinstance(error, CallCancelledError):
        return {"outcome": "cancelled"}
    text = str(error)[: 2 * MAX_CHARS] or type(error).__name__
    return {"outcome": "error", "error": one_line(hidden(text, in_text(text)), MAX_CHARS)}


# Enough to recognize a text, and far less than the content of a file.
MAX_TEXT_CHARS = 1000
# More values than people write by hand; a line with all rows of a table is unreadable.
MAX_VALUES = 500
MAX_DEPTH = 20
LEFT_OUT = "…"


def shown_arguments(arguments: Mapping[str, Any]) -> Any:
    """`arguments` with `****` for a value that is a secret by its name or its form, and `…` for omitted values."""
    return _shown("", arguments, iter(range(MAX_VALUES)), MAX_DEPTH)


def _shown(name: str, value: Any, left: Iterator[int], depth: int) -> Any:
    """`value` as it is recorded. `name` is the nearest enclosing member with the name of a secret, or ""."""
    if isinstance(value, str):
        return _text(name, value)
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        text = str(value)
        return value if not name or (shown := masked_value(name, text)) == text else shown
    if not isinstance(value, (Mapping, list)):
        return value
    if not depth:
        return LEFT_OUT
    if isinstance(value, list):
        items: list[Any] = []
        for item in value:
            if next(left, None) is None:
                return [*items, LEFT_OUT]
            items.append(_shown(name, item, left, depth - 1))
        return items
    members: dict[str, Any] = {}
    for key, inner in value.items():
        if next(left, None) is None:
            return {**members, LEFT_OUT: LEFT_OUT}
        members[_text("", key)] = _shown(key if looks_secret(key) else name, inner, left, depth - 1)
    return members


def _text(name: str, text: str) -> str:
    # Twice the limit, so that a secret that begins in the recorded part and ends after it is found.
    begin = text[: 2 * MAX_TEXT_CHARS]
    masked = masked_value(name, begin) if name else hidden(begin, in_text(begin))
    return cut(masked, MAX_TEXT_CHARS)

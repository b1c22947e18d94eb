"""Recorded conversations.

Pure. The file format: JSON Lines, with a header, then each message with its sender and time. Their division into
exchanges: a client's request or notification, with the server's messages. A replay as a server: every request gets the
response that was recorded for it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from gaia_mcp.protocol import jsonrpc
from gaia_mcp.protocol.envelope import SUBSCRIPTION_KEY, meta_of, progress_token
from gaia_mcp.protocol.jsonrpc import Error, Malformed, Message, Notification, Request, RequestId, Result, encode, parse
from gaia_mcp.text import cut
from gaia_mcp.text.strict_json import canonical, canonical_text

FORMAT = "gaia-mcp-conversation"
VERSION = 1
CLIENT, SERVER = "client", "server"
# Answered with an empty result even if not recorded, as by every server of the handshake era.
ALWAYS_ANSWERED = frozenset({"ping", "logging/setLevel"})


class TranscriptLine(NamedTuple):
    """One line that was sent: a JSON value, or its `text` if it was not JSON, `ms` milliseconds after the start."""

    sender: str
    message: Any
    text: str | None
    ms: int


class Transcript(NamedTuple):
    """One conversation: the server, the start time, and the lines that were sent."""

    server: str
    date: str
    lines: list[TranscriptLine]


class TranscriptError(ValueError):
    """The file is not a recorded conversation; `line` is the number of the invalid line."""

    def __init__(self, problem: str, line: int) -> None:
        super().__init__(problem)
        self.line = line


def header_line(server: str, date: str) -> bytes:
    """The line that begins a conversation."""
    return encode({"format": FORMAT, "version": VERSION, "server": server, "date": date})


def message_line(sender: str, record: bytes, ms: int, mask: Callable[[Any], Any]) -> bytes:
    """The line for a record that was sent; `mask` removes the secrets from a JSON value."""
    try:
        return encode({"from": sender, "message": mask(parse(record)), "ms": ms})
    except ValueError:
        # Not JSON, or valid only for Python's parser, such as NaN, or nested too deeply to be encoded again.
        return encode({"from": sender, "text": mask(record.decode("utf-8", "replace")), "ms": ms})


def read_transcripts(data: bytes) -> tuple[list[Transcript], bool]:
    """The conversations of a file, and whether its last line was incomplete and therefore left out.

    Raises `TranscriptError`.
    """
    *lines, last = data.split(b"\n")
    found: list[Transcript] = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            row = parse(line)
        except ValueError as cause:
            raise TranscriptError(f"not JSON: {cause}", number) from cause
        if not isinstance(row, dict):
            raise TranscriptError("not an object", number)
        if "format" in row:
            found.append(_header(row, number))
        elif not found:
            raise TranscriptError("not the header of a recorded conversation", number)
        else:
            found[-1].lines.append(_line(row, number))
    if not found:
        raise TranscriptError("no recorded conversation", 1)
    return found, bool(last.strip())


def _header(row: dict[str, Any], number: int) -> Transcript:
    version = row.get("version")
    if row["format"] != FORMAT or not isinstance(version, int):
        raise TranscriptError("not the header of a recorded conversation", number)
    if version > VERSION:
        raise TranscriptError(f"recorded by a newer version of this program: {json.dumps(version)}", number)
    return Transcript(str(row.get("server", "")), str(row.get("date", "")), [])


def _line(row: dict[str, Any], number: int) -> TranscriptLine:
    sender, text, ms = row.get("from"), row.get("text"), row.get("ms", 0)
    if sender not in (CLIENT, SERVER) or not ("message" in row or isinstance(text, str)):
        raise TranscriptError("neither a message nor a text of the client or the server", number)
    ms = ms if isinstance(ms, int) else 0
    return TranscriptLine(sender, row.get("message"), None if "message" in row else text, ms)


class Send(NamedTuple):
    """The server sends this message as it was recorded, or the `text` of a line that was not JSON."""

    message: Any
    text: str | None = None


class AwaitResponse(NamedTuple):
    """The server continues after the response to its own request, which had this id."""

    request_id: RequestId


class Exchange:
    """A message of the client, and the steps of the server in response."""

    def __init__(self, first: Request | Notification | None) -> None:
        self.id = first.id if isinstance(first, Request) else None
        self.method = first.method if first is not None else ""
        self.params = first.params if first is not None else {}
        self.token = progress_token(meta_of(self.params))
        self.steps: list[Send | AwaitResponse] = []
        self.is_answered = False
        self.is_cancelled = False


class RecordedConversation:
    """One conversation: its exchanges in the order of their beginning, and the messages before the first one."""

    def __init__(self, lines: Iterable[TranscriptLine]) -> None:
        # The server's messages before the client's first.
        self.prologue = Exchange(None)
        self.exchanges: list[Exchange] = []
        self._open: dict[RequestId, Exchange] = {}
        self._server_requests: dict[RequestId, Exchange] = {}
        self._latest = self.prologue
        for line in lines:
            add = self._add_client_message if line.sender == CLIENT else self._add_server_message
            if line.text is not None:
                if line.sender != CLIENT:
                    self._latest_open().steps.append(Send(None, line.text))
            elif isinstance(line.message, list):
                for message in line.message:
                    add(message)
            else:
                add(line.message)

    def _latest_open(self) -> Exchange:
        """The exchange for a message that refers to none: the latest open one, or the latest of all if none is open."""
        return next(reversed(self._open.values()), self._latest)

    def _add_client_message(self, value: Any) -> None:
        message = jsonrpc.classify(value)
        if isinstance(message, (Result, Error)):
            if message.id is not None and (asking := self._server_requests.pop(message.id, None)) is not None:
                asking.steps.append(AwaitResponse(message.id))
        elif isinstance(message, Notification) and message.method == "notifications/cancelled":
            if jsonrpc.is_id(cancelled := message.params.get("requestId")) and cancelled in self._open:
                self._open.pop(cancelled).is_cancelled = True
        elif isinstance(message, (Request, Notification)):
            self._latest = exchange = Exchange(message)
            self.exchanges.append(exchange)
            if isinstance(message, Request):
                self._open[message.id] = exchange

    def _add_server_message(self, value: Any) -> None:
        message = jsonrpc.classify(value)
        latest = self._latest_open()
        exchange: Exchange | None = latest
        if isinstance(message, (Result, Error)):
            exchange = self._open.pop(message.id, None) if message.id is not None else latest
            if exchange is not None:
                exchange.is_answered = True
        elif isinstance(message, Request):
            self._server_requests[message.id] = latest
        elif isinstance(message, Notification):
            if message.method == "notifications/progress":
                token = message.params.get("progressToken")
                exchange = next((one for one in self._open.values() if token is not None and one.token == token), None)
            elif jsonrpc.is_id(subscription := meta_of(message.params).get(SUBSCRIPTION_KEY)):
                exchange = self._open.get(subscription)
        # A response to an unknown request, or progress for a request that is not open, is not replayed.
        if exchange is not None:
            exchange.steps.append(Send(value))


def request_keys(method: str, params: dict[str, Any]) -> list[str]:
    """The keys under which a message of the client is looked up, the most specific first."""
    compared = {key: value for key, value in params.items() if key != "_meta"}
    if method == "initialize":
        return [f"{method} {_canonical(compared.get('protocolVersion'))}", method]
    keys = [f"{method} {_canonical(compared)}"]
    if "inputResponses" in compared:
        # A separate key, which the same request without responses does not have.
        keys.append(f"{method} answered {_canonical({**compared, 'inputResponses': None})}")
    return keys


def _canonical(value: Any) -> str:
    try:
        return canonical_text(canonical(value))
    except (RecursionError, ValueError):  # Nested too deeply, or with NaN: all such values count as equal.
        return "no canonical form"


# An error lists at most this many recorded requests, each cut to about one line.
SHOWN_REQUESTS, SHOWN_CHARS = 5, 200


class _Replay:
    """An exchange that is being replayed for a request with another id and progress token."""

    def __init__(self, exchange: Exchange, request_id: RequestId | None, token: RequestId | None) -> None:
        self.exchange = exchange
        self.request_id = request_id
        self.token = token
        self.left = list(reversed(exchange.steps))
        # The ids of the server's requests: as recorded, and as sent now.
        self.new_ids: dict[RequestId, str] = {}
        self.answered: set[RequestId] = set()
        self.is_over = False


class Player:
    """The server of recorded conversations. It receives each line of the client and returns the lines to send."""

    def __init__(self, transcripts: Sequence[Transcript]) -> None:
        # The last conversation first.
        self._conversations = [RecordedConversation(transcript.lines) for transcript in reversed(transcripts)]
        # The exchanges still to be replayed for each key; the last one is never removed.
        self._left: dict[str, list[Exchange]] = {}
        for conversation in self._conversations:
            recorded: dict[str, list[Exchange]] = {}
            for exchange in conversation.exchanges:
                for key in request_keys(exchange.method, exchange.params):
                    recorded.setdefault(key, []).append(exchange)
            self._left = recorded | self._left
        self._waiting: dict[RequestId, _Replay] = {}
        self._server_requests = 0

    def prologue(self) -> list[bytes]:
        """The lines that the server sends before any request."""
        prologue = self._conversations[0].prologue if self._conversations else Exchange(None)
        return self._continue(_Replay(prologue, None, None))

    def receive(self, record: bytes) -> list[bytes]:
        """The lines that the server sends in response to this one."""
        try:
            value = jsonrpc.parse(record)
            messages = value if isinstance(value, list) else [value]
            return [line for message in messages for line in self._answer(message)]
        except (RecursionError, ValueError):  # RecursionError: nested too deeply to be encoded again.
            return [jsonrpc.encode(jsonrpc.error(None, jsonrpc.PARSE_ERROR, "Parse error"))]

    def _answer(self, value: Any) -> list[bytes]:
        message = jsonrpc.classify(value)
        if isinstance(message, Request):
            exchange = self._next(message.method, message.params)
            if exchange is not None:
                return self._continue(_Replay(exchange, message.id, progress_token(meta_of(message.params))))
            if message.method in ALWAYS_ANSWERED:
                return [jsonrpc.encode(jsonrpc.result(message.id, {}))]
            return [jsonrpc.encode(self._unknown(message))]
        if isinstance(message, Notification):
            if message.method == "notifications/cancelled":
                cancelled = message.params.get("requestId")
                self._waiting = {key: one for key, one in self._waiting.items() if one.request_id != cancelled}
                return []
            exchange = self._next(message.method, message.params)
            return self._continue(_Replay(exchange, None, None)) if exchange is not None else []
        if isinstance(message, Malformed):
            if message.id is None:
                return []
            text = f"Invalid request: {message.problem}"
            return [jsonrpc.encode(jsonrpc.error(message.id, jsonrpc.INVALID_REQUEST, text))]
        replay = self._waiting.pop(message.id, None) if message.id is not None else None
        if replay is None or message.id is None:
            return []
        replay.answered.add(message.id)
        return self._continue(replay)

    def _next(self, method: str, params: dict[str, Any]) -> Exchange | None:
        """The exchange to replay: the next one of the most specific key that has any."""
        for key in request_keys(method, params):
            if left := self._left.get(key):
                return left.pop(0) if len(left) > 1 else left[0]
        return None

    def _continue(self, replay: _Replay) -> list[bytes]:
        """The lines to send now, up to the next request of the server that has no response yet."""
        lines: list[bytes] = []
        while replay.left:
            step = replay.left[-1]
            if isinstance(step, AwaitResponse):
                new_id = replay.new_ids.get(step.request_id)
                if new_id is not None and new_id not in replay.answered:
                    return lines
            elif step.text is not None:
                lines.append(step.text.encode(errors="backslashreplace") + b"\n")
            elif (message := self._adapted(step.message, replay)) is not None:
                lines.append(jsonrpc.encode(message))
            replay.left.pop()
        exchange, was_over, replay.is_over = replay.exchange, replay.is_over, True
        is_answered = exchange.is_answered or exchange.is_cancelled or exchange.method == "subscriptions/listen"
        if replay.request_id is not None and not is_answered and not was_over:
            text = f"the recording ends before the response to this {exchange.method}"
            lines.append(jsonrpc.encode(jsonrpc.error(replay.request_id, jsonrpc.INTERNAL_ERROR, text)))
        return lines

    def _adapted(self, recorded: Any, replay: _Replay) -> Any:
        """A recorded message with the new ids and tokens; None for progress that the client did not request."""
        message = jsonrpc.classify(recorded)
        if isinstance(message, (Result, Error)) and message.id is not None:
            adapted = {**recorded, "id": replay.request_id}
            return _with_subscription(adapted, "result", replay) if isinstance(message, Result) else adapted
        if isinstance(message, Request):
            self._server_requests += 1
            new_id = replay.new_ids[message.id] = f"replay-{self._server_requests}"
            self._waiting[new_id] = replay
            return {**recorded, "id": new_id}
        if isinstance(message, Notification):
            if message.method == "notifications/progress":
                if replay.token is None:
                    return None
                return {**recorded, "params": {**message.params, "progressToken": replay.token}}
            if message.method == "notifications/cancelled":
                cancelled = message.params.get("requestId")
                if jsonrpc.is_id(cancelled) and cancelled in replay.new_ids:
                    return {**recorded, "params": {**message.params, "requestId": replay.new_ids[cancelled]}}
            return _with_subscription(recorded, "params", replay)
        return recorded

    def _unknown(self, request: Request) -> Message:
        exchanges = [
            one for conversation in self._conversations for one in conversation.exchanges if one.id is not None
        ]
        same = {
            request_keys(one.method, one.params)[0]: one.params for one in exchanges if one.method == request.method
        }
        if not same:
            methods = ", ".join(dict.fromkeys(one.method for one in exchanges)) or "nothing"
            text = f"the recording has no {request.method}; it has {methods}"
            return jsonrpc.error(request.id, jsonrpc.METHOD_NOT_FOUND, text)
        known = [{key: value for key, value in params.items() if key != "_meta"} for params in same.values()]
        shown = "; ".join(cut(json.dumps(params, ensure_ascii=False), SHOWN_CHARS) for params in known[:SHOWN_REQUESTS])
        more = f"; and {len(known) - SHOWN_REQUESTS} more" if len(known) > SHOWN_REQUESTS else ""
        text = f"the recording has no {request.method} with these params; it has {shown}{more}"
        return jsonrpc.error(request.id, jsonrpc.INVALID_PARAMS, text, {"recorded": known[:SHOWN_REQUESTS]})


def _with_subscription(message: dict[str, Any], member: str, replay: _Replay) -> dict[str, Any]:
    held = message.get(member)
    if not isinstance(held, dict) or SUBSCRIPTION_KEY not in meta_of(held):
        return message
    return {**message, member: {**held, "_meta": {**meta_of(held), SUBSCRIPTION_KEY: replay.request_id}}}

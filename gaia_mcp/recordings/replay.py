"""Recorded conversations played back as a server: every request is answered as it was answered then.

A request is known by its method and its params, without `_meta`; of `initialize` only the version counts, and an answer
to a server's question may be another one than it was. Of several recordings of one request the next comes each time,
the last again and again; those of a later conversation come instead of earlier ones. No clock: nothing is waited for
but answers.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from gaia_mcp.protocol import jsonrpc
from gaia_mcp.protocol.envelope import SUBSCRIPTION_KEY, meta_of, progress_token
from gaia_mcp.protocol.jsonrpc import Error, Malformed, Message, Notification, Request, RequestId, Result
from gaia_mcp.recordings.exchanges import Conversation, Exchange, Wait, keys_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gaia_mcp.recordings.transcript import Transcript

# What every server of the handshake era answers so, whether anybody has asked it then or not.
COURTESIES = frozenset({"ping", "logging/setLevel"})
# An error names as many of the recorded requests as somebody can take in, in as much of a line.
TOLD, TOLD_CHARS = 5, 200


class _Playing:
    """An exchange that is being played again for somebody who asks with an id and a token of their own."""

    def __init__(self, exchange: Exchange, asker: RequestId | None, token: RequestId | None) -> None:
        self.exchange = exchange
        self.asker = asker
        self.token = token
        self.left = list(reversed(exchange.steps))
        # The server's questions by the ids that they had, with those that they have now.
        self.asked: dict[RequestId, str] = {}
        self.answered: set[RequestId] = set()
        self.is_over = False


class Player:
    """The server of recorded conversations. Give it every line of the client's; it returns what goes out."""

    def __init__(self, transcripts: Sequence[Transcript]) -> None:
        # The last one first.
        self._conversations = [Conversation(transcript.said) for transcript in reversed(transcripts)]
        # Those that are still to be played under each key, the last one for good.
        self._left: dict[str, list[Exchange]] = {}
        for conversation in self._conversations:
            recorded: dict[str, list[Exchange]] = {}
            for exchange in conversation.exchanges:
                for key in keys_of(exchange.method, exchange.params):
                    recorded.setdefault(key, []).append(exchange)
            self._left = recorded | self._left
        self._waiting: dict[RequestId, _Playing] = {}
        self._questions = 0

    def opening(self) -> list[bytes]:
        """What the server says before it is asked anything."""
        prologue = self._conversations[0].prologue if self._conversations else Exchange(None)
        return self._play(_Playing(prologue, None, None))

    def receive(self, record: bytes) -> list[bytes]:
        """What the server says to this line."""
        try:
            value = jsonrpc.parse(record)
            messages = value if isinstance(value, list) else [value]
            return [line for message in messages for line in self._answer(message)]
        except (RecursionError, ValueError):  # The former for what is nested too deeply to be written again.
            return [jsonrpc.encode(jsonrpc.error(None, jsonrpc.PARSE_ERROR, "Parse error"))]

    def _answer(self, message: Any) -> list[bytes]:
        said = jsonrpc.classify(message)
        if isinstance(said, Request):
            exchange = self._next(said.method, said.params)
            if exchange is not None:
                return self._play(_Playing(exchange, said.id, progress_token(meta_of(said.params))))
            if said.method in COURTESIES:
                return [jsonrpc.encode(jsonrpc.result(said.id, {}))]
            return [jsonrpc.encode(self._unknown(said))]
        if isinstance(said, Notification):
            if said.method == "notifications/cancelled":
                given_up = said.params.get("requestId")
                self._waiting = {key: playing for key, playing in self._waiting.items() if playing.asker != given_up}
                return []
            exchange = self._next(said.method, said.params)
            return self._play(_Playing(exchange, None, None)) if exchange is not None else []
        if isinstance(said, Malformed):
            text = f"Invalid request: {said.problem}"
            return (
                [jsonrpc.encode(jsonrpc.error(said.id, jsonrpc.INVALID_REQUEST, text))] if said.id is not None else []
            )
        playing = self._waiting.pop(said.id, None) if said.id is not None else None
        if playing is None or said.id is None:
            return []
        playing.answered.add(said.id)
        return self._play(playing)

    def _next(self, method: str, params: dict[str, Any]) -> Exchange | None:
        """The exchange to play for this; the one that fits best, and of several the next."""
        for key in keys_of(method, params):
            if left := self._left.get(key):
                return left.pop(0) if len(left) > 1 else left[0]
        return None

    def _play(self, playing: _Playing) -> list[bytes]:
        """What comes now, up to the next question that has not been answered."""
        lines: list[bytes] = []
        while playing.left:
            step = playing.left[-1]
            if isinstance(step, Wait):
                asked = playing.asked.get(step.asked)
                if asked is not None and asked not in playing.answered:
                    return lines
            elif step.text is not None:
                lines.append(step.text.encode(errors="backslashreplace") + b"\n")
            elif (message := self._said_again(step.message, playing)) is not None:
                lines.append(jsonrpc.encode(message))
            playing.left.pop()
        played, was_over, playing.is_over = playing.exchange, playing.is_over, True
        is_answered = played.is_answered or played.is_cancelled or played.method == "subscriptions/listen"
        if playing.asker is not None and not is_answered and not was_over:
            text = f"the recording ends before the answer to this {played.method}"
            lines.append(jsonrpc.encode(jsonrpc.error(playing.asker, jsonrpc.INTERNAL_ERROR, text)))
        return lines

    def _said_again(self, message: Any, playing: _Playing) -> Any:
        """A recorded message with the ids and tokens of now; None if it has no place there."""
        said = jsonrpc.classify(message)
        if isinstance(said, (Result, Error)) and said.id is not None:
            again = {**message, "id": playing.asker}
            return _subscribed(again, "result", playing) if isinstance(said, Result) else again
        if isinstance(said, Request):
            self._questions += 1
            fresh = playing.asked[said.id] = f"replay-{self._questions}"
            self._waiting[fresh] = playing
            return {**message, "id": fresh}
        if isinstance(said, Notification):
            if said.method == "notifications/progress":
                if playing.token is None:
                    return None
                return {**message, "params": {**said.params, "progressToken": playing.token}}
            if said.method == "notifications/cancelled":
                given_up = said.params.get("requestId")
                if jsonrpc.is_id(given_up) and given_up in playing.asked:
                    return {**message, "params": {**said.params, "requestId": playing.asked[given_up]}}
            return _subscribed(message, "params", playing)
        return message

    def _unknown(self, asked: Request) -> Message:
        exchanges = [
            one for conversation in self._conversations for one in conversation.exchanges if one.id is not None
        ]
        same = {keys_of(one.method, one.params)[0]: one.params for one in exchanges if one.method == asked.method}
        if not same:
            methods = ", ".join(dict.fromkeys(one.method for one in exchanges)) or "nothing"
            text = f"the recording has no {asked.method}; it has {methods}"
            return jsonrpc.error(asked.id, jsonrpc.METHOD_NOT_FOUND, text)
        known = [{key: value for key, value in params.items() if key != "_meta"} for params in same.values()]
        shown = "; ".join(_shown(params) for params in known[:TOLD])
        more = f"; and {len(known) - TOLD} more" if len(known) > TOLD else ""
        text = f"the recording has no {asked.method} with these params; it has {shown}{more}"
        return jsonrpc.error(asked.id, jsonrpc.INVALID_PARAMS, text, {"recorded": known[:TOLD]})


def _subscribed(message: dict[str, Any], member: str, playing: _Playing) -> dict[str, Any]:
    """`message` with the subscription's own id in it, if it is one of a subscription."""
    held = message.get(member)
    if not isinstance(held, dict) or SUBSCRIPTION_KEY not in meta_of(held):
        return message
    return {**message, member: {**held, "_meta": {**meta_of(held), SUBSCRIPTION_KEY: playing.asker}}}


def _shown(params: dict[str, Any]) -> str:
    text = json.dumps(params, ensure_ascii=False)
    return text if len(text) <= TOLD_CHARS else f"{text[: TOLD_CHARS - 1]}…"

"""A connection on which anything may be said to a server, and every message that it sends is judged.

Messages are written as they are given, and read as they are, so that what the client library forgives is seen.
"""

from __future__ import annotations

import json
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, NamedTuple

from gaia_mcp._version import __version__
from gaia_mcp.client.transports.factory import transport_of
from gaia_mcp.core.deadline import Deadline
from gaia_mcp.core.errors import DeadlineError, MCPError
from gaia_mcp.protocol import BATCH_VERSION, has_sessions
from gaia_mcp.protocol.connection import Outgoing
from gaia_mcp.protocol.envelope import CAPABILITIES_KEY, INFO_KEY, SERVER_INFO_KEY, VERSION_KEY, meta_of
from gaia_mcp.protocol.input_required import input_required, type_problem
from gaia_mcp.protocol.jsonrpc import (
    METHOD_NOT_FOUND,
    RESOURCE_NOT_FOUND,
    URL_REQUIRED,
    RepeatedMemberError,
    RequestId,
    is_id,
    parse_strictly,
)
from gaia_mcp.protocol.revisions import CACHEABLE
from gaia_mcp.requirements.listed import SilentError
from gaia_mcp.requirements.shapes import notification_problems, result_problems

if TYPE_CHECKING:
    from gaia_mcp.config.entries import ServerEntry
    from gaia_mcp.requirements.listed import Judgement

Wire = dict[str, Any]

CLIENT_INFO = {"name": "gaia-mcp", "version": __version__}
# How long something may arrive that nothing announces.
LULL_SECONDS = 0.05
# A server that reads arrays answers them as quickly as pings, of which it has answered one.
TOGETHER_SECONDS = 2.0
# What a server makes of a resource or a prompt may take long.
MAKING_SECONDS = 3.0
# A server that exits by itself does so at once; on a busy machine it takes longer.
LEAVING_SECONDS = 3.0
# The codes that 2026-07-28 reserves, without those that it defines.
_RESERVED = range(-32099, -32022)
# The capability with which each notification has to be declared, and its member.
_DECLARED = {
    "notifications/tools/list_changed": ("tools", "listChanged"),
    "notifications/prompts/list_changed": ("prompts", "listChanged"),
    "notifications/resources/list_changed": ("resources", "listChanged"),
    "notifications/resources/updated": ("resources", "subscribe"),
    "notifications/message": ("logging", ""),
}


def code_of(message: Wire) -> int | None:
    """The code of the error in a response; None for a result."""
    error = message.get("error")
    code = error.get("code") if isinstance(error, dict) else None
    return code if isinstance(code, int) else None


class Answer(NamedTuple):
    """The response to a request, as it arrived, or the `lost` connection in place of one."""

    message: Wire
    lost: MCPError | None = None

    @property
    def result(self) -> Wire | None:
        """The result, None for an error."""
        result = self.message.get("result")
        return result if isinstance(result, dict) else None

    @property
    def code(self) -> int | None:
        """The code of the error, None for a result."""
        return code_of(self.message)

    @property
    def shown(self) -> str:
        """What came, in a few words."""
        return f"error {self.code}" if self.result is None else "a result"


class Conversation:
    """A connection to the server of `entry` in `revision`; each request has so many `seconds`, and none goes on after
    `deadline`. `judgement` gets what every message shows.

    `capabilities` are those that the server has declared so far. Use it as a context: it is open inside. Entering it
    raises `MCPError` as the transport does. A request raises `SilentError` once the server has ended, or is silent, and
    `DeadlineError` at the deadline.
    """

    def __init__(
        self, entry: ServerEntry, revision: str, judgement: Judgement, seconds: float, deadline: Deadline | None = None
    ) -> None:
        self.revision = revision
        self.judgement = judgement
        self.capabilities: Wire = {}
        self.is_initialized = False
        # What has arrived without being a response, in order.
        self.heard: list[Wire] = []
        self._seconds = seconds
        self._whole = deadline
        self.is_stateless = not has_sessions(revision)
        self._channel = transport_of(entry, seconds).new_channel()
        self._last_id = 0
        self._sent: dict[RequestId, str] = {}
        self._waiting: dict[RequestId, SimpleQueue[Answer | None]] = {}
        self._subscribed: set[RequestId] = set()
        self._given_up: set[RequestId] = set()
        # How many notifications it may still have answered.
        self._notified = 0
        # Whether an array was sent: a server that does not read it may complain in a log message.
        self._has_said_array = False

    def __enter__(self) -> Conversation:
        try:
            self._channel.start(self, self._time())
        except BaseException:
            self._channel.close(0.0)
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._channel.close(LEAVING_SECONDS)
        stopped = getattr(self._channel, "stopped", None)
        if stopped is not None:
            in_time = stopped.how not in ("on SIGTERM", "on SIGKILL")
            how = f"it did not exit when its stdin was closed, and was stopped {stopped.how}"
            self.judgement.hold("IO-6", "" if in_time else how)

    # What is said.

    def envelope(self, **changes: Any) -> Wire:
        """The `_meta` of a stateless request; a change of None removes a key."""
        meta = {VERSION_KEY: self.revision, CAPABILITIES_KEY: {}, INFO_KEY: CLIENT_INFO, **changes}
        return {key: held for key, held in meta.items() if held is not None}

    def request(self, method: str, params: Wire | None = None, *, meta: Wire | None = None) -> Answer:
        """Send a request, and return what it is answered with. In the stateless era `meta` is its envelope, by default
        the usual one. A result is judged by the revision.
        """
        answer = self._answer(method, params, meta)
        if (result := answer.result) is not None:
            self._judge_result(method, result)
        elif self.is_stateless:
            code = answer.code
            is_reserved = code in _RESERVED or code in (RESOURCE_NOT_FOUND, URL_REQUIRED)
            self.judgement.hold("MS-17", f"{method}: the code {code}" if is_reserved else "", answer.message)
        return answer

    def try_request(self, method: str, params: Wire, seconds: float = MAKING_SECONDS) -> None:
        """Send a request for what the server makes: its result is judged. It may take as long as it likes, for example
        where there is no network; here it is waited for so many `seconds`.
        """
        request_id, message = self._new_request(method, params, None)
        queue = self._expect(request_id, method)
        self._say(message, request_id, method)
        answer = self._channel.wait(queue, request_id, self._time(seconds))
        if answer is None:
            self._give_up(request_id, method)
        elif answer.lost is not None:
            self.judgement.hold("B-2", answer.lost.message, message)
            raise SilentError(answer.lost.message)
        elif answer.result is not None:
            self._judge_result(method, answer.result)

    def notify(self, method: str, params: Wire | None = None) -> None:
        """Send a notification."""
        message: Wire = {"jsonrpc": "2.0", "method": method}
        if params is not None:
            message["params"] = params
        self._notified += 1
        self._say(message, None, method)

    def say_together(self, messages: list[Wire]) -> bool:
        """Send an array of requests; whether all are answered."""
        waiting = []
        for message in messages:
            queue = self._expect(message["id"], message["method"])
            waiting.append((message, queue))
        self._has_said_array = True
        deadline = self._time(TOGETHER_SECONDS)
        self._channel.send(Outgoing(messages), deadline, "an array")
        answers = [self._channel.wait(queue, message["id"], deadline) for message, queue in waiting]
        return all(answer is not None and answer.lost is None for answer in answers)

    def listen(self, kinds: Wire) -> RequestId:
        """Send a subscription, which is not waited for; returns its id."""
        request_id = self.new_id()
        self._subscribed.add(request_id)
        self._expect(request_id, "subscriptions/listen")
        params = {"notifications": kinds, "_meta": self.envelope()}
        message = {"jsonrpc": "2.0", "id": request_id, "method": "subscriptions/listen", "params": params}
        self._say(message, request_id, "subscriptions/listen")
        return request_id

    def stop_listening(self, request_id: RequestId) -> None:
        """End a subscription, in the way of its transport."""
        params = {"requestId": request_id}
        message = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}
        self._channel.abandon(Outgoing(message, request_id, cancels=True))

    @property
    def has_one_stream(self) -> bool:
        """Whether all messages share one stream, as over stdio: there a request is cancelled by a notification in both
        eras.
        """
        return self._channel.output == "stdout"

    def lull(self, seconds: float = LULL_SECONDS) -> None:
        """Read what arrives in a moment."""
        self._channel.wait(SimpleQueue(), None, Deadline(seconds))

    def new_id(self) -> RequestId:
        """An id: a number and a text of digits in turns, which a server has to tell apart."""
        self._last_id += 1
        return self._last_id if self._last_id % 2 else str(self._last_id)

    def _new_request(self, method: str, params: Wire | None, meta: Wire | None) -> tuple[RequestId, Wire]:
        if self.is_stateless:
            params = {**(params or {}), "_meta": self.envelope() if meta is None else meta}
        request_id = self.new_id()
        message: Wire = {"jsonrpc": "2.0", "id": request_id, "method": method}
        if params is not None:
            message["params"] = params
        return request_id, message

    def _answer(self, method: str, params: Wire | None, meta: Wire | None) -> Answer:
        request_id, message = self._new_request(method, params, meta)
        queue = self._expect(request_id, method)
        deadline = self._time()
        self._say(message, request_id, method)
        answer = self._channel.wait(queue, request_id, deadline)
        if answer is None:
            self._give_up(request_id, method)
        if answer is not None and answer.lost is None:
            self.judgement.hold("B-2")
            return answer
        lost = answer.lost if answer is not None else None
        told = lost.message if lost is not None else f"{method} was not answered within {self._seconds:g} s"
        self.judgement.hold("B-2", told, message)
        raise SilentError(told)

    def _give_up(self, request_id: RequestId, stage: str) -> None:
        """A response that comes later is none too many. Raises `DeadlineError` at the deadline of all requests."""
        self._given_up.add(request_id)
        self._waiting.pop(request_id, None)
        if self._whole is not None and self._whole.expired:
            raise DeadlineError(self._channel.name, stage, self._whole.allowed)

    def _time(self, seconds: float | None = None) -> Deadline:
        limit = self._seconds if seconds is None else min(seconds, self._seconds)
        return Deadline(limit) if self._whole is None else self._whole.sooner(limit)

    def _say(self, message: Wire, about: RequestId | None, stage: str) -> None:
        deadline = self._time()
        try:
            if about is not None and about not in self._subscribed:
                self._channel.ask(Outgoing(message, about), deadline, stage)
            else:
                self._channel.send(Outgoing(message, about), deadline, stage)
        except MCPError as lost:
            self.judgement.hold("B-2", lost.message, message)
            raise SilentError(lost.message) from lost

    def _expect(self, request_id: RequestId, method: str) -> SimpleQueue[Answer | None]:
        self._sent[request_id] = method
        queue = self._waiting[request_id] = SimpleQueue()
        return queue

    # What arrives: the methods of a `Receiver`.

    def receive(self, record: bytes, about: RequestId | None = None) -> None:
        try:
            value = parse_strictly(record)
        except RepeatedMemberError as problem:
            self.judgement.hold("B-1", str(problem), record.decode("utf-8", "replace"))
            value = problem.value
        except ValueError:
            number = "IO-2" if self.has_one_stream else "B-1"
            self.judgement.hold(number, "it wrote what is not JSON", record.decode("utf-8", "replace"))
            return
        self.receive_message(value, about)

    def receive_message(self, value: Any, about: RequestId | None = None) -> None:
        if self.has_one_stream:
            self.judgement.hold("IO-2")
        if isinstance(value, list):
            is_allowed = self.revision == BATCH_VERSION and bool(value)
            self.judgement.hold("LC-9" if self.revision == BATCH_VERSION else "B-1",
                                "" if is_allowed else "it sent an array of messages", value)  # fmt: skip
        for each in value if isinstance(value, list) else [value]:
            self._take(each, about)

    def request_failed(self, about: RequestId, error: MCPError) -> None:
        self._deliver(about, Answer({}, error))

    def channel_ended(self, error: MCPError) -> None:
        for request_id in list(self._waiting):
            self._deliver(request_id, Answer({}, error))

    def _take(self, value: Any, about: RequestId | None) -> None:
        if not isinstance(value, dict):
            self.judgement.hold("B-1", "a message is an object", value)
            return
        lacks = "" if value.get("jsonrpc") == "2.0" else 'a message lacks "jsonrpc": "2.0"'
        self.judgement.hold("B-1", lacks, value)
        if "method" in value:
            self.heard.append(value)
            if "id" in value:
                self._asked(value, about)
            else:
                self._told(value)
        elif "result" in value or "error" in value:
            self._responded(value, about)
        else:
            self.judgement.hold("B-1", "a message is neither a request nor a response", value)

    def _responded(self, value: Wire, about: RequestId | None) -> None:
        hold, request_id = self.judgement.hold, value.get("id")
        if "result" in value and value.get("error") is not None:
            hold("B-2", "a response has both a result and an error", value)
        if "error" in value:
            self._judge_error(value)
        elif not isinstance(value["result"], dict):
            hold("B-2", "a result is an object", value)
        if not is_id(request_id):
            open_ids = [each for each in self._waiting if each not in self._subscribed]
            if about is None and (self._notified or not open_ids):
                self._notified = max(0, self._notified - 1)
                hold("B-3", "a notification was answered", value)
                return
            hold("B-2", "a response has no id", value)
            request_id = about if about is not None else open_ids[0]
        elif not _is_among(request_id, self._sent):
            alike = next((each for each in self._waiting if str(each) == str(request_id)), None)
            hold("B-2", "the id of a response is not that of the request" if alike is not None
                 else "a response has an id that was never sent", value)  # fmt: skip
            if alike is None:
                return
            request_id = alike
        elif request_id in self._given_up:
            return
        elif request_id not in self._waiting:
            hold("B-2", "a request was answered twice", value)
            return
        self._deliver(request_id, Answer(value))

    def _judge_error(self, value: Wire) -> None:
        error = value["error"]
        code, text = (error.get("code"), error.get("message")) if isinstance(error, dict) else (None, None)
        is_whole = isinstance(code, int) and not isinstance(code, bool)
        self.judgement.hold("B-2", "" if is_whole else "the code of an error is an integer", value)
        self.judgement.hold("B-14", "" if isinstance(text, str) else "the message of an error is a text", value)

    def _deliver(self, request_id: RequestId, answer: Answer) -> None:
        queue = self._waiting.pop(request_id, None)
        if queue is not None:
            if request_id in self._subscribed:
                self.heard.append(answer.message)
            else:
                queue.put(answer)
            self._channel.wake()

    def _asked(self, value: Wire, about: RequestId | None) -> None:
        """A request of the server, which is answered, so that it goes on."""
        method = value["method"]
        if self.is_stateless:
            self.judgement.hold("MS-7", f"the server sent the request {method}", value)
            return
        if not is_id(value["id"]):
            self.judgement.hold("B-1", "the id of a request is a string or an integer", value)
            return
        if method == "ping":
            response: Wire = {"result": {}}
        else:
            if self.is_initialized:
                self.judgement.hold("LC-3", f"the server sent {method}, which the client did not declare", value)
            else:
                self.judgement.hold("LS-2", f"the server sent {method} before notifications/initialized", value)
            response = {"error": {"code": METHOD_NOT_FOUND, "message": "Method not found"}}
        self._channel.send_soon(Outgoing({"jsonrpc": "2.0", "id": value["id"], **response}, about))

    def _told(self, value: Wire) -> None:
        """A notification of the server."""
        method, hold = value["method"], self.judgement.hold
        for problem in notification_problems(value) or [""]:
            hold("B-14", problem, value)
        if method == "notifications/progress":
            hold("B-7", "progress was sent to a client that has named no token", value)
        if method not in _DECLARED or (self._has_said_array and method == "notifications/message"):
            return
        if self.is_stateless:
            if method == "notifications/message":
                hold("MS-14", "a log message was sent for a request that asks for none", value)
            elif not self._subscribed:
                hold("MS-13", f"{method} was sent to a client without a subscription", value)
            return
        capability, member = _DECLARED[method]
        declared = self.capabilities.get(capability)
        is_declared = isinstance(declared, dict) and (not member or declared.get(member) is True)
        what = f"{capability}.{member}" if member else capability
        hold("LC-3", "" if is_declared or not self.is_initialized else f"{method} was sent without {what}", value)

    def _judge_result(self, method: str, result: Wire) -> None:
        hold = self.judgement.hold
        kind = result.get("resultType")
        for problem in (result_problems(self.revision, method, result) if kind != "input_required" else ()) or [""]:
            hold("B-14", problem, result)
        if not self.is_stateless:
            return
        hold("MS-5", "" if isinstance(kind, str) else f"a result of {method} has no resultType", result)
        has_info = isinstance(meta_of(result).get(SERVER_INFO_KEY), dict)
        hold("MS-5", "" if has_info else f"a result has no {SERVER_INFO_KEY} in its _meta",
             result, is_minor=True)  # fmt: skip
        if kind is not None and (mistake := type_problem(method, result)) is not None:
            hold("MS-8" if kind == "input_required" else "MS-5", f"a result of {method}: {mistake}", result)
        elif kind == "input_required":
            required = input_required(result)
            hold("MS-8", f"a result of {method}: {required}" if isinstance(required, str) else "", result)
        elif method in CACHEABLE:
            for problem in _cache_problems(result) or [""]:
                hold("MS-11", f"{method}: {problem}" if problem else "", result)


def _is_among(request_id: RequestId, sent: dict[RequestId, str]) -> bool:
    # JSON knows one kind of number, Python two that are equal.
    return request_id in sent and type(request_id) in (int, str)


def _cache_problems(result: Wire) -> list[str]:
    ttl, scope = result.get("ttlMs"), result.get("cacheScope")
    problems = []
    if type(ttl) is not int or ttl < 0:
        problems.append(f"its ttlMs is {json.dumps(ttl, default=str)}, not a whole number from 0 on")
    if scope not in ("public", "private"):
        problems.append(f"its cacheScope is {json.dumps(scope, default=str)}, neither public nor private")
    return problems

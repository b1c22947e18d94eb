"""The client's pure connection against mutated messages of a server."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any

from gaia_mcp.protocol import ALL_VERSIONS, STATELESS_VERSIONS
from gaia_mcp.protocol.client import WITHOUT_MEMBERS
from gaia_mcp.protocol.connection import ABANDONED_KEPT, EXCERPT_CHARS
from gaia_mcp.protocol.events import (
    Cancelled,
    Discarded,
    ErrorResponse,
    Event,
    InvalidResponse,
    NegotiationFailed,
    Opened,
    Progressed,
    RequestReceived,
    SubscriptionEnded,
)
from gaia_mcp.protocol.framing import LineBuffer, RecordTooLongError
from gaia_mcp.protocol.jsonrpc import RequestId, Result
from tests.fuzz.mutations import LONGEST_RECORD, Mutator
from tests.fuzz.oracles import (
    RECORDS_KEPT,
    Fault,
    check_bounded,
    check_from_client,
    is_same,
    key_of,
    messages_in,
    on_wire,
)
from tests.protocol_support import discovered, initialized, new_client, note, rpc, rpc_error, rpc_result
from tests.wire_support import ANSWERS, QUESTIONS, SAMPLED

if TYPE_CHECKING:
    from random import Random

Wire = dict[str, Any]
SUBSCRIPTION = "io.modelcontextprotocol/subscriptionId"
# So many requests are open at a time.
MOST_OPEN = 12
# A negotiation takes no more requests than there are revisions, and two probes.
MOST_STEPS = len(ALL_VERSIONS) + 3
OTHERS = [
    note("notifications/tools/list_changed"),
    note("notifications/resources/updated", {"uri": "file:///a"}),
    note("notifications/message", {"level": "info", "logger": "x", "data": {"a": [1]}}),
    note("notifications/elicitation/complete", {"elicitationId": "e"}),
    rpc("s1", "ping"),
    rpc(7, "roots/list"),
    rpc("s2", "sampling/createMessage", {"messages": [{"role": "user", "content": {"type": "text", "text": "?"}}]}),
    rpc(1, "elicitation/create", {"message": "Who?", "requestedSchema": {"type": "object", "properties": {}}}),
    note("notifications/cancelled", {"requestId": 7, "reason": "late"}),
    rpc_error(..., -32700, "Parse error"),
    rpc_error(None, -32600, "Invalid request"),
]


def response_to(asked: Wire, version: str, pick: Random) -> Wire:
    """What a server of `version` responds to a request of ours."""
    method, params = asked["method"], asked.get("params", {})
    if method == "server/discover":
        return rpc_result(asked["id"], discovered())
    if method == "initialize":
        return rpc_result(asked["id"], initialized(version))
    if method == "subscriptions/listen":
        granted = {"notifications": params["notifications"], "_meta": {SUBSCRIPTION: asked["id"]}}
        return note("notifications/subscriptions/acknowledged", granted)
    if method not in ANSWERS:
        return rpc_result(asked["id"], {})
    return rpc_result(asked["id"], pick.choice(ANSWERS[method]))


class ClientSession:
    """One connection from its start to its end. What it raises is a fault."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.mutator = Mutator(random)
        self.version = random.choice(ALL_VERSIONS)
        self.client = new_client(probe=random.random() < 0.8)
        self.records: deque[bytes] = deque(maxlen=RECORDS_KEPT)
        self.is_over = False
        self._buffer = LineBuffer(LONGEST_RECORD)
        # Our requests that have no outcome yet; all that the connection has sent and not given up, its own among them;
        # and the last that were given up, to which a response may still come.
        self._open: dict[RequestId, str] = {}
        self._asked: dict[RequestId, Wire] = {}
        self._late: deque[Wire] = deque(maxlen=MOST_OPEN)
        self._ids: set[tuple[type, object]] = set()
        self._subscribed: list[str] = []
        self._theirs: list[RequestId] = []

    def run(self, count: int) -> int:
        """Receive `count` mutated records, then valid ones until every request has its response. Returns how many were
        received before the connection ended.
        """
        try:
            self.client.open()
            self._look([])
            for received in range(count):
                if self.is_over:
                    return received
                self._act()
                self._arrive(self.mutator.record(self._next()))
            check_bounded(self.client, ABANDONED_KEPT + MOST_OPEN)
            self._settle()
            return count
        except Fault as fault:
            raise Fault(str(fault), self.records) from fault
        except Exception as problem:
            raise Fault(f"{type(problem).__name__}: {problem}", self.records) from problem

    # Our side.

    def _act(self) -> None:
        random, client = self.random, self.client
        if client.peer is None:
            if client.is_probing and random.random() < 0.02:
                client.probe_timed_out()
                self._look([])
            return
        if self._theirs and random.random() < 0.5:
            self._respond(self._theirs.pop(random.randrange(len(self._theirs))))
        if len(self._open) >= MOST_OPEN or (self._open and random.random() < 0.5):
            if random.random() < 0.1:
                gone = random.choice(list(self._open))
                del self._open[gone]
                self._late.append(self._asked.pop(gone))
                client.abandon(gone, "enough")
        elif (kind := random.random()) < 0.8:
            method = random.choice(list(QUESTIONS))
            self._opened(
                client.request(method, random.choice(QUESTIONS[method]), progress=random.random() < 0.5), method
            )
        elif kind < 0.85:
            self._opened(client.check_alive(), "alive")
        elif kind < 0.9:
            self._opened(client.subscribe(uri := random.choice(("file:///a", "file:///b"))), f"subscribe {uri}")
        elif kind < 0.93:
            self._opened(client.unsubscribe("file:///a"), "unsubscribe")
        elif kind < 0.96:
            self._opened(client.want_logs("debug"), "logs")
        else:
            client.watch_lists()
        self._look([])

    def _opened(self, request_id: RequestId | None, method: str) -> None:
        if request_id is not None:
            self._open[request_id] = method

    def _respond(self, request_id: RequestId) -> None:
        if self.random.random() < 0.5:
            self.client.respond(request_id, self.random.choice(SAMPLED))
        else:
            self.client.respond_error(request_id, -32603, "no")

    # The server's side.

    def _next(self) -> Wire:
        random = self.random
        asked = list(self._asked.values())
        if not asked or (kind := random.random()) < 0.25:
            return random.choice(OTHERS)
        request = random.choice([*asked[-MOST_OPEN:], *self._late] if kind > 0.9 else asked[-MOST_OPEN:])
        if kind < 0.3:
            return rpc_error(
                request["id"], random.choice((-32601, -32602, -32022, -32000)), "no", {"supported": [self.version]}
            )
        if kind < 0.35:
            return note("notifications/cancelled", {"requestId": request["id"]})
        if kind < 0.45:
            return note(
                "notifications/progress", {"progressToken": request["id"], "progress": random.random(), "total": 1}
            )
        if kind < 0.5 and request["method"] == "subscriptions/listen":
            return rpc_result(request["id"], {"resultType": "complete"})
        if kind < 0.55:
            return rpc_result(random.choice((0, 10**6, "1", "discover-1", -1)), {"content": []})
        return self._response_to(request)

    def _response_to(self, request: Wire) -> Wire:
        response = response_to(request, self.version, self.random)
        is_stateless = "result" in response and self.version in STATELESS_VERSIONS
        if is_stateless and self.random.random() < 0.9:
            response["result"] = {**response["result"], "resultType": "complete"}
        return response

    def _arrive(self, record: bytes) -> None:
        self.records.append(record)
        data, at = record + b"\n", self.random.randrange(len(record) + 1)
        lines: list[bytes] = []
        try:
            for piece in (data[:at], data[at:]) if at % 4 == 0 else (data,):
                lines += self._buffer.feed(piece)
        except RecordTooLongError:
            if len(record) < LONGEST_RECORD:
                raise
            self._buffer = LineBuffer(LONGEST_RECORD)
        for line in lines:
            self.client.receive(line)
        self._look(lines)

    # What must be true.

    def _look(self, lines: list[bytes]) -> None:
        for event in self.client.take_events():
            self.check_event(event, lines)
        for outgoing in self.client.take_outgoing():
            message = on_wire(outgoing.message)
            peer = self.client.peer
            check_from_client(message, peer.version if peer is not None else None)
            if "method" in message and "id" in message:
                if key_of(message["id"]) in self._ids:
                    raise Fault(f"the id {message['id']!r} is used again")
                self._ids.add(key_of(message["id"]))
                self._asked[message["id"]] = message

    def check_event(self, event: Event, lines: list[bytes]) -> None:
        if isinstance(event, (Result, ErrorResponse, InvalidResponse)):
            self._check_outcome(event, lines)
        elif isinstance(event, Opened):
            if self.client.peer is None:
                raise Fault("opened without a peer")
            self.version = event.peer.version
        elif isinstance(event, NegotiationFailed):
            self.is_over = True
        elif isinstance(event, Progressed):
            if event.id not in self._asked:
                raise Fault(f"progress of {event.id!r}, which is not open")
            for number in (event.progress, event.total or 0.0):
                float(number)
        elif isinstance(event, RequestReceived):
            self._theirs.append(event.id)
        elif isinstance(event, Cancelled):
            self._check_cancelled(event.id)
        elif isinstance(event, SubscriptionEnded):
            self._subscribed.remove(event.uri)
        elif isinstance(event, Discarded) and len(event.excerpt) > EXCERPT_CHARS + 1:
            raise Fault("a long excerpt")

    def _check_outcome(self, event: Result | ErrorResponse | InvalidResponse, lines: list[bytes]) -> None:
        method = self._open.pop(event.id, None)
        if method is None or type(event.id) is not int:
            raise Fault(f"an outcome of {event.id!r}, which is not open")
        asked = self._asked.get(event.id, {})
        if isinstance(event, Result) and asked.get("method") == "subscriptions/listen":
            self._subscribed.append(method.removeprefix("subscribe "))
            return
        self._asked.pop(event.id, None)
        if isinstance(event, InvalidResponse):
            return
        for message in messages_in(lines):
            is_for_it = key_of(message.get("id")) == key_of(event.id)
            if isinstance(event, Result):
                given = message.get("result")
                if not isinstance(given, dict) and asked.get("method") in WITHOUT_MEMBERS:
                    given = {}
                bare = {name: value for name, value in given.items() if name != "resultType"} if given else given
                if is_for_it and (is_same(given, event.result) or is_same(bare, event.result)):
                    return
            elif isinstance(message.get("error"), dict) and (is_for_it or type(message.get("id")) not in (int, str)):
                return
        raise Fault(f"a response to {event.id!r} that never came: {event!r:.500}")

    def _check_cancelled(self, request_id: RequestId) -> None:
        if request_id not in self._theirs:
            raise Fault(f"{request_id!r} is cancelled, which was never asked or has its response")
        self._theirs = [each for each in self._theirs if key_of(each) != key_of(request_id)]
        before = self.client.take_outgoing()
        self._respond(request_id)
        if self.client.take_outgoing():
            raise Fault(f"a response to {request_id!r}, which was cancelled")
        for outgoing in before:
            on_wire(outgoing.message)

    # The end.

    def _settle(self) -> None:
        """Now the server responds to everything as it should have done."""
        self._arrive(b"")
        for _ in range(MOST_STEPS):
            if self.client.peer is not None or self.is_over:
                break
            self._arrive_valid(self._asked[list(self._asked)[-1]])
        else:
            raise Fault("the negotiation does not end")
        for request_id in list(self._open):
            self._arrive_valid(self._asked[request_id])
            if request_id in self._open:
                raise Fault(f"{request_id!r} has had its response, and is still open")
        for request_id in self._theirs:
            self._respond(request_id)
        self._look([])

    def _arrive_valid(self, request: Wire) -> None:
        response = self._response_to(request)
        self._arrive(self.mutator.record(response, valid=1))

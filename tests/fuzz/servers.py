"""The server's pure connection against mutated messages of a client."""

from __future__ import annotations

import json
from collections import Counter, deque
from typing import TYPE_CHECKING, Any

from gaia_mcp.protocol import ALL_VERSIONS, BATCH_VERSION, STATELESS_VERSIONS
from gaia_mcp.protocol.envelope import SUBSCRIPTION_KEY, has_envelope
from gaia_mcp.protocol.events import Cancelled, RequestReceived
from gaia_mcp.protocol.framing import LineBuffer, RecordTooLongError
from gaia_mcp.protocol.jsonrpc import RequestId, is_id
from gaia_mcp.protocol.subscriptions import MAX_SUBSCRIPTIONS, MAX_URIS
from tests.fuzz.mutations import LONGEST_RECORD, Mutator
from tests.fuzz.oracles import RECORDS_KEPT, Fault, check_bounded, check_from_server, key_of, messages_in, on_wire
from tests.protocol_support import CLIENT, ENVELOPE, new_server, note, rpc, rpc_result
from tests.wire_support import ANSWERS, QUESTIONS, V2025_11

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from random import Random

    from gaia_mcp.protocol.connection import Outgoing
    from gaia_mcp.protocol.server import ServerConnection

Wire = dict[str, Any]
Key = tuple[type, object]
# So many requests are open at a time.
MOST_OPEN = 12
BOM = b"\xef\xbb\xbf"
URIS = ("file:///a", "file:///b")
WANTED = {"notifications": {"toolsListChanged": True, "promptsListChanged": True, "resourceSubscriptions": list(URIS)}}
OTHERS = [
    note("notifications/initialized"),
    note("notifications/roots/list_changed"),
    note("notifications/progress", {"progressToken": 1, "progress": 1}),
    rpc_result(1, {}),
    {"jsonrpc": "2.0", "id": 3, "error": {"code": -32601, "message": "no"}},
]


class ClientsMessages:
    """What a client of one revision sends, valid for itself."""

    def __init__(
        self, random: Random, questions: Mapping[str, list[Wire | None]] = QUESTIONS, *, repeats_ids: bool = True
    ) -> None:
        self.random = random
        self._repeats_ids = repeats_ids
        self.version = random.choice(ALL_VERSIONS)
        self._questions = questions
        self._last_id = 0
        self._sent: deque[RequestId] = deque([0], maxlen=MOST_OPEN)

    def first(self) -> list[Wire]:
        """What begins the conversation."""
        if self.version in STATELESS_VERSIONS:
            return [self._stateless("server/discover", None)]
        params = {"protocolVersion": self.version, "capabilities": {}, "clientInfo": CLIENT}
        return [rpc(self._new_id(), "initialize", params), note("notifications/initialized")]

    def next(self) -> Any:
        """Anything that may come then, also an array of messages where the revision has these."""
        if self.version == BATCH_VERSION and self.random.random() < 0.2:
            return [self._one() for _ in range(self.random.randrange(1, 5))]
        return self._one()

    def request(self, method: str, params: Wire | None) -> Wire:
        """A request of the client's revision."""
        if self.version in STATELESS_VERSIONS:
            return self._stateless(method, params)
        return rpc(self._new_id(), method, params)

    def _one(self) -> Wire:
        random, kind = self.random, self.random.random()
        if kind < 0.6:
            method = random.choice(list(self._questions))
            params = random.choice(self._questions[method])
            if self.version not in STATELESS_VERSIONS and random.random() < 0.3:
                params = {**(params or {}), "_meta": {"progressToken": random.choice(("t", 5))}}
            return self.request(method, params)
        if kind < 0.75:
            return note("notifications/cancelled", {"requestId": random.choice(self._sent), "reason": "late"})
        if kind < 0.8:
            if self.version in STATELESS_VERSIONS:
                return self.request("subscriptions/listen", WANTED)
            method = random.choice(("resources/subscribe", "resources/unsubscribe", "subscriptions/listen"))
            return self.request(method, {"uri": random.choice(URIS), **WANTED})
        if kind < 0.85:
            return self.request("ping", None)
        if kind < 0.88:
            return self.request("logging/setLevel", {"level": "debug"})
        return random.choice(self.first() if kind < 0.93 else OTHERS)

    def _stateless(self, method: str, params: Wire | None) -> Wire:
        meta = ENVELOPE | {"progressToken": "t", "io.modelcontextprotocol/logLevel": "debug"}
        return rpc(self._new_id(), method, {**(params or {}), "_meta": meta})

    def _new_id(self) -> RequestId:
        if self._repeats_ids and self.random.random() < 0.05:
            return self.random.choice(self._sent)
        self._last_id += 1
        new: RequestId = self._last_id if self.random.random() < 0.8 else f"r{self._last_id}"
        self._sent.append(new)
        return new


class Ledger:
    """Which requests a server has received, and what it owes for each: one response, none for a cancelled one."""

    def __init__(self) -> None:
        # By id, the requests that may have it: the revision that they are of, and their method.
        self._asked: dict[Key, deque[tuple[str, str]]] = {}
        self._owed: Counter[Key] = Counter()
        # Errors may name an id whose message was no request.
        self._named: Counter[Key] = Counter()
        self._subscriptions: set[Key] = set()

    def received(self, line: bytes, version: str | None, *, takes_batches: bool) -> None:
        """Note every request in this record; `version` is the handshake's. A server that takes no arrays owes nothing
        for what is in one.
        """
        if not takes_batches and line.removeprefix(BOM).lstrip()[:1] == b"[":
            return
        messages = messages_in([line])
        # One among several may agree on another revision for those that follow.
        is_open = len(messages) > 1 and any(message.get("method") == "initialize" for message in messages)
        for message in messages:
            request_id, method, params = message.get("id"), message.get("method"), message.get("params")
            if "id" in message and is_id(request_id):
                self._named[key_of(request_id)] += 1
            if message.get("jsonrpc") != "2.0" or not isinstance(method, str) or not isinstance(params, dict | None):
                continue
            params = params or {}
            if is_id(request_id):
                self._owed[key_of(request_id)] += 1
                named = STATELESS_VERSIONS[0] if has_envelope(params) else version or V2025_11
                asked = self._asked.setdefault(key_of(request_id), deque())
                asked.extendleft((one, method) for one in (ALL_VERSIONS if is_open else [named]))
            elif "id" not in message and method == "notifications/cancelled" and is_id(params.get("requestId")):
                self._owed.pop(key_of(params["requestId"]), None)

    def sent(self, message: Wire, version: str | None) -> None:
        """Check a message of the server's; `version` is the handshake's. Raises `Fault`."""
        if "method" in message:
            meta = message.get("params", {}).get("_meta", {})
            if message["method"] == "notifications/subscriptions/acknowledged":
                self._subscriptions.add(key_of(meta[SUBSCRIPTION_KEY]))
            check_from_server(message, STATELESS_VERSIONS[0] if SUBSCRIPTION_KEY in meta else version or V2025_11, None)
            return
        if "id" in message:
            key = key_of(message["id"])
            self._named[key] -= 1
            if self._named[key] < 0:
                raise Fault(f"a response to {message['id']!r}, for which there is no request: {message!r:.500}")
            if self._owed[key] > 0:
                self._owed[key] -= 1
            if "result" in message:
                _check_result(message, self._asked[key])
                return
        check_from_server(message, "", None)

    def unpaid(self, *, is_open: bool = False) -> list[object]:
        """The ids that have had no response. While the connection `is_open`, subscriptions have none."""
        ended = self._owed.keys() - self._subscriptions if is_open else self._owed.keys()
        return [key[1] for key in ended if self._owed[key] > 0]


def _check_result(message: Wire, asked: Iterable[tuple[str, str]]) -> None:
    """It must be a result of one of these requests, each the revision that it is of and its method."""
    if (version := message["result"].get("protocolVersion")) is not None:
        asked = [(version, "initialize")]
    problems = []
    for version, method in asked:
        try:
            check_from_server(message, version, method)
        except Fault as problem:
            problems.append(problem)
        else:
            return
    raise problems[0]


class ServerSession:
    """One connection from its start to its end. What it raises is a fault."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.mutator = Mutator(random)
        self.client = ClientsMessages(random)
        self.server = self.new_connection()
        self.records: deque[bytes] = deque(maxlen=RECORDS_KEPT)
        self.ledger = Ledger()
        self._buffer = LineBuffer(LONGEST_RECORD)
        self._open: dict[RequestId, RequestReceived] = {}

    def new_connection(self) -> ServerConnection:
        """The connection to be tried."""
        return new_server(resources={"listChanged": True, "subscribe": True})

    def run(self, count: int) -> int:
        """Receive `count` mutated records, answering some; then answer the rest, and a valid request more."""
        try:
            for message in self.client.first():
                self.arrive(self.mutator.record(message, valid=0.9))
            for _ in range(count):
                self.act()
                self.arrive(self.mutator.record(self.client.next()))
            self.settle()
            return count
        except Fault as fault:
            raise Fault(str(fault), self.records) from fault
        except Exception as problem:
            raise Fault(f"{type(problem).__name__}: {problem}", self.records) from problem

    def act(self) -> None:
        """Answer something, report progress of it, or announce a change."""
        random, server = self.random, self.server
        if self._open and (len(self._open) >= MOST_OPEN or random.random() < 0.6):
            request_id = random.choice(list(self._open))
            kind = random.random()
            if kind < 0.2:
                server.report_progress(
                    request_id, random.random(), random.choice((None, 1)), random.choice(("", "half"))
                )
            elif kind < 0.3:
                server.log(request_id, "warning", {"a": 1}, "x")
            elif kind < 0.35:
                del self._open[request_id]
                cancelled = note("notifications/cancelled", {"requestId": request_id})
                self.ledger.received(json.dumps(cancelled).encode(), None, takes_batches=True)
                server.cancel(request_id)
                server.take_events()
            else:
                self._answer(request_id)
        elif random.random() < 0.05:
            server.announce_list_changed(random.choice(("tools", "prompts", "resources")))
            server.announce_resource_updated(random.choice(URIS))
        self._look()

    def _answer(self, request_id: RequestId) -> None:
        asked = self._open.pop(request_id)
        if self.random.random() < 0.8:
            self.server.respond(request_id, self.random.choice(ANSWERS[asked.method]))
        else:
            self.server.respond_error(request_id, self.random.choice((-32602, -32002, -32603)), "no", {"a": 1})

    def arrive(self, record: bytes) -> None:
        """Have a record arrive, and look at what follows."""
        self.records.append(record)
        try:
            lines = self._buffer.feed(record + b"\n")
        except RecordTooLongError:
            if len(record) < LONGEST_RECORD:
                raise
            self._buffer = LineBuffer(LONGEST_RECORD)
            return
        for line in lines:
            # Asked of the connection itself: which revision has been agreed on is for its own tests.
            self.ledger.received(line, self.server._version, takes_batches=self.server._accepts_batches())
            self.receive(line)

    def receive(self, line: bytes) -> None:
        """Hand a record over, and look at what follows."""
        self.server.receive(line)
        self._look()

    def _look(self) -> None:
        events = self.server.take_events()
        for place, event in enumerate(events):
            if isinstance(event, RequestReceived):
                if event.id in self._open:
                    raise Fault(f"{event.id!r} is received twice")
                self._open[event.id] = event
            elif isinstance(event, Cancelled):
                del self._open[event.id]
                if any(later.id == event.id for later in events[place:] if isinstance(later, RequestReceived)):
                    continue  # One array has cancelled it and used its id again.
                before = self.server.take_outgoing()
                self.server.respond(event.id, {"content": []})
                if self.server.take_outgoing():
                    raise Fault(f"a response to {event.id!r}, which was cancelled")
                self.check(before)
        self.check(self.server.take_outgoing())

    def written(self, message: Wire | list[Wire]) -> Any:
        """A message of the server's, as a strict client reads it."""
        return on_wire(message)

    def check(self, sent: Iterable[Outgoing]) -> None:
        """What was sent must be valid, and owed. Raises `Fault`."""
        for outgoing in sent:
            self.take(self.written(outgoing.message))

    def take(self, read: Any) -> None:
        """A message of the server's, as `written` reads it, or several."""
        for message in read if isinstance(read, list) else [read]:
            self.ledger.sent(message, self.server._version)

    def settle(self) -> None:
        """Every request gets its response; and so do two more, for the connection is still of use."""
        self.arrive(b"")
        check_bounded(self.server, MAX_SUBSCRIPTIONS + MOST_OPEN)
        check_bounded(self.server.subscriptions, MAX_URIS)
        self.finish()
        self.arrive(self.mutator.record(rpc("last ping", "ping"), valid=1))
        self.arrive(self.mutator.record(rpc("last", "server/discover", {"_meta": ENVELOPE}), valid=1))
        self.finish()
        self.check_paid(is_open=True)

    def check_paid(self, *, is_open: bool = False) -> None:
        """Every request has had its response. Raises `Fault`."""
        if unpaid := self.ledger.unpaid(is_open=is_open):
            raise Fault(f"requests without a response: {unpaid!r:.300}")

    def finish(self) -> None:
        """Answer what is open, and end the subscriptions."""
        while self._open:
            self._answer(next(iter(self._open)))
            self._look()
        self.server.close()
        self._look()
        self.check_paid()

"""The real client above a channel in memory, against mutated messages of a server."""

from __future__ import annotations

import logging
import threading
from collections import deque
from typing import TYPE_CHECKING, Any

from gaia_mcp.client.conversation.engine import ChannelTransport
from gaia_mcp.client.host import Host
from gaia_mcp.client.mcp_client import MCPClient
from gaia_mcp.client.transports.in_process import MemoryChannel
from gaia_mcp.core.errors import DeadlineError, MCPError, NotSupportedError
from gaia_mcp.protocol.jsonrpc import is_id
from gaia_mcp.text.redaction.masker import Masker
from tests.fuzz.odd_server import LAST, QUIET, SECRET, OddServer
from tests.fuzz.oracles import RECORDS_KEPT, Fault, is_same, key_of, messages_in, read_strictly
from tests.wire_support import SAMPLED

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random

    from gaia_mcp.protocol.events import Progressed

Wire = dict[str, Any]
# None may come near this: the valid response is there before the client looks.
TIMEOUT_SECONDS = 10.0
# Some servers of a revision that we do not know have to be asked again.
MOST_ATTEMPTS = 50


class _Logged(logging.Handler):
    """Keeps the exceptions that were logged: none of the client's own may be."""

    def __init__(self) -> None:
        super().__init__()
        self.problems: list[BaseException] = []

    def emit(self, record: logging.LogRecord) -> None:
        if record.exc_info and record.exc_info[1] is not None:
            self.problems.append(record.exc_info[1])


class EngineSession:
    """One client from its connection to its end. What it raises is a fault."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.records: deque[bytes] = deque(maxlen=RECORDS_KEPT)
        self.received = 0
        self._problems: list[BaseException] = []
        # What the request that runs has sent and received.
        self._ids: set[tuple[type, object]] = set()
        self._lines: list[bytes] = []
        self._server = OddServer(random)
        self.client = MCPClient("odd", self.new_transport(), timeout=TIMEOUT_SECONDS, host=new_host())

    def run(self, count: int) -> int:
        """Make requests until `count` records have come; then one that must have its result."""
        logged = _Logged()
        logger = logging.getLogger("gaia_mcp")
        logger.addHandler(logged)
        before, threading.excepthook = threading.excepthook, lambda failed: self._problems.append(failed.exc_value)
        try:
            while self.received < count:
                self.tried(self._request())
                if problems := [*self._problems, *logged.problems]:
                    raise problems[0]
            self._check_use()
            return count
        except Fault as fault:
            raise Fault(str(fault), self.records) from fault
        except Exception as problem:
            raise Fault(f"{type(problem).__name__}: {problem}", self.records) from problem
        finally:
            self.client.disconnect()
            threading.excepthook = before
            logger.removeHandler(logged)

    def _check_use(self) -> None:
        """The client is of use still, or again after it has connected."""
        for _ in range(MOST_ATTEMPTS):
            try:
                if not self.client.is_connected() or self.client.peer is None:
                    self.client.open()
                result = self.client.call(QUIET, {})
            except NotSupportedError:
                # It has opened with a server that does not declare its tools.
                self.client.disconnect()
                continue
            except MCPError:
                continue
            break
        else:
            raise Fault("it does not connect again")
        if result.get("structuredContent") != LAST["structuredContent"]:
            raise Fault(f"the last call has another result: {result!r:.300}")

    def new_transport(self) -> ChannelTransport:
        """The way to the server."""
        return ChannelTransport(self._new_channel, timeout=TIMEOUT_SECONDS)

    # The client.

    def _request(self) -> Callable[[], Any]:
        client = self.client
        if not client.is_connected() or client.peer is None:
            return client.open
        ref = {"type": "ref/prompt", "name": "rich"}
        return self.random.choice(
            (
                lambda: client.call("rich", {"a": 1}, on_progress=_take_progress),
                lambda: client.call("rich", {"a": "ü"}),
                lambda: client.fetch_tools(refresh=True),
                lambda: client.find_tool("rich"),
                client.list_prompts,
                lambda: client.get_prompt("rich", {"lang": "python"}),
                client.list_resources,
                client.list_resource_templates,
                lambda: client.read_resource("file:///a"),
                lambda: client.complete(ref, "lang", "py"),
                lambda: client.set_log_level("debug"),
                lambda: client.subscribe_resource("file:///a"),
                lambda: client.unsubscribe_resource("file:///a"),
                client.check_alive,
            )
        )

    def tried(self, request: Callable[[], Any]) -> None:
        self._ids.clear()
        self._lines.clear()
        self._server.has_task = False
        try:
            outcome = request()
        except DeadlineError:
            if not self._server.has_task:
                raise
            return
        except MCPError:
            return
        if isinstance(outcome, dict) and not self._server.has_task:
            self._check_result(outcome)

    def _check_result(self, outcome: Wire) -> None:
        for message in messages_in(self._lines):
            request_id, given = message.get("id"), message.get("result")
            if is_id(request_id) and key_of(request_id) in self._ids and isinstance(given, dict):
                bare = {name: value for name, value in given.items() if name != "resultType"}
                if is_same(given, outcome) or is_same(bare, outcome):
                    return
        raise Fault(f"a result that never came: {outcome!r:.500}")

    # The server.

    def _new_channel(self) -> MemoryChannel:
        channel: MemoryChannel = MemoryChannel("odd", lambda record: self._deliver(channel, record), Masker([SECRET]))
        return channel

    def _deliver(self, channel: MemoryChannel, record: bytes) -> None:
        asked = read_strictly(record)
        if isinstance(asked.get("id"), (int, str)) and "method" in asked:
            self._ids.add(key_of(asked["id"]))
        for arriving in self._server.answers(asked):
            self.received += 1
            self.records.append(arriving)
            for line in arriving.split(b"\n"):
                if channel.is_running():
                    self._lines.append(line)
                    channel.arrive(line)


def new_host() -> Host:
    """A host that answers everything."""
    return Host(elicit=lambda _: {"action": "decline"}, sample=lambda _: SAMPLED[0], roots=[{"uri": "file:///r"}])


def _take_progress(progressed: Progressed) -> None:
    if SECRET in progressed.text:
        raise Fault("a secret is in the progress")

"""The same as in memory over real pipes: `gaia mcp serve` as a child, and the client with a child of its own."""

from __future__ import annotations

import contextlib
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gaia_mcp.client.transports.stdio.transport import StdioTransport
from gaia_mcp.core.errors import MCPError
from gaia_mcp.protocol.framing import LineBuffer
from tests.fuzz.agents import ASKED, AgentSession
from tests.fuzz.engines import TIMEOUT_SECONDS, EngineSession
from tests.fuzz.odd_server import SECRET
from tests.fuzz.oracles import Fault, read_strictly
from tests.fuzz.programs.odd_stdio_server import FOUND
from tests.fuzz.servers import ClientsMessages
from tests.protocol_support import rpc
from tests.server.talk import Process
from tests.waiting import ENOUGH_SECONDS

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random

    from gaia_mcp.client.conversation.engine import ChannelTransport

ROOT = Path(__file__).parents[2]
AGENT = "tests.fuzz.agents:OddAgent"
ODD_SERVER = Path(__file__).parent / "programs" / "odd_stdio_server.py"
# So many records are sent before the responses are looked at.
RECORDS_AT_ONCE = 40


class ServedSession(AgentSession):
    """As `AgentSession`, with the agent in a process of its own. What it raises is a fault."""

    def __init__(self, random: Random) -> None:
        super().__init__(random)
        self.client = ClientsMessages(random, ASKED, repeats_ids=False)
        gaia = [sys.executable, "-m", "gaia_mcp", "serve", AGENT]
        self._process = Process(AGENT, command=gaia, cwd=ROOT)
        self._lines = LineBuffer()
        self._unseen = 0
        self._pings = 0

    def run(self, count: int) -> int:
        try:
            return super().run(count)
        finally:
            self._process.end()

    def act(self) -> None:
        """The agent acts by itself."""

    def arrive(self, record: bytes) -> None:
        self.records.append(record)
        for line in self._lines.feed(record + b"\n"):
            # This connection takes in the same, and so knows which revision has been agreed on.
            self.ledger.received(line, self.server._version, takes_batches=self.server._accepts_batches())
            for job in self._calls.receive(line):
                self._calls.run(job)
            self._sent.clear()
        self._process.write(record + b"\n")
        self._unseen += 1
        if self._unseen >= RECORDS_AT_ONCE:
            self._catch_up()

    def finish(self) -> None:
        self._catch_up()
        # Calls run in threads of the server: what is still owed comes later.
        while self.ledger.unpaid(is_open=True):
            self._take_next()

    def settle(self) -> None:
        super().settle()
        if (status := self._process.close()) != 0:
            raise Fault(f"serve ended with {status}: {self._process.stderr[-2000:]}")
        for line in self._process.rest():
            self.take(read_strictly(line))
        self.check_paid()

    def _catch_up(self) -> None:
        """Take what has been sent, up to the response to a request of our own."""
        self._unseen = 0
        self._pings += 1
        ping = rpc(f"ping {self._pings}", "ping")
        self.ledger.received(json.dumps(ping).encode(), None, takes_batches=True)
        self._process.send(ping)
        while self._take_next() != ping["id"]:
            pass

    def _take_next(self) -> object:
        """Take one message. Returns its id, if it has one."""
        read = read_strictly(self._process.next_line(ENOUGH_SECONDS))
        self.take(read)
        return read.get("id") if isinstance(read, dict) else None


class ChildSession(EngineSession):
    """As `EngineSession`, with the server in a process of its own. What it raises is a fault."""

    def run(self, count: int) -> int:
        received = super().run(count)
        if FOUND in (stderr := self._transport.stderr_tail()):
            raise Fault(stderr)
        return received

    def new_transport(self) -> ChannelTransport:
        command = [str(ODD_SERVER), str(self.random.randrange(1 << 30))]
        environ = {"PYTHONPATH": str(ROOT), "SECRET": SECRET}
        self._transport = StdioTransport(sys.executable, command, environ, name="odd", timeout=TIMEOUT_SECONDS)
        return self._transport

    def tried(self, request: Callable[[], Any]) -> None:
        # What comes, and how much, is for the server to know.
        self.received += 1
        with contextlib.suppress(MCPError):
            request()

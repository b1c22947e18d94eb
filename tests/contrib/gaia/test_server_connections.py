"""The connections of a manager that has been collected."""

from __future__ import annotations

import gc
import subprocess
import sys
import threading
from typing import Any

import pytest

from gaia_mcp.client import MCPClient, MCPTransport
from gaia_mcp.config.entries import read_entry
from gaia_mcp.contrib.gaia.server_connections import ServerConnections, ServerHandler, ServerHandlers
from tests.waiting import wait_until

# Disconnecting needs what the other code of the program may hold, as `logging` does.
needed = threading.Lock()
ended: list[str] = []


class Locking(MCPTransport):
    """Takes a lock to disconnect."""

    def connect(self) -> bool:
        return True

    def disconnect(self) -> None:
        with needed:
            ended.append("disconnected")

    def send_request(self, method: str, params: dict[str, Any] | None = None) -> dict[str, Any]:
        return {"result": {}}

    def is_connected(self) -> bool:
        return True


def connected() -> ServerConnections:
    connections = ServerConnections(ServerHandlers())
    handler = ServerHandler(MCPClient("one", Locking()), read_entry("one", {"command": "one"}), lambda _: None)
    with connections.attempt(handler):
        handler.client.connect()
        connections.keep(handler)
    return connections


def test_garbage_collection_waits_for_no_lock_of_its_own_thread() -> None:
    """Ours: the collector runs in the middle of anything, so also in a thread that holds what disconnecting needs."""
    ended.clear()
    collected = threading.Event()

    def drop() -> None:
        connections = connected()
        with needed:
            del connections
            gc.collect()
            assert ended == []
        collected.set()

    threading.Thread(target=drop, daemon=True).start()

    assert collected.wait(30)
    wait_until(lambda: ended == ["disconnected"])


@pytest.mark.story
def test_a_program_that_ends_has_disconnected() -> None:
    """Ours: from what it still uses, and from what has just been collected."""
    program = (
        "import gc, os\n"
        "from tests.contrib.gaia import test_server_connections as here\n"
        "class Loud(here.Locking):\n"
        "    def disconnect(self): os.write(1, b'disconnected\\n')\n"
        "here.Locking = Loud\n"
        "used, dropped = here.connected(), here.connected()\n"
        "del dropped\n"
        "gc.collect()\n"
    )

    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False)

    assert (done.returncode, done.stdout, done.stderr) == (0, "disconnected\n" * 2, "")

"""Speaking to a served agent by hand: one in this process, or one behind real pipes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from contextlib import contextmanager
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any

from gaia_mcp.asking import Call
from gaia_mcp.server.agent import AgentProvider
from gaia_mcp.server.stdio import GuardedPipes
from gaia_mcp.server.stdio.pipe_client import LoadingProvider, StdioSession
from tests.waiting import PATIENCE_SECONDS, wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator

Wire = dict[str, Any]

META: Wire = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
    "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
}
DISCOVER: Wire = {"jsonrpc": "2.0", "id": "discover", "method": "server/discover", "params": {"_meta": META}}
SERVE = Path(__file__).parent / "serve_stdio.py"


class WithoutTask(Call):
    """The call of a client that could have asked for a task."""

    lacks_task = True


def stateless(request_id: int | str, method: str, params: Wire | None = None, **meta: Any) -> Wire:
    """A request of the stateless era."""
    return {"jsonrpc": "2.0", "id": request_id, "method": method, "params": {**(params or {}), "_meta": META | meta}}


def call(request_id: int | str, tool: str, arguments: Wire | None = None, **meta: Any) -> Wire:
    """A stateless `tools/call`."""
    return stateless(request_id, "tools/call", {"name": tool, "arguments": arguments or {}}, **meta)


def initialize(version: str = "2025-11-25") -> Wire:
    """The first request of a handshake."""
    params = {"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    return {"jsonrpc": "2.0", "id": "initialize", "method": "initialize", "params": params}


def plain(request_id: int | str, method: str, params: Wire | None = None) -> Wire:
    """A request of the handshake era."""
    return {"jsonrpc": "2.0", "id": request_id, "method": method, "params": params or {}}


def cancel(request_id: int | str) -> Wire:
    """The notification that cancels a request."""
    return {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": request_id}}


class Talk:
    """The client's side: sends messages, and finds those that came back, in the order of their coming."""

    def __init__(self) -> None:
        self._arrived: SimpleQueue[bytes] = SimpleQueue()
        self.seen: list[Any] = []

    def send(self, *messages: Any) -> None:
        """Write messages, all in one piece."""
        self.write(b"".join(json.dumps(message).encode() + b"\n" for message in messages))

    def write(self, data: bytes) -> None:
        """Write bytes."""
        raise NotImplementedError

    def next_line(self, seconds: float = PATIENCE_SECONDS) -> bytes:
        """The next line. Fails when none comes in time."""
        try:
            line = self._arrived.get(timeout=seconds)
        except Empty:
            raise AssertionError(f"nothing more came; so far: {self.seen}") from None
        assert line, f"the server has closed its output; so far: {self.seen}"
        assert line.endswith(b"\n")
        return line

    def next(self) -> Any:
        """The next message. Fails when none comes, or something else."""
        message = json.loads(self.next_line())
        self.seen.append(message)
        return message

    def rest(self) -> list[bytes]:
        """The lines that have come since the last one that was taken."""
        lines = []
        while not self._arrived.empty():
            lines.append(self._arrived.get())
        return [line for line in lines if line]

    def answer(self, request_id: int | str) -> Wire:
        """The answer to a request, whatever comes before it."""
        for message in self.seen:
            if isinstance(message, dict) and message.get("id") == request_id:
                return message
        while True:
            message = self.next()
            if isinstance(message, dict) and message.get("id") == request_id and "method" not in message:
                found: Wire = message
                return found

    def result(self, message: Wire) -> Wire:
        """Send a request; its result."""
        self.send(message)
        answer = self.answer(message["id"])
        assert "result" in answer, answer
        found: Wire = answer["result"]
        return found

    def error(self, message: Wire) -> Wire:
        """Send a request; its error."""
        self.send(message)
        answer = self.answer(message["id"])
        assert "error" in answer, answer
        found: Wire = answer["error"]
        return found


class Session(Talk):
    """A `StdioSession` in this process; without an agent its provider still loads."""

    def __init__(
        self,
        agent: Any = None,
        loading_seconds: float = PATIENCE_SECONDS,
        impatient_seconds: float = PATIENCE_SECONDS,
        **options: Any,
    ) -> None:
        super().__init__()
        self._incoming: SimpleQueue[bytes] = SimpleQueue()
        self.broken = False
        self.provider = LoadingProvider("early name", loading_seconds, impatient_seconds)
        self.server = StdioSession(self._incoming.get, self._take, self.provider, **options)
        if agent is not None:
            self.provider.load(AgentProvider(agent))
        self.server.start()

    def write(self, data: bytes) -> None:
        self._incoming.put(data)

    def end(self) -> None:
        """Close our end, and wait until that is known."""
        self._incoming.put(b"")
        waiter = threading.Thread(target=self.server.wait, daemon=True)
        waiter.start()
        waiter.join(PATIENCE_SECONDS)
        assert not waiter.is_alive(), "the server did not notice the end"

    def _take(self, data: bytes) -> None:
        if self.broken:
            raise BrokenPipeError
        self._arrived.put(data)


class Process(Talk):
    """A served agent as a child process."""

    def __init__(self, target: str, *, cwd: Path | None = None, command: list[str] | None = None) -> None:
        super().__init__()
        self.process = subprocess.Popen(
            command or [sys.executable, str(SERVE), target],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=cwd,
            bufsize=0,
        )
        self._errors: list[bytes] = []
        self._threads = [
            threading.Thread(target=self._read, daemon=True),
            threading.Thread(target=self._read_errors, daemon=True),
        ]
        for thread in self._threads:
            thread.start()

    def write(self, data: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(data)

    def close_output(self) -> None:
        """Stop reading what it writes."""
        assert self.process.stdout is not None
        self.process.stdout.close()

    def close(self) -> int:
        """Close its input and wait for its end; its exit status."""
        self.end_input()
        return self.wait()

    def end_input(self) -> None:
        """Close its input."""
        assert self.process.stdin is not None
        self.process.stdin.close()

    def wait(self) -> int:
        """Its exit status."""
        status = self.process.wait(PATIENCE_SECONDS)
        for thread in self._threads:
            thread.join(PATIENCE_SECONDS)
        return status

    @property
    def stderr(self) -> str:
        """What it has written to stderr."""
        return b"".join(self._errors).decode()

    def wait_for_stderr(self, words: str) -> None:
        """Until it has written `words` to stderr."""
        wait_until(lambda: words in self.stderr)

    def end(self) -> None:
        """Whatever happened, leave nothing behind."""
        if self.process.poll() is None:
            self.process.kill()
        self.wait()
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            assert pipe is not None
            pipe.close()

    def _read(self) -> None:
        assert self.process.stdout is not None
        # Lines, put together by hand: a raw pipe gives what it has.
        rest = b""
        while data := self.process.stdout.read(65536):
            *lines, rest = (rest + data).split(b"\n")
            for line in lines:
                self._arrived.put(line + b"\n")
        self._arrived.put(rest)

    def _read_errors(self) -> None:
        assert self.process.stderr is not None
        while data := self.process.stderr.read(65536):
            self._errors.append(data)


@contextmanager
def piped() -> Iterator[tuple[GuardedPipes, int, int]]:
    """Guarded pipes, and the client's ends: the one it writes to, and the one it reads from."""
    kept = [os.dup(number) for number in range(2)]
    (reading, to_server), (from_server, writing) = os.pipe(), os.pipe()
    try:
        for number, new in enumerate((reading, writing)):
            os.dup2(new, number)
            os.close(new)
        pipes = GuardedPipes()
    finally:
        for number, old in enumerate(kept):
            os.dup2(old, number)
            os.close(old)
    yield pipes, to_server, from_server
    os.close(pipes._input)
    os.close(pipes._output)

"""Our A2A proxy and its peers, each a process of its own."""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
import threading
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any

from tests.peers.conftest import PROGRAMS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

Wire = dict[str, Any]
# One answer, on a busy machine.
TIMEOUT_SECONDS = 120


class Serving:
    """`gaia mcp serve`, with a home of its own, on a port that the system chooses unless `http` says otherwise."""

    def __init__(
        self,
        home: Path,
        *words: str,
        http: str = "127.0.0.1:0",
        program: Sequence[str] = ("-m", "gaia_mcp"),
        **environ: str,
    ) -> None:
        home.mkdir(exist_ok=True)
        self.log = home / "log"
        command = [sys.executable, *program, "mcp", "serve", *words, "--http", http, "--json"]
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                command,
                env={"PATH": "/usr/bin:/bin", "HOME": str(home), **environ},
                stdout=subprocess.PIPE,
                stderr=log,
            )
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, self.log.read_text()
        self.port: int = json.loads(line)["port"]
        self.origin = f"http://127.0.0.1:{self.port}"
        self.a2a = f"{self.origin}/a2a"
        self.card = f"{self.origin}/agent-card.json"

    def kill(self) -> None:
        """End it at once, as when the machine fails."""
        self.process.kill()
        self.process.wait()

    def end(self) -> None:
        """End it as a service manager does."""
        self.process.terminate()
        self.process.communicate()


class AgentVault:
    """AgentVault's client, driven by `programs/agentvault_client.py`."""

    def __init__(self, python: Path, card: str, environ: Mapping[str, str] = {}) -> None:
        self._process = subprocess.Popen(
            [str(python), str(PROGRAMS / "agentvault_client.py"), card],
            env={"PATH": "/usr/bin:/bin", **environ},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        self._numbers = itertools.count()
        self._lines: SimpleQueue[str] = SimpleQueue()
        self._answers: dict[int, Wire] = {}
        threading.Thread(target=self._read, daemon=True).start()

    def send(self, do: str, **given: Any) -> int:
        """Ask for something, whose answer is waited for later."""
        number = next(self._numbers)
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({"number": number, "do": do, "with": given}) + "\n")
        self._process.stdin.flush()
        return number

    def answer(self, number: int) -> Wire:
        """What came of it: `result`, or `error` with the name of the exception."""
        while number not in self._answers:
            answered = json.loads(self._lines.get(timeout=TIMEOUT_SECONDS))
            self._answers[answered.pop("number")] = answered
        return self._answers.pop(number)

    def __call__(self, do: str, **given: Any) -> Any:
        """The result of a request."""
        answered = self.answer(self.send(do, **given))
        assert "result" in answered, answered
        return answered["result"]

    def refused(self, do: str, **given: Any) -> Wire:
        """The error that it ends with."""
        answered = self.answer(self.send(do, **given))
        assert "error" in answered, answered
        return answered

    def end(self) -> None:
        """Let it end by itself."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(TIMEOUT_SECONDS)

    def _read(self) -> None:
        assert self._process.stdout is not None
        with self._process.stdout as lines:
            for line in lines:
                self._lines.put(line)


def wanted(server: str, tool: Any, arguments: Any = None) -> Wire:
    """The content of a message that asks for a call."""
    return {"target_mcp_server_id": server, "tool_name": tool, "arguments": arguments or {}}


def outcome(task: Wire) -> Wire:
    """The outcome in the one message of a task."""
    (message,) = task["messages"]
    return in_message(message)


def in_message(message: Wire) -> Wire:
    """The outcome in the one part of a message."""
    (part,) = message["parts"]
    assert (message["role"], part["type"]) == ("assistant", "data")
    found: Wire = part["content"]
    return found

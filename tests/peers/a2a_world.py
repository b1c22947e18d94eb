"""Our A2A proxy and its peers, each a process of its own."""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
import threading
from pathlib import Path
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any

from tests.forking.client import Command
from tests.forking.server import LANG
from tests.peers.conftest import PROGRAMS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tests.forking.client import ForkServer

BIN = Path(sys.executable).parent
Wire = dict[str, Any]
# One answer, on a busy machine.
TIMEOUT_SECONDS = 120


class Serving:
    """`gaia mcp serve`, with a home of its own, on a port that the system chooses unless `http` says otherwise."""

    def __init__(
        self,
        home: Path,
        *words: str,
        fork_server: ForkServer,
        http: str = "127.0.0.1:0",
        program: Sequence[str | Path] = (BIN / "gaia",),
        **environ: str,
    ) -> None:
        home.mkdir(exist_ok=True)
        self.log = home / "log"
        with self.log.open("wb") as log:
            self.process = Command(
                fork_server,
                [*program, "mcp", "serve", *words, "--http", http, "--json"],
                env={"PATH": "/usr/bin:/bin", "LANG": LANG, "HOME": str(home), **environ},
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


class AgentVaultLibrary:
    """A process with AgentVault's library, driven by `programs/agentvault_client.py`: any number of clients."""

    def __init__(self, python: Path, environ: Mapping[str, str]) -> None:
        self._process = subprocess.Popen(
            [str(python), str(PROGRAMS / "agentvault_client.py")],
            env={"PATH": "/usr/bin:/bin", **environ},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        self._numbers, self._clients = itertools.count(), itertools.count()
        self._lines: SimpleQueue[str] = SimpleQueue()
        self._answers: dict[int, Wire] = {}
        threading.Thread(target=self._read, daemon=True).start()

    def client(self, card: str, **environ: str) -> AgentVault:
        """A client of the agent whose card is at this URL, with the keys of these variables."""
        made = AgentVault(self, next(self._clients))
        made("meet", card=card, environ=environ)
        return made

    def send(self, client: int, do: str, given: Wire) -> int:
        """Ask a client for something, whose answer is waited for later."""
        number = next(self._numbers)
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({"number": number, "client": client, "do": do, "with": given}) + "\n")
        self._process.stdin.flush()
        return number

    def answer(self, number: int) -> Wire:
        """What came of it: `result`, or `error` with the name of the exception."""
        while number not in self._answers:
            answered = json.loads(self._lines.get(timeout=TIMEOUT_SECONDS))
            self._answers[answered.pop("number")] = answered
        return self._answers.pop(number)

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


class AgentVault:
    """One of its clients."""

    def __init__(self, library: AgentVaultLibrary, number: int) -> None:
        self._library = library
        self._number = number

    def send(self, do: str, **given: Any) -> int:
        """Ask for something, whose answer is waited for later."""
        return self._library.send(self._number, do, given)

    def answer(self, number: int) -> Wire:
        """What came of it: `result`, or `error` with the name of the exception."""
        return self._library.answer(number)

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

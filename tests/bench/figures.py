"""What a figure is, and how things are timed: in turns, with medians, so that a busy machine disturbs all alike."""

from __future__ import annotations

import json
import os
import resource
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

PROGRAMS = Path(__file__).parent / "programs"
GAIA = str(Path(sys.executable).parent / "gaia")
SERVE_DEMO = [GAIA, "mcp", "serve", "demo"]
EMPTY_APP = [sys.executable, str(PROGRAMS / "empty_app.py")]

# No command that is measured here takes nearly as long.
COMMAND_SECONDS = 120


@dataclass(frozen=True)
class Figure:
    """One row: `value` is to stay at most `limit`, or at least if `at_least`."""

    name: str
    value: float
    limit: float
    unit: str = "x"
    at_least: bool = False
    remark: str = ""

    @property
    def is_held(self) -> bool:
        """Whether the value is within the limit."""
        return self.value >= self.limit if self.at_least else self.value <= self.limit


class Effort(NamedTuple):
    """How much is done for each figure."""

    commands: int
    calls: int
    megabytes: int
    tools: int
    pages: int
    servers: int
    workers: int


FULL = Effort(commands=15, calls=3000, megabytes=50, tools=10_000, pages=100, servers=64, workers=4)
QUICK = Effort(commands=1, calls=5, megabytes=1, tools=20, pages=2, servers=3, workers=1)


def medians(repetitions: int, *actions: Callable[[], float]) -> list[float]:
    """The median of what each action returns, all done in turns."""
    values: list[list[float]] = [[] for _ in actions]
    for _ in range(repetitions):
        for action, found in zip(actions, values, strict=True):
            found.append(action())
    return [statistics.median(found) for found in values]


def seconds(action: Callable[[], Any]) -> float:
    """How long an action takes."""
    began = time.perf_counter()
    action()
    return time.perf_counter() - began


class Ended(NamedTuple):
    """A command that has run: how long, the most memory that it held at a time, and its processor time."""

    seconds: float
    peak_bytes: int
    stdout: bytes
    busy_seconds: float


def run(command: Sequence[str], environment: Mapping[str, str], *, keep: bool = True) -> Ended:
    """Run a command that has to succeed; its output is thrown away unless `keep`."""
    began = time.perf_counter()
    process = subprocess.Popen(
        command,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE if keep else subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    stdout, stderr = process.stdout.read() if process.stdout else b"", process.stderr.read() if process.stderr else b""
    _, status, usage = os.wait4(process.pid, 0)
    took = time.perf_counter() - began
    process.returncode = os.waitstatus_to_exitcode(status)
    for pipe in (process.stdout, process.stderr):
        if pipe is not None:
            pipe.close()
    if process.returncode != 0:
        raise SystemExit(f"{' '.join(command)} exited with {process.returncode}:\n{stderr.decode()}")
    return Ended(took, usage.ru_maxrss * 1024, stdout, usage.ru_utime + usage.ru_stime)


def environment_with(folder: Path, servers: dict[str, Any]) -> dict[str, str]:
    """An environment with a configuration of its own."""
    folder.mkdir(parents=True)
    (folder / "mcp_servers.json").write_text(json.dumps({"mcpServers": servers}))
    # An installed program is not compiled at every start.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return {**environment, "HOME": str(folder), "GAIA_HOME": str(folder), "GAIA_CONFIG_DIR": str(folder)}


class Pipe:
    """A server that is written to and read from by hand."""

    def __init__(self, command: Sequence[str]) -> None:
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, bufsize=0
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._in, self._out = self._process.stdin.fileno(), self._process.stdout.fileno()

    @property
    def pid(self) -> int:
        """Its process."""
        return self._process.pid

    def ask(self, line: bytes) -> bytes:
        """Write a line; the line that comes back."""
        os.write(self._in, line)
        answer = os.read(self._out, 65536)
        if answer.endswith(b"\n"):
            return answer
        pieces = [answer]
        while not pieces[-1].endswith(b"\n"):
            if not (more := os.read(self._out, 1 << 20)):
                raise SystemExit(f"{self._process.args} closed its output")
            pieces.append(more)
        return b"".join(pieces)

    def close(self) -> None:
        """Close it and wait for its end."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait(COMMAND_SECONDS)
        self._process.stdout.close()


META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "gaia-mcp", "title": "GAIA MCP", "version": "0.1.0"},
    "io.modelcontextprotocol/clientCapabilities": {"elicitation": {"form": {}, "url": {}}, "roots": {}},
}


def line(request_id: int, method: str, params: dict[str, Any]) -> bytes:
    """A request of the stateless era, as our client writes it."""
    message = {"jsonrpc": "2.0", "id": request_id, "method": method, "params": {**params, "_meta": META}}
    return json.dumps(message, separators=(",", ":")).encode() + b"\n"


def greet(request_id: int) -> bytes:
    """A call of the demo's `greet`."""
    return line(request_id, "tools/call", {"name": "greet", "arguments": {"name": "Ada"}})


def own_peak_bytes() -> int:
    """The most memory that this process has held: what a child seems to hold before it becomes another program."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024

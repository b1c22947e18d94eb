"""Hostile HTTP requests to a served agent: none of them stays, takes memory, or keeps a valid call from its answer.

Each is a few bytes on a connection of its own, after which the client waits for a response, hangs up, or says no more.
"""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from random import Random
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from gaia_mcp.protocol.headers import standard_headers
from tests.fuzz.mutations import Mutator
from tests.protocol_support import CLIENT, enveloped, rpc
from tests.waiting import ENOUGH_SECONDS, wait_until

Wire = dict[str, Any]
ROOT = Path(__file__).parents[2]
# So many are sent at once.
THREADS = 8
# After so many the server is looked at, and a valid call made.
ROUND = 500
# A server that has seen nothing yet still loads modules; later ones add to its memory only what they keep.
MOST_GROWTH = 32 * 2**20
# What the server writes of one request.
LONGEST_RESPONSE = 2**20


class Attempt(NamedTuple):
    """What is sent, and how the client ends: it "reads" the response, "leaves" at once, or says that it sends no more
    and reads ("half").
    """

    sent: bytes
    end: str = "reads"


class Hostile:
    """Clients of all kinds, for a server at `host`, with the session `session` of another client."""

    def __init__(self, host: str, session: str) -> None:
        self.host = host
        self.session = session

    def attempt(self, random: Random) -> tuple[str, Attempt]:
        """The name of a kind of attempt, and one of it."""
        make: Callable[[Random], Attempt] = random.choice(
            [
                self.noise, self.headers, self.framing, self.half_a_body, self.origin, self.path, self.json_text,
                self.costly, self.batch, self.strange_session, self.long_client, self.hangs_up, self.stream,
                self.half_close, self.pipelined, self.mutated, self.notifications, self.a2a,
            ]
        )  # fmt: skip
        return make.__name__, make(random)

    def noise(self, random: Random) -> Attempt:
        return Attempt(random.randbytes(random.randrange(1, 2000)), random.choice(["leaves", "half"]))

    def headers(self, random: Random) -> Attempt:
        many = b"".join(b"x-%d: %s\r\n" % (number, b"y" * 1000) for number in range(random.choice([10, 60, 200])))
        return Attempt(self.request(b"{}", more=many))

    def framing(self, random: Random) -> Attempt:
        wrong = random.choice(
            [
                b"content-length: -1", b"content-length: 1\r\ncontent-length: 2", b"content-length: 99999999999",
                b"transfer-encoding: chunked\r\n\r\nzz\r\n", b"transfer-encoding: chunked\r\n\r\nffffffffff\r\n",
                b"transfer-encoding: gzip, chunked", b"content-length: 5\r\ntransfer-encoding: chunked",
                b"expect: 100-continue\r\ncontent-length: 10", b"content-encoding: gzip\r\ncontent-length: 2\r\n\r\n{}",
            ]
        )  # fmt: skip
        return Attempt(self._head("POST", "/mcp") + wrong + b"\r\n\r\n", random.choice(["leaves", "half"]))

    def half_a_body(self, random: Random) -> Attempt:
        whole = self.request(json.dumps(rpc(1, "ping", {"a": "x" * 5000})).encode())
        return Attempt(whole[: random.randrange(len(whole) // 4, len(whole))], random.choice(["leaves", "half"]))

    def origin(self, random: Random) -> Attempt:
        host = random.choice(["evil.example", "127.0.0.1.evil.example", "", "[", "a" * 300])
        foreign = random.choice([f"origin: http://{host}\r\n", f"host: {host}\r\n"]).encode()
        return Attempt(self.request(json.dumps(rpc(1, "ping", None)).encode(), more=foreign))

    def path(self, random: Random) -> Attempt:
        path = random.choice(
            ["/", "/mcp/", "/mcp?x=1", "/%00", "/../mcp", "/rpc", "/a2a", "/metrics", "/" + "a" * 5000]
        )
        method = random.choice(["POST", "GET", "PUT", "DELETE", "OPTIONS", "HEAD", "TRACE", "CONNECT"])
        return Attempt(self.request(b"{}", method=method, path=path))

    def json_text(self, random: Random) -> Attempt:
        return Attempt(
            self.request(
                random.choice(
                    [
                        b"", b"{", b"null", b"[]", b"\xff", b'{"a":1,"a":1}', b"[" * 5000, b'{"a":' * 400, b"1" * 6000,
                        b'{"jsonrpc":"2.0","id":NaN,"method":"ping"}', b'{"jsonrpc":"2.0","id":{},"method":"ping"}',
                    ]
                ),
                content_type=random.choice(["application/json", "text/plain", "application/json; charset=utf-16", ""]),
            )
        )  # fmt: skip

    def costly(self, random: Random) -> Attempt:
        """What would take much more memory than it has bytes."""
        kind = random.randrange(3)
        values = [b"[" + b"{}," * 210_000 + b"{}]", b'{"%s":1}' % (b"k" * 8000), b"[" * 300 + b"]" * 300]
        body = b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"greet","arguments":{"a":%s}}}'
        return Attempt(self.request(body % values[kind]))

    def batch(self, random: Random) -> Attempt:
        many = [rpc(number, "ping", None) for number in range(random.choice([2, 101, 3000]))]
        return Attempt(self.request(json.dumps(many).encode(), session=self.session))

    def strange_session(self, random: Random) -> Attempt:
        name = random.choice(["", "x", "../../x", "é", "0" * 5000, self.session + "0"])
        more = f"mcp-session-id: {name}\r\nmcp-protocol-version: {random.choice(['2025-11-25', 'x', '2099-01-01'])}\r\n"
        method = random.choice(["POST", "GET", "DELETE"])
        return Attempt(self.request(json.dumps(rpc(1, "ping", None)).encode(), method=method, more=more.encode()))

    def long_client(self, random: Random) -> Attempt:
        """`initialize` of a client that describes itself at length, or not at all."""
        info = random.choice(
            [{}, CLIENT, {**CLIENT, "name": "x" * 100_000}, {f"m{number}": 1 for number in range(9000)}]
        )
        params = {
            "protocolVersion": "2025-11-25",
            "capabilities": {"experimental": {"a": "x" * 500}},
            "clientInfo": info,
        }
        return Attempt(self.request(json.dumps(rpc(1, "initialize", params)).encode()))

    def hangs_up(self, random: Random) -> Attempt:
        """A call whose client does not wait, also one that asks it."""
        call = enveloped(1, "tools/call", {"name": random.choice(["greet", "order", "countdown"]), "arguments": {}})
        return Attempt(self.stateless(call), "leaves")

    def stream(self, random: Random) -> Attempt:
        last = f"last-event-id: {random.choice(['', 'x', 'a-1', '0' * 400 + '-1'])}\r\n"
        more = f"mcp-session-id: {self.session}\r\naccept: text/event-stream\r\n{last if random.random() < 0.7 else ''}"
        return Attempt(self.request(b"", method="GET", more=more.encode()), "leaves")

    def half_close(self, random: Random) -> Attempt:
        return Attempt(self.stateless(enveloped(random.randrange(9), "tools/list", {})), "half")

    def pipelined(self, random: Random) -> Attempt:
        one = self.stateless(enveloped(1, "tools/list", {}), closes=False)
        return Attempt(one * random.choice([2, 20]) + self.request(b"{"), "half")

    def mutated(self, random: Random) -> Attempt:
        message = enveloped(1, random.choice(["tools/call", "tools/list", "server/discover"]), {"name": "greet"})
        return Attempt(self.request(Mutator(random).record(message), headers=standard_headers(message)))

    def notifications(self, random: Random) -> Attempt:
        message: Wire = random.choice(
            [
                {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": random.randrange(9)}},
                {"jsonrpc": "2.0", "method": "notifications/x" + "x" * random.choice([1, 10_000])},
                {"jsonrpc": "2.0", "id": random.randrange(2**62), "result": {"a": "x" * 1000}},
            ]
        )
        return Attempt(self.request(json.dumps(message).encode(), session=self.session))

    def a2a(self, random: Random) -> Attempt:
        return Attempt(self.request(b"{}", path=random.choice(["/a2a", "/.well-known/agent-card.json", "/healthz"])))

    def stateless(self, message: Wire, *, closes: bool = True) -> bytes:
        """A valid request of the stateless era."""
        return self.request(json.dumps(message).encode(), headers=standard_headers(message), closes=closes)

    def request(
        self,
        body: bytes,
        method: str = "POST",
        path: str = "/mcp",
        content_type: str = "application/json",
        session: str = "",
        more: bytes = b"",
        headers: Mapping[str, str] | None = None,
        *,
        closes: bool = True,
    ) -> bytes:
        """A request with this body."""
        lines = [f"content-type: {content_type}", "accept: application/json, text/event-stream"]
        lines += [f"content-length: {len(body)}"] + ["connection: close"] * closes
        lines += [f"mcp-session-id: {session}", "mcp-protocol-version: 2025-11-25"] if session else []
        lines += [f"{name}: {value}" for name, value in (headers or {}).items()]
        return self._head(method, path) + "\r\n".join(lines).encode() + b"\r\n" + more + b"\r\n" + body

    def _head(self, method: str, path: str) -> bytes:
        return f"{method} {path} HTTP/1.1\r\nhost: {self.host}\r\n".encode()


class Target:
    """A running `gaia mcp serve demo --http`, with one session of a well-behaved client."""

    def __init__(self, process: subprocess.Popen[bytes], url: str) -> None:
        self.process = process
        parts = urlsplit(url)
        self.address = (str(parts.hostname), int(parts.port or 0))
        self.host = parts.netloc
        params = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": CLIENT}
        sent = Hostile(self.host, "").request(json.dumps(rpc(1, "initialize", params)).encode())
        self.session = _session_in(self._answer(sent))

    def send(self, attempt: Attempt) -> str:
        """Send it. Returns the status of the response, or how the connection ended without one."""
        with socket.create_connection(self.address, ENOUGH_SECONDS) as connection:
            try:
                connection.sendall(attempt.sent)
                if attempt.end == "leaves":
                    return "left"
                if attempt.end == "half":
                    connection.shutdown(socket.SHUT_WR)
                response = _all_of(connection)
            except TimeoutError:
                return "no response"
            except OSError:
                return "cut"
        if session := _session_in(response):
            # Otherwise it would be kept for an hour, and 10,000 of them would be.
            self._answer(Hostile(self.host, "").request(b"", method="DELETE", session=session))
        return _status(response)

    def answers(self) -> bool:
        """Whether a valid call is answered, in the session and without one."""
        arguments = {"name": "greet", "arguments": {"name": "Ada"}}
        sent = json.dumps(rpc(2, "tools/call", arguments)).encode()
        hostile = Hostile(self.host, "")
        both = hostile.request(sent, session=self.session), hostile.stateless(enveloped(3, "tools/call", arguments))
        return all(b"Hello, Ada!" in self._answer(each) for each in both)

    def memory(self) -> int:
        """What it has in memory, in bytes."""
        pages = (Path("/proc") / str(self.process.pid) / "statm").read_text().split()[1]
        return int(pages) * os.sysconf("SC_PAGE_SIZE")

    def descriptors(self) -> int:
        """How many files and connections it has open."""
        return len(list((Path("/proc") / str(self.process.pid) / "fd").iterdir()))

    def _answer(self, sent: bytes) -> bytes:
        """What comes back; empty if nothing listens."""
        with suppress(OSError), socket.create_connection(self.address, ENOUGH_SECONDS) as connection:
            connection.sendall(sent)
            return _all_of(connection)
        return b""


def _all_of(connection: socket.socket) -> bytes:
    data = b""
    while len(data) < LONGEST_RESPONSE and (piece := connection.recv(65536)):
        data += piece
    return data


def _session_in(response: bytes) -> str:
    """The id of the session that a response begins, if any."""
    found = re.search(rb"^mcp-session-id: *(\S+)\r$", response.partition(b"\r\n\r\n")[0] + b"\r", re.I | re.M)
    return found[1].decode() if found is not None else ""


def _status(response: bytes) -> str:
    # Interim responses end with their head.
    *_, last = re.split(rb"(?=HTTP/1\.1 [2-5])", response, maxsplit=1)
    return last.split(b" ", 2)[1].decode("ascii", "replace") if last.startswith(b"HTTP/1.1 ") else "closed"


@contextmanager
def target() -> Iterator[Target]:
    """A server that runs as long as the context lasts."""
    with tempfile.TemporaryDirectory() as home:
        command = [sys.executable, "-m", "gaia_mcp", "mcp", "serve", "demo", "--http", "127.0.0.1:0", "--json"]
        process = subprocess.Popen(
            command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            env={"HOME": home, "PATH": os.environ["PATH"]},
        )  # fmt: skip
        try:
            assert process.stdout is not None
            yield Target(process, json.loads(process.stdout.readline())["url"])
        finally:
            process.terminate()
            process.communicate(timeout=ENOUGH_SECONDS)


def faults(count: int, seed: int, outcomes: Counter[str], sizes: list[int] | None = None) -> Iterator[str]:
    """Send `count` requests. Yields each fault; `outcomes` counts the statuses of each kind, and `sizes` gets the bytes
    that the server has in memory after each round.
    """
    sizes = sizes if sizes is not None else []
    with target() as server, ThreadPoolExecutor(THREADS) as threads:
        hostile, random = Hostile(server.host, server.session), Random(seed)
        # All kinds once, for what is loaded and allocated with the first of each.
        list(threads.map(lambda made: server.send(made[1]), [hostile.attempt(random) for _ in range(ROUND)]))
        open_before = server.descriptors()
        sizes.append(server.memory())
        for done in range(0, count, ROUND):
            made = [hostile.attempt(random) for _ in range(min(ROUND, count - done))]
            for (kind, _), status in zip(made, threads.map(lambda each: server.send(each[1]), made), strict=True):
                outcomes[f"{kind}: {status}"] += 1
                if status in ("500", "no response"):
                    yield f"{kind}: {status} (seed {seed}, among the first {done + ROUND})"
            if server.process.poll() is not None:
                yield f"the server has ended (seed {seed}, after {done + ROUND})"
                return
            if not server.answers():
                yield f"a valid call was not answered (seed {seed}, after {done + ROUND})"
            sizes.append(server.memory())
        if sizes[-1] - sizes[0] > MOST_GROWTH:
            yield f"it has grown by {(sizes[-1] - sizes[0]) >> 20} MiB (seed {seed}, after {count})"
        try:
            wait_until(lambda: server.descriptors() <= open_before)
        except AssertionError:
            yield f"{server.descriptors() - open_before} connections were left open (seed {seed}, after {count})"


def report(count: int, seed: int) -> int:
    """Send, and print what came of it. Returns how many faults there were."""
    began, found, sizes = time.monotonic(), 0, list[int]()
    outcomes = Counter[str]()
    for problem in faults(count, seed, outcomes, sizes):
        found += 1
        print(f"hostile: {problem}", flush=True)
    for outcome, number in sorted(outcomes.items()):
        print(f"hostile: {outcome}: {number}")
    shown = ", ".join(f"{size / 2**20:.0f}" for size in sizes[:: max(1, len(sizes) // 10)])
    print(f"hostile: MiB of the server: {shown}")
    print(f"hostile: {count} requests, {found} faults; {time.monotonic() - began:.0f} s", flush=True)
    return found

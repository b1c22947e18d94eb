"""A served agent in conversation: the pure connection, and threads that take turns at reading and run the tools.

An answer leaves from the thread that read its question. A slow tool keeps nobody waiting for longer than a moment: with
other calls at hand the reading is passed on before a call is run, else as soon as the call turns out to last.
"""

from __future__ import annotations

import sys
import threading
from collections import deque
from typing import TYPE_CHECKING, Any

from gaia_mcp.protocol.events import Cancelled, RequestReceived
from gaia_mcp.protocol.framing import LineBuffer, RecordTooLongError
from gaia_mcp.protocol.jsonrpc import INTERNAL_ERROR, Message, RequestId, encode, error
from gaia_mcp.protocol.server import Description, ServerConnection
from gaia_mcp.server.agent import RefusedError, ServedAgent
from gaia_mcp.server.stdio.leader_follower import Turn
from gaia_mcp.toolcall import CallCancelledError, ToolCall, enter_call

if TYPE_CHECKING:
    from collections.abc import Callable

# What is offered by an agent that has not loaded yet. A client that asks so early is answered rather than kept waiting.
STATIC_CAPABILITIES: dict[str, Any] = {"tools": {}, "prompts": {}, "resources": {}, "logging": {}}
# An agent is given this long to load before it is described without it: clients give up on a probe after ten seconds.
LOADING_SECONDS = 3.0
# More calls at once than this wait for one another.
MAX_CALLS = 32

_UNSAYABLE = (TypeError, ValueError, RecursionError)


class AgentServer:
    """Serves one client.

    `read` returns the next bytes and nothing at the end, `write` takes whole lines; neither may be called from
    elsewhere. `name` is shown until the agent has loaded.
    """

    def __init__(self, read: Callable[[], bytes], write: Callable[[bytes], None], name: str) -> None:
        self._read = read
        self._write = write
        self._agent: ServedAgent | None = None
        self._loaded = threading.Event()
        self._described_early = False
        self._ended = threading.Event()
        self._connection = ServerConnection(Description({"name": name, "version": ""}, STATIC_CAPABILITIES))
        # Held by the thread that reads; the lines are its alone.
        self._turn = Turn(self._line_up)
        self._lines = LineBuffer()
        self._records: deque[bytes] = deque()
        self._at_end = False
        # Held to touch what follows. `_free` counts the threads that run no call: the reader, and those in line for it.
        self._lock = threading.Lock()
        self._quiet = threading.Condition(self._lock)
        self._jobs: deque[tuple[RequestReceived, ToolCall]] = deque()
        self._calls: dict[RequestId, ToolCall] = {}
        self._threads = 0
        self._free = 0
        self._outbox: deque[Message | list[Message]] = deque()
        # Held to write. Never taken while `_lock` is held.
        self._writing = threading.Lock()
        self._is_gone = False

    def has_loaded_within(self, seconds: float) -> bool:
        """Whether there is an agent, waited for up to `seconds`."""
        return self._loaded.wait(seconds)

    def start(self) -> None:
        """Begin to read, in a thread of its own."""
        with self._lock:
            self._add_thread()

    def set_agent(self, agent: ServedAgent) -> None:
        """The agent has loaded, or another one takes its place."""
        description = agent.describe()
        with self._lock:
            replaced, self._agent = self._agent, agent
            if self._described_early:
                # What was once offered is kept, even if it turns out to be empty.
                merged = {**STATIC_CAPABILITIES, **description.capabilities}
                description = description._replace(capabilities=merged)
            self._connection.description = description
            if replaced is not None:
                for kind in ("tools", "prompts", "resources"):
                    if kind in description.capabilities:
                        self._connection.announce_list_changed(kind)
            self._collect()
        self._loaded.set()
        self._flush()

    def wait(self) -> None:
        """Until nothing more will arrive, or nobody is there to be answered."""
        self._ended.wait()

    def finish(self, seconds: float) -> None:
        """After the end: let what runs end, for up to `seconds`, then tell it that nobody waits."""
        with self._quiet:
            self._quiet.wait_for(lambda: not self._calls, seconds)
            for call in self._calls.values():
                call.cancel()
            self._calls.clear()
            self._connection.close()
            self._collect()
        self._flush()

    # Reading.

    def _add_thread(self) -> None:
        self._threads += 1
        self._free += 1
        threading.Thread(target=self._take_turns, name=f"server {self._threads}", daemon=True).start()

    def _line_up(self) -> None:
        """The thread that reads will run a call: another has to be in line for its turn."""
        with self._lock:
            self._free -= 1
            if self._free == 0:
                self._add_thread()

    def _take_turns(self) -> None:
        self._turn.take()
        while True:
            try:
                job = self._next_job()
            except RecordTooLongError as problem:
                print(f"error: the client wrote {problem}", file=sys.stderr)  # noqa: T201
                job = None
            except BaseException:
                self._end()  # Nobody would read from here on.
                raise
            if job is None:
                self._end()
                return
            if len(self._calls) == 1 and not self._records:
                self._turn.keep(job)
            else:
                self._line_up()
                self._turn.pass_on()
            while job is not None:
                job = self._run(job)

    def _end(self) -> None:
        self._ended.set()
        self._turn.pass_on()

    def _next_job(self) -> tuple[RequestReceived, ToolCall] | None:
        """The next call to run, for the thread that reads; None at the end."""
        while True:
            with self._lock:
                if self._jobs and (self._free > 1 or self._threads <= MAX_CALLS):
                    return self._jobs.popleft()
            if not self._records and not self._read_more():
                return None
            self._receive(self._records.popleft())

    def _read_more(self) -> bool:
        """Whether there is another record."""
        while not self._records and not self._ended.is_set():
            data = b"" if self._at_end else self._read()
            self._at_end = not data
            self._records.extend(self._lines.feed(data) if data else self._lines.finish())
            if self._at_end and not self._records:
                self._ended.set()
        return bool(self._records)

    def _receive(self, record: bytes) -> None:
        if not self._loaded.is_set() and not self._described_early and _wants_description(record):
            self._described_early = not self._loaded.wait(LOADING_SECONDS)
        with self._lock:
            self._connection.receive(record)
            for event in self._connection.take_events():
                if isinstance(event, RequestReceived):
                    call = self._calls[event.id] = self._new_call(event)
                    self._jobs.append((event, call))
                elif isinstance(event, Cancelled) and (found := self._calls.pop(event.id, None)) is not None:
                    found.cancel()
            self._collect()
        if self._outbox:
            self._flush()

    # Running.

    def _new_call(self, asked: RequestReceived) -> ToolCall:
        def on_progress(progress: float, total: float | None, text: str) -> None:
            with self._lock:
                if not call.is_cancelled:
                    self._connection.report_progress(asked.id, progress, total, text)
                self._collect()
            self._flush()

        def on_log(level: str, data: Any) -> None:
            data = _sayable(data)
            with self._lock:
                if not call.is_cancelled:
                    self._connection.log(asked.id, level, data, str(asked.params.get("name", asked.method)))
                self._collect()
            self._flush()

        call = ToolCall(on_progress, on_log)
        return call

    def _run(self, job: tuple[RequestReceived, ToolCall]) -> tuple[RequestReceived, ToolCall] | None:
        """Run a call and answer it; the next one that waits for a thread, or else the turn to read is the caller's."""
        asked, call = job
        self._loaded.wait()
        agent = self._agent
        assert agent is not None  # noqa: S101 (that is what was waited for)
        enter_call(call)
        result: dict[str, Any] | None = None
        refusal: tuple[int, str, Any] = (INTERNAL_ERROR, "cancelled", None)
        try:
            call.raise_if_cancelled()
            result = agent.answer(asked.method, asked.params)
        except CallCancelledError:
            pass  # Nobody waits: what is said now is not sent.
        except RefusedError as refused:
            refusal = (refused.code, str(refused), refused.data)
        except BaseException as problem:  # noqa: BLE001 (an agent's own code, which may even try to exit)
            import traceback

            traceback.print_exc()
            refusal = (INTERNAL_ERROR, f"{type(problem).__name__}: {problem}", None)
        finally:
            enter_call(None)
        with self._lock:
            # Not by its id: after a cancellation the client may have used that again.
            if not call.is_cancelled:
                del self._calls[asked.id]
                self._answer(asked.id, result, refusal)
                if not self._calls:
                    self._quiet.notify_all()
            following = self._jobs.popleft() if self._jobs else None
            must_wait = following is None and not self._turn.is_kept(job)
            if must_wait:
                self._free += 1
        self._flush()
        if must_wait:
            self._turn.take()
        return following

    def _answer(self, request_id: RequestId, result: dict[str, Any] | None, refusal: tuple[int, str, Any]) -> None:
        try:
            if result is not None:
                self._connection.respond(request_id, result)
            else:
                self._connection.respond_error(request_id, *refusal)
            self._collect()
        except (AttributeError, KeyError, TypeError, ValueError) as problem:
            # What the agent returned has not the shape that it claims to have. Its caller must not be left waiting.
            text = f"the agent's answer is not one of MCP: {type(problem).__name__}: {problem}"
            self._outbox.append(error(request_id, INTERNAL_ERROR, text))

    # Writing.

    def _collect(self) -> None:
        self._outbox.extend(outgoing.message for outgoing in self._connection.take_outgoing())

    def _flush(self) -> None:
        # Taken out and written by one thread at a time: nothing about a call may follow its answer.
        with self._writing:
            while self._outbox:
                line = _line(self._outbox.popleft())
                if self._is_gone:
                    continue
                try:
                    self._write(line)
                except OSError:
                    self._is_gone = True
                    self._ended.set()


def _wants_description(record: bytes) -> bool:
    return b'"initialize"' in record or b'"server/discover"' in record


def _line(message: Message | list[Message]) -> bytes:
    """The message as it goes out. An agent's answer that JSON cannot say becomes an error: its caller is waiting."""
    try:
        return encode(message)
    except _UNSAYABLE as problem:
        if isinstance(message, list):
            return b"[" + b",".join(_line(part).rstrip() for part in message) + b"]\n"
        return encode(error(message.get("id"), INTERNAL_ERROR, f"the agent's answer cannot be said in JSON: {problem}"))


def _sayable(data: Any) -> Any:
    """`data`, or its text if JSON cannot say it."""
    try:
        encode(data)
    except _UNSAYABLE:
        return str(data)
    return data

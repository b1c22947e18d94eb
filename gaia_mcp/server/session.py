"""A served agent in conversation: the pure connection, workers that run the tools, one writer.

Reading goes on while tools run, so pings, other calls and cancellations are never kept waiting by a slow tool.
"""

from __future__ import annotations

import threading
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any

from gaia_mcp.protocol.events import Asked, Cancelled
from gaia_mcp.protocol.jsonrpc import INTERNAL_ERROR, RequestId, encode
from gaia_mcp.protocol.server import Description, ServerConnection
from gaia_mcp.server.adapter import RefusedError, ServedAgent
from gaia_mcp.toolcall import CallCancelledError, ToolCall, enter_call

if TYPE_CHECKING:
    from collections.abc import Callable

# What is offered by an agent that has not loaded yet. A client that asks so early is answered rather than kept waiting.
STATIC_CAPABILITIES: dict[str, Any] = {"tools": {}, "prompts": {}, "resources": {}, "logging": {}}
# An agent is given this long to load before it is described without it: clients give up on a probe after ten seconds.
LOADING_SECONDS = 3.0
# More calls at once than this wait for one another.
MAX_WORKERS = 32
# A worker without work for this long ends.
IDLE_SECONDS = 30.0


class AgentServer:
    """Serves one client. `write` takes whole lines and must not be called from elsewhere; `name` is shown until the
    agent has loaded.
    """

    def __init__(self, write: Callable[[bytes], None], name: str) -> None:
        self._write = write
        self._agent: ServedAgent | None = None
        self._loaded = threading.Event()
        self._described_early = False
        self._lock = threading.Lock()
        self._write_lock = threading.Lock()
        self._connection = ServerConnection(Description({"name": name, "version": ""}, STATIC_CAPABILITIES))
        self._jobs: SimpleQueue[Asked] = SimpleQueue()
        self._calls: dict[RequestId, ToolCall] = {}
        self._workers = 0
        self._idle = 0
        self._quiet = threading.Condition(self._lock)

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
        self._loaded.set()
        self._flush()

    def receive(self, record: bytes) -> None:
        """Take in one record."""
        if not self._loaded.is_set() and self._wants_description(record) and not self._loaded.wait(LOADING_SECONDS):
            self._described_early = True
        with self._lock:
            self._connection.receive(record)
            events = self._connection.take_events()
            for event in events:
                if isinstance(event, Asked):
                    self._calls[event.id] = self._new_call(event)
                    self._give_to_worker(event)
                elif isinstance(event, Cancelled) and (call := self._calls.get(event.id)) is not None:
                    call.cancel()
        self._flush()

    def finish(self, seconds: float) -> None:
        """Nothing more will arrive: let what runs end, for up to `seconds`, then tell it that nobody waits."""
        with self._quiet:
            self._quiet.wait_for(lambda: not self._calls, seconds)
            for call in self._calls.values():
                call.cancel()
            self._connection.close()
        self._flush()

    @staticmethod
    def _wants_description(record: bytes) -> bool:
        return b'"initialize"' in record or b'"server/discover"' in record

    # Running.

    def _new_call(self, asked: Asked) -> ToolCall:
        def on_progress(progress: float, total: float | None, text: str) -> None:
            with self._lock:
                self._connection.report_progress(asked.id, progress, total, text)
            self._flush()

        def on_log(level: str, data: Any) -> None:
            with self._lock:
                self._connection.log(asked.id, level, data, asked.params.get("name", asked.method))
            self._flush()

        return ToolCall(on_progress, on_log)

    def _give_to_worker(self, asked: Asked) -> None:
        self._jobs.put(asked)
        if self._idle >= self._jobs.qsize() or self._workers >= MAX_WORKERS:
            return
        self._workers += 1
        threading.Thread(target=self._work, name=f"worker {self._workers}", daemon=True).start()

    def _work(self) -> None:
        while True:
            with self._lock:
                self._idle += 1
            try:
                asked: Asked | None = self._jobs.get(timeout=IDLE_SECONDS)
            except Empty:
                asked = None
            with self._lock:
                self._idle -= 1
                if asked is None and self._jobs.empty():
                    self._workers -= 1
                    return
            if asked is not None:
                self._run(asked)

    def _run(self, asked: Asked) -> None:
        self._loaded.wait()
        agent, call = self._agent, self._calls[asked.id]
        assert agent is not None  # noqa: S101 (that is what was waited for)
        enter_call(call)
        result: dict[str, Any] | None = None
        refusal: tuple[int, str, Any] | None = None
        try:
            call.raise_if_cancelled()
            result = agent.answer(asked.method, asked.params)
        except CallCancelledError:
            pass  # Nobody waits: nothing is sent.
        except RefusedError as refused:
            refusal = (refused.code, str(refused), refused.data)
        except BaseException as error:  # noqa: BLE001 (an agent's own code, which may even try to exit)
            import traceback

            traceback.print_exc()
            refusal = (INTERNAL_ERROR, f"{type(error).__name__}: {error}", None)
        finally:
            enter_call(None)
        with self._quiet:
            if result is not None:
                self._connection.respond(asked.id, result)
            elif refusal is not None:
                self._connection.refuse(asked.id, *refusal)
            del self._calls[asked.id]
            outgoing = self._connection.take_outgoing()
        self._send(outgoing)
        with self._quiet:
            self._quiet.notify_all()

    def _flush(self) -> None:
        with self._lock:
            outgoing = self._connection.take_outgoing()
        self._send(outgoing)

    def _send(self, outgoing: list[Any]) -> None:
        for message in outgoing:
            try:
                line = encode(message)
            except (TypeError, ValueError) as problem:
                # An agent's block held what JSON cannot say. Its caller must not be left waiting.
                text = f"the agent's answer cannot be said in JSON: {problem}"
                line = encode(
                    {
                        "jsonrpc": "2.0",
                        "id": message.get("id"),
                        "error": {"code": INTERNAL_ERROR, "message": text},
                    }
                )
            with self._write_lock:
                self._write(line)

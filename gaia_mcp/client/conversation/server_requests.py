"""Requests of the server (handshake era), answered by the host while reading goes on."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any

from gaia_mcp.client.host import ASKS_A_PERSON, DeclinedError, Host, UndeclaredError, UnsupportedError
from gaia_mcp.errors import UnansweredError
from gaia_mcp.protocol.envelope import meta_of
from gaia_mcp.protocol.jsonrpc import INTERNAL_ERROR, INVALID_PARAMS, METHOD_NOT_FOUND, encode

if TYPE_CHECKING:
    from gaia_mcp.client.conversation.waiters import Waiter
    from gaia_mcp.protocol.client import ClientConnection
    from gaia_mcp.protocol.events import RequestReceived

    Change = Callable[[ClientConnection], None]
    # Applies a change to the connection, and sends without waiting what follows from it. Never raises.
    Respond = Callable[[Change], None]

# Each request has a thread while it is being answered; a server that asks without end must not take the machine.
MAX_SERVER_REQUESTS = 32
# A tool that asks once asks again soon, and starting a thread takes longer than most programs take to answer.
KEPT_SECONDS = 5.0
# The specification has a client answer this when the person refuses to have a model sampled.
DECLINED = -1


class ServerRequests:
    """Answers the server's requests by `host`. The deadlines of `waiters()` stand still while a person answers, and an
    `UnansweredError` of the host ends their requests: which of them has led to the question is not known.
    """

    def __init__(self, host: Host, respond: Respond, waiters: Callable[[], Iterable[Waiter]]) -> None:
        self._host = host
        self._respond = respond
        self._waiters = waiters
        # What the threads take their next request from; None ends one of them.
        self._waiting: SimpleQueue[RequestReceived | None] = SimpleQueue()
        self._is_over = False
        # Held to touch what follows. `_free` counts the threads that wait for a request and have none to come.
        self._lock = threading.Lock()
        self._open = 0
        self._free = 0

    def take(self, asked: RequestReceived) -> None:
        """Have the host answer: at once where that cannot take long, else in a thread, for a person may."""
        if self._host.answers_at_once(asked.method):
            self._respond(self._answer(asked))
            return
        with self._lock:
            if is_room := self._open < MAX_SERVER_REQUESTS:
                self._open += 1
                needs_thread = self._free == 0
                self._free -= not needs_thread
                self._waiting.put(asked)
        if not is_room:
            self._respond(_error(asked, INTERNAL_ERROR, "too many requests at once"))
        elif needs_thread:
            threading.Thread(target=self._work, name="server request", daemon=True).start()

    def close(self) -> None:
        """Nothing more will arrive: let the threads end that wait for it. For any thread, also in a signal handler."""
        self._is_over = True
        self._waiting.put(None)

    def _work(self) -> None:
        """A thread: answers one request after another, and ends when none has come for a while."""
        while True:
            try:
                asked = self._waiting.get(timeout=KEPT_SECONDS)
            except Empty:
                with self._lock:
                    if self._free == 0:
                        continue  # One has come for it meanwhile.
                    self._free -= 1
                return
            if asked is None:
                return
            answer = self._answer(asked)
            with self._lock:
                self._open -= 1
            self._respond(answer)
            with self._lock:
                # One is enough: a server that asks mostly waits for the answer.
                if self._is_over or self._free:
                    return
                self._free += 1

    def _answer(self, asked: RequestReceived) -> Change:
        """What responds to the request with the host's answer, or with what came of it."""
        held = [waiter.deadline for waiter in self._waiters()] if asked.method in ASKS_A_PERSON else []
        for deadline in held:
            deadline.hold()
        try:
            answer = self._in_trace(asked)
            encode(answer)
        except UndeclaredError as undeclared:
            return _error(asked, INVALID_PARAMS, f"{undeclared}, which this client did not declare")
        except UnsupportedError:
            return _error(asked, METHOD_NOT_FOUND, f"Method not found: {asked.method}")
        except DeclinedError as declined:
            return _error(asked, DECLINED, str(declined) or "declined")
        except Exception as error:  # noqa: BLE001 (the host's own code; the server must get a response)
            if isinstance(error, UnansweredError):
                # Before the server gets its response: what it makes of that is no result for the callers.
                for waiter in self._waiters():
                    waiter.fail(error)
            return _error(asked, INTERNAL_ERROR, f"{type(error).__name__} in the client")
        finally:
            for deadline in held:
                deadline.release()
        return lambda connection: connection.respond(asked.id, answer)

    def _in_trace(self, asked: RequestReceived) -> dict[str, Any]:
        """The answer of the host, whose own requests meanwhile belong to the trace of this one."""
        meta = meta_of(asked.params)
        if "traceparent" not in meta:
            return self._host.answer(asked.method, asked.params)
        from gaia_mcp.tracing import carrying, trace_in

        with carrying(trace_in(meta)):
            return self._host.answer(asked.method, asked.params)


def _error(asked: RequestReceived, code: int, text: str) -> Change:
    return lambda connection: connection.respond_error(asked.id, code, text)

"""Requests from the server (handshake era), answered by the host while reading continues."""

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
    # Applies a change to the connection, and sends the resulting messages without waiting. Never raises.
    Respond = Callable[[Change], None]

# Each request occupies a thread while it is answered; a server that sends requests without end must not exhaust them.
MAX_SERVER_REQUESTS = 32
# A tool that sends one request soon sends another, and starting a thread takes longer than most hosts take to answer.
KEPT_SECONDS = 5.0
# The error code of the specification for a sampling request that the user rejects.
DECLINED = -1


class ServerRequests:
    """Answers the server's requests with `host`. The deadlines of `waiters()` are paused while the user answers. An
    `UnansweredError` of the host ends all their requests, since it is not known which one caused the server's request.
    A thread ends when it has been idle for `kept_seconds`.
    """

    def __init__(
        self,
        host: Host,
        respond: Respond,
        waiters: Callable[[], Iterable[Waiter]],
        *,
        kept_seconds: float = KEPT_SECONDS,
    ) -> None:
        self._kept_seconds = kept_seconds
        self._host = host
        self._respond = respond
        self._waiters = waiters
        # The queue of the threads; None ends one of them.
        self._waiting: SimpleQueue[RequestReceived | None] = SimpleQueue()
        self._is_over = False
        # Guards the attributes below. `_free` counts the idle threads that no queued request will occupy.
        self._lock = threading.Lock()
        self._open = 0
        self._free = 0

    def take(self, asked: RequestReceived) -> None:
        """Let the host answer: at once if that cannot block, else in a thread, since a user may take long."""
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
        """End the waiting threads: nothing more will arrive. May be called from any thread or signal handler."""
        self._is_over = True
        self._waiting.put(None)

    def _work(self) -> None:
        """Run in each thread: answer one request after another, and end when none has arrived for a while."""
        while True:
            try:
                asked = self._waiting.get(timeout=self._kept_seconds)
            except Empty:
                with self._lock:
                    if self._free == 0:
                        continue  # A request was queued for it meanwhile.
                    self._free -= 1
                return
            if asked is None:
                return
            answer = self._answer(asked)
            with self._lock:
                self._open -= 1
            self._respond(answer)
            with self._lock:
                # One idle thread is enough: a server usually waits for the response before its next request.
                if self._is_over or self._free:
                    return
                self._free += 1

    def _answer(self, asked: RequestReceived) -> Change:
        """The change that responds to the request with the host's answer, or with an error."""
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
                # Before the server gets its response: a result that follows from it must not reach the callers.
                for waiter in self._waiters():
                    waiter.fail(error)
            return _error(asked, INTERNAL_ERROR, f"{type(error).__name__} in the client")
        finally:
            for deadline in held:
                deadline.release()
        return lambda connection: connection.respond(asked.id, answer)

    def _in_trace(self, asked: RequestReceived) -> dict[str, Any]:
        """The answer of the host, whose own requests belong to the trace of this one."""
        meta = meta_of(asked.params)
        if "traceparent" not in meta:
            return self._host.answer(asked.method, asked.params)
        from gaia_mcp.tracing import carrying, trace_in

        with carrying(trace_in(meta)):
            return self._host.answer(asked.method, asked.params)


def _error(asked: RequestReceived, code: int, text: str) -> Change:
    return lambda connection: connection.respond_error(asked.id, code, text)

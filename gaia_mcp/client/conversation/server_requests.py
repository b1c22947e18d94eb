"""Requests of the server (handshake era), answered by the host while reading goes on."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from gaia_mcp.client.host import ASKS_A_PERSON, DeclinedError, Host, UnsupportedError
from gaia_mcp.errors import UnansweredError
from gaia_mcp.protocol.jsonrpc import INTERNAL_ERROR, METHOD_NOT_FOUND, encode

if TYPE_CHECKING:
    from gaia_mcp.client.conversation.waiters import Waiter
    from gaia_mcp.protocol.client import ClientConnection
    from gaia_mcp.protocol.events import RequestReceived

    # Applies a change to the connection, and sends without waiting what follows from it. Never raises.
    Respond = Callable[[Callable[[ClientConnection], None]], None]

# Each request has a thread while it is being answered; a server that asks without end must not take the machine.
MAX_SERVER_REQUESTS = 32
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
        self._lock = threading.Lock()
        self._open = 0

    def take(self, asked: RequestReceived) -> None:
        """Have the host answer, in a thread of its own: a person may take long."""
        with self._lock:
            if is_room := self._open < MAX_SERVER_REQUESTS:
                self._open += 1
        if is_room:
            threading.Thread(target=self._answer, args=(asked,), name="server request", daemon=True).start()
        else:
            self._respond_error(asked, INTERNAL_ERROR, "too many requests at once")

    def _answer(self, asked: RequestReceived) -> None:
        answer: dict[str, Any] | None = None
        code, text = 0, ""
        held = [waiter.deadline for waiter in self._waiters()] if asked.method in ASKS_A_PERSON else []
        for deadline in held:
            deadline.hold()
        try:
            answer = self._host.answer(asked.method, asked.params)
            encode(answer)
        except UnsupportedError:
            code, text = METHOD_NOT_FOUND, f"Method not found: {asked.method}"
        except DeclinedError as declined:
            code, text = DECLINED, str(declined) or "declined"
        except Exception as error:  # noqa: BLE001 (the host's own code; the server must get a response)
            if isinstance(error, UnansweredError):
                # Before the server gets its response: what it makes of that is no result for the callers.
                for waiter in self._waiters():
                    waiter.fail(error)
            answer, code, text = None, INTERNAL_ERROR, f"{type(error).__name__} in the client"
        finally:
            for deadline in held:
                deadline.release()
        with self._lock:
            self._open -= 1
        if answer is None:
            self._respond_error(asked, code, text)
        else:
            given = answer
            self._respond(lambda connection: connection.respond(asked.id, given))

    def _respond_error(self, asked: RequestReceived, code: int, text: str) -> None:
        self._respond(lambda connection: connection.respond_error(asked.id, code, text))

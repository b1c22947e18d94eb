"""What a server asks in the handshake era, answered by the host while reading goes on."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from gaia_mcp.client.host import ASKS_A_PERSON, DeclinedError, Host, UnsupportedError
from gaia_mcp.protocol.jsonrpc import INTERNAL_ERROR, METHOD_NOT_FOUND, encode

if TYPE_CHECKING:
    from collections.abc import Callable

    from gaia_mcp.client.conversation.exchange import Exchange
    from gaia_mcp.protocol.connection import Outgoing
    from gaia_mcp.protocol.events import RequestReceived

    Send = Callable[[Exchange, list[Outgoing]], None]

# Each question has a thread while it is being answered; a server that asks without end must not take the machine.
MAX_QUESTIONS = 32
# What the specification has a client answer when the person refuses that a model be asked.
DECLINED = -1


class Questions:
    """Answers questions. `lock` is the one that guards an exchange's connection; `send` neither waits nor raises."""

    def __init__(self, lock: threading.Lock, send: Send) -> None:
        self._lock = lock
        self._send = send

    def take(self, exchange: Exchange, asked: RequestReceived, host: Host) -> None:
        """Have `host` answer, in a thread of its own: a person may take long."""
        with self._lock:
            too_many = exchange.questions >= MAX_QUESTIONS
            if too_many:
                exchange.connection.respond_error(asked.id, INTERNAL_ERROR, "too many questions at once")
            else:
                exchange.questions += 1
            outgoing = exchange.connection.take_outgoing()
        if too_many:
            self._send(exchange, outgoing)
            return
        threading.Thread(target=self._answer, args=(exchange, asked, host), name="question", daemon=True).start()

    def _answer(self, exchange: Exchange, asked: RequestReceived, host: Host) -> None:
        answer: dict[str, Any] | None = None
        code, text = 0, ""
        waiters = list(exchange.waiters.values()) if asked.method in ASKS_A_PERSON else []
        for waiter in waiters:
            waiter.deadline.hold()
        try:
            answer = host.answer(asked.method, asked.params)
            encode(answer)
        except UnsupportedError:
            code, text = METHOD_NOT_FOUND, f"Method not found: {asked.method}"
        except DeclinedError as declined:
            code, text = DECLINED, str(declined) or "declined"
        except Exception as error:  # noqa: BLE001 (the host's own code; the server must hear something)
            answer, code, text = None, INTERNAL_ERROR, f"{type(error).__name__} in the client"
        finally:
            for waiter in waiters:
                waiter.deadline.release()
        with self._lock:
            exchange.questions -= 1
            if answer is None:
                exchange.connection.respond_error(asked.id, code, text)
            else:
                exchange.connection.respond(asked.id, answer)
            outgoing = exchange.connection.take_outgoing()
        self._send(exchange, outgoing)

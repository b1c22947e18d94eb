"""The sending half of a conversation over a pipe, and what becomes of it when the pipe ends.

What was asked for is written by a deadline; what we send of our own accord goes through the exchange's outbox.
"""

from __future__ import annotations

import threading
from abc import abstractmethod
from typing import TYPE_CHECKING

from gaia_mcp.client.transports.base import Conversation
from gaia_mcp.client.transports.stdio.child import CutError
from gaia_mcp.errors import (
    ArgumentsError,
    CancelledError,
    ConnectError,
    DeadlineError,
    LocalProtocolError,
    MCPError,
    NotConnectedError,
    ServerExitedError,
)
from gaia_mcp.protocol.jsonrpc import encode

if TYPE_CHECKING:
    from gaia_mcp.client.conversation.exchange import Exchange
    from gaia_mcp.deadline import Deadline
    from gaia_mcp.protocol.connection import Outgoing


class SendingConversation(Conversation):
    """A conversation that can write. Subclasses own the pipe."""

    def __init__(self) -> None:
        super().__init__()
        self._lock = threading.Lock()
        self._exchange: Exchange | None = None

    @abstractmethod
    def _why_lost(self, exchange: Exchange, stage: str) -> MCPError:
        """The error for a pipe that ended while `stage` was waited for."""

    def _usable(self) -> Exchange:
        exchange = self._exchange
        if exchange is None:
            raise NotConnectedError(self.name)
        if exchange.lost is not None:
            raise self._why_lost(exchange, "before it was asked to")
        return exchange

    def _encoded(self, messages: list[Outgoing], stage: str = "at its start", tool: str | None = None) -> list[bytes]:
        """The lines to write. What JSON cannot say is the caller's mistake: with `tool` that of who calls it."""
        try:
            return [encode(outgoing.message) for outgoing in messages]
        except (TypeError, ValueError, RecursionError) as cause:
            problem = f"cannot be written as JSON: {cause}"
            if tool is not None:
                raise ArgumentsError(self.name, tool, [f"the arguments {problem}"]) from cause
            raise LocalProtocolError(f"{stage} {problem}", server=self.name) from cause

    def _send(self, exchange: Exchange, lines: list[bytes], deadline: Deadline, stage: str = "at its start") -> None:
        for data in lines:
            if exchange.lost is not None:
                raise self._why_lost(exchange, stage)
            try:
                exchange.pipe.write(data, deadline)
            except BrokenPipeError:
                raise self._no_longer_read(exchange, stage) from None
            except TimeoutError as problem:
                error = self._late(deadline, f"{stage} (it does not read its input)")
                if isinstance(problem, CutError):
                    self._pipe_ended(exchange, error)
                raise error from None
            except BaseException:
                # Ctrl-C, and a part of the message may be out: nothing that follows could be understood.
                self._pipe_ended(
                    exchange, ConnectError(f"interrupted while writing to {self.name!r}", server=self.name)
                )
                raise

    def _late(self, deadline: Deadline, stage: str, *, noise: str = "") -> MCPError:
        """The error for a deadline that has passed."""
        if deadline.is_cancelled:
            return CancelledError(self.name, stage)
        return DeadlineError(self.name, stage, deadline.allowed, noise=noise)

    def _send_aside(self, exchange: Exchange, messages: list[Outgoing]) -> None:
        """What we send of our own accord: without waiting, for whoever reads may be the one who sends it."""
        if exchange.lost is None:
            for data in self._encoded(messages):
                exchange.outbox.put(data)

    def _no_longer_read(self, exchange: Exchange, stage: str) -> MCPError:
        """The error for a pipe that takes nothing more, and has ended: the next request finds another."""
        if exchange.pipe.is_closing:
            return NotConnectedError(self.name)
        error = self._why_lost(exchange, stage)
        if exchange.lost is None and isinstance(error, ServerExitedError) and error.returncode is None:
            error = ServerExitedError(
                self.name,
                error.stage,
                None,
                error.stderr_tail,
                last_words=error.last_words,
                closed="no longer reads its input",
            )
        self._pipe_ended(exchange, error)
        return error

    def _pipe_ended(self, exchange: Exchange, error: MCPError) -> None:
        """Nothing more will arrive. Called again, it changes nothing: the first reason is the one that counts."""
        with self._lock:
            exchange.lost = error = exchange.lost or error
            waiters, exchange.waiters = list(exchange.waiters.values()), {}
            opening, exchange.opening = exchange.opening, None
        for waiter in waiters:
            waiter.outcomes.put(error)
        if opening is not None:
            opening.outcomes.put(error)

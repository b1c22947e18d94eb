"""One handler of a manager: connected once, its tools listed and validated, called, and no longer called after
consecutive errors, until its circuit breaker allows another attempt.

Knows no other handlers, and not how tools are routed.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable
from dataclasses import replace
from itertools import islice
from typing import Any

from gaia_mcp.asking import Call, CallCancelledError, entered_call
from gaia_mcp.contrib.handlers.adapters import AgentHandler, ClientHandler, capped, checked, failed
from gaia_mcp.contrib.handlers.base import MCPHandler, MCPToolDefinition, MCPToolResult
from gaia_mcp.contrib.handlers.handler_threads import (
    HandlerConnection,
    HandlerHungError,
    HandlerThreads,
    described,
    scrubbed,
)
from gaia_mcp.core.deadline import DEFAULT_TIMEOUT_SECONDS, LONGEST_REQUEST_SECONDS, Deadline
from gaia_mcp.fleet import ADMITTED, MAX_CONSECUTIVE_ERRORS, REFUSED, TRIAL, Admission, CircuitBreaker
from gaia_mcp.server.outcomes import OnFailure, raised

logger = logging.getLogger("gaia_mcp")

# The cool-down of a remote server after repeated failures: it may have been restarted by then.
COOL_DOWN_SECONDS = 30.0
# A generator of tools might never end.
MAX_TOOLS = 100_000


class ManagedHandler:
    """Uses `handler`. May be used from several threads.

    `show` gets warnings for the user; `on_change` is called when the known tools may have changed, with "tools" when
    they must be listed to know; `clock` returns the time in seconds, for the circuit breaker and for timeouts. With
    `qualified`, its tools are named `HANDLER.TOOL`.
    """

    def __init__(
        self,
        handler: MCPHandler,
        show: Callable[[str], None],
        on_change: Callable[..., None],
        clock: Callable[[], float],
        on_failure: OnFailure,
        *,
        qualified: bool = False,
    ) -> None:
        self.handler = handler
        self.name = handler.name
        # By their names in the handler. Replaced as a whole.
        self.tools: dict[str, MCPToolDefinition] = {}
        # Whether the tools have been listed since it was connected.
        self.is_discovered = False
        self._show = show
        self._on_change = on_change
        self._clock = clock
        self._on_failure = on_failure
        self._qualified = qualified
        # A client enforces its timeout itself, and pauses it while the user answers the server.
        self._is_client = isinstance(handler, ClientHandler)
        if isinstance(handler, ClientHandler | AgentHandler):
            handler.on_tools_changed = self._forget_tools
        self._threads = HandlerThreads(self.name)
        self._connection = HandlerConnection(
            handler,
            lambda function, seconds: self._run(function, None, seconds),
            self._report_unreachable,
            is_abortable=self._is_client,
        )
        # Guards the attributes below; never held while the handler's code runs. Reentrant: a signal handler may shut
        # down in the same thread.
        self._lock = threading.RLock()
        self._breaker = self._new_breaker()
        # The problems of its definitions that have been shown.
        self._shown: set[str] = set()
        # Set when the current listing is over; None without one.
        self._listing: threading.Event | None = None

    def __repr__(self) -> str:
        return f"<ManagedHandler {self.name!r}>"

    @property
    def has_failed(self) -> bool:
        """Whether it could not be connected, or its circuit breaker is open."""
        return self._breaker.is_open or self._connection.has_failed

    @property
    def errors(self) -> int:
        """The number of consecutive errors up to now."""
        return self._breaker.errors

    def is_available(self) -> bool:
        """Whether it may be used: it has not failed to connect, and its circuit breaker admits calls."""
        return not self._breaker.refuses(self._clock()) and not self._connection.has_failed

    def discover(self) -> None:
        """Connect it, unless that has been tried, and list its tools. If another thread is doing so, wait for that.

        An exception of the handler is not raised: it is a warning, and counts as an error once it is connected.
        """
        breaker = self._breaker
        if not self._connection.establish():
            return
        with self._lock:
            listing = self._listing
            is_mine = listing is None
            if listing is None:
                listing = self._listing = threading.Event()
        if not is_mine:
            listing.wait()
            return
        try:
            self._list_tools(breaker)
        finally:
            with self._lock:
                self._listing = None
            listing.set()

    def call(self, tool: str, arguments: dict[str, Any]) -> MCPToolResult:
        """Call a tool. Every failure is a result with `is_error`, and counts as an error.

        Raises `CallCancelledError` if the current call is cancelled.
        """
        if not self._connection.establish():
            return self.unavailable()
        breaker, caller = self._breaker, entered_call()
        admission = ADMITTED
        if breaker.is_open:
            with self._lock:
                admission = breaker.admit(self._clock())
            if admission == REFUSED:
                return self.unavailable()
        try:
            result = self._called(tool, arguments, caller)
        except BaseException:
            with self._lock:
                breaker.withdrawn(admission)
            raise
        if result.is_error or breaker.errors or admission == TRIAL:
            self._count(breaker, admission, is_error=result.is_error)
        return capped(result, self.handler.config.max_result_bytes)

    def unavailable(self) -> MCPToolResult:
        """The result of a call while it may not be used."""
        return failed(f"Handler '{self.name}' is unavailable")

    def shut_down(self) -> None:
        """Disconnect it and clear its state; the next use connects again. Exceptions of the handler are logged."""
        end = self._connection.detach()
        with self._lock:
            self._breaker = self._new_breaker()
            self.tools, self.is_discovered = {}, False
            self._shown.clear()
        end()
        self._threads.close()

    def release_threads(self) -> None:
        """End the idle threads."""
        self._threads.close()

    def _list_tools(self, breaker: CircuitBreaker) -> None:
        try:
            listed = self._run(lambda: as_listed(self.handler.list_tools()), None)
        except Exception as error:  # noqa: BLE001 (a handler's own code)
            self._show(f"MCP handler '{self.name}' did not list its tools: {self._scrubbed(described(error))}")
            self._count(breaker, ADMITTED, is_error=True)
            return
        tools, problems = read_tools(listed, self.name, qualified=self._qualified)
        with self._lock:
            if self._breaker is not breaker:
                return  # It was shut down meanwhile.
            earlier, self.tools = self.tools, tools
            new = [problem for problem in problems if problem not in self._shown]
            self._shown.update(new)
        for problem in new:
            self._show(f"MCP handler '{self.name}': {problem}")
        if tools != earlier:
            self._on_change()
        # Last: a thread that sees `is_discovered` does not wait, and needs an index that contains the tools.
        with self._lock:
            if self._breaker is breaker:
                self.is_discovered = True

    def _called(self, tool: str, arguments: dict[str, Any], caller: Call | None) -> MCPToolResult:
        try:
            value = self._run(lambda: self.handler.call_tool(tool, arguments), caller)
        except CallCancelledError:
            if caller is not None:
                caller.raise_if_cancelled()
            return failed(f"{self._naming(tool)} was cancelled")
        except HandlerHungError as error:
            logger.warning("MCP handler %r hangs in tool %r: %s; its thread is left behind", self.name, tool, error)
            return failed(f"{self._naming(tool)} timed out: {error}")
        except Exception as error:  # noqa: BLE001 (the handler's own code)
            self._on_failure(f"tool {tool!r} raised {self._scrubbed(raised(error))}", error)
            return failed(f"{self._naming(tool)} failed: {self._scrubbed(described(error))}")
        result = checked(value, lambda: self._naming(tool))
        return replace(result, error_message=self._scrubbed(result.error_message)) if result.error_message else result

    def _scrubbed(self, text: str) -> str:
        return scrubbed(text, self.handler.config.settings)

    def _naming(self, tool: str) -> str:
        return f"tool '{tool}' of handler '{self.name}'"

    def _count(self, breaker: CircuitBreaker, admission: Admission, *, is_error: bool) -> None:
        with self._lock:
            opened = is_error and breaker.failed(admission, self._clock())
            closed = not is_error and breaker.succeeded(admission)
            is_current = self._breaker is breaker
        if opened and is_current:
            again = f"; it is tried again after {COOL_DOWN_SECONDS:g} s" if self._is_client else ""
            self._show(
                f"MCP handler '{self.name}' is disabled after {MAX_CONSECUTIVE_ERRORS} consecutive errors{again}"
            )
        if is_current and (opened or closed or admission == TRIAL):
            self._on_change()

    def _forget_tools(self) -> None:
        self.is_discovered = False
        self._on_change("tools")

    def _report_unreachable(self, problem: str) -> None:
        self._show(f"MCP handler '{self.name}' failed to connect: {self._scrubbed(problem)}")
        self._on_change()

    def _run(self, function: Callable[[], Any], caller: Call | None, seconds: float | None = None) -> Any:
        if self._is_client:
            return function()
        if seconds is None:
            timeout = self.handler.config.timeout
            seconds = timeout if isinstance(timeout, (int, float)) and timeout > 0 else DEFAULT_TIMEOUT_SECONDS
        deadline = Deadline(seconds, ceiling=LONGEST_REQUEST_SECONDS, clock=self._clock)
        return self._threads.run(function, deadline, caller)

    def _new_breaker(self) -> CircuitBreaker:
        return CircuitBreaker(COOL_DOWN_SECONDS if self._is_client else None)


def as_listed(tools: Iterable[Any]) -> list[Any]:
    """The result of `list_tools`, which may be a generator. Raises `TypeError` if it is not iterable."""
    return list(islice(tools, MAX_TOOLS))


def read_tools(
    listed: list[Any], handler: str, *, qualified: bool = False
) -> tuple[dict[str, MCPToolDefinition], list[str]]:
    """The tools of the handler `handler` by their names there, and messages about invalid ones.

    With `qualified`, their own names are `HANDLER.TOOL`.
    """
    tools: dict[str, MCPToolDefinition] = {}
    problems = []
    for number, tool in enumerate(listed, 1):
        if not isinstance(tool, MCPToolDefinition) or not isinstance(tool.name, str) or not tool.name:
            problems.append(f"tool {number} is not an MCPToolDefinition with a name, and is left out")
        elif tool.name in tools:
            problems.append(f"tool '{tool.name}' is listed twice; the first one is used")
        else:
            tools[tool.name] = _published(tool, handler, qualified)
    return tools, problems


def _published(tool: MCPToolDefinition, handler: str, qualified: bool) -> MCPToolDefinition:
    name = f"{handler}.{tool.name}" if qualified else tool.name
    description = tool.description if isinstance(tool.description, str) else ""
    schema = tool.input_schema if isinstance(tool.input_schema, dict) else {}
    if (name, description, handler) == (tool.name, tool.description, tool.handler_name) and schema is tool.input_schema:
        return tool
    return replace(tool, name=name, description=description, input_schema=schema, handler_name=handler)

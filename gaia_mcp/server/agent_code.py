"""How the parts of an agent's provider run the agent's own code, also `async def`: that in the event loop of a thread
of its own.

asyncio is imported when an agent first returns an awaitable.
"""

from __future__ import annotations

import threading
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

if TYPE_CHECKING:
    import asyncio

    from gaia_mcp.asking import Call
    from gaia_mcp.server.outcomes import OnFailure

_LISTS = frozenset({"tools", "prompts", "resources", "templates"})
# How long cancelled tasks may take to clean up on close. Clients wait about two seconds for a server to exit.
CLOSE_SECONDS = 0.5


class TextMethod(Protocol):
    """A marked method whose arguments are text."""

    def call(self, agent: Any, arguments: Mapping[str, str]) -> Any:
        """Call the method. Raises `InvalidArgumentsError`, and whatever the method raises."""

    def completions(self, agent: Any, name: str, typed: str, given: Mapping[str, str]) -> Iterable[str] | None:
        """The completions of an argument; None if no argument has this name."""


class MarkedPrompt(Protocol):
    """A method that is marked with `@prompt`."""

    @property
    def definition(self) -> dict[str, Any]:
        """MCP's `Prompt`."""

    @property
    def text(self) -> TextMethod:
        """The method."""


class MarkedResource(Protocol):
    """A method that is marked with `@resource`."""

    @property
    def definition(self) -> dict[str, Any]:
        """MCP's `Resource` or `ResourceTemplate`."""

    @property
    def caching(self) -> dict[str, Any]:
        """The `ttlMs` and `cacheScope` of its results, where given."""

    @property
    def specificity(self) -> tuple[int, int]:
        """The sort key of templates that match the same URI: the greatest wins."""

    @property
    def text(self) -> TextMethod:
        """The method."""

    def match(self, uri: str) -> dict[str, str] | None:
        """The variables of a URI; None if it does not match the template."""


class Features(NamedTuple):
    """The marked prompts by name, resources by URI and templates by template."""

    prompts: Mapping[str, MarkedPrompt] = {}
    resources: Mapping[str, MarkedResource] = {}
    templates: Mapping[str, MarkedResource] = {}


# The caching hints of a list: the result's member, the agent's attribute, the check of its value, the expected value.
_CACHING: tuple[tuple[str, str, Callable[[Any], bool], str], ...] = (
    ("ttlMs", "list_ttl_ms", lambda ttl: type(ttl) is int and ttl >= 0, "a whole number of milliseconds from 0 on"),
    ("cacheScope", "list_cache_scope", lambda scope: scope in ("public", "private"), "'public' or 'private'"),
)


class AgentCode:
    """The code of one agent. `note` reports a problem of its definitions once and adds it to `problems`. `on_failure`
    gets the exceptions that are not answered with an error.
    """

    def __init__(self, agent: Any, report: Callable[[str], None], on_failure: OnFailure) -> None:
        self.agent = agent
        self.on_failure = on_failure
        self.loop = EventLoop()
        self.problems: list[str] = []
        self._report = report

    def note(self, problem: str) -> None:
        """Report a problem, unless it was reported before."""
        if problem not in self.problems:
            self.problems.append(problem)
            self._report(problem)

    def optional(self, name: str) -> Any:
        """The return value of the agent's method of this name; None if it has no such method."""
        method = getattr(self.agent, name, None)
        return method() if callable(method) else None

    def features(self) -> Features:
        """The agent's marked prompts, resources and templates."""
        found = self.optional("get_mcp_features")
        return Features() if found is None else Features(found.prompts, found.resources, found.templates)

    def without_marked(
        self, kind: str, own: Iterable[dict[str, Any]], key: str, marked: Mapping[str, Any]
    ) -> list[dict[str, Any]]:
        """The agent's own definitions, without those that a marked method of the same `key` overrides."""
        kept = []
        for definition in own:
            if (method := marked.get(definition[key])) is None:
                kept.append(definition)
            elif method.definition != definition:
                self.note(f"{kind} {definition[key]!r} is defined twice; the marked method is used")
        return kept

    def list_caching(self, name: str) -> dict[str, Any]:
        """The `ttlMs` and `cacheScope` for the result of the list `name` ("tools", "prompts", "resources" or
        "templates"), where the agent sets them.
        """
        found = {}
        for member, attribute, is_allowed, described in _CACHING:
            value = getattr(self.agent, attribute, None)
            if isinstance(value, Mapping):
                for unknown in value.keys() - _LISTS:
                    self.note(f"{attribute} has {unknown!r}, which is not one of {', '.join(sorted(_LISTS))}")
                value = value.get(name)
            if value is None or value == "":
                continue
            if is_allowed(value):
                found[member] = value
            else:
                self.note(f"{attribute} of the list of {name} is {value!r}, not {described}, and is left out")
        return found

    def awaited(self, value: Any, call: Call) -> Any:
        """`value`; if it is awaitable, its result."""
        return self.loop.run(value, call) if hasattr(value, "__await__") else value


class EventLoop:
    """Runs the awaitables of calls in one loop, started on first use. Safe to use from several threads."""

    def __init__(self, close_seconds: float = CLOSE_SECONDS) -> None:
        self._close_seconds = close_seconds
        # Guards the fields below.
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._running = 0
        self._is_retired = False

    def run(self, awaitable: Awaitable[Any], call: Call) -> Any:
        """The result of `awaitable`, which runs with this thread's context.

        Raises whatever it raises. When the call is cancelled, cancels the asyncio task and raises `CallCancelledError`.
        """
        import asyncio
        from concurrent.futures import CancelledError

        with self._lock:
            loop = self._loop = self._loop or self._start()
            self._running += 1
        try:
            future = asyncio.run_coroutine_threadsafe(_outcome(awaitable), loop)
            call.on_cancel(future.cancel)
            value, error = future.result()
        except CancelledError:
            call.raise_if_cancelled()
            raise
        finally:
            with self._lock:
                self._running -= 1
                is_last = self._is_retired and not self._running
            if is_last:
                self.close()
        if error is not None:
            raise error
        return value

    def retire(self) -> None:
        """Close the loop after the last call that uses it."""
        with self._lock:
            self._is_retired = True
            is_last = not self._running
        if is_last:
            self.close()

    def close(self) -> None:
        """Cancel the running tasks, and stop the loop and its thread. The thread is abandoned if a task blocks it."""
        with self._lock:
            loop, thread, self._loop, self._thread = self._loop, self._thread, None, None
        if loop is not None and thread is not None:
            import asyncio

            asyncio.run_coroutine_threadsafe(_cancel_others(), loop).add_done_callback(
                lambda _: loop.call_soon_threadsafe(loop.stop)
            )
            thread.join(self._close_seconds)

    def _start(self) -> asyncio.AbstractEventLoop:
        import asyncio

        loop = asyncio.new_event_loop()

        def serve() -> None:
            asyncio.set_event_loop(loop)
            loop.run_forever()
            loop.close()

        self._thread = threading.Thread(target=serve, name="event loop", daemon=True)
        self._thread.start()
        return loop


async def _outcome(awaitable: Awaitable[Any]) -> tuple[Any, BaseException | None]:
    """The result, or an exception that would stop the loop."""
    try:
        return await awaitable, None
    except (SystemExit, KeyboardInterrupt) as error:
        return None, error


async def _cancel_others() -> None:
    import asyncio

    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)
    await asyncio.get_running_loop().shutdown_asyncgens()

"""The running call: a tool reports progress and logs through it, asks its client, and learns that it was cancelled.

A provider enters a call before it runs a tool's code. Outside of a call nothing is reported, so the same tool runs in a
test or a script, and there is nothing to ask.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from operator import itemgetter
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, overload

if TYPE_CHECKING:
    from gaia_mcp.asking.questions import Accepted, AnswerList, Asked, Cancelled, Declined, Roots, Sampled

T = TypeVar("T")

# (progress, total, text), (level, data)
OnProgress = Callable[[float, float | None, str], None]
OnLog = Callable[[str, Any], None]


class CallCancelledError(Exception):
    """The client has cancelled this call. Nothing is sent about it any more."""


class CallingClient(NamedTuple):
    """The client of a call, as it describes itself. Its name is for display, never a basis for behaviour."""

    name: str = ""
    version: str = ""
    capabilities: Mapping[str, Any] = MappingProxyType({})


# Held to create a call's event, so that all threads that wait on it have the same one.
_creating = threading.Lock()


class Call:
    """One running call. Safe to use from several threads. `is_cancelled`: the client has cancelled it.

    What asks (`elicit` and the following) blocks its thread until the client has answered; in `async` code it is
    awaited. A tool that asks may run several times: see `once`. Each raises `QuestionError` where the client cannot be
    asked (`MissingCapabilityError` if it lacks a capability), refuses, or does not come to an answer; `ValueError` for
    a question that the specification does not allow; and `CallCancelledError`.
    """

    # The verified caller, None where callers are not told apart, as over stdio.
    principal: str | None = None
    # The scopes of the caller's access token; None where callers have no such tokens, and scopes restrict nothing.
    scopes: frozenset[str] | None = None
    client = CallingClient()
    # The `_meta` of the request.
    meta: Mapping[str, Any] = MappingProxyType({})
    # For what runs tools: the client could have asked for a task and has not, so that a tool which must run as one is
    # not there for it.
    lacks_task = False
    # For what runs tools: another run follows, with the answer, so that nothing is wrong with what this one lacks.
    ends_with_question = False
    # For what runs tools: a question is the result of this run, and another run follows. Elsewhere its thread waits.
    asks_by_result = False
    # The client wants log messages from this level upwards, None for none.
    log_level: str | None = None

    def __init__(self, on_progress: OnProgress | None = None, on_log: OnLog | None = None) -> None:
        self._on_progress = on_progress
        self._on_log = on_log
        self.is_cancelled = False
        # Created by the first `wait`: most calls never wait.
        self._cancelled: threading.Event | None = None
        self._when_cancelled: dict[object, Callable[[], object]] = {}

    def progress(self, done: float, total: float | None = None, text: str = "") -> None:
        """Report progress; `done` only ever grows. Raises `CallCancelledError` if the call is cancelled."""
        self.raise_if_cancelled()
        if self._on_progress is not None:
            self._on_progress(done, total, text)

    def log(self, level: str, data: Any, logger: str = "") -> None:
        """Send a log message; `level` is one of debug, info, notice, warning, error, critical, alert, emergency.
        `logger` is the name of what logs, by default that of the tool.
        """
        del logger
        if self._on_log is not None:
            self._on_log(level, data)

    def raise_if_cancelled(self) -> None:
        """Raises `CallCancelledError` if the call is cancelled."""
        if self.is_cancelled:
            raise CallCancelledError

    def wait(self, seconds: float) -> None:
        """Pause for `seconds`. Raises `CallCancelledError` as soon as the call is cancelled.

        It blocks the thread; an `async def` awaits `asyncio.sleep` instead, which a cancellation ends as well.
        """
        with _creating:
            cancelled = self._cancelled = self._cancelled or threading.Event()
        # Read only now that `cancel()` finds the event to set.
        if not self.is_cancelled:
            cancelled.wait(seconds)
        self.raise_if_cancelled()

    def continue_as_task(self, *, required: bool = False) -> bool:
        """Answer the request with a task, where its client accepts one: this code then goes on without the request, and
        the client asks for its state. Progress becomes a message about the task, and questions are asked as before.
        Whether the call is a task now; if not, its client waits for the result.

        `required` is for a call that would take too long otherwise: the request of a client that has tasks, but has not
        declared that it accepts them, then ends with an error, and so it does when too many tasks are running.
        """
        del required
        return False

    def close_stream(self) -> None:
        """Close the connection on which the client waits for this call, where it comes back a second later for what
        follows: over HTTP, in revision 2025-11-25. Nothing is lost, and a call that takes long holds no connection
        meanwhile. Elsewhere nothing happens.
        """

    # Asking.

    @overload
    def elicit(self, message: str, form: type[T], *, name: str = "") -> Accepted[T] | Declined | Cancelled: ...
    @overload
    def elicit(
        self, message: str, form: dict[str, Any], *, name: str = ""
    ) -> Accepted[dict[str, Any]] | Declined | Cancelled: ...
    def elicit(self, message: str, form: Any, *, name: str = "") -> Any:
        """Ask the person to fill in a form: a dataclass, or a flat JSON Schema."""
        from gaia_mcp.asking.questions import Elicit

        return self._asked_one(Elicit(message, form, name=name))

    def elicit_url(self, message: str, url: str, *, name: str = "") -> Accepted[None] | Declined | Cancelled:
        """Ask the person to open a URL, such as a login page. Nothing secret may be asked for in a form."""
        from gaia_mcp.asking.questions import ElicitURL

        return self._asked_one(ElicitURL(message, url, name=name))

    def sample(
        self,
        messages: str | Sequence[dict[str, Any]],
        *,
        max_tokens: int = 1000,
        system_prompt: str = "",
        name: str = "",
        **options: Any,
    ) -> Sampled:
        """Ask the client's model. `options` are further parameters of `sampling/createMessage` (`tools`, …)."""
        from gaia_mcp.asking.questions import Sample

        return self._asked_one(Sample(messages, max_tokens, system_prompt, options, name=name))

    def roots(self, *, name: str = "") -> Roots:
        """The folders that the client works in."""
        from gaia_mcp.asking.questions import ListRoots

        return self._asked_one(ListRoots(name=name))

    def ask_all(self, *questions: Asked[Any]) -> AnswerList:
        """Ask several questions at once; their answers in the same order."""
        from gaia_mcp.asking.questions import AnswerList

        answers: AnswerList = self._asked(questions, pick=AnswerList)
        return answers

    def can_ask(self, question: Asked[Any]) -> bool:  # noqa: ARG002 (a call of a server uses it)
        """Whether the client has declared what this question needs; False where there is no client to ask."""
        return False

    def once(self, name: str, function: Callable[[], T]) -> T:
        """What `function` returns, which must be JSON. It is called once, however often the tool runs for this call."""
        del name
        return function()

    def _asked_one(self, question: Asked[T]) -> T:
        answer: T = self._asked((question,), pick=itemgetter(0))
        return answer

    def _asked(self, questions: Sequence[Asked[Any]], pick: Callable[[list[Any]], Any]) -> Any:
        """The answers, of which `pick` returns what the caller wants; in `async` code what is awaited for that."""
        if "asyncio" in sys.modules:
            from gaia_mcp.asking.event_loops import in_thread, is_in_loop

            if is_in_loop():
                return in_thread(lambda: pick(self._ask(questions)))
        return pick(self._ask(questions))

    def _ask(self, questions: Sequence[Asked[Any]]) -> list[Any]:  # noqa: ARG002 (a call of a server uses them)
        from gaia_mcp.protocol.questions import QuestionError

        raise QuestionError(
            "there is no client to ask: this code runs outside of a call, or in a thread without the call of its tool"
        )

    def on_cancel(self, function: Callable[[], object]) -> Callable[[], None]:
        """For what runs tools: call `function` once when the call is cancelled, or now if it is. It must not block.
        Returns a function that ends this.
        """
        key = object()
        with _creating:
            self._when_cancelled[key] = function
        if self.is_cancelled:
            self._call_back()

        def forget() -> None:
            self._when_cancelled.pop(key, None)

        return forget

    def cancel(self) -> None:
        """For the server: the client has cancelled the call."""
        self.is_cancelled = True
        if self._cancelled is not None:
            self._cancelled.set()
        self._call_back()

    def _call_back(self) -> None:
        with _creating:
            functions, self._when_cancelled = list(self._when_cancelled.values()), {}
        for function in functions:
            function()


_CURRENT: ContextVar[Call | None] = ContextVar("gaia_mcp_tool_call", default=None)


def current_call() -> Call:
    """The call that this code runs for; outside of a call, one that does nothing."""
    return _CURRENT.get() or Call()


def entered_call() -> Call | None:
    """For what runs tools: the call that this code runs for, None outside of a call."""
    return _CURRENT.get()


def enter_call(call: Call | None) -> None:
    """For a provider: the code that runs in this thread from now on runs for `call`."""
    _CURRENT.set(call)

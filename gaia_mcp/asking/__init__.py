"""A running call, and what it asks of its client: elicitation, sampling, and the roots.

Through `current_call()` a tool reports progress, logs, asks and notices cancellation. A provider enters a call before
it runs a tool's code; outside of a call nothing is reported and nobody is asked, so the same tool also runs in a test
or a script.

An author writes a question (`questions`) and gets a typed answer, independent of the client's era. A client of the
handshake era gets a request, and the thread waits for the response. A client of the stateless era gets `input_required`
as the result: the run ends, the client repeats the call with the answers, and the tool runs again from its beginning.
In that run, earlier questions are answered at once from the record (`server.call_questions`), which the client sends
back in sealed form (`sealing`). So a tool must ask the same questions again when it gets the same answers; code that
must not run twice belongs in `once`.
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
_CURRENT: ContextVar[Call | None] = ContextVar("gaia_mcp_tool_call", default=None)


class CallCancelledError(Exception):
    """The client has cancelled this call. Nothing more is sent for it."""


class CallingClient(NamedTuple):
    """The client of a call, as it describes itself. Its name is for display, never a basis for behaviour."""

    name: str = ""
    version: str = ""
    capabilities: Mapping[str, Any] = MappingProxyType({})


# Held to create a call's event, so that all threads that wait on it have the same one.
_creating = threading.Lock()


class Call:
    """One running call. May be used from several threads. `is_cancelled`: the client has cancelled it.

    The methods that ask the client (`elicit` and the following) block the thread until the client has answered; in
    `async` code they are awaited. A tool that asks may run several times: see `once`. They raise `QuestionError` if the
    client cannot be asked (`MissingCapabilityError` if it lacks a capability), rejects the request, or gives no answer;
    `ValueError` for a question that the specification does not allow; and `CallCancelledError`.
    """

    # The verified caller, None where callers are not distinguished, as over stdio.
    principal: str | None = None
    # The id of the session that the call belongs to; None where a client has none: over stdio, or in the stateless era.
    session: str | None = None
    # The scopes of the caller's access token; None where callers have no such tokens, and scopes restrict nothing.
    scopes: frozenset[str] | None = None
    client = CallingClient()
    # The `_meta` of the request.
    meta: Mapping[str, Any] = MappingProxyType({})
    # For providers: the client could have requested a task but has not, so a tool that requires one is unavailable.
    lacks_task = False
    # For providers: this run ends with a question and is repeated with the answer, so its result is not validated.
    ends_with_question = False
    # For providers: a question is the result of this run, and another run follows. Otherwise the thread waits.
    asks_by_result = False
    # For providers: arguments that do not match the tool's schema are an error of the request, not a failed call.
    rejects_arguments = False
    # The client has requested log messages from this level upwards, None for none.
    log_level: str | None = None
    is_cancelled = False
    # Created by the first `wait`: most calls never wait.
    _cancelled: threading.Event | None = None

    def __init__(self, on_progress: OnProgress | None = None, on_log: OnLog | None = None) -> None:
        self._on_progress = on_progress
        self._on_log = on_log
        self._when_cancelled: dict[object, Callable[[], object]] = {}

    def progress(self, done: float, total: float | None = None, text: str = "") -> None:
        """Report progress; `done` must increase. Raises `CallCancelledError` if the call is cancelled."""
        self.raise_if_cancelled()
        if self._on_progress is not None:
            self._on_progress(done, total, text)

    def log(self, level: str, data: Any, logger: str = "") -> None:
        """Send a log message; `level` is one of debug, info, notice, warning, error, critical, alert, emergency.
        `logger` is the logger's name, by default the tool's.
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
        """Respond to the request with a task, if the client accepts one: this code then continues as the task, and the
        client polls its state. Progress becomes the task's status message, and questions are asked as before. Returns
        whether the call is a task now; if not, the client waits for the result.

        `required` is for a call that would take too long otherwise: if the client's revision has tasks but the client
        has not declared them, or if too many tasks are running, the request ends with an error.
        """
        del required
        return False

    def close_stream(self) -> None:
        """Close the connection on which the client waits for this call, if the client reconnects a second later for the
        rest: over HTTP, in revision 2025-11-25. Nothing is lost, and a long call occupies no connection meanwhile. Does
        nothing elsewhere.
        """

    # Requests to the client. `import … as`, because `from … import` takes a microsecond each time.

    @overload
    def elicit(self, message: str, form: type[T], *, name: str = "") -> Accepted[T] | Declined | Cancelled: ...
    @overload
    def elicit(
        self, message: str, form: dict[str, Any], *, name: str = ""
    ) -> Accepted[dict[str, Any]] | Declined | Cancelled: ...
    def elicit(self, message: str, form: Any, *, name: str = "") -> Any:
        """Ask the user to fill in a form: a dataclass, or a flat JSON Schema."""
        import gaia_mcp.asking.questions as asking

        return self._asked_one(asking.Elicit(message, form, name=name))

    def elicit_url(self, message: str, url: str, *, name: str = "") -> Accepted[None] | Declined | Cancelled:
        """Ask the user to open a URL, such as a login page. Secrets must not be requested in a form."""
        import gaia_mcp.asking.questions as asking

        return self._asked_one(asking.ElicitURL(message, url, name=name))

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
        import gaia_mcp.asking.questions as asking

        return self._asked_one(asking.Sample(messages, max_tokens, system_prompt, options, name=name))

    def roots(self, *, name: str = "") -> Roots:
        """The roots of the client: the folders that it works in."""
        import gaia_mcp.asking.questions as asking

        return self._asked_one(asking.ListRoots(name=name))

    def ask_all(self, *questions: Asked[Any]) -> AnswerList:
        """Ask several questions at once. Returns the answers in the same order."""
        from gaia_mcp.asking.questions import AnswerList

        answers: AnswerList = self._asked(questions, pick=AnswerList)
        return answers

    def can_ask(self, question: Asked[Any]) -> bool:  # noqa: ARG002 (a call of a server uses it)
        """Whether the client has declared the capability for this question; False without a client."""
        return False

    def once(self, name: str, function: Callable[[], T]) -> T:
        """The result of `function`, a JSON value. It is called once, however often the tool runs for this call."""
        del name
        return function()

    def kept(self, name: str) -> Any:
        """For providers: what `once` has kept under this name; None if nothing."""
        del name
        return None

    def _asked_one(self, question: Asked[T]) -> T:
        answer: T = self._asked((question,), pick=itemgetter(0))
        return answer

    def _asked(self, questions: Sequence[Asked[Any]], pick: Callable[[list[Any]], Any]) -> Any:
        """The part of the answers that `pick` returns; in `async` code an awaitable of it."""
        if "asyncio" in sys.modules and is_in_loop():
            return in_thread(lambda: pick(self._ask(questions)))
        return pick(self._ask(questions))

    def _ask(self, questions: Sequence[Asked[Any]]) -> list[Any]:  # noqa: ARG002 (a call of a server uses them)
        from gaia_mcp.protocol.input_required import QuestionError

        raise QuestionError(
            "there is no client to ask: this code runs outside of a call, or in a thread without the call of its tool"
        )

    def on_cancel(self, function: Callable[[], object]) -> Callable[[], None]:
        """For providers: call `function` once when the call is cancelled, or now if it is. It must not block. Returns a
        function that removes it.
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


def current_call() -> Call:
    """The call that this code runs for; outside of a call, one that does nothing."""
    return _CURRENT.get() or Call()


def entered_call() -> Call | None:
    """For providers: the call that this code runs for, None outside of a call."""
    return _CURRENT.get()


def enter_call(call: Call | None) -> None:
    """For providers: from now on, the code in this thread runs for `call`."""
    _CURRENT.set(call)


def is_in_loop() -> bool:
    """Whether an event loop runs in this thread."""
    import asyncio

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


async def in_thread(ask: Callable[[], T]) -> T:
    """Run `ask` in another thread, with the context of this task. Returns or raises what `ask` does."""
    import asyncio

    return await asyncio.to_thread(ask)

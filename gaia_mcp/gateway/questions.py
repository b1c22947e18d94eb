"""The questions of a server behind a gateway, as questions of the call that led to them.

What a server asks is checked here, for it goes to another program in a form of its own.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from gaia_mcp.asking.questions import Asked
from gaia_mcp.client.host import DeclinedError, Host, UnsupportedError
from gaia_mcp.protocol.questions import ELICIT, LIST_ROOTS, SAMPLE, MissingCapabilityError, Question, QuestionError

if TYPE_CHECKING:
    from gaia_mcp.toolcall import Call

Wire = dict[str, Any]
# Answers a question that a server asks with a request. Raises `QuestionError`.
Ask = Callable[["Passed"], Wire]

# Of what clients declare, the capabilities that are asked for on their behalf, with the modes of each.
_MODES = {"elicitation": ("form", "url"), "sampling": ("tools", "context"), "roots": ()}


@dataclass(frozen=True)
class Passed(Asked[Wire]):
    """A question in a server's own words. Raises `QuestionError` for one that no client knows, when it is made."""

    method: str
    params: Wire

    def __post_init__(self) -> None:
        if (problem := _problem(self.method, self.params)) is not None:
            raise QuestionError(f"the server asked {problem}")

    @cached_property
    def question(self) -> Question:
        return Question(self.method, self.params)

    def _read(self, answer: Wire) -> Wire:
        return answer


def passed_capabilities(capabilities: Mapping[str, Any]) -> Wire:
    """Those of a client's capabilities that servers may use through the gateway."""
    return {
        name: {mode: {} for mode in modes if mode in has}
        for name, modes in _MODES.items()
        if isinstance(has := capabilities.get(name), dict)
    }


class Declared:
    """What a gateway declares to a server when it connects: what its clients so far declare, or everything from the
    beginning if `is_all`.

    With one client, a server that adapts to its client does so behind the gateway too. With several, the ones who come
    later can be asked only what was declared before.
    """

    def __init__(self, *, is_all: bool = False) -> None:
        modes = _MODES.items() if is_all else ()
        self.capabilities: Wire = {name: {mode: {} for mode in of} for name, of in modes}

    def add(self, capabilities: Mapping[str, Any]) -> None:
        """There is a client with these."""
        for name, found in passed_capabilities(capabilities).items():
            known = self.capabilities.get(name)
            if known is None or found.keys() - known.keys():
                self.capabilities = {**self.capabilities, name: {**(known or {}), **found}}


class ServerRequests:
    """The requests of one server, each answered by a call that is open at the server. Safe to use from several threads.

    A server over stdio does not say which call a request belongs to. It is asked by the one that has asked least, of
    these the newest, and by another one if that ends meanwhile: so a server may ask as often for each of its calls as
    if it did say. If the open calls are of several users the request is refused: no user may see another's question.
    """

    def __init__(self, declared: Declared) -> None:
        self.host = _Host(declared, self._answer, self._log)
        self._lock = threading.Lock()
        self._open: list[_Open] = []

    @contextmanager
    def opened(self, call: Call, ask: Ask) -> Iterator[None]:
        """While a request of `call` is open at the server, `ask` answers what that asks."""
        mine = _Open(call, ask)
        with self._lock:
            self._open.append(mine)
        try:
            yield
        finally:
            with self._lock:
                self._open = [each for each in self._open if each is not mine]

    def _answer(self, method: str, params: Wire) -> Wire:
        try:
            question = Passed(method, params)
            while True:
                chosen = self._chosen()
                try:
                    return chosen.ask(question)
                except QuestionError:
                    # Has its call ended, or has its client refused?
                    if any(each is chosen for each in self._open):
                        raise
        except MissingCapabilityError as missing:
            raise UnsupportedError(method) from missing
        except QuestionError as problem:
            raise DeclinedError(str(problem)) from problem

    def _chosen(self) -> _Open:
        """The call that asks. Raises `QuestionError`."""
        with self._lock:
            if len({each.call.principal for each in self._open}) > 1:
                raise QuestionError("several users call this server, and it does not say whom it asks")
            if not self._open:
                raise QuestionError("no call is open that this could be about")
            chosen = min(reversed(self._open), key=lambda each: each.asked)
            chosen.asked += 1
            return chosen

    def _log(self, level: str, logger: str, data: Any) -> None:
        with self._lock:
            found = list(self._open)
        if len({each.call.principal for each in found}) == 1:
            found[-1].call.log(level, data, logger)


class _Open:
    """A call that is open at the server, what asks its client, and how many questions that was given."""

    def __init__(self, call: Call, ask: Ask) -> None:
        self.call = call
        self.ask = ask
        self.asked = 0


class _Host(Host):
    """Answers everything that is `declared` by `ask`."""

    def __init__(
        self, declared: Declared, ask: Callable[[str, Wire], Wire], on_log: Callable[[str, str, Any], None]
    ) -> None:
        super().__init__(on_log=on_log)
        # What was declared to the server when it was connected.
        self.shown: Wire = {}
        self._declared = declared
        self._ask = ask

    def capabilities(self) -> Wire:
        self.shown = self._declared.capabilities
        return self.shown

    def answer(self, method: str, params: Wire) -> Wire:
        return self._ask(method, params)


def asked_of(call: Call) -> Ask:
    """What answers questions by asking the client of `call`, in the thread that wants the answer."""

    def ask(question: Passed) -> Wire:
        answer: Wire = call.ask_all(question)[0]
        return answer

    return ask


def _problem(method: str, params: Wire) -> str | None:
    """What is wrong with a question, as the end of a sentence."""
    if method not in (ELICIT, SAMPLE, LIST_ROOTS):
        return f"for {method!r}, which no client knows"
    if method != ELICIT:
        return None
    if not isinstance(params.get("message"), str):
        return "without a message"
    if params.get("mode") == "url":
        return None if isinstance(params.get("url"), str) else "to open a URL that is not there"
    schema = params.get("requestedSchema")
    fields = schema.get("properties") if isinstance(schema, dict) else None
    if not isinstance(fields, dict) or not all(isinstance(field, dict) for field in fields.values()):
        return "with an invalid form"
    return None

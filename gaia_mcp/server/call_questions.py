"""The questions of one call: asked in this run, or answered in an earlier one, and the record of both that the client
sends back.

Most calls never load this module. Knows no revision: the front either sends a question and the thread waits, or puts it
into a result and the run ends.
"""

from __future__ import annotations

import hashlib
import json
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from typing import Any, TypeVar

from gaia_mcp.asking.questions import AnswerError, Asked
from gaia_mcp.asking.sealing import Sealer, SealError, subject_of
from gaia_mcp.core.content import NotJSONError, as_json_value
from gaia_mcp.core.internals import compact_writer
from gaia_mcp.protocol.input_required import MAX_ROUND_TRIPS, Question, QuestionError, retry_of
from gaia_mcp.server.provider import RequestError
from gaia_mcp.server.running_call import HAS_ENDED, Answer, InputRequired, RunningCall

T = TypeVar("T")

# Long enough for a person to answer; after an hour we assume that they have left.
ANSWER_SECONDS = 3600.0
# The limit of a name in a log line: the client chooses the name.
_NAME_CHARS = 200
Wire = dict[str, Any]
_DIGEST_CHARS = 32
_CHANGES = "it is another question each time that the tool runs"
_UNANSWERED = "the client sends no answer to it"
_NULL = "the answer is null"


class CallQuestions:
    """The questions of one call; `record` has their answers over all runs.

    Does not refer to the call, which its methods take: most calls are freed as soon as they end, without the collector.
    """

    def __init__(self, record: Record | None = None) -> None:
        self.record = Record() if record is None else record
        # Guards the record: a tool may ask from several threads. Never held during a wait.
        self.lock = threading.RLock()
        # Guards `once`. Not `lock`: its function may wait for another thread, which asks.
        self._once = threading.RLock()
        # The number of questions in this run, and their names.
        self._count = 0
        self._names: set[str] = set()
        # The pending answers that threads wait for.
        self._awaited: list[Answer] = []
        self._has_lost_client = False

    def sealed(self, call: RunningCall, sealer: Sealer, logs: int, progress: float | None) -> str:
        """The record as the `requestState` that the client returns. `logs` is the number of log messages in this run,
        `progress` the last progress reported.
        """
        self.record.logs = max(self.record.logs, logs)
        self.record.progress = progress
        return sealer.seal(self.record.dumped(), _subject(call), time.time())

    def once(self, name: str, function: Callable[[], T]) -> T:
        """The result of `function`, called in the first run only."""
        with self._once:
            kept = self.record.once
            if name not in kept:
                value = function()
                try:
                    kept[name] = as_json_value(value)
                except NotJSONError as problem:
                    raise TypeError(f"once {name!r}: the value is not JSON: {problem}") from problem
            found: T = kept[name]
            return found

    def ask(self, call: RunningCall, questions: Sequence[Asked[Any]]) -> list[Any]:
        """The answers to these questions. Raises `InputRequired` if they go into the result of this run."""
        _raise_if_ended(call)
        with self.lock:
            named = self._named(questions)
        read: dict[str, Any] = {}
        while True:
            with self.lock:
                missing = self._missing(named, read)
                if not missing:
                    return [read[name] for name in named]
                self.record.ask(missing, by_result=call.asks_by_result)
            with nullcontext() if call.asks_by_result else call.front.waiting(call):
                answers = call.front.ask(call, _in_trace(call, missing))
                if answers is None:
                    with self.lock:
                        call.required = {**call.required, **missing}
                    raise InputRequired
                self._await(call, answers)

    def end_waits(self) -> None:
        """Wake the threads that wait for an answer: the call has ended, and no wait begins from here on."""
        for answer in list(self._awaited):
            answer.set(None, None)

    def lose_client(self) -> None:
        """End the waits for answers, and all later ones: the client has disconnected."""
        self._has_lost_client = True
        self.end_waits()

    def _named(self, questions: Sequence[Asked[Any]]) -> dict[str, Asked[Any]]:
        named: dict[str, Asked[Any]] = {}
        for one in questions:
            self._count += 1
            name = one.name or str(self._count)
            if name in self._names:
                raise ValueError(f"an earlier question of this call has the same name {name!r}; give each its own")
            self._names.add(name)
            named[name] = one
        return named

    def _missing(self, named: Mapping[str, Asked[Any]], read: dict[str, Any]) -> dict[str, Question]:
        """The questions without a valid answer. Adds the values of the others to `read`."""
        missing = {}
        for name, one in named.items():
            if name in read:
                continue
            if (answer := self.record.answer(name, one.question)) is None:
                missing[name] = one.question
                continue
            try:
                read[name] = one.read(answer)
            except AnswerError as problem:
                self.record.reject(name, str(problem))
                missing[name] = one.question
        return missing

    def _await(self, call: RunningCall, answers: Mapping[str, Answer]) -> None:
        """Wait for the answers, and add them to the record."""

        def wake() -> None:
            for answer in answers.values():
                answer.set(None, None)

        seconds = ANSWER_SECONDS if call.answer_seconds is None else call.answer_seconds
        forget = call.on_cancel(wake)
        self._awaited += answers.values()
        try:
            for name, answer in answers.items():
                self._raise_if_lost()
                _raise_if_ended(call)
                if not answer.wait(seconds):
                    raise QuestionError(f"question {name!r} was not answered within {seconds:g} s")
                call.raise_if_cancelled()
                self._raise_if_lost()
                _raise_if_ended(call)
                if answer.error is not None:
                    raise QuestionError(f"the client refused question {name!r}: {answer.error}")
                with self.lock:
                    self.record.take(name, answer.result)
        finally:
            forget()
            for answer in answers.values():
                self._awaited.remove(answer)
            call.front.withdraw(list(answers.values()))

    def _raise_if_lost(self) -> None:
        if self._has_lost_client:
            raise QuestionError("the client has disconnected, and other calls wait for their clients")


def resumed(call: RunningCall, sealer: Sealer) -> CallQuestions:
    """The questions of a call that the client repeats with a `requestState` and responses.

    Raises `RequestError` for an invalid state; the reason is only logged.
    """
    request = call.request
    try:
        if (retry := retry_of(request)) is None:
            return CallQuestions()
        if retry.state is None:
            return CallQuestions(Record(unasked=retry.responses))
        record = Record.loaded(sealer.open(retry.state, _subject(call), time.time()))
    except SealError as problem:
        name = str(request.params.get("name", request.method))[:_NAME_CHARS]
        print(f"note: the requestState of a call of {name!r} was refused: {problem}", file=sys.stderr)  # noqa: T201
        raise RequestError("invalid requestState") from problem
    except ValueError as problem:
        raise RequestError(str(problem)) from problem
    for name, answer in retry.responses.items():
        record.take(name, answer)
    return CallQuestions(record)


def _subject(call: RunningCall) -> bytes:
    request = call.request
    return subject_of(call.principal or "", request.method, request.params)


def _in_trace(call: RunningCall, questions: Mapping[str, Question]) -> Mapping[str, Question]:
    if not call.is_traced:
        return questions
    from gaia_mcp.core.tracing import with_trace

    return {name: one._replace(params=with_trace(one.params)) for name, one in questions.items()}


def _raise_if_ended(call: RunningCall) -> None:
    if call.has_ended:
        raise QuestionError(HAS_ENDED)


_parse = json.JSONDecoder().decode
_write = compact_writer()
_write_sorted = compact_writer(sort_keys=True)


class Record:
    """Answers and results by name. `logs` and `progress` are the number of log messages and the latest progress that
    earlier runs have sent. `unasked` are answers that the client sent before a question; each answers the first
    question of its name.
    """

    def __init__(self, unasked: Wire | None = None, kept: Sequence[Any] = ()) -> None:
        self._unasked = dict(unasked) if unasked else {}
        self.rounds: int
        self.once: Wire
        self.logs: int
        self.progress: float | None
        # By name: the digest of the question, and its answer.
        self._answers: dict[str, Sequence[Any]]
        self._open: dict[str, str]
        self._rejected: dict[str, str]
        # Whether a question was asked in this run.
        self._has_asked = False
        (
            self.rounds, self.once, self.logs, self.progress, self._answers, self._open, self._rejected
        ) = kept or (0, {}, 0, None, {}, {}, {})  # fmt: skip

    @classmethod
    def loaded(cls, text: str) -> Record:
        """The record from the JSON of `dumped`."""
        return cls(kept=_parse(text))

    def dumped(self) -> str:
        """The record as JSON."""
        return _write((self.rounds, self.once, self.logs, self.progress, self._answers, self._open, self._rejected))

    def answer(self, name: str, question: Question) -> Any:
        """The answer to exactly this question, or None."""
        if (unasked := self._unasked.pop(name, None)) is not None:
            self._answers[name] = (digest_of(question), unasked)
        if name not in self._answers:
            return None
        digest, answer = self._answers[name]
        return answer if digest == digest_of(question) else None

    def take(self, name: str, answer: Any) -> None:
        """Store an answer if its question was asked in the previous run; ignore any other."""
        if (digest := self._open.pop(name, None)) is None:
            return
        if answer is None:
            self._rejected[name] = _NULL
        else:
            self._rejected.pop(name, None)
            self._answers[name] = (digest, answer)

    def reject(self, name: str, problem: str) -> None:
        """Remove an answer that is invalid because of `problem`."""
        del self._answers[name]
        self._rejected[name] = problem

    def ask(self, questions: Mapping[str, Question], *, by_result: bool = False) -> None:
        """Record that these questions are asked now. Raises `QuestionError` after too many rounds. `by_result` is
        whether the result of this run asks all questions of the run, in one round.
        """
        is_new_round = not (by_result and self._has_asked)
        # A client counts all requests, including the first one, which is not a round.
        if is_new_round and self.rounds >= MAX_ROUND_TRIPS - 1:
            name = next(iter(questions))
            message = questions[name].params.get("message")
            what = f"question {name!r}" + (f" ({message})" if message else "")
            if (reason := self._unsettled(name)) is None:
                raise QuestionError(f"{what} is one too many: a call has {self.rounds} rounds of questions at most")
            raise QuestionError(f"{what} is not settled after {self.rounds} rounds: {reason}")
        self.rounds += is_new_round
        asked = {name: digest_of(question) for name, question in questions.items()}
        # Another thread of the tool may be waiting for an answer.
        self._open = {**self._open, **asked} if self._has_asked else asked
        self._has_asked = True

    def _unsettled(self, name: str) -> str | None:
        """Why the question of this name is asked again; None if it was not asked before."""
        if name in self._rejected:
            return self._rejected[name]
        if name in self._answers:
            return _CHANGES
        return _UNANSWERED if name in self._open else None


def digest_of(question: Question) -> str:
    """A digest that identifies the question; a text no longer than a digest is its own."""
    text = _write_sorted(question)
    return text if len(text) <= _DIGEST_CHARS else hashlib.sha256(text.encode("ascii")).hexdigest()[:_DIGEST_CHARS]

"""The record of the questions and answers of one call, over all its runs.

Pure: it stores answers with the digests of their questions, and the results of `once`. It is serialized as JSON.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from gaia_mcp.internals import compact_writer
from gaia_mcp.protocol.input_required import MAX_ROUND_TRIPS
from gaia_mcp.protocol.questions import QuestionError

if TYPE_CHECKING:
    from gaia_mcp.protocol.questions import Question

Wire = dict[str, Any]

_parse = json.JSONDecoder().decode
_write = compact_writer()
_write_sorted = compact_writer(sort_keys=True)
_DIGEST_CHARS = 32
_CHANGES = "it is another question each time that the tool runs"
_UNANSWERED = "the client sends no answer to it"
_NULL = "the answer is null"


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

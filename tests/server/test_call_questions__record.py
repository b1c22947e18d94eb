"""The record: which answers belong to which questions, over all runs of a call."""

from __future__ import annotations

import pytest

from gaia_mcp.protocol.input_required import ELICIT, LIST_ROOTS, MAX_ROUND_TRIPS, Question, QuestionError
from gaia_mcp.server.call_questions import Record

WHO = Question(ELICIT, {"message": "Who?"})
WHERE = Question(LIST_ROOTS, {})


def again(record: Record) -> Record:
    """The record as it is in the next run."""
    return Record.loaded(record.dumped())


def test_an_answer_belongs_to_the_question_that_was_asked() -> None:
    """Ours: what a person has said to one question is not the answer to another one."""
    record = Record()
    record.ask({"a": WHO, "b": WHERE})
    record = again(record)
    record.take("a", {"action": "cancel"})

    assert record.answer("a", WHO) == {"action": "cancel"}
    assert record.answer("a", Question(ELICIT, {"message": "Who else?"})) is None
    assert record.answer("b", WHERE) is None


def test_an_unexpected_answer_is_ignored() -> None:
    """MS-10: surplus answers, and a second answer to the same question."""
    record = Record()
    record.ask({"a": WHO})
    record.take("b", {})
    record.take("a", 1)
    record.take("a", 2)

    assert record.answer("b", WHERE) is None
    assert record.answer("a", WHO) == 1


def test_an_unanswered_request_is_sent_again_in_the_next_run_only() -> None:
    """Ours: threads of a tool ask at the same time; what the client has not answered is asked again in the next run."""
    record = Record()
    record.ask({"a": WHO})
    record.ask({"b": WHERE})
    record = again(record)
    record.take("a", "Ada")
    assert (record.answer("a", WHO), record.answer("b", WHERE)) == ("Ada", None)

    record.ask({"c": WHO})
    record.take("b", "here")
    record.take("c", "Eve")
    assert (record.answer("b", WHERE), record.answer("c", WHO)) == (None, "Eve")


def test_the_input_requests_of_one_result_are_one_round() -> None:
    """Ours: whichever thread of the tool asks it."""
    record = Record()
    for _ in range(MAX_ROUND_TRIPS - 1):
        record = again(record)
        record.ask({"a": WHO}, by_result=True)
        record.ask({"b": WHERE}, by_result=True)
    with pytest.raises(QuestionError, match="not settled"):
        again(record).ask({"a": WHO}, by_result=True)


def test_an_early_answer_belongs_to_the_first_request_of_its_name() -> None:
    """Ours: and to no other one; what is not asked for in this run is dropped."""
    record = Record(unasked={"a": "Ada", "b": "here"})

    assert record.answer("a", WHO) == "Ada"
    assert record.answer("a", Question(ELICIT, {"message": "Who else?"})) is None
    record = again(record)
    assert (record.answer("a", WHO), record.answer("b", WHERE)) == ("Ada", None)


def test_answers_of_earlier_rounds_are_preserved() -> None:
    """MS-6: the record has all that a run needs, whichever process runs it."""
    record = Record()
    record.ask({"a": WHO})
    record = again(record)
    record.take("a", "Ada")
    record.once["number"] = 7
    record.logs, record.progress = 3, 0.5
    record.ask({"b": WHERE})
    record = again(again(record))
    record.take("b", "here")

    assert (record.answer("a", WHO), record.answer("b", WHERE)) == ("Ada", "here")
    assert (record.once, record.logs, record.progress, record.rounds) == ({"number": 7}, 3, 0.5, 2)


def rounds_of(*questions: Question, answer: object = ...) -> str:
    """Ask over and over, each time with this answer; why that ended."""
    record = Record()

    def ask() -> None:
        for number in range(MAX_ROUND_TRIPS + 1):
            record.ask({"a": questions[number % len(questions)]})
            if answer is not ...:
                record.take("a", answer)
            if record.answer("a", questions[(number + 1) % len(questions)]) is not None:
                record.reject("a", "name is missing")

    with pytest.raises(QuestionError) as caught:
        ask()
    assert record.rounds == MAX_ROUND_TRIPS - 1
    return str(caught.value)


def test_a_request_that_is_never_settled_is_ended_with_the_reason() -> None:
    """MC-4's other side: clients stop after ten requests, and know no reason."""
    other = Question(ELICIT, {"message": "Who else?"})

    assert "another question each time" in rounds_of(WHO, other, answer="Ada")
    assert "sends no answer" in rounds_of(WHERE)
    assert "the answer is null" in rounds_of(WHERE, answer=None)
    assert "question 'a' (Who?) is not settled after 9 rounds: name is missing" in rounds_of(WHO, answer="Ada")


def test_a_request_beyond_the_limit_of_rounds_is_an_error() -> None:
    """Ours: the fault is the tool's, not the client's."""
    record = Record()
    for number in range(MAX_ROUND_TRIPS - 1):
        record.ask({f"q{number}": WHO})
        record.take(f"q{number}", "Ada")

    with pytest.raises(QuestionError, match="'last' \\(Who\\?\\) is one too many"):
        record.ask({"last": WHO})


def test_the_problem_of_an_earlier_answer_is_forgotten() -> None:
    """Ours: the reason is that of the last one."""
    record = Record()
    record.ask({"a": WHO})
    record.take("a", None)
    record.ask({"a": WHO})
    record.take("a", "Ada")
    for _ in range(MAX_ROUND_TRIPS - 3):
        record.ask({"b": WHERE})
        record.take("b", "here")

    with pytest.raises(QuestionError, match="another question each time"):
        record.ask({"a": Question(ELICIT, {"message": "Who else?"})})

"""Multi-round-trip requests: a result that is not one yet, but asks for something first (2026-07-28).

The caller collects answers and sends the same request again, with them and with the server's opaque state.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from gaia_mcp.protocol.jsonrpc import in_words

# The limit of every SDK.
MAX_ROUNDS = 10
# A server that only wants to be asked again is given 50 ms, doubling to 250 ms, as the SDKs do.
FIRST_PAUSE_SECONDS = 0.05
LONGEST_PAUSE_SECONDS = 0.25
# Nothing else may be answered with questions.
_ASKING_METHODS = frozenset({"tools/call", "prompts/get", "resources/read"})


class InputRequired(NamedTuple):
    """What the server wants: questions by key, each with `method` and `params`, and the state to hand back."""

    questions: dict[str, dict[str, Any]]
    state: str | None


def type_problem(method: str, result: dict[str, Any]) -> str | None:
    """What is wrong with the type of a stateless result of `method`, in words; None if nothing is."""
    kind = result.get("resultType", "complete")
    if kind == "input_required":
        return None if method in _ASKING_METHODS else "asked for input where there is none to give"
    return None if kind == "complete" else _unknown_type(kind)


def input_required(result: dict[str, Any]) -> InputRequired | str | None:
    """None for a complete result, what is wanted for an unfinished one, or what is wrong with it in words."""
    kind = result.get("resultType", "complete")
    if kind == "complete":
        return None
    if kind != "input_required":
        return _unknown_type(kind)
    questions, state = result.get("inputRequests", {}), result.get("requestState")
    if not isinstance(questions, dict) or not all(_is_question(question) for question in questions.values()):
        return "asked for input in a form that is none"
    if state is not None and not isinstance(state, str):
        return "handed over a request state that is not a string"
    if not questions and state is None:
        return "asked for input without saying which"
    return InputRequired(questions, state)


def retried(params: dict[str, Any], asked: InputRequired, answers: dict[str, Any]) -> dict[str, Any]:
    """The parameters of the next round: the original ones, the answers, and the state byte for byte."""
    again = {key: value for key, value in params.items() if key not in ("inputResponses", "requestState")}
    if asked.questions:
        again["inputResponses"] = answers
    if asked.state is not None:
        again["requestState"] = asked.state
    return again


def pause_before(round_number: int) -> float:
    """Seconds to wait before a round that only hands the state back; the first round is number 1."""
    return float(min(FIRST_PAUSE_SECONDS * 2 ** (round_number - 1), LONGEST_PAUSE_SECONDS))


def _unknown_type(kind: object) -> str:
    return f"answered with a result of the unknown type {in_words(kind)!r}"


def _is_question(question: Any) -> bool:
    return (
        isinstance(question, dict)
        and isinstance(question.get("method"), str)
        and isinstance(question.get("params", {}), dict)
    )

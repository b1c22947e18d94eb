"""The requests that a server may make of its client during a request: elicitation, sampling and roots.

A question has the method and the parameters of the newest revision. This module knows which capability it needs, its
form in older revisions, and whether an answer is valid.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from gaia_mcp.protocol.input_required import missing_capabilities
from gaia_mcp.protocol.versions import STATELESS_VERSIONS, since

Wire = dict[str, Any]

ELICIT = "elicitation/create"
SAMPLE = "sampling/createMessage"
LIST_ROOTS = "roots/list"
_ACTIONS = frozenset({"accept", "decline", "cancel"})
# The revision that added URLs, multiple choice, and titles of choices to elicitation.
_RICH_ELICITATION = "2025-11-25"


class QuestionError(Exception):
    """A question that cannot be asked, or has no answer. The text is for the author of the tool and its caller."""


class MissingCapabilityError(QuestionError):
    """The client has not declared a capability that a question needs: `required`, in the form of
    `requiredCapabilities`. `lacks` is the client's revision where that does not have what the question needs.
    """

    def __init__(self, required: Wire, lacks: str | None = None, needed_by: str = "this question") -> None:
        names = [f"{name}.{mode}" for name, modes in required.items() for mode in modes] or list(required)
        text = f"the client does not declare the capability {', '.join(names)}, which {needed_by} needs"
        super().__init__(f"this question needs more than revision {lacks} of the client has" if lacks else text)
        self.required = required


class Question(NamedTuple):
    """A request for input, in the form of the newest revision."""

    method: str
    params: Wire

    def as_input_request(self) -> Wire:
        """As a member of `inputRequests`."""
        return {"method": self.method, "params": self.params} if self.params else {"method": self.method}


def missing_for(question: Question, version: str, declared: Wire) -> Wire:
    """The capabilities that a client of `version` needs for the question and has not declared; empty if it has all."""
    if not has(question, version):
        declared = {}
    elif not since(version, _RICH_ELICITATION) and isinstance(declared.get("elicitation"), dict):
        # Modes came later: before, the capability meant forms.
        declared = {**declared, "elicitation": {"form": {}}}
    return missing_capabilities({"": question.as_input_request()}, declared)


def check_declared(questions: Iterable[Question], version: str, declared: Wire) -> None:
    """Raises `MissingCapabilityError` if a client of `version` lacks what the questions need."""
    required: Wire = {}
    is_known = True
    for question in questions:
        required.update(missing_for(question, version, declared))
        is_known = is_known and has(question, version)
    if required:
        raise MissingCapabilityError(required, None if is_known else version)


def is_asked_by_result(version: str) -> bool:
    """Whether a question is asked in the result of the client's request; earlier revisions send a request."""
    return version in STATELESS_VERSIONS


def question_for(question: Question, version: str, number: int) -> tuple[str, Wire | None]:
    """Method and parameters of the request that asks the question of a handshake client of `version`.

    `number` is unique among the questions of this server. The client must lack nothing, see `missing_for`.
    """
    method, params = question
    if method != ELICIT:
        return method, params or None
    if params.get("mode") == "url":
        return method, {**params, "elicitationId": str(number)}
    if since(version, _RICH_ELICITATION):
        return method, params
    schema = params["requestedSchema"]
    fields = {name: _plain_field(field) for name, field in schema["properties"].items()}
    return method, {"message": params["message"], "requestedSchema": {**schema, "properties": fields}}


def answer_problem(question: Question, answer: Any) -> str | None:
    """What is wrong with the form of an answer, None if it is valid. The tool that asked checks the content."""
    if not isinstance(answer, dict):
        return "the answer is not an object"
    if question.method == LIST_ROOTS:
        roots = answer.get("roots")
        is_valid = isinstance(roots, list) and all(
            isinstance(root, dict) and isinstance(root.get("uri"), str) for root in roots
        )
        return None if is_valid else "roots must be a list of objects with a uri"
    if question.method == SAMPLE:
        content = answer.get("content")
        blocks = content if isinstance(content, list) else [content]
        is_valid = answer.get("role") in ("assistant", "user") and all(isinstance(block, dict) for block in blocks)
        return None if is_valid else "a message has a role and content"
    if answer.get("action") not in _ACTIONS:
        return "action must be accept, decline or cancel"
    asks_for_content = answer["action"] == "accept" and question.params.get("mode") != "url"
    if asks_for_content and not isinstance(answer.get("content", {}), dict):
        return "content must be an object"
    return None


def has(question: Question, version: str) -> bool:
    """Whether the revision has what the question needs."""
    if version in STATELESS_VERSIONS or since(version, _RICH_ELICITATION):
        return True
    if question.method == SAMPLE:
        return "tools" not in question.params
    if question.method == LIST_ROOTS:
        return True
    if question.params.get("mode") == "url" or not since(version, "2025-06-18"):
        return False
    return all(field.get("type") != "array" for field in question.params["requestedSchema"]["properties"].values())


def _plain_field(field: Wire) -> Wire:
    """A field in the form of 2025-06-18: choices with a separate list of titles, and a default for booleans only."""
    plain = {key: value for key, value in field.items() if key not in ("oneOf", "default")}
    if "default" in field and field.get("type") == "boolean":
        plain["default"] = field["default"]
    if (choices := field.get("oneOf")) is not None:
        plain["enum"] = [choice["const"] for choice in choices]
        plain["enumNames"] = [choice.get("title", choice["const"]) for choice in choices]
    return plain

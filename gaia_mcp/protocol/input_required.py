"""What a server needs of its client during a request: the questions (elicitation, sampling, roots), and the result of
2026-07-28 that requires their answers first.

A question has the method and the parameters of the newest revision. This module knows which capability it needs, its
form in older revisions, and whether an answer is valid. After such a result the client collects the answers and sends
the same request again, with them and with the server's opaque state.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, TypeGuard

from gaia_mcp.protocol import STATELESS_VERSIONS, since
from gaia_mcp.protocol.jsonrpc import URL_REQUIRED, as_text

if TYPE_CHECKING:
    from gaia_mcp.protocol.events import RequestReceived

# The limit of every SDK.
MAX_ROUND_TRIPS = 10
# The pause before a retry that carries no responses: 50 ms, doubling to 250 ms, as in the SDKs.
FIRST_PAUSE_SECONDS = 0.05
LONGEST_PAUSE_SECONDS = 0.25
# The values of `resultType` in the specification, each with the methods whose results may have it; None stands for all.
# An extension, such as tasks, adds its own.
ResultTypes: TypeAlias = "Mapping[str, frozenset[str] | None]"
RESULT_TYPES: ResultTypes = MappingProxyType(
    {"complete": None, "input_required": frozenset({"tools/call", "prompts/get", "resources/read"})}
)


# In the `_meta` of a URL elicitation: the request is sent again once the answer is "accept", so the client must not
# answer before the user has finished at that URL.
FIRST = "gaia-mcp/first"
# The parameters that only a retried request has.
RETRY_MEMBERS = frozenset({"inputResponses", "requestState"})
Wire = dict[str, Any]
ELICIT = "elicitation/create"
SAMPLE = "sampling/createMessage"
LIST_ROOTS = "roots/list"
_ACTIONS = frozenset({"accept", "decline", "cancel"})
# The revision that added URLs, multiple choice, and titles of choices to elicitation.
_RICH_ELICITATION = "2025-11-25"


class InputRequired(NamedTuple):
    """The input that a server requires: requests by key, each with `method` and `params`, and the state to return."""

    requests: dict[str, dict[str, Any]]
    state: str | None


def type_problem(method: str, result: dict[str, Any], known: ResultTypes = RESULT_TYPES) -> str | None:
    """What is wrong with the `resultType` of a stateless result of `method`; None if nothing is."""
    kind = result.get("resultType", "complete")
    if not isinstance(kind, str) or kind not in known:
        return _unknown_type(kind)
    methods = known[kind]
    if methods is None or method in methods:
        return None
    return f"answered with a result of type {kind!r}, which this method does not allow"


def is_complete(result: dict[str, Any]) -> bool:
    """Whether a result is final: it requires no input and is not a task."""
    return bool(result.get("resultType", "complete") == "complete")


def input_required(result: dict[str, Any]) -> InputRequired | str:
    """The input that a result that is not complete requires, or a text if the result is invalid."""
    kind = result.get("resultType")
    if kind != "input_required":
        return _unknown_type(kind)
    requests, state = result.get("inputRequests", {}), result.get("requestState")
    if not are_requests(requests):
        return "asked for input in an invalid form"
    if state is not None and not isinstance(state, str):
        return "sent a request state that is not a string"
    if not requests and state is None:
        return "asked for input with neither requests nor a state"
    return InputRequired(requests, state)


def missing_capabilities(requests: dict[str, dict[str, Any]], declared: dict[str, Any]) -> dict[str, Any]:
    """The capabilities that these input requests need and the client does not declare, in the form of a declaration.

    Raises `ValueError` for a method that is not an input request.
    """
    missing: dict[str, Any] = {}
    for request in requests.values():
        name, members = _needed(request["method"], request.get("params", {}))
        has = declared.get(name)
        if name == "elicitation" and has == {}:
            has = {"form": {}}
        absent: dict[str, Any] = {member: {} for member in members if not isinstance(has, dict) or member not in has}
        if absent or not isinstance(has, dict):
            missing[name] = {**missing.get(name, {}), **absent}
    return missing


def required_urls(code: int, data: Any) -> list[dict[str, Any]]:
    """The URL elicitations that the error with this code and data requires, each with its `url` and perhaps a
    `message`. Empty for any other error. Only revision 2025-11-25 has this error.
    """
    listed = data.get("elicitations") if code == URL_REQUIRED and isinstance(data, dict) else None
    known = [each for each in listed if isinstance(each, dict)] if isinstance(listed, list) else []
    return [each for each in known if each.get("mode", "url") == "url" and isinstance(each.get("url"), str)]


def retry_params(params: dict[str, Any], required: InputRequired, responses: dict[str, Any]) -> dict[str, Any]:
    """The parameters of the next round trip: the original ones, the responses, and the state byte for byte."""
    again = {key: value for key, value in params.items() if key not in ("inputResponses", "requestState")}
    if required.requests:
        again["inputResponses"] = responses
    if required.state is not None:
        again["requestState"] = required.state
    return again


class Retry(NamedTuple):
    """What a retried request carries: the responses by key, and the state unchanged. Without a state, the responses
    are to input requests that the client expects.
    """

    responses: dict[str, Any]
    state: str | None


def retry_of(request: RequestReceived) -> Retry | None:
    """What a retried request carries; None for a first attempt.

    Raises `ValueError` for members that violate the specification.
    """
    if request.context.version not in STATELESS_VERSIONS or RETRY_MEMBERS.isdisjoint(request.params):
        return None
    responses, state = request.params.get("inputResponses", {}), request.params.get("requestState")
    if not isinstance(state, str) and "requestState" in request.params:
        raise ValueError("requestState must be a string")
    if not isinstance(responses, dict):
        raise ValueError("inputResponses must be an object")
    return Retry(responses, state)


def pause_before(attempt: int) -> float:
    """Seconds to wait before a round trip that only returns the state; the first one has number 1."""
    return float(min(FIRST_PAUSE_SECONDS * 2 ** (attempt - 1), LONGEST_PAUSE_SECONDS))


def are_requests(requests: Any) -> TypeGuard[dict[str, dict[str, Any]]]:
    """Whether this is an object of input requests, each with a `method` and perhaps `params`."""
    return isinstance(requests, dict) and all(
        isinstance(request, dict)
        and isinstance(request.get("method"), str)
        and isinstance(request.get("params", {}), dict)
        for request in requests.values()
    )


def _needed(method: str, params: dict[str, Any]) -> tuple[str, tuple[str, ...]]:
    """The capability that an input request needs, and which of its members."""
    if method == "elicitation/create":
        return "elicitation", ("url" if params.get("mode") == "url" else "form",)
    if method == "sampling/createMessage":
        return "sampling", ("tools",) if "tools" in params else ()
    if method == "roots/list":
        return "roots", ()
    raise ValueError(f"asked for input by {as_text(method)!r}, which no client knows")


def _unknown_type(kind: object) -> str:
    return f"answered with a result of the unknown type {as_text(kind)!r}"


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


def is_known_to_ask_by_result(era: str | None) -> bool:
    """Whether a server asks in results if `era` is cached for it. It keeps nothing of its clients then."""
    return era == "stateless"


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

"""The questions that an author may ask, their answers, and the forms of elicitation: flat schemas, written as a schema
or a dataclass.

Knows how an answer becomes a value, but not whether a client supports the question.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, Generic, Literal, NamedTuple, Never, Self, TypeVar

from gaia_mcp.protocol.input_required import ELICIT, LIST_ROOTS, SAMPLE, Question, QuestionError, answer_problem
from gaia_mcp.text.redaction import looks_secret
from gaia_mcp.toolspec.schema import resolved
from gaia_mcp.toolspec.validation import as_text, schema_of

_ALWAYS = frozenset({"type", "title", "description"})
# Keywords by the type of a field (specification, `PrimitiveSchemaDefinition`).
_KEYWORDS = {
    "string": _ALWAYS | {"minLength", "maxLength", "format", "default", "enum", "enumNames", "oneOf"},
    "number": _ALWAYS | {"minimum", "maximum", "default"},
    "integer": _ALWAYS | {"minimum", "maximum", "default"},
    "boolean": _ALWAYS | {"default"},
    "array": _ALWAYS | {"items", "minItems", "maxItems", "default"},
}
_FORMATS = frozenset({"email", "uri", "date", "date-time"})
Wire = dict[str, Any]
T = TypeVar("T")
# Enough for an answer of one page, and more than the specification's examples request.
MAX_TOKENS = 1000


class AnswerError(ValueError):
    """The answer is not valid for the question. The text is the reason."""


class Form(NamedTuple):
    """A form: its schema, and the function that converts the content of an answer to a value."""

    schema: Wire
    convert: Callable[[Wire], Any]

    def read(self, content: Wire) -> Any:
        """The value of an answer's content. Raises `AnswerError`."""
        if errors := schema_of(as_text(self.schema)).errors(content):
            raise AnswerError(str(errors[0]))
        try:
            return self.convert(content)
        except ValueError as problem:
            raise AnswerError(str(problem)) from problem


def form_of(shape: Any) -> Form:
    """The form for a schema (a dict) or a type with named members (a dataclass, a typed dictionary).

    Raises `ValueError` for an invalid form, with the field and the reason.
    """
    if isinstance(shape, dict):
        _check(shape)
        return Form(shape, dict)
    from gaia_mcp.toolspec.hints import HintError, Reader
    from gaia_mcp.toolspec.hints.kinds import Definitions

    try:
        kind = Reader().read(shape)
    except HintError as problem:
        raise ValueError(f"{shape!r} is not a form: {problem}") from problem
    definitions = Definitions()
    written = definitions.complete(kind.schema(definitions))
    if not isinstance(written.get("properties"), dict):
        raise ValueError(f"{shape!r} is not a form: a form is a dataclass, or a schema of type 'object'")
    schema = {
        "type": "object",
        "properties": {name: _field(field, written) for name, field in written["properties"].items()},
        "required": list(written.get("required", ())),
    }
    _check(schema)
    return Form(schema, lambda content: kind.convert(content, ""))


def _field(field: Any, root: Wire) -> Wire:
    """A field as a form allows it: with references resolved, and without null, which stands for a missing answer."""
    found = _flat(field, root)
    parts = [part for part in found.get("anyOf", ()) if part.get("type") != "null"]
    if len(parts) == 1:
        beside = {key: value for key, value in found.items() if key != "anyOf"}
        found = {**_flat(parts[0], root), **beside}
    if found.get("default", ...) is None:
        del found["default"]
    if isinstance(items := found.get("items"), dict):
        found["items"] = _flat(items, root)
        # A form does not allow this keyword; the choices of a set are distinct anyway.
        found.pop("uniqueItems", None)
    return found


def _flat(part: Any, root: Wire) -> Wire:
    found = resolved(part, root)
    beside = {key: value for key, value in part.items() if key != "$ref"} if isinstance(part, dict) else {}
    return {**found, **beside} if isinstance(found, dict) else {}


def _check(schema: Wire) -> None:
    """Raises `ValueError` if the specification does not allow this schema in a form."""
    fields = schema.get("properties")
    if schema.get("type") != "object" or not isinstance(fields, dict):
        raise ValueError("a form is a schema of type 'object' with 'properties'")
    for name, described in fields.items():
        if (problem := _field_problem(described)) is None and _asks_for_secret(name, described):
            problem = "a form must not ask for a secret; elicit_url asks for it on a page of your own"
        if problem is not None:
            raise ValueError(f"field {name!r} of the form: {problem}")
    for name in schema.get("required", ()):
        if name not in fields:
            raise ValueError(f"the form requires {name!r}, which is not one of its fields")


def _asks_for_secret(name: str, field: Wire) -> bool:
    # A field with choices is not secret, and "key" alone may be the key of a mapping.
    is_free = field["type"] == "string" and not field.keys() & {"enum", "oneOf"}
    return is_free and name.lower() != "key" and looks_secret(name)


def _field_problem(field: Any) -> str | None:
    kind = field.get("type") if isinstance(field, dict) else None
    if not isinstance(kind, str) or kind not in _KEYWORDS:
        return "a form is flat: a field is a string, a number, an integer, a boolean, or a list of choices"
    if unknown := sorted(set(field) - _KEYWORDS[kind]):
        return f"{unknown[0]!r} is not allowed in a form"
    if kind == "string" and "format" in field and field["format"] not in _FORMATS:
        return f"its format must be one of {', '.join(sorted(_FORMATS))}"
    if kind == "array":
        items = field.get("items")
        if not isinstance(items, dict) or not ("enum" in items or "anyOf" in items):
            return "a list in a form is a list of choices: its items have 'enum' or 'anyOf'"
    return None


_ROOTS = Question(LIST_ROOTS, {})


class _Answer:
    """An answer that may also be awaited: threads use it directly, `async` code awaits it, and both get the same."""

    def __await__(self) -> Generator[Any, Any, Self]:
        return self
        yield


@dataclass(frozen=True)
class Accepted(_Answer, Generic[T]):
    """The person accepted. `value` is an instance of the form's dataclass, or a dict; None after a URL."""

    value: T
    action: ClassVar[Literal["accept"]] = "accept"


@dataclass(frozen=True)
class Declined(_Answer):
    """The person declined. Reading `value` raises `QuestionError`, which ends the call of a tool that needs an answer
    to continue.
    """

    action: ClassVar[Literal["decline"]] = "decline"

    @property
    def value(self) -> Never:
        """Raises `QuestionError`."""
        raise QuestionError("the person declined to answer")


@dataclass(frozen=True)
class Cancelled(_Answer):
    """The person dismissed the question without an answer. Reading `value` raises `QuestionError`, as in `Declined`."""

    action: ClassVar[Literal["cancel"]] = "cancel"

    @property
    def value(self) -> Never:
        """Raises `QuestionError`."""
        raise QuestionError("the person closed the question without an answer")


@dataclass(frozen=True)
class Sampled(_Answer):
    """The response of a model: the `text` of its content, the content blocks themselves, the `model`'s name, and why it
    stopped (`endTurn`, `stopSequence`, `maxTokens`, `toolUse`, …; empty if the client does not report it).
    """

    text: str
    content: list[Wire]
    model: str
    stop_reason: str


@dataclass(frozen=True)
class Root:
    """A root of the client: its `uri` (`file:///…`) and a name, which may be empty."""

    uri: str
    name: str = ""


class Roots(list[Root], _Answer):
    """The roots of the client."""


class AnswerList(list[Any], _Answer):
    """The answers to several questions, in the same order."""


@dataclass(frozen=True)
class Asked(Generic[T]):
    """A question. `name` is its key among the questions of a call; by default it is a number."""

    name: str = field(default="", kw_only=True)

    @property
    def question(self) -> Question:
        """The question as it is sent. Raises `ValueError` if the specification does not allow it."""
        raise NotImplementedError

    def read(self, answer: Any) -> T:
        """The typed answer. Raises `AnswerError` if it is not valid for the question."""
        if (problem := answer_problem(self.question, answer)) is not None:
            raise AnswerError(problem)
        return self._read(answer)

    def _read(self, answer: Wire) -> T:
        raise NotImplementedError


@dataclass(frozen=True)
class Elicit(Asked["Accepted[Any] | Declined | Cancelled"]):
    """Ask the person to fill in a form: a dataclass, or a flat schema."""

    message: str
    form: Any

    @cached_property
    def _form(self) -> Form:
        return form_of(self.form)

    @cached_property
    def question(self) -> Question:
        return Question(ELICIT, {"mode": "form", "message": self.message, "requestedSchema": self._form.schema})

    def _read(self, answer: Wire) -> Accepted[Any] | Declined | Cancelled:
        if answer["action"] != "accept":
            return Declined() if answer["action"] == "decline" else Cancelled()
        return Accepted(self._form.read(answer.get("content", {})))


@dataclass(frozen=True)
class ElicitURL(Asked["Accepted[None] | Declined | Cancelled"]):
    """Ask the person to open a URL. `Accepted` means that they agreed, not that the interaction is complete."""

    message: str
    url: str

    @cached_property
    def question(self) -> Question:
        return Question(ELICIT, {"mode": "url", "message": self.message, "url": self.url})

    def _read(self, answer: Wire) -> Accepted[None] | Declined | Cancelled:
        if answer["action"] != "accept":
            return Declined() if answer["action"] == "decline" else Cancelled()
        return Accepted(None)


@dataclass(frozen=True)
class Sample(Asked[Sampled]):
    """Ask the client's model. `messages` is the text of one user message, or a list of MCP sampling messages. `options`
    are further parameters of `sampling/createMessage`, with the specification's names.
    """

    messages: str | Sequence[Wire]
    max_tokens: int = MAX_TOKENS
    system_prompt: str = ""
    options: Wire = field(default_factory=dict)

    @cached_property
    def question(self) -> Question:
        messages = self.messages
        if isinstance(messages, str):
            messages = [{"role": "user", "content": {"type": "text", "text": messages}}]
        params: Wire = {"messages": list(messages), "maxTokens": self.max_tokens}
        if self.system_prompt:
            params["systemPrompt"] = self.system_prompt
        return Question(SAMPLE, {**params, **self.options})

    def _read(self, answer: Wire) -> Sampled:
        content = answer["content"] if isinstance(answer["content"], list) else [answer["content"]]
        text = "".join(str(block.get("text", "")) for block in content if block.get("type") == "text")
        return Sampled(text, content, str(answer.get("model", "")), str(answer.get("stopReason") or ""))


@dataclass(frozen=True)
class ListRoots(Asked[Roots]):
    """Ask for the client's roots."""

    @property
    def question(self) -> Question:
        return _ROOTS

    def _read(self, answer: Wire) -> Roots:
        return Roots(Root(root["uri"], str(root.get("name") or "")) for root in answer["roots"])

"""The questions that an author may ask, and their answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Literal, Never, TypeVar

from gaia_mcp.asking.forms import AnswerError, Form, form_of
from gaia_mcp.protocol.questions import ELICIT, LIST_ROOTS, SAMPLE, Question, QuestionError, answer_problem

if TYPE_CHECKING:
    from collections.abc import Generator
    from typing import Self

Wire = dict[str, Any]
T = TypeVar("T")

# Enough for an answer of one page, and more than the specification's examples request.
MAX_TOKENS = 1000
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

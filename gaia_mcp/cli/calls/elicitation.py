"""Elicitation: a server's questions, answered by given answers or by a person on the terminal; otherwise the call
fails.
"""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any, NamedTuple

from gaia_mcp.checking.checker import validation_errors
from gaia_mcp.cli.calls.form import TRUTHS, YES_OR_NO, Ask, ask_value, asked_while, can_ask, definitions_of
from gaia_mcp.cli.calls.plan import MAX_ANSWERED, Answers, missing_in, with_defaults
from gaia_mcp.cli.lines import again
from gaia_mcp.cli.refusals import address_lines, host_of, is_site
from gaia_mcp.cli.screen.output import Form, remark, to_stderr
from gaia_mcp.cli.status import UsageError
from gaia_mcp.errors import UnansweredError
from gaia_mcp.protocol.input_required import FIRST
from gaia_mcp.safetext import one_line
from gaia_mcp.toolspec.in_words import example_of
from gaia_mcp.toolspec.schema import properties_of, required_of, resolved
from gaia_mcp.toolspec.validation import SchemaError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gaia_mcp.cli.screen.session_view import Waiting

ACCEPTED = {"action": "accept"}
DECLINED = {"action": "decline"}
CANCELLED = {"action": "cancel"}
MESSAGE_CHARS = 1000
NO_ANSWER = "no answer is given, and there is no terminal to ask on"


def answered(
    server: str,
    params: dict[str, Any],
    waiting: Waiting,
    answers: Answers,
    *,
    declines: bool = False,
    attended: bool = True,
) -> dict[str, Any]:
    """The answer to an elicitation of `server`: from `answers` if they suffice, otherwise from a person if the command
    is `attended` and does not decline. Raises `UnansweredError`.
    """
    is_possible = attended and not declines and can_ask()
    asked = _Asked(server, params, answers, is_possible)
    try:
        given = asked.by_url() if asked.is_url else asked.by_form()
    except UsageError as problem:
        raise UnansweredError(server, f"{asked.told}: {problem.message}", params, hint=problem.hint) from problem
    if given is not None or not is_possible:
        # The URL is opened elsewhere, so it must not be cut as a remark would be.
        for line in asked.address if not Form.quiet else ():
            to_stderr(f"  {line}")
    if given is not None:
        return given
    if declines:
        remark(f"server {server!r} {asked.told}: declined")
        return DECLINED
    if not is_possible and asked.is_first:
        return DECLINED  # The error of the request contains the URL and the server's reason.
    if not is_possible:
        raise asked.unanswered()
    if waiting.is_leaving:
        return CANCELLED
    waiting.hide()
    return _by_person(asked, asked_while(waiting))


class _Asked(NamedTuple):
    """One elicitation."""

    server: str
    params: dict[str, Any]
    answers: Answers
    is_for_person: bool

    @property
    def is_url(self) -> bool:
        return self.params.get("mode") == "url"

    @property
    def is_first(self) -> bool:
        """Whether the client sends the request again after the elicitation is answered."""
        meta = self.params.get("_meta")
        return isinstance(meta, dict) and meta.get(FIRST) is True

    @property
    def message(self) -> str:
        return one_line(str(self.params.get("message", "")), MESSAGE_CHARS)

    @property
    def told(self) -> str:
        return f"asks {one_line(self.message, 200)!r}"

    @property
    def url(self) -> str:
        return str(self.params.get("url", ""))

    @property
    def site(self) -> str:
        """The host of the URL; empty for a URL that is not a website, which given answers cannot accept."""
        return host_of(self.url) if is_site(self.url) else ""

    @property
    def address(self) -> list[str]:
        return address_lines(self.url) if self.is_url else []

    @property
    def schema(self) -> Any:
        return self.params.get("requestedSchema")

    def by_url(self) -> dict[str, Any] | None:
        """The given answer to an elicitation in URL mode, or None."""
        action = self.answers.action(self.site)
        return self._counted({"action": action}) if action is not None else None

    def by_form(self) -> dict[str, Any] | None:
        """The given answer to a form; None without an answer, or if a required field is missing.

        Raises `UsageError`, and `UnansweredError` for values that do not match the form's schema.
        """
        if not self.answers.are_given:
            return None
        given = self.answers.content(self.schema)
        self._check(given)
        content = with_defaults(given, self.schema)
        # If a person is present and no value was given, the person is asked.
        if missing_in(content, self.schema) or (self.is_for_person and not given):
            return None
        return self._counted({**ACCEPTED, "content": content})

    def _check(self, given: dict[str, Any]) -> None:
        """Raises `UnansweredError` for a value that does not match its field's schema."""
        known = properties_of(self.schema)
        definitions = definitions_of(self.schema)
        for key, value in given.items():
            field = resolved(known[key], self.schema)
            try:
                problems = validation_errors({**definitions, **field}, value)
            except SchemaError:
                continue
            if problems:
                told = f"{self.told}, and the answer for {key!r} is invalid: {problems[0]}"
                hint = f"write {shlex.join(self._words([key]))}"
                raise UnansweredError(self.server, told, self.params, hint=hint)

    def unanswered(self) -> UnansweredError:
        """The error for an elicitation that neither given answers nor a person can answer."""
        if self.is_url:
            host = self.site
            told = f"{self.told}, and to open {f'a URL on {host}' if host else 'an invalid URL'}; {NO_ANSWER}"
            hint = again("once you have opened it, answer", "--answer", f"{host}=accept") if host else "use a terminal"
            return UnansweredError(self.server, told, self.params, hint=hint)
        known = properties_of(self.schema)
        given = self.answers.content(self.schema) if self.answers.are_given else {}
        missing = missing_in(with_defaults(given, self.schema), self.schema)
        needed = f", and needs {', '.join(missing)}" if missing else ""
        hint = again("answer it", *(self._words(missing or list(known)[:1]) or ("--answers", "{}")))
        return UnansweredError(self.server, f"{self.told}{needed}; {NO_ANSWER}", self.params, hint=hint)

    def _words(self, keys: Iterable[str]) -> list[str]:
        known = properties_of(self.schema)
        return [word for key in keys for word in ("--answer", f"{key}={example_of(known.get(key), self.schema)}")]

    def _counted(self, answer: dict[str, Any]) -> dict[str, Any]:
        if self.answers.count():
            return answer
        told = f"keeps asking: {MAX_ANSWERED} questions were answered, and the next is {self.message!r}"
        raise UnansweredError(self.server, told, self.params, hint="answer on a terminal, or report it to its author")


def _by_person(asked: _Asked, ask: Ask) -> dict[str, Any]:
    to_stderr(f"server {asked.server!r} asks: {asked.message}")
    for line in asked.address:
        to_stderr(f"  {line}")
    to_stderr("  (n declines, Ctrl-D cancels)")
    try:
        if asked.is_url:
            question = "Have you opened it and finished there?" if asked.is_first else "Will you open it yourself?"
            is_opened = _is_confirmed(question, ask, default=False)
            answer = ACCEPTED if is_opened else DECLINED
        else:
            answer = _ask_form(asked, ask)
    except (EOFError, KeyboardInterrupt) as left:
        # The cursor is still on the line of the question.
        to_stderr("")
        if isinstance(left, KeyboardInterrupt):
            raise
        answer = CANCELLED
    if answer in (DECLINED, CANCELLED):
        to_stderr("  declined" if answer == DECLINED else "  cancelled")
    return answer


def _is_confirmed(question: str, ask: Ask, *, default: bool) -> bool:
    while True:
        text = ask(f"{question} [{'Y/n' if default else 'y/N'}]").strip()
        if not text:
            return default
        if text.casefold() in TRUTHS:
            return TRUTHS[text.casefold()]
        to_stderr(YES_OR_NO)


def _ask_form(asked: _Asked, ask: Ask) -> dict[str, Any]:
    fields = properties_of(asked.schema)
    if not _is_confirmed("Answer?", ask, default=True):
        return DECLINED
    required = required_of(asked.schema)
    if any(name not in required for name in fields):
        to_stderr("  (Enter takes the default, - omits a field that is not required)")
    # Fields with a given value are not asked for.
    content = asked.answers.content(asked.schema) if asked.answers.are_given else {}
    for name, field in fields.items():
        if name not in content:
            value = ask_value(name, field, asked.schema, ask, is_required=name in required)
            if value is not None:
                content[name] = value
    return {**ACCEPTED, "content": content}

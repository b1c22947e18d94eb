"""Questions to a person on the terminal, one for each property of a schema, repeated until its value is valid: an
elicitation of a server, unless given answers suffice, and the missing arguments of `call -i`.

Without a terminal and an answer the call fails.
"""

from __future__ import annotations

import json
import os
import select
import shlex
import sys
from typing import TYPE_CHECKING, Any, NamedTuple

from gaia_mcp.checking import validation_errors
from gaia_mcp.cli.calls import MAX_ANSWERED, Answers, missing_in, read_words, with_defaults
from gaia_mcp.cli.refusals import address_lines, host_of, is_site
from gaia_mcp.cli.screen import folded, on_terminal
from gaia_mcp.cli.status import UsageError
from gaia_mcp.core.errors import UnansweredError
from gaia_mcp.protocol.input_required import FIRST
from gaia_mcp.text import one_line
from gaia_mcp.text.strict_json import RepeatedKeyError
from gaia_mcp.toolspec.arguments import is_text, typed_value
from gaia_mcp.toolspec.describe import example_of, limits_in_words, signature, type_in_words
from gaia_mcp.toolspec.schema import (
    default_of,
    description_of,
    needed_of,
    properties_of,
    required_of,
    resolved,
    titled_choices_of,
    types_of,
)
from gaia_mcp.toolspec.validation import SchemaError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gaia_mcp.cli.calls import Plan
    from gaia_mcp.cli.lines import CommandLine
    from gaia_mcp.cli.screen.session_view import Waiting
    from gaia_mcp.client.tools import MCPTool

ACCEPTED = {"action": "accept"}
DECLINED = {"action": "decline"}
CANCELLED = {"action": "cancel"}
MESSAGE_CHARS = 1000
NO_ANSWER = "no answer is given, and there is no terminal to ask on"
TRUTHS = {"y": True, "yes": True, "n": False, "no": False}
# Omits an optional field, even one that has a default.
NOTHING = "-"
# Printed after an invalid answer to a yes-or-no question.
YES_OR_NO = "  y or n?"
# The interval at which a question checks whether the command is ending.
LOOK_SECONDS = 0.1


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
    screen = waiting.screen
    is_possible = attended and not declines and can_ask()
    asked = _Asked(screen.line, server, params, answers, is_possible)
    try:
        given = asked.by_url() if asked.is_url else asked.by_form()
    except UsageError as problem:
        raise UnansweredError(server, f"{asked.told}: {problem.message}", params, hint=problem.hint) from problem
    if given is not None or not is_possible:
        # The URL is opened elsewhere, so it must not be cut as a remark would be.
        for line in asked.address if not screen.quiet else ():
            screen.to_stderr(f"  {line}")
    if given is not None:
        return given
    if declines:
        screen.remark(f"server {server!r} {asked.told}: declined")
        return DECLINED
    if not is_possible and asked.is_first:
        return DECLINED  # The error of the request contains the URL and the server's reason.
    if not is_possible:
        raise asked.unanswered()
    if waiting.is_leaving:
        return CANCELLED
    waiting.hide()
    return _by_person(asked, TerminalDialog(waiting))


class _Asked(NamedTuple):
    """One elicitation."""

    line: CommandLine
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
            answer = ("--answer", f"{host}=accept")
            hint = self.line.again("once you have opened it, answer", *answer) if host else "use a terminal"
            return UnansweredError(self.server, told, self.params, hint=hint)
        known = properties_of(self.schema)
        given = self.answers.content(self.schema) if self.answers.are_given else {}
        missing = missing_in(with_defaults(given, self.schema), self.schema)
        needed = f", and needs {', '.join(missing)}" if missing else ""
        hint = self.line.again("answer it", *(self._words(missing or list(known)[:1]) or ("--answers", "{}")))
        return UnansweredError(self.server, f"{self.told}{needed}; {NO_ANSWER}", self.params, hint=hint)

    def _words(self, keys: Iterable[str]) -> list[str]:
        known = properties_of(self.schema)
        return [word for key in keys for word in ("--answer", f"{key}={example_of(known.get(key), self.schema)}")]

    def _counted(self, answer: dict[str, Any]) -> dict[str, Any]:
        if self.answers.count():
            return answer
        told = f"keeps asking: {MAX_ANSWERED} questions were answered, and the next is {self.message!r}"
        raise UnansweredError(self.server, told, self.params, hint="answer on a terminal, or report it to its author")


def _by_person(asked: _Asked, dialog: TerminalDialog) -> dict[str, Any]:
    dialog.tell(f"server {asked.server!r} asks: {asked.message}")
    for line in asked.address:
        dialog.tell(f"  {line}")
    dialog.tell("  (n declines, Ctrl-D cancels)")
    try:
        if asked.is_url:
            question = "Have you opened it and finished there?" if asked.is_first else "Will you open it yourself?"
            is_opened = _is_confirmed(question, dialog, default=False)
            answer = ACCEPTED if is_opened else DECLINED
        else:
            answer = _ask_form(asked, dialog)
    except (EOFError, KeyboardInterrupt) as left:
        # The cursor is still on the line of the question.
        dialog.tell("")
        if isinstance(left, KeyboardInterrupt):
            raise
        answer = CANCELLED
    if answer in (DECLINED, CANCELLED):
        dialog.tell("  declined" if answer == DECLINED else "  cancelled")
    return answer


def _is_confirmed(question: str, dialog: TerminalDialog, *, default: bool) -> bool:
    while True:
        text = dialog.ask(f"{question} [{'Y/n' if default else 'y/N'}]").strip()
        if not text:
            return default
        if text.casefold() in TRUTHS:
            return TRUTHS[text.casefold()]
        dialog.tell(YES_OR_NO)


def _ask_form(asked: _Asked, dialog: TerminalDialog) -> dict[str, Any]:
    fields = properties_of(asked.schema)
    if not _is_confirmed("Answer?", dialog, default=True):
        return DECLINED
    required = required_of(asked.schema)
    if any(name not in required for name in fields):
        dialog.tell("  (Enter takes the default, - omits a field that is not required)")
    # Fields with a given value are not asked for.
    content = asked.answers.content(asked.schema) if asked.answers.are_given else {}
    for name, field in fields.items():
        if name not in content:
            value = ask_value(name, field, asked.schema, dialog, is_required=name in required)
            if value is not None:
                content[name] = value
    return {**ACCEPTED, "content": content}


def can_ask() -> bool:
    """Whether stdin and stderr are terminals."""
    return on_terminal(sys.stdin) and on_terminal(sys.stderr)


class TerminalDialog:
    """The person at the terminal, who is asked until the command of `waiting` ends."""

    def __init__(self, waiting: Waiting) -> None:
        self._waiting = waiting

    def tell(self, text: str, *, end: str = "\n") -> None:
        """Print lines that are not part of the result."""
        self._waiting.screen.to_stderr(text, end=end)

    def ask(self, question: str) -> str:
        """The line that is typed. Raises `EOFError` at Ctrl-D, and when the command is ending: input typed after that
        belongs to the shell.
        """
        self.tell(f"{question}: ", end="")
        waiting = self._waiting
        # `select` supports terminals everywhere but on Windows. This may run in a thread, which no signal interrupts.
        while os.name != "nt" and not select.select([sys.stdin], [], [], LOOK_SECONDS)[0] and not waiting.is_leaving:
            continue
        line = "" if waiting.is_leaving else sys.stdin.readline()
        if not line:
            raise EOFError
        return line.rstrip("\r\n")


def ask_value(
    name: str, field: Any, root: Any, dialog: TerminalDialog, *, is_required: bool, takes_default: bool = True
) -> Any:
    """The value of a property with the schema `field`, a part of `root`; None if the property is omitted.

    An empty line selects the default of a required property, and of an optional one only if `takes_default`; then `-`
    omits an optional property.
    """
    field = resolved(field, root)
    default = default_of(field, root)
    # As text, which is then parsed like typed input.
    held = default if default is None or isinstance(default, str) else json.dumps(default, ensure_ascii=False)
    label = one_line(str(field.get("title") or name), 80)
    if text := description_of(field, root):
        label += f" ({one_line(text, 200)})"
    label += f" [{one_line(_choices(field, root), 200)}{_limits(field)}]"
    if held:
        label += f" [{one_line(held, 200)}]"
    while True:
        text = dialog.ask(label)
        if text == NOTHING and takes_default and not is_required:
            return None
        text = text or (held or "" if is_required or takes_default else "")
        if text == "":
            if not is_required:
                return None
            if held is None:
                dialog.tell("  an answer is required")
                continue
        if not is_text(text):
            dialog.tell("  not UTF-8")
            continue
        try:
            value = _read(text, field, root)
            problems = validation_errors({**definitions_of(root), **field}, value)
        except RepeatedKeyError as problem:
            dialog.tell(f"  it {one_line(str(problem), 300)}")
            continue
        except SchemaError:
            return value
        if not problems:
            return value
        dialog.tell(YES_OR_NO if field.get("type") == "boolean" else f"  {one_line(str(problems[0]), 300)}")


def _choices(field: dict[str, Any], root: Any) -> str:
    titled = [f"{value}: {title}" for value, title in titled_choices_of(field)]
    return ", ".join(titled) or type_in_words(field, root, members=True)


def _limits(field: dict[str, Any]) -> str:
    """The limits of a value, as printed after its type: `, 1 to 10`, `, at most 20 characters`."""
    found = [limits for kind in types_of(field) if (limits := limits_in_words(field, kind))]
    return "".join(f", {one_line(limits, 100)}" for limits in dict.fromkeys(found))


def _read(text: str, field: dict[str, Any], root: Any) -> Any:
    if field.get("type") == "array" and not text.lstrip().startswith("["):
        items = field.get("items")
        return [typed_value(part.strip(), items, root) for part in text.split(",") if part.strip()]
    if field.get("type") == "boolean" and text.strip().casefold() in TRUTHS:
        return TRUTHS[text.strip().casefold()]
    return typed_value(text, field, root)


def definitions_of(root: Any) -> dict[str, Any]:
    """The definitions that the schema of a property may refer to."""
    return {key: root[key] for key in ("$defs", "definitions") if isinstance(root, dict) and key in root}


def check_terminal() -> None:
    """Raises `UsageError` without a terminal."""
    if not can_ask():
        raise UsageError("--interactive needs a terminal", hint="write the arguments on the command line: key=value")


def ask_arguments(plan: Plan, tool: MCPTool, waiting: Waiting) -> Plan:
    """`plan` with the arguments that a person typed, required ones first; an empty line omits an optional argument.

    Raises `UsageError` as `read_words` does, and `Abort` at Ctrl-D.
    """
    screen = waiting.screen
    server, schema = plan.entry.name, tool.input_schema
    known, needed = properties_of(schema), needed_of(schema)
    given = read_words(screen.line, server, tool.name, plan.words, schema)
    taken = {*plan.base, *(given.base or ()), *(key for key, _, _ in given.assignments)}
    asked: dict[str, Any] = {}
    waiting.hide()
    dialog = TerminalDialog(waiting)
    for line in folded(one_line(signature(tool.name, schema), 1000)):
        dialog.tell(line)
    try:
        for key in [*needed, *(key for key in known if key not in needed)]:
            if key not in taken:
                value = ask_value(key, known.get(key), schema, dialog, is_required=key in needed, takes_default=False)
                if value is not None:
                    asked[key] = value
    except EOFError:
        # The cursor is still on the line of the question.
        dialog.tell("")
        screen.remark(f"{tool.name!r} was not called")
        import typer

        raise typer.Abort from None
    if asked:
        words = [*plan.words, *(_as_word(key, value) for key, value in asked.items())]
        screen.remark(f"the same command without prompts: {screen.line.to_type('call', server, tool.name, *words)}")
    return plan._replace(base={**plan.base, **asked})


def _as_word(key: str, value: Any) -> str:
    if isinstance(value, str) and not value.startswith("@"):
        return f"{key}={value}"
    return f"{key}:={json.dumps(value, ensure_ascii=False)}"

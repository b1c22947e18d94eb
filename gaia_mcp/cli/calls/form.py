"""A form on the terminal: one question for each property of a schema, repeated until its value is valid."""

from __future__ import annotations

import json
import os
import select
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import typer

from gaia_mcp.checking.checker import validation_errors
from gaia_mcp.cli.calls.plan import read_words
from gaia_mcp.cli.lines import to_type
from gaia_mcp.cli.screen.output import remark, to_stderr
from gaia_mcp.cli.screen.terminal import folded, on_terminal
from gaia_mcp.cli.status import UsageError
from gaia_mcp.jsontext import RepeatedKeyError
from gaia_mcp.safetext import one_line
from gaia_mcp.toolspec.arguments import is_text, typed_value
from gaia_mcp.toolspec.in_words import limits_in_words, signature, type_in_words
from gaia_mcp.toolspec.schema import (
    default_of,
    description_of,
    needed_of,
    properties_of,
    resolved,
    titled_choices_of,
    types_of,
)
from gaia_mcp.toolspec.validation import SchemaError

if TYPE_CHECKING:
    from gaia_mcp.cli.calls.plan import Plan
    from gaia_mcp.cli.screen.session_view import Waiting
    from gaia_mcp.client.tool import MCPTool

TRUTHS = {"y": True, "yes": True, "n": False, "no": False}
# Omits an optional field, even one that has a default.
NOTHING = "-"
# Printed after an invalid answer to a yes-or-no question.
YES_OR_NO = "  y or n?"
# The interval at which a question checks whether the command is ending.
LOOK_SECONDS = 0.1

# Prints a question and returns the line that was typed.
Ask = Callable[[str], str]


def can_ask() -> bool:
    """Whether stdin and stderr are terminals."""
    return on_terminal(sys.stdin) and on_terminal(sys.stderr)


def asked_while(waiting: Waiting) -> Ask:
    """A function that asks on the terminal until the command ends."""

    def ask(question: str) -> str:
        """Raises `EOFError` at Ctrl-D, and when the command is ending: input typed after that belongs to the shell."""
        to_stderr(f"{question}: ", end="")
        # `select` supports terminals everywhere but on Windows. This may run in a thread, which no signal interrupts.
        while os.name != "nt" and not select.select([sys.stdin], [], [], LOOK_SECONDS)[0] and not waiting.is_leaving:
            continue
        line = "" if waiting.is_leaving else sys.stdin.readline()
        if not line:
            raise EOFError
        return line.rstrip("\r\n")

    return ask


def ask_value(name: str, field: Any, root: Any, ask: Ask, *, is_required: bool, takes_default: bool = True) -> Any:
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
        text = ask(label)
        if text == NOTHING and takes_default and not is_required:
            return None
        text = text or (held or "" if is_required or takes_default else "")
        if text == "":
            if not is_required:
                return None
            if held is None:
                to_stderr("  an answer is required")
                continue
        if not is_text(text):
            to_stderr("  not UTF-8")
            continue
        try:
            value = _read(text, field, root)
            problems = validation_errors({**definitions_of(root), **field}, value)
        except RepeatedKeyError as problem:
            to_stderr(f"  it {one_line(str(problem), 300)}")
            continue
        except SchemaError:
            return value
        if not problems:
            return value
        to_stderr(YES_OR_NO if field.get("type") == "boolean" else f"  {one_line(str(problems[0]), 300)}")


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
    server, schema = plan.entry.name, tool.input_schema
    known, needed = properties_of(schema), needed_of(schema)
    given = read_words(server, tool.name, plan.words, schema)
    taken = {*plan.base, *(given.base or ()), *(key for key, _, _ in given.assignments)}
    asked: dict[str, Any] = {}
    waiting.hide()
    ask = asked_while(waiting)
    for line in folded(one_line(signature(tool.name, schema), 1000)):
        to_stderr(line)
    try:
        for key in [*needed, *(key for key in known if key not in needed)]:
            if key not in taken:
                value = ask_value(key, known.get(key), schema, ask, is_required=key in needed, takes_default=False)
                if value is not None:
                    asked[key] = value
    except EOFError:
        # The cursor is still on the line of the question.
        to_stderr("")
        remark(f"{tool.name!r} was not called")
        raise typer.Abort from None
    if asked:
        words = [*plan.words, *(_as_word(key, value) for key, value in asked.items())]
        remark(f"the same command without prompts: {to_type('call', server, tool.name, *words)}")
    return plan._replace(base={**plan.base, **asked})


def _as_word(key: str, value: Any) -> str:
    if isinstance(value, str) and not value.startswith("@"):
        return f"{key}={value}"
    return f"{key}:={json.dumps(value, ensure_ascii=False)}"

"""Elicitation: the questions of a server to a person, asked on the terminal. Without a terminal they are declined."""

from __future__ import annotations

import json
import os
import select
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import typer

from gaia_mcp.cli.screen.output import remark
from gaia_mcp.cli.screen.terminal import on_terminal
from gaia_mcp.safetext import clean, one_line
from gaia_mcp.toolspec.arguments import typed_value
from gaia_mcp.toolspec.schema import default_of, properties_of, required_of, titled_choices_of, type_in_words
from gaia_mcp.toolspec.validation import SchemaError, validation_errors

if TYPE_CHECKING:
    from gaia_mcp.cli.screen.progress import Waiting

DECLINED = {"action": "decline"}
CANCELLED = {"action": "cancel"}
_TRUTHS = {"y": True, "yes": True, "n": False, "no": False}
# How soon a question notices that its answer is no longer wanted.
LOOK_SECONDS = 0.1

# Shows a question and returns what is typed.
Ask = Callable[[str], str]


def asker(server: str, waiting: Waiting) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """The function that answers the questions of `server`."""

    def ask(params: dict[str, Any]) -> dict[str, Any]:
        waiting.hide()
        message = one_line(str(params.get("message", "")), 1000)
        if not (on_terminal(sys.stdin) and on_terminal(sys.stderr)):
            remark(f"server {server!r} asked a question, and there is no terminal to answer it: {message}")
            return DECLINED
        typer.echo(f"server {server!r} asks: {message}", err=True)
        try:
            if params.get("mode") == "url":
                return _ask_to_open(str(params.get("url", "")), _asked_while(waiting))
            return _ask_form(params.get("requestedSchema"), _asked_while(waiting))
        except (EOFError, KeyboardInterrupt) as left:
            # The cursor is still in the line of the question.
            typer.echo(err=True)
            if isinstance(left, KeyboardInterrupt):
                raise
            return CANCELLED

    return ask


def _asked_while(waiting: Waiting) -> Ask:
    def ask(question: str) -> str:
        """Raises `EOFError` at Ctrl-D, and once the command is ending: what is typed then is for the shell."""
        typer.echo(f"{question}: ", nl=False, err=True)
        # Only Windows cannot wait for a terminal. We may be in a thread, which no signal reaches.
        while os.name != "nt" and not select.select([sys.stdin], [], [], LOOK_SECONDS)[0] and not waiting.is_leaving:
            continue
        line = "" if waiting.is_leaving else sys.stdin.readline()
        if not line:
            raise EOFError
        return line.rstrip("\r\n")

    return ask


def _is_confirmed(question: str, ask: Ask, *, default: bool) -> bool:
    while True:
        text = ask(f"{question} [{'Y/n' if default else 'y/N'}]").strip()
        if not text:
            return default
        if text.casefold() in _TRUTHS:
            return _TRUTHS[text.casefold()]
        typer.echo("  y or n?", err=True)


def _ask_to_open(url: str, ask: Ask) -> dict[str, Any]:
    from urllib.parse import urlsplit

    typer.echo(f"  {clean(url)}", err=True)
    try:
        host = urlsplit(url).hostname
    except ValueError:
        host = None
    typer.echo(f"  (on {host}; enter nothing there that you would not give to this site)", err=True)
    return {"action": "accept"} if _is_confirmed("Will you open it yourself?", ask, default=False) else DECLINED


def _ask_form(schema: Any, ask: Ask) -> dict[str, Any]:
    fields = properties_of(schema)
    if not _is_confirmed("Answer?", ask, default=True):
        return DECLINED
    required = required_of(schema)
    content: dict[str, Any] = {}
    for name, field in fields.items():
        value = _ask_field(name, field if isinstance(field, dict) else {}, ask, is_required=name in required)
        if value is not None:
            content[name] = value
    return {"action": "accept", "content": content}


def _ask_field(name: str, field: dict[str, Any], ask: Ask, *, is_required: bool) -> Any:
    label = one_line(str(field.get("title") or name), 80)
    if field.get("description"):
        label += f" ({one_line(str(field['description']), 200)})"
    label += f" [{one_line(_choices(field), 200)}]"
    default = default_of(field, field)
    # As text, which is then read as if it had been typed.
    held = default if default is None or isinstance(default, str) else json.dumps(default, ensure_ascii=False)
    if held:
        label += f" [{one_line(held, 200)}]"
    while True:
        text = ask(label) or held or ""
        if text == "":
            if not is_required:
                return None
            if held is None:
                typer.echo("  an answer is required", err=True)
                continue
        value = _read(text, field)
        try:
            problems = validation_errors(field, value)
        except SchemaError:
            return value
        if not problems:
            return value
        typer.echo(f"  {one_line(str(problems[0]), 300)}", err=True)


def _choices(field: dict[str, Any]) -> str:
    titled = [f"{value}: {title}" for value, title in titled_choices_of(field)]
    return ", ".join(titled) or type_in_words(field, field)


def _read(text: str, field: dict[str, Any]) -> Any:
    if field.get("type") == "array" and not text.lstrip().startswith("["):
        return [part.strip() for part in text.split(",") if part.strip()]
    if field.get("type") == "boolean" and text.strip().casefold() in _TRUTHS:
        return _TRUTHS[text.strip().casefold()]
    return typed_value(text, field, field)

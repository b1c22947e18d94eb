"""A server's questions, asked on the terminal; declined where there is nobody to ask."""

from __future__ import annotations

import json
import sys
from contextlib import redirect_stdout
from typing import TYPE_CHECKING, Any

import typer

from gaia_mcp.arguments import typed_value
from gaia_mcp.cli.screen.output import remark
from gaia_mcp.cli.screen.terminal import on_terminal
from gaia_mcp.safetext import clean, one_line
from gaia_mcp.schema import SchemaError, misfits, properties_of, required_of, type_in_words

if TYPE_CHECKING:
    from collections.abc import Callable

    from gaia_mcp.cli.screen.progress import Waiting

DECLINED = {"action": "decline"}


def asker(server: str, waiting: Waiting) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """What answers the questions of `server`."""

    def ask(params: dict[str, Any]) -> dict[str, Any]:
        waiting.hide()
        message = one_line(str(params.get("message", "")), 1000)
        if not (on_terminal(sys.stdin) and on_terminal(sys.stderr)):
            remark(f"server {server!r} asked, and nobody is there to answer: {message}")
            return DECLINED
        typer.echo(f"server {server!r} asks: {message}", err=True)
        try:
            # What reads the answer writes the end of the question itself, to what it takes for the screen.
            with redirect_stdout(sys.stderr):
                if params.get("mode") == "url":
                    return _ask_to_open(str(params.get("url", "")))
                return _ask_form(params.get("requestedSchema"))
        except typer.Abort as aborted:
            # The terminal is still in the line of the question.
            typer.echo(err=True)
            if isinstance(aborted.__context__, KeyboardInterrupt):
                raise KeyboardInterrupt from None
            # Ctrl-D.
            return {"action": "cancel"}

    return ask


def _ask_to_open(url: str) -> dict[str, Any]:
    """Show the whole address. Whether and where to open it is the person's business."""
    from urllib.parse import urlsplit

    typer.echo(f"  {clean(url)}", err=True)
    try:
        host = urlsplit(url).hostname
    except ValueError:
        host = None
    typer.echo(f"  (on {host}; never enter there what you would not tell that site)", err=True)
    opened = typer.confirm("Will you open it yourself?", default=False, err=True)
    return {"action": "accept"} if opened else DECLINED


def _ask_form(schema: Any) -> dict[str, Any]:
    fields = properties_of(schema)
    if not typer.confirm("Answer?", default=True, err=True):
        return DECLINED
    required = required_of(schema)
    content: dict[str, Any] = {}
    for name, field in fields.items():
        value = _ask_field(name, field if isinstance(field, dict) else {}, is_required=name in required)
        if value is not None:
            content[name] = value
    return {"action": "accept", "content": content}


def _ask_field(name: str, field: dict[str, Any], *, is_required: bool) -> Any:
    label = one_line(str(field.get("title") or name), 80)
    if field.get("description"):
        label += f" ({one_line(str(field['description']), 200)})"
    label += f" [{one_line(_choices(field), 200)}]"
    default = field.get("default")
    # As text, whatever it is: the prompt would take its type for that of the answer.
    held = default if default is None or isinstance(default, str) else json.dumps(default, ensure_ascii=False)
    if held:
        label += f" [{one_line(held, 200)}]"
    if held is None and not is_required:
        held = ""
    while True:
        text = typer.prompt(label, default=held, show_default=False, err=True)
        if text == "" and not is_required:
            return None
        value = _read(text, field)
        try:
            problems = misfits(field, value)
        except SchemaError:
            return value
        if not problems:
            return value
        typer.echo(f"  {one_line(str(problems[0]), 300)}", err=True)


def _choices(field: dict[str, Any]) -> str:
    items = field.get("items")
    titled = field.get("oneOf") or (items.get("anyOf") if isinstance(items, dict) else None)
    if isinstance(titled, list):
        return ", ".join(
            f"{choice.get('const')}: {choice.get('title', '')}" for choice in titled if isinstance(choice, dict)
        )
    if isinstance(names := field.get("enumNames"), list) and isinstance(values := field.get("enum"), list):
        return ", ".join(f"{value}: {title}" for value, title in zip(values, names, strict=False))
    return type_in_words(field, field)


def _read(text: str, field: dict[str, Any]) -> Any:
    if field.get("type") == "array" and not text.lstrip().startswith("["):
        return [part.strip() for part in text.split(",") if part.strip()]
    return typed_value(text, field, field)

"""Elicitation: the questions of a server to a person, asked on the terminal. Without a terminal they are declined."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from gaia_mcp.cli.calls.form import TRUTHS, Ask, ask_value, asked_while, can_ask
from gaia_mcp.cli.screen.output import remark, to_stderr
from gaia_mcp.safetext import clean, one_line
from gaia_mcp.toolspec.schema import properties_of, required_of

if TYPE_CHECKING:
    from gaia_mcp.cli.screen.progress import Waiting

DECLINED = {"action": "decline"}
CANCELLED = {"action": "cancel"}


def asker(server: str, waiting: Waiting) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """The function that answers the questions of `server`."""

    def ask(params: dict[str, Any]) -> dict[str, Any]:
        waiting.hide()
        message = one_line(str(params.get("message", "")), 1000)
        if not can_ask():
            remark(f"server {server!r} asked a question, and there is no terminal to answer it: {message}")
            return DECLINED
        to_stderr(f"server {server!r} asks: {message}")
        try:
            if params.get("mode") == "url":
                return _ask_to_open(str(params.get("url", "")), asked_while(waiting))
            return _ask_form(params.get("requestedSchema"), asked_while(waiting))
        except (EOFError, KeyboardInterrupt) as left:
            # The cursor is still in the line of the question.
            to_stderr("")
            if isinstance(left, KeyboardInterrupt):
                raise
            return CANCELLED

    return ask


def _is_confirmed(question: str, ask: Ask, *, default: bool) -> bool:
    while True:
        text = ask(f"{question} [{'Y/n' if default else 'y/N'}]").strip()
        if not text:
            return default
        if text.casefold() in TRUTHS:
            return TRUTHS[text.casefold()]
        to_stderr("  y or n?")


def _ask_to_open(url: str, ask: Ask) -> dict[str, Any]:
    from urllib.parse import urlsplit

    to_stderr(f"  {clean(url)}")
    try:
        host = urlsplit(url).hostname
    except ValueError:
        host = None
    to_stderr(f"  (on {host}; enter nothing there that you would not give to this site)")
    return {"action": "accept"} if _is_confirmed("Will you open it yourself?", ask, default=False) else DECLINED


def _ask_form(schema: Any, ask: Ask) -> dict[str, Any]:
    fields = properties_of(schema)
    if not _is_confirmed("Answer?", ask, default=True):
        return DECLINED
    required = required_of(schema)
    content: dict[str, Any] = {}
    for name, field in fields.items():
        value = ask_value(name, field, schema, ask, is_required=name in required)
        if value is not None:
            content[name] = value
    return {"action": "accept", "content": content}

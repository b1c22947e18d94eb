"""Elicitation: the questions of a server to a person, asked on the terminal. Without a terminal they are declined."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from gaia_mcp.cli.calls.addresses import address_lines
from gaia_mcp.cli.calls.form import TRUTHS, Ask, ask_value, asked_while, can_ask
from gaia_mcp.cli.screen.output import Form, remark, to_stderr
from gaia_mcp.protocol.input_required import FIRST
from gaia_mcp.safetext import one_line
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
        address = address_lines(str(params.get("url", ""))) if params.get("mode") == "url" else []
        if is_possible := can_ask():
            to_stderr(f"server {server!r} asks: {message}")
        else:
            remark(f"server {server!r} asked a question, and there is no terminal to answer it: {message}")
        # Not as a remark, which is cut where it is long.
        for line in address if is_possible or not Form.quiet else ():
            to_stderr(f"  {line}")
        if not is_possible:
            return DECLINED
        try:
            if address:
                is_opened = _is_confirmed(_question(params), asked_while(waiting), default=False)
                return {"action": "accept"} if is_opened else DECLINED
            return _ask_form(params.get("requestedSchema"), asked_while(waiting))
        except (EOFError, KeyboardInterrupt) as left:
            # The cursor is still in the line of the question.
            to_stderr("")
            if isinstance(left, KeyboardInterrupt):
                raise
            return CANCELLED

    return ask


def _question(params: dict[str, Any]) -> str:
    meta = params.get("_meta")
    is_first = isinstance(meta, dict) and meta.get(FIRST) is True
    return "Have you opened it, and is all done there?" if is_first else "Will you open it yourself?"


def _is_confirmed(question: str, ask: Ask, *, default: bool) -> bool:
    while True:
        text = ask(f"{question} [{'Y/n' if default else 'y/N'}]").strip()
        if not text:
            return default
        if text.casefold() in TRUTHS:
            return TRUTHS[text.casefold()]
        to_stderr("  y or n?")


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

"""`call -i`: asks on the terminal, before the call, for the arguments that are not on the command line."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import typer

from gaia_mcp.cli.calls.form import ask_value, asked_while, can_ask
from gaia_mcp.cli.calls.plan import read_words
from gaia_mcp.cli.lines import to_type
from gaia_mcp.cli.screen.output import remark, to_stderr
from gaia_mcp.cli.screen.terminal import folded
from gaia_mcp.cli.status import UsageError
from gaia_mcp.safetext import one_line
from gaia_mcp.toolspec.in_words import signature
from gaia_mcp.toolspec.schema import needed_of, properties_of

if TYPE_CHECKING:
    from gaia_mcp.cli.calls.plan import Plan
    from gaia_mcp.cli.screen.session_view import Waiting
    from gaia_mcp.client.tool import MCPTool


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

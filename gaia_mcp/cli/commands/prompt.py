"""`gaia mcp prompt`: fill in a prompt of a server."""

from __future__ import annotations

from typing import Annotated

import typer

from gaia_mcp.cli.completion.completers import prompt_names, prompt_words
from gaia_mcp.cli.invocation import Invocation
from gaia_mcp.cli.options import ANSWER, CONFIG, FRESH, HEADER, JSON, OUTPUT, TIMEOUT, ServerArgument
from gaia_mcp.cli.typer_command import ArgumentsCommand

Prompt = Annotated[str, typer.Argument(metavar="PROMPT", help="The prompt.", autocompletion=prompt_names)]
Words = Annotated[
    list[str] | None,
    typer.Argument(metavar="[ARG...]", help="key=value or key=@FILE.", show_default=False, autocompletion=prompt_words),
]

SETTINGS = {"cls": ArgumentsCommand}

COMMON = (OUTPUT, ANSWER, FRESH, HEADER, CONFIG, JSON, TIMEOUT)


def prompt(invocation: Invocation, name: ServerArgument, prompt: Prompt, words: Words = None) -> None:
    """Fill in a prompt and print it.

    Prints the text of its messages, each of several under its role. Images, sound and other files are saved where -o
    says, and their paths printed; without -o a terminal shows or describes them.

    Example: gaia mcp prompt demo introduce name=Ada
    """
    screen = invocation.screen
    from gaia_mcp.cli.calls import check_no_option, check_utf8, text_arguments
    from gaia_mcp.cli.calls.answering import Answering
    from gaia_mcp.cli.calls.tool_call import check_arguments
    from gaia_mcp.cli.screen.render import show_messages
    from gaia_mcp.cli.screen.session_view import SessionView
    from gaia_mcp.cli.status import UsageError
    from gaia_mcp.fleet.session import connected

    check_no_option(screen.line, name)
    destination, answering = invocation.destination(), Answering.of(invocation)
    entry, (prompt, *given) = invocation.server(name, prompt, *(words or []))
    check_no_option(screen.line, prompt)
    check_utf8((prompt, *given))
    arguments = text_arguments(given)
    for key, value in arguments.items():
        if not isinstance(value, str):
            raise UsageError(f"{key!r} is not a string, as all arguments of a prompt are", hint=f"write {key}=VALUE")
    name = entry.name
    with (
        answering,
        SessionView(screen, f"starting {name}") as view,
        connected(entry, view, deadline=invocation.deadline(), answerers=answering.answerers(name, view)) as session,
    ):
        view.rename(f"asking {name}")
        check_arguments(session, prompt, arguments)
        result = session.prompt(prompt, arguments)
        view.hide()
        show_messages(screen, prompt, result, destination)

"""`gaia mcp prompts` and `gaia mcp prompt`: the texts that servers have ready for models."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from gaia_mcp.cli.commands.tools import Names
from gaia_mcp.cli.completion.sources import prompt_names, prompt_words
from gaia_mcp.cli.options import CONFIG, JSON, TIMEOUT, Invocation, OutputOption, ServerArgument
from gaia_mcp.names import typeable

if TYPE_CHECKING:
    from gaia_mcp.cli.screen.inventory import Inventory
    from gaia_mcp.session.session import Session

Prompt = Annotated[str, typer.Argument(metavar="PROMPT", help="The prompt.", autocompletion=prompt_names)]
Words = Annotated[
    list[str] | None,
    typer.Argument(metavar="[ARG...]", help="key=value or key=@FILE.", show_default=False, autocompletion=prompt_words),
]

COMMON = (CONFIG, JSON, TIMEOUT)


def prompts(invocation: Invocation, names: Names = None) -> None:
    """Show the prompts of servers, with their arguments.

    Arguments in brackets may be left out. Without a name, all servers are asked at once.

    Example: gaia mcp prompts demo
    """
    from gaia_mcp.cli.screen.inventory import Kind, show_inventory

    kind = Kind("prompts", "prompts", _read, lambda prompt: prompt, _lines)
    show_inventory(kind, names, invocation)


def prompt(
    invocation: Invocation, name: ServerArgument, prompt: Prompt, words: Words = None, output_dir: OutputOption = None
) -> None:
    """Fill in a prompt and print it.

    The text of its messages goes to stdout, each of several under the role that says it; images, sound and other files
    are saved, and their paths printed.

    Example: gaia mcp prompt demo introduce name=Ada
    """
    from gaia_mcp.cli.calls.elicitation import asker
    from gaia_mcp.cli.calls.plan import assignment, typed
    from gaia_mcp.cli.screen.render import show_messages
    from gaia_mcp.cli.screen.session_view import SessionView
    from gaia_mcp.cli.status import UsageError
    from gaia_mcp.session.session import connected

    entry = invocation.open_store().entry(name)
    arguments = typed([assignment(word) for word in words or []], {})
    for key, value in arguments.items():
        if not isinstance(value, str):
            raise UsageError(f"{key!r} is not text, and a prompt takes nothing else", hint=f"write {key}=VALUE")
    with (
        SessionView(f"starting {name}") as view,
        connected(entry, view, deadline=invocation.deadline(), elicit=asker(name, view)) as session,
    ):
        view.rename(f"asking {name}")
        _check(session, prompt, arguments)
        result = session.prompt(prompt, arguments)
        view.hide()
        show_messages(prompt, result, output_dir)


def _read(session: Session) -> Inventory:
    from gaia_mcp.cli.screen.inventory import Inventory

    return Inventory(session.prompts(), session.problems)


def _lines(prompt: dict[str, Any]) -> list[str]:
    from gaia_mcp.cli.screen.inventory import description_lines, signature_lines

    shown = [name if is_required else f"[{name}]" for name, is_required in _arguments_of(prompt)]
    lines = signature_lines(f"{prompt['name']}({', '.join(shown)})")
    return lines + description_lines(prompt.get("description"))


def _arguments_of(prompt: dict[str, Any]) -> list[tuple[str, bool]]:
    """The arguments' names, and whether each is required; those first."""
    described = prompt.get("arguments")
    found = [
        (argument["name"], argument.get("required") is True)
        for argument in (described if isinstance(described, list) else [])
        if isinstance(argument, dict) and isinstance(argument.get("name"), str)
    ]
    return sorted(found, key=lambda argument: not argument[1])


def _check(session: Session, name: str, given: dict[str, Any]) -> None:
    """What can be seen before the prompt is asked for. Raises `OfferUnknownError` and `ArgumentsError`."""
    from gaia_mcp.errors import ArgumentsError, OfferUnknownError
    from gaia_mcp.names import did_you_mean

    known = {prompt["name"]: prompt for prompt in session.prompts()}
    server = session.entry.name
    if name not in known:
        raise OfferUnknownError(server, "prompt", name, suggestion=did_you_mean(name, known))
    arguments = _arguments_of(known[name])
    names = [argument for argument, _ in arguments]
    problems = [f"there is no {key!r}, {did_you_mean(key, names)}".rstrip(", ") for key in given if key not in names]
    problems += [
        f"{argument!r} is missing" for argument, is_required in arguments if is_required and argument not in given
    ]
    if problems:
        hint = f"see its arguments with: gaia mcp prompts {typeable(server)}"
        raise ArgumentsError(server, name, problems, hint=hint, offer="prompt")

"""The arguments of a prompt, and the validation of given arguments."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gaia_mcp.errors import ArgumentsError, FeatureUnknownError
from gaia_mcp.names import did_you_mean

if TYPE_CHECKING:
    from gaia_mcp.session.session import Session


def arguments_of(prompt: dict[str, Any]) -> list[tuple[str, bool]]:
    """The names of the arguments, required ones first, and whether each is required."""
    described = prompt.get("arguments")
    found = [
        (argument["name"], argument.get("required") is True)
        for argument in (described if isinstance(described, list) else [])
        if isinstance(argument, dict) and isinstance(argument.get("name"), str)
    ]
    return sorted(found, key=lambda argument: not argument[1])


def signature_of(prompt: dict[str, Any]) -> str:
    """`name(required, [optional])`."""
    shown = [name if is_required else f"[{name}]" for name, is_required in arguments_of(prompt)]
    return f"{prompt['name']}({', '.join(shown)})"


def check_arguments(session: Session, name: str, given: dict[str, Any]) -> None:
    """Check that a prompt exists and accepts these arguments. Raises `FeatureUnknownError` and `ArgumentsError`."""
    known = {prompt["name"]: prompt for prompt in session.prompts()}
    server = session.entry.name
    if name not in known:
        raise FeatureUnknownError(server, "prompt", name, suggestion=did_you_mean(name, known))
    arguments = arguments_of(known[name])
    names = [argument for argument, _ in arguments]
    problems = [f"there is no {key!r}, {did_you_mean(key, names)}".rstrip(", ") for key in given if key not in names]
    problems += [
        f"{argument!r} is missing" for argument, is_required in arguments if is_required and argument not in given
    ]
    if problems:
        raise ArgumentsError(
            server, name, problems, hint=f"its signature: {signature_of(known[name])}", feature="prompt"
        )
